/* A real motifd as a child process, for wire tests. */
#ifndef MOTIF_TESTS_HARNESS_DAEMON_H
#define MOTIF_TESTS_HARNESS_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#define DAEMON_ARGS 24

struct daemon_process {
    char folder[64]; /* the daemon's own folder, with database and log */
    char db[96], log[96];
    pid_t pid; /* 0: the daemon does not run */
    int out;   /* what the daemon printed on its standard output during the start */
    int port;
    char url[64]; /* http://127.0.0.1:PORT, or https:// */
};

/* Makes a fresh folder under TMPDIR. The environment variable MOTIFD names the binary. */
void daemon_init(struct daemon_process *daemon);
/* Starts `motifd serve` with further arguments (ended by NULL; NULL for none) and waits for the line with the address.
 * Returns false when the daemon ended first; its exit code is then in *exit_code, unless that is NULL. */
bool daemon_start(struct daemon_process *daemon, const char *const *args, int *exit_code);
/* The two halves of daemon_start(), for tests that kill the daemon between them. */
void daemon_spawn(struct daemon_process *daemon, const char *const *args);
bool daemon_await(struct daemon_process *daemon, int *exit_code);
/* Sends a signal. */
void daemon_signal(const struct daemon_process *daemon, int signal);
/* Waits for the end; returns -1 when it takes longer than `ms`, else the exit code, or 128 + signal. */
int daemon_wait(struct daemon_process *daemon, int ms);
/* Sends SIGTERM and calls daemon_wait(). */
int daemon_stop(struct daemon_process *daemon);
void daemon_kill(struct daemon_process *daemon); /* SIGKILL */
/* Removes the folder with everything in it. Ends a running daemon by SIGTERM; if the daemon does not exit properly, the
 * test program ends with a failure. Prints the log in that case, and if `show_log` is set. */
void daemon_close(struct daemon_process *daemon, bool show_log);

/* Runs `motifd ARGS...` to its end. Returns the exit code; the caller frees the output (NULL: not wanted). */
int motifd_run(const char *const *args, char **out, char **errors);

void sleep_ms(int ms);
double now_seconds(void);

#endif
