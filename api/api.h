/* The contract as a function: a request in, a response out. No sockets, and but for the parser of an upload (uploads.h)
 * no threads of its own.
 *
 * The process (server/) owns connections, tokens and workers; this room owns everything a client can
 * see: routes, validation, documents, errors. One table (route.h) says of every route its method,
 * pattern, scope, body limit, media types, parameters and answers; routing, 405, admission and the
 * OpenAPI document are read from it.
 *
 * How an adapter uses it, for each request:
 *   1. headers are complete: fill a struct api_request (no body yet) and call api_admit(). False: send
 *      the response, which refuses (400, 404, 405, 401, 403, 413, 414, 415), and read no body.
 *      True: read at most *body_limit bytes; when more arrive, call api_refuse(.., 413, ..).
 *   2. call api_handle() with the whole body; send the response; api_response_close().
 *
 * Every response is complete: status, Content-Type, X-Request-Id, ETag, security headers. Each
 * response, refused or not, is counted once in /metrics. All functions may be called from any number of
 * threads at the same time; a request and its response belong to one thread. */
#ifndef MOTIF_API_API_H
#define MOTIF_API_API_H

#include <stdbool.h>
#include <stddef.h>

#include "api/http/message.h"
#include "api/http/options.h"
#include "core/base/error.h"

struct api;
struct api_route;

enum status api_create(const struct api_options *options, struct api **api, struct error *err);
/* No request may be in progress and every response must be closed. NULL is fine. */
void api_destroy(struct api *api);

/* Before the body: see above. True: *body_limit says how many bytes may be read (0: none are
 * expected; whatever arrives must be refused with 413). False: the response is ready. */
bool api_admit(struct api *api, const struct api_request *request, struct api_response *response, size_t *body_limit);

/* For a route that streams, after api_admit(): the body is given piece by piece instead of being collected, and
 * `request->upload` says so to api_handle(). False: the response refuses. Whatever happens then, api_upload_close() is
 * called once; an upload that was not handled can be resumed if the client said its hash. */
bool api_upload_begin(struct api *api, const struct api_request *request, struct api_upload **upload,
                      struct api_response *response);
void api_upload_add(struct api_upload *upload, const void *bytes, size_t count);
void api_upload_close(struct api *api, struct api_upload *upload); /* NULL is fine */

/* Answers. Never fails: what goes wrong is a response of its own. Does the checks of api_admit()
 * again, so that it is safe alone. */
void api_handle(struct api *api, const struct api_request *request, struct api_response *response);

/* A problem of the adapter's own (400 framing, 413, 417, 421, 429 with Retry-After, 431, 503): `title` and
 * `detail` are for the client. retry_after: seconds, or 0 for none. Method and target of the request may be
 * NULL when they never arrived. */
void api_refuse(struct api *api, const struct api_request *request, int status, const char *title, const char *detail,
                int retry_after, struct api_response *response);

/* The trainer of a job is gone: a checkpoint of which it had sent a part is dropped. */
void api_trainer_gone(struct api *api, const char *job);

/* The route of a method and target, for what must be known early. NULL when there is none. */
const struct api_route *api_route_find(const struct api *api, const char *method, const char *target);
size_t api_route_body_limit(const struct api_route *route);
enum api_scope api_route_scope(const struct api_route *route);
bool api_route_streams(const struct api_route *route);
bool api_route_takes(const struct api_route *route, const char *content_type);

#endif
