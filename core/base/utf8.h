/* UTF-8, strictly: no overlong forms, surrogates, or characters beyond U+10FFFF. Pure functions. */
#ifndef MOTIF_CORE_BASE_UTF8_H
#define MOTIF_CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Length in bytes of the valid UTF-8 character at `text` (1..4), or 0. */
size_t utf8_char(const char *text, size_t bytes);
bool utf8_valid(const char *text, size_t bytes);

#endif
