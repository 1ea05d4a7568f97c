/* Tests the communicator over MPI without MPI processes: this file plays the functions of MPI for one of three ranks.
 * It checks what the communicator asks of MPI and how it adds, and lets each call of MPI fail. */
#include <limits.h>
#include <mpi.h>

#include "tests/support/unit.h"
#include "core/base/parallel/comm.h"
#include "tests/support/fault.h"
#include "trainer/mpi/comm_mpi.h"

enum { RANKS = 3, OWN = 1, NUMBERS = 10, FAILURE = 13 };

static struct {
    int calls, fails_at; /* calls: number of calls so far; fails_at: number of the call that fails, -1: none */
    int size, level;
    int broadcasts, most_broadcast, gathers, uneven_gathers, finalized, aborted;
    int waits_in_test; /* MPI_Test reports this many times that an operation is not complete */
} mpi;

static int counted(void)
{
    return mpi.calls++ == mpi.fails_at ? FAILURE : MPI_SUCCESS;
}

static void begin(void)
{
    memset(&mpi, 0, sizeof mpi);
    mpi.fails_at = -1;
    mpi.size = RANKS;
    mpi.level = MPI_THREAD_FUNNELED;
}

/* The number at index i of rank r before a sum. Large and small numbers mix, so another order of additions gives other
 * bits. */
static double number_of(int r, int i)
{
    static const double scale[RANKS] = {1e16, 1, -1e16};
    return scale[r] * (1 + i) + r;
}

/* ---- the played MPI ------------------------------------------------------------------------------------- */

int __wrap_MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int __wrap_MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    *provided = mpi.level;
    return counted();
}

int __wrap_MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out);
int __wrap_MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out)
{
    *out = comm;
    return counted();
}

int __wrap_MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int __wrap_MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    assert_true(handler == MPI_ERRORS_RETURN);
    return counted();
}

int __wrap_MPI_Comm_rank(MPI_Comm comm, int *rank);
int __wrap_MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = OWN;
    return counted();
}

int __wrap_MPI_Comm_size(MPI_Comm comm, int *size);
int __wrap_MPI_Comm_size(MPI_Comm comm, int *size)
{
    *size = mpi.size;
    return counted();
}

int __wrap_MPI_Comm_free(MPI_Comm *comm);
int __wrap_MPI_Comm_free(MPI_Comm *comm)
{
    return MPI_SUCCESS;
}

int __wrap_MPI_Finalize(void);
int __wrap_MPI_Finalize(void)
{
    mpi.finalized++;
    return MPI_SUCCESS;
}

int __wrap_MPI_Abort(MPI_Comm comm, int code);
int __wrap_MPI_Abort(MPI_Comm comm, int code)
{
    mpi.aborted = code;
    return MPI_SUCCESS;
}

int __wrap_MPI_Error_string(int code, char *text, int *length);
int __wrap_MPI_Error_string(int code, char *text, int *length)
{
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "code %d of the played MPI", code);
    return MPI_SUCCESS;
}

int __wrap_MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int each, MPI_Datatype of,
                         MPI_Comm comm);
int __wrap_MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int each, MPI_Datatype of,
                         MPI_Comm comm)
{
    mpi.gathers++;
    assert_int_equal(count, each);
    for (int r = 0; r < RANKS; r++)
        if (r != OWN)
            memset((char *)all + r * each, 'a' + r, (size_t)each);
        else if (mine != MPI_IN_PLACE)
            memcpy((char *)all + r * each, mine, (size_t)each);
    return counted();
}

int __wrap_MPI_Allgatherv(const void *mine, int count, MPI_Datatype type, void *all, const int *counts,
                          const int *places, MPI_Datatype of, MPI_Comm comm);
int __wrap_MPI_Allgatherv(const void *mine, int count, MPI_Datatype type, void *all, const int *counts,
                          const int *places, MPI_Datatype of, MPI_Comm comm)
{
    mpi.uneven_gathers++;
    assert_int_equal(count, counts[OWN]);
    for (int r = 0; r < RANKS; r++)
        if (r != OWN)
            memset((char *)all + places[r], 'a' + r, (size_t)counts[r]);
        else if (mine != MPI_IN_PLACE)
            memcpy((char *)all + places[r], mine, (size_t)counts[r]);
    return counted();
}

int __wrap_MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int __wrap_MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    mpi.broadcasts++;
    mpi.most_broadcast = count > mpi.most_broadcast ? count : mpi.most_broadcast;
    return counted();
}

/* Each rank adds up a share of the numbers. Delivers the numbers of this rank's share that the other ranks hold. */
int __wrap_MPI_Ialltoallv(const void *from, const int *counts, const int *places, MPI_Datatype type, void *to,
                          const int *to_counts, const int *to_places, MPI_Datatype to_type, MPI_Comm comm,
                          MPI_Request *request);
