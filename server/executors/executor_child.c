/* Starts a program with posix_spawn and watches it through a pidfd. The daemon reads the program's output from one
 * pipe, line by line. The last line that contains "motif-train", or mpirun's "noticed that", becomes part of the job's
 * error. */
#include "server/executors/executor_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/descriptor.h"

#define EXIT_SIGNAL 128 /* shells and mpirun exit with 128 plus the number of the signal that ended their program */

void child_sleep(int ms)
{
    (void)nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000}, NULL);
}

unsigned long long child_begun(pid_t pid)
{
    char path[64], text[512];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    size_t size = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    /* the second field is the name in parentheses, which may contain any character; the last ')' ends this field */
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

void child_words(const char **to, size_t *at, const char *const *words)
{
    for (; *words != NULL; words++) {
        assert(*at + 1 < CHILD_WORDS);
        to[(*at)++] = *words;
    }
    to[*at] = NULL;
}

/* ---- start ------------------------------------------------------------------------------------------------ */

/* Returns a copy of our environment without tokens and traces, with `first` and `second` added unless they are NULL. */
static char **environment(const char *first, const char *second)
{
    size_t count = 0, at = 0;
    while (environ[count] != NULL)
        count++;
    char **made = calloc(count + 3, sizeof *made);
    for (size_t i = 0; made != NULL && i < count; i++)
        if (strncmp(environ[i], "MOTIFD_TOKEN=", 13) != 0 && strncmp(environ[i], "MOTIF_TRAIN_TOKEN=", 18) != 0 &&
            strncmp(environ[i], "TRACEPARENT=", 12) != 0)
            made[at++] = environ[i];
    if (made != NULL) {
        /* posix_spawn() does not change these strings, although its parameter is not const */
        if (first != NULL)
            made[at++] = (char *)(uintptr_t)first;
        made[at] = (char *)(uintptr_t)second;
    }
    return made;
}

struct ends {
    int input[2], output[2];
};

static void close_ends(struct ends *ends)
{
    for (int i = 0; i < 2; i++) {
        descriptor_close(&ends->input[i]);
        descriptor_close(&ends->output[i]);
    }
}

static enum status open_ends(const struct child_how *how, struct ends *ends, struct error *err)
{
    *ends = (struct ends){{-1, -1}, {-1, -1}};
    if ((how->input != NULL && pipe2(ends->input, O_CLOEXEC) != 0) ||
        (how->listen && pipe2(ends->output, O_CLOEXEC) != 0))
        return error_set(err, STATUS_UNAVAILABLE, NULL, "no pipe for a program: %s", strerror(errno));
    return STATUS_OK;
}

static int spawn(const struct child_how *how, const struct ends *ends, char *const *variables, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    if (how->input != NULL)
        (void)posix_spawn_file_actions_adddup2(&actions, ends->input[0], STDIN_FILENO);
    else
        (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (how->listen)
        (void)posix_spawn_file_actions_adddup2(&actions, ends->output[1], STDERR_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    (void)posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setpgroup(
        &attributes, 0); /* a ^C at the terminal must not reach the child; the daemon decides when the child stops */
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int code =
        posix_spawn(pid, how->arguments[0], &actions, &attributes, (char *const *)(uintptr_t)how->arguments, variables);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return code;
}

enum status child_spawn(const struct child_how *how, struct child *child, struct error *err)
{
    struct ends ends;
    char **variables = environment(how->trace, how->variable);
    child->fd = child->words = -1;
    child->line_size = 0;
    child->reason[0] = child->death[0] = child->signal[0] = '\0';
    enum status status = open_ends(how, &ends, err);
    if (!status && variables == NULL)
        status = error_memory(err, "a program");
    if (!status) {
        int code = spawn(how, &ends, variables, &child->pid);
        status = code == 0 ? STATUS_OK
                           : error_set(err, STATUS_UNAVAILABLE, NULL, "%s cannot be started: %s", how->arguments[0],
                                       strerror(code));
    }
    if (!status) {
        child->fd = pidfd_open(child->pid, 0);
        if (how->input != NULL) /* the result is ignored: the input fits into the pipe, and child_wait() notices a child
                                 * that has already ended */
            (void)!write(ends.input[1], how->input, strlen(how->input));
        if (how->listen) {
            child->words = ends.output[0];
            ends.output[0] = -1;
            (void)fcntl(child->words, F_SETFL, O_NONBLOCK);
        }
    }
    close_ends(&ends);
    free(variables);
    return status;
}

/* ---- the child's output ----------------------------------------------------------------------------------- */

static void end_line(struct child *child, child_line *take_line, void *context)
{
    child->line[child->line_size] = '\0';
    child->line_size = 0;
    if (child->line[strspn(child->line, " -=")] == '\0') /* empty, or a line of dashes */
        return;
    if (strstr(child->line, "motif-train") != NULL || strstr(child->line, "noticed that") != NULL)
        (void)snprintf(child->reason, sizeof child->reason, "%.*s", (int)sizeof child->reason - 1, child->line);
    if (take_line != NULL)
        take_line(context, child->line);
}

static void listen_now(struct child *child, child_line *take_line, void *context)
{
    char bytes[1024];
    ssize_t count;
    while (child->words >= 0 && (count = read(child->words, bytes, sizeof bytes)) != 0) {
        if (count < 0 && errno != EINTR)
            return; /* the pipe is empty at the moment */
        for (ssize_t i = 0; i < count; i++) {
            if (bytes[i] == '\n' || child->line_size + 1 == sizeof child->line)
                end_line(child, take_line, context);
            if (bytes[i] != '\n' && bytes[i] != '\r')
                child->line[child->line_size++] = bytes[i];
        }
    }
    if (child->words >= 0) /* end of file: no process has the pipe open for writing */
        descriptor_close(&child->words);
}

bool child_wait(struct child *child, int ms, child_line *take_line, void *context)
{
    struct pollfd gone = {.fd = child->fd, .events = POLLIN};
    listen_now(child, take_line, context);
    if (child->fd >= 0)
        return poll(&gone, 1, ms) == 1;
    siginfo_t what = {0};
    child_sleep(ms);
    return waitid(P_PID, (id_t)child->pid, &what, WEXITED | WNOHANG | WNOWAIT) != 0 || what.si_pid == child->pid;
}

void child_kill(const struct child *child)
{
    (void)kill(child->pid, SIGKILL);
}

/* ---- the end of the child ---------------------------------------------------------------------------------- */

void child_reap(struct child *child, child_line *take_line, void *context)
{
    int status = 0, number;
    pid_t ended;
    while ((ended = waitpid(child->pid, &status, 0)) < 0 && errno == EINTR) {
    }
    listen_now(child, take_line, context);
    if (child->line_size > 0)
        end_line(child, take_line, context);
    descriptor_close(&child->words);
    descriptor_close(&child->fd);
    child->signal[0] = '\0';
    if (ended < 0) { /* another part of the program has waited for this process, so its exit code is unknown */
        child->code = -1;
        (void)snprintf(child->death, sizeof child->death, "the trainer's process was lost, and its exit code with it");
        return;
    }
    child->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    number = WIFSIGNALED(status) ? WTERMSIG(status)
             : WEXITSTATUS(status) > EXIT_SIGNAL && WEXITSTATUS(status) <= EXIT_SIGNAL + SIGRTMAX
                 ? WEXITSTATUS(status) - EXIT_SIGNAL
                 : 0;
    const char *colon = child->reason[0] != '\0' ? ": " : "";
    if (number > 0) {
        const char *name = sigabbrev_np(number);
        (void)snprintf(child->signal, sizeof child->signal, "SIG%s", name != NULL ? name : "?");
        (void)snprintf(child->death, sizeof child->death, "%s (%s) ended the trainer%s%s", child->signal,
                       strsignal(number), colon, child->reason);
    } else {
        (void)snprintf(child->death, sizeof child->death, "the trainer ended with exit code %d and gave no reason%s%s",
                       WEXITSTATUS(status), colon, child->reason);
    }
}
