/* Sums, gathers and agreement over ranks, built from the functions of an implementation (struct comm_table). */
#include "core/base/parallel/comm.h"

#include <math.h>
#include <string.h>

enum { SMALL = 4096 }; /* maximum number of doubles that one gather transfers, for all ranks together */

/* Returns `status` unchanged. Marks the communicator as broken if `status` says that another rank is gone. */
static enum status noted(struct comm *comm, enum status status)
{
    comm->broken = comm->broken || status == STATUS_UNAVAILABLE || status == STATUS_CANCELLED;
    return status;
}

enum status comm_gather(struct comm *comm, const void *mine, size_t bytes, void *all, struct error *err)
{
    size_t each[COMM_MOST];
    if (comm_size(comm) == 1) {
        memmove(all, mine, bytes);
        return STATUS_OK;
    }
    for (int r = 0; r < comm->size; r++)
        each[r] = bytes;
    return noted(comm, comm->table->gather(comm, mine, each, all, err));
}

enum status comm_agree(struct comm *comm, enum status mine, struct error *err)
{
    struct outcome {
        enum status status;
        struct error error;
    } own = {.status = mine}, all[COMM_MOST];
    if (comm_size(comm) == 1)
        return mine;
    if (mine) {
        own.error = *err;
        error_clear(err);
    }
    enum status status = comm_gather(comm, &own, sizeof own, all, err);
    for (int r = 0; !status && r < comm_size(comm); r++)
        if (all[r].status)
            status = error_set(err, all[r].status, all[r].error.pointer, "%s", all[r].error.message);
    return status;
}

enum status comm_complete(struct comm *comm, void *all, int64_t total, size_t each, struct error *err)
{
    if (comm_size(comm) == 1)
        return STATUS_OK;
    size_t bytes[COMM_MOST];
    for (int r = 0; r < comm->size; r++)
        bytes[r] = (size_t)comm_share_of(total, r, comm->size).count * each;
    const char *mine = (const char *)all + (size_t)comm_share(comm, total).first * each;
    return noted(comm, comm->table->gather(comm, mine, bytes, all, err));
}

enum status comm_broadcast(struct comm *comm, void *data, size_t bytes, int root, struct error *err)
{
    return comm_size(comm) == 1 ? STATUS_OK : noted(comm, comm->table->broadcast(comm, data, bytes, root, err));
}

enum status comm_start(struct comm *comm, void *values, size_t count, enum comm_type type, struct error *err)
{
    return comm_size(comm) == 1 || count == 0 ? STATUS_OK
                                              : noted(comm, comm->table->start(comm, values, count, type, err));
}

enum status comm_wait(struct comm *comm, struct error *err)
{
    return comm_size(comm) == 1 ? STATUS_OK : noted(comm, comm->table->wait(comm, err));
}

static double plus(double a, double b)
{
    return a + b;
}

static enum status combine(struct comm *comm, double *values, size_t count, double (*join)(double, double),
                           struct error *err)
{
    double all[SMALL];
    enum status status = STATUS_OK;
    if (comm_size(comm) == 1)
        return STATUS_OK;
    for (size_t at = 0, room = SMALL / (size_t)comm->size; !status && at < count; at += room) {
        size_t n = count - at < room ? count - at : room;
        status = comm_gather(comm, values + at, n * sizeof(double), all, err);
        for (size_t i = 0; !status && i < n; i++) {
            double sum = all[i];
            for (int r = 1; r < comm->size; r++)
                sum = join(sum, all[(size_t)r * n + i]);
            values[at + i] = sum;
        }
    }
    return status;
}

enum status comm_sum(struct comm *comm, double *values, size_t count, struct error *err)
{
    if (count * (size_t)comm_size(comm) <= SMALL)
        return combine(comm, values, count, plus, err);
    enum status status = comm_start(comm, values, count, COMM_F64, err);
    return status ? status : comm_wait(comm, err);
}

enum status comm_max(struct comm *comm, double *values, size_t count, struct error *err)
{
    return combine(comm, values, count, fmax, err);
}

void comm_add(void *target, const void *const *from, int ranks, size_t count, enum comm_type type)
{
    enum { PIECE = 1024 };
    double sum[PIECE];
    for (size_t at = 0; at < count; at += PIECE) {
        size_t n = count - at < PIECE ? count - at : PIECE;
        for (size_t i = 0; i < n; i++)
            sum[i] = 0.0;
        for (int r = 0; r < ranks; r++)
            for (size_t i = 0; i < n; i++)
                sum[i] +=
                    type == COMM_F64 ? ((const double *)from[r])[at + i] : (double)((const float *)from[r])[at + i];
        for (size_t i = 0; i < n; i++)
            if (type == COMM_F64)
                ((double *)target)[at + i] = sum[i];
            else
                ((float *)target)[at + i] = (float)sum[i];
    }
}
