/* Checks the right of a route to the object that the path names. */
#include "api/rights/admit.h"

#include <stdio.h>
#include <string.h>

#include "api/datasets/dataset_names.h"
#include "api/datasets/dataset_show.h"
#include "api/jobs/job_document.h"
#include "api/retention/retention.h"
#include "api/rights/caller.h"
#include "api/studies/study_document.h"

static const enum action actions[RIGHTS] = {
    [RIGHT_READ] = ACTION_READ,     [RIGHT_FETCH] = ACTION_READ,    [RIGHT_USE] = ACTION_USE,
    [RIGHT_CHANGE] = ACTION_CHANGE, [RIGHT_DELETE] = ACTION_DELETE,
};

/* Whom the object of a request belongs to. */
struct object {
    const char *what, *name, *owner, *team;
    enum visibility visibility;
};

/* Decides about an object that exists and that the caller may read. */
static bool decide(struct exchange *x, const struct object *o)
{
    char what[ROUTE_PARAM_BYTES + 16];
    enum action action = actions[x->match.route->right];
    if (caller_may(x, o->owner, o->team, o->visibility, action))
        return true;
    (void)snprintf(what, sizeof what, "%s %s", o->what, o->name);
    caller_refuse(x, action, what, o->owner, o->team);
    return false;
}

static bool admit_job(struct exchange *x)
{
    struct storage_job job;
    if (!exchange_job(x, &job) || !decide(x, &(struct object){"job", job.id, job.owner, job.team, job.visibility}))
        return false;
    job_note_use(x, &job);
    return true;
}

static bool admit_study(struct exchange *x)
{
    struct storage_study study;
    return exchange_study(x, &study) &&
           decide(x, &(struct object){"study", study.id, study.owner, study.team, study.visibility});
}

static bool admit_dataset(struct exchange *x)
{
    char folder[DATASET_NAME];
    struct dataset_owner owner;
    struct error err;
    error_clear(&err);
    const char *given = exchange_param(x, "name");
    enum status status = dataset_name_find(x, given, folder, &owner, &err);
    if (status == STATUS_NOT_FOUND)
        dataset_respond_missing(x, given, "");
    else if (status)
        respond_error(x, &err);
    if (status || !decide(x, &(struct object){"the data set", given, owner.owner, owner.team, owner.visibility}))
        return false;
    for (size_t i = 0; i < x->match.count; i++)
        if (strcmp(x->match.names[i], "name") == 0)
            memcpy(x->match.values[i], folder, strlen(folder) + 1);
    return true;
}

bool rights_admit(struct exchange *x)
{
    const struct api_route *route = x->match.route;
    if (route->right == RIGHT_NOTHING || route->right == RIGHT_TRAINER)
        return true;
    if (strncmp(route->pattern, "/v1/datasets/", 13) == 0)
        return admit_dataset(x);
    return strncmp(route->pattern, "/v1/studies/", 12) == 0 ? admit_study(x) : admit_job(x);
}
