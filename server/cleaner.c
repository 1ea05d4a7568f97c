/* The thread that applies the policies of retention. */
#include "server/cleaner.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "api/api.h"
#include "core/base/parallel/timed_cond.h"

struct cleaner {
    struct api *api;
    int64_t seconds;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool ending;
};

/* Waits for the next time. Returns false if the thread must end. */
static bool wait_for_next(struct cleaner *c)
{
    struct timespec until;
    int late = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)c->seconds;
    pthread_mutex_lock(&c->lock);
    while (!c->ending && late == 0)
        late = pthread_cond_timedwait(&c->ended, &c->lock, &until);
    bool ending = c->ending;
    pthread_mutex_unlock(&c->lock);
    return !ending;
}

static void *clean(void *context)
{
    struct cleaner *c = context;
    while (wait_for_next(c))
        while (api_clean(c->api)) {
        }
    return NULL;
}

enum status cleaner_start(struct api *api, int64_t seconds, struct cleaner **cleaner, struct error *err)
{
    struct cleaner *c = calloc(1, sizeof *c);
    if (c == NULL || !timed_lock_init(&c->lock, &c->ended, NULL)) {
        free(c);
        return error_memory(err, "the policies of retention");
    }
    c->api = api;
    c->seconds = seconds;
    if (pthread_create(&c->thread, NULL, clean, c) != 0) {
        (void)pthread_mutex_destroy(&c->lock);
        (void)pthread_cond_destroy(&c->ended);
        free(c);
        return error_memory(err, "the policies of retention");
    }
    *cleaner = c;
    return STATUS_OK;
}

void cleaner_stop(struct cleaner *c)
{
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    c->ending = true;
    pthread_cond_signal(&c->ended);
    pthread_mutex_unlock(&c->lock);
    (void)pthread_join(c->thread, NULL);
    (void)pthread_mutex_destroy(&c->lock);
    (void)pthread_cond_destroy(&c->ended);
    free(c);
}
