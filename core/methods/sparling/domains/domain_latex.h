/* LaTeX-OCR (core/data/latex/latex.h) as a domain of SPARLING. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_LATEX_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_LATEX_H

#include <stdint.h>

#include "core/data/latex/latex.h"

struct latex_config {
    int64_t rows, cols, min_tokens, max_tokens, symbols, margin;
    double dpi, noise;
};

#define LATEX_INTEGER(member, preset, low, high, unit, meaning)                                                        \
    DOMAIN_INTEGER(latex, member, "latex_" #member, preset, low, high, unit, meaning)
#define LATEX_REAL(member, preset, low, high, unit, meaning)                                                           \
    DOMAIN_REAL(latex, member, "latex_" #member, preset, low, high, unit, meaning)

#define LATEX_FIELDS                                                                                                   \
    LATEX_INTEGER(rows, "120", 8, 1024, "px", "rows of a formula's picture"),                                          \
        LATEX_INTEGER(cols, "360", 8, 1024, "px", "columns of a formula's picture; a larger page is cut"),             \
        LATEX_REAL(dpi, "200", 20, 1200, "1/inch", "resolution at which formulas are drawn"),                          \
        LATEX_INTEGER(min_tokens, "1", 1, 64, "tokens", "shortest formula"),                                           \
        LATEX_INTEGER(max_tokens, "30", 1, 64, "tokens", "longest formula; all lengths are equally likely"),           \
        LATEX_INTEGER(symbols, "16", 1, 16, "symbols", "how many of 0-9 x y z a b c occur, in this order"),            \
        LATEX_REAL(noise, "0.25", 0, 1, "", "share of all pixels of a formula's picture made black"),                  \
        LATEX_INTEGER(margin, "2", 0, 100, "px",                                                                       \
                      "a character's box is larger than its ink by this much on every side")

/* The pictures that a configuration describes. */
struct latex latex_of(const struct latex_config *config);

#endif
