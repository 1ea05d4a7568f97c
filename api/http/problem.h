/* Problem documents (RFC 9457): how the API reports errors.
 *
 * One table contains every kind of problem: its status, a title, and a name that never changes (`type` is
 * "urn:motifd:problem:NAME"). `detail` describes the individual problem, and `instance` is the id of the request. A
 * problem document contains nothing about the machine: no path, no SQL, no stack. Pure functions; any thread. */
#ifndef MOTIF_API_HTTP_PROBLEM_H
#define MOTIF_API_HTTP_PROBLEM_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/error.h"

struct api_faults;

enum problem {
    PROBLEM_BAD_REQUEST,     /* 400 */
    PROBLEM_BAD_JSON,        /* 400: the body is not JSON */
    PROBLEM_BAD_QUERY,       /* 400: a query parameter is wrong */
    PROBLEM_UNAUTHORISED,    /* 401 */
    PROBLEM_FORBIDDEN,       /* 403 */
    PROBLEM_NOT_FOUND,       /* 404 */
    PROBLEM_METHOD,          /* 405 */
    PROBLEM_NOT_ACCEPTABLE,  /* 406 */
    PROBLEM_TIMEOUT,         /* 408 */
    PROBLEM_CONFLICT,        /* 409: the state of the resource does not allow the request */
    PROBLEM_PRECONDITION,    /* 412 */
    PROBLEM_TOO_LARGE,       /* 413 */
    PROBLEM_TARGET_TOO_LONG, /* 414 */
    PROBLEM_MEDIA_TYPE,      /* 415 */
    PROBLEM_RANGE,           /* 416 */
    PROBLEM_EXPECTATION,     /* 417 */
    PROBLEM_MISDIRECTED,     /* 421 */
    PROBLEM_INVALID,         /* 422: fields of the body are wrong; the document lists them */
    PROBLEM_KEY_REUSED,      /* 422: the Idempotency-Key was used for another request */
    PROBLEM_TOO_MANY,        /* 429 */
    PROBLEM_HEADERS,         /* 431 */
    PROBLEM_INTERNAL,        /* 500 */
    PROBLEM_NOT_IMPLEMENTED, /* 501 */
    PROBLEM_UNAVAILABLE,     /* 503 */
    PROBLEM_DEADLINE,        /* 504: the query took too long */
    PROBLEM_COUNT
};

struct problem_kind {
    int status;
    const char *name, *title;
};
/* Returns the row of a problem, which is static. */
const struct problem_kind *problem_kind(enum problem problem);
/* Returns the first problem with this HTTP status, or PROBLEM_INTERNAL. */
enum problem problem_of_status(int status);
/* Returns the problem that a client sees when core or storage fails with this code. */
enum problem problem_of_error(enum status code);
/* True when clients may see the messages of errors with this code. Other messages go to the log. */
bool problem_is_public(enum status code);

/* Appends a problem document to `out`. title: NULL selects the title in the table of problems. instance: the id of the
 * request. faults (may be NULL): written as the list `errors`, in which `member` ("pointer" or "parameter") is the name
 * for the place of a fault. error (may be NULL): the name of a further member that also contains `detail` (struct
 * api_dialect). */
void problem_write(struct buf *out, enum problem problem, int status, const char *title, const char *detail,
                   const char *instance, const char *member, const struct api_faults *faults, const char *error);

#endif
