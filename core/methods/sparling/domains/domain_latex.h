/* Configuration of the domain LaTeX-OCR; core/data/latex/latex.h draws its images. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_LATEX_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_LATEX_H

#include <stdint.h>

#include "core/data/latex/latex.h"

struct latex_config {
    int64_t rows, cols, min_tokens, max_tokens, symbols, margin;
    double dpi, noise;
};

/* clang-format off */
#define LATEX_INTEGER(member, preset, low, high, unit, level, meaning)                                                 \
    DOMAIN_INTEGER(latex, member, "latex_" #member, preset, low, high, unit, level, meaning)
#define LATEX_REAL(member, preset, low, high, unit, level, meaning)                                                    \
    DOMAIN_REAL(latex, member, "latex_" #member, preset, low, high, unit, level, meaning)

#define LATEX_FIELDS                                                                                                   \
    LATEX_INTEGER(rows, "120", 8, 1024, "px", ADVANCED, "Rows of a formula's image."),                                 \
    LATEX_INTEGER(cols, "360", 8, 1024, "px", ADVANCED, "Columns of a formula's image, which cut longer formulas."),   \
    LATEX_REAL(dpi, "200", 20, 1200, "1/inch", ADVANCED, "Resolution of the formulas; more makes characters larger."), \
    LATEX_INTEGER(min_tokens, "1", 1, 64, "tokens", ADVANCED, "Fewest tokens of a formula."),                          \
    LATEX_INTEGER(max_tokens, "30", 1, 64, "tokens", ADVANCED,                                                         \
                  "Most tokens of a formula; all lengths are equally likely."),                                        \
    LATEX_INTEGER(symbols, "16", 1, 16, "symbols", RESEARCH,                                                           \
                  "Number of different symbols, in the order 0-9 x y z a b c."),                                       \
    LATEX_REAL(noise, "0.25", 0, 1, "", ADVANCED, "Share of all pixels that are made black."),                         \
    LATEX_INTEGER(margin, "2", 0, 100, "px", RESEARCH,                                                                 \
                  "Pixels by which a character's true box exceeds its ink on every side.")
/* clang-format on */

/* The generator for a configuration. */
struct latex latex_of(const struct latex_config *config);

#endif
