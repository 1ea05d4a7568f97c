/* Status codes, and the error record that a caller passes down a call chain.
 *
 * A function that can fail returns `enum status` and fills the caller's `struct error`. The first error is kept:
 * error_set() does not change a record that already contains an error, so cleanup code may call functions that can fail
 * with the same record. `err` may be NULL if the caller needs the code only. One thread at a time may use a record. */
#ifndef MOTIF_CORE_BASE_ERROR_H
#define MOTIF_CORE_BASE_ERROR_H

enum status {
    STATUS_OK = 0,
    STATUS_INVALID,     /* the caller's input is wrong; `pointer` names the field */
    STATUS_NOT_FOUND,   /* the requested object does not exist */
    STATUS_CONFLICT,    /* the current state does not allow the request */
    STATUS_LIMIT,       /* a limit on size, depth or count was exceeded */
    STATUS_NO_MEMORY,   /* an allocation failed */
    STATUS_IO,          /* a file, the system or the database reported a failure */
    STATUS_FULL,        /* the disk is full; the same call succeeds when it has space again */
    STATUS_CORRUPT,     /* stored bytes do not decode */
    STATUS_NUMERIC,     /* a loss, weight or statistic is not finite */
    STATUS_UNAVAILABLE, /* not possible now: queue full, daemon draining */
    STATUS_CANCELLED,   /* stopped on request */
    STATUS_INTERNAL     /* a bug in this program */
};

struct error {
    enum status code;
    char message[256]; /* one sentence for a person, without file paths of the machine */
    char pointer[128]; /* RFC 6901 JSON pointer of the invalid field, or "" */
};

/* Sets the record to STATUS_OK, with empty texts. */
void error_clear(struct error *err);

/* Fills `err` unless it already contains an error, and returns `code`, so that a caller can write
 * `return error_set(err, STATUS_INVALID, "/config/density", "must be in (0, 1]; got %g", d);`.
 * `pointer` may be NULL. */
enum status error_set(struct error *err, enum status code, const char *pointer, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Sets STATUS_NO_MEMORY and the message "not enough memory for WHAT". */
enum status error_memory(struct error *err, const char *what);

/* Returns the status for a file that could not be opened or found. code: errno. STATUS_NOT_FOUND: the file does not
 * exist. STATUS_IO: the file may exist (no free descriptor, a failing disk). */
enum status status_unopened(int code);

/* The static name of a code in lower case words ("not found"); never NULL. */
const char *status_name(enum status code);

#endif
