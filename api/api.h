/* The HTTP API as functions: a request in, a response out. It opens no sockets and, apart from the parser of an upload
 * (datasets/uploads.h), starts no threads.
 *
 * The process (server/) owns connections, tokens and workers. This folder owns everything that a client sees: routes,
 * validation, documents, errors. One table (http/route.h) holds the method, pattern, scope, body limit, media types,
 * parameters and responses of every route. Routing, 405, admission and the OpenAPI document are read from it.
 *
 * An adapter handles a request in two steps:
 *
 * - When the headers are complete, it fills a struct api_request without a body and calls api_admit(). If api_admit()
 *   returns false, the adapter sends the response (400, 401, 403, 404, 405, 413, 414 or 415) and reads no body.
 *   Otherwise it reads at most *body_limit bytes; when more arrive, it calls api_refuse() with 413.
 * - It calls api_handle() with the whole body, sends the response and calls api_response_close().
 *
 * Every response is complete: status, Content-Type, X-Request-Id, ETag, security headers. Each is counted once in
 * /metrics. Any number of threads may call these functions at the same time; a request and its response belong to one
 * thread. */
#ifndef MOTIF_API_API_H
#define MOTIF_API_API_H

#include <stdbool.h>
#include <stddef.h>

#include "api/http/message.h"
#include "api/http/options.h"
#include "core/base/error.h"

struct api;
struct api_route;

/* Creates the api. Borrows what the options point to. The caller destroys it with api_destroy(). STATUS_NO_MEMORY.
 * STATUS_INTERNAL when the table of routes or a table of a method is wrong. */
enum status api_create(const struct api_options *options, struct api **api, struct error *err);
/* No request may be in progress, and every response must be closed. NULL is fine. */
void api_destroy(struct api *api);

/* Stops the queries that compute or wait; their requests get 503. The daemon calls this when it ends. */
void api_interrupt(struct api *api);

/* Checks a request before its body is read. True: the adapter may read *body_limit bytes; 0 means that the route takes
 * no body. False: the response is ready to be sent. */
bool api_admit(struct api *api, const struct api_request *request, struct api_response *response, size_t *body_limit);

/* Begins an upload, for a route that takes its body as a stream; the adapter calls this after api_admit(). If it
 * returns true, the adapter passes the body piece by piece to api_upload_add(), sets `request->upload` for
 * api_handle(), and in any case calls api_upload_close() once. If it returns false, the response is ready to be sent,
 * and there is no upload. If the request ends before api_handle(), a client that announced the hash can resume the
 * upload. */
bool api_upload_begin(struct api *api, const struct api_request *request, struct api_upload **upload,
                      struct api_response *response);
void api_upload_add(struct api_upload *upload, const void *bytes, size_t count);
void api_upload_close(struct api *api, struct api_upload *upload); /* NULL is fine */

/* Deletes what the policies of retention no longer keep, up to a hundred jobs. True: more is due. The daemon calls this
 * from time to time. */
bool api_clean(struct api *api);

/* Runs the handler of a request and fills the response. It never fails: every error is a response. It repeats the
 * checks of api_admit(), so that it is safe without that call. */
void api_handle(struct api *api, const struct api_request *request, struct api_response *response);

/* Fills the response for a problem that the adapter itself has found (400 for wrong framing, 413, 417, 421, 429, 431,
 * 503). title: NULL selects the title of the status. retry_after: seconds; 0: no Retry-After. The method and the target
 * of the request are NULL if they have not arrived. */
void api_refuse(struct api *api, const struct api_request *request, int status, const char *title, const char *detail,
                int retry_after, struct api_response *response);

/* Drops a checkpoint that the trainer of a job has sent only in part. The adapter calls this when the trainer has
 * ended. */
void api_trainer_gone(struct api *api, const char *job);

/* The ledger of what requests hold, in which the adapter enters the files of large bodies. */
struct ledger *api_ledger(struct api *api);

/* Returns the route of a method and a target, or NULL. An adapter passes the route to api_route_streams() before
 * the request is complete. */
const struct api_route *api_route_find(const struct api *api, const char *method, const char *target);
bool api_route_streams(const struct api_route *route);

#endif
