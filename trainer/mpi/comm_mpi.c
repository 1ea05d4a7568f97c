/* Ranks over MPI, with sums whose order does not depend on MPI's algorithms.
 *
 * Each rank is responsible for a share of the numbers. It receives this share from all ranks, adds the parts in rank
 * order, and sends the sums to all. Each number is transferred twice, as in any other algorithm, but the result has the
 * same bits for every network, MPI version and load. MPI_Allreduce guarantees neither a fixed order nor the same order
 * twice.
 *
 * Whenever the program calls MPI, MPI also continues the operations that have started. So the sums advance during the
 * small gathers that a backward pass makes anyway. */
#include "trainer/mpi/comm_mpi.h"

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PENDING = 256 };

/* A sum that is in progress. Each step has the same sums, so their buffers are kept from step to step: new memory pages
 * would cost more time than the addition. */
struct sum {
    void *values;
    size_t count;
    enum comm_type type;
    char *parts;          /* the parts that the other ranks sent: [ranks - 1][numbers in this rank's share] */
    size_t capacity;      /* bytes allocated for `parts` */
    int *counts, *places; /* [3][ranks] counts: how many numbers are exchanged with each rank; places: where they begin.
                             Row 0: parts that this rank sends; row 1: parts that it receives; row 2: sums of each
                             rank's share. In rows 0 and 1, the count of this rank itself is 0. */
    MPI_Request request;
    enum { COMING, GOING, DONE } state;
};

struct mpi_comm {
    struct comm comm;
    MPI_Comm all;
    int pending;
    int failed; /* MPI's code of the first failure in progress(); MPI_SUCCESS if there was none */
    struct sum sum[PENDING];
};

static enum status mpi_status(int code, struct error *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return STATUS_OK;
    MPI_Error_string(code, text, &length);
    return error_set(err, STATUS_UNAVAILABLE, NULL, "MPI: %.200s", text);
}

static size_t width_of(enum comm_type type)
{
    return type == COMM_F64 ? sizeof(double) : sizeof(float);
}
static MPI_Datatype kind_of(enum comm_type type)
{
    return type == COMM_F64 ? MPI_DOUBLE : MPI_FLOAT;
}

/* ---- gathers ------------------------------------------------------------------------------------------- */

static enum status comm_mpi_gather(struct comm *comm, const void *mine, const size_t *bytes, void *all,
                                   struct error *err)
{
    struct mpi_comm *c = (struct mpi_comm *)comm;
    int counts[COMM_MOST] = {0}, places[COMM_MOST] = {0};
    size_t at = 0;
    bool equal = true;
    for (int r = 0; r < comm->size; at += bytes[r++]) {
        if (bytes[r] > INT_MAX || at > INT_MAX)
            return error_set(err, STATUS_LIMIT, NULL, "one gather may transfer at most 2 GiB");
        counts[r] = (int)bytes[r];
        places[r] = (int)at;
        equal = equal && bytes[r] == bytes[0];
    }
    bool there = mine == (char *)all + places[comm->rank];
    const void *from = there ? MPI_IN_PLACE : mine;
    if (equal)
        return mpi_status(MPI_Allgather(from, counts[0], MPI_BYTE, all, counts[0], MPI_BYTE, c->all), err);
    return mpi_status(MPI_Allgatherv(from, counts[comm->rank], MPI_BYTE, all, counts, places, MPI_BYTE, c->all), err);
}