int __wrap_MPI_Ialltoallv(const void *from, const int *counts, const int *places, MPI_Datatype type, void *to,
                          const int *to_counts, const int *to_places, MPI_Datatype to_type, MPI_Comm comm,
                          MPI_Request *request)
{
    struct comm_share own = comm_share_of(NUMBERS, OWN, RANKS);
    assert_int_equal(counts[OWN], 0);
    for (int r = 0; r < RANKS; r++) {
        struct comm_share theirs = comm_share_of(NUMBERS, r, RANKS);
        assert_true(r == OWN || (counts[r] == theirs.count && places[r] == theirs.first));
        assert_int_equal(to_counts[r], r == OWN ? 0 : own.count);
        for (int i = 0; i < to_counts[r]; i++) {
            double value = number_of(r, (int)own.first + i);
            if (type == MPI_DOUBLE)
                ((double *)to)[to_places[r] + i] = value;
            else
                ((float *)to)[to_places[r] + i] = (float)value;
        }
    }
    *request = (MPI_Request)&mpi;
    return counted();
}

/* Delivers the sums of the other ranks' shares; here, zeros. */
int __wrap_MPI_Iallgatherv(const void *from, int count, MPI_Datatype type, void *to, const int *counts,
                           const int *places, MPI_Datatype to_type, MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Iallgatherv(const void *from, int count, MPI_Datatype type, void *to, const int *counts,
                           const int *places, MPI_Datatype to_type, MPI_Comm comm, MPI_Request *request)
{
    assert_true(from == MPI_IN_PLACE);
    size_t width = to_type == MPI_DOUBLE ? sizeof(double) : sizeof(float);
    for (int r = 0; r < RANKS; r++)
        if (r != OWN)
            memset((char *)to + (size_t)places[r] * width, 0, (size_t)counts[r] * width);
    return counted();
}

int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status);
int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    *done = mpi.waits_in_test-- <= 0;
    if (*done)
        *request = MPI_REQUEST_NULL;
    return counted();
}

int __wrap_MPI_Wait(MPI_Request *request, MPI_Status *status);
int __wrap_MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    *request = MPI_REQUEST_NULL;
    return counted();
}

/* ---- tests -------------------------------------------------------------------------------------------------- */

