/* Functions that all executors share: whether a job must stop, counters, and the record of a job's end. They are not in
 * executor.c, because it calls the executors, and a call back into it would make a cycle of files. */
#include "server/executors/executor_int.h"

#include <string.h>

#include "protocol/json.h"
#include "protocol/json_sink.h"
#include "server/executors/executor_child.h"

#define WAIT_MS 1000 /* milliseconds between two tries of a write */
#define LOOK_MS 50

void executor_trainer_gone(struct executor *executor, const char *job)
{
    if (executor->api != NULL)
        api_trainer_gone(executor->api, job);
}

bool executor_must_yield(struct executor *executor, const char *job, struct job_control *control)
{
    enum requested_state requested = REQUESTED_NONE;
    struct error err = {0};
    if (atomic_load(&control->drain) || atomic_load(&control->cancel))
        return true;
    if (!atomic_exchange(&control->look, false))
        return false;
    if (storage_job_requested(executor->options.storage, job, &requested, &err)) {
        atomic_store(&control->look, true); /* check again after the next step */
        return false;
    }
    return requested != REQUESTED_NONE;
}

bool executor_must_stop(struct executor *executor, const char *job, struct job_control *control)
{
    enum requested_state requested = REQUESTED_NONE;
    struct error err = {0};
    if (atomic_load(&control->cancelled) || atomic_load(&control->cancel))
        return true;
    if (!atomic_exchange(&control->look_within, false))
        return false;
    if (storage_job_requested(executor->options.storage, job, &requested, &err))
        atomic_store(&control->look_within, true); /* the next call tries again */
    else if (requested == REQUESTED_CANCELLED)
        atomic_store(&control->cancelled, true);
    return atomic_load(&control->cancelled);
}

void executor_count(struct executor *executor, uint64_t steps, uint64_t samples, double step_seconds, double gflops)
{
    executor->steps += steps;
    executor->samples += samples;
    histogram_add(&executor->step_times, step_seconds);
    if (step_seconds > executor->step_seconds_max)
        executor->step_seconds_max = step_seconds; /* a race of two workers is harmless for this metric */
    if (gflops > 0.0) {
        double before = executor->gflops_per_thread;
        executor->gflops_per_thread = before > 0.0 ? before + 0.02 * (gflops - before) : gflops;
    }
}

static void count_verdict(struct executor *executor, const char *result)
{
    char verdict[32];
    if (!json_member_text(result, "verdict", verdict, sizeof verdict))
        return;
    for (int i = 0; i < VERDICTS; i++)
        executor->verdicts[i] += strcmp(verdict, verdict_names[i]) == 0;
}

enum requested_state executor_requested(struct executor *executor, const char *job, struct job_control *control)
{
    enum requested_state requested = REQUESTED_NONE;
    if (atomic_load(&control->cancel))
        return REQUESTED_CANCELLED;
    (void)storage_job_requested(executor->options.storage, job, &requested, NULL);
    return requested;
}

void executor_wait(struct job_control *control, enum status status)
{
    atomic_store(&control->blocked, status);
    for (int waited = 0; waited < WAIT_MS && !atomic_load(&control->drain); waited += LOOK_MS)
        child_sleep(LOOK_MS);
}

/* Returns whether a write that failed with this status may succeed later. */
static bool may_pass(enum status status)
{
    return status == STATUS_FULL || status == STATUS_NO_MEMORY || status == STATUS_UNAVAILABLE || status == STATUS_IO;
}

/* Tries until storage has recorded the end, the end cannot be recorded, or the daemon drains. */
static enum status record_end(struct executor *executor, const char *job, struct job_control *control,
                              enum job_event event, const char *result, const char *error, enum job_state *state,
                              struct error *err)
{
    struct storage *storage = executor->options.storage;
    for (bool first = true;; first = false) {
        error_clear(err);
        bool drain = atomic_load(&control->drain);
        if (atomic_load(&control->cancel))
            (void)storage_job_request(storage, job, JOB_EVENT_CANCEL, NULL, NULL, NULL);
        enum status status = storage_job_leave(storage, job, event, result, error, state, err);
        if (!may_pass(status) || drain)
            return status;
        if (first)
            journal_line(executor->options.journal, LOG_LEVEL_WARN, JOURNAL_EXECUTOR, NULL, job,
                         "the end of the run waits to be recorded: %s", err->message);
        executor_wait(control, status);
    }
}

void executor_leave(struct executor *executor, const char *job, struct job_control *control, enum job_event event,
                    const char *result, const char *error, double seconds)
{
    struct error err = {0};
    enum job_state state = JOB_RUNNING;
    const struct executor_options *options = &executor->options;
    executor->jobs_succeeded += event == JOB_EVENT_SUCCEED;
    executor->jobs_failed += event == JOB_EVENT_FAIL;
    executor->jobs_yielded += event == JOB_EVENT_YIELD;
    if (event == JOB_EVENT_SUCCEED)
        count_verdict(executor, result);
    enum status status = record_end(executor, job, control, event, result, error, &state, &err);
    atomic_store(&control->blocked, STATUS_OK);
    if (status) {
        /* The job stays "running" on disk; the next start of the daemon queues it again. */
        journal_line(options->journal, LOG_LEVEL_ERROR, JOURNAL_EXECUTOR, NULL, job,
                     "cannot record the end of the run: %s", err.message);
        return;
    }
    journal_line(options->journal, event == JOB_EVENT_FAIL ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, JOURNAL_EXECUTOR, NULL,
                 job, "%s after %.1f s", job_state_name(state), seconds);
}

void executor_say(const struct executor *executor, enum log_level level, const char *job, const char *text)
{
    journal_line(executor->options.journal, level, JOURNAL_EXECUTOR, NULL, job, "%s", text);
}

void executor_fail(struct executor *executor, const char *job, struct job_control *control, const char *code,
                   const char *detail, const char *signal, int tries, double since)
{
    struct storage_checkpoint latest = {0};
    struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
    struct json_sink json;
    struct buf out;
    (void)storage_checkpoint_find(executor->options.storage, job, pick, &latest, NULL);
    buf_init(&out, 4096);
    json_sink_init(&json, &out);
    sink_begin_object(&json.sink, NULL);
    sink_text(&json.sink, "code", code);
    sink_text(&json.sink, "detail", detail);
    if (signal[0] != '\0')
        sink_text(&json.sink, "signal", signal);
    if (tries > 0)
        sink_integer(&json.sink, "tries", tries);
    if (latest.seq > 0)
        sink_integer(&json.sink, "checkpoint", latest.seq);
    else
        sink_null(&json.sink, "checkpoint");
    sink_end_object(&json.sink);
    executor_say(executor, LOG_LEVEL_WARN, job, detail);
    executor_leave(executor, job, control, JOB_EVENT_FAIL, NULL,
                   json_sink_done(&json) ? out.data : "{\"code\":\"out-of-memory\"}", run_now() - since);
    buf_close(&out);
}

bool executor_ended(struct executor *executor, const char *job, struct job_control *control, double since)
{
    struct storage_lease lease;
    struct arena arena;
    arena_init(&arena, 16384, 0);
    bool is = !storage_lease_get(executor->options.storage, job, &arena, &lease, NULL) && lease.state == LEASE_ENDED;
    if (is)
        executor_leave(executor, job, control, lease.ending, lease.result, lease.error, run_now() - since);
    arena_close(&arena);
    return is;
}
