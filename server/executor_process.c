/* The process executor: motif-train as a child, watched by the worker's thread.
 *
 * A lease (storage/lease_state.h) is granted before the child starts and closed after it is gone, so a job never has
 * two. The child says through the daemon's own routes how the run ended; it is believed once it has ended. A child
 * that ends without having said so is started again and goes on from the last checkpoint, a few times in a row
 * without a new one, then the job fails. It dies with this thread (PR_SET_PDEATHSIG), so a killed daemon leaves no
 * orphan; one that is found all the same by the next daemon is killed before another is started. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sodium/utils.h>

#include "api/api.h"
#include "api/json_sink.h"
#include "api/lease_token.h"
#include "server/executor_int.h"

#define LOOK_MS 50
#define TRIES_MOST 5
#define PAUSE_FIRST_MS 200               /* before another try; doubled each time */
#define CANCEL_GRACE_S 20                /* a cancelled job need not save */
#define MEMORY_ROOM ((int64_t)256 << 20) /* of a process, beside what its job needs */
#define ARGUMENTS 24
#define TEXT 32

struct child {
    pid_t pid;
    int fd;                      /* of the process */
    char death[160], signal[24]; /* how it ended, when it ended badly */
};

static void sleep_ms(int ms)
{
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000}, NULL);
}

static void say(const struct executor *executor, enum log_level level, const char *job, const char *text)
{
    journal_line(executor->options.journal, level, JOURNAL_EXECUTOR, NULL, job, "%s", text);
}

/* ---- what was left behind -------------------------------------------------------------------------------- */

/* When the process began, in ticks since the machine did: with its number a name that is never used twice. 0: there
 * is none. */
static unsigned long long begun(pid_t pid)
{
    char path[64], text[512];
    unsigned long long ticks = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    size_t size = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    const char *at = strrchr(text, ')'); /* behind the name, which may hold anything */
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? strtoull(at + 1, NULL, 10) : ticks;
}

static void kill_stray(const struct executor *executor, const char *job, const char *foreign_id)
{
    int pid = 0;
    unsigned long long ticks = 0;
    if (sscanf(foreign_id, "%d %llu", &pid, &ticks) != 2 || pid <= 1 || ticks == 0) {
        return;
    }
    for (int waited = 0; waited < 10000 && begun(pid) == ticks; waited += LOOK_MS) {
        if (waited == 0) {
            say(executor, LOG_LEVEL_WARN, job, "a trainer of an earlier daemon lives: killed");
        }
        (void)kill(pid, SIGKILL);
        sleep_ms(LOOK_MS);
    }
}

/* ---- a child ------------------------------------------------------------------------------------------------- */

/* Ours without what it must not see, and with the token. */
static char **environment(const char *token, struct buf *held)
{
    size_t count = 0, at = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **made = calloc(count + 2, sizeof *made);
    for (size_t i = 0; made != NULL && i < count; i++) {
        if (strncmp(environ[i], "MOTIFD_TOKEN=", 13) != 0 && strncmp(environ[i], "MOTIF_TRAIN_TOKEN=", 18) != 0) {
            made[at++] = environ[i];
        }
    }
    buf_format(held, "MOTIF_TRAIN_TOKEN=%s", token);
    if (made != NULL) {
        made[at] = held->data;
    }
    return held->failed ? (free(made), NULL) : made;
}

