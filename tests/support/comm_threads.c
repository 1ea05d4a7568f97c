/* Ranks that are threads of one process. In each call every thread publishes the address of its data, waits
 * at a barrier until all have done so, and reads the data of the others. */
#include "tests/support/comm_threads.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PENDING = 256 };

struct meeting {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int size, arrived;
    uint64_t round;
    bool broken;
    void *at[]; /* [size] the address that each rank published in this round */
};

struct thread_comm {
    struct comm comm;
    struct meeting *meeting;
    int pending;
    struct {
        void *values;
        size_t count;
        enum comm_type type;
    } started[PENDING];
};

/* Barrier: returns when all ranks have arrived, or STATUS_CANCELLED if one has left. */
static enum status meet(struct thread_comm *c, struct error *err)
{
    struct meeting *m = c->meeting;
    pthread_mutex_lock(&m->mutex);
    uint64_t round = m->round;
    if (++m->arrived == m->size) {
        m->arrived = 0;
        m->round++;
        pthread_cond_broadcast(&m->changed);
    }
    while (m->round == round && !m->broken)
        pthread_cond_wait(&m->changed, &m->mutex);
    bool met = m->round != round;
    pthread_mutex_unlock(&m->mutex);
    return met ? STATUS_OK : error_set(err, STATUS_CANCELLED, NULL, "another rank has left");
}

static enum status show(struct thread_comm *c, void *at, struct error *err)
{
    c->meeting->at[c->comm.rank] = at;
    return meet(c, err);
}

static enum status gather(struct comm *comm, const void *mine, const size_t *bytes, void *all, struct error *err)
{
    struct thread_comm *c = (struct thread_comm *)comm;
    enum status status = show(c, (void *)(uintptr_t)mine, err);
    char *to = all;
    for (int r = 0; !status && r < comm->size; to += bytes[r++])
        if (to != c->meeting->at[r])
            memcpy(to, c->meeting->at[r], bytes[r]);
    return status ? status : meet(c, err);
}

static enum status broadcast(struct comm *comm, void *data, size_t bytes, int root, struct error *err)
{
    struct thread_comm *c = (struct thread_comm *)comm;
    enum status status = show(c, data, err);
    if (!status && comm->rank != root)
        memcpy(data, c->meeting->at[root], bytes);
    return status ? status : meet(c, err);
}

static enum status start(struct comm *comm, void *values, size_t count, enum comm_type type, struct error *err)
{
    struct thread_comm *c = (struct thread_comm *)comm;
    if (c->pending == PENDING)
        return error_set(err, STATUS_LIMIT, NULL, "%d sums have been started; wait for them first", PENDING);
    c->started[c->pending].values = values;
    c->started[c->pending].count = count;
    c->started[c->pending++].type = type;
    return STATUS_OK;
}

/* Each rank adds up its share of the numbers, then every rank copies the shares of the others. */
static enum status add(struct thread_comm *c, char *values, size_t count, enum comm_type type, struct error *err)
{
    size_t width = type == COMM_F64 ? sizeof(double) : sizeof(float);
    const void *from[COMM_MOST];
    enum status status = show(c, values, err);
    struct comm_share own = comm_share(&c->comm, (int64_t)count);
    for (int r = 0; !status && r < c->comm.size; r++)
        from[r] = (char *)c->meeting->at[r] + (size_t)own.first * width;
    if (!status)
        comm_add(values + (size_t)own.first * width, from, c->comm.size, (size_t)own.count, type);
    if (!status)
        status = meet(c, err);
    for (int r = 0; !status && r < c->comm.size; r++) {
        struct comm_share other = comm_share_of((int64_t)count, r, c->comm.size);
        size_t at = (size_t)other.first * width;
        if (r != c->comm.rank)
            memcpy(values + at, (char *)c->meeting->at[r] + at, (size_t)other.count * width);
    }
    return status ? status : meet(c, err);
}

static enum status wait_all(struct comm *comm, struct error *err)
{
    struct thread_comm *c = (struct thread_comm *)comm;
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < c->pending; i++)
        status = add(c, c->started[i].values, c->started[i].count, c->started[i].type, err);
    c->pending = 0;
    return status;
}

static const struct comm_table THREADS = {gather, broadcast, start, wait_all, NULL};

enum status comm_threads_create(int size, struct comm **comms, struct error *err)
{
    if (size < 1 || size > COMM_MOST)
        return error_set(err, STATUS_INVALID, NULL, "the number of ranks must be in [1, %d]; got %d", COMM_MOST, size);
    struct meeting *m = calloc(1, sizeof *m + (size_t)size * sizeof *m->at);
    struct thread_comm *all = calloc((size_t)size, sizeof *all);
    if (!m || !all) {
        free(m);
        free(all);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d ranks", size);
    }
    m->size = size;
    pthread_mutex_init(&m->mutex, NULL);
    pthread_cond_init(&m->changed, NULL);
    for (int r = 0; r < size; r++) {
        all[r] = (struct thread_comm){.comm = {.table = &THREADS, .rank = r, .size = size}, .meeting = m};
        comms[r] = &all[r].comm;
    }
    return STATUS_OK;
}

void comm_threads_destroy(struct comm **comms)
{
    if (!comms || !comms[0])
        return;
    struct thread_comm *first = (struct thread_comm *)comms[0];
    pthread_cond_destroy(&first->meeting->changed);
    pthread_mutex_destroy(&first->meeting->mutex);
    free(first->meeting);
    free(first);
}

void comm_threads_leave(struct comm *comm)
{
    struct meeting *m = ((struct thread_comm *)comm)->meeting;
    pthread_mutex_lock(&m->mutex);
    m->broken = true;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->mutex);
}
