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
    LATEX_INTEGER(rows, "120", 8, 1024, "px", ADVANCED, "Rows of a formula's image; more rows take more time."),       \
    LATEX_INTEGER(cols, "360", 8, 1024, "px", ADVANCED,                                                                \
                  "Columns of a formula's image, where longer formulas are cut off; more columns cut off fewer "       \
                  "formulas and take more time."),                                                                     \
    LATEX_REAL(dpi, "200", 20, 1200, "1/inch", ADVANCED,                                                               \
               "Resolution of the formulas; a higher one makes characters larger."),                                   \
    LATEX_INTEGER(min_tokens, "1", 1, 64, "tokens", ADVANCED,                                                          \
                  "Smallest number of tokens of a formula; a larger one makes the shortest formulas longer."),         \
    LATEX_INTEGER(max_tokens, "30", 1, 64, "tokens", ADVANCED,                                                         \
                  "Largest number of tokens of a formula, where all lengths are equally likely; a larger one makes "   \
                  "formulas longer and harder to learn."),                                                             \
    LATEX_INTEGER(symbols, "16", 1, 16, "symbols", RESEARCH,                                                           \
                  "Number of different symbols, in the order 0-9 x y z a b c; more symbols need more motif "           \
                  "channels."),                                                                                        \
    LATEX_REAL(noise, "0.25", 0, 1, "", ADVANCED,                                                                      \
               "Share of all pixels that are made black; a larger share makes symbols harder to recognise."),          \
    LATEX_INTEGER(margin, "2", 0, 100, "px", RESEARCH,                                                                 \
                   "Pixels by which a character's true box is larger than its ink on every side; a "                   \
                   "larger margin counts more motifs as right.")
/* clang-format on */

/* The generator for a configuration. */
struct latex latex_of(const struct latex_config *config);

#endif