static enum status spawn(const struct executor *executor, char *const *arguments, char *const *variables,
                         struct child *child, struct error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    (void)posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setpgroup(&attributes, 0); /* a ^C at a terminal is the daemon's to pass on */
    (void)posix_spawnattr_setflags(&attributes,
                                   POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int code = posix_spawn(&child->pid, arguments[0], &actions, &attributes, arguments, variables);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (code != 0) {
        return error_set(err, STATUS_UNAVAILABLE, NULL, "the trainer cannot be started: %s", strerror(code));
    }
    child->fd = pidfd_open(child->pid, 0);
    return STATUS_OK;
}

static enum status start(const struct executor *executor, const struct storage_job *job, const char *token,
                         struct child *child, struct error *err)
{
    const struct executor_options *options = &executor->options;
    char threads[TEXT], memory[TEXT], parent[TEXT], foreign_id[STORAGE_FOREIGN], *arguments[ARGUMENTS];
    size_t at = 0;
    struct buf held;
    int64_t most = options->job_memory > 0 ? options->job_memory + MEMORY_ROOM : 0;
    (void)snprintf(threads, sizeof threads, "%d", options->threads_default);
    (void)snprintf(memory, sizeof memory, "%lld", (long long)most);
    (void)snprintf(parent, sizeof parent, "%d", (int)getpid());
    const char *const words[] = {
        options->trainer, "--server", executor->url, "--job", job->id,    "--kernels", options->kernels_name,
        "--threads",      threads,    "--memory",    memory,  "--parent", parent,      "--data",
        options->data};
    for (size_t i = 0; i < sizeof words / sizeof words[0] - (options->data == NULL ? 2 : 0); i++) {
        arguments[at++] = (char *)(uintptr_t)words[i]; /* posix_spawn takes them so and changes none */
    }
    arguments[at] = NULL;
    buf_init(&held, 256);
    char **variables = environment(token, &held);
    enum status status = variables != NULL ? spawn(executor, arguments, variables, child, err)
                                           : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a trainer");
    free(variables);
    if (held.data != NULL) {
        sodium_memzero(held.data, held.size);
    }
    buf_close(&held);
    if (status == STATUS_OK) {
        (void)snprintf(foreign_id, sizeof foreign_id, "%d %llu", (int)child->pid, begun(child->pid));
        (void)storage_lease_foreign(options->storage, job->id, foreign_id, NULL);
    }
    return status;
}

/* How it ended, in words; waits for it. */
static void reap(struct child *child)
{
    int status = 0;
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (child->fd >= 0) {
        (void)close(child->fd);
    }
    child->signal[0] = '\0';
    if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        (void)snprintf(child->signal, sizeof child->signal, "SIG%s", name != NULL ? name : "?");
        (void)snprintf(child->death, sizeof child->death, "the trainer was ended by %s (%s)", child->signal,
                       strsignal(WTERMSIG(status)));
    } else {
        (void)snprintf(child->death, sizeof child->death, "the trainer ended with exit code %d and did not say why",
                       WEXITSTATUS(status));
    }
}

/* Until it is gone. *wanted: somebody wished the job to stop; it has been told. */
static void watch(struct executor *executor, const char *job, struct job_control *control, struct child *child,
                  bool *wanted)
{
    struct pollfd gone = {.fd = child->fd, .events = POLLIN};
    enum job_wish wish = JOB_WISH_NONE;
    double told = 0.0;
    for (;;) {
        if (child->fd >= 0 ? poll(&gone, 1, LOOK_MS) == 1
                           : (sleep_ms(LOOK_MS),
                              waitid(P_PID, (id_t)child->pid, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) != 0)) {
            break;
        }
        if (!executor_must_yield(executor, job, control)) {
            continue;
        }
        if (!*wanted) {
            *wanted = true;
            told = run_now();
            (void)kill(child->pid, SIGTERM);
        }
        (void)storage_job_wish(executor->options.storage, job, &wish, NULL);
        if (wish == JOB_WISH_CANCEL && run_now() - told > CANCEL_GRACE_S) {
            (void)kill(child->pid, SIGKILL);
        }
        atomic_store(&control->look, true); /* a pause may become a cancel */
    }
    reap(child);
}

/* ---- a job --------------------------------------------------------------------------------------------------- */

static void fail(struct executor *executor, const struct storage_job *job, const char *code, const char *detail,
                 const char *signal, int tries, double since)
{
    struct storage_checkpoint latest = {0};
    struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
    struct json_sink json;
    struct buf out;
    (void)storage_checkpoint_find(executor->options.storage, job->id, pick, &latest, NULL);
    buf_init(&out, 4096);
    json_sink_init(&json, &out);
    sink_begin_object(&json.sink, NULL);
    sink_text(&json.sink, "code", code);
    sink_text(&json.sink, "detail", detail);
    if (signal[0] != '\0') {
        sink_text(&json.sink, "signal", signal);
    }
    if (tries > 0) {
        sink_integer(&json.sink, "tries", tries);
    }
    if (latest.seq > 0) {
        sink_integer(&json.sink, "checkpoint", latest.seq);
    } else {
        sink_null(&json.sink, "checkpoint");
    }
    sink_end_object(&json.sink);
    say(executor, LOG_LEVEL_WARN, job->id, detail);
    executor_leave(executor, job->id, JOB_EVENT_FAIL, NULL,
                   json_sink_done(&json) ? out.data : "{\"code\":\"out-of-memory\"}", run_now() - since);
    buf_close(&out);
}

