/* Writes the LaTeX source of a formula, for example `\frac{1}{x^{2}}`. */
#ifndef MOTIF_TESTS_SUPPORT_LATEX_SOURCE_H
#define MOTIF_TESTS_SUPPORT_LATEX_SOURCE_H

#include <stdio.h>

#include "core/data/latex/latex_formula.h"

enum { LATEX_SOURCE = 8 * LATEX_MAX_TOKENS }; /* bytes of the longest source, with its NUL */

static inline void latex_source(const int *tokens, int count, char text[LATEX_SOURCE])
{
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < count && length < LATEX_SOURCE; i++)
        length += (size_t)snprintf(text + length, LATEX_SOURCE - length, "%s", latex_token_source(tokens[i]));
}

#endif
