/* Threads of usual and of low priority that take turns, and the watcher; one lock guards all of it. The watcher sleeps
 * while nothing works, and else looks every LOOK_MS. There are always `limit` threads of usual priority, and at most as
 * many of low priority.
 *
 * A thread of low priority may lose its core while it holds the lock, and then everybody waits for it. So the lock is
 * held for very short times, and each thread sleeps on a semaphore of its own: a signal of a condition variable may
 * wait for other threads that were woken. */
#include "server/http/handler_threads.h"

#include "core/base/parallel/priority.h"
#include "server/process/crash.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 5 };

struct handler {
    struct handler_threads *all;
    pthread_t thread;
    sem_t wake;
    struct handler *next;           /* in a list of idle threads */
    struct turn turn;               /* for which it works */
    clockid_t clock;                /* its processor time */
    int id;                         /* gettid() */
    int64_t used_us;                /* its processor time when it began to work */
    bool exists, works, low, ended; /* ended: to be joined */
};

struct handler_threads {
    pthread_mutex_t lock;
    void (*work)(void *item);
    struct turns *turns;
    bool stop, watching, sleeps; /* watching: there is a watcher; sleeps: it waits for watch */
    sem_t watch;
    pthread_t watcher;
    int limit, working, low;  /* low: threads of low priority */
    struct handler *idle[2];  /* of usual and of low priority */
    struct handler handler[]; /* [2 * limit] */
};

/* Wakes the watcher. The caller holds the lock. */
static void wake_watcher(struct handler_threads *all)
{
    if (all->sleeps)
        (void)sem_post(&all->watch);
    all->sleeps = false;
}

/* Takes an idle thread from its list, which the caller then wakes; NULL: there is none. The caller holds the lock. */
static struct handler *take_idle(struct handler_threads *all, bool low)
{
    struct handler *handler = all->idle[low];
    if (handler != NULL)
        all->idle[low] = handler->next;
    return handler;
}

static void wake_all(struct handler_threads *all)
{
    for (int low = 0; low < 2; low++)
        for (struct handler *handler; (handler = take_idle(all, low)) != NULL;)
            (void)sem_post(&handler->wake);
}

/* Sleeps until there is something to do. The caller holds the lock. */
static void handler_sleep(struct handler *handler)
{
    struct handler_threads *all = handler->all;
    struct handler *other = handler->low && turns_waiting(all->turns) > 0 ? take_idle(all, false) : NULL;
    handler->next = all->idle[handler->low];
    all->idle[handler->low] = handler;
    (void)pthread_mutex_unlock(&all->lock);
    if (other != NULL) /* it may take what this thread may not */
        (void)sem_post(&other->wake);
    while (sem_wait(&handler->wake) != 0) {
    }
    (void)pthread_mutex_lock(&all->lock);
}

/* Works for handler->turn. The caller holds the lock. */
static void handler_work(struct handler *handler)
{
    struct handler_threads *all = handler->all;
    bool lower = !handler->low && turns_busy(&handler->turn);
    handler->low |= lower;
    all->low += lower;
    handler->works = true;
    all->working++;
    bool wake = all->sleeps;
    all->sleeps = false;
    (void)pthread_mutex_unlock(&all->lock);
    if (wake) /* only now, because a thread that is woken may take the core of this one */
        (void)sem_post(&all->watch);
    if (lower)
        (void)priority_compute(0, PRIORITY_LONG_NICE);
    all->work(handler->turn.item);
    int64_t now = priority_used_us(handler->clock);
    (void)pthread_mutex_lock(&all->lock);
    handler->works = false;
    all->working--;
    turns_end(all->turns, &handler->turn, now - handler->used_us);
    handler->used_us = now;
}

static void *handler_run(void *context)
{
    struct handler *handler = context;
    struct handler_threads *all = handler->all;
    crash_thread();
    (void)pthread_mutex_lock(&all->lock);
    handler->id = (int)gettid();
    (void)pthread_getcpuclockid(pthread_self(), &handler->clock);
    handler->used_us = priority_used_us(handler->clock);
    while (all->stop || !handler->low || all->low <= all->limit) {
        struct turn *next = turns_next(all->turns, handler->low && !all->stop);
        if (next != NULL) {
            handler->turn = *next; /* a copy, because the work may free its item, which contains the turn */
            handler_work(handler);
        } else if (all->stop && turns_waiting(all->turns) == 0) {
            break;
        } else {
            handler_sleep(handler);
        }
    }
    all->low -= handler->low;
    handler->ended = true;
    wake_watcher(all);
    wake_all(all);
    (void)pthread_mutex_unlock(&all->lock);
    return NULL;
}

static void handler_start(struct handler *handler)
{
    handler->low = handler->ended = false;
    handler->exists = pthread_create(&handler->thread, NULL, handler_run, handler) == 0;
}

