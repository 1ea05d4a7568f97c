/* Strict UTF-8 check, and the rule for control characters in names and in text that goes to a terminal. Overlong forms,
 * surrogates and characters above U+10FFFF are invalid. Pure functions; any thread. */
#ifndef MOTIF_CORE_BASE_UTF8_H
#define MOTIF_CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/* The length in bytes (1 to 4) of the character at `text`, or 0 if it is invalid or not complete within `bytes`. */
size_t utf8_char(const char *text, size_t bytes);
/* Whether all `bytes` bytes are valid UTF-8. */
bool utf8_valid(const char *text, size_t bytes);
/* How many bytes of a valid text can be shown if there is room for `most`: only whole characters. */
size_t utf8_cut(const char *text, size_t bytes, size_t most);

/* Whether a text can be a name: valid UTF-8 without control characters. Control characters are C0, DEL, C1, the line
 * and paragraph separators (U+2028, U+2029), the characters that change the direction of text (U+061C, U+200E, U+200F,
 * U+202A to U+202E, U+2066 to U+2069), and the interlinear annotation and tag characters (U+FFF9 to U+FFFB, U+E0000 to
 * U+E007F). A terminal obeys or hides them, so that a name with them can look like another text. */
bool utf8_printable(const char *text, size_t bytes);

/* Writes the character with this code point as UTF-8; returns its length in bytes, 1 to 4. */
size_t utf8_write(uint32_t point, char out[4]);
/* Writes a text with each character and the marks that follow it as one character, where Unicode has one (the form NFC,
 * except that marks keep their order). Latin, Greek, Cyrillic, kana and Hangul. out: room for bytes + 1. Returns the
 * length, which is at most `bytes`; a NUL follows. A text that is not UTF-8 stays as it is. */
size_t utf8_composed(const char *text, size_t bytes, char *out);
/* As utf8_composed(), and in lower case (Latin, Greek, Cyrillic). */
size_t utf8_folded(const char *text, size_t bytes, char *out);

enum utf8_escapes {
    UTF8_FOR_TERMINAL, /* an escape such as \x1b for a character below U+0100 or an invalid byte, \u202e or
                        * \U000e0001 for others */
    UTF8_FOR_JSON      /* an escape of a JSON string such as \u001b; U+FFFD for an invalid byte */
};
/* Appends a text in which escapes replace control characters and invalid bytes. A text that utf8_printable() accepts
 * stays as it is. UTF8_FOR_JSON leaves line feeds, because they can stand between the values of a document. */
void utf8_escape(struct buf *out, const char *text, size_t bytes, enum utf8_escapes escapes);

#endif