/* True when the trainer had said how the run ended, and that is recorded. */
static bool ended(struct executor *executor, const char *job, double since)
{
    struct storage_lease lease;
    struct arena arena;
    arena_init(&arena, 16384, 0);
    bool is = storage_lease_get(executor->options.storage, job, &arena, &lease, NULL) == STATUS_OK &&
              lease.state == LEASE_ENDED;
    if (is) {
        executor_leave(executor, job, lease.ending, lease.result, lease.error, run_now() - since);
    }
    arena_close(&arena);
    return is;
}

/* What an earlier daemon left: a trainer, or the word of one about how the run ended. True: the job has left. */
static bool clear_before(struct executor *executor, const char *job, double since)
{
    struct storage_lease lease;
    struct arena arena;
    arena_init(&arena, 4096, 0);
    if (storage_lease_get(executor->options.storage, job, &arena, &lease, NULL) == STATUS_OK &&
        lease.state != LEASE_NONE) {
        kill_stray(executor, job, lease.foreign_id);
    }
    arena_close(&arena);
    return ended(executor, job, since);
}

/* One trainer from grant to end. True: the job has left. */
static bool one_trainer(struct executor *executor, const struct storage_job *job, struct job_control *control,
                        struct child *child, double since)
{
    struct storage *storage = executor->options.storage;
    char token[LEASE_TOKEN];
    uint8_t hash[STORAGE_LEASE_HASH];
    struct error err = {0};
    bool wanted = false;
    int tries = 0;
    lease_token_make(token, hash);
    (void)storage_lease_close(storage, job->id, NULL);
    enum status status = storage_lease_grant(storage, job->id, hash, "process", &tries, &err);
    if (status == STATUS_OK && tries > TRIES_MOST) {
        char detail[320];
        (void)snprintf(detail, sizeof detail, "%s; it was started %d times without a new checkpoint",
                       child->death[0] != '\0' ? child->death : "the trainer did not get on", tries - 1);
        fail(executor, job, "trainer-died", detail, child->signal, tries - 1, since);
        return true;
    }
    if (status == STATUS_OK && tries > 1) {
        sleep_ms(PAUSE_FIRST_MS << (tries - 2));
    }
    if (status == STATUS_OK) {
        status = start(executor, job, token, child, &err);
    }
    sodium_memzero(token, sizeof token);
    if (status != STATUS_OK) {
        fail(executor, job, "trainer-not-started", err.message, "", 0, since);
        return true;
    }
    watch(executor, job->id, control, child, &wanted);
    executor_trainer_gone(executor, job->id);
    if (ended(executor, job->id, since)) {
        return true;
    }
    say(executor, LOG_LEVEL_WARN, job->id, child->death);
    if (wanted || executor_must_yield(executor, job->id, control)) {
        executor_leave(executor, job->id, JOB_EVENT_YIELD, NULL, NULL, run_now() - since);
        return true;
    }
    return false;
}

void executor_run_process(struct executor *executor, const struct storage_job *job, struct job_control *control)
{
    double since = run_now();
    struct child child = {.fd = -1};
    if (clear_before(executor, job->id, since)) {
        return;
    }
    while (!atomic_load(&executor->serving)) { /* the address is known once the listener is up */
        if (atomic_load(&control->drain)) {
            executor_leave(executor, job->id, JOB_EVENT_YIELD, NULL, NULL, 0.0);
            return;
        }
        sleep_ms(LOOK_MS);
    }
    if (executor_must_yield(executor, job->id, control)) {
        executor_leave(executor, job->id, JOB_EVENT_YIELD, NULL, NULL, 0.0);
        return;
    }
    while (!one_trainer(executor, job, control, &child, since)) {
    }
}
