/* The executor `slurm`: runs motif-train as a job of Slurm. Such a job may wait, run on another node, be preempted and
 * start again.
 *
 * The executor submits the job in Slurm's held state. Then it stores the job's number in the transaction that grants
 * the lease, and releases the job. So the job number of every trainer that runs is in the database. Everything that
 * varies is a word of a command line, which no shell parses; the script for sbatch is the same for all jobs. When Slurm
 * starts a trainer again (after a preemption or the loss of a node), the trainer registers with the same token and
 * continues from the last checkpoint. If the daemon ends meanwhile, the trainer keeps running and queues its messages;
 * the next daemon adopts the job.
 *
 * A running trainer receives a pause or a cancel in the answers to its reports. A job that does not run yet is removed
 * by scancel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium/utils.h>

#include "api/trainers/lease_token.h"
#include "core/base/buf.h"
#include "server/executors/executor_child.h"
#include "server/executors/executor_int.h"

#define LOOK_MS 200
#define ASK_S 2.0       /* seconds between two queries of Slurm's queue */
#define COMMAND_S 60.0  /* seconds that one of Slurm's programs may take */
#define TRIES_MOST 5    /* upper limit of the tries without a new checkpoint */
#define PAUSE_FIRST_S 1 /* seconds before the next try; the time doubles with each try */
#define GRACE_S 30      /* seconds for a cancelled job to end by itself */
#define NAME ((size_t)48)
#define TEXT 32

static const char script[] = "#!/bin/sh\nexec \"$@\"\n";

enum slurm_state { SLURM_UNKNOWN, SLURM_GONE, SLURM_WAITS, SLURM_RUNS };

struct slurm_run { /* a job that a worker of the daemon runs through Slurm */
    struct executor *executor;
    const struct storage_job *job;
    char name[NAME];          /* name of the job in Slurm */
    char id[STORAGE_FOREIGN]; /* number of the job in Slurm */
    char before[160];         /* how the previous try ended */
    double since;
};

/* ---- Slurm's programs ------------------------------------------------------------------------------------- */

static void keep_line(void *context, const char *line)
{
    struct buf *output = context;
    buf_text(output, line);
    buf_text(output, "\n");
}

/* Runs one of Slurm's programs to its end. Appends what it prints to `output`. */
static enum status command(const struct slurm_run *run, const char *name, const char *const *words,
                           const char *variable, const char *input, struct buf *output, struct error *err)
{
    const struct executor_options *options = &run->executor->options;
    const char *all[CHILD_WORDS];
    char path[1280];
    struct child child = {.fd = -1, .words = -1};
    size_t at = 0;
    (void)snprintf(path, sizeof path, "%s/%s", options->slurm_bin, name);
    child_words(all, &at, (const char *const[]){path, NULL});
    child_words(all, &at, words);
    struct child_how how = {.arguments = all, .variable = variable, .input = input, .listen = true};
    enum status status = child_spawn(&how, &child, err);
    if (status)
        return status;
    double begun = run_now();
    while (!child_wait(&child, LOOK_MS / 10, keep_line, output))
        if (run_now() - begun > COMMAND_S)
            child_kill(&child);
    child_reap(&child, keep_line, output);
    if (child.code != 0) {
        status = error_set(err, STATUS_UNAVAILABLE, NULL, "%s: %.200s", name,
                           output->data != NULL ? output->data : "no reason given");
    }
    return !status ? buf_status(output, "the output of a program of Slurm", err) : status;
}

static void take_down(const struct slurm_run *run)
{
    struct buf output;
    buf_init(&output, 4096);
    (void)command(run, "scancel", (const char *const[]){"--me", "--name", run->name, NULL}, NULL, NULL, &output, NULL);
    buf_close(&output);
}

static enum slurm_state executor_slurm_look(const struct slurm_run *run)
{
    struct buf output;
    struct error err = {0};
    enum slurm_state state = SLURM_UNKNOWN;
    buf_init(&output, 65536);
    const char *const words[] = {"--noheader", "--me", "--name", run->name, "--format", "%A %T", NULL};
    if (!command(run, "squeue", words, NULL, NULL, &output, &err)) {
        char *rest = output.data, *line;
        size_t length = strlen(run->id);
        state = SLURM_GONE;
        while ((line = strsep(&rest, "\n")) != NULL) {
            if (strncmp(line, run->id, length) == 0 && line[length] == ' ') {
                const char *word = line + length + 1;
                bool runs = strcmp(word, "RUNNING") == 0 || strcmp(word, "COMPLETING") == 0;
                state = runs ? SLURM_RUNS : SLURM_WAITS;
            }
        }
    }
    buf_close(&output);
    return state;
}

/* ---- submission --------------------------------------------------------------------------------------------------
 */

/* Finds the number of the job in the output of sbatch: a line with a number alone, or a number before a semicolon and
 * the name of the cluster. */
