/* Follows a query from its admission by the gate to its end: decides when it may compute, when it lets other queries
 * compute, and when it must stop (queries.h). */
#include <stdio.h>

#include "api/queries/queries.h"

void queries_respond_stopped(struct query_run *run)
{
    if (work_late(&run->x->work)) {
        bool samples = run->parameters != NULL && config_find(run->parameters, "samples") != NULL;
        respond_problem(
            run->x, PROBLEM_DEADLINE,
            "The query took longer than %lld s, the limit of this daemon for it; %s, or start the daemon with a "
            "larger --query-seconds.",
            (long long)run->seconds,
            samples ? "ask for fewer samples (samples=N, in motifctl --samples N)" : "send fewer inputs");
    } else {
        respond_problem(run->x, PROBLEM_UNAVAILABLE,
                        "The query was stopped, because its client has disconnected or the daemon ends.");
    }
}

/* The time limit of a query grows by one second for each BYTES_PER_SECOND bytes of its body, by at most SECONDS_MORE.
 */
enum { BYTES_PER_SECOND = 100000, SECONDS_MORE = 3600 };

/* Lets queries that wait go first. */
static bool let_others_compute(void *context)
{
    struct exchange *x = context;
    return query_gate_yield(x->api->gate, x->ticket);
}

bool queries_enter(struct exchange *x, bool batch, struct query_run *run)
{
    size_t more = x->request->body_bytes / BYTES_PER_SECOND;
    *run = (struct query_run){.x = x};
    run->ticket = (struct query_ticket){.batch = batch, .stop = work_stopped, .context = &x->work};
    (void)snprintf(run->ticket.caller, sizeof run->ticket.caller, "%s", x->work.account.owner);
    if (x->api->options.query_seconds > 0)
        run->seconds = x->api->options.query_seconds + (int64_t)(more < SECONDS_MORE ? more : SECONDS_MORE);
    x->work.until_ms = run->seconds > 0 ? work_now_ms() + run->seconds * 1000 : 0;
    switch (query_gate_enter(x->api->gate, &run->ticket)) {
    case QUERY_ENTERED:
        x->ticket = &run->ticket;
        x->work.yield = let_others_compute;
        return true;
    case QUERY_STOPPED:
        queries_respond_stopped(run);
        return false;
    case QUERY_CALLER_FULL:
        respond_problem(x, PROBLEM_TOO_MANY,
                        "This token or address has as many queries in progress as it may have; try again later.");
        return false;
    default:
        respond_problem(x, PROBLEM_TOO_MANY, "%d queries are running, which is the limit; try again later.",
                        x->api->options.queries_at_once);
        return false;
    }
}

void queries_leave(struct query_run *run)
{
    run->x->work.yield = NULL;
    query_gate_leave(run->x->api->gate, &run->ticket);
}
