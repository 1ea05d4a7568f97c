/* Runs motif-convert (converter.h). One thread reads both pipes. It passes the bytes of the table to the reader of
 * tables. The text on standard error is the reason if the program fails. The output of the program is as untrusted
 * as the file itself. */
#include "server/process/converter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/descriptor.h"
#include "core/base/utf8.h"
#include "core/formats/table/table_stream.h"

enum { LOOK_MS = 50, REASON_BYTES = 200 };

struct run {
    const struct api_conversion *what;
    pid_t pid;
    int table, reason; /* read ends of the pipes for the table and for the reason; -1: closed */
    int64_t end_ms;    /* time at which the program must have ended, in ms */
    bool ended;        /* the end of the table has been read */
    bool late;         /* the program has exceeded its time */
    char text[REASON_BYTES + 1];
    size_t used;
};

static int64_t now_milliseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- start ------------------------------------------------------------------------------------------------- */

static int spawn(struct run *run, const char *program, int file, int table, int reason)
{
    char *const variables[] = {NULL};
    const struct api_conversion *what = run->what;
    const char *const words[] = {program, what->format, what->layer, what->label, what->group, what->id, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t empty, all;
    (void)sigemptyset(&empty);
    (void)sigfillset(&all);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_adddup2(&actions, file, STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, table, STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, reason, STDERR_FILENO);
    (void)posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    (void)posix_spawnattr_setsigmask(&attributes, &empty);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int code = posix_spawn(&run->pid, program, &actions, &attributes, (char *const *)(uintptr_t)words, variables);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* Opens the upload a second time, for reading only. */
static int reopen(int file)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static enum status converter_start(struct run *run, const char *program, struct error *err)
{
    int file = reopen(run->what->file), table[2] = {-1, -1}, reason[2] = {-1, -1};
    bool good = file >= 0 && pipe2(table, O_CLOEXEC) == 0 && pipe2(reason, O_CLOEXEC) == 0;
    int code = good ? spawn(run, program, file, table[1], reason[1]) : errno;
    descriptor_close(&file);
    descriptor_close(&table[1]);
    descriptor_close(&reason[1]);
    run->table = table[0];
    run->reason = reason[0];
    if (code == 0)
        return STATUS_OK;
    descriptor_close(&run->table);
    descriptor_close(&run->reason);
    return error_set(err, STATUS_UNAVAILABLE, NULL, "%s: motif-convert cannot be started: %s", run->what->format,
                     strerror(code));
}

/* ---- while it runs ------------------------------------------------------------------------------------------- */

/* Reads the bytes of the reason that have arrived, and keeps the beginning of the text. */
static void hear(struct run *run)
{
    char bytes[256];
    ssize_t got = read(run->reason, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR)
        return;
    if (got <= 0) {
        descriptor_close(&run->reason);
        return;
    }
    size_t room = REASON_BYTES - run->used, count = (size_t)got < room ? (size_t)got : room;
    memcpy(run->text + run->used, bytes, count);
    run->used += count;
    run->text[run->used] = '\0';
}

/* Waits until bytes of the table or of the reason have arrived, or one of the pipes is closed. *ready: the pipe of the
 * table has bytes or is closed. */
static enum status await(struct run *run, bool *ready, struct error *err)
{
    struct pollfd waits[2] = {{.fd = run->table, .events = POLLIN}, {.fd = run->reason, .events = POLLIN}};
    int count = poll(waits, 2, LOOK_MS);
    *ready = count > 0 && waits[0].revents != 0;
    if (count > 0 && waits[1].revents != 0)
        hear(run);
    if (work_check(run->what->work, err))
        return STATUS_CANCELLED;
    run->late = now_milliseconds() > run->end_ms;
    return run->late ? error_set(err, STATUS_LIMIT, NULL, "%s: reading the file takes more than %d seconds",
                                 run->what->format, CONVERTER_SECONDS)
                     : STATUS_OK;
}

static enum status read_table(void *context, void *to, size_t most, size_t *got, struct error *err)
{
    struct run *run = context;
    *got = 0;
    while (!run->ended) {
        bool ready;
        enum status status = await(run, &ready, err);
        if (status)
            return status;
        ssize_t now = ready ? read(run->table, to, most) : -1;
        if (now > 0) {
            *got = (size_t)now;
            return STATUS_OK;
        }
        run->ended = now == 0;
        if (ready && now < 0 && errno != EINTR)
            return error_set(err, STATUS_IO, NULL, "the output of motif-convert cannot be read");
    }
    return STATUS_OK;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

/* Waits until both pipes are closed: the kernel closes them when the program ends. Kills the program if it takes too
 * long or if the upload was abandoned. */
static void await_end(struct run *run)
{
    struct error waste = {0};
    char bytes[4096];
    while (run->table >= 0 || run->reason >= 0) {
        bool ready;
        if (await(run, &ready, &waste))
            break;
        if (ready && read(run->table, bytes, sizeof bytes) == 0)
            descriptor_close(&run->table);
    }
    if (run->table >= 0 || run->reason >= 0)
        (void)kill(run->pid, SIGKILL);
}

/* Returns the wait status of the program, or -1 if the kernel does not know the process. */
static int reap(struct run *run)
{
    int status = 0;
    descriptor_close(&run->table);
    descriptor_close(&run->reason);
    while (waitpid(run->pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

/* Sets the error of a program that ended with a failure. */
static enum status judge(struct run *run, int ended, struct error *err)
{
    const char *format = run->what->format;
    if (ended < 0)
        return error_set(err, STATUS_UNAVAILABLE, NULL, "%s: the process of motif-convert was lost", format);
    int code = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
    if (WIFSIGNALED(ended)) {
        const char *name = sigabbrev_np(WTERMSIG(ended));
        if (WTERMSIG(ended) == SIGXCPU || (WTERMSIG(ended) == SIGKILL && !run->late))
            return error_set(err, STATUS_LIMIT, NULL,
                             "%s: reading the file takes more processor time or memory than an upload may use", format);
        return error_set(err, STATUS_CORRUPT, NULL,
                         "%s: the file made its reader crash (SIG%s), so it is probably damaged", format,
                         name ? name : "?");
    }
    run->text[strcspn(run->text, "\n")] = '\0';
    struct buf reason;
    buf_init(&reason, 4096);
    utf8_escape(&reason, run->text, strlen(run->text), UTF8_FOR_TERMINAL);
    enum status status = code == TABLE_EXIT_FAULT                               ? STATUS_INVALID
                         : code == TABLE_EXIT_LIMIT                             ? STATUS_LIMIT
                         : code == TABLE_EXIT_OTHER || code == TABLE_EXIT_USAGE ? STATUS_UNAVAILABLE
                                                                                : STATUS_CORRUPT;
    if (reason.failed || reason.size == 0)
        (void)error_set(err, status, NULL, "%s: motif-convert ended with exit code %d", format, code);
    else
        (void)error_set(err, status, NULL, "%s: %.*s", format, (int)reason.size, reason.data);
    buf_close(&reason);
    return status;
}

enum status converter_run(void *context, const struct api_conversion *conversion, struct error *err)
{
    struct run run = {.what = conversion, .end_ms = now_milliseconds() + (int64_t)CONVERTER_SECONDS * 1000};
    struct error cause = {0};
    enum status status = converter_start(&run, context, err);
    if (status)
        return status;
    const struct byte_source table = {&run, read_table, conversion->work};
    status = conversion->take(conversion->context, &table, &cause);
    if (status && !run.ended) /* the reader has refused the table, or the program has exceeded its time */
        (void)kill(run.pid, SIGKILL);
    else
        await_end(&run);
    int ended = reap(&run);
    if (run.ended && ended != 0)
        return judge(&run, ended, err);
    return status ? error_set(err, status, NULL, "%s", cause.message) : STATUS_OK;
}