/* Joins a thread that has ended, and lowers the priority of one that computes for long. The caller holds the lock. */
static void watch_handler(struct handler *handler)
{
    if (handler->ended) {
        (void)pthread_join(handler->thread, NULL);
        handler->exists = handler->ended = false;
    } else if (handler->exists && handler->works && !handler->low &&
               priority_used_us(handler->clock) - handler->used_us >= PRIORITY_LONG_US) {
        handler->low = priority_compute(handler->id, PRIORITY_LONG_NICE);
        handler->all->low += handler->low;
    }
}

/* Starts threads until there are enough of usual priority. Returns false if the system refuses. The caller holds the
 * lock. */
static bool complete(struct handler_threads *all)
{
    int usual = 0;
    for (int i = 0; i < 2 * all->limit; i++)
        usual += all->handler[i].exists && !all->handler[i].low;
    for (int i = 0; i < 2 * all->limit && usual < all->limit; i++) {
        if (all->handler[i].exists)
            continue;
        handler_start(&all->handler[i]);
        if (!all->handler[i].exists)
            return false;
        usual++;
    }
    return usual == all->limit;
}

static void *watcher_run(void *context)
{
    struct handler_threads *all = context;
    crash_thread();
    (void)pthread_mutex_lock(&all->lock);
    while (!all->stop) {
        struct timespec until;
        for (int i = 0; i < 2 * all->limit; i++)
            watch_handler(&all->handler[i]);
        all->sleeps = complete(all) && all->working == 0;
        bool sleeps = all->sleeps;
        (void)pthread_mutex_unlock(&all->lock);
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        if (sleeps)
            (void)sem_wait(&all->watch);
        else
            (void)sem_clockwait(&all->watch, CLOCK_MONOTONIC, &until);
        (void)pthread_mutex_lock(&all->lock);
    }
    (void)pthread_mutex_unlock(&all->lock);
    return NULL;
}

enum status handler_threads_create(int threads, int queue_limit, void (*work)(void *item),
                                   struct handler_threads **handlers, struct error *err)
{
    struct handler_threads *made = calloc(1, sizeof *made + 2 * (size_t)threads * sizeof made->handler[0]);
    const struct turns_limits limits = {.slots = threads,
                                        .of_owner = threads > 1 ? threads - (threads + 3) / 4 : 1,
                                        .waiting = queue_limit,
                                        .waiting_of_owner = queue_limit - queue_limit / 2};
    if (made == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made);
        return error_memory(err, "the handler threads");
    }
    (void)sem_init(&made->watch, 0, 0);
    made->work = work;
    made->limit = threads;
    for (int i = 0; i < 2 * threads; i++) {
        made->handler[i].all = made;
        (void)sem_init(&made->handler[i].wake, 0, 0);
    }
    enum status status = turns_create(&limits, &made->turns, err);
    (void)pthread_mutex_lock(&made->lock);
    if (!status && complete(made))
        made->watching = pthread_create(&made->watcher, NULL, watcher_run, made) == 0;
    (void)pthread_mutex_unlock(&made->lock);
    if (!status && !made->watching)
        status = error_set(err, STATUS_UNAVAILABLE, NULL, "not all of %d handler threads could be started", threads);
    if (status)
        handler_threads_destroy(made);
    else
        *handlers = made;
    return status;
}

void handler_threads_stop(struct handler_threads *handlers)
{
    (void)pthread_mutex_lock(&handlers->lock);
    handlers->stop = true;
    wake_all(handlers);
    wake_watcher(handlers);
    (void)pthread_mutex_unlock(&handlers->lock);
    if (handlers->watching)
        (void)pthread_join(handlers->watcher, NULL);
    handlers->watching = false;
    for (int i = 0; i < 2 * handlers->limit; i++) {
        if (handlers->handler[i].exists)
            (void)pthread_join(handlers->handler[i].thread, NULL);
        handlers->handler[i].exists = false;
    }
}

void handler_threads_destroy(struct handler_threads *handlers)
{
    if (handlers == NULL)
        return;
    handler_threads_stop(handlers);
    for (int i = 0; i < 2 * handlers->limit; i++)
        (void)sem_destroy(&handlers->handler[i].wake);
    (void)sem_destroy(&handlers->watch);
    (void)pthread_mutex_destroy(&handlers->lock);
    turns_destroy(handlers->turns);
    free(handlers);
}

bool handler_threads_submit(struct handler_threads *handlers, struct turn *turn)
{
    struct handler *handler = NULL;
    (void)pthread_mutex_lock(&handlers->lock);
    bool room = !handlers->stop && turns_wait(handlers->turns, turn);
    if (room && turns_busy(turn))
        handler = take_idle(handlers, true);
    if (room && handler == NULL)
        handler = take_idle(handlers, false);
    (void)pthread_mutex_unlock(&handlers->lock);
    if (handler != NULL)
        (void)sem_post(&handler->wake);
    return room;
}
