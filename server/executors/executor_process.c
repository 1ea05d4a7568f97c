/* The executors `process` and `mpirun`. The child process is motif-train, or mpirun, which starts motif-train-mpi on
 * its ranks. The worker's thread watches the child.
 *
 * The executor grants a lease (storage/jobs/lease_state.h) before the child starts and closes it after the child has
 * ended, so a job never has two trainers. The child reports the end of the run over the daemon's HTTP routes; the
 * report takes effect when the child has ended. When a child ends without a report, the executor starts another one,
 * which continues from the last checkpoint. If several starts in a row bring no new checkpoint, the job fails.
 *
 * When this thread ends, the kernel signals the child (PR_SET_PDEATHSIG), and mpirun ends its ranks, so a killed daemon
 * leaves no orphan. If the next daemon finds an orphan nevertheless, it kills the orphan before it starts another
 * child. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium/utils.h>

#include "api/api.h"
#include "api/trainers/lease_token.h"
#include "server/executors/executor_child.h"
#include "server/executors/executor_int.h"
#include "trainer/job_memory.h"

#define LOOK_MS 50
#define TRIES_MOST 5
#define PAUSE_FIRST_MS 200               /* milliseconds before the next start; the time doubles with each start */
#define CANCEL_GRACE_S 1.2               /* seconds that a cancelled job has to stop; it need not save a checkpoint */
#define MPIRUN_GRACE_S 10                /* seconds that mpirun has to end its ranks */
#define MEMORY_ROOM ((int64_t)256 << 20) /* bytes that a process may use in addition to those of its job */
#define TEXT 32

struct attempts { /* the trainers that are started for one job, one after the other */
    struct executor *executor;
    const struct storage_job *job;
    bool ranks;
    struct child child;
};

/* ---- what was left behind -------------------------------------------------------------------------------- */

/* Kills the trainer that an earlier daemon left running. If the trainer is mpirun, first waits up to MPIRUN_GRACE_S
 * seconds: the kernel sent mpirun a signal when that daemon ended, and mpirun then ends its ranks and removes its
 * files. */
static void kill_stray(const struct executor *executor, const char *job, const struct storage_lease *lease)
{
    int grace = strcmp(lease->executor, "mpirun") == 0 ? MPIRUN_GRACE_S * 1000 : 0;
    char *rest;
    long number = strtol(lease->foreign_id, &rest, 10);
    unsigned long long ticks = strtoull(rest, NULL, 10);
    if (number <= 1 || number > INT_MAX || ticks == 0)
        return;
    int pid = (int)number;
    for (int waited = 0; waited < grace + 10000 && child_begun(pid) == ticks; waited += LOOK_MS) {
        if (waited == grace)
            executor_say(executor, LOG_LEVEL_WARN, job, "killed a trainer that an earlier daemon had left running");
        if (waited >= grace)
            (void)kill(pid, SIGKILL);
        child_sleep(LOOK_MS);
    }
    if (strcmp(lease->executor, "mpirun") == 0)
        executor_clear_mpirun(pid);
}

/* ---- a child ------------------------------------------------------------------------------------------------- */

static enum status executor_process_start(struct attempts *attempts, const char *token, struct error *err)
{
    const struct executor_options *options = &attempts->executor->options;
    const struct storage_job *job = attempts->job;
    char threads[TEXT], memory[TEXT], job_memory[TEXT], self[TEXT], ranks[TEXT], foreign_id[STORAGE_FOREIGN];
    const char *words[CHILD_WORDS];
    size_t at = 0;
    struct buf held;
    int64_t most = options->job_memory > 0 ? job_memory_limit(options->job_memory) + MEMORY_ROOM : 0;
    (void)snprintf(threads, sizeof threads, "%d", options->threads_default);
    (void)snprintf(memory, sizeof memory, "%lld", (long long)most);
    (void)snprintf(job_memory, sizeof job_memory, "%lld", (long long)options->job_memory);
    (void)snprintf(self, sizeof self, "%d", (int)getpid());
    (void)snprintf(ranks, sizeof ranks, "%d", job->ranks);
    if (attempts->ranks) {
        child_words(words, &at, (const char *const[]){options->trainer, "--under", self, NULL});
        child_words(words, &at, options->mpirun);
        child_words(words, &at, (const char *const[]){"-np", ranks, options->trainer_mpi, "--token-input", NULL});
    } else {
        child_words(words, &at, (const char *const[]){options->trainer, NULL});
    }
    child_words(words, &at,
                (const char *const[]){"--server", attempts->executor->url, "--job", job->id, "--kernels",
                                      options->kernels_name, "--threads", threads, "--memory", memory, "--job-memory",
                                      job_memory, "--parent", attempts->ranks ? "0" : self,
                                      options->data != NULL ? "--data" : NULL, options->data, NULL});
    buf_init(&held, 256);
    buf_format(&held, attempts->ranks ? "%s\n" : "MOTIF_TRAIN_TOKEN=%s", token);
    char trace[80];
    (void)snprintf(trace, sizeof trace, "TRACEPARENT=%.55s", job->trace);
    struct child_how how = {.arguments = words,
                            .trace = job->trace[0] != '\0' ? trace : NULL,
                            .variable = attempts->ranks ? NULL : held.data,
                            .input = attempts->ranks ? held.data : NULL,
                            .listen = attempts->ranks};
    enum status status = buf_status(&held, "the token", err);
    if (!status)
        status = child_spawn(&how, &attempts->child, err);
    if (held.data != NULL)
        sodium_memzero(held.data, held.size);
    buf_close(&held);
    if (!status) {
        (void)snprintf(foreign_id, sizeof foreign_id, "%d %llu", (int)attempts->child.pid,
                       child_begun(attempts->child.pid));
        (void)storage_lease_foreign(options->storage, job->id, foreign_id, NULL);
    }
    return status;
}

