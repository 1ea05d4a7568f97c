/* A ring of waiting items, guarded by one lock, and the threads that take from it. */
#include "server/http/handler_threads.h"

#include "server/process/crash.h"

#include <pthread.h>
#include <stdlib.h>

struct handler_threads {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    void (*work)(void *item);
    void **ring; /* ring buffer of `limit` items; `count` are in use, starting at `first` */
    size_t limit, first, count;
    bool stop;
    int threads;
    pthread_t thread[];
};

static void *handler_threads_run(void *context)
{
    struct handler_threads *handlers = context;
    crash_thread();
    (void)pthread_mutex_lock(&handlers->lock);
    for (;;) {
        while (handlers->count == 0 && !handlers->stop)
            (void)pthread_cond_wait(&handlers->filled, &handlers->lock);
        if (handlers->count == 0)
            break;
        void *item = handlers->ring[handlers->first];
        handlers->first = (handlers->first + 1) % handlers->limit;
        handlers->count--;
        (void)pthread_mutex_unlock(&handlers->lock);
        handlers->work(item);
        (void)pthread_mutex_lock(&handlers->lock);
    }
    (void)pthread_mutex_unlock(&handlers->lock);
    return NULL;
}

enum status handler_threads_create(int threads, size_t queue_limit, void (*work)(void *item),
                                   struct handler_threads **handlers, struct error *err)
{
    struct handler_threads *made = calloc(1, sizeof *made + (size_t)threads * sizeof made->thread[0]);
    void **ring = calloc(queue_limit, sizeof *ring);
    if (made == NULL || ring == NULL) {
        free(made);
        free(ring);
        return error_memory(err, "the handler threads");
    }
    made->work = work;
    made->ring = ring;
    made->limit = queue_limit;
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_cond_init(&made->filled, NULL);
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&made->thread[i], NULL, handler_threads_run, made) != 0) {
            handler_threads_destroy(made);
            return error_set(err, STATUS_UNAVAILABLE, NULL, "only %d of %d handler threads could be started", i,
                             threads);
        }
        made->threads = i + 1;
    }
    *handlers = made;
    return STATUS_OK;
}

void handler_threads_stop(struct handler_threads *handlers)
{
    (void)pthread_mutex_lock(&handlers->lock);
    handlers->stop = true;
    (void)pthread_cond_broadcast(&handlers->filled);
    (void)pthread_mutex_unlock(&handlers->lock);
    for (int i = 0; i < handlers->threads; i++)
        (void)pthread_join(handlers->thread[i], NULL);
    handlers->threads = 0;
}

void handler_threads_destroy(struct handler_threads *handlers)
{
    if (handlers == NULL)
        return;
    handler_threads_stop(handlers);
    (void)pthread_cond_destroy(&handlers->filled);
    (void)pthread_mutex_destroy(&handlers->lock);
    free(handlers->ring);
    free(handlers);
}

bool handler_threads_submit(struct handler_threads *handlers, void *item)
{
    (void)pthread_mutex_lock(&handlers->lock);
    bool room = handlers->count < handlers->limit && !handlers->stop;
    if (room) {
        handlers->ring[(handlers->first + handlers->count) % handlers->limit] = item;
        handlers->count++;
        (void)pthread_cond_signal(&handlers->filled);
    }
    (void)pthread_mutex_unlock(&handlers->lock);
    return room;
}
