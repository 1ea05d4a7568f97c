/* Metrics of teams. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/documents/documents.h"
#include "api/documents/prometheus.h"
#include "api/rights/caller.h"
#include "storage/files/dataset_owner.h"
#include "storage/storage.h"

/* Only administrators learn which teams exist. */
static bool shows(const struct exchange *x, const char *team)
{
    return caller_sees_all(x) || strcmp(team, caller_team(x)) == 0;
}

static void write_team(struct buf *out, const char *name, const char *team, const char *more, double value)
{
    buf_format(out, "%s{team=", name);
    prometheus_label(out, team);
    buf_format(out, "%s} %.17g\n", more, value);
}

/* Bytes of data sets by team: the names of folders begin with the team. */
static void dataset_metrics(struct exchange *x, struct buf *out)
{
    const char *data = x->api->options.data, **names;
    struct storage_team *teams;
    size_t count, used = 0;
    struct error err;
    error_clear(&err);
    if (data == NULL || dataset_list(data, &x->arena, &names, &count, &err) || count == 0 ||
        (teams = arena_zalloc(&x->arena, count, sizeof *teams)) == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        struct storage_team of = {.team = ""};
        size_t at = 0;
        ptrdiff_t length = dataset_name_within(names[i]) - names[i] - 1; /* -1: no team */
        (void)snprintf(of.team, sizeof of.team, "%.*s", length > 0 ? (int)length : 0, names[i]);
        while (at < used && strcmp(teams[at].team, of.team) != 0)
            at++;
        if (at == used)
            teams[used++] = of;
        if (dataset_size(data, names[i], &teams[at].bytes, &err))
            error_clear(&err); /* deleted meanwhile */
    }
    for (size_t i = 0; i < used; i++)
        if (shows(x, teams[i].team))
            write_team(out, "motifd_team_bytes", teams[i].team, ",of=\"datasets\"", (double)teams[i].bytes);
}

void team_metrics(struct exchange *x, struct buf *out)
{
    struct storage_team *teams;
    size_t count;
    int64_t stalled;
    struct error err;
    error_clear(&err);
    if (storage_teams_read(x->api->options.storage, &x->arena, &teams, &count, &stalled, &err))
        return;
    prometheus_family(out, "motifd_job_stalled_seconds", "gauge",
                      "Time since a running job reported anything, of the job for which it is longest; 0: none runs.");
    prometheus_value(out, "motifd_job_stalled_seconds", (double)stalled / 1000);
    prometheus_family(out, "motifd_team_queued_jobs", "gauge", "Queued jobs, by team.");
    for (size_t i = 0; i < count; i++)
        if (shows(x, teams[i].team))
            write_team(out, "motifd_team_queued_jobs", teams[i].team, "", (double)teams[i].queued);
    prometheus_family(out, "motifd_team_bytes", "gauge",
                      "Bytes by team: of checkpoints and files of its jobs, and of its data sets.");
    for (size_t i = 0; i < count; i++)
        if (shows(x, teams[i].team))
            write_team(out, "motifd_team_bytes", teams[i].team, ",of=\"jobs\"", (double)teams[i].bytes);
    dataset_metrics(x, out);
}
