/* Starts, signals and stops a real motifd in a child process, and runs its other commands. */
#include "tests/harness/daemon.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_MS 60000
#define RUN_SECONDS 120

void sleep_ms(int ms)
{
    (void)usleep((useconds_t)ms * 1000);
}

double now_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static const char *binary(void)
{
    const char *path = getenv("MOTIFD");
    return path != NULL ? path : "build/motifd";
}

void daemon_init(struct daemon_process *daemon)
{
    const char *base = getenv("TMPDIR");
    memset(daemon, 0, sizeof *daemon);
    (void)snprintf(daemon->folder, sizeof daemon->folder, "%.40s/motifd_XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(daemon->folder) == NULL) {
        perror("mkdtemp");
        abort();
    }
    (void)snprintf(daemon->db, sizeof daemon->db, "%s/motifd.db", daemon->folder);
    (void)snprintf(daemon->log, sizeof daemon->log, "%s/log", daemon->folder);
}

/* Replaces the child process after fork() by the daemon. Never returns. */
static _Noreturn void become_daemon(const struct daemon_process *daemon, const char *const *args, int out)
{
    char *argv[DAEMON_ARGS + 8];
    int count = 0;
    const char *const fixed[] = {binary(), "serve", "--listen", "127.0.0.1:0", "--db", daemon->db};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        argv[count++] = (char *)(uintptr_t)fixed[i];
    for (int i = 0; args != NULL && args[i] != NULL && i < DAEMON_ARGS; i++)
        argv[count++] = (char *)(uintptr_t)args[i];
    argv[count] = NULL;
    int log = open(daemon->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(log, STDERR_FILENO);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* the kernel kills the daemon when its test ends */
    /* jobs of a test compete as equals with other programs of the machine, so that a test ends in time on a busy one */
    (void)setenv("MOTIFD_JOB_NICE", "0", 0);
    (void)signal(SIGHUP, SIG_DFL); /* nohup makes the test ignore SIGHUP; the daemon must not inherit that */
    (void)execv(binary(), argv);
    perror("execv");
    _exit(127);
}

void daemon_spawn(struct daemon_process *daemon, const char *const *args)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        abort();
    daemon->pid = fork();
    if (daemon->pid == 0)
        become_daemon(daemon, args, ends[1]);
    (void)close(ends[1]);
    daemon->out = ends[0];
}

bool daemon_await(struct daemon_process *daemon, int *exit_code)
{
    char line[128];
    size_t used = 0;
    double until = now_seconds() + START_MS * 1e-3;
    while (used < sizeof line - 1 && memchr(line, '\n', used) == NULL && now_seconds() < until) {
        struct pollfd ready = {.fd = daemon->out, .events = POLLIN};
        ssize_t got = poll(&ready, 1, 100) == 1 ? read(daemon->out, line + used, sizeof line - 1 - used) : -1;
        if (got == 0)
            break;
        used += got > 0 ? (size_t)got : 0;
    }
    line[used] = '\0';
    (void)close(daemon->out);
    daemon->out = -1;
    char scheme[8] = "";
    if (sscanf(line, "listening on %5[a-z]://127.0.0.1:%d\n", scheme, &daemon->port) == 2) {
        (void)snprintf(daemon->url, sizeof daemon->url, "%s://127.0.0.1:%d", scheme, daemon->port);
        return true;
    }
    int code = daemon_wait(daemon, 5000);
    if (exit_code != NULL)
        *exit_code = code;
    daemon_kill(daemon);
    return false;
}

bool daemon_start(struct daemon_process *daemon, const char *const *args, int *exit_code)
{
    daemon_spawn(daemon, args);
    return daemon_await(daemon, exit_code);
}

void daemon_signal(const struct daemon_process *daemon, int signal)
{
    if (daemon->pid > 0) /* kill(0) would signal the test's own process group */
        (void)kill(daemon->pid, signal);
}

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int daemon_wait(struct daemon_process *daemon, int ms)
{
    int status = 0;
    for (int waited = 0; daemon->pid > 0 && waited <= ms; waited += 5) {
        if (waitpid(daemon->pid, &status, WNOHANG) == daemon->pid) {
            daemon->pid = 0;
            return code_of(status);
        }
        sleep_ms(5);
    }
    return -1;
}

int daemon_stop(struct daemon_process *daemon)
{
    daemon_signal(daemon, SIGTERM);
    return daemon_wait(daemon, 15000);
}

void daemon_kill(struct daemon_process *daemon)
{
    if (daemon->pid > 0) {
        (void)kill(daemon->pid, SIGKILL);
        (void)waitpid(daemon->pid, NULL, 0);
        daemon->pid = 0;
    }
    if (daemon->out > 0) {
        (void)close(daemon->out);
        daemon->out = -1;
    }
}

static void print_file(const char *path)
{
    char block[4096];
    FILE *file = fopen(path, "re");
    for (size_t got; file != NULL && (got = fread(block, 1, sizeof block, file)) > 0;)
        (void)fwrite(block, 1, got, stderr);
    if (file != NULL)
        (void)fclose(file);
}

void daemon_close(struct daemon_process *daemon, bool show_log)
{
    int code = daemon->pid > 0 ? daemon_stop(daemon) : 0;
    daemon_kill(daemon);
    if (show_log || code != 0)
        print_file(daemon->log);
    DIR *folder = opendir(daemon->folder);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[400];
        (void)snprintf(path, sizeof path, "%s/%s", daemon->folder, entry->d_name);
        (void)unlink(path);
    }
    if (folder != NULL)
        (void)closedir(folder);
    (void)rmdir(daemon->folder);
    if (code != 0) {
        (void)fprintf(stderr, "the daemon did not end in order: %d\n", code);
        abort();
    }
}

/* Reads a pipe to its end. The caller frees the text. */
static char *drain(int fd)
{
    size_t used = 0, capacity = 4096;
    char *text = malloc(capacity);
    for (ssize_t got; text != NULL && (got = read(fd, text + used, capacity - used - 1)) > 0;) {
        used += (size_t)got;
        if (used + 1 == capacity) {
            capacity *= 2;
            text = realloc(text, capacity);
        }
    }
    if (text != NULL)
        text[used] = '\0';
    (void)close(fd);
    return text;
}

int motifd_run(const char *const *args, char **out, char **errors)
{
    char *argv[DAEMON_ARGS + 2] = {(char *)(uintptr_t)binary()};
    char name[] = "/tmp/motifd_out_XXXXXX";
    int ends[2], status = 0, error_file = mkstemp(name);
    for (int i = 0; args[i] != NULL && i < DAEMON_ARGS; i++)
        argv[i + 1] = (char *)(uintptr_t)args[i];
    if (error_file < 0 || pipe2(ends, O_CLOEXEC) != 0)
        abort();
    (void)unlink(name);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)alarm(RUN_SECONDS); /* ends a command that runs too long; exec() keeps the alarm */
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)dup2(error_file, STDERR_FILENO);
        (void)execv(binary(), argv);
        _exit(127);
    }
    (void)close(ends[1]);
    char *written = drain(ends[0]);
    (void)waitpid(pid, &status, 0);
    (void)lseek(error_file, 0, SEEK_SET);
    char *messages = drain(error_file);
    if (out != NULL)
        *out = written;
    else
        free(written);
    if (errors != NULL)
        *errors = messages;
    else
        free(messages);
    return code_of(status);
}
