/* Errors as RFC 9457 wants them.
 *
 * Every kind of error that the service can answer with is a row of one table: its status, a name that
 * never changes (`type` is "urn:motifd:problem:NAME"), a title. `detail` says what happened this time and
 * `instance` is the request's id. Nothing of the host is told: no path, no SQL, no stack. */
#ifndef MOTIF_API_HTTP_PROBLEM_H
#define MOTIF_API_HTTP_PROBLEM_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/error.h"

struct api_faults;

enum problem {
    PROBLEM_BAD_REQUEST,     /* 400 */
    PROBLEM_BAD_JSON,        /* 400: the body is not JSON */
    PROBLEM_BAD_QUERY,       /* 400: a query parameter */
    PROBLEM_UNAUTHORISED,    /* 401 */
    PROBLEM_FORBIDDEN,       /* 403 */
    PROBLEM_NOT_FOUND,       /* 404 */
    PROBLEM_METHOD,          /* 405 */
    PROBLEM_NOT_ACCEPTABLE,  /* 406 */
    PROBLEM_TIMEOUT,         /* 408 */
    PROBLEM_CONFLICT,        /* 409: the state does not allow it */
    PROBLEM_PRECONDITION,    /* 412 */
    PROBLEM_TOO_LARGE,       /* 413 */
    PROBLEM_TARGET_TOO_LONG, /* 414 */
    PROBLEM_MEDIA_TYPE,      /* 415 */
    PROBLEM_RANGE,           /* 416 */
    PROBLEM_EXPECTATION,     /* 417 */
    PROBLEM_MISDIRECTED,     /* 421 */
    PROBLEM_INVALID,         /* 422: fields of the body, listed */
    PROBLEM_KEY_REUSED,      /* 422: Idempotency-Key with another request */
    PROBLEM_TOO_MANY,        /* 429 */
    PROBLEM_HEADERS,         /* 431 */
    PROBLEM_INTERNAL,        /* 500 */
    PROBLEM_NOT_IMPLEMENTED, /* 501 */
    PROBLEM_UNAVAILABLE,     /* 503 */
    PROBLEM_COUNT
};

struct problem_kind {
    int status;
    const char *name, *title;
};
const struct problem_kind *problem_kind(enum problem problem);
/* The first row with this status; PROBLEM_INTERNAL when there is none. */
enum problem problem_of_status(int status);
/* Which problem an error of the rooms below is to a client. */
enum problem problem_of_error(enum status code);
/* May the message of such an error be shown? Others are logged and described in general words. */
bool problem_tells(enum status code);

/* Appends the document. `title` NULL: the table's. `faults` (may be NULL) become `errors`; `member` is what names
 * their place: "pointer" for a body, "parameter" for a query. */
void problem_write(struct buf *out, enum problem problem, int status, const char *title, const char *detail,
                   const char *instance, const char *member, const struct api_faults *faults);

#endif
