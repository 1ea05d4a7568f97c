/* Status codes and the one error record that travels down a call chain.
 *
 * A function that can fail returns `enum status` and fills the caller's `struct error`. The first
 * error wins: error_set() on a record that already holds one leaves it alone, so clean-up code can
 * call fallible functions with the same record. `err` may be NULL where the caller only wants the
 * code. Thread rule: a record belongs to one thread at a time. */
#ifndef MOTIF_CORE_BASE_ERROR_H
#define MOTIF_CORE_BASE_ERROR_H

enum status {
    STATUS_OK = 0,
    STATUS_INVALID,     /* the caller's input is wrong; `pointer` names the field */
    STATUS_NOT_FOUND,   /* no such thing */
    STATUS_CONFLICT,    /* the present state does not allow it */
    STATUS_LIMIT,       /* a bound on size, depth or count was passed */
    STATUS_NO_MEMORY,   /* an allocation failed */
    STATUS_IO,          /* the operating system or the database refused */
    STATUS_CORRUPT,     /* stored bytes do not decode */
    STATUS_NUMERIC,     /* a loss, weight or statistic is not finite */
    STATUS_UNAVAILABLE, /* not now: full, draining */
    STATUS_CANCELLED,   /* stopped because somebody asked */
    STATUS_INTERNAL     /* a bug */
};

struct error {
    enum status code;
    char message[256]; /* one sentence for a person, no path of the host */
    char pointer[128]; /* RFC 6901 JSON pointer of the field at fault, or "" */
};

/* Empties the record. */
void error_clear(struct error *err);

/* Fills `err` unless it already holds an error, and returns `code` so that a caller can write
 * `return error_set(err, STATUS_INVALID, "/config/density", "must be in (0, 1]; got %g", d);`.
 * `pointer` may be NULL. */
enum status error_set(struct error *err, enum status code, const char *pointer, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What it means that something could not be opened or looked up, by its errno: STATUS_NOT_FOUND, or STATUS_IO where it
 * may be there all the same (no descriptor free, a disk that fails). */
enum status status_unopened(int code);

/* Name of a code in lower case words ("not found"); never NULL. */
const char *status_name(enum status code);

#endif
