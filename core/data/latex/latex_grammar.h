/* Formulas of LaTeX-OCR (SPARLING, section 5.1): tokens, the grammar's sampler, and their text.
 *
 *     start  expr [1] | FRAC( start FRACMID start FRAC) [1/4]
 *     expr   term [1] | term + expr [1/4]
 *     term   atom [1] | atom term [1/4]
 *     atom   comb [1] | PAREN( expr PAREN) [1/4]
 *     comb   sym | sym SUP( sym SUP) | sym SUB( sym SUB)
 *     sym    0 1 2 3 4 5 6 7 8 9 x y z a b c
 *
 * Plain functions without state: any number of threads may call. */
#ifndef MOTIF_CORE_DATA_LATEX_LATEX_GRAMMAR_H
#define MOTIF_CORE_DATA_LATEX_LATEX_GRAMMAR_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum {
    LATEX_SYMBOLS = 16,    /* what `sym` can be */
    LATEX_MAX_TOKENS = 64, /* of a formula, START and END not counted */
    LATEX_NAME = 8         /* bytes of a token's name with its NUL, at most */
};

/* The output vocabulary: START, END, then the names in byte order. */
enum latex_token {
    LATEX_START,
    LATEX_END,
    LATEX_PLUS,
    LATEX_DIGIT, /* 0; the other nine follow */
    LATEX_FRAC_OPEN = LATEX_DIGIT + 10,
    LATEX_FRAC_CLOSE,
    LATEX_FRAC_MIDDLE,
    LATEX_PAREN_OPEN,
    LATEX_PAREN_CLOSE,
    LATEX_SUB_OPEN,
    LATEX_SUB_CLOSE,
    LATEX_SUP_OPEN,
    LATEX_SUP_CLOSE,
    LATEX_LETTER, /* a; then b c x y z */
    LATEX_VOCABULARY = LATEX_LETTER + 6
};

/* "+", "7", "FRAC(", "FRACMID" ...; "?" for what is no token. */
const char *latex_token_name(int token);
/* What it is in LaTeX: "+", "7", "\\frac{", "}{" ...; START and END are empty; "?" for what is no token. */
const char *latex_token_source(int token);

/* Formula number `index` of the set `seed`: a length is drawn from [low, high], then formulas until
 * one has it. 0 <= low <= high <= LATEX_MAX_TOKENS; a length of 0 is the empty formula. Only the first
 * `symbols` symbols in the order above occur, 1 <= symbols <= LATEX_SYMBOLS; the paper: 1, 30, 16.
 * tokens: [high]. Returns the length. */
int latex_formula(int64_t seed, int64_t index, int low, int high, int symbols, int *tokens);
/* One formula from a fresh generator, whatever its length: `tokens` gets the first `room`. Returns the length. */
int latex_formula_any(uint32_t generator_seed, int *tokens, int room);

/* LaTeX source (`\frac{1}{x^{2}}`), or names with spaces between them (`FRAC( 1 FRACMID ...`). Tokens in any
 * order are written. STATUS_LIMIT when `size` bytes do not hold the text and its NUL. */
enum status latex_source(const int *tokens, int count, char *text, size_t size, struct error *err);
enum status latex_names(const int *tokens, int count, char *text, size_t size, struct error *err);
/* The way back from names. STATUS_INVALID for what is no name, STATUS_LIMIT for more than `room` tokens. */
enum status latex_parse_names(const char *text, int *tokens, int room, int *count, struct error *err);

#endif
