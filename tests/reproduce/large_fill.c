/* Fills a database with years of use, through storage's own functions and as fast as they allow.
 *
 *     large_fill DATABASE JOBS POINTS CONFIG RESULT
 *     large_fill DATABASE write MB SECONDS
 *
 * CONFIG and RESULT are files with the texts that every job stores. Half of the points are spread evenly over all jobs.
 * Each job has two series, 30 progress events and two small checkpoints. The other half of the points is in 50 long
 * series, each in a job of its own. Of a hundred jobs, 95 succeeded, 3 failed, 1 was cancelled and 1 is paused.
 *
 * With `write` the program opens a database that was not closed, and writes checkpoints of MB megabytes until storage
 * has finished checking the database. Then it prints how large the write-ahead log became. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "storage/storage.h"

#define THREADS 8
#define LONG_JOBS 50
#define PROGRESS 30

static struct storage *store;
static const char *config, *result;
static long jobs, points;
static atomic_long begun;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void need(enum status status, const struct error *err)
{
    if (status != STATUS_OK) {
        fprintf(stderr, "failed: %s: %s\n", status_name(status), err->message);
        exit(1);
    }
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (file == NULL || text == NULL || fread(text, 1, (1 << 20) - 1, file) == 0) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

static double curve(long step)
{
    return exp(-1e-5 * (double)step) + 0.05 * sin((double)step * 12.9898);
}

static void append_points(const char *id, long count)
{
    struct error err = {0};
    struct storage_metric some[500];
    for (long at = 0; at < count;) {
        size_t n = 0;
        for (; n + 2 <= 500 && at < count; at++) {
            some[n++] = (struct storage_metric){"accuracy", {at * 10, 1 - curve(at * 100)}};
            some[n++] = (struct storage_metric){"loss", {at * 10, curve(at * 100)}};
        }
        need(storage_metric_append(store, id, some, n, &err), &err);
    }
}

static void save_checkpoint(const char *id, long step)
{
    struct error err = {0};
    struct storage_checkpoint_new what = {
        .step = step, .samples = step * 10, .density = 1.0 / (double)step, .accuracy = 0.9, .stage_end = true};
    struct storage_checkpoint_writer *writer;
    char bytes[2048] = "a small model";
    int64_t seq;
    need(storage_checkpoint_begin(store, id, &what, &writer, &err), &err);
    need(storage_checkpoint_write(writer, bytes, sizeof bytes, &err), &err);
    need(storage_checkpoint_commit(writer, &seq, &err), &err);
}

static void *worker(void *unused)
{
    static const char *const kinds[] = {"sparling", "superposition", "factors", "environments", "pathways"};
    struct error err = {0};
    (void)unused;
    for (long i; (i = atomic_fetch_add(&begun, 1)) < jobs;) {
        char id[STORAGE_ID], name[64];
        enum storage_submit_outcome outcome;
        (void)snprintf(name, sizeof name, "run %ld", i);
        struct storage_submit in = {.kind = kinds[i % 5], .preset = "digitcircle", .name = name, .config = config};
        need(storage_job_submit(store, &in, id, &outcome, &err), &err);
        need(storage_job_claim(store, id, &err), &err); /* may claim another thread's job: all jobs are alike */
        append_points(id, points / 4 / jobs);
        for (int p = 1; p <= PROGRESS; p++) {
            char progress[256];
            (void)snprintf(progress, sizeof progress,
                           "{\"step\":%d,\"samples\":%d,\"fraction\":%.3f,\"samples_per_second\":812.5,"
                           "\"eta_seconds\":%d,\"density\":0.000147,\"target_accuracy\":0.97,\"accuracy\":%.4f,"
                           "\"stage\":\"training\"}",
                           p * 100, p * 1000, (double)p / PROGRESS, PROGRESS - p, 1 - curve(p));
            need(storage_job_progress(store, id, progress, &err), &err);
        }
        save_checkpoint(id, 100);
        save_checkpoint(id, 200);
        if (i % 100 == 0) {
            need(storage_job_request(store, id, JOB_EVENT_PAUSE, NULL, NULL, &err), &err);
            need(storage_job_leave(store, id, JOB_EVENT_YIELD, NULL, NULL, NULL, &err), &err);
        } else if (i % 100 == 1) {
            need(storage_job_request(store, id, JOB_EVENT_CANCEL, NULL, NULL, &err), &err);
            need(storage_job_leave(store, id, JOB_EVENT_YIELD, NULL, NULL, NULL, &err), &err);
        } else if (i % 100 < 5) {
            need(storage_job_leave(store, id, JOB_EVENT_FAIL, NULL,
                                   "{\"code\":\"not_finite\",\"detail\":\"the loss is NaN\"}", NULL, &err),
                 &err);
        } else {
            need(storage_job_leave(store, id, JOB_EVENT_SUCCEED, result, NULL, NULL, &err), &err);
        }
    }
    return NULL;
}

