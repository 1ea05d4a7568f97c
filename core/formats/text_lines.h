/* Lines and words of foreign text, and whole files under a bound. The text need not end in NUL, and may hold any
 * bytes. Pure functions. */
#ifndef MOTIF_CORE_FORMATS_TEXT_LINES_H
#define MOTIF_CORE_FORMATS_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct plain_line {
    const char *at; /* not terminated */
    size_t size;
};
struct plain_lines {
    const char *at, *end;
    int64_t number; /* of the line given last, from 1 */
};

struct plain_lines plain_lines(const char *text, size_t size);
/* The next line without its end (LF or CR LF); false at the end of the text. */
bool plain_next(struct plain_lines *lines, struct plain_line *line);
/* Takes the next word (separated by spaces and tabs) off a line. */
bool plain_word(struct plain_line *line, struct plain_line *word);
/* Takes the next field, up to `separator` or the end, off a line; fields may be empty. False when none is left. */
bool plain_field(struct plain_line *line, char separator, struct plain_line *field);
bool plain_is(struct plain_line word, const char *text);
/* A whole word as a finite number, NaN if it is none. */
double plain_number(struct plain_line word);
/* A whole word as an integer in [0, most]; -1 if it is none. */
int64_t plain_integer(struct plain_line word, int64_t most);

/* A file of at most `most` bytes, malloc'ed. `shown` stands for it in messages. STATUS_IO, STATUS_LIMIT,
 * STATUS_NO_MEMORY. */
enum status plain_load(const char *path, const char *shown, size_t most, char **text, size_t *size, struct error *err);

#endif