static bool read_id(char *output, char id[STORAGE_FOREIGN])
{
    char *rest = output, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        size_t digits = strspn(line, "0123456789");
        if (digits > 0 && digits < 20 && (line[digits] == '\0' || line[digits] == ';')) {
            (void)snprintf(id, STORAGE_FOREIGN, "%.*s", (int)digits, line);
            return true;
        }
    }
    return false;
}

/* Submits the job in Slurm's held state, in which it waits until the lease is granted. */
static enum status executor_slurm_submit(struct slurm_run *run, const char *token, struct error *err)
{
    const struct executor_options *options = &run->executor->options;
    const struct storage_job *job = run->job;
    char ranks[TEXT], threads[TEXT], otherwise[TEXT], memory[TEXT], variable[LEASE_TOKEN + TEXT];
    const char *words[CHILD_WORDS];
    size_t at = 0;
    struct buf output;
    bool alone = job->ranks <= 1;
    (void)snprintf(ranks, sizeof ranks, "%d", alone ? 1 : job->ranks);
    (void)snprintf(otherwise, sizeof otherwise, "%d", options->threads_default);
    (void)snprintf(threads, sizeof threads, "%d", job->threads > 0 ? job->threads : options->threads_default);
    (void)snprintf(memory, sizeof memory, "%lld", (long long)options->job_memory);
    (void)snprintf(variable, sizeof variable, "MOTIF_TRAIN_TOKEN=%s", token);
    child_words(words, &at,
                (const char *const[]){"--parsable", "--hold", "--requeue", "--open-mode", "append", "--output",
                                      "/dev/null", "--chdir", "/", "--export", "ALL", "--job-name", run->name,
                                      "--ntasks", ranks, "--cpus-per-task", threads, NULL});
    child_words(words, &at, options->slurm_options);
    child_words(words, &at, (const char *const[]){"/dev/stdin", NULL});
    if (!alone) {
        child_words(words, &at, options->srun);
        child_words(words, &at,
                    (const char *const[]){"--ntasks", ranks, "--cpus-per-task", threads, "--kill-on-bad-exit=1", NULL});
    }
    child_words(words, &at,
                (const char *const[]){alone ? options->trainer : options->trainer_mpi, "--server", run->executor->url,
                                      "--job", job->id, "--kernels", options->kernels_name, "--threads", otherwise,
                                      "--job-memory", memory, "--requeued", options->data != NULL ? "--data" : NULL,
                                      options->data, NULL});
    buf_init(&output, 65536);
    enum status status = command(run, "sbatch", words, variable, script, &output, err);
    sodium_memzero(variable, sizeof variable);
    if (!status && !read_id(output.data, run->id))
        status = error_set(err, STATUS_UNAVAILABLE, NULL, "the output of sbatch contains no job number");
    buf_close(&output);
    return status;
}

/* Submits a job of Slurm with a new token and grants the lease for this token. Returns true when both succeeded. */
static bool executor_slurm_begin(struct slurm_run *run, int *tries, struct error *err)
{
    struct storage *storage = run->executor->options.storage;
    char token[LEASE_TOKEN];
    uint8_t hash[STORAGE_LEASE_HASH];
    struct buf output;
    lease_token_make(token, hash);
    take_down(run); /* removes the Slurm job of a daemon that ended after it had submitted the job and before it stored
                       the lease */
    (void)storage_lease_close(storage, run->job->id, NULL);
    enum status status = executor_slurm_submit(run, token, err);
    sodium_memzero(token, sizeof token);
    if (!status)
        status = storage_lease_grant_to(storage, run->job->id, hash, "slurm", run->id, tries, err);
    if (!status && *tries <= TRIES_MOST) {
        buf_init(&output, 4096);
        status = command(run, "scontrol", (const char *const[]){"release", run->id, NULL}, NULL, NULL, &output, err);
        buf_close(&output);
    }
    if (status || *tries > TRIES_MOST) {
        take_down(run);
        return false;
    }
    char text[128];
    (void)snprintf(text, sizeof text, "job %s of Slurm", run->id);
    executor_say(run->executor, LOG_LEVEL_INFO, run->job->id, text);
    return true;
}

/* Adopts the job that an earlier daemon submitted. Returns true when there is one. */
static bool executor_slurm_adopt(struct slurm_run *run)
{
    struct storage_lease lease;
    struct arena arena;
    bool has = false;
    arena_init(&arena, 4096, 0);
    if (!storage_lease_get(run->executor->options.storage, run->job->id, &arena, &lease, NULL) &&
        (lease.state == LEASE_OFFERED || lease.state == LEASE_HELD) && strcmp(lease.executor, "slurm") == 0) {
        (void)snprintf(run->id, sizeof run->id, "%s", lease.foreign_id);
        has = run->id[0] != '\0';
    }
    arena_close(&arena);
    if (has) { /* release the job, because the earlier daemon may have ended before it released it */
        struct buf output;
        buf_init(&output, 4096);
        (void)command(run, "scontrol", (const char *const[]){"release", run->id, NULL}, NULL, NULL, &output, NULL);
        buf_close(&output);
    }
    return has;
}

