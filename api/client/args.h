/* Command lines as data: each command has a table of options, from which parsing and help are read. */
#ifndef MOTIF_API_CLIENT_ARGS_H
#define MOTIF_API_CLIENT_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/error.h"

struct option_spec {
    const char *name;    /* "preset"; the table ends with a NULL name */
    const char *value;   /* what its value is called in the help, "NAME"; NULL: it takes none */
    const char *meaning; /* one line */
};

#define ARGS_MAX 64

struct args {
    const char *positional[ARGS_MAX];
    size_t positional_count;
    struct {
        const char *name, *value; /* value "" for an option that takes none */
    } options[ARGS_MAX];
    size_t option_count;
};

/* Sorts a command line into options and the rest. "--name=value" and "--name value" are the same;
 * "--" ends the options; "-h" is "--help". Options of both tables are known (`shared` may be NULL). Texts are
 * borrowed from argv. STATUS_INVALID names the fault and the nearest known option. */
enum status args_parse(const struct option_spec *own, const struct option_spec *shared, int argc, char **argv,
                       struct args *args, struct error *err);

bool args_has(const struct args *args, const char *name);
/* The last value given; NULL: none. */
const char *args_value(const struct args *args, const char *name);
/* The value as an integer in [min, max], `preset` when not given. */
enum status args_integer(const struct args *args, const char *name, long long min, long long max, long long preset,
                         long long *out, struct error *err);

/* The lines of the help for a table. */
void args_describe(const struct option_spec *specs, struct buf *out);

/* Number of single-letter changes between two words: for "did you mean". */
size_t args_distance(const char *a, const char *b);

#endif
