/* Communication between ranks: copies of one computation that each process a part of the batch and add up their
 * results.
 *
 * Every rank runs the same program with the same configuration and makes the same calls in the same order. Sums are
 * taken in rank order and in double. All ranks therefore get the same bits, and a second run with the same number of
 * ranks gets these bits again. A communicator that is NULL or has size 1 stands for a single rank: calls return at
 * once and change nothing.
 *
 * Programs use MPI (trainer/mpi), tests use threads of one process (tests/support/comm_threads.h). One thread of each
 * rank makes the calls. After a failed call the communicator must not be used any more.
 *
 * Errors of all calls: STATUS_UNAVAILABLE or STATUS_CANCELLED if another rank is gone, STATUS_NO_MEMORY, STATUS_IO. */
#ifndef MOTIF_CORE_BASE_PARALLEL_COMM_H
#define MOTIF_CORE_BASE_PARALLEL_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum { COMM_MOST = 512 }; /* maximum number of ranks */
enum comm_type { COMM_F32, COMM_F64 };

struct comm;

/* The functions of an implementation. All ranks call them in the same order. */
struct comm_table {
    /* Concatenates the ranks' data in `all`; rank r contributes bytes[r]. `mine` may already be at its place in `all`.
     */
    enum status (*gather)(struct comm *comm, const void *mine, const size_t *bytes, void *all, struct error *err);
    enum status (*broadcast)(struct comm *comm, void *data, size_t bytes, int root, struct error *err);
    /* Starts a sum over ranks, in place. The values belong to the communicator until wait(), which finishes all sums
     * that were started. */
    enum status (*start)(struct comm *comm, void *values, size_t count, enum comm_type type, struct error *err);
    enum status (*wait)(struct comm *comm, struct error *err);
    void (*progress)(struct comm *comm); /* advances the sums that were started; NULL: not needed */
};
struct comm { /* an implementation's own struct begins with this one */
    const struct comm_table *table;
    int rank, size;
    bool broken; /* a call failed because another rank is gone */
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
/* The communicator, or NULL if there is only one rank. */
static inline struct comm *comm_others(struct comm *comm)
{
    return comm_size(comm) > 1 ? comm : NULL;
}

/* The share of a rank: items [first, first + count) of `total`. The shares cover all items; their sizes differ by at
 * most one. */
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

/* The next two functions replace each of `count` values by its sum or by its maximum over all ranks. */
enum status comm_sum(struct comm *comm, double *values, size_t count, struct error *err);
enum status comm_max(struct comm *comm, double *values, size_t count, struct error *err);
/* Concatenates `bytes` bytes from each rank in rank order. all: [size * bytes]. */
enum status comm_gather(struct comm *comm, const void *mine, size_t bytes, void *all, struct error *err);
/* Completes an array [total] of items of `each` bytes. This rank has filled in its own share (comm_share); the call
 * fills in the shares of the other ranks. */
enum status comm_complete(struct comm *comm, void *all, int64_t total, size_t each, struct error *err);
/* Makes an error of one rank an error of all ranks. `mine` and *err are this rank's outcome; afterwards every rank
 * returns the error of the lowest rank that has one. */
enum status comm_agree(struct comm *comm, enum status mine, struct error *err);
/* Copies `bytes` bytes at `data` from rank `root` to all ranks. */
enum status comm_broadcast(struct comm *comm, void *data, size_t bytes, int root, struct error *err);
/* The next three functions sum large arrays over the ranks, in place, while the caller computes. Call comm_start() for
 * each array, comm_progress() now and then, and comm_wait() before you read the arrays. */
enum status comm_start(struct comm *comm, void *values, size_t count, enum comm_type type, struct error *err);
enum status comm_wait(struct comm *comm, struct error *err);
static inline void comm_progress(struct comm *comm)
{
    if (comm != NULL && comm->table->progress != NULL)
        comm->table->progress(comm);
}

/* target[i] = sum over ranks of from[rank][i], in rank order and in double. Every implementation adds with this
 * function. `target` may be one of the arrays from[rank]. */
void comm_add(void *target, const void *const *from, int ranks, size_t count, enum comm_type type);

#endif