static void log_line_of_child(void *context, const char *line)
{
    const struct attempts *attempts = context;
    executor_say(attempts->executor, LOG_LEVEL_INFO, attempts->job->id, line);
}

/* Waits for the end of the child. When the job must stop, sets *wanted to true and sends the child a signal. (mpirun
 * ends its ranks on SIGTERM, and forwards SIGUSR1 to them.) */
static void executor_process_watch(struct attempts *attempts, struct job_control *control, bool *wanted)
{
    struct executor *executor = attempts->executor;
    const char *job = attempts->job->id;
    double signalled = 0.0;
    bool ending = false;
    while (!child_wait(&attempts->child, LOOK_MS, log_line_of_child, attempts)) {
        if (!executor_must_yield(executor, job, control))
            continue;
        if (!*wanted) {
            *wanted = true;
            signalled = run_now();
            (void)kill(attempts->child.pid, attempts->ranks ? SIGUSR1 : SIGTERM);
        }
        bool cancelled = executor_requested(executor, job, control) == REQUESTED_CANCELLED;
        double waited = cancelled ? run_now() - signalled - CANCEL_GRACE_S : 0.0;
        if (waited > 0.0 && attempts->ranks && !ending) {
            ending = true;
            (void)kill(attempts->child.pid, SIGTERM);
        } else if (waited > (attempts->ranks ? MPIRUN_GRACE_S : 0.0)) {
            (void)kill(attempts->child.pid, SIGKILL);
        }
        atomic_store(&control->look, true); /* look again, because a cancel may follow the pause */
    }
    child_reap(&attempts->child, log_line_of_child, attempts);
    if (attempts->ranks)
        executor_clear_mpirun(attempts->child.pid);
}

/* ---- a job --------------------------------------------------------------------------------------------------- */

/* Handles what an earlier daemon left behind: a running trainer, or a report about the end of the run. Returns true
 * when the job has left the running state. */
static bool clear_before(struct executor *executor, const char *job, struct job_control *control, double since)
{
    struct storage_lease lease;
    struct arena arena;
    arena_init(&arena, 4096, 0);
    if (!storage_lease_get(executor->options.storage, job, &arena, &lease, NULL) && lease.state != LEASE_NONE)
        kill_stray(executor, job, &lease);
    arena_close(&arena);
    return executor_ended(executor, job, control, since);
}

/* Grants a lease, runs one trainer and waits for its end. Returns true when the job has left the running state. */
static bool one_trainer(struct attempts *attempts, struct job_control *control, double since)
{
    struct executor *executor = attempts->executor;
    struct storage *storage = executor->options.storage;
    const char *job = attempts->job->id;
    char token[LEASE_TOKEN];
    uint8_t hash[STORAGE_LEASE_HASH];
    struct error err = {0};
    bool wanted = false;
    int tries = 0;
    lease_token_make(token, hash);
    (void)storage_lease_close(storage, job, NULL);
    enum status status = storage_lease_grant(storage, job, hash, attempts->ranks ? "mpirun" : "process", &tries, &err);
    if (status == STATUS_FULL) { /* no trainer was started; the caller tries again */
        executor_wait(control, status);
        return false;
    }
    atomic_store(&control->blocked, STATUS_OK);
    if (!status && tries > TRIES_MOST) {
        char detail[512];
        (void)snprintf(detail, sizeof detail, "%s; it was started %d times without a new checkpoint",
                       attempts->child.death[0] != '\0' ? attempts->child.death : "the trainer made no progress",
                       tries - 1);
        executor_fail(executor, job, control, "trainer-died", detail, attempts->child.signal, tries - 1, since);
        return true;
    }
    if (!status && tries > 1)
        child_sleep(PAUSE_FIRST_MS << (tries - 2));
    if (!status)
        status = executor_process_start(attempts, token, &err);
    sodium_memzero(token, sizeof token);
    if (status) {
        executor_fail(executor, job, control, "trainer-not-started", err.message, "", 0, since);
        return true;
    }
    executor_process_watch(attempts, control, &wanted);
    executor_trainer_gone(executor, job);
    if (executor_ended(executor, job, control, since))
        return true;
    executor_say(executor, LOG_LEVEL_WARN, job, attempts->child.death);
    if (wanted || executor_must_yield(executor, job, control)) {
        executor_leave(executor, job, control, JOB_EVENT_YIELD, NULL, NULL, run_now() - since);
        return true;
    }
    return false;
}

void executor_run_process(struct executor *executor, const struct storage_job *job, bool ranks,
                          struct job_control *control)
{
    double since = run_now();
    struct attempts attempts = {.executor = executor, .job = job, .ranks = ranks, .child = {.fd = -1, .words = -1}};
    if (clear_before(executor, job->id, control, since))
        return;
    while (!atomic_load(
        &executor->serving)) { /* trainers need the address of the daemon, which is known once the listener is up */
        if (atomic_load(&control->drain)) {
            executor_leave(executor, job->id, control, JOB_EVENT_YIELD, NULL, NULL, 0.0);
            return;
        }
        child_sleep(LOOK_MS);
    }
    do {
        if (executor_must_yield(executor, job->id, control)) {
            executor_leave(executor, job->id, control, JOB_EVENT_YIELD, NULL, NULL, 0.0);
            return;
        }
    } while (!one_trainer(&attempts, control, since));
}
