/* A daemon that a test plays in the place of the HTTP client (protocol/http_client.h): it stores what a run sends, and
 * it can refuse, fail or hold requests. The program must be linked with --wrap for nanosleep, pthread_cond_wait and
 * pthread_cond_timedwait. */
#ifndef MOTIF_TESTS_UNIT_TRAINER_PLAYED_DAEMON_H
#define MOTIF_TESTS_UNIT_TRAINER_PLAYED_DAEMON_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"

#define JOB "01JD8AAAAAAAAAAAAAAAAAAAAA"

extern struct played_daemon {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int requests, registrations, reports, announcements, files, points, lines, pauses;
    char end[16], document[256], progress[64], file[64], type[160];
    struct buf stored, part;
    int64_t seq;
    double last_value;
    int fails_at;   /* the request with this number gets no answer; -1: none */
    int refuses_at; /* the request with this number gets the status `refusal` */
    long refusal;
    int hold_from; /* the sender's requests from this number on wait until the run itself waits for the queue */
    bool run_waits;
    const char *wants;        /* requested state in the answers to reports; NULL: none */
    const char *registration; /* answer to a registration; NULL: the usual one */
    const char *list;         /* list of checkpoints; NULL: the stored one */
    int64_t announced;        /* bytes */
    struct buf *sent;         /* what a fetch delivers; NULL: the stored checkpoint */
} played;

/* Resets `played`, and takes the calling thread for the thread of the run. */
void played_begin(void);
void played_refuse_next(long status); /* the next request gets `status`; 0: no answer */
/* Holds all requests of the sender from now on, until the run waits for the queue. */
void played_hold_sender(void);

#endif