static struct comm *opened(void)
{
    struct comm *comm = NULL;
    struct error err = {0};
    begin();
    if (comm_mpi_open(NULL, NULL, &comm, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    return comm;
}

static void a_sum_adds_the_parts_of_the_ranks_in_their_order(void **state)
{
    struct comm *comm = opened();
    struct comm_share own = comm_share(comm, NUMBERS);
    double wide[NUMBERS];
    float narrow[NUMBERS];
    assert_int_equal(comm_rank(comm), OWN);
    assert_int_equal(comm_size(comm), RANKS);
    for (int round = 0; round < 2; round++) { /* the second round uses the buffers of the first */
        mpi.waits_in_test = 1;
        for (int i = 0; i < NUMBERS; i++)
            narrow[i] = (float)(wide[i] = number_of(OWN, i));
        assert_int_equal(comm_start(comm, wide, NUMBERS, COMM_F64, NULL), STATUS_OK);
        assert_int_equal(comm_start(comm, narrow, NUMBERS, COMM_F32, NULL), STATUS_OK);
        comm_progress(comm);
        comm_progress(comm);
        comm_progress(comm);
        assert_int_equal(comm_wait(comm, NULL), STATUS_OK);
        for (int64_t i = 0; i < NUMBERS; i++) {
            bool mine = i >= own.first && i < own.first + own.count;
            double sum = 0, of_floats = 0;
            for (int r = 0; r < RANKS && mine; r++) {
                sum += number_of(r, (int)i);
                of_floats += (double)(float)number_of(r, (int)i);
            }
            assert_true(wide[i] == sum && narrow[i] == (float)of_floats);
        }
    }
    comm_mpi_close(comm);
    assert_int_equal(mpi.finalized, 1);
    comm_mpi_close(NULL);
    assert_int_equal(mpi.finalized, 1);
    comm_mpi_abort(75);
    assert_int_equal(mpi.aborted, 75);
}

static void ranks_may_contribute_different_numbers_of_bytes(void **state)
{
    struct comm *comm = opened();
    char all[RANKS * 4 + 1] = "";
    const size_t uneven[RANKS] = {4, 3, 2};
    assert_int_equal(comm_gather(comm, "mine", 4, all, NULL), STATUS_OK);
    assert_string_equal(all, "aaaaminecccc");
    assert_int_equal(comm->table->gather(comm, "own", uneven, all, NULL), STATUS_OK);
    assert_memory_equal(all, "aaaaowncc", 9);
    memcpy(all + 4, "are", 3); /* this rank's bytes are in the result already */
    assert_int_equal(comm->table->gather(comm, all + 4, uneven, all, NULL), STATUS_OK);
    assert_memory_equal(all, "aaaaarecc", 9);
    assert_true(mpi.gathers == 1 && mpi.uneven_gathers == 2);
    comm_mpi_close(comm);
}

/* All calls of a run. Stops at the first failure. */
static enum status every_call(struct error *err)
{
    struct comm *comm = NULL;
    char all[RANKS * 4];
    const size_t uneven[RANKS] = {4, 3, 2};
    double sums[2][NUMBERS] = {0};
    enum status status = comm_mpi_open(NULL, NULL, &comm, err);
    assert_true((status == STATUS_OK) == (comm != NULL));
    if (status == STATUS_OK)
        status = comm_gather(comm, "mine", 4, all, err);
    if (status == STATUS_OK)
        status = comm->table->gather(comm, "own", uneven, all, err);
    if (status == STATUS_OK)
        status = comm_broadcast(comm, all, sizeof all, 0, err);
    for (int i = 0; i < 2 && status == STATUS_OK; i++)
        status = comm_start(comm, sums[i], NUMBERS, COMM_F64, err);
    if (status == STATUS_OK)
        comm_progress(comm);
    if (status == STATUS_OK)
        status = comm_wait(comm, err);
    comm_mpi_close(comm);
    return status;
}

static void a_failing_call_of_mpi_is_reported_with_its_text(void **state)
{
    struct error err = {0};
    begin();
    assert_int_equal(every_call(&err), STATUS_OK);
    int all = mpi.calls;
    assert_true(all > 15);
    for (int n = 0; n < all; n++) {
        begin();
        mpi.fails_at = n;
        error_clear(&err);
        assert_int_equal(every_call(&err), STATUS_UNAVAILABLE);
        assert_string_equal(err.message, "MPI: code 13 of the played MPI");
        assert_int_equal(mpi.finalized, n >= 5); /* five calls open the communicator */
    }
}

static void missing_memory_is_reported(void **state)
{
    int failed = 0;
    for (int n = 0;; n++) {
        struct error err = {0};
        begin();
        fault_after(n);
        enum status status = every_call(&err);
        if (!fault_happened()) {
            assert_int_equal(status, STATUS_OK);
            break;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
        failed++;
    }
    assert_int_equal(failed, 5); /* the communicator, and two allocations for each of two sums */
}

static void too_many_ranks_and_a_library_without_threads_are_refused(void **state)
{
    struct comm *comm = NULL;
    struct error err = {0};
    begin();
    mpi.size = COMM_MOST + 1;
    assert_int_equal(comm_mpi_open(NULL, NULL, &comm, &err), STATUS_LIMIT);
    assert_non_null(strstr(err.message, "513 ranks (at most 512"));
    begin();
    mpi.level = MPI_THREAD_SINGLE;
    assert_int_equal(comm_mpi_open(NULL, NULL, &comm, &err), STATUS_LIMIT);
    assert_null(comm);
}

static void transfers_beyond_the_limits_of_mpi_are_divided_or_refused(void **state)
{
    struct comm *comm = opened();
    const size_t large[RANKS] = {(size_t)INT_MAX + 1, 1, 1}, late[RANKS] = {INT_MAX, 1, 1};
    double numbers[NUMBERS] = {0};
    char byte = 0;
    /* Neither call reads the bytes. */
    assert_int_equal(comm->table->gather(comm, &byte, large, &byte, NULL), STATUS_LIMIT);
    assert_int_equal(comm->table->gather(comm, &byte, late, &byte, NULL), STATUS_LIMIT);
    assert_int_equal(comm->table->start(comm, numbers, (size_t)INT_MAX + 1, COMM_F32, NULL), STATUS_LIMIT);
    assert_int_equal(comm_broadcast(comm, numbers, ((size_t)1 << 31) + 5, 0, NULL), STATUS_OK);
    assert_true(mpi.broadcasts == 3 && mpi.most_broadcast == 1 << 30);
    enum status status = STATUS_OK;
    int started = 0;
    for (; started < 1000 && status == STATUS_OK; started += status == STATUS_OK)
        status = comm->table->start(comm, numbers, NUMBERS, COMM_F64, NULL);
    assert_int_equal(status, STATUS_LIMIT);
    assert_int_equal(started, 256);
    assert_int_equal(comm_wait(comm, NULL), STATUS_OK);
    assert_int_equal(comm_start(comm, numbers, NUMBERS, COMM_F64, NULL), STATUS_OK);
    comm_mpi_close(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_adds_the_parts_of_the_ranks_in_their_order),
        cmocka_unit_test(ranks_may_contribute_different_numbers_of_bytes),
        cmocka_unit_test(a_failing_call_of_mpi_is_reported_with_its_text),
        cmocka_unit_test(missing_memory_is_reported),
        cmocka_unit_test(too_many_ranks_and_a_library_without_threads_are_refused),
        cmocka_unit_test(transfers_beyond_the_limits_of_mpi_are_divided_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
