/* TeX's layout of the formulas of latex_grammar.h: inline math in display style, 10 pt Computer Modern, with amsmath's
 * sizes of large brackets. The rules are those of Appendix G of The TeXbook, as far as this grammar needs them.
 * Functions keep no state; any number of threads may call. */
#ifndef MOTIF_CORE_DATA_LATEX_LATEX_LAYOUT_H
#define MOTIF_CORE_DATA_LATEX_LATEX_LAYOUT_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/data/latex/latex_grammar.h"

/* Classes of visible characters, in byte order of their names. */
enum latex_class {
    LATEX_CLASS_OPEN,  /* ( */
    LATEX_CLASS_CLOSE, /* ) */
    LATEX_CLASS_PLUS,
    LATEX_CLASS_DIGIT, /* the digit 0; the other nine follow */
    LATEX_CLASS_BAR = LATEX_CLASS_DIGIT + 10,
    LATEX_CLASS_LETTER, /* the letter a; then b c x y z */
    LATEX_CLASSES = LATEX_CLASS_LETTER + 6
};

enum { LATEX_SIZES = 3 }; /* the sizes text, script and scriptscript */

/* A character or a fraction bar. Lengths are points of 1/72.27 inch; x to the right, y up, baseline of the formula at
 * 0. */
struct latex_mark {
    int symbol;           /* enum latex_class */
    int size;             /* 0 text (10 pt), 1 script (7 pt), 2 scriptscript (5 pt) */
    bool big;             /* a bracket of 12 pt from the extensible font; size is then 0 */
    double x, y;          /* of a character: its origin on the baseline; of a bar: its lower left corner */
    double width, height; /* only of a bar */
};

/* Marks in the order of their tokens; a bar precedes its numerator. */
struct latex_layout {
    double width, height, depth; /* size of TeX's box around the formula; ink may extend beyond it */
    int count;
    struct latex_mark marks[LATEX_MAX_TOKENS];
};

/* Lays out a formula. No tokens give an empty box. STATUS_INVALID: the tokens are no formula of the grammar.
 * STATUS_LIMIT: more than LATEX_MAX_TOKENS tokens. */
enum status latex_lay_out(const int *tokens, int count, struct latex_layout *layout, struct error *err);

/* Size of a font in points. */
double latex_size_points(int size);
/* The name of a class: "(", "7", "FRACBAR" ... */
const char *latex_class_name(int symbol);

#endif
