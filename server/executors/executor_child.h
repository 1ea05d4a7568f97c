/* A child process of the daemon, for the executors that start programs. Only one worker's thread uses a child. */
#ifndef MOTIF_SERVER_EXECUTORS_EXECUTOR_CHILD_H
#define MOTIF_SERVER_EXECUTORS_EXECUTOR_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/error.h"

#define CHILD_LINE 256

struct child {
    pid_t pid;
    int fd;    /* pidfd of the process; -1 if not available */
    int words; /* read end of the pipe for the output of the program; -1 if the program writes to the daemon's own
                * output */
    char line[CHILD_LINE]; /* the last line of output, while it is incomplete */
    size_t line_size;
    char reason[160];            /* the last line of output that may say why the program failed; see end_line() */
    char death[400], signal[24]; /* for a process that failed: a sentence about how it ended, and the name of the signal
                                    that ended it */
    int code;                    /* exit code of the process; -1: a signal ended it, or the code is unknown */
};

struct child_how {
    const char *const *arguments; /* the command line, ends with NULL; [0] is a path */
    const char *trace;            /* TRACEPARENT=VALUE for the program's environment; NULL: none */
    const char *variable;         /* another NAME=VALUE for the program's environment; NULL: none */
    const char *input;            /* contents of the program's standard input; NULL: empty */
    bool listen;                  /* read the program's output line by line */
};

#define CHILD_WORDS 192 /* room for the words of a command line, with the final NULL */
/* Appends `words`, which end with NULL, to a command line with CHILD_WORDS entries, of which *at are used. */
void child_words(const char **to, size_t *at, const char *const *words);

/* Receives one line of output, without the newline. */
typedef void child_line(void *context, const char *line);

/* Starts a program. Its environment is a copy of the daemon's without tokens, with `trace` and `variable`. The input
 * may have a few KiB at most, because it must fit into the pipe. STATUS_UNAVAILABLE when the program cannot be started.
 */
enum status child_spawn(const struct child_how *how, struct child *child, struct error *err);
/* Waits until the process has ended, or for `ms`. Returns true when it has ended. Passes every line that arrived to
 * `take_line`. */
bool child_wait(struct child *child, int ms, child_line *take_line, void *context);
/* Waits for the end and fills `code`, `signal` and `death`. An exit code above 128 means that a signal ended a program
 * that the child had started. */
void child_reap(struct child *child, child_line *take_line, void *context);

void child_kill(const struct child *child); /* Kills the process; may be called only before child_reap(). */

/* Start time of a process in clock ticks since boot, or 0 when no such process exists. A pid and its start time
 * together identify a process, because pids are reused. */
unsigned long long child_begun(pid_t pid);
/* Sleeps for `ms` milliseconds, or less when a signal arrives. */
void child_sleep(int ms);

#endif
