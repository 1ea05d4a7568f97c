/* Strict UTF-8 check: overlong forms, surrogates and characters above U+10FFFF are invalid. Pure functions; any thread.
 */
#ifndef MOTIF_CORE_BASE_UTF8_H
#define MOTIF_CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The length in bytes (1 to 4) of the character at `text`, or 0 if it is invalid or not complete within `bytes`. */
size_t utf8_char(const char *text, size_t bytes);
/* Whether all `bytes` bytes are valid UTF-8. */
bool utf8_valid(const char *text, size_t bytes);

#endif
