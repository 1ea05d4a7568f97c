/* The characters of LaTeX-OCR as coverage rasters, drawn once from the outlines of Latin Modern
 * (Debian's package fonts-lmodern) by FreeType.
 *
 * Immutable after latex_font_create(): any number of threads may read. */
#ifndef MOTIF_CORE_DATA_LATEX_LATEX_FONT_H
#define MOTIF_CORE_DATA_LATEX_LATEX_FONT_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/data/latex/latex_layout.h"

enum { LATEX_FRACTIONS = 4 }; /* a character begins at quarters of a pixel along its line */

/* coverage: [rows][cols], 0 to 255. Its upper left pixel lies `up` rows above the one under the baseline
 * and `left` columns right of the origin's. */
struct latex_raster {
    int rows, cols, up, left;
    const uint8_t *coverage;
};

struct latex_font;

/* For pictures of `dpi` pixels an inch, in (0, 1200]. `folder` holds the font files; NULL: where Debian puts
 * them. STATUS_NOT_FOUND names the package when they are not there. */
enum status latex_font_create(double dpi, const char *folder, struct latex_font **font, struct error *err);
void latex_font_destroy(struct latex_font *font); /* NULL is fine */

/* The raster of a mark that is no bar, `fraction` quarters of a pixel to the right of its column. */
const struct latex_raster *latex_font_raster(const struct latex_font *font, const struct latex_mark *mark,
                                             int fraction);

#endif
