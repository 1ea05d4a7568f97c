#include "server/executor_int.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/config_json.h"
#include "api/json.h"

enum outcome { OUTCOME_DONE, OUTCOME_YIELD, OUTCOME_FAILED };

double executor_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void executor_init(struct executor *executor, const struct executor_options *options)
{
    memset(executor, 0, sizeof *executor);
    executor->options = *options;
}

static void log_core(void *context, enum log_level level, const char *text)
{
    const struct job_run *run = context;
    journal_line(run->executor->options.journal, level, JOURNAL_EXECUTOR, NULL, run->job.id, "%s", text);
}

/* ---- before the first step ------------------------------------------------------------------------- */

static enum status find_method(struct job_run *run, struct error *err)
{
    const struct executor_options *options = &run->executor->options;
    for (size_t i = 0; i < options->method_count; i++) {
        if (strcmp(options->methods[i]->kind, run->job.kind) == 0) {
            run->method = options->methods[i];
            return STATUS_OK;
        }
    }
    return error_set(err, STATUS_NOT_FOUND, NULL, "this build has no kind \"%.60s\"", run->job.kind);
}

static enum status parse_config(struct job_run *run, struct error *err)
{
    struct api_faults *faults = calloc(1, sizeof *faults);
    if (faults == NULL) {
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the configuration");
    }
    enum status status = api_config_parse(run->method, NULL, run->job.config, strlen(run->job.config), "/config",
                                          &run->config, faults, err);
    if (status != STATUS_OK && faults->count > 0) {
        error_clear(err);
        (void)error_set(err, status, faults->items[0].pointer, "%s", faults->items[0].detail);
    }
    free(faults);
    return status;
}

/* An evaluation's parameters: {"samples", "seed"}, checked when it was submitted. */
static enum status begin_evaluation(struct job_run *run, struct error *err)
{
    cJSON *params = NULL;
    const char *text = run->job.params != NULL ? run->job.params : "{}";
    enum status status = json_parse(text, strlen(text), &params, err);
    if (status != STATUS_OK) {
        return status;
    }
    const cJSON *samples = cJSON_GetObjectItemCaseSensitive(params, "samples");
    const cJSON *seed = cJSON_GetObjectItemCaseSensitive(params, "seed");
    if (!cJSON_IsNumber(samples) || !cJSON_IsNumber(seed)) {
        status = error_set(err, STATUS_CORRUPT, "/params", "an evaluation needs samples and seed");
    } else {
        struct method_evaluation what = {.samples = (int64_t)samples->valuedouble,
                                         .seed = (int64_t)seed->valuedouble};
        status = run->method->begin_evaluation(run->run, &what, err);
    }
    cJSON_Delete(params);
    return status;
}

/* The job's own wish, else its configuration's, else the daemon's. */
static int threads_of(const struct job_run *run)
{
    const struct executor_options *options = &run->executor->options;
    const struct config_field *field = config_find(&run->method->config, "threads");
    int threads = run->job.threads;
    if (threads <= 0 && field != NULL) {
        threads = (int)config_number(field, run->config);
    }
    threads = threads > 0 ? threads : options->threads_default;
    return threads > options->threads_max ? options->threads_max : threads;
}

