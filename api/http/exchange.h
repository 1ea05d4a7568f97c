/* One request while a handler answers it.
 *
 * A handler reads the request with exchange_*(), writes a document to x->out (or bytes to x->response->body) and ends
 * with exactly one respond_*(). It never fails: every error becomes a response. The thread that calls api_handle() runs
 * the handler; an exchange is used by that thread alone. */
#ifndef MOTIF_API_HTTP_EXCHANGE_H
#define MOTIF_API_HTTP_EXCHANGE_H

#include "api/http/message.h"
#include "api/http/problem.h"
#include "api/http/route.h"
#include "api/http/service.h"
#include "api/http/uri.h"
#include "protocol/json.h"
#include "protocol/json_sink.h"
#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/work.h"

#define API_DOCUMENT_MAX (256u << 20) /* upper limit of the bytes of a response that is built in memory */
#define RETRY_SECONDS 2               /* value of Retry-After for 429 and 503 */

struct api_faults;
struct query_ticket;

struct exchange {
    struct api *api;
    const struct api_request *request;
    struct api_response *response;
    struct route_match match;
    struct query query;          /* query parameters, parsed and checked against the route's table */
    struct arena arena;          /* memory that lives until the response is complete */
    struct work work;            /* ends when the client has disconnected or the daemon ends; queries add a deadline */
    struct query_ticket *ticket; /* of a query that computes (queries.h); else unset */
    struct json_sink json;       /* writes to response->body */
    const struct sink *out;      /* &json.sink: handlers write the document to it with sink_*() */
    bool noted;                  /* the audit log has the request (audit.h) */
};

/* ---- reading the request ---- */

/* Returns a path parameter of the route, decoded; "" if the pattern has no such parameter. */
const char *exchange_param(const struct exchange *x, const char *name);
/* Returns a query parameter, decoded; NULL if the target does not contain it. */
const char *exchange_query(const struct exchange *x, const char *name);
/* Returns a query parameter as an integer, or `otherwise` if it is missing. */
int64_t exchange_query_integer(const struct exchange *x, const char *name, int64_t otherwise);
/* True when a query parameter is 1 or true. */
bool exchange_query_flag(const struct exchange *x, const char *name);
/* Returns the value of a request header, or NULL. */
const char *exchange_header(const struct exchange *x, const char *name);
/* Returns the name of the additional member in which clients of this path look for the detail of a problem (struct
 * api_dialect), or NULL. */
const char *exchange_error_member(const struct exchange *x);
/* Parses the body as a JSON object, which the caller deletes. After a failure it returns NULL and has responded. */
cJSON *exchange_object(struct exchange *x);
/* Works like exchange_object(), but parses only the first `bytes` bytes of the body. */
cJSON *exchange_object_in(struct exchange *x, size_t bytes);

/* Adds the body to a hash. Ends early if the work ends, so the caller calls work_check() before it uses the hash. */
void exchange_hash_body(struct exchange *x, struct hash *hash);

/* ---- responding ---- */

/* Sends the JSON document that was written to x->out, or a 500 if the document is incomplete. */
void respond_json(struct exchange *x, int status);
/* Sends the bytes of response->body. media_type: static text. */
void respond_body(struct exchange *x, int status, const char *media_type);
/* Sends a response without a body. */
void respond_empty(struct exchange *x, int status);
/* Drops what was written and sends a problem document; `format` gives its detail, a sentence for the client. */
void respond_problem(struct exchange *x, enum problem problem, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Works like respond_problem(), with a list of faults. member: "pointer" for faults of a body, "parameter" for faults
 * of a query. */
void respond_faults(struct exchange *x, enum problem problem, const char *member, const struct api_faults *faults);
/* Sends an error of core or storage, with the HTTP status that corresponds to its code. Messages about the machine
 * (paths, SQL) go to the log and not to the client. */
void respond_error(struct exchange *x, const struct error *err);
/* Sends the error of a place in the ledger that could not be taken: 429, unless there was no memory. what: "uploads";
 * most: the number of places. */
void respond_no_place(struct exchange *x, const struct error *err, const char *what, int most);
/* Sets ETag. If If-None-Match contains this tag, it also responds 304 and returns true; the handler then returns. */
bool respond_not_modified(struct exchange *x, const char *etag);

/* ---- the response itself ---- */

/* Sets a header, or replaces the one of the same name. Control characters become spaces. name: static text. */
void response_header(struct api_response *response, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Makes an empty response with the id of the request. */
void response_init(struct api_response *response, const struct api_request *request);
/* Writes milliseconds since 1970 as RFC 3339 text in UTC with milliseconds; null for 0. */
void sink_time(const struct sink *out, const char *key, int64_t ms);

#endif
