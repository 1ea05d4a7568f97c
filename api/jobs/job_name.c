/* Finds jobs by name, so that people need no ids. The daemon looks names up once, before the handler runs: handlers
 * know ids only. */
#include "api/jobs/job_name.h"

#include <stdio.h>
#include <string.h>

#include "api/queries/queries.h"
#include "api/rights/caller.h"

bool job_name_is_id(const char *text)
{
    return strlen(text) == STORAGE_ID - 1 && strspn(text, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == STORAGE_ID - 1;
}

const char *job_name_fault(const char *name)
{
    static const char *const reserved[] = {"latest", "none"}; /* the newest job or study, and ?study=none */
    if (!utf8_printable(name, strlen(name)))
        return "must not contain control characters or characters that change the direction of text";
    if (job_name_is_id(name))
        return "must not have the form of an id";
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strcmp(name, reserved[i]) == 0)
            return "must not be \"latest\" or \"none\", which have a meaning of their own";
    return NULL;
}

static enum status newest(struct exchange *x, const char *owner, bool with_model, char id[STORAGE_ID],
                          struct error *err)
{
    struct storage_job *jobs;
    size_t count;
    bool more;
    const struct viewer viewer = caller_viewer(x);
    const struct storage_job_filter filter = {.viewer = &viewer,
                                              .owner = owner,
                                              .by_task = true,
                                              .task = JOB_TRAIN,
                                              .has_checkpoint = with_model,
                                              .limit = 1};
    id[0] = '\0';
    enum status status = storage_job_list(x->api->options.storage, &filter, &x->arena, &jobs, &count, &more, err);
    if (!status && count > 0)
        memcpy(id, jobs[0].id, STORAGE_ID);
    return status;
}

static enum status find_latest(struct exchange *x, bool with_model, char id[STORAGE_ID], struct error *err)
{
    const char *who = x->request->who;
    enum status status = STATUS_OK;
    id[0] = '\0';
    if (who != NULL && who[0] != '\0')
        status = newest(x, who, with_model, id, err);
    if (!status && id[0] == '\0')
        status = newest(x, NULL, with_model, id, err);
    if (!status && id[0] == '\0')
        status =
            error_set(err, STATUS_NOT_FOUND, NULL, "There is no job%s yet.", with_model ? " with a checkpoint" : "");
    return status;
}

enum status job_name_find(struct exchange *x, const char *wanted, bool with_model, char id[STORAGE_ID],
                          struct error *err)
{
    struct storage_job *jobs;
    size_t count;
    bool more;
    const struct viewer viewer = caller_viewer(x);
    const struct storage_job_filter filter = {.viewer = &viewer, .name = wanted, .limit = 2};
    (void)snprintf(id, STORAGE_ID, "%s", job_name_is_id(wanted) ? wanted : "");
    if (job_name_is_id(wanted) || wanted[0] == '\0')
        return STATUS_OK;
    if (strcmp(wanted, "latest") == 0)
        return find_latest(x, with_model, id, err);
    enum status status = storage_job_list(x->api->options.storage, &filter, &x->arena, &jobs, &count, &more, err);
    if (status)
        return status;
    if (count == 1)
        memcpy(id, jobs[0].id, STORAGE_ID);
    if (count > 1)
        return error_set(
            err, STATUS_CONFLICT, NULL,
            "Several jobs have the name %s, among them %s and %s: use an id, or give the job another name.", wanted,
            jobs[0].id, jobs[1].id);
    return STATUS_OK;
}

/* True for requests that need a checkpoint: queries, inferences, requests that read, evaluate or export a checkpoint,
 * and GET /v1/jobs/latest?checkpoint=1. */
static bool needs_model(const struct exchange *x)
{
    static const char *const names[] = {"getCheckpoint", "readEvaluation", "submitEvaluation", "getBundle", "getOnnx"};
    const struct api_route *route = x->match.route;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(route->name, names[i]) == 0)
            return true;
    return route->handle == query_answer || strncmp(route->pattern, "/v2/models/", 11) == 0 ||
           (strcmp(route->name, "showJob") == 0 && exchange_query_flag(x, "checkpoint"));
}

bool job_name_resolve(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    char id[STORAGE_ID];
    struct route_match *match = &x->match;
    if (strcmp(match->route->name, "showJob") == 0 && exchange_query(x, "checkpoint") != NULL &&
        strcmp(match->values[0], "latest") != 0) {
        respond_problem(x, PROBLEM_BAD_QUERY, "checkpoint: applies only to the id latest.");
        return false;
    }
    if (strncmp(match->route->pattern, "/v1/studies/", 12) == 0) /* study_name_resolve() finds studies */
        return true;
    if (match->route->scope == API_SCOPE_TRAINER || match->count == 0 || strcmp(match->names[0], "id") != 0)
        return true;
    enum status status = job_name_find(x, match->values[0], needs_model(x), id, &err);
    if (status)
        respond_error(x, &err);
    else if (id[0] != '\0') /* without an id, the name stays, and the handler says that there is no such job */
        memcpy(match->values[0], id, sizeof id);
    return !status;
}
