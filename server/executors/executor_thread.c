/* The executor `thread`: runs the job on the worker's own thread. Metrics, checkpoints and log lines go directly to
 * this process's storage and journal. */
#include <stdlib.h>
#include <string.h>

#include "server/process/crash.h"
#include "server/executors/executor_int.h"

struct local_run { /* the coordinator's context */
    struct executor *executor;
    struct job_control *control;
    const struct storage_job *job;
    struct storage_checkpoint_writer *writer;
};

static struct storage *store_of(const struct local_run *local)
{
    return local->executor->options.storage;
}

static enum status take_metrics(void *context, const struct storage_metric *points, size_t count, struct error *err)
{
    struct local_run *local = context;
    return storage_metric_append(store_of(local), local->job->id, points, count, err);
}

static enum status take_progress(void *context, const char *document, struct error *err)
{
    struct local_run *local = context;
    return storage_job_progress(store_of(local), local->job->id, document, err);
}

static enum status take_artifact(void *context, const char *name, const char *media_type, const void *bytes,
                                 size_t count, struct error *err)
{
    struct local_run *local = context;
    return storage_artifact_put(store_of(local), local->job->id, name, media_type, bytes, count, err);
}

/* ---- checkpoints ---------------------------------------------------------------------------------------- */

static enum status save_begin(void *context, const struct storage_checkpoint_new *what, struct snapshot_writer *to,
                              struct error *err)
{
    struct local_run *local = context;
    enum status status = storage_checkpoint_begin(store_of(local), local->job->id, what, &local->writer, err);
    *to = (struct snapshot_writer){.context = local->writer, .write = storage_checkpoint_write};
    return status;
}

static enum status save_commit(void *context, int64_t *seq, struct error *err)
{
    struct local_run *local = context;
    enum status status = storage_checkpoint_commit(local->writer, seq, err);
    local->writer = NULL;
    local->executor->checkpoints += !status;
    return status;
}

static void save_abandon(void *context, const struct error *why)
{
    struct local_run *local = context;
    storage_checkpoint_abandon(local->writer);
    local->writer = NULL;
}

static const char *id_of(const struct local_run *local, enum run_of of)
{
    return of == RUN_OF_SOURCE ? local->job->source_job : local->job->id;
}

static enum status executor_thread_list(void *context, enum run_of of, struct arena *arena,
                                        struct storage_checkpoint **out, size_t *count, struct error *err)
{
    struct local_run *local = context;
    return storage_checkpoint_list(store_of(local), id_of(local, of), arena, out, count, err);
}

static enum status open_checkpoint(void *context, enum run_of of, struct storage_checkpoint_pick pick, void **reader,
                                   struct snapshot_reader *from, struct storage_checkpoint *info, struct error *err)
{
    struct local_run *local = context;
    struct storage_checkpoint_reader *opened = NULL;
    struct storage_checkpoint found = {0};
    enum status status = storage_checkpoint_open(store_of(local), id_of(local, of), pick, &opened, &found, err);
    if (!status)
        status = storage_checkpoint_verify(opened, err);
    if (status) {
        storage_checkpoint_close(opened);
        opened = NULL;
    }
    *reader = opened;
    *from = (struct snapshot_reader){
        .context = opened, .total_bytes = (uint64_t)found.bytes, .read = storage_checkpoint_read};
    if (info != NULL)
        *info = found;
    return status;
}

static void close_checkpoint(void *context, void *reader)
{
    storage_checkpoint_close(reader);
}

static enum status rewind_points(void *context, int64_t last_samples, struct error *err)
{
    struct local_run *local = context;
    return storage_job_rewind(store_of(local), local->job->id, last_samples, err);
}

/* ---- control and end ------------------------------------------------------------------------------------ */

static bool must_yield(void *context)
{
    struct local_run *local = context;
    return executor_must_yield(local->executor, local->job->id, local->control);
}

static bool must_stop(void *context)
{
    struct local_run *local = context;
    return executor_must_stop(local->executor, local->job->id, local->control);
}

static bool executor_thread_draining(void *context)
{
    struct local_run *local = context;
    return atomic_load(&local->control->drain);
}

static void executor_thread_blocked(void *context, enum status status)
{
    struct local_run *local = context;
    atomic_store(&local->control->blocked, status);
}

static void executor_thread_stepped(void *context, int64_t samples, double seconds, double gflops)
{
    struct local_run *local = context;
    executor_count(local->executor, 1, (uint64_t)samples, seconds, gflops);
}

static void executor_thread_line(void *context, enum log_level level, const char *text)
{
    struct local_run *local = context;
    journal_line(local->executor->options.journal, level, JOURNAL_EXECUTOR, NULL, local->job->id, "%s", text);
}

static void executor_thread_leave(void *context, enum job_event event, const char *result, const char *error,
                                  double seconds)
{
    struct local_run *local = context;
    executor_leave(local->executor, local->job->id, local->control, event, result, error, seconds);
}

void executor_run_thread(struct executor *executor, const struct storage_job *job, struct job_control *control)
{
    const struct executor_options *options = &executor->options;
    struct local_run local = {.executor = executor, .control = control, .job = job};
    struct run_setup setup = {
        .methods = options->methods,
        .method_count = options->method_count,
        .kernels = options->kernels,
        .data = options->data,
        .threads_default = options->threads_default,
        .threads_max = options->threads_max,
        .job_memory = options->job_memory,
        .missing_pages = crash_missing_pages,
        .build = options->build,
        .cpu = options->cpu,
        .blas_core = options->blas_core,
    };
    struct coordinator coordinator = {
        .context = &local,
        .metrics = take_metrics,
        .progress = take_progress,
        .artifact = take_artifact,
        .save_begin = save_begin,
        .save_commit = save_commit,
        .save_abandon = save_abandon,
        .list = executor_thread_list,
        .open = open_checkpoint,
        .close = close_checkpoint,
        .rewind = rewind_points,
        .must_yield = must_yield,
        .must_stop = must_stop,
        .draining = executor_thread_draining,
        .blocked = executor_thread_blocked,
        .stepped = executor_thread_stepped,
        .line = executor_thread_line,
        .leave = executor_thread_leave,
    };
    crash_thread();
    crash_job(job->id);
    (void)run_job(&setup, &coordinator, job);
    crash_job("");
}
