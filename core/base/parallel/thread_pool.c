/* Thread pool: distributes the chunks of a task over threads.
 *
 * A round is one call of thread_pool_run(). One atomic word contains the index of the round and the number of its free
 * chunks. A thread takes a chunk by decrementing that word, and reads the task only afterwards. A worker that wakes up
 * late therefore cannot take a chunk of an earlier round, and thread_pool_run() waits for chunks, not for workers to
 * wake up. With fewer processors than threads, the pool is slower but still correct.
 *
 * Workers and caller sleep by the same protocol: the sleeper first announces itself and then checks once more for work;
 * the other side first changes the word and then checks for sleepers. All these accesses are sequentially consistent,
 * so at least one side sees the other. */
#include "core/base/parallel/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define MAX_THREADS 256
#define SPIN_NANOSECONDS 50000
#define LOOK_NANOSECONDS 10000000 /* time between two calls of the function that can stop the pool */
#define LINE 64

struct worker {
    struct thread_pool *pool;
    int number;
    pthread_t thread;
};

struct thread_pool {
    _Alignas(LINE) _Atomic uint64_t round; /* upper half: index of the round; lower half: number of free chunks */
    _Alignas(LINE) _Atomic int unfinished; /* chunks that are free or running */
    _Alignas(LINE) _Atomic int sleepers;   /* number of workers asleep */
    _Atomic bool caller_sleeps, stop;
    /* task of the round: written before `round`, read only after a chunk was taken */
    _Alignas(LINE) thread_pool_task *task;
    void *context;
    int chunks;
    int threads, started, spin_nanoseconds;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct worker *workers;
    void (*watch)(void *context, int chunks, bool begins);
    void *watch_context;
    /* thread_pool_stop_when() sets this function; `next_look` is the time of its next call */
    bool (*must_stop)(void *context);
    void *stop_context;
    _Atomic int64_t next_look;
    _Atomic bool stopped;
};

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Switches flush-to-zero of results and inputs on; returns the previous state for restore_denormals(). */
static uint64_t flush_denormals(void)
{
#if defined(__x86_64__)
    unsigned former = _mm_getcsr();
    _mm_setcsr(former | 0x8040U);
    return former;
#elif defined(__aarch64__)
    uint64_t former;
    __asm__ volatile("mrs %0, fpcr" : "=r"(former));
    __asm__ volatile("msr fpcr, %0" : : "r"(former | (UINT64_C(1) << 24)));
    return former;
#else
    return 0;
#endif
}

static void restore_denormals(uint64_t former)
{
#if defined(__x86_64__)
    _mm_setcsr((unsigned)former);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(former));
#else
    (void)former;
#endif
}

static int64_t thread_pool_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static uint32_t untaken(uint64_t round)
{
    return (uint32_t)round;
}

static bool is_stopped(struct thread_pool *pool)
{
    return atomic_load_explicit(&pool->stopped, memory_order_relaxed);
}

bool thread_pool_stopped(struct thread_pool *pool)
{
    if (pool == NULL || pool->must_stop == NULL)
        return false;
    if (is_stopped(pool))
        return true;
    int64_t time = thread_pool_now(), next = atomic_load_explicit(&pool->next_look, memory_order_relaxed);
    if (time < next || !atomic_compare_exchange_strong(&pool->next_look, &next, time + LOOK_NANOSECONDS))
        return false;
    if (pool->must_stop(pool->stop_context))
        atomic_store(&pool->stopped, true);
    return is_stopped(pool);
}

