/* Splits untrusted text into lines, words and fields, and loads whole files of limited size. The text need not end in
 * NUL and may contain any bytes; a byte order mark before it is skipped. Lines and words are views into it. Lines end
 * in LF, CR LF or CR. Functions keep no state; any
 * thread. A text stream reads the lines of a byte source and keeps one of them in memory; one thread at a time. */
#ifndef MOTIF_CORE_FORMATS_TEXT_LINES_H
#define MOTIF_CORE_FORMATS_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/formats/text_source.h"

struct plain_line {
    const char *at; /* not NUL-terminated */
    size_t size;
};
struct plain_lines {
    const char *at, *end;
    int64_t number;   /* number of the last line returned, from 1 */
    const char *feed; /* private: the next LF, or `end` */
};

struct plain_lines plain_lines(const char *text, size_t size);
/* Returns the next line without its end; false at the end of the text. */
bool plain_next(struct plain_lines *lines, struct plain_line *line);
/* Removes the next word (separated by spaces and tabs) from the beginning of a line; false if no word is left. */
bool plain_word(struct plain_line *line, struct plain_line *word);
/* The line without the spaces and tabs at its ends. */
struct plain_line plain_trimmed(struct plain_line line);
/* Removes the next field, up to `separator` or the end, from the beginning of a line. Fields may be empty. False if
 * no field is left. */
bool plain_field(struct plain_line *line, char separator, struct plain_line *field);
/* Whether a word equals a NUL-terminated text. */
bool plain_is(struct plain_line word, const char *text);
/* Parses a whole word as a finite number; NaN if it is not one. */
double plain_number(struct plain_line word);
/* Parses a whole word as an integer in [0, most]; -1 if it is not one. */
int64_t plain_integer(struct plain_line word, int64_t most);
/* Parses a whole word as a whole number below 2^53 in any notation ("100.0", "1e+05", as pandas and R write); false if
 * it is not one. */
bool plain_whole(struct plain_line word, int64_t *number);
/* Parses the strand of a feature: '+' for "+", 1, "plus", "forward", "F" and "W"; '-' for "-", -1, "minus", "reverse",
 * "R" and "C"; '.' for ".", "*", 0 and an empty field, which state none; 0 for any other text. */
char plain_strand(struct plain_line word);
/* The number of bytes of a word that a message shows: at most `most`, and only whole characters; 0 if the word is not
 * UTF-8 text. */
int plain_shown(struct plain_line word, int most);

/* The lines of a byte source, which may be UTF-16 (text_source.h). */
struct text_stream {
    struct text_source text;
    char *block; /* bytes that were read; [begin, end) of them were not returned yet */
    size_t begin, end, room, most;
    bool ended;     /* the source has no more bytes */
    int64_t number; /* number of the last line returned, from 1 */
};
/* Opens the stream, which must stay where it is. most: largest number of bytes of a line. `from` is copied; what it
 * refers to must outlive the stream. */
void text_stream_open(struct text_stream *s, const struct byte_source *from, size_t most);
void text_stream_close(struct text_stream *s); /* a zeroed struct is allowed */
/* Returns the next line without its end, valid until the next call; *more is false at the end.
 * STATUS_LIMIT: a line is too long. STATUS_NO_MEMORY, and the errors of the source. */
enum status text_stream_next(struct text_stream *s, struct plain_line *line, bool *more, struct error *err);

/* Loads a file of at most `most` bytes; the caller frees *text. Messages call the file `shown`. STATUS_IO: it cannot be
 * read. STATUS_LIMIT: it is larger. */
enum status plain_load(const char *path, const char *shown, size_t most, char **text, size_t *size, struct error *err);

#endif
