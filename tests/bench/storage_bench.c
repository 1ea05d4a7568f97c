/* Measures the latency of storage on the disk of FOLDER (default: the working folder).
 *
 *   storage_bench [FOLDER] [CHECKPOINT_MEGABYTES] [MILLIONS_OF_POINTS]
 *
 * Prints:
 *
 * - the latency of durable submits, from one thread and from several threads
 * - the time to write a large checkpoint
 * - the latency of submits and reads while storage writes this checkpoint and removes the previous one
 * - the time of metric reads */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "storage/storage.h"

static struct storage *store;
static atomic_bool stop;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double processor(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(enum status status, const struct error *err)
{
    if (status != STATUS_OK) {
        fprintf(stderr, "failed: %s: %s\n", status_name(status), err->message);
        exit(1);
    }
}

struct times {
    double *seconds;
    size_t count, capacity;
};

static void note(struct times *times, double seconds)
{
    if (times->count == times->capacity) {
        times->capacity = times->capacity * 2 + 1024;
        times->seconds = realloc(times->seconds, times->capacity * sizeof *times->seconds);
        if (times->seconds == NULL)
            exit(1);
    }
    times->seconds[times->count++] = seconds;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(const char *what, struct times *times)
{
    if (times->count == 0)
        return;
    qsort(times->seconds, times->count, sizeof *times->seconds, compare);
    printf("%-44s n %6zu  p50 %8.3f ms  p99 %8.3f ms  max %8.3f ms\n", what, times->count,
           1e3 * times->seconds[times->count / 2], 1e3 * times->seconds[times->count * 99 / 100],
           1e3 * times->seconds[times->count - 1]);
    times->count = 0;
}

static void submit(char id[STORAGE_ID])
{
    struct error err = {0};
    struct storage_submit in = {.kind = "sparling",
                                .preset = "digitcircle",
                                .name = "bench",
                                .config = "{\"seed\":1,\"density_start\":0.75,\"width\":16,\"channels\":64}"};
    enum storage_submit_outcome outcome;
    need(storage_job_submit(store, &in, id, &outcome, &err), &err);
}

static void *submitter(void *argument)
{
    struct times *times = argument;
    char id[STORAGE_ID];
    while (!atomic_load(&stop)) {
        double start = now();
        submit(id);
        note(times, now() - start);
        usleep(2000);
    }
    return NULL;
}

static void *lister(void *argument)
{
    struct times *times = argument;
    struct arena arena;
    arena_init(&arena, 1 << 16, 0);
    while (!atomic_load(&stop)) {
        struct storage_job_filter filter = {.limit = 20};
        struct storage_job *jobs;
        struct error err = {0};
        size_t count;
        bool more;
        double start = now();
        need(storage_job_list(store, &filter, &arena, &jobs, &count, &more, &err), &err);
        note(times, now() - start);
        arena_reset(&arena);
        usleep(1000);
    }
    arena_close(&arena);
    return NULL;
}

static void bench_submit(void)
{
    struct times times = {0}, each[8] = {{0}};
    char id[STORAGE_ID];
    for (int i = 0; i < 1000; i++) {
        double start = now();
        submit(id);
        note(&times, now() - start);
    }
    print_times("submit, one caller", &times);
    pthread_t threads[8];
    atomic_store(&stop, false);
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, submitter, &each[i]);
    sleep(2);
    atomic_store(&stop, true);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        for (size_t k = 0; k < each[i].count; k++)
            note(&times, each[i].seconds[k]);
        free(each[i].seconds);
    }
    print_times("submit, eight callers for 2 s", &times);
    free(times.seconds);
}

