/* Command lines: one table of options per command, whose rows are typed values (values.h). The parser and the help text
 * both read it.
 *
 * Every program of the tree uses this parser, so they all accept the same forms: "--name=value" and "--name value" are
 * equal, options may stand before and after positional arguments, and "--" ends the options. In programs that have
 * these options, "-h" stands for "--help", "-o" for "--print", "-q" for "--quiet" and "-f" for "--follow". Nothing is
 * printed here: faults are returned as struct error, the help as a buffer. All texts are borrowed from argv and from
 * the tables. No state is shared, so any thread may parse. */
#ifndef MOTIF_CORE_BASE_OPTIONS_H
#define MOTIF_CORE_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/values.h"
#include "core/base/error.h"

/* Rows of a table of options. `option` is the long name without dashes, such as "preset". `placeholder` stands for the
 * value in the help ("NAME"). `usual` is the default as text; NULL: none. */
#define OPTION_FLAG(option, text)                                                                                      \
    {                                                                                                                  \
        .name = option, .type = FIELD_BOOL, .meaning = text                                                            \
    }
#define OPTION_TEXT(option, placeholder, text)                                                                         \
    {                                                                                                                  \
        .name = option, .type = FIELD_TEXT, .unit = placeholder, .meaning = text                                       \
    }
#define OPTION_INTEGER(option, placeholder, usual, low, high, text)                                                    \
    {                                                                                                                  \
        .name = option, .type = FIELD_INT, .unit = placeholder, .preset = usual, .min = low, .max = high,              \
        .meaning = text                                                                                                \
    }
#define OPTION_NUMBER(option, placeholder, usual, low, high, text)                                                     \
    {                                                                                                                  \
        .name = option, .type = FIELD_REAL, .unit = placeholder, .preset = usual, .min = low, .max = high,             \
        .meaning = text                                                                                                \
    }
#define OPTIONS_END                                                                                                    \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

#define OPTIONS_MAX 64 /* maximum number of options in a command line, and of positional arguments */

struct options {
    const struct config_field *own, *shared; /* the tables of known options, as for options_parse() */
    const char *positional[OPTIONS_MAX];
    size_t positional_count;
    struct {
        const char *name, *value; /* value: "" if the option takes none */
    } options[OPTIONS_MAX];
    size_t option_count;
};

/* Sorts a command line into options and positional arguments. `argv` starts after the name of the command. An option
 * may be in the command's own table or in `shared`, the table of options common to all commands (NULL: none). Errors:
 * STATUS_INVALID; the message contains the wrong argument and the closest known option. */
enum status options_parse(const struct config_field *own, const struct config_field *shared, int argc, char **argv,
                          struct options *out, struct error *err);

/* --- one argument at a time: for programs that report every fault, not only the first --- */

enum option_fault { OPTION_FINE, OPTION_UNKNOWN, OPTION_VALUE_MISSING, OPTION_VALUE_UNEXPECTED };

struct option_reader {
    const struct config_field *own, *shared; /* the tables of known options, as for options_parse() */
    int argc;
    char **argv;
    int at;           /* index of the next argument; starts at 0 */
    bool options_end; /* whether "--" was read */
};

struct option_item {
    enum option_fault fault;
    const char *word;                /* the argument as it was typed */
    const struct config_field *spec; /* NULL: a positional argument, or an unknown option */
    /* value of the option, "" if it takes none; for a positional argument, the argument itself */
    const char *value;
};

/* Reads the next argument into `item`. Returns false at the end of the command line. */
bool options_next(struct option_reader *reader, struct option_item *item);

/* --- the values of a parsed command line --- */

/* Whether the command line contains the option. */
bool options_has(const struct options *options, const char *name);
/* The value of an option (the last one if it is repeated); NULL if the command line does not contain it. */
const char *options_value(const struct options *options, const char *name);
/* options_integer() and options_number() write the value of an option to *out: that of the command line, or the
 * option's default. Without either, *out stays as it is. STATUS_INVALID: the value is not such a number. */
enum status options_integer(const struct options *options, const char *name, long long *out, struct error *err);
enum status options_number(const struct options *options, const char *name, double *out, struct error *err);

#define HELP_COLUMNS 120 /* upper limit of the width of a help text */
/* Appends the help of a table, one option after the other. Wraps long meanings at HELP_COLUMNS. */
void options_describe(const struct config_field *specs, struct buf *out);
/* Appends the explanation of a command, wrapped at HELP_COLUMNS. Successive lines are one paragraph. An empty line
 * stays empty. A line that begins with a space stays a line of its own; its second column, after two spaces or more, is
 * wrapped below itself. */
void options_explain(const char *text, struct buf *out);

/* The number of single-letter changes between two words, for "did you mean". A word of more than 32 letters counts as
 * far from every other word. */
size_t options_distance(const char *a, const char *b);

#endif
