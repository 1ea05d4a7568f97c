/* Sends the results of a run to its coordinator: points of series, files, progress, and the result or error document.
 * Also the clock and the log line of a run. */
#include "trainer/run_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/hash.h"
#include "protocol/json.h"
#include "protocol/json_sink.h"

#define FULL_LOOKS                                                                                                     \
    20 /* a run whose write failed on a full disk tries again after this number of looks for a cancel                  \
        */
#define FULL_LOOK_NS 50000000

/* The clock and the log line of a run, which run.c, report.c and checkpoint.c use. */

double run_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void run_line(const struct job_run *run, enum log_level level, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    run->coordinator->line(run->coordinator->context, level, text);
}

static void set_blocked(struct job_run *run, bool blocked)
{
    const struct coordinator *coordinator = run->coordinator;
    if (run->blocked == blocked)
        return;
    run->blocked = blocked;
    run_line(run, LOG_LEVEL_WARN, blocked ? "the disk is full: the run waits for space" : "the run continues");
    if (coordinator->blocked != NULL)
        coordinator->blocked(coordinator->context, blocked ? STATUS_FULL : STATUS_OK);
}

bool run_retries(struct job_run *run, enum status status)
{
    set_blocked(run, status == STATUS_FULL);
    for (int looks = 0; status == STATUS_FULL && looks < FULL_LOOKS; looks++) {
        if (run->coordinator->draining(run->coordinator->context) || thread_pool_check(run->pool, NULL))
            return false;
        (void)nanosleep(&(struct timespec){.tv_nsec = FULL_LOOK_NS}, NULL);
    }
    return status == STATUS_FULL;
}

#define REPORT_SECONDS 0.5 /* seconds between two progress documents */
#define DOCUMENT_BYTES (4u << 20)

double report_seconds(const struct job_run *run)
{
    return run->seconds_before + (run_now() - run->begun);
}

double report_seconds_before(const char *progress)
{
    cJSON *root = NULL;
    double seconds = 0.0;
    if (progress != NULL && !json_parse(progress, strlen(progress), &root, NULL)) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "seconds");
        seconds = cJSON_IsNumber(item) && item->valuedouble > 0.0 ? item->valuedouble : 0.0;
        cJSON_Delete(root);
    }
    return seconds;
}

/* ---- series and files --------------------------------------------------------------------------------- */

enum status report_flush(struct job_run *run, struct error *err)
{
    size_t count = run->metric_count;
    run->metric_count = 0;
    return count == 0 ? STATUS_OK : run->coordinator->metrics(run->coordinator->context, run->metrics, count, err);
}

void report_metric(void *context, const char *name, int64_t step, double value)
{
    struct job_run *run = context;
    size_t length = strlen(name);
    if (length >= RUN_NAME) {
        (void)error_set(&run->fault, STATUS_INTERNAL, NULL, "the name of a series has %zu bytes, which is too long",
                        length);
        return;
    }
    if (!method_has_metric(run->method,
                           name)) { /* the page, its charts and `metrics?name=` would not know the series */
        (void)error_set(&run->fault, STATUS_INTERNAL, NULL, "the method does not declare the metric %s", name);
        return;
    }
    if (run->metric_count == RUN_METRICS)
        (void)report_flush(run, &run->fault);
    size_t at = run->metric_count++;
    memcpy(run->metric_names[at], name, length + 1);
    run->metrics[at] = (struct storage_metric){.name = run->metric_names[at], .point = {.step = step, .value = value}};
}

void report_artifact(void *context, const char *name, const char *media_type, const void *bytes, size_t count)
{
    struct job_run *run = context;
    struct error err;
    enum status status;
    do {
        error_clear(&err);
        status = run->coordinator->artifact(run->coordinator->context, name, media_type, bytes, count, &err);
    } while (run_retries(run, status));
    if (status)
        (void)error_set(&run->fault, status, err.pointer, "%s", err.message);
}

/* ---- progress -------------------------------------------------------------------------------------------- */

static void write_progress(struct job_run *run, struct buf *out)
{
    const struct method_progress *progress = &run->progress;
    struct json_sink json;
    json_sink_init(&json, out);
    const struct sink *to = &json.sink;
    sink_begin_object(to, NULL);
    sink_integer(to, "step", progress->step);
    sink_integer(to, "samples", progress->samples);
    sink_number(to, "fraction", progress->fraction);
    sink_number(to, "samples_per_second", run->pace.recent > 0.0 ? run->pace.recent : NAN);
    sink_number(to, "eta_seconds", pace_seconds(&run->pace, progress->eta_samples));
    sink_number(to, "density", progress->density);
    sink_number(to, "target_accuracy", progress->target_accuracy);
    sink_number(to, "accuracy", progress->accuracy);
    sink_text(to, "stage", progress->stage != NULL ? progress->stage : "");
    sink_text(to, "phase", progress->phase);
    sink_number(to, "seconds", report_seconds(run));
    sink_end_object(to);
}