static void bench_checkpoint(const char *id, size_t megabytes)
{
    struct error err = {0};
    struct storage_checkpoint_new what = {.step = 1, .samples = 10, .density = 0.5, .accuracy = (double)NAN};
    struct storage_checkpoint_writer *writer;
    struct times submits = {0}, lists = {0};
    pthread_t threads[2];
    size_t piece = (size_t)4 << 20;
    unsigned *bytes = malloc(piece);
    if (bytes == NULL)
        exit(1);
    for (size_t i = 0; i < piece / sizeof *bytes; i++)
        bytes[i] = (unsigned)i * 2654435761u;
    for (int round = 0; round < 3; round++) {
        int64_t seq;
        atomic_store(&stop, false);
        pthread_create(&threads[0], NULL, submitter, &submits);
        pthread_create(&threads[1], NULL, lister, &lists);
        double start = now();
        need(storage_checkpoint_begin(store, id, &what, &writer, &err), &err);
        for (size_t done = 0; done < megabytes << 20; done += piece)
            need(storage_checkpoint_write(writer, bytes, piece, &err), &err);
        double commit = now();
        need(storage_checkpoint_commit(writer, &seq, &err), &err);
        double end = now();
        if (round > 0) /* go on measuring for 3 s, while storage removes the previous checkpoint */
            sleep(3);
        atomic_store(&stop, true);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        printf("checkpoint %zu MiB%s: %.2f s (%.0f MiB/s), commit %.1f ms\n", megabytes,
               round == 0   ? " (the file grows)"
               : round == 1 ? " (the file grows; then 3 s of sweeping the one before)"
                            : " (into free pages; then 3 s of sweeping)",
               end - start, (double)megabytes / (end - start), 1e3 * (end - commit));
        print_times("  submits meanwhile", &submits);
        print_times("  lists of 20 jobs meanwhile", &lists);
    }
    struct storage_checkpoint_reader *reader;
    struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
    need(storage_checkpoint_open(store, id, pick, &reader, NULL, &err), &err);
    double start = now();
    for (size_t done = 0; done < megabytes << 20; done += piece)
        need(storage_checkpoint_read(reader, done, bytes, piece, &err), &err);
    printf("checkpoint read: %.0f MiB/s\n", (double)megabytes / (now() - start));
    struct times times = {0};
    unsigned chance = 1;
    for (int i = 0; i < 2000; i++) {
        chance = chance * 1664525u + 1013904223u;
        start = now();
        need(storage_checkpoint_read(reader, (uint64_t)chance % ((megabytes << 20) - 4096), bytes, 4096, &err), &err);
        note(&times, now() - start);
    }
    print_times("checkpoint read of 4 KiB anywhere", &times);
    storage_checkpoint_close(reader);
    free(bytes);
    free(submits.seconds);
    free(lists.seconds);
    free(times.seconds);
}

static void bench_metrics(const char *id, int millions)
{
    struct error err = {0};
    struct arena arena;
    struct times times = {0};
    struct storage_metric some[1000];
    const char *name = "loss";
    arena_init(&arena, 1 << 20, 0);
    double start = now(), busy = processor();
    int64_t points = millions * INT64_C(1000000);
    for (int64_t i = 0; i < points; i += 1000) {
        for (int k = 0; k < 1000; k++)
            some[k] = (struct storage_metric){.name = name, .point = {i + k, sin(0.001 * (double)(i + k))}};
        need(storage_metric_append(store, id, some, 1000, &err), &err);
    }
    need(storage_flush(store, &err), &err);
    printf("%de6 metric points appended: %.2f s, %.2f s of processor\n", millions, now() - start, processor() - busy);
    const struct {
        const char *what;
        int64_t since, max;
        int rounds;
    } reads[] = {
        {"  read with max_points 1000", INT64_MIN, 1000, 100},
        {"  read whole", INT64_MIN, 0, millions > 1 ? 1 : 10},
        {"  the last 100", points - 101, 1000, 1000},
    };
    for (size_t r = 0; r < sizeof reads / sizeof reads[0]; r++) {
        for (int i = 0; i < reads[r].rounds; i++) {
            struct storage_metric_query query = {
                .names = &name, .name_count = 1, .since = reads[r].since, .max_points = reads[r].max};
            struct storage_series *series;
            size_t count;
            start = now();
            need(storage_metric_read(store, id, &query, &arena, &series, &count, &err), &err);
            note(&times, now() - start);
            arena_reset(&arena);
        }
        print_times(reads[r].what, &times);
    }
    arena_close(&arena);
    free(times.seconds);
}

static void remove_file(const char *path, const char *suffix)
{
    char name[600];
    (void)snprintf(name, sizeof name, "%s%s", path, suffix);
    (void)unlink(name);
}

int main(int argc, char **argv)
{
    char path[512], id[STORAGE_ID];
    struct error err = {0};
    (void)snprintf(path, sizeof path, "%s/storage-bench-%ld.db", argc > 1 ? argv[1] : ".", (long)getpid());
    size_t megabytes = argc > 2 ? (size_t)atoi(argv[2]) : 550;
    struct storage_options options = {.path = path};
    need(storage_open(&options, &store, &err), &err);
    submit(id);
    need(storage_job_claim(store, id, &err), &err);
    bench_submit();
    bench_metrics(id, argc > 3 ? atoi(argv[3]) : 1);
    bench_checkpoint(id, (megabytes + 3) / 4 * 4);
    struct storage_stats stats;
    need(storage_stats_read(store, &stats, &err), &err);
    printf("file %.1f MiB, of it free %.1f MiB, log %.1f MiB; %.2f commands a commit\n",
           (double)stats.file_bytes / 1048576, (double)stats.free_bytes / 1048576, (double)stats.wal_bytes / 1048576,
           (double)stats.commands / (double)stats.commits);
    double start = now();
    storage_close(store);
    printf("close: %.1f ms\n", 1e3 * (now() - start));
    remove_file(path, "");
    remove_file(path, "-lock");
    remove_file(path, "-wal");
    remove_file(path, "-shm");
    return 0;
}
