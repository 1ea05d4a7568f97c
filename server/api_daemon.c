/* Fills struct api_daemon: the functions by which handlers of the api reach the rest of this process, such as the
 * scheduler and the metrics. */
#include "server/daemon_int.h"
#include "server/executors/executor.h"

#include "api/documents/prometheus.h"
#include "server/house_metrics.h"
#include "server/tokens.h"

static void jobs_waiting(void *context)
{
    struct daemon *daemon = context;
    if (daemon->scheduler != NULL)
        scheduler_wake(daemon->scheduler);
}

static void job_requested(void *context, const char *job)
{
    struct daemon *daemon = context;
    if (daemon->scheduler != NULL)
        scheduler_poke(daemon->scheduler, job);
}

static bool job_cancel(void *context, const char *job)
{
    struct daemon *daemon = context;
    return daemon->scheduler != NULL && scheduler_cancel(daemon->scheduler, job);
}

static const char *job_blocked(void *context, const char *job, bool *cancelled)
{
    struct daemon *daemon = context;
    *cancelled = false;
    enum status status = daemon->scheduler != NULL ? scheduler_blocked(daemon->scheduler, job, cancelled) : STATUS_OK;
    return status ? status_name(status) : NULL;
}

static void job_reported(void *context, const char *job, enum status status)
{
    struct daemon *daemon = context;
    if (daemon->scheduler != NULL)
        scheduler_block(daemon->scheduler, job, status == STATUS_FULL ? status : STATUS_OK);
}

static bool is_draining(void *context)
{
    struct daemon *daemon = context;
    return atomic_load(&daemon->draining);
}

static void system_facts(void *context, struct api_system *out)
{
    struct daemon *daemon = context;
    const struct facts *facts = &daemon->facts;
    *out = (struct api_system){
        .version = facts->version,
        .build = facts->build,
        .compiler = facts->compiler,
        .cpu = facts->cpu,
        .cpu_features = facts->cpu_features,
        .kernels = facts->kernels,
        .blas = facts->blas,
        .blas_core = facts->blas_core,
        .cores = facts->cores,
        .workers = (int)daemon->settings->workers,
        .workers_busy = daemon->scheduler != NULL ? scheduler_busy(daemon->scheduler) : 0,
        .jobs_blocked = daemon->scheduler != NULL ? scheduler_blocked_count(daemon->scheduler) : 0,
        .threads_per_job = daemon->threads_per_job,
        .started_at = facts->started_at,
        .gflops_per_thread = daemon->executor.gflops_per_thread,
        .pace = daemon->pace,
        .steps = daemon->executor.steps,
        .samples = daemon->executor.samples,
        .memory_bytes = facts_memory(),
        .queue_limit = daemon->settings->queue_limit,
        .tokens_required = atomic_load(&daemon->auth.required),
    };
}

static void family(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    buf_format(out, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name, value);
}

static void notices_metrics(struct daemon *daemon, struct buf *out)
{
    struct notices_stats stats;
    int64_t waiting = 0;
    struct notices *notices = daemon->notices;
    if (notices == NULL || storage_notice_count(daemon->storage, &waiting, NULL))
        return;
    notices_stats_read(notices, &stats);
    prometheus_family(out, "motifd_notices_total", "counter",
                      "Deliveries of notices of ended jobs since the start, by their success.");
    buf_format(out, "motifd_notices_total{result=\"delivered\"} %llu\n", (unsigned long long)stats.delivered);
    buf_format(out, "motifd_notices_total{result=\"failed\"} %llu\n", (unsigned long long)stats.failed);
    family(out, "motifd_notices_waiting", "gauge", "Notices that are not delivered yet.", (double)waiting);
}

static void token_metrics(struct daemon *daemon, struct buf *out)
{
    int64_t left;
    if (storage_token_expiry(daemon->storage, &left, NULL))
        return;
    prometheus_family(out, "motifd_token_expires_seconds", "gauge",
                      "Seconds until the first valid token expires; +Inf if none expires.");
    if (left == INT64_MAX)
        buf_text(out, "motifd_token_expires_seconds +Inf\n");
    else
        buf_format(out, "motifd_token_expires_seconds %.3f\n", (double)left * 1e-3);
}