static void fill_long(void)
{
    struct error err = {0};
    size_t count = (size_t)(points / 2 / LONG_JOBS);
    struct storage_point *list = calloc(count, sizeof *list);
    char id[STORAGE_ID];
    if (list == NULL)
        exit(1);
    for (size_t i = 0; i < count; i++)
        list[i] = (struct storage_point){(int64_t)i, curve((long)i)};
    struct storage_series series = {.name = "loss", .points = list, .count = count};
    struct storage_import in = {.kind = "sparling",
                                .preset = "digitcircle",
                                .name = "long",
                                .config = config,
                                .result = result,
                                .series = &series,
                                .series_count = 1};
    for (int i = 0; i < LONG_JOBS; i++)
        need(storage_job_import(store, &in, id, &(enum storage_submit_outcome){0}, &err), &err);
    free(list);
    printf("long %s\n", id);
}

/* Writes a checkpoint of a job. Storage keeps only the latest one, because all have the same accuracy and none ends a
 * stage. */
static long write_one(const char *id, const char *bytes, size_t count, long step)
{
    struct error err = {0};
    struct storage_checkpoint_new what = {.step = step, .samples = step, .density = 1, .accuracy = 0.9};
    struct storage_checkpoint_writer *writer;
    int64_t seq;
    need(storage_checkpoint_begin(store, id, &what, &writer, &err), &err);
    need(storage_checkpoint_write(writer, bytes, count, &err), &err);
    need(storage_checkpoint_commit(writer, &seq, &err), &err);
    return (long)count;
}

static void count_put_off(void *context, enum log_level level, const char *text)
{
    (void)level;
    if (strstr(text, "is interrupted") != NULL)
        atomic_fetch_add((atomic_int *)context, 1);
}

static int write_beside_check(const char *path, size_t megabytes, double most_seconds)
{
    struct error err = {0};
    atomic_int put_off = 0;
    struct storage_options options = {.path = path, .log = {&put_off, count_put_off}};
    struct storage_stats stats;
    char id[STORAGE_ID];
    char *bytes = malloc(megabytes << 20);
    int64_t most = 0;
    long written = 0, step = 0;
    if (bytes == NULL)
        return 1;
    for (size_t i = 0; i < megabytes << 20; i++)
        bytes[i] = (char)(i * 2654435761U >> 13);
    need(storage_open(&options, &store, &err), &err);
    struct storage_submit in = {.kind = "sparling", .preset = "digitcircle", .name = "writes", .config = "{}"};
    enum storage_submit_outcome outcome;
    need(storage_job_submit(store, &in, id, &outcome, &err), &err);
    need(storage_job_claim(store, id, &err), &err);
    need(storage_stats_read(store, &stats, &err), &err);
    if (stats.check != STORAGE_CHECK_RUNNING) {
        fprintf(stderr, "nothing is checked: was it closed?\n");
        return 1;
    }
    double start = now();
    while (stats.check == STORAGE_CHECK_RUNNING && now() - start < most_seconds) {
        written += write_one(id, bytes, megabytes << 20, ++step);
        need(storage_stats_read(store, &stats, &err), &err);
        most = stats.wal_bytes > most ? stats.wal_bytes : most;
    }
    double seconds = now() - start;
    printf("beside the check %.2f GB of checkpoints in %.1f s (%.0f MB/s); it was put off %d times; the log at most "
           "%.2f GB\n",
           1e-9 * (double)written, seconds, 1e-6 * (double)written / seconds, atomic_load(&put_off),
           1e-9 * (double)most);
    (void)fflush(stdout);
    while (stats.check == STORAGE_CHECK_RUNNING) {
        usleep(100000);
        need(storage_stats_read(store, &stats, &err), &err);
    }
    printf("the check: %s after %.1f s\n", storage_check_name(stats.check), now() - start);
    storage_close(store);
    free(bytes);
    return 0;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    pthread_t threads[THREADS];
    double start = now();
    if (argc == 5 && strcmp(argv[2], "write") == 0)
        return write_beside_check(argv[1], (size_t)atol(argv[3]), atof(argv[4]));
    if (argc != 6)
        return 2;
    struct storage_options options = {.path = argv[1], .durability = STORAGE_DURABLE_NOT};
    jobs = atol(argv[2]) - LONG_JOBS;
    points = atol(argv[3]);
    config = read_text(argv[4]);
    result = read_text(argv[5]);
    need(storage_open(&options, &store, &err), &err);
    fill_long();
    fprintf(stderr, "%d long series after %.0f s\n", LONG_JOBS, now() - start);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    fprintf(stderr, "%ld jobs after %.0f s\n", jobs, now() - start);
    storage_close(store);
    fprintf(stderr, "closed after %.0f s\n", now() - start);
    return 0;
}
