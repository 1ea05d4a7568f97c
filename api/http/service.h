/* The api object: the options and everything that handlers of all requests share.
 *
 * api.c creates the object. Members that change (counters, models, trainers) have locks of their own; the others are
 * constant after api_create(). Any thread may call these functions. */
#ifndef MOTIF_API_HTTP_SERVICE_H
#define MOTIF_API_HTTP_SERVICE_H

#include <stdatomic.h>
#include <stdint.h>

#include "api/audit.h"
#include "api/datasets/reservations.h"
#include "api/datasets/shown.h"
#include "api/http/options.h"
#include "api/http/route.h"
#include "core/base/buf.h"
#include "core/base/ledger.h"

struct counters;
struct mark_cache;
struct model_cache;
struct query_gate;
struct query_routes;
struct trainers;

struct api {
    struct api_options options;
    struct route_table routes;         /* all rows of the route table; query_routes owns them */
    struct query_routes *query_routes; /* makes the rows that come from the methods' tables */
    struct counters *counters;
    struct audit_recent audited;
    struct model_cache *models;
    struct mark_cache *marks;
    struct trainers *trainers;
    struct buf openapi;               /* the OpenAPI document, which api_create() writes */
    struct query_gate *gate;          /* decides which queries compute */
    atomic_bool interrupted;          /* true after api_interrupt(): queries stop */
    struct ledger *ledger;            /* what all requests hold at the moment */
    struct reservations reservations; /* bytes reserved for uploads in progress */
    struct shown shown;               /* what documents of data sets say beyond the stored text */
};

/* Fills the facts about the process with options.daemon.system(); all zero and "" if the process does not provide that
 * function. */
void api_facts(const struct api *api, struct api_system *system);
/* True while the daemon shuts down. */
bool api_draining(const struct api *api);
/* The method of a kind, or NULL when this build has none of that name. */
const struct method *api_method(const struct api *api, const char *kind);
/* Milliseconds since 1970, by the clock of the machine. */
int64_t now_ms(void);

#endif