static void process_metrics(void *context, struct buf *out)
{
    static const char *const phases[] = {"idle", "head", "body", "answering", "sending"};
    struct daemon *daemon = context;
    const struct executor *executor = &daemon->executor;
    family(out, "process_cpu_seconds_total", "counter", "Processor time of all threads.", facts_cpu_seconds());
    family(out, "process_open_fds", "gauge", "File descriptors in use.", facts_descriptors());
    family(out, "motifd_checkpoints_saved_total", "counter", "Checkpoints written by this process.",
           (double)executor->checkpoints);
    family(out, "motifd_step_seconds_max", "gauge",
           "Longest training step since the start; a pause can take that long.", executor->step_seconds_max);
    struct histogram_counts steps;
    histogram_read(&executor->step_times, &steps);
    prometheus_family(out, "motifd_step_duration_seconds", "histogram", "Time of steps of training and evaluation.");
    prometheus_histogram(out, "motifd_step_duration_seconds", "", &steps);
    buf_text(out,
             "# HELP motifd_runs_total How runs of jobs ended in this process.\n# TYPE motifd_runs_total counter\n");
    buf_format(out, "motifd_runs_total{end=\"succeeded\"} %llu\n", (unsigned long long)executor->jobs_succeeded);
    buf_format(out, "motifd_runs_total{end=\"failed\"} %llu\n", (unsigned long long)executor->jobs_failed);
    buf_format(out, "motifd_runs_total{end=\"yielded\"} %llu\n", (unsigned long long)executor->jobs_yielded);
    prometheus_family(out, "motifd_verdicts_total", "counter",
                      "Trainings and evaluations that ended in this process, by the verdict of their result.");
    for (int i = 0; i < VERDICTS; i++)
        buf_format(out, "motifd_verdicts_total{verdict=\"%s\"} %llu\n", verdict_names[i],
                   (unsigned long long)executor->verdicts[i]);
    struct streams_stats streams;
    streams_stats_read(daemon->streams, &streams);
    family(out, "motifd_event_streams", "gauge", "Open event streams.", (double)streams.open);
    family(out, "motifd_event_streams_total", "counter", "Event streams opened.", (double)streams.opened);
    family(out, "motifd_event_streams_refused_total", "counter", "Event streams refused because too many were open.",
           (double)streams.refused);
    family(out, "motifd_event_streams_cut_total", "counter", "Event streams cut because their reader took nothing.",
           (double)streams.cut);
    family(out, "motifd_events_sent_total", "counter", "Events queued for streams.", (double)streams.events);
    notices_metrics(daemon, out);
    token_metrics(daemon, out);
    house_metrics(&(struct house_options){.db = daemon->settings->db,
                                          .data = daemon->settings->data,
                                          .certificate_expires = atomic_load(&daemon->certificate_expires)},
                  out);
    struct http *http = daemon->http;
    if (http == NULL)
        return;
    struct http_stats stats;
    http_stats_read(http, &stats);
    family(out, "motifd_http_connections", "gauge", "Open connections.", (double)stats.connections.open);
    family(out, "motifd_http_connections_total", "counter", "Connections accepted.", (double)stats.connections.opened);
    family(out, "motifd_http_refused_full_total", "counter", "Requests refused because too many waited.",
           (double)stats.refused_full);
    family(out, "motifd_http_refused_often_total", "counter",
           "Requests refused because their caller exceeded the rate limit.", (double)stats.refused_often);
    buf_text(out, "# HELP motifd_http_cut_total Connections cut because they were late in a phase.\n"
                  "# TYPE motifd_http_cut_total counter\n");
    for (int phase = 0; phase < REAPER_CUT; phase++) {
        buf_format(out, "motifd_http_cut_total{phase=\"%s\"} %llu\n", phases[phase],
                   (unsigned long long)stats.connections.cut[phase]);
    }
}

static void trained(void *context, uint64_t steps, uint64_t samples, double step_seconds, double gflops)
{
    struct daemon *daemon = context;
    executor_count(&daemon->executor, steps, samples, step_seconds, gflops);
}

static void saved(void *context)
{
    struct daemon *daemon = context;
    daemon->executor.checkpoints++;
}

/* When the first token is created, the daemon requires tokens at once. */
static enum status tokens(void *context, const struct api_token_request *request, struct buf *out, struct error *err)
{
    struct daemon *daemon = context;
    enum status status = tokens_do(daemon->storage, request, out, err);
    if (!status && request->action == API_TOKEN_CREATE)
        auth_demand(&daemon->auth);
    return status;
}

static void audited(void *context, const char *line, size_t bytes)
{
    struct daemon *daemon = context;
    audit_file_line(daemon->audit_file, line, bytes);
}

static bool sign_in(void *context, struct api_sign_in *request)
{
    struct daemon *daemon = context;
    return flow_run(daemon->flow, request);
}

struct api_daemon api_daemon_table(struct daemon *daemon)
{
    return (struct api_daemon){
        .context = daemon,
        .jobs_waiting = jobs_waiting,
        .job_requested = job_requested,
        .job_cancel = job_cancel,
        .job_blocked = job_blocked,
        .job_reported = job_reported,
        .draining = is_draining,
        .system = system_facts,
        .metrics = process_metrics,
        .trained = trained,
        .saved = saved,
        .tokens = tokens,
        .sign_in = daemon->flow != NULL ? sign_in : NULL,
        .audited = daemon->audit_file != NULL ? audited : NULL,
    };
}
