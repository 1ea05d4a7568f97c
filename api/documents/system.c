/* Documents about the daemon: /v1/system, /healthz, /readyz, /metrics and /openapi.json. */
#include <stdio.h>
#include <string.h>

#include "api/documents/documents.h"
#include "api/documents/prometheus.h"
#include "api/http/exchange.h"
#include "api/models/model_cache.h"
#include "api/queries/query_gate.h"
#include "storage/storage.h"

/* Writes words that are separated by spaces, such as "avx2 fma", as a list. */
static void write_words(const struct sink *out, const char *key, const char *words)
{
    sink_begin_list(out, key);
    while (*words != '\0') {
        char word[40];
        size_t length = strcspn(words, " ");
        if (length > 0 && length < sizeof word) {
            memcpy(word, words, length);
            word[length] = '\0';
            sink_text(out, NULL, word);
        }
        words += length;
        words += strspn(words, " ");
    }
    sink_end_list(out);
}

static void write_process(const struct sink *out, const struct api_system *s)
{
    sink_text(out, "version", s->version);
    sink_text(out, "build", s->build);
    sink_text(out, "compiler", s->compiler);
    sink_text(out, "cpu", s->cpu);
    write_words(out, "cpu_features", s->cpu_features);
    sink_text(out, "kernels", s->kernels);
    sink_text(out, "blas", s->blas);
    sink_text(out, "blas_core", s->blas_core);
    sink_integer(out, "cores", s->cores);
    sink_integer(out, "workers", s->workers);
    sink_integer(out, "workers_busy", s->workers_busy);
    sink_integer(out, "jobs_blocked", s->jobs_blocked);
    sink_integer(out, "threads_per_job", s->threads_per_job);
    sink_number(out, "gflops_per_thread", s->gflops_per_thread);
    sink_integer(out, "memory_bytes", (int64_t)s->memory_bytes);
    sink_boolean(out, "tokens_required", s->tokens_required);
    sink_time(out, "started_at", s->started_at);
    sink_number(out, "uptime_seconds", s->started_at > 0 ? (double)(now_ms() - s->started_at) / 1000.0 : 0);
}

/* Writes what the requests in progress hold, with the limits. */
static void write_requests(struct ledger *ledger, const struct sink *out)
{
    struct ledger_state state;
    ledger_read(ledger, &state);
    sink_begin_object(out, "requests");
    sink_integer(out, "callers", state.owners);
    for (int i = 0; i < LEDGER_ITEMS; i++)
        sink_integer(out, ledger_item_names[i], state.held[i]);
    sink_end_object(out);
    sink_begin_object(out, "requests_limits");
    for (int r = 0; r < LEDGER_RESOURCES; r++)
        sink_integer(out, ledger_resource_names[r], state.limit[r]);
    sink_end_object(out);
}

void system_show(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    struct api_system system;
    struct storage_stats stats;
    struct model_cache_stats models;
    const struct sink *out = x->out;
    if (storage_stats_read(x->api->options.storage, &stats, &err)) {
        respond_error(x, &err);
        return;
    }
    api_facts(x->api, &system);
    model_cache_stats(x->api->models, &models);
    sink_begin_object(out, NULL);
    write_process(out, &system);
    sink_boolean(out, "draining", api_draining(x->api));
    sink_integer(out, "queue_depth", stats.jobs[JOB_QUEUED]);
    sink_integer(out, "queue_limit", system.queue_limit);
    sink_begin_object(out, "jobs");
    for (int state = 0; state < JOB_STATES; state++)
        sink_integer(out, job_state_name((enum job_state)state), stats.jobs[state]);
    sink_end_object(out);
    sink_integer(out, "database_bytes", stats.file_bytes + stats.wal_bytes);
    sink_begin_object(out, "database");
    sink_integer(out, "file_bytes", stats.file_bytes);
    sink_integer(out, "wal_bytes", stats.wal_bytes);
    sink_integer(out, "free_bytes", stats.free_bytes);
    sink_integer(out, "checkpoints", stats.checkpoints);
    sink_integer(out, "checkpoint_bytes", stats.checkpoint_bytes);
    sink_end_object(out);
    sink_begin_object(out, "models"); /* the models that are open for queries */
    sink_integer(out, "count", (int64_t)models.models);
    sink_integer(out, "bytes", (int64_t)models.bytes);
    sink_end_object(out);
    write_requests(x->api->ledger, out);
    sink_begin_list(out, "kinds");
    for (size_t i = 0; i < x->api->options.method_count; i++)
        sink_text(out, NULL, x->api->options.methods[i]->kind);
    sink_end_list(out);
    sink_end_object(out);
    response_header(x->response, "Cache-Control", "no-store");
    respond_json(x, 200);
}

