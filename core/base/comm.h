/* Ranks: copies of one computation, each with a part of the batch, that add up what they found.
 *
 * Every rank runs the same program on the same configuration and makes the same calls in the same order. Sums are
 * taken over ranks in rank order, in double, so all ranks hold the same bits, and the same count of ranks gives them
 * again. A communicator that is NULL, or of size 1, is one rank alone: calls return at once and change nothing.
 *
 * Implementations: ranks that are threads of one process (comm_threads_create, for tests) and, in a room above the
 * core, MPI. One thread of each rank makes the calls. After a failure the communicator is of no more use. */
#ifndef MOTIF_CORE_BASE_COMM_H
#define MOTIF_CORE_BASE_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum { COMM_MOST = 512 }; /* ranks */
enum comm_type { COMM_F32, COMM_F64 };

struct comm;

/* What an implementation gives. All of it is called by every rank in the same order. */
struct comm_table {
    /* all = what each rank gave, one behind another; rank r gives bytes[r]. `mine` may lie in its place already. */
    enum status (*gather)(struct comm *comm, const void *mine, const size_t *bytes, void *all, struct error *err);
    enum status (*broadcast)(struct comm *comm, void *data, size_t bytes, int root, struct error *err);
    /* Sums over ranks in place. The values belong to the communicator until wait(), which finishes all that was
     * started. */
    enum status (*start)(struct comm *comm, void *values, size_t count, enum comm_type type, struct error *err);
    enum status (*wait)(struct comm *comm, struct error *err);
    void (*progress)(struct comm *comm); /* of what was started; NULL: nothing to do */
};
struct comm { /* the head of an implementation's own struct */
    const struct comm_table *table;
    int rank, size;
    bool broken; /* a call failed because another rank is gone: of no more use */
};

static inline int comm_rank(const struct comm *comm)
{
    return comm == NULL ? 0 : comm->rank;
}
static inline int comm_size(const struct comm *comm)
{
    return comm == NULL ? 1 : comm->size;
}
static inline bool comm_broken(const struct comm *comm)
{
    return comm != NULL && comm->broken;
}
/* The communicator, NULL where there is nobody else. */
static inline struct comm *comm_others(struct comm *comm)
{
    return comm_size(comm) > 1 ? comm : NULL;
}

/* Which of `total` numbered things a rank has: [first, first + count). Together they are all, and differ by one at
 * most. */
struct comm_share {
    int64_t first, count;
};
static inline struct comm_share comm_share_of(int64_t total, int rank, int size)
{
    int64_t first = total * rank / size;
    return (struct comm_share){first, total * (rank + 1) / size - first};
}
static inline struct comm_share comm_share(const struct comm *comm, int64_t total)
{
    return comm_share_of(total, comm_rank(comm), comm_size(comm));
}

/* In place, over all ranks. */
enum status comm_sum(struct comm *comm, double *values, size_t count, struct error *err);
enum status comm_most(struct comm *comm, double *values, size_t count, struct error *err);
enum status comm_least(struct comm *comm, double *values, size_t count, struct error *err);
/* The same number of bytes from each rank, in rank order. */
enum status comm_gather(struct comm *comm, const void *mine, size_t bytes, void *all, struct error *err);
/* `all` holds `total` things of `each` bytes, of which this rank has made its share (comm_share): the others' come
 * in. */
enum status comm_complete(struct comm *comm, void *all, int64_t total, size_t each, struct error *err);
/* What went wrong on a rank (`mine`, said in *err) is an error on all: that of the first which has one. */
enum status comm_agree(struct comm *comm, enum status mine, struct error *err);
enum status comm_broadcast(struct comm *comm, void *data, size_t bytes, int root, struct error *err);
/* The sum of large arrays while something else is done. */
enum status comm_start(struct comm *comm, void *values, size_t count, enum comm_type type, struct error *err);
enum status comm_wait(struct comm *comm, struct error *err);
static inline void comm_progress(struct comm *comm)
{
    if (comm != NULL && comm->table->progress != NULL)
        comm->table->progress(comm);
}

/* target[i] = sum over ranks of from[rank][i], as every implementation takes it. `target` may be one of them. */
void comm_add(void *target, const void *const *from, int ranks, size_t count, enum comm_type type);

/* ---- ranks that are threads ------------------------------------------------------------------- */

/* comms: [size], one for each thread. */
enum status comm_threads_create(int size, struct comm **comms, struct error *err);
void comm_threads_destroy(struct comm **comms); /* all of them, after the threads have ended; NULL is fine */
/* A rank that cannot go on: whoever waits for it gets STATUS_CANCELLED. */
void comm_threads_leave(struct comm *comm);

#endif