static enum status broadcast(struct comm *comm, void *data, size_t bytes, int root, struct error *err)
{
    struct mpi_comm *c = (struct mpi_comm *)comm;
    enum status status = STATUS_OK;
    for (size_t at = 0, most = (size_t)1 << 30; !status && at < bytes; at += most) {
        size_t n = bytes - at < most ? bytes - at : most;
        status = mpi_status(MPI_Bcast((char *)data + at, (int)n, MPI_BYTE, root, c->all), err);
    }
    return status;
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

static void comm_mpi_drop(struct sum *s)
{
    free(s->parts);
    free(s->counts);
    *s = (struct sum){0};
}

/* Returns the position of rank r's part in `parts`, which omits this rank's own part. */
static int place_of(const struct comm *comm, int r)
{
    return r < comm->rank ? r : r - 1;
}

static bool reserve(struct sum *s, size_t bytes, int ranks)
{
    if (s->counts == NULL)
        s->counts = calloc(6 * (size_t)ranks, sizeof *s->counts);
    if (s->capacity < bytes) {
        free(s->parts);
        s->parts = malloc(bytes);
        s->capacity = s->parts ? bytes : 0;
    }
    return s->counts != NULL && s->capacity >= bytes;
}

static enum status comm_mpi_start(struct comm *comm, void *values, size_t count, enum comm_type type, struct error *err)
{
    struct mpi_comm *c = (struct mpi_comm *)comm;
    int ranks = comm->size;
    if (c->pending == PENDING || count > INT_MAX)
        return error_set(err, STATUS_LIMIT, NULL, "too many sums at the same time, or more than %d numbers in one",
                         INT_MAX);
    struct sum *s = &c->sum[c->pending];
    size_t own = (size_t)comm_share(comm, (int64_t)count).count;
    if (!reserve(s, (size_t)(ranks - 1) * own * width_of(type), ranks))
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the parts of %zu numbers", count);
    s->values = values;
    s->count = count;
    s->type = type;
    s->state = COMING;
    s->places = s->counts + 3 * ranks;
    for (int r = 0; r < ranks; r++) {
        struct comm_share other = comm_share_of((int64_t)count, r, ranks);
        bool self = r == comm->rank;
        s->counts[r] = self ? 0 : (int)other.count;
        s->places[r] = s->places[2 * ranks + r] = (int)other.first;
        s->counts[ranks + r] = self ? 0 : (int)own;
        s->places[ranks + r] = self ? 0 : (int)own * place_of(comm, r);
        s->counts[2 * ranks + r] = (int)other.count;
    }
    c->pending++;
    return mpi_status(MPI_Ialltoallv(values, s->counts, s->places, kind_of(type), s->parts, s->counts + ranks,
                                     s->places + ranks, kind_of(type), c->all, &s->request),
                      err);
}

/* Runs when all parts of this rank's share have arrived: adds them and sends the sums to all ranks. */
static int send_sums(struct mpi_comm *c, struct sum *s)
{
    const void *from[COMM_MOST];
    int ranks = c->comm.size;
    struct comm_share own = comm_share(&c->comm, (int64_t)s->count);
    size_t width = width_of(s->type);
    char *sum = (char *)s->values + (size_t)own.first * width;
    for (int r = 0; r < ranks; r++)
        from[r] = r == c->comm.rank ? sum : s->parts + (size_t)place_of(&c->comm, r) * (size_t)own.count * width;
    comm_add(sum, from, ranks, (size_t)own.count, s->type);
    return MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, s->values, s->counts + 2 * ranks, s->places + 2 * ranks,
                           kind_of(s->type), c->all, &s->request);
}

/* Advances the sums without waiting. A sum has two collective operations: each rank receives the parts of its share,
 * and then sends its sums to all ranks. All ranks must begin collective operations in the same order. So wait_all()
 * begins the second operations, after all first ones have begun, and progress() only advances the first ones. */
static void progress(struct comm *comm)
{
    struct mpi_comm *c = (struct mpi_comm *)comm;
    for (int i = 0; i < c->pending && !c->failed; i++) {
        int here = 0;
        if (c->sum[i].state == COMING && c->sum[i].request != MPI_REQUEST_NULL)
            c->failed = MPI_Test(&c->sum[i].request, &here, MPI_STATUS_IGNORE);
    }
}

static enum status wait_all(struct comm *comm, struct error *err)
{
    struct mpi_comm *c = (struct mpi_comm *)comm;
    int code = c->failed;
    for (int i = 0; i < c->pending && code == MPI_SUCCESS; i++) {
        code = MPI_Wait(&c->sum[i].request, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS)
            code = send_sums(c, &c->sum[i]);
        c->sum[i].state = GOING;
    }
    for (int i = 0; i < c->pending && code == MPI_SUCCESS; i++)
        code = MPI_Wait(&c->sum[i].request, MPI_STATUS_IGNORE);
    c->pending = code == MPI_SUCCESS ? 0 : c->pending;
    return mpi_status(code, err);
}

static const struct comm_table MPI = {comm_mpi_gather, broadcast, comm_mpi_start, wait_all, progress};

/* ---- open and close ---------------------------------------------------------------------------------- */

enum status comm_mpi_open(int *argc, char ***argv, struct comm **comm, struct error *err)
{
    int level, rank, size;
    struct mpi_comm *c = calloc(1, sizeof *c);
    if (!c)
        return error_memory(err, "a communicator");
    int code = MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_dup(MPI_COMM_WORLD, &c->all);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(c->all, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(c->all, &rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(c->all, &size);
    enum status status = mpi_status(code, err);
    if (!status && (level < MPI_THREAD_FUNNELED || size > COMM_MOST))
        status = error_set(err, STATUS_LIMIT, NULL, "%d ranks (at most %d are supported), thread level %d", size,
                           COMM_MOST, level);
    if (status) {
        free(c);
        return status;
    }
    c->comm = (struct comm){.table = &MPI, .rank = rank, .size = size};
    *comm = &c->comm;
    return STATUS_OK;
}

void comm_mpi_close(struct comm *comm)
{
    struct mpi_comm *c = (struct mpi_comm *)comm;
    if (!c)
        return;
    for (int i = 0; i < PENDING; i++)
        comm_mpi_drop(&c->sum[i]);
    MPI_Comm_free(&c->all);
    MPI_Finalize();
    free(c);
}

void comm_mpi_abort(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}