/* ---- a job
 * ----------------------------------------------------------------------------------------------------------- */

static bool is_held(const struct slurm_run *run)
{
    struct storage_lease lease;
    struct arena arena;
    arena_init(&arena, 4096, 0);
    bool held = !storage_lease_get(run->executor->options.storage, run->job->id, &arena, &lease, NULL) &&
                lease.state == LEASE_HELD;
    arena_close(&arena);
    return held;
}

enum end { END_LEFT, END_WANTED, END_DRAINED, END_GONE };

/* Waits until the trainer has reported how the run ended, the job of Slurm is gone, or the daemon ends. */
static enum end executor_slurm_watch(struct slurm_run *run, struct job_control *control)
{
    struct executor *executor = run->executor;
    const char *job = run->job->id;
    double asked = 0.0, wanted = 0.0;
    bool down = false;
    for (;; child_sleep(LOOK_MS)) {
        if (executor_ended(executor, job, control, run->since))
            return END_LEFT;
        if (atomic_load(&control->drain))
            return END_DRAINED;
        enum requested_state requested = executor_requested(executor, job, control);
        double now = run_now();
        bool first = requested != REQUESTED_NONE && wanted == 0.0;
        wanted = first ? now : wanted;
        if (!first && now - asked < ASK_S)
            continue;
        asked = now;
        enum slurm_state state = executor_slurm_look(run);
        if (state == SLURM_GONE)
            return executor_ended(executor, job, control, run->since) ? END_LEFT : wanted > 0.0 ? END_WANTED : END_GONE;
        bool deaf = state == SLURM_WAITS || (state == SLURM_RUNS && !is_held(run)) ||
                    (requested == REQUESTED_CANCELLED && now - wanted > GRACE_S);
        if (wanted > 0.0 && deaf && !down) {
            take_down(run);
            down = true;
            asked = 0.0;
        }
    }
}

/* Submits or adopts a job of Slurm and waits for its end. Returns true when the job has left the running state or the
 * next daemon will adopt it. */
static bool one_try(struct slurm_run *run, bool adopted, struct job_control *control)
{
    struct executor *executor = run->executor;
    const char *job = run->job->id;
    struct error err = {0};
    int tries = 0;
    char detail[320];
    if (!adopted && !executor_slurm_begin(run, &tries, &err)) {
        if (err.code == STATUS_FULL) { /* the job of Slurm was taken down; the caller tries again */
            executor_wait(control, err.code);
            return false;
        }
        if (err.code) {
            executor_fail(executor, job, control, "trainer-not-started", err.message, "", 0, run->since);
        } else {
            (void)snprintf(detail, sizeof detail, "%s; it was submitted %d times without a new checkpoint", run->before,
                           tries - 1);
            executor_fail(executor, job, control, "trainer-died", detail, "", tries - 1, run->since);
        }
        return true;
    }
    atomic_store(&control->blocked, STATUS_OK);
    enum end end = executor_slurm_watch(run, control);
    if (end == END_LEFT || end == END_DRAINED)
        return true;
    executor_trainer_gone(executor, job);
    if (end == END_WANTED) {
        executor_leave(executor, job, control, JOB_EVENT_YIELD, NULL, NULL, run_now() - run->since);
        return true;
    }
    (void)snprintf(run->before, sizeof run->before, "job %s of Slurm is gone and did not report why", run->id);
    executor_say(executor, LOG_LEVEL_WARN, job, run->before);
    for (int waited = 0;
         waited < (PAUSE_FIRST_S << (tries > 0 ? tries - 1 : 0)) * 1000 && !atomic_load(&control->drain);
         waited += LOOK_MS)
        child_sleep(LOOK_MS);
    return false;
}

void executor_run_slurm(struct executor *executor, const struct storage_job *job, struct job_control *control)
{
    struct slurm_run run = {.executor = executor, .job = job, .since = run_now()};
    (void)snprintf(run.name, sizeof run.name, "motif-%s", job->id);
    (void)snprintf(run.before, sizeof run.before, "the trainer made no progress");
    if (executor_ended(executor, job->id, control, run.since))
        return;
    while (!atomic_load(&executor->serving) && !atomic_load(&control->drain))
        child_sleep(LOOK_MS);
    bool adopted = executor_slurm_adopt(&run);
    for (bool left = false; !left; adopted = false) {
        if (atomic_load(&control->drain)) { /* an adopted job keeps running for the next daemon */
            if (!adopted)
                executor_leave(executor, job->id, control, JOB_EVENT_YIELD, NULL, NULL, 0.0);
            return;
        }
        if (!adopted && executor_must_yield(executor, job->id, control)) {
            executor_leave(executor, job->id, control, JOB_EVENT_YIELD, NULL, NULL, 0.0);
            return;
        }
        left = one_try(&run, adopted, control);
    }
}
