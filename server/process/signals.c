/* The handler writes to a pipe (the self-pipe trick); signals_wait() polls it. */
#include "server/process/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* The process has one pipe. It is static, because a signal handler has no context. It is created once, before the first
 * signal. */
static int pipe_ends[2] = {-1, -1};

static void signals_keep(int number)
{
    int before = errno;
    unsigned char byte = (unsigned char)number;
    ssize_t written = write(pipe_ends[1], &byte, 1); /* if the pipe is full, signals_wait() has enough to read */
    (void)written;
    errno = before;
}

/* An empty handler for signals that this process does not use. The programs that this process starts would inherit
 * SIG_IGN, but they do not inherit a handler. Trainers must receive the SIGUSR1 that mpirun and Slurm send. */
static void signals_drop(int number)
{
    (void)number;
}

enum status signals_catch(struct error *err)
{
    struct sigaction action = {.sa_handler = signals_keep, .sa_flags = SA_RESTART}, before;
    (void)sigemptyset(&action.sa_mask);
    if (pipe_ends[0] < 0 && pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return error_set(err, STATUS_IO, NULL, "no pipe for signals");
    bool caught = sigaction(SIGTERM, &action, NULL) == 0 && sigaction(SIGINT, &action, NULL) == 0 &&
                  sigaction(SIGHUP, NULL, &before) == 0;
    if (caught && before.sa_handler != SIG_IGN) /* an ignored SIGHUP stays ignored, as under nohup */
        caught = sigaction(SIGHUP, &action, NULL) == 0;
    struct sigaction nothing = {.sa_handler = signals_drop, .sa_flags = SA_RESTART};
    (void)sigemptyset(&nothing.sa_mask);
    caught = caught && sigaction(SIGUSR1, &nothing, NULL) == 0 && sigaction(SIGUSR2, &nothing, NULL) == 0;
    /* a write beyond the limit on the size of files (ulimit -f) fails with EFBIG, like one to a full disk */
    caught = caught && sigaction(SIGXFSZ, &nothing, NULL) == 0;
    if (!caught)
        return error_set(err, STATUS_INTERNAL, NULL, "signals cannot be caught");
    (void)signal(SIGPIPE, SIG_IGN);
    return STATUS_OK;
}

int signals_wait(int ms)
{
    struct pollfd ready = {.fd = pipe_ends[0], .events = POLLIN};
    unsigned char number = 0;
    if (poll(&ready, 1, ms) == 1 && read(pipe_ends[0], &number, 1) == 1)
        return number;
    return 0;
}