/* Takes and runs chunks until none is free. If the pool was stopped, takes them without running them. */
static void thread_pool_work(struct thread_pool *pool, int number)
{
    uint64_t seen = atomic_load(&pool->round);
    while (untaken(seen) > 0) {
        if (!atomic_compare_exchange_weak(&pool->round, &seen, seen - 1))
            continue;
        int chunk = pool->chunks - (int)untaken(seen);
        if (!thread_pool_stopped(pool))
            pool->task(pool->context, chunk, pool->chunks < pool->threads ? chunk : number);
        if (atomic_fetch_sub(&pool->unfinished, 1) == 1 && atomic_load(&pool->caller_sleeps)) {
            (void)pthread_mutex_lock(&pool->lock);
            (void)pthread_cond_signal(&pool->done);
            (void)pthread_mutex_unlock(&pool->lock);
        }
        seen = atomic_load(&pool->round);
    }
}

static bool work_or_stop(struct thread_pool *pool)
{
    return untaken(atomic_load(&pool->round)) > 0 || atomic_load(&pool->stop);
}

static bool all_done(struct thread_pool *pool)
{
    return atomic_load(&pool->unfinished) == 0;
}

/* Waits until ready() is true, without sleeping and at most for the pool's spin time. Returns whether it became true.
 */
static bool spin(struct thread_pool *pool, bool (*ready)(struct thread_pool *))
{
    int64_t deadline = thread_pool_now() + pool->spin_nanoseconds;
    do {
        for (int i = 0; i < 32; i++) {
            if (ready(pool))
                return true;
            pause_briefly();
        }
    } while (thread_pool_now() < deadline);
    return false;
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct thread_pool *pool = worker->pool;
    (void)flush_denormals();
    while (!atomic_load(&pool->stop)) {
        if (!spin(pool, work_or_stop)) {
            (void)pthread_mutex_lock(&pool->lock);
            atomic_fetch_add(&pool->sleepers, 1);
            while (!work_or_stop(pool))
                (void)pthread_cond_wait(&pool->work, &pool->lock);
            atomic_fetch_sub(&pool->sleepers, 1);
            (void)pthread_mutex_unlock(&pool->lock);
        }
        thread_pool_work(pool, worker->number);
    }
    return NULL;
}

static void wake_workers(struct thread_pool *pool)
{
    if (atomic_load(&pool->sleepers) > 0) {
        (void)pthread_mutex_lock(&pool->lock);
        (void)pthread_cond_broadcast(&pool->work);
        (void)pthread_mutex_unlock(&pool->lock);
    }
}

/* Starts the workers; returns 0 or the error of pthread_create(). The workers inherit a mask that blocks every signal,
 * because other threads of the process handle signals. */
static int start_workers(struct thread_pool *pool)
{
    sigset_t all, former;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    int failed = 0;
    while (pool->started < pool->threads - 1 && failed == 0) {
        struct worker *worker = &pool->workers[pool->started];
        *worker = (struct worker){.pool = pool, .number = pool->started + 1};
        failed = pthread_create(&worker->thread, NULL, worker_main, worker);
        if (failed == 0) {
            char name[16];
            (void)snprintf(name, sizeof name, "pool %d", worker->number);
            (void)pthread_setname_np(worker->thread, name);
            pool->started++;
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    return failed;
}

/* Returns how many nanoseconds a thread spins before it sleeps: 0 if there are more threads than processors, because
 * spinning helps only if every thread has a processor of its own. */
static int spin_time(int threads)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) < threads)
        return 0;
    return SPIN_NANOSECONDS;
}

enum status thread_pool_create(int threads, struct thread_pool **out, struct error *err)
{
    *out = NULL;
    if (threads < 1 || threads > MAX_THREADS)
        return error_set(err, STATUS_INVALID, "/threads", "must be in [1, %d]; got %d", MAX_THREADS, threads);
    struct thread_pool *pool = aligned_alloc(LINE, sizeof *pool);
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    if (pool == NULL || workers == NULL) {
        free(pool);
        free(workers);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a pool of %d threads", threads);
    }
    *pool = (struct thread_pool){.threads = threads, .workers = workers, .spin_nanoseconds = spin_time(threads)};
    /* initialising a mutex or a condition with default attributes cannot fail */
    (void)pthread_mutex_init(&pool->lock, NULL);
    (void)pthread_cond_init(&pool->work, NULL);
    (void)pthread_cond_init(&pool->done, NULL);
    if (start_workers(pool) != 0) {
        int started = pool->started;
        thread_pool_destroy(pool);
        return error_set(err, STATUS_UNAVAILABLE, NULL, "the system started %d of %d threads", started + 1, threads);
    }
    *out = pool;
    return STATUS_OK;
}

