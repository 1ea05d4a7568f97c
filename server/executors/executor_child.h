/* A program as a child of the daemon, for the executors that start one. A child belongs to one worker's thread. */
#ifndef MOTIF_SERVER_EXECUTORS_EXECUTOR_CHILD_H
#define MOTIF_SERVER_EXECUTORS_EXECUTOR_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/error.h"

#define CHILD_LINE 256

struct child {
    pid_t pid;
    int fd;                /* of the process */
    int words;             /* what it says on its outputs, -1: that goes where the daemon's goes */
    char line[CHILD_LINE]; /* that is not complete */
    size_t line_size;
    char said[160];              /* the last line with a reason in it */
    char death[400], signal[24]; /* how it ended, when it ended badly */
    int code;                    /* its exit code, -1 after a signal */
};

struct child_how {
    const char *const *arguments; /* NULL behind the last; [0] is a path */
    const char *variable;         /* NAME=VALUE beside our own environment, NULL: none */
    const char *input;            /* what its standard input has, NULL: nothing */
    bool listen;                  /* take what it says */
};

/* Heard: one line, without its end. */
typedef void child_line(void *context, const char *line);

/* Its environment is ours without tokens. A few KiB of input at most. */
enum status child_spawn(const struct child_how *how, struct child *child, struct error *err);
/* Waits until there is an end or `ms` have passed; true when it has ended. Every line that came is handed on. */
bool child_wait(struct child *child, int ms, child_line *heard, void *context);
/* How it ended, in words; waits for it. Exit codes above 128 are signals of what it started. */
void child_reap(struct child *child, child_line *heard, void *context);

void child_kill(const struct child *child); /* one that has not been reaped */

/* When the process began, in ticks since the machine did: with its number a name that is never used twice. 0: there
 * is none. */
unsigned long long child_begun(pid_t pid);
void child_sleep(int ms);

#endif
