/* What the table of rights allows the caller of a request. */
#include "api/rights/caller.h"

#include <stdio.h>

const char *caller_name(const struct exchange *x)
{
    return x->request->who != NULL ? x->request->who : "";
}

const char *caller_team(const struct exchange *x)
{
    return x->request->team != NULL ? x->request->team : "";
}

enum role caller_role(const struct exchange *x)
{
    enum role role;
    (void)rights_role(x->request->scope, &role);
    return role;
}

struct viewer caller_viewer(const struct exchange *x)
{
    struct viewer viewer = {.sees = 0};
    enum role role;
    (void)snprintf(viewer.name, sizeof viewer.name, "%s", caller_name(x));
    (void)snprintf(viewer.team, sizeof viewer.team, "%s", caller_team(x));
    if (rights_role(x->request->scope, &role))
        for (int r = 0; r < RELATIONS; r++)
            viewer.sees |= rights_allow(role, (enum relation)r, ACTION_READ) ? 1u << r : 0;
    return viewer;
}

bool caller_sees_all(const struct exchange *x)
{
    return caller_viewer(x).sees == VIEWER_SEES_ALL;
}

bool caller_may(const struct exchange *x, const char *owner, const char *team, enum visibility visibility,
                enum action action)
{
    const struct viewer viewer = caller_viewer(x);
    enum role role;
    return rights_role(x->request->scope, &role) &&
           rights_allow(role, viewer_relation(&viewer, owner, team, visibility), action);
}

enum status caller_job(struct exchange *x, const char *id, struct storage_job *job, struct error *err)
{
    enum status status = storage_job_get(x->api->options.storage, id, &x->arena, job, err);
    if (!status && !caller_may(x, job->owner, job->team, job->visibility, ACTION_READ))
        return error_set(err, STATUS_NOT_FOUND, NULL, "no such job");
    return status;
}

void caller_refuse(struct exchange *x, enum action action, const char *what, const char *owner, const char *team)
{
    char of[STORAGE_TEAM + 24] = "";
    if (team[0] != '\0')
        (void)snprintf(of, sizeof of, " of the team %s", team);
    respond_problem(x, PROBLEM_FORBIDDEN, "Only %s%s, the managers%s and administrators may %s %s; this token is a %s.",
                    owner[0] != '\0' ? "its owner " : "members", owner, of, rights_action_name(action), what,
                    rights_role_name(caller_role(x)));
}
