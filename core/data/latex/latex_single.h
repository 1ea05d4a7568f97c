/* Pictures of single characters of LaTeX-OCR, for training motifs directly and for measuring a motif model on one
 * character at a time (SPARLING, Appendix K). A crop is the box of a character in a page without noise, including parts
 * of neighbours inside the box. Equal crops are stored once. Crops that occur only once, and fraction bars, are
 * dropped. A sample is a crop in the middle of a white square, made black and white, with the domain's noise. Immutable
 * after latex_crops_create(): any number of threads may draw. */
#ifndef MOTIF_CORE_DATA_LATEX_LATEX_SINGLE_H
#define MOTIF_CORE_DATA_LATEX_LATEX_SINGLE_H

#include "core/data/latex/latex.h"

enum { LATEX_SINGLE_CLASSES = LATEX_CLASSES - 1 }; /* the classes are those of enum latex_class without the bar */

struct latex_crops;

/* Collects crops from formulas 0 to formulas-1 of the set whose seed is `seed` (the paper: 10,000 formulas, seed -10).
 * The caller destroys the crops. STATUS_INVALID: no crop occurs twice. Classes without a crop are never drawn. */
enum status latex_crops_create(const struct latex *domain, const struct latex_font *font, int64_t seed, int formulas,
                               struct latex_crops **crops, struct error *err);
void latex_crops_destroy(struct latex_crops *crops); /* NULL is allowed */

/* Number of different crops of a class in [0, LATEX_SINGLE_CLASSES). */
int latex_crops_count(const struct latex_crops *crops, int class);
/* Rows and columns of a sample: 40 at 200 pixels an inch. */
int latex_single_side(double dpi);
/* The enum latex_class of a class in [0, LATEX_SINGLE_CLASSES). */
int latex_single_symbol(int class);

/* Draws one sample. image: [side][side]. As in the authors' code, the character depends on `index` alone; `seed` and
 * `index` seed the noise. Returns the character's class. */
int latex_single(const struct latex *domain, const struct latex_crops *crops, int64_t seed, int64_t index,
                 float *image);

#endif
