/* GET /v1/usage: jobs, threads, time and bytes of the caller; for managers also of each owner of the team, and for
 * administrators of each owner. */
#include "api/rights/usage.h"

#include <stdlib.h>
#include <string.h>

#include "api/rights/caller.h"
#include "storage/files/dataset_owner.h"

const struct config_field usage_query[] = {
    PARAMETER_TEXT(
        "team", STORAGE_TEAM - 1,
        "members of this team; for managers, it must be their own (administrators: the members of all teams)"),
    PARAMETERS_END,
};
const struct api_answer usage_answers[] = {
    {200, "application/json", "Usage",
     "The caller's jobs, threads and bytes, and the limits of one token; null: no limit."},
    {403, "application/problem+json", "Problem", "The team is not one that the caller manages."},
    {0, NULL, NULL, NULL}};

enum { OWNERS_MOST = 2000 };

struct usage {
    struct storage_usage jobs;
    int64_t dataset_bytes;
};

struct usages {
    struct usage *of; /* [count], in the arena */
    size_t count;
};

static struct usage *usage_of(struct usages *all, const char *owner, const char *team)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->of[i].jobs.owner, owner) == 0 && strcmp(all->of[i].jobs.team, team) == 0)
            return &all->of[i];
    if (all->count == OWNERS_MOST)
        return NULL;
    struct usage *made = &all->of[all->count++];
    (void)snprintf(made->jobs.owner, sizeof made->jobs.owner, "%s", owner);
    (void)snprintf(made->jobs.team, sizeof made->jobs.team, "%s", team);
    return made;
}

/* Adds the bytes of the data sets of an owner or a team; NULL: of all. */
static enum status add_datasets(struct exchange *x, struct usages *all, const char *owner, const char *team,
                                struct error *err)
{
    const char *root = x->api->options.data, **names;
    size_t count;
    enum status status = dataset_list(root, &x->arena, &names, &count, err);
    for (size_t i = 0; i < count && !status; i++) {
        struct dataset_owner of;
        status = dataset_owner_read(root, names[i], &of, err);
        bool wanted =
            !status && (owner == NULL || strcmp(owner, of.owner) == 0) && (team == NULL || strcmp(team, of.team) == 0);
        struct usage *to = wanted ? usage_of(all, of.owner, of.team) : NULL;
        if (to != NULL)
            status = dataset_size(root, names[i], &to->dataset_bytes, err);
        if (status == STATUS_NOT_FOUND) { /* deleted meanwhile */
            error_clear(err);
            status = STATUS_OK;
        }
    }
    return status;
}

/* Reads the usage of an owner, of a team, or of all (NULL). */
static enum status read_usage(struct exchange *x, const char *owner, const char *team, struct usages *all,
                              struct error *err)
{
    struct storage_usage *rows;
    size_t count;
    *all = (struct usages){.of = arena_zalloc(&x->arena, OWNERS_MOST, sizeof *all->of)};
    if (all->of == NULL)
        return error_memory(err, "the usage");
    enum status status = storage_usage_read(x->api->options.storage, owner, team, &x->arena, &rows, &count, err);
    for (size_t i = 0; i < count && !status; i++)
        all->of[all->count++].jobs = rows[i];
    return status ? status : add_datasets(x, all, owner, team, err);
}

static struct usage sum_of(const struct usages *all)
{
    struct usage sum = {.dataset_bytes = 0};
    for (size_t i = 0; i < all->count; i++) {
        const struct usage *u = &all->of[i];
        for (int state = 0; state < JOB_STATES; state++)
            sum.jobs.jobs[state] += u->jobs.jobs[state];
        sum.jobs.threads += u->jobs.threads;
        sum.jobs.seconds += u->jobs.seconds;
        sum.jobs.bytes += u->jobs.bytes;
        sum.dataset_bytes += u->dataset_bytes;
    }
    return sum;
}

static void write_usage(const struct sink *out, const struct usage *u)
{
    sink_begin_object(out, "jobs");
    for (int state = 0; state < JOB_STATES; state++)
        sink_integer(out, job_state_name((enum job_state)state), u->jobs.jobs[state]);
    sink_end_object(out);
    sink_integer(out, "threads", u->jobs.threads);
    sink_number(out, "thread_seconds_day", u->jobs.seconds);
    sink_integer(out, "job_bytes", u->jobs.bytes);
    sink_integer(out, "dataset_bytes", u->dataset_bytes);
}

static void write_name(const struct sink *out, const char *key, const char *name)
{
    sink_text(out, key, name[0] != '\0' ? name : NULL);
}

/* Writes a limit; null if there is none. */
static void write_limit(const struct sink *out, const char *key, int64_t most)
{
    if (most > 0)
        sink_integer(out, key, most);
    else
        sink_null(out, key);
}

static void write_members(const struct sink *out, const struct usages *all)
{
    const struct usage total = sum_of(all);
    sink_begin_object(out, "total");
    write_usage(out, &total);
    sink_end_object(out);
    sink_begin_list(out, "members");
    for (size_t i = 0; i < all->count; i++) {
        sink_begin_object(out, NULL);
        write_name(out, "owner", all->of[i].jobs.owner);
        write_name(out, "team", all->of[i].jobs.team);
        write_usage(out, &all->of[i]);
        sink_end_object(out);
    }
    sink_end_list(out);
}

void usage_show(struct exchange *x)
{
    const struct sink *out = x->out;
    const char *name = caller_name(x), *team = caller_team(x), *asked = exchange_query(x, "team");
    const struct api_share *share = &x->api->options.share;
    const bool all = caller_sees_all(x);
    /* who may read what is private in a team sees what its members use */
    const bool manages = caller_may(x, "-", team, VISIBILITY_PRIVATE, ACTION_DELETE);
    struct usages own, members = {.count = 0};
    struct error err;
    error_clear(&err);
    if (asked != NULL && !all && (!manages || strcmp(asked, team) != 0)) {
        respond_problem(x, PROBLEM_FORBIDDEN,
                        "Only the managers of a team and administrators may see what the team uses.");
        return;
    }
    enum status status = read_usage(x, name, name[0] == '\0' ? "" : NULL, &own, &err);
    if (!status && manages)
        status = read_usage(x, NULL, asked != NULL ? asked : all ? NULL : team, &members, &err);
    if (status) {
        respond_error(x, &err);
        return;
    }
    const struct usage mine = sum_of(&own);
    sink_begin_object(out, NULL);
    write_name(out, "owner", name);
    write_name(out, "team", team);
    sink_text(out, "role", rights_role_name(caller_role(x)));
    write_usage(out, &mine);
    sink_begin_object(out, "limits");
    write_limit(out, "jobs", share->jobs);
    write_limit(out, "threads", share->threads);
    write_limit(out, "job_bytes", share->job_bytes);
    write_limit(out, "dataset_bytes", share->dataset_bytes);
    write_limit(out, "team_jobs", share->team_jobs);
    write_limit(out, "team_threads", share->team_threads);
    write_limit(out, "team_job_bytes", share->team_job_bytes);
    write_limit(out, "team_dataset_bytes", share->team_dataset_bytes);
    sink_end_object(out);
    if (manages)
        write_members(out, &members);
    sink_end_object(out);
    response_header(x->response, "Cache-Control", "no-store");
    respond_json(x, 200);
}
