/* A thread of its own waits for the deadline, because the main thread joins threads that compute for an unknown time.
 */
#include "server/process/deadline.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/process/signals.h"

#define POLL_MS 20

/* static, because a process needs only one deadline */
static struct {
    pthread_t thread;
    bool started;
    atomic_bool stop;
    struct journal *journal;
    int64_t ms;
} deadline;

static void *deadline_watch(void *context)
{
    (void)context;
    for (int64_t left = deadline.ms; !atomic_load(&deadline.stop); left -= POLL_MS) {
        int signal = signals_wait(POLL_MS);
        if (signal != 0 && signal != SIGHUP) {
            journal_line(deadline.journal, LOG_LEVEL_WARN, JOURNAL_SERVER, NULL, NULL,
                         "the daemon ends at once because of a second signal");
            _exit(EXIT_FAILURE);
        }
        if (left <= 0) {
            journal_line(deadline.journal, LOG_LEVEL_WARN, JOURNAL_SERVER, NULL, NULL,
                         "requests did not end in time; the daemon ends without them");
            _exit(EXIT_SUCCESS);
        }
    }
    return NULL;
}

void deadline_start(struct journal *journal, int64_t ms)
{
    deadline.journal = journal;
    deadline.ms = ms;
    deadline.started = pthread_create(&deadline.thread, NULL, deadline_watch, NULL) == 0;
}

void deadline_stop(void)
{
    atomic_store(&deadline.stop, true);
    if (deadline.started) {
        (void)pthread_join(deadline.thread, NULL);
        deadline.started = false;
    }
}
