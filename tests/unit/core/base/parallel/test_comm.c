/* Tests the communicator of ranks that are threads: shares of items, sums in rank order, sums in the background, and a
 * rank that leaves. */
#include <math.h>
#include <pthread.h>

#include "tests/support/unit.h"
#include "tests/support/comm_threads.h"

enum { RANKS = 4, MANY = 10007, THINGS = 10 };

struct rank {
    struct comm *comm;
    pthread_t thread;
    double small[3], most, large[MANY];
    float part[MANY];
    int32_t things[THINGS], received;
    int gathered[RANKS];
    enum status status;
    struct error error;
};

static double value(int rank, int i)
{
    return 1.0 / (1 + rank) + 1e-3 * i * (rank % 2 ? 1 : -1) + (rank == 2 ? 1e9 : 0);
}

static void *work(void *context)
{
    struct rank *r = context;
    struct comm *c = r->comm;
    int rank = comm_rank(c);
    for (int i = 0; i < 3; i++)
        r->small[i] = value(rank, i);
    for (int i = 0; i < MANY; i++) {
        r->large[i] = value(rank, i);
        r->part[i] = (float)value(rank, i);
    }
    r->most = rank == 1 ? 7.0 : -1.0;
    struct comm_share own = comm_share(c, THINGS);
    for (int64_t i = 0; i < THINGS; i++)
        r->things[i] = i >= own.first && i < own.first + own.count ? (int32_t)(100 + i) : -1;
    r->received = rank == comm_size(c) - 1 ? 42 : 0;
    /* The sum that comm_start() begins runs in the background during the other calls, until comm_wait(). */
    r->status = comm_start(c, r->part, MANY, COMM_F32, &r->error);
    if (!r->status)
        r->status = comm_sum(c, r->small, 3, &r->error);
    comm_progress(c);
    if (!r->status)
        r->status = comm_sum(c, r->large, MANY, &r->error);
    if (!r->status)
        r->status = comm_wait(c, &r->error);
    if (!r->status)
        r->status = comm_max(c, &r->most, 1, &r->error);
    if (!r->status)
        r->status = comm_complete(c, r->things, THINGS, sizeof r->things[0], &r->error);
    if (!r->status)
        r->status = comm_gather(c, &rank, sizeof rank, r->gathered, &r->error);
    if (!r->status)
        r->status = comm_broadcast(c, &r->received, sizeof r->received, comm_size(c) - 1, &r->error);
    return NULL;
}

static void sums_are_in_rank_order(void **state)
{
    for (int size = 1; size <= RANKS; size++) {
        struct comm *comms[RANKS];
        struct rank *ranks = calloc(RANKS, sizeof *ranks);
        assert_non_null(ranks);
        assert_int_equal(comm_threads_create(size, comms, NULL), STATUS_OK);
        for (int r = 0; r < size; r++) {
            ranks[r].comm = comms[r];
            assert_int_equal(pthread_create(&ranks[r].thread, NULL, work, &ranks[r]), 0);
        }
        for (int r = 0; r < size; r++)
            pthread_join(ranks[r].thread, NULL);
        for (int r = 0; r < size; r++) {
            assert_int_equal(ranks[r].status, STATUS_OK);
            for (int i = 0; i < MANY; i++) {
                double sum = 0, part = 0;
                for (int k = 0; k < size; k++) {
                    sum += value(k, i);
                    part += (double)(float)value(k, i);
                }
                assert_true(ranks[r].large[i] == sum);
                assert_true(i >= 3 || ranks[r].small[i] == sum);
                assert_true(ranks[r].part[i] == (float)part);
            }
            assert_true(ranks[r].most == (size > 1 ? 7.0 : -1.0));
            for (int i = 0; i < THINGS; i++)
                assert_int_equal(ranks[r].things[i], 100 + i);
            for (int k = 0; k < size; k++)
                assert_int_equal(ranks[r].gathered[k], k);
            assert_int_equal(ranks[r].received, 42);
        }
        comm_threads_destroy(comms);
        free(ranks);
    }
}

static void shares_cover_all_items(void **state)
{
    for (int size = 1; size < 9; size++)
        for (int64_t total = 0; total < 40; total++) {
            int64_t next = 0, least = total, most = 0;
            for (int r = 0; r < size; r++) {
                struct comm_share s = comm_share_of(total, r, size);
                assert_true(s.first == next);
                next += s.count;
                least = s.count < least ? s.count : least;
                most = s.count > most ? s.count : most;
            }
            assert_true(next == total && most - least <= 1);
        }
}

static void *wait_for_others(void *context)
{
    struct rank *r = context;
    double x = 1;
    r->status = comm_sum(r->comm, &x, 1, &r->error);
    return NULL;
}

static void rank_that_left_cancels_waiting_ranks(void **state)
{
    struct comm *comms[2];
    static struct rank rank;
    assert_int_equal(comm_threads_create(2, comms, NULL), STATUS_OK);
    rank.comm = comms[0];
    assert_int_equal(pthread_create(&rank.thread, NULL, wait_for_others, &rank), 0);
    comm_threads_leave(comms[1]);
    pthread_join(rank.thread, NULL);
    assert_int_equal(rank.status, STATUS_CANCELLED);
    comm_threads_destroy(comms);
}

static void single_rank_calls_change_nothing(void **state)
{
    double x = 0.1;
    assert_int_equal(comm_sum(NULL, &x, 1, NULL), STATUS_OK);
    assert_int_equal(comm_start(NULL, &x, 1, COMM_F64, NULL), STATUS_OK);
    assert_int_equal(comm_wait(NULL, NULL), STATUS_OK);
    assert_true(x == 0.1 && comm_size(NULL) == 1 && comm_rank(NULL) == 0 && comm_share(NULL, 9).count == 9);
    struct error err = {0};
    struct comm *none[1];
    assert_int_equal(comm_threads_create(0, none, &err), STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_in_rank_order),
        cmocka_unit_test(shares_cover_all_items),
        cmocka_unit_test(rank_that_left_cancels_waiting_ranks),
        cmocka_unit_test(single_rank_calls_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
