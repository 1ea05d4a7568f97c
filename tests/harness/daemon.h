/* A real motifd as a child process, for wire tests. */
#ifndef MOTIF_TESTS_HARNESS_DAEMON_H
#define MOTIF_TESTS_HARNESS_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#define DAEMON_ARGS 24

struct daemon_process {
    char folder[64]; /* a folder for this daemon only, which contains its database and its log */
    char db[96], log[96];
    pid_t pid; /* process id of the daemon; 0: it does not run */
    int out;   /* descriptor from which the standard output of the daemon can be read */
    int port;
    char url[64]; /* address of the daemon: http://127.0.0.1:PORT, with TLS https:// */
};

/* Makes a fresh folder under TMPDIR. The environment variable MOTIFD names the binary. */
void daemon_init(struct daemon_process *daemon);
/* Starts `motifd serve` with further arguments (ended by NULL; NULL for none) and waits for the line that contains
 * the address. Returns false when the daemon ended before that line; stores its exit code in *exit_code unless
 * that is NULL. */
bool daemon_start(struct daemon_process *daemon, const char *const *args, int *exit_code);
/* daemon_start() calls daemon_spawn(), which starts the process, and then daemon_await(), which waits for the line
 * with the address. Tests that kill the daemon between the two steps call both functions themselves. */
void daemon_spawn(struct daemon_process *daemon, const char *const *args);
bool daemon_await(struct daemon_process *daemon, int *exit_code);
/* Sends a signal. */
void daemon_signal(const struct daemon_process *daemon, int signal);
/* Waits until the daemon ends. Returns its exit code, or 128 + the number of the signal that ended it, or -1 when
 * the daemon runs longer than `ms`. */
int daemon_wait(struct daemon_process *daemon, int ms);
/* Sends SIGTERM and calls daemon_wait(). */
int daemon_stop(struct daemon_process *daemon);
void daemon_kill(struct daemon_process *daemon); /* sends SIGKILL */
/* Ends a running daemon with SIGTERM and removes its folder with everything in it. If the daemon does not exit
 * properly, prints the log and ends the test program with a failure. `show_log`: prints the log in any case. */
void daemon_close(struct daemon_process *daemon, bool show_log);

/* Runs `motifd ARGS...` to its end. Returns the exit code. Stores standard output in *out and standard error in
 * *errors (NULL: not wanted), which the caller frees. */
int motifd_run(const char *const *args, char **out, char **errors);

void sleep_ms(int ms);
double now_seconds(void);

#endif
