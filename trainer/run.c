/* Drives one job: creates the method's run, loads a checkpoint, makes steps, and reports the end (run.h). */
#include "trainer/run_int.h"

#include <stdlib.h>
#include <string.h>

#include "protocol/config_json.h"
#include "protocol/json.h"

#define GRACE_S 0.5 /* seconds that the step of a cancelled job has to end before the run gives it up */

enum outcome { OUTCOME_DONE, OUTCOME_YIELD, OUTCOME_FAILED };

static void log_core(void *context, enum log_level level, const char *text)
{
    const struct job_run *run = context;
    run->coordinator->line(run->coordinator->context, level, text);
}

/* ---- before the first step ------------------------------------------------------------------------- */

static enum status find_method(struct job_run *run, struct error *err)
{
    const struct run_setup *setup = run->setup;
    for (size_t i = 0; i < setup->method_count; i++) {
        if (strcmp(setup->methods[i]->kind, run->job->kind) == 0) {
            run->method = setup->methods[i];
            return STATUS_OK;
        }
    }
    return error_set(err, STATUS_NOT_FOUND, NULL, "this build has no kind \"%.60s\"", run->job->kind);
}

static enum status parse_config(struct job_run *run, struct error *err)
{
    struct api_faults *faults = calloc(1, sizeof *faults);
    if (faults == NULL)
        return error_memory(err, "the configuration");
    enum status status =
        config_read_back(run->method, run->job->config, strlen(run->job->config), "/config", &run->config, faults, err);
    if (status && faults->count > 0) {
        error_clear(err);
        (void)error_set(err, status, faults->items[0].pointer, "%s", faults->items[0].detail);
    }
    free(faults);
    return status;
}

/* Starts an evaluation with the parameters {"samples", "seed"}, which were validated when the job was submitted. */
static enum status begin_evaluation(struct job_run *run, struct error *err)
{
    cJSON *params = NULL;
    const char *text = run->job->params != NULL ? run->job->params : "{}";
    enum status status = json_parse(text, strlen(text), &params, err);
    if (status)
        return status;
    const cJSON *samples = cJSON_GetObjectItemCaseSensitive(params, "samples");
    const cJSON *seed = cJSON_GetObjectItemCaseSensitive(params, "seed");
    if (!cJSON_IsNumber(samples) || !cJSON_IsNumber(seed)) {
        status = error_set(err, STATUS_CORRUPT, "/params", "an evaluation needs samples and seed");
    } else {
        struct method_evaluation what = {.samples = (int64_t)samples->valuedouble, .seed = (int64_t)seed->valuedouble};
        status = method_begin_evaluation(run->method, run->run, &what, err);
    }
    cJSON_Delete(params);
    return status;
}

/* Returns the number of threads: the job's, or else the configuration's, or else the daemon's. */
static int threads_of(const struct job_run *run)
{
    const struct run_setup *setup = run->setup;
    const struct config_field *field = config_find(&run->method->config, "threads");
    int threads = run->job->threads;
    if (threads <= 0 && field != NULL)
        threads = (int)config_number(field, run->config);
    threads = threads > 0 ? threads : setup->threads_default;
    return threads > setup->threads_max ? setup->threads_max : threads;
}

/* Returns whether the thread pool must stop, so that the run gives up its step: the job was cancelled, and the step did
 * not end within GRACE_S seconds. A step that ends in time counts, and the run saves its model. Any thread of the pool
 * may call this. */
static bool must_give_up(void *context)
{
    struct job_run *run = context;
    double none = 0, now = run_now();
    if (run->coordinator->must_stop == NULL || !run->coordinator->must_stop(run->coordinator->context))
        return false;
    (void)atomic_compare_exchange_strong(&run->cancelled_at, &none, now);
    return now - atomic_load(&run->cancelled_at) >= GRACE_S;
}

