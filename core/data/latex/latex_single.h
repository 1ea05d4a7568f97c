/* Single characters of LaTeX-OCR, for training motifs directly and for measuring them one by one (SPARLING, Appendix
 * K).
 *
 * Crops are the characters' boxes in pages without noise, whatever of a neighbour sticks into them included. Of equal
 * crops one is kept, of those that occur once none; fraction bars are left out. A sample is a crop in the middle of a
 * white square, made black and white, with the domain's noise.
 *
 * Immutable after latex_crops_create(): any number of threads may draw. */
#ifndef MOTIF_CORE_DATA_LATEX_LATEX_SINGLE_H
#define MOTIF_CORE_DATA_LATEX_LATEX_SINGLE_H

#include "core/data/latex/latex.h"

enum { LATEX_SINGLE_CLASSES = LATEX_CLASSES - 1 }; /* those of enum latex_class without the bar, in the same order */

struct latex_crops;

/* From formulas 0 .. formulas-1 of the set `seed`; as published: 10,000 of seed -10. STATUS_INVALID when no crop
 * occurs twice. Classes without any are not drawn. */
enum status latex_crops_create(const struct latex *domain, const struct latex_font *font, int64_t seed, int formulas,
                               struct latex_crops **crops, struct error *err);
void latex_crops_destroy(struct latex_crops *crops); /* NULL is fine */

/* Different crops of a class, 0 .. LATEX_SINGLE_CLASSES-1, in the order in which they were first seen. */
int latex_crops_count(const struct latex_crops *crops, int class);
/* Rows and columns of a sample: 40 at 200 pixels an inch. */
int latex_single_side(double dpi);
/* The class as an enum latex_class. */
int latex_single_symbol(int class);

/* image: [side][side]. The character depends on `index` alone, as published; `seed` and `index` draw the noise.
 * Returns its class. */
int latex_single(const struct latex *domain, const struct latex_crops *crops, int64_t seed, int64_t index,
                 float *image);

#endif