enum status report_progress(struct job_run *run, bool now, struct error *err)
{
    double time = run_now(), elapsed = time - run->reported;
    if (!now && elapsed < REPORT_SECONDS)
        return STATUS_OK;
    struct buf out;
    buf_init(&out, DOCUMENT_BYTES);
    pace_update(&run->pace, run->progress.samples - run->reported_samples, elapsed, time - run->begun);
    run->reported = time;
    run->reported_samples = run->progress.samples;
    write_progress(run, &out);
    enum status status = out.failed ? error_memory(err, "the progress")
                                    : run->coordinator->progress(run->coordinator->context, out.data, err);
    buf_close(&out);
    return status;
}

/* ---- the last documents ---------------------------------------------------------------------------------- */

/* True if the method has not written this member of the result itself. */
static bool is_missing(const cJSON *written, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(written, key) == NULL;
}

static void add_number(struct buf *out, const cJSON *written, const char *key, double value)
{
    if (is_missing(written, key)) {
        buf_format(out, ",\"%s\":", key);
        json_write_number(out, value);
    }
}

static void add_text(struct buf *out, const cJSON *written, const char *key, const char *value)
{
    if (is_missing(written, key)) {
        buf_format(out, ",\"%s\":", key);
        json_write_text(out, value);
    }
}

/* Adds to the method's object in `out` the members that every result has. */
static enum status add_common(struct job_run *run, struct buf *out, struct error *err)
{
    const struct run_setup *setup = run->setup;
    const struct config_field *seed = config_find(&run->method->config, "seed");
    char weights[HASH_TEXT];
    cJSON *written = NULL;
    enum status status = json_parse(out->data, out->size, &written, err);
    if (!status)
        status = checkpoint_weights(run, weights, err);
    if (!status) {
        bool empty = written->child == NULL;
        out->data[--out->size] = '\0'; /* removes the closing brace */
        buf_text(out, empty ? "\"kind\":" : ",\"kind\":");
        json_write_text(out, run->method->kind);
        add_number(out, written, "seed", seed != NULL ? config_number(seed, run->config) : 0.0);
        add_number(out, written, "samples", (double)run->progress.samples);
        add_number(out, written, "seconds", report_seconds(run));
        add_number(out, written, "threads", run->threads);
        if (comm_size(setup->comm) > 1)
            add_number(out, written, "ranks", comm_size(setup->comm));
        add_text(out, written, "build", setup->build);
        add_text(out, written, "cpu", setup->cpu);
        add_text(out, written, "blas_core", setup->blas_core);
        add_text(out, written, "weights_sha256", weights);
        buf_text(out, "}");
        status = buf_status(out, "the result", err);
    }
    cJSON_Delete(written);
    return status;
}

char *report_result(struct job_run *run, struct error *err)
{
    struct json_sink json;
    struct buf out;
    size_t bytes = 0;
    buf_init(&out, DOCUMENT_BYTES);
    json_sink_init(&json, &out);
    sink_begin_object(&json.sink, NULL);
    enum status status = method_result(run->method, run->run, &json.sink, err);
    sink_end_object(&json.sink);
    if (!status)
        status = buf_status(&out, "the result", err);
    if (!status && !json_sink_done(&json))
        status = error_set(err, STATUS_INTERNAL, NULL, "the method wrote a result that is not valid JSON");
    if (!status)
        status = add_common(run, &out, err);
    if (status) {
        buf_close(&out);
        return NULL;
    }
    return buf_take(&out, &bytes);
}

char *report_error(const struct job_run *run, const struct error *failure)
{
    struct json_sink json;
    struct buf out;
    char code[32];
    size_t bytes = 0;
    (void)snprintf(code, sizeof code, "%s", status_name(failure->code));
    for (char *at = strchr(code, ' '); at != NULL; at = strchr(at, ' '))
        *at = '-';
    buf_init(&out, DOCUMENT_BYTES);
    json_sink_init(&json, &out);
    const struct sink *to = &json.sink;
    sink_begin_object(to, NULL);
    sink_text(to, "code", code);
    sink_text(to, "detail", failure->message);
    if (failure->pointer[0] != '\0')
        sink_text(to, "pointer", failure->pointer);
    if (run != NULL && run->run != NULL) {
        sink_integer(to, "step", run->progress.step);
        sink_integer(to, "samples", run->progress.samples);
    }
    if (run != NULL && run->last_checkpoint > 0)
        sink_integer(to, "checkpoint", run->last_checkpoint);
    else
        sink_null(to, "checkpoint");
    sink_end_object(to);
    if (!json_sink_done(&json)) {
        buf_close(&out);
        return NULL;
    }
    return buf_take(&out, &bytes);
}
