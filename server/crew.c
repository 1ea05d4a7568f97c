#include "server/crew.h"

#include "server/crash.h"

#include <pthread.h>
#include <stdlib.h>

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    void (*work)(void *item);
    void **ring; /* `limit` places, `count` of them in use from `first` on */
    size_t limit, first, count;
    bool stop;
    int threads;
    pthread_t thread[];
};

static void *run(void *context)
{
    struct crew *crew = context;
    crash_thread();
    (void)pthread_mutex_lock(&crew->lock);
    for (;;) {
        while (crew->count == 0 && !crew->stop) {
            (void)pthread_cond_wait(&crew->filled, &crew->lock);
        }
        if (crew->count == 0) {
            break;
        }
        void *item = crew->ring[crew->first];
        crew->first = (crew->first + 1) % crew->limit;
        crew->count--;
        (void)pthread_mutex_unlock(&crew->lock);
        crew->work(item);
        (void)pthread_mutex_lock(&crew->lock);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return NULL;
}

enum status crew_create(int threads, size_t queue_limit, void (*work)(void *item), struct crew **crew,
                        struct error *err)
{
    struct crew *made = calloc(1, sizeof *made + (size_t)threads * sizeof made->thread[0]);
    void **ring = calloc(queue_limit, sizeof *ring);
    if (made == NULL || ring == NULL) {
        free(made);
        free(ring);
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the threads that answer");
    }
    made->work = work;
    made->ring = ring;
    made->limit = queue_limit;
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_cond_init(&made->filled, NULL);
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&made->thread[i], NULL, run, made) != 0) {
            crew_destroy(made);
            return error_set(err, STATUS_UNAVAILABLE, NULL, "only %d of %d answering threads could be started", i,
                             threads);
        }
        made->threads = i + 1;
    }
    *crew = made;
    return STATUS_OK;
}

void crew_stop(struct crew *crew)
{
    (void)pthread_mutex_lock(&crew->lock);
    crew->stop = true;
    (void)pthread_cond_broadcast(&crew->filled);
    (void)pthread_mutex_unlock(&crew->lock);
    for (int i = 0; i < crew->threads; i++) {
        (void)pthread_join(crew->thread[i], NULL);
    }
    crew->threads = 0;
}

void crew_destroy(struct crew *crew)
{
    if (crew == NULL) {
        return;
    }
    crew_stop(crew);
    (void)pthread_cond_destroy(&crew->filled);
    (void)pthread_mutex_destroy(&crew->lock);
    free(crew->ring);
    free(crew);
}

bool crew_submit(struct crew *crew, void *item)
{
    (void)pthread_mutex_lock(&crew->lock);
    bool room = crew->count < crew->limit && !crew->stop;
    if (room) {
        crew->ring[(crew->first + crew->count) % crew->limit] = item;
        crew->count++;
        (void)pthread_cond_signal(&crew->filled);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return room;
}
