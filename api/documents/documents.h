/* Handlers that answer with documents about the daemon itself: kinds, system, health, metrics, OpenAPI, the page.
 * routes.c has one row for each handler. Each handler sends a response. */
#ifndef MOTIF_API_DOCUMENTS_DOCUMENTS_H
#define MOTIF_API_DOCUMENTS_DOCUMENTS_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/error.h"

struct api;
struct exchange;

void kinds_list(struct exchange *x);
void kinds_show(struct exchange *x);
void system_show(struct exchange *x);
void health_live(struct exchange *x);
void health_ready(struct exchange *x);
/* Returns whether the daemon accepts jobs; if not, it has sent 503. */
bool health_check(struct exchange *x);
void health_metrics(struct exchange *x);
/* Appends metrics of teams: all of them for administrators, else of the caller's own. */
void team_metrics(struct exchange *x, struct buf *out);
void openapi_show(struct exchange *x);
void root_show(struct exchange *x);
void asset_show(struct exchange *x);
void python_client_show(struct exchange *x);

/* Appends the OpenAPI document of api->routes and the methods' tables to `out`. STATUS_INTERNAL when a table is wrong.
 */
enum status openapi_build(const struct api *api, struct buf *out, struct error *err);

#endif