void thread_pool_destroy(struct thread_pool *pool)
{
    if (pool == NULL)
        return;
    atomic_store(&pool->stop, true);
    wake_workers(pool);
    for (int i = 0; i < pool->started; i++)
        (void)pthread_join(pool->workers[i].thread, NULL);
    (void)pthread_cond_destroy(&pool->done);
    (void)pthread_cond_destroy(&pool->work);
    (void)pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}

int thread_pool_threads(const struct thread_pool *pool)
{
    return pool->threads;
}

int thread_pool_workers(const struct thread_pool *pool, int chunks)
{
    return chunks < 1 ? 1 : chunks < pool->threads ? chunks : pool->threads;
}

void thread_pool_stop_when(struct thread_pool *pool, bool (*stop)(void *context), void *context)
{
    pool->must_stop = stop;
    pool->stop_context = context;
    atomic_store(&pool->next_look, 0);
    atomic_store(&pool->stopped, false);
}

static bool other_stopped(void *context)
{
    return thread_pool_stopped(context);
}

void thread_pool_stop_with(struct thread_pool *pool, struct thread_pool *other)
{
    thread_pool_stop_when(pool, other != NULL ? other_stopped : NULL, other);
}

enum status thread_pool_check(struct thread_pool *pool, struct error *err)
{
    return thread_pool_stopped(pool) ? error_set(err, STATUS_CANCELLED, NULL, "the computation was stopped")
                                     : STATUS_OK;
}

void thread_pool_watch(struct thread_pool *pool, void (*watch)(void *context, int chunks, bool begins), void *context)
{
    pool->watch = watch;
    pool->watch_context = context;
}

/* Runs the chunks on all threads. */
static void run_shared(struct thread_pool *pool, thread_pool_task *task, void *context, int chunks)
{
    pool->task = task;
    pool->context = context;
    pool->chunks = chunks;
    atomic_store(&pool->unfinished, chunks);
    uint64_t number = (atomic_load(&pool->round) >> 32) + 1;
    atomic_store(&pool->round, number << 32 | (uint32_t)chunks);
    wake_workers(pool);
    thread_pool_work(pool, 0);
    if (!spin(pool, all_done)) {
        (void)pthread_mutex_lock(&pool->lock);
        atomic_store(&pool->caller_sleeps, true);
        while (!all_done(pool))
            (void)pthread_cond_wait(&pool->done, &pool->lock);
        atomic_store(&pool->caller_sleeps, false);
        (void)pthread_mutex_unlock(&pool->lock);
    }
}

/* Runs the chunks on the calling thread. */
static void run_alone(struct thread_pool *pool, thread_pool_task *task, void *context, int chunks)
{
    bool watched = pool->watch != NULL && chunks > 1;
    if (watched)
        pool->watch(pool->watch_context, chunks, true);
    for (int chunk = 0; chunk < chunks && !thread_pool_stopped(pool); chunk++) {
        task(context, chunk, 0);
        if (watched)
            pool->watch(pool->watch_context, chunks, false);
    }
}

bool thread_pool_run(struct thread_pool *pool, thread_pool_task *task, void *context, int chunks)
{
    if (chunks <= 0)
        return !is_stopped(pool);
    uint64_t former = flush_denormals();
    if (pool->threads == 1 || chunks == 1 || pool->watch != NULL)
        run_alone(pool, task, context, chunks);
    else
        run_shared(pool, task, context, chunks);
    restore_denormals(former);
    return !is_stopped(pool);
}
