/* The formulas of LaTeX-OCR: their grammar, and their layout on a page. Functions keep no state; any number of threads
 * may call. */
#ifndef MOTIF_CORE_DATA_LATEX_LATEX_FORMULA_H
#define MOTIF_CORE_DATA_LATEX_LATEX_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

/* The grammar (SPARLING, section 5.1): tokens, a sampler of the grammar, and the text of formulas. A number
 * in square brackets is the weight of an alternative; without one, alternatives are equally likely.
 *
 *     start  expr [1] | FRAC( start FRACMID start FRAC) [1/4]
 *     expr   term [1] | term + expr [1/4]
 *     term   atom [1] | atom term [1/4]
 *     atom   comb [1] | PAREN( expr PAREN) [1/4]
 *     comb   sym | sym SUP( sym SUP) | sym SUB( sym SUB)
 *     sym    0 1 2 3 4 5 6 7 8 9 x y z a b c */

enum {
    LATEX_SYMBOLS = 16,   /* alternatives of `sym` */
    LATEX_MAX_TOKENS = 64 /* tokens of a formula without START and END */
};

/* The output vocabulary: START, END, then the tokens in the byte order of their names in the authors' data. */
enum latex_token {
    LATEX_START,
    LATEX_END,
    LATEX_PLUS,
    LATEX_DIGIT, /* the digit 0; the other nine follow */
    LATEX_FRAC_OPEN = LATEX_DIGIT + 10,
    LATEX_FRAC_CLOSE,
    LATEX_FRAC_MIDDLE,
    LATEX_PAREN_OPEN,
    LATEX_PAREN_CLOSE,
    LATEX_SUB_OPEN,
    LATEX_SUB_CLOSE,
    LATEX_SUP_OPEN,
    LATEX_SUP_CLOSE,
    LATEX_LETTER, /* the letter a; then b c x y z */
    LATEX_VOCABULARY = LATEX_LETTER + 6
};

/* A token in LaTeX: "+", "7", "\\frac{", "}{" ...; "" for START and END; "?" for any other number. */
const char *latex_token_source(int token);

/* Draws formula `index` of the set whose seed is `seed`: first a length from [low, high], then formulas until one has
 * this length; 0 <= low <= high <= LATEX_MAX_TOKENS. Length 0 is the empty formula. Only the first `symbols` symbols of
 * the list 0-9 x y z a b c are used, 1 <= symbols <= LATEX_SYMBOLS. The paper has low 1, high 30 and symbols 16.
 * tokens: [high]. Returns the length. */
int latex_formula(int64_t seed, int64_t index, int low, int high, int symbols, int *tokens);

/* The layout is TeX's: inline math in display style, 10 pt Computer Modern, with amsmath's sizes of large brackets. The
 * rules are those of Appendix G of The TeXbook, as far as this grammar needs them. */

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
