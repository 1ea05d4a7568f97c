/* Follows a query from its admission by the gate to its end: decides when it may compute, when it lets other queries
 * compute, and when it must stop (queries.h). */
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "api/queries/queries.h"

bool queries_stopped(void *context)
{
    struct query_run *run = context;
    const struct api_request *request = run->x->request;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    run->late = run->late || (run->deadline && (now.tv_sec > run->until.tv_sec ||
                                                (now.tv_sec == run->until.tv_sec && now.tv_nsec > run->until.tv_nsec)));
    return run->late || atomic_load(&run->x->api->interrupted) ||
           (request->gone != NULL && request->gone(request->gone_context));
}

void queries_respond_stopped(struct query_run *run)
{
    if (run->late) {
        bool samples = run->parameters != NULL && config_find(run->parameters, "samples") != NULL;
        respond_problem(run->x, PROBLEM_DEADLINE,
                        "The query took longer than %lld s, the limit of this daemon; %s, or start the daemon with a "
                        "larger --query-seconds.",
                        (long long)run->x->api->options.query_seconds,
                        samples ? "ask for fewer samples (samples=N, in motifctl --samples N)" : "send fewer inputs");
    } else {
        respond_problem(run->x, PROBLEM_UNAVAILABLE,
                        "The query was stopped, because its client has disconnected or the daemon ends.");
    }
}

/* The time limit of a query grows by one second for each BYTES_PER_SECOND bytes of its body. */
enum { BYTES_PER_SECOND = 100000 };

bool queries_enter(struct exchange *x, bool batch, struct query_run *run)
{
    const struct api_request *request = x->request;
    bool token = request->who != NULL && request->who[0] != '\0';
    const char *peer = request->peer != NULL ? request->peer : "";
    *run = (struct query_run){.x = x, .deadline = x->api->options.query_seconds > 0};
    run->ticket = (struct query_ticket){.batch = batch, .stop = queries_stopped, .context = run};
    (void)snprintf(run->ticket.caller, sizeof run->ticket.caller, "%s%s", token ? "token/" : "",
                   token ? request->who : peer);
    (void)clock_gettime(CLOCK_MONOTONIC, &run->until);
    run->until.tv_sec += x->api->options.query_seconds + (time_t)(request->body_bytes / BYTES_PER_SECOND);
    switch (query_gate_enter(x->api->gate, &run->ticket)) {
    case QUERY_ENTERED:
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

bool queries_yield(struct query_run *run)
{
    return !queries_stopped(run) && query_gate_yield(run->x->api->gate, &run->ticket);
}

void queries_leave(struct query_run *run)
{
    query_gate_leave(run->x->api->gate, &run->ticket);
}
