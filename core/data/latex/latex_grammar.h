/* Formulas of LaTeX-OCR (SPARLING, section 5.1): tokens, a sampler of the grammar, and the text of formulas. A number
 * in square brackets is the weight of an alternative; without one, alternatives are equally likely.
 *
 *     start  expr [1] | FRAC( start FRACMID start FRAC) [1/4]
 *     expr   term [1] | term + expr [1/4]
 *     term   atom [1] | atom term [1/4]
 *     atom   comb [1] | PAREN( expr PAREN) [1/4]
 *     comb   sym | sym SUP( sym SUP) | sym SUB( sym SUB)
 *     sym    0 1 2 3 4 5 6 7 8 9 x y z a b c
 *
 * Functions keep no state: any number of threads may call. */
#ifndef MOTIF_CORE_DATA_LATEX_LATEX_GRAMMAR_H
#define MOTIF_CORE_DATA_LATEX_LATEX_GRAMMAR_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

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

#endif
