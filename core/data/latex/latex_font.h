/* The characters of LaTeX-OCR as coverage rasters, drawn once with FreeType from the outlines of Latin Modern (Debian's
 * package fonts-lmodern). Read-only after latex_font_create(): any number of threads may read. */
#ifndef MOTIF_CORE_DATA_LATEX_LATEX_FONT_H
#define MOTIF_CORE_DATA_LATEX_LATEX_FONT_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/data/latex/latex_formula.h"

enum { LATEX_FRACTIONS = 4 }; /* a character can begin at any multiple of a quarter pixel along its line */

/* coverage: [rows][cols], 0 to 255. up: number of rows between the upper edge of the raster and the baseline. left: how
 * many columns the first column of the raster lies right of the column of pixels that contains the origin. */
struct latex_raster {
    int rows, cols, up, left;
    const uint8_t *coverage;
};

struct latex_font;

/* Creates the font for pictures of `dpi` pixels an inch, in (0, 1200]; the caller destroys it. `folder` contains the
 * font files; NULL: Debian's folder. STATUS_NOT_FOUND: they are not there; the message names the package. */
enum status latex_font_create(double dpi, const char *folder, struct latex_font **font, struct error *err);
void latex_font_destroy(struct latex_font *font); /* NULL is allowed */

/* The raster of a mark other than a bar, moved right by `fraction` quarters of a pixel. The font owns it. */
const struct latex_raster *latex_font_raster(const struct latex_font *font, const struct latex_mark *mark,
                                             int fraction);

#endif