static void respond_status(struct exchange *x, const char *text)
{
    sink_begin_object(x->out, NULL);
    sink_text(x->out, "status", text);
    sink_end_object(x->out);
    response_header(x->response, "Cache-Control", "no-store");
    respond_json(x, 200);
}

/* Responds without reading other parts of the daemon, so that it works even if they are busy. */
void health_live(struct exchange *x)
{
    respond_status(x, "ok");
}

bool health_check(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    if (api_draining(x->api)) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "The daemon is shutting down.");
        return false;
    }
    if (storage_writable(x->api->options.storage, &err)) {
        log_line(&x->api->options.log, LOG_LEVEL_ERROR, "not ready: %s", err.message);
        respond_problem(x, PROBLEM_UNAVAILABLE, "The database cannot be written at the moment.");
        return false;
    }
    return true;
}

void health_ready(struct exchange *x)
{
    if (health_check(x))
        respond_status(x, "ready");
}

static void gauge(struct buf *out, const char *name, const char *help, double value)
{
    prometheus_family(out, name, "gauge", help);
    prometheus_value(out, name, value);
}

static void counter(struct buf *out, const char *name, const char *help, double value)
{
    prometheus_family(out, name, "counter", help);
    prometheus_value(out, name, value);
}

static void write_build(struct buf *out, const struct api_system *s)
{
    prometheus_family(out, "motifd_build_info", "gauge", "Always 1; the labels describe the build.");
    buf_text(out, "motifd_build_info{version=");
    prometheus_label(out, s->version);
    buf_text(out, ",build=");
    prometheus_label(out, s->build);
    buf_text(out, ",kernels=");
    prometheus_label(out, s->kernels);
    buf_text(out, ",blas_core=");
    prometheus_label(out, s->blas_core);
    buf_text(out, "} 1\n");
}

static void write_storage(struct buf *out, const struct storage_stats *s)
{
    prometheus_family(out, "motifd_jobs", "gauge", "Stored jobs, by state.");
    for (int state = 0; state < JOB_STATES; state++) {
        buf_format(out, "motifd_jobs{state=\"%s\"} %lld\n", job_state_name((enum job_state)state),
                   (long long)s->jobs[state]);
    }
    gauge(out, "motifd_queue_depth", "Jobs in the queue.", (double)s->jobs[JOB_QUEUED]);
    prometheus_family(out, "motifd_database_commit_duration_seconds", "histogram", "Time of commits, fsync included.");
    prometheus_histogram(out, "motifd_database_commit_duration_seconds", "", &s->commit_times);
    gauge(out, "motifd_database_commit_duration_max_seconds", "The longest commit since the start.",
          s->commit_seconds_max);
    counter(out, "motifd_database_commands_total", "Commands written to the database; several share a commit.",
            (double)s->commands);
    gauge(out, "motifd_database_queue_depth", "Commands in the queue of the writer thread.", (double)s->queue_depth);
    prometheus_family(out, "motifd_database_size_bytes", "gauge", "Size of the database, by part.");
    buf_format(out, "motifd_database_size_bytes{part=\"file\"} %lld\nmotifd_database_size_bytes{part=\"wal\"} %lld\n",
               (long long)s->file_bytes, (long long)s->wal_bytes);
    prometheus_family(out, "motifd_database_check", "gauge",
                      "1 for the result of the integrity check after an unclean stop.");
    for (int check = 0; check < STORAGE_CHECKS; check++) {
        buf_format(out, "motifd_database_check{result=\"%s\"} %d\n", storage_check_name((enum storage_check)check),
                   s->check == (enum storage_check)check);
    }
    prometheus_family(out, "motifd_stored_data_read_total", "counter",
                      "Stored data that were read again and compared with their digests, by kind.");
    buf_format(out,
               "motifd_stored_data_read_total{kind=\"rows\"} %lld\nmotifd_stored_data_read_total{kind=\"checkpoints\"} "
               "%lld\nmotifd_stored_data_read_total{kind=\"files\"} %lld\n",
               (long long)s->sampled.rows, (long long)s->sampled.checkpoints, (long long)s->sampled.files);
    counter(out, "motifd_stored_data_passes_total", "How often all stored data were read again.",
            (double)s->sampled.passes);
    gauge(out, "motifd_stored_data_faults",
          "Damaged rows, checkpoints and files that were found when they were read again.", (double)s->sampled.faults);
    gauge(out, "motifd_database_free_bytes", "Unused space inside the database file.", (double)s->free_bytes);
    gauge(out, "motifd_checkpoints", "Stored checkpoints.", (double)s->checkpoints);
    gauge(out, "motifd_checkpoints_size_bytes", "Bytes of the stored checkpoints.", (double)s->checkpoint_bytes);
}