static enum status open_run(struct job_run *run, struct error *err)
{
    struct method_estimate estimate = {0};
    enum status status = find_method(run, err);
    if (status)
        return status;
    status = parse_config(run, err);
    if (status)
        return status;
    run->threads = threads_of(run);
    status = thread_pool_create(run->threads, &run->pool, err);
    /* Several ranks must end a step together, so only a run with one rank may end it early. */
    if (!status && comm_size(run->setup->comm) == 1)
        thread_pool_stop_when(run->pool, must_give_up, run);
    if (status)
        return status;
    if (!method_estimate(run->method, run->config, run->setup->data, &estimate, NULL)) {
        run->flops_per_sample =
            estimate.gflops > 0
                ? 0
                : estimate.flops_per_sample; /* a method that measures its own speed needs no estimate here */
    }
    run->env = (struct method_env){
        .pool = run->pool,
        .comm = run->setup->comm,
        .kernels = run->setup->kernels,
        .data = run->setup->data,
        .log = {.context = run, .line = log_core},
        .context = run,
        .metric = report_metric,
        .artifact = report_artifact,
        .checkpoints = checkpoint_table(run),
    };
    run->seconds_before = report_seconds_before(run->job->progress);
    status = run->method->create(run->config, &run->env, &run->run, err);
    if (status)
        return status;
    status = checkpoint_restore(run, err);
    if (status)
        return status;
    if (run->job->task == JOB_EVALUATE)
        status = begin_evaluation(run, err);
    if (status)
        return status;
    method_progress(run->method, run->run, &run->progress);
    return STATUS_OK;
}

/* ---- the steps --------------------------------------------------------------------------------------- */

static void count_step(const struct job_run *run, int64_t samples, double seconds)
{
    double gflops =
        samples > 0 && seconds > 0.0 && run->flops_per_sample > 0.0
            ? run->flops_per_sample * (double)samples / seconds / run->threads / comm_size(run->setup->comm) * 1e-9
            : 0.0;
    run->coordinator->stepped(run->coordinator->context, samples > 0 ? samples : 0, seconds, gflops);
}

/* Logs when a step has begun another phase of training. before: the phase before the step, or NULL. */
static void log_phase(const struct job_run *run, const char *before)
{
    const char *phase = run->progress.phase;
    if (phase != NULL && (before == NULL || strcmp(before, phase) != 0))
        run_line(run, LOG_LEVEL_INFO, "phase %s begins after %lld samples", phase, (long long)run->progress.samples);
}

static int missing_pages(const struct job_run *run)
{
    return run->setup->missing_pages != NULL ? run->setup->missing_pages() : 0;
}

static enum status one_step(struct job_run *run, enum method_request *requested, struct error *err)
{
    int64_t samples_before = run->progress.samples;
    const char *phase_before = run->progress.phase;
    double begun = run_now();
    *requested = METHOD_CONTINUE;
    enum status status = run->method->step(run->run, requested, err);
    checkpoint_table_close(run);
    if (!status && run->fault.code) {
        *err = run->fault;
        status = run->fault.code;
    }
    if (!status && missing_pages(run) != run->missing_pages)
        status = error_set(err, STATUS_CORRUPT, NULL,
                           "the file of a data set became shorter while jobs read it: upload the data set again");
    if (!status) {
        method_progress(run->method, run->run, &run->progress);
        log_phase(run, phase_before);
        count_step(run, run->progress.samples - samples_before, run_now() - begun);
        status = report_flush(run, err);
    }
    return !status ? report_progress(run, *requested != METHOD_CONTINUE, err) : status;
}

/* Saves a checkpoint if this step is not on disk yet. An evaluation saves none. */
static enum status save_if_new(struct job_run *run, struct error *err)
{
    bool saved = run->job->task == JOB_EVALUATE || run->progress.step == run->saved_step;
    return saved ? STATUS_OK : checkpoint_save(run, false, err);
}

/* Returns whether the run was stopped, so that it yields, although a call failed with *err: by a cancel, or by the end
 * of the process while the disk was full. */
static bool run_stopped(const struct job_run *run, const struct error *err)
{
    return thread_pool_stopped(run->pool) || err->code == STATUS_FULL;
}

static enum outcome run_steps(struct job_run *run, struct error *err)
{
    enum method_request requested = METHOD_CONTINUE;
    bool stepped = false;
    while (!run->coordinator->must_yield(run->coordinator->context)) {
        if (one_step(run, &requested, err))
            return run_stopped(run, err) ? OUTCOME_YIELD : OUTCOME_FAILED;
        stepped = true;
        bool save = requested != METHOD_CONTINUE && run->job->task == JOB_TRAIN;
        if (save && checkpoint_save(run, requested == METHOD_STAGE_END, err))
            return run_stopped(run, err) ? OUTCOME_YIELD : OUTCOME_FAILED;
        if (requested == METHOD_DONE)
            return OUTCOME_DONE;
    }
    if (stepped && requested == METHOD_CONTINUE && save_if_new(run, err))
        return run_stopped(run, err) ? OUTCOME_YIELD : OUTCOME_FAILED;
    return OUTCOME_YIELD;
}