static enum status open_run(struct job_run *run, struct error *err)
{
    struct method_estimate estimate = {0};
    enum status status = find_method(run, err);
    if (status == STATUS_OK) {
        status = parse_config(run, err);
    }
    if (status == STATUS_OK) {
        run->threads = threads_of(run);
        status = pool_create(run->threads, &run->pool, err);
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (run->method->estimate(run->config, &estimate, NULL) == STATUS_OK) {
        run->flops_per_sample = estimate.gflops > 0 ? 0 : estimate.flops_per_sample; /* a speed of its own is no gauge */
    }
    run->env = (struct method_env){
        .pool = run->pool,
        .kernels = run->executor->options.kernels,
        .data = run->executor->options.data,
        .log = {.context = run, .line = log_core},
        .context = run,
        .metric = report_metric,
        .artifact = report_artifact,
        .checkpoints = checkpoint_table(run),
    };
    status = run->method->create(run->config, &run->env, &run->run, err);
    if (status == STATUS_OK) {
        status = checkpoint_restore(run, err);
    }
    if (status == STATUS_OK && run->job.task == JOB_EVALUATE) {
        status = begin_evaluation(run, err);
    }
    if (status == STATUS_OK) {
        run->method->progress(run->run, &run->progress);
    }
    return status;
}

/* ---- the steps --------------------------------------------------------------------------------------- */

/* True when somebody wants the job to stop after this step. */
static bool must_yield(struct job_run *run)
{
    enum job_wish wish = JOB_WISH_NONE;
    if (atomic_load(&run->control->drain)) {
        return true;
    }
    if (!atomic_exchange(&run->control->look, false)) {
        return false;
    }
    struct error err = {0};
    if (storage_job_wish(run->executor->options.storage, run->job.id, &wish, &err) != STATUS_OK) {
        atomic_store(&run->control->look, true); /* look again after the next step */
        return false;
    }
    return wish != JOB_WISH_NONE;
}

static void count_step(struct job_run *run, int64_t samples, double seconds)
{
    struct executor *executor = run->executor;
    executor->steps++;
    if (seconds > executor->step_seconds_max) {
        executor->step_seconds_max = seconds; /* two workers may race here: it is a gauge */
    }
    if (samples <= 0) {
        return;
    }
    executor->samples += (uint64_t)samples;
    if (seconds > 0.0 && run->flops_per_sample > 0.0) {
        double now = run->flops_per_sample * (double)samples / seconds / run->threads * 1e-9;
        double before = executor->gflops_per_thread;
        executor->gflops_per_thread = before > 0.0 ? before + 0.02 * (now - before) : now;
    }
}

static enum status one_step(struct job_run *run, enum method_wish *wish, struct error *err)
{
    int64_t samples_before = run->progress.samples;
    double begun = executor_now();
    *wish = METHOD_CONTINUE;
    enum status status = run->method->step(run->run, wish, err);
    checkpoint_table_close(run);
    if (status == STATUS_OK && run->fault.code != STATUS_OK) {
        *err = run->fault;
        status = run->fault.code;
    }
    if (status == STATUS_OK) {
        run->method->progress(run->run, &run->progress);
        count_step(run, run->progress.samples - samples_before, executor_now() - begun);
        status = report_flush(run, err);
    }
    return status == STATUS_OK ? report_progress(run, *wish != METHOD_CONTINUE, err) : status;
}

/* Saves unless what would be saved is on disk already, or the job leaves nothing to continue from. */
static enum status save_if_new(struct job_run *run, struct error *err)
{
    bool saved = run->job.task == JOB_EVALUATE || run->progress.step == run->saved_step;
    return saved ? STATUS_OK : checkpoint_save(run, false, err);
}

static enum outcome run_steps(struct job_run *run, struct error *err)
{
    enum method_wish wish = METHOD_CONTINUE;
    bool stepped = false;
    while (!must_yield(run)) {
        if (one_step(run, &wish, err) != STATUS_OK) {
            return OUTCOME_FAILED;
        }
        stepped = true;
        bool save = wish != METHOD_CONTINUE && run->job.task == JOB_TRAIN;
        if (save && checkpoint_save(run, wish == METHOD_STAGE_END, err) != STATUS_OK) {
            return OUTCOME_FAILED;
        }
        if (wish == METHOD_DONE) {
            return OUTCOME_DONE;
        }
    }
    if (stepped && wish == METHOD_CONTINUE && save_if_new(run, err) != STATUS_OK) {
        return OUTCOME_FAILED;
    }
    return OUTCOME_YIELD;
}

/* ---- the end ------------------------------------------------------------------------------------------ */

static void leave(struct job_run *run, enum job_event event, const char *result, const char *error)
{
    struct error err = {0};
    enum job_state state = JOB_RUNNING;
    const struct executor_options *options = &run->executor->options;
    if (storage_job_leave(options->storage, run->job.id, event, result, error, &state, &err) != STATUS_OK) {
        /* It stays "running" on disk; the next start puts it back into the queue. */
        journal_line(options->journal, LOG_LEVEL_ERROR, JOURNAL_EXECUTOR, NULL, run->job.id,
                     "cannot record that the job left: %s", err.message);
        return;
    }
    journal_line(options->journal, event == JOB_EVENT_FAIL ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, JOURNAL_EXECUTOR, NULL,
                 run->job.id, "%s after %.1f s", job_state_name(state), report_seconds(run));
}

static void fail(struct job_run *run, const struct error *failure)
{
    char *document = report_error(run, failure);
    run->executor->jobs_failed++;
    journal_line(run->executor->options.journal, LOG_LEVEL_WARN, JOURNAL_EXECUTOR, NULL, run->job.id, "failed: %s",
                 failure->message);
    leave(run, JOB_EVENT_FAIL, NULL, document != NULL ? document : "{\"code\":\"out-of-memory\"}");
    free(document);
}

static void succeed(struct job_run *run)
{
    struct error err = {0};
    char *document = report_result(run, &err);
    if (document == NULL) {
        (void)error_set(&err, STATUS_NO_MEMORY, NULL, "no memory for the result");
        fail(run, &err);
        return;
    }
    run->executor->jobs_succeeded++;
    leave(run, JOB_EVENT_SUCCEED, document, NULL);
    free(document);
}

static void close_run(struct job_run *run)
{
    checkpoint_table_close(run);
    if (run->method != NULL) {
        run->method->destroy(run->run);
    }
    pool_destroy(run->pool);
    free(run->config);
    arena_close(&run->list_arena);
    arena_close(&run->arena);
    free(run);
}

void executor_run(void *context, const char *job, struct job_control *control)
{
    struct executor *executor = context;
    struct error err = {0};
    struct job_run *run = calloc(1, sizeof *run);
    if (run == NULL) {
        journal_line(executor->options.journal, LOG_LEVEL_ERROR, JOURNAL_EXECUTOR, NULL, job,
                     "no memory for the job");
        (void)storage_job_leave(executor->options.storage, job, JOB_EVENT_FAIL, NULL, "{\"code\":\"out-of-memory\"}",
                                NULL, &err);
        return;
    }
    run->executor = executor;
    run->control = control;
    run->begun = run->reported = executor_now();
    run->saved_step = -1;
    arena_init(&run->arena, 16384, 0);
    arena_init(&run->list_arena, 4096, 0);
    memcpy(run->job.id, job, STORAGE_ID);
    if (storage_job_get(executor->options.storage, job, &run->arena, &run->job, &err) != STATUS_OK ||
        open_run(run, &err) != STATUS_OK) {
        fail(run, &err);
    } else {
        journal_line(executor->options.journal, LOG_LEVEL_INFO, JOURNAL_EXECUTOR, NULL, job,
                     "running %s with %d threads, from checkpoint %lld", run->job.kind, run->threads,
                     (long long)run->last_checkpoint);
        switch (run_steps(run, &err)) {
        case OUTCOME_DONE:
            succeed(run);
            break;
        case OUTCOME_YIELD:
            executor->jobs_yielded++;
            (void)report_progress(run, true, &err);
            leave(run, JOB_EVENT_YIELD, NULL, NULL);
            break;
        case OUTCOME_FAILED:
            fail(run, &err);
            break;
        }
    }
    close_run(run);
}