static void write_ledger(struct ledger *ledger, struct buf *out)
{
    struct ledger_state state;
    ledger_read(ledger, &state);
    prometheus_family(out, "motifd_requests_held", "gauge",
                      "What the requests in progress hold: bytes of files or memory, or places.");
    for (int i = 0; i < LEDGER_ITEMS; i++)
        buf_format(out, "motifd_requests_held{item=\"%s\"} %lld\n", ledger_item_names[i], (long long)state.held[i]);
    prometheus_family(out, "motifd_requests_held_max", "gauge", "The most that they held at a time since the start.");
    for (int i = 0; i < LEDGER_ITEMS; i++)
        buf_format(out, "motifd_requests_held_max{item=\"%s\"} %lld\n", ledger_item_names[i], (long long)state.most[i]);
    prometheus_family(out, "motifd_requests_limit", "gauge",
                      "Upper limit of what they hold, of which one caller may have half; 0: none.");
    for (int r = 0; r < LEDGER_RESOURCES; r++)
        buf_format(out, "motifd_requests_limit{resource=\"%s\"} %lld\n", ledger_resource_names[r],
                   (long long)state.limit[r]);
    prometheus_family(out, "motifd_requests_without_room_total", "counter",
                      "Requests refused because of these limits.");
    for (int r = 0; r < LEDGER_RESOURCES; r++)
        buf_format(out, "motifd_requests_without_room_total{resource=\"%s\"} %lld\n", ledger_resource_names[r],
                   (long long)state.refused[r]);
    gauge(out, "motifd_requests_callers", "Callers whose requests hold something.", state.owners);
}

static void write_process_metrics(struct exchange *x, struct buf *out, const struct api_system *s)
{
    struct model_cache_stats models;
    model_cache_stats(x->api->models, &models);
    counter(out, "motifd_training_steps_total", "Optimiser updates since the start of the process.", (double)s->steps);
    counter(out, "motifd_training_samples_total", "Training samples seen since the start of the process.",
            (double)s->samples);
    gauge(out, "motifd_workers", "Workers that can run a job.", s->workers);
    gauge(out, "motifd_jobs_blocked", "Running jobs that wait until a write succeeds, because the disk is full.",
          s->jobs_blocked);
    gauge(out, "motifd_workers_busy", "Workers that run a job at the moment.", s->workers_busy);
    gauge(out, "motifd_draining", "1 while the daemon shuts down.", api_draining(x->api) ? 1 : 0);
    gauge(out, "motifd_models_open", "Models open for queries.", (double)models.models);
    gauge(out, "motifd_models_size_bytes", "Bytes of the open models.", (double)models.bytes);
    counter(out, "motifd_models_opened_total", "Models opened from a checkpoint.", (double)models.opens);
    counter(out, "motifd_models_reused_total", "Queries whose model was open already.", (double)models.hits);
    gauge(out, "motifd_queries_active", "Queries that compute at the moment.", query_gate_computing(x->api->gate));
    if (s->started_at > 0) {
        gauge(out, "process_start_time_seconds", "Start of the process since the epoch.",
              (double)s->started_at / 1000.0);
    }
    if (s->memory_bytes > 0)
        gauge(out, "process_resident_memory_bytes", "Memory in use.", (double)s->memory_bytes);
}

void health_metrics(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    struct api_system system;
    struct storage_stats stats;
    struct buf *out = &x->response->body;
    if (storage_stats_read(x->api->options.storage, &stats, &err)) {
        respond_error(x, &err);
        return;
    }
    api_facts(x->api, &system);
    write_build(out, &system);
    write_storage(out, &stats);
    write_process_metrics(x, out, &system);
    write_ledger(x->api->ledger, out);
    counters_write(x->api->counters, out);
    team_metrics(x, out);
    if (x->api->options.daemon.metrics != NULL)
        x->api->options.daemon.metrics(x->api->options.daemon.context, out);
    response_header(x->response, "Cache-Control", "no-store");
    respond_body(x, 200, "text/plain; version=0.0.4; charset=utf-8");
}

void openapi_show(struct exchange *x)
{
    buf_append(&x->response->body, x->api->openapi.data, x->api->openapi.size);
    respond_body(x, 200, "application/json");
}