/* ---- the end ------------------------------------------------------------------------------------------ */

static void trainer_run_leave(struct job_run *run, enum job_event event, const char *result, const char *error)
{
    run->coordinator->leave(run->coordinator->context, event, result, error, report_seconds(run));
}

/* If the run failed because it reached the limit of its memory, names the limit in the error. From now on the limit
 * does not apply, so that the failure can be reported. */
static void note_limit(struct job_run *run, struct error *failure)
{
    job_memory_end();
    if (failure->code != STATUS_NO_MEMORY || !run->memory.reached)
        return;
    error_clear(failure);
    (void)error_set(
        failure, STATUS_NO_MEMORY, NULL,
        "the job reached the limit of its memory, %.1f MB, which follows from --job-memory: reduce the batch, "
        "the width or the size of the inputs",
        (double)run->memory.limit / 1e6);
}

static enum job_event trainer_run_fail(struct job_run *run, struct error *failure)
{
    note_limit(run, failure);
    char *document = report_error(run, failure);
    run_line(run, LOG_LEVEL_WARN, "failed: %s", failure->message);
    trainer_run_leave(run, JOB_EVENT_FAIL, NULL, document != NULL ? document : "{\"code\":\"out-of-memory\"}");
    free(document);
    return JOB_EVENT_FAIL;
}

static enum job_event succeed(struct job_run *run)
{
    struct error err = {0};
    char *document = report_result(run, &err);
    if (thread_pool_stopped(run->pool)) {
        free(document);
        trainer_run_leave(run, JOB_EVENT_YIELD, NULL, NULL);
        return JOB_EVENT_YIELD;
    }
    if (document == NULL) {
        (void)error_memory(&err, "the result");
        return trainer_run_fail(run, &err);
    }
    trainer_run_leave(run, JOB_EVENT_SUCCEED, document, NULL);
    free(document);
    return JOB_EVENT_SUCCEED;
}

static void close_run(struct job_run *run)
{
    job_memory_end();
    checkpoint_table_close(run);
    if (run->method != NULL)
        run->method->destroy(run->run);
    thread_pool_destroy(run->pool);
    free(run->config);
    arena_close(&run->list_arena);
    free(run);
}

/* Ends a run that could not be opened. If a cancel has stopped the thread pool, the run yields; otherwise the job
 * fails. */
static enum job_event run_not_opened(struct job_run *run, struct error *failure)
{
    if (!run_stopped(run, failure))
        return trainer_run_fail(run, failure);
    trainer_run_leave(run, JOB_EVENT_YIELD, NULL, NULL);
    return JOB_EVENT_YIELD;
}

static enum job_event run_opened(struct job_run *run)
{
    struct error err = {0};
    run_line(run, LOG_LEVEL_INFO, "running %s with %d threads on %d ranks, from checkpoint %lld", run->job->kind,
             run->threads, comm_size(run->setup->comm), (long long)run->last_checkpoint);
    switch (run_steps(run, &err)) {
    case OUTCOME_DONE:
        return succeed(run);
    case OUTCOME_YIELD:
        (void)report_progress(run, true, &err);
        trainer_run_leave(run, JOB_EVENT_YIELD, NULL, NULL);
        return JOB_EVENT_YIELD;
    default:
        return trainer_run_fail(run, &err);
    }
}

enum job_event run_job(const struct run_setup *setup, const struct coordinator *coordinator,
                       const struct storage_job *job)
{
    struct error err = {0};
    struct job_run *run = calloc(1, sizeof *run);
    if (run == NULL) {
        coordinator->line(coordinator->context, LOG_LEVEL_ERROR, "not enough memory for the job");
        coordinator->leave(coordinator->context, JOB_EVENT_FAIL, NULL, "{\"code\":\"out-of-memory\"}", 0.0);
        return JOB_EVENT_FAIL;
    }
    run->setup = setup;
    run->coordinator = coordinator;
    run->job = job;
    run->begun = run->reported = run_now();
    run->saved_step = -1;
    run->missing_pages = missing_pages(run);
    arena_init(&run->list_arena, 4096, 0);
    job_memory_begin(&run->memory, job_memory_limit(setup->job_memory));
    enum job_event end = !open_run(run, &err) ? run_opened(run) : run_not_opened(run, &err);
    close_run(run);
    return end;
}

char *run_failure(const struct error *failure)
{
    return report_error(NULL, failure);
}
