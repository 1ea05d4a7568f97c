/* Text for a terminal: numbers for people, bars, tables, colours.
 *
 * Everything is written to a struct buf, so it can be tested without a terminal. Text is UTF-8; a
 * character is one column wide, a wide one of East Asia two, and a combining one none. Pure functions. */
#ifndef MOTIF_API_CLIENT_TERM_H
#define MOTIF_API_CLIENT_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/base/buf.h"

/* Properties of an output stream. */
struct term {
    FILE *stream;
    bool live;   /* the stream is a terminal, so a line can be replaced by the next one */
    bool colour; /* colours are used: `live` is true, NO_COLOR is not set and TERM is not "dumb" */
    int columns; /* width of the terminal; 100 when it is not a terminal */
    bool bare;   /* term_table() writes only the first column, one cell on a line, for scripts */
    bool failed; /* the output is incomplete, because memory was short or a write failed */
};
/* Finds out what `stream` can show. */
void term_init(struct term *term, FILE *stream);
/* Writes a buffer to the stream and empties it. */
void term_flush(struct term *term, struct buf *out);

/* Styles of text. term_style() appends the escape sequence that begins a style, or nothing if `colour` is false. */
enum term_style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN, STYLE_YELLOW, STYLE_BLUE, STYLE_CYAN };
void term_style(struct buf *out, bool colour, enum term_style style);
/* The style of a job state, such as green for succeeded and red for failed. */
enum term_style term_state_style(const char *state);

/* Colours of motif channels as 0xRRGGBB; they repeat after TERM_CHANNEL_COLOURS. */
#define TERM_CHANNEL_COLOURS 12
/* The colour of a channel. */
unsigned term_channel_colour(int channel);
/* The letter of a channel: 0-9, a-z, A-Z, then '*'. */
char term_channel_letter(int channel);

/* Number of columns of a UTF-8 text, without escape sequences. */
int term_width(const char *text);

/* A bar of `cells` columns with a resolution of an eighth of a column: "██████▍     ". NaN draws an empty bar. */
void term_bar(struct buf *out, double fraction, int cells);

/* Writes a duration such as "42 s", "3:07", "1:02:05" or "3 d 4:00"; "-" for NaN. */
void term_duration(char *out, size_t bytes, double seconds);
/* Writes a count such as "812", "12.4k" or "1.2M". */
void term_count(char *out, size_t bytes, double count);
/* Writes a size such as "512 B" or "1.5 MiB". */
void term_bytes(char *out, size_t bytes, double count);
/* Writes a fraction as percent, such as "1.48 %"; a small one has two significant digits, such as "0.0025 %". */
void term_percent(char *out, size_t bytes, double fraction);
/* Writes a number such as "0.0133" or "5.02e-05"; "-" for NaN. */
void term_number(char *out, size_t bytes, double value);

/* A table. Cells are added row by row, from left to right; the first row contains the titles of the columns. */
#define TABLE_COLUMNS 24
struct table {
    int columns;
    bool right[TABLE_COLUMNS]; /* whether the column is right-aligned */
    char **cells;
    enum term_style *styles;
    size_t count;
    bool failed; /* memory was short, so the table cannot be written */
    int wrap;    /* width of the terminal, to which the text of the last column is wrapped; 0: no wrapping */
};
/* `head`: column names separated by '|'; a name that starts with '>' is right-aligned. */
void table_init(struct table *table, const char *head);
void table_close(struct table *table);
void table_add(struct table *table, const char *text); /* adds a cell; NULL is shown as "-" */
void table_add_styled(struct table *table, const char *text, enum term_style style);
void table_write(const struct table *table, bool colour, struct buf *out);
/* Writes the table to the terminal and closes it. */
void term_table(struct term *term, struct table *table);
/* Appends the table as Markdown. */
void table_write_markdown(const struct table *table, struct buf *out);

#endif
