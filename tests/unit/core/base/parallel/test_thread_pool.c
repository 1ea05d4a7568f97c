/* Tests the thread pool: every chunk runs once, results do not depend on the number of threads, chunks flush denormals,
 * and workers block signals. */
#include <float.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "tests/support/unit.h"
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "core/base/parallel/thread_pool.h"

#define MOST 5000

struct job {
    int workers;          /* thread_pool_workers() */
    atomic_flag busy[16]; /* busy[w]: worker w is running a chunk */
    int runs[MOST];       /* not atomic, so that TSan reports a chunk that runs twice at the same time */
    atomic_int wrong_worker;
    double results[MOST];
};

static void note(void *context, int chunk, int worker)
{
    struct job *job = context;
    bool in_range = worker >= 0 && worker < job->workers;
    if (!in_range || atomic_flag_test_and_set(&job->busy[worker]))
        job->wrong_worker = 1;
    job->runs[chunk]++;
    double sum = 0.0;
    for (int i = 1; i <= chunk % 50 + 1; i++)
        sum += 1.0 / (chunk + i);
    job->results[chunk] = sum;
    if (in_range)
        atomic_flag_clear(&job->busy[worker]);
}

/* Every chunk runs once and all are done on return, for all sizes, many times in sequence and after pauses. */
static void every_chunk_runs_once(void **state)
{
    static struct job job;
    for (int threads = 1; threads <= 9; threads += threads < 3 ? 1 : 3) {
        struct thread_pool *pool;
        assert_int_equal(thread_pool_create(threads, &pool, NULL), STATUS_OK);
        assert_int_equal(thread_pool_threads(pool), threads);
        int sizes[] = {0, 1, 2, 3, 7, 64, 999, MOST};
        for (int round = 0; round < 400; round++) {
            int chunks = sizes[round % 8];
            memset(&job, 0, sizeof job);
            job.workers = thread_pool_workers(pool, chunks);
            assert_true(thread_pool_run(pool, note, &job, chunks));
            for (int i = 0; i < MOST; i++)
                assert_int_equal(job.runs[i], i < chunks);
            assert_false(job.wrong_worker);
            if (round % 50 == 0) /* the pause is long enough for the workers to fall asleep */
                (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        thread_pool_destroy(pool);
    }
}

static void bits_are_the_same_for_any_number_of_threads(void **state)
{
    static struct job one, many;
    double sums[2];
    for (int k = 0; k < 2; k++) {
        struct job *job = k == 0 ? &one : &many;
        struct thread_pool *pool;
        memset(job, 0, sizeof *job);
        assert_int_equal(thread_pool_create(k == 0 ? 1 : 6, &pool, NULL), STATUS_OK);
        job->workers = thread_pool_workers(pool, MOST);
        assert_true(thread_pool_run(pool, note, job, MOST));
        thread_pool_destroy(pool);
        sums[k] = 0.0;
        for (int i = 0; i < MOST; i++)
            sums[k] += job->results[i];
    }
    assert_memory_equal(one.results, many.results, sizeof one.results);
    assert_true(sums[0] == sums[1]);
}

struct denormal_job {
    volatile float tiny;
    float products[64];
};

static void multiply(void *context, int chunk, int worker)
{
    struct denormal_job *job = context;
    job->products[chunk] = job->tiny * 0.5F;
    /* the chunk takes so long that every thread gets chunks */
    (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/* Returns whether this processor can flush denormals. The processor that valgrind emulates cannot. */
static bool can_flush(void)
{
#if defined(__SSE__)
    unsigned kept = _mm_getcsr();
    volatile float tiny = FLT_MIN, half;
    _mm_setcsr(kept | 0x8040);
    half = tiny * 0.5F;
    _mm_setcsr(kept);
    return half == 0.0F;
#else
    return true;
#endif
}

/* Every chunk flushes denormals on any thread; the caller's state is restored afterwards. */
static void denormals_are_flushed_inside_tasks_only(void **state)
{
    if (!can_flush())
        skip();
    for (int threads = 1; threads <= 4; threads += 3) {
        struct denormal_job job = {.tiny = FLT_MIN};
        struct thread_pool *pool;
        assert_int_equal(thread_pool_create(threads, &pool, NULL), STATUS_OK);
        assert_true(thread_pool_run(pool, multiply, &job, 64));
        for (int i = 0; i < 64; i++)
            assert_true(job.products[i] == 0.0F);
        thread_pool_destroy(pool);
        assert_true(job.tiny * 0.5F > 0.0F);
    }
}

static atomic_int in_worker, in_caller;
static pthread_t caller;

/* Number of threads that have taken a chunk. A chunk of gather() ends only when every thread of the pool has taken one.
 * Otherwise a single thread could take all chunks on a busy machine. */
static atomic_int gathered;
static _Thread_local bool present;

static void gather(int threads)
{
    if (!present)
        gathered++;
    present = true;
    for (int waited = 0; gathered < threads && waited < 60000; waited++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void count_thread(void *context, int chunk, int worker)
{
    if (pthread_equal(pthread_self(), caller)) {
        in_caller++;
        assert_int_equal(worker, 0);
    } else {
        in_worker++;
    }
    gather(3);
}

static void all_threads_run_chunks(void **state)
{
    struct thread_pool *pool;
    assert_int_equal(thread_pool_create(3, &pool, NULL), STATUS_OK);
    caller = pthread_self();
    in_worker = in_caller = gathered = 0;
    present = false;
    assert_true(thread_pool_run(pool, count_thread, NULL, 60));
    thread_pool_destroy(pool);
    assert_int_equal(in_worker + in_caller, 60);
    assert_int_equal(gathered, 3);
    assert_true(in_worker >= 2 && in_caller >= 1);
}

static atomic_int unblocked;

static void look_at_mask(void *context, int chunk, int worker)
{
    sigset_t mask;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (worker != 0 && (!sigismember(&mask, SIGTERM) || !sigismember(&mask, SIGINT) || !sigismember(&mask, SIGHUP)))
        unblocked++;
    if (worker != 0)
        in_worker++;
    gather(4);
}

/* Workers block all signals; the mask of the creating thread does not change. */
static void workers_block_signals(void **state)
{
    struct thread_pool *pool;
    sigset_t mask;
    in_worker = unblocked = gathered = 0;
    present = false;
    assert_int_equal(thread_pool_create(4, &pool, NULL), STATUS_OK);
    assert_true(thread_pool_run(pool, look_at_mask, NULL, 60));
    thread_pool_destroy(pool);
    assert_int_equal(gathered, 4);
    assert_true(in_worker >= 3);
    assert_int_equal(unblocked, 0);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGTERM), 0);
}

static void sizes_outside_the_range_are_refused(void **state)
{
    struct thread_pool *pool = (struct thread_pool *)1;
    struct error err;
    error_clear(&err);
    assert_int_equal(thread_pool_create(0, &pool, &err), STATUS_INVALID);
    assert_null(pool);
    assert_string_equal(err.pointer, "/threads");
    assert_int_equal(thread_pool_create(257, &pool, NULL), STATUS_INVALID);
    thread_pool_destroy(NULL);
}

/* Creates a thread pool and runs a job on it. Two threads do this at the same time. */
static void *drive(void *argument)
{
    struct job *job = argument;
    struct thread_pool *pool;
    if (thread_pool_create(3, &pool, NULL) == STATUS_OK) {
        job->workers = thread_pool_workers(pool, 100);
        for (int i = 0; i < 200; i++)
            assert_true(thread_pool_run(pool, note, job, 100));
        thread_pool_destroy(pool);
    }
    return NULL;
}

static void pools_on_different_threads_are_independent(void **state)
{
    static struct job jobs[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, drive, &jobs[i]), 0);
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
        for (int chunk = 0; chunk < 100; chunk++)
            assert_int_equal(jobs[i].runs[chunk], 200);
    }
}

/* ---- stopping ------------------------------------------------------------------------------------------- */

struct stopping {
    atomic_int asked, ran; /* asked: number of calls of stop(); ran: number of chunks that ran */
    atomic_bool stop;
    int stop_after; /* the task requests the stop after this many chunks; 0: never */
};

static bool must_stop(void *context)
{
    struct stopping *s = context;
    atomic_fetch_add(&s->asked, 1);
    return atomic_load(&s->stop);
}

static void count_and_stop(void *context, int chunk, int worker)
{
    struct stopping *s = context;
    if (atomic_fetch_add(&s->ran, 1) + 1 == s->stop_after)
        atomic_store(&s->stop, true);
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void a_stopped_pool_leaves_out_the_rest(void **state)
{
    for (int threads = 1; threads <= 3; threads++) {
        struct thread_pool *pool, *own;
        struct stopping s = {.stop_after = 5};
        struct error err = {0};
        assert_int_equal(thread_pool_create(threads, &pool, NULL), STATUS_OK);
        assert_int_equal(thread_pool_create(1, &own, NULL), STATUS_OK);
        thread_pool_stop_when(pool, must_stop, &s);
        thread_pool_stop_with(own, pool);
        assert_int_equal(thread_pool_check(own, &err), STATUS_OK);
        /* without the stop, this would take at least 30 s */
        assert_false(thread_pool_run(pool, count_and_stop, &s, 100000));
        assert_true(atomic_load(&s.ran) < 1000);
        assert_int_equal(thread_pool_check(pool, &err), STATUS_CANCELLED);
        int ran = atomic_load(&s.ran);
        assert_false(thread_pool_run(pool, count_and_stop, &s, 1)); /* the pool stays stopped */
        assert_false(thread_pool_run(pool, count_and_stop, &s, 0));
        assert_int_equal(atomic_load(&s.ran), ran);
        while (!thread_pool_stopped(own)) /* `own` checks only every few milliseconds whether `pool` was stopped */
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        thread_pool_stop_when(pool, NULL, NULL);
        assert_true(thread_pool_run(pool, count_and_stop, &s, 10));
        assert_int_equal(atomic_load(&s.ran), ran + 10);
        thread_pool_destroy(own);
        thread_pool_destroy(pool);
    }
    assert_false(thread_pool_stopped(NULL));
}

static void return_at_once(void *context, int chunk, int worker) {}

/* stop() may look at a socket, so short chunks must not call it each time. */
static void short_chunks_do_not_call_stop_each_time(void **state)
{
    struct thread_pool *pool;
    struct stopping s = {0};
    assert_int_equal(thread_pool_create(2, &pool, NULL), STATUS_OK);
    thread_pool_stop_when(pool, must_stop, &s);
    assert_true(thread_pool_run(pool, return_at_once, NULL, 100000));
    assert_true(atomic_load(&s.asked) >= 1 && atomic_load(&s.asked) < 10000);
    thread_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_pool_leaves_out_the_rest),
        cmocka_unit_test(short_chunks_do_not_call_stop_each_time),
        cmocka_unit_test(every_chunk_runs_once),
        cmocka_unit_test(bits_are_the_same_for_any_number_of_threads),
        cmocka_unit_test(denormals_are_flushed_inside_tasks_only),
        cmocka_unit_test(all_threads_run_chunks),
        cmocka_unit_test(workers_block_signals),
        cmocka_unit_test(sizes_outside_the_range_are_refused),
        cmocka_unit_test(pools_on_different_threads_are_independent),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
