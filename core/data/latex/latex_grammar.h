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
    LATEX_SYMBOLS = 16,    /* alternatives of `sym` */
    LATEX_MAX_TOKENS = 64, /* tokens of a formula without START and END */
    LATEX_NAME = 8         /* largest number of bytes of a token's name with its NUL */
};

/* The output vocabulary: START, END, then the names in byte order. */
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

/* The name of a token: "+", "7", "FRAC(", "FRACMID" ...; "?" for any other number. */
const char *latex_token_name(int token);
/* A token in LaTeX: "+", "7", "\\frac{", "}{" ...; "" for START and END; "?" for any other number. */
const char *latex_token_source(int token);

/* Draws formula `index` of the set whose seed is `seed`: first a length from [low, high], then formulas until one has
 * this length; 0 <= low <= high <= LATEX_MAX_TOKENS. Length 0 is the empty formula. Only the first `symbols` symbols in
 * the order above are used, 1 <= symbols <= LATEX_SYMBOLS. The paper has low 1, high 30 and symbols 16. tokens: [high].
 * Returns the length. */
int latex_formula(int64_t seed, int64_t index, int low, int high, int symbols, int *tokens);
/* Draws one formula of any length from a new generator. tokens: [room] receives the first `room` tokens. Returns the
 * length. */
int latex_formula_any(uint32_t generator_seed, int *tokens, int room);

/* Writes LaTeX source (`\frac{1}{x^{2}}`), or names separated by spaces (`FRAC( 1 FRACMID ...`). The tokens need not be
 * a formula. STATUS_LIMIT: the text and its NUL need more than `size` bytes. */
enum status latex_source(const int *tokens, int count, char *text, size_t size, struct error *err);
enum status latex_names(const int *tokens, int count, char *text, size_t size, struct error *err);
/* Parses names. tokens: [room]. STATUS_INVALID: a word is no name. STATUS_LIMIT: more than `room` tokens. */
enum status latex_parse_names(const char *text, int *tokens, int room, int *count, struct error *err);

#endif
