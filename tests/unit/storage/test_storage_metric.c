/* Tests metric series: appending points, removing the points after a step, reading a reduced series, and damaged
 * rows. */
#include "storage/series/pyramid.h"
#include "tests/unit/storage/storage_fixture.h"

#include <inttypes.h>

static void append(struct fixture *f, const char *id, const char *name, int64_t step, double value)
{
    struct storage_metric metric = {.name = name, .point = {step, value}};
    OK(storage_metric_append(f->storage, id, &metric, 1, &f->err));
}

static struct storage_series *read_all(struct fixture *f, const char *id, const char *name, int64_t since,
                                       int64_t max_points, size_t *count)
{
    struct storage_series *series;
    struct storage_metric_query query = {
        .names = name != NULL ? &name : NULL, .name_count = 1, .since = since, .max_points = max_points};
    OK(storage_metric_read(f->storage, id, &query, &f->arena, &series, count, &f->err));
    return series;
}

static void same_bits(double a, double b)
{
    if (isnan(a) && isnan(b))
        return;
    assert_memory_equal(&a, &b, sizeof a);
}

static void appended_points_are_read_back(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    size_t count;
    submit_running(f, id);
    const double values[] = {1.5, -0.0, 1e308, (double)NAN, (double)INFINITY, -(double)INFINITY, 5e-324};
    for (int i = 0; i < 7; i++) {
        append(f, id, "loss", 10 * i, values[i]);
        append(f, id, "accuracy", 10 * i, 0.125 * i);
    }
    OK(storage_flush(f->storage, &f->err));
    for (int round = 0; round < 2; round++) {
        struct storage_series *s = read_all(f, id, NULL, INT64_MIN, 0, &count);
        assert_int_equal(count, 2);
        assert_string_equal(s[0].name, "accuracy");
        assert_string_equal(s[1].name, "loss");
        assert_int_equal(s[1].count, 7);
        assert_int_equal(s[1].total, 7);
        for (int i = 0; i < 7; i++) {
            assert_int_equal(s[1].points[i].step, 10 * i);
            same_bits(s[1].points[i].value, values[i]);
        }
        s = read_all(f, id, "loss", 30, 0, &count);
        assert_int_equal(count, 1);
        assert_int_equal(s[0].count, 3);
        assert_int_equal(s[0].points[0].step, 40);
        s = read_all(f, id, "loss", 60, 0, &count);
        assert_int_equal(s[0].count, 0);
        (void)read_all(f, id, "nothing", INT64_MIN, 0, &count);
        assert_int_equal(count, 0);
        fixture_reopen(f);
    }
    struct storage_series *s;
    struct storage_metric_query query = {.since = INT64_MIN};
    REFUSED(STATUS_NOT_FOUND, storage_metric_read(f->storage, "no-such-job", &query, &f->arena, &s, &count, &f->err));
    query.max_points = -1;
    REFUSED(STATUS_INVALID, storage_metric_read(f->storage, id, &query, &f->arena, &s, &count, &f->err));
    struct storage_metric bad = {.name = "", .point = {0, 0}};
    REFUSED(STATUS_INVALID, storage_metric_append(f->storage, id, &bad, 1, &f->err));
    bad.name = "0123456789012345678901234567890123456789012345678901234567890123";
    REFUSED(STATUS_INVALID, storage_metric_append(f->storage, id, &bad, 1, &f->err));
}

static void points_at_earlier_steps_are_dropped(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    size_t count;
    struct storage_stats stats;
    submit_running(f, id);
    for (int i = 0; i <= 240; i++) /* 241 points: the last one begins a second block */
        append(f, id, "loss", i, i);
    append(f, id, "loss", 240, -1.0);
    append(f, id, "loss", 239, -2.0);
    OK(storage_flush(f->storage, &f->err));
    append(f, id, "loss", 240, -3.0);
    append(f, id, "loss", 5, -4.0);
    OK(storage_flush(f->storage, &f->err));
    struct storage_series *s = read_all(f, id, "loss", INT64_MIN, 0, &count);
    assert_int_equal(s[0].count, 241);
    for (int i = 0; i < 240; i++)
        assert_true(s[0].points[i].step == i && s[0].points[i].value == i);
    assert_true(s[0].points[240].step == 240 && s[0].points[240].value == -3.0);
    OK(storage_stats_read(f->storage, &stats, &f->err));
    assert_int_equal(stats.metric_points_dropped, 2);
}

/* Appends more series than one command of the queue stores, and more points than one command carries, for two jobs
 * at the same time. */
static void many_series_and_jobs_stay_apart(void **state)
{
    struct fixture *f = *state;
    char ids[2][STORAGE_ID], names[50][16];
    struct storage_metric *metrics = calloc(10000, sizeof *metrics);
    size_t count;
    submit_running(f, ids[0]);
    submit_running(f, ids[1]);
    for (int n = 0; n < 50; n++)
        (void)snprintf(names[n], sizeof names[n], "m%02d", n);
    for (int i = 0; i < 10000; i++)
        metrics[i] = (struct storage_metric){.name = names[i % 50], .point = {i, i * 0.5}};
    for (int i = 0; i < 10000; i += 100) /* alternate between the jobs, so that their batches interleave in the queue */
        for (int j = 0; j < 2; j++)
            OK(storage_metric_append(f->storage, ids[j], metrics + i, 100, &f->err));
    struct storage_metric more = {.name = "all", .point = {0, 1}};
    OK(storage_metric_append(f->storage, ids[0], &more, 1, &f->err));
    OK(storage_flush(f->storage, &f->err));
    for (int i = 0; i < 10000; i++)
        metrics[i].point.step += 10000;
    OK(storage_metric_append(f->storage, ids[1], metrics, 10000, &f->err));
    OK(storage_flush(f->storage, &f->err));
    struct storage_series *s = read_all(f, ids[0], NULL, INT64_MIN, 0, &count);
    assert_int_equal(count, 51);
    for (int n = 0; n < 50; n++) {
        assert_string_equal(s[n + 1].name, names[n]);
        assert_int_equal(s[n + 1].count, 200);
        for (int i = 0; i < 200; i++)
            assert_true(s[n + 1].points[i].step == i * 50 + n && s[n + 1].points[i].value == 0.5 * (i * 50 + n));
    }
    s = read_all(f, ids[1], NULL, INT64_MIN, 0, &count);
    assert_int_equal(count, 50);
    for (int n = 0; n < 50; n++)
        assert_int_equal(s[n].count, 400);
    free(metrics);
}

/* Removes the end of a series of three blocks at every step, and then appends new points. */
static void rewind_cuts_series_at_any_step(void **state)
{
    struct fixture *f = *state;
    f->options.durability = STORAGE_DURABLE_NOT;
    fixture_reopen(f);
    const int cuts[] = {-1, 0, 1, 238, 239, 240, 241, 300, 479, 480, 481, 499, 500, 10000};
    for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
        char id[STORAGE_ID];
        size_t count;
        int keep = cuts[c] < 500 ? cuts[c] + 1 : 500;
        submit_running(f, id);
        for (int i = 0; i < 500; i++)
            append(f, id, "loss", i, i);
        append(f, id, "late", 450, 1);
        /* no flush before this call: storage must execute it after the appends that are still in the queue */
        OK(storage_job_rewind(f->storage, id, cuts[c], &f->err));
        for (int i = keep; i < 600; i++)
            append(f, id, "loss", i, -i);
        OK(storage_flush(f->storage, &f->err));
        struct storage_series *s = read_all(f, id, "loss", INT64_MIN, 0, &count);
        assert_int_equal(s[0].count, 600);
        for (int i = 0; i < 600; i++)
            assert_true(s[0].points[i].step == i && s[0].points[i].value == (i < keep ? i : -i));
        (void)read_all(f, id, "late", INT64_MIN, 0, &count);
        assert_int_equal(count, cuts[c] >= 450);
        finish(f, id);
    }
    REFUSED(STATUS_NOT_FOUND, storage_job_rewind(f->storage, "no-such-job", 0, &f->err));
}

/* ---- reduced reading, against a simple version of the definition in storage.h ------------------------ */

static size_t naive(const struct storage_point *all, size_t n, int64_t since, int64_t max, struct storage_point *out)
{
    size_t start = 0, made = 0;
    while (start < n && all[start].step <= since)
        start++;
    const struct storage_point *p = all + start;
    n -= start;
    if (max > 0 && max < 3)
        max = 3;
    if (max == 0 || n <= (size_t)max) {
        memcpy(out, p, n * sizeof *p);
        return n;
    }
    size_t buckets = (size_t)max / 3;
    for (size_t b = 0; b < buckets; b++) {
        size_t from = b * n / buckets, to = (b + 1) * n / buckets;
        for (size_t i = from; i < to; i++) {
            bool smallest = !isnan(p[i].value), largest = !isnan(p[i].value);
            for (size_t j = from; j < to; j++) {
                if (p[j].value < p[i].value || (p[j].value == p[i].value && j < i))
                    smallest = false;
                if (p[j].value > p[i].value || (p[j].value == p[i].value && j < i))
                    largest = false;
            }
            if (smallest || largest || i == to - 1)
                out[made++] = p[i];
        }
    }
    return made;
}

static void reduced_series_follow_the_definition(void **state)
{
    struct fixture *f = *state;
    f->options.durability = STORAGE_DURABLE_NOT;
    fixture_reopen(f);
    uint64_t chance = 42;
    struct storage_point *all = calloc(3000, sizeof *all), *want = calloc(3000, sizeof *want);
    for (int round = 0; round < 40; round++) {
        char id[STORAGE_ID];
        size_t n = 1 + lcg(&chance) % 3000, count;
        int64_t step = -50;
        submit_running(f, id);
        for (size_t i = 0; i < n; i++) {
            step += 1 + lcg(&chance) % 7;
            double value = (double)(lcg(&chance) % (round % 2 == 0 ? 5 : 1000000)) - 2;
            if (round % 3 == 0 && lcg(&chance) % 4 == 0)
                value = lcg(&chance) % 3 == 0 ? (double)INFINITY : (double)NAN;
            if (round == 39)
                value = (double)NAN;
            all[i] = (struct storage_point){step, value};
            append(f, id, "x", step, value);
        }
        OK(storage_flush(f->storage, &f->err));
        for (int query = 0; query < 12; query++) {
            int64_t max = query == 0 ? 0 : query < 4 ? query : 1 + (int64_t)(lcg(&chance) % (n + 20));
            int64_t since = query % 2 == 0 ? INT64_MIN : -60 + (int64_t)(lcg(&chance) % (uint32_t)(step + 70));
            struct storage_series *s = read_all(f, id, "x", since, max, &count);
            size_t expected = naive(all, n, since, max, want);
            assert_int_equal(count, 1);
            assert_int_equal(s[0].count, expected);
            assert_true(max == 0 || s[0].count <= (size_t)(max < 3 ? 3 : max));
            for (size_t i = 0; i < expected; i++) {
                assert_int_equal(s[0].points[i].step, want[i].step);
                same_bits(s[0].points[i].value, want[i].value);
            }
        }
    }
    free(all);
    free(want);
}

/* ---- long series: summaries give the same result as the points --------------------------------------- */

#define LONG 70000 /* number of points; their summaries fill four rows of level 1, so level 2 exists */

static void fill_long(struct fixture *f, const char *id, struct storage_point *all, int from, int to)
{
    static struct storage_metric some[1000];
    for (int i = from; i < to;) {
        int count = to - i < 1000 ? to - i : 1000;
        for (int k = 0; k < count; k++)
            some[k] = (struct storage_metric){.name = "x", .point = all[i + k]};
        OK(storage_metric_append(f->storage, id, some, (size_t)count, &f->err));
        i += count;
    }
    OK(storage_flush(f->storage, &f->err));
}

/* Computes the points of one bucket in one pass, by the definition. */
static size_t bucket_of(const struct storage_point *p, size_t from, size_t to, struct storage_point out[3])
{
    size_t low = to, high = to, made = 0;
    for (size_t i = from; i < to; i++) {
        if (isnan(p[i].value))
            continue;
        low = low == to || p[i].value < p[low].value ? i : low;
        high = high == to || p[i].value > p[high].value ? i : high;
    }
    for (size_t i = from; i < to; i++)
        if (i == low || i == high || i == to - 1)
            out[made++] = p[i];
    return made;
}

static void check_long(struct fixture *f, const char *id, const struct storage_point *all, int n)
{
    static const int64_t sizes[] = {3, 6, 30, 100, 300, 900, 1500};
    struct storage_point want[3];
    size_t count;
    for (size_t q = 0; q < 3 * sizeof sizes / sizeof sizes[0]; q++) {
        int64_t max = sizes[q / 3], start = q % 3 == 0 ? 0 : q % 3 == 1 ? 777 : 20001, at = 0;
        struct storage_series *s = read_all(f, id, "x", start > 0 ? all[start - 1].step : INT64_MIN, max, &count);
        int64_t points = n - start, buckets = max / 3;
        assert_int_equal(s[0].total, points);
        for (int64_t b = 0; b < buckets; b++) {
            size_t made =
                bucket_of(all + start, (size_t)(b * points / buckets), (size_t)((b + 1) * points / buckets), want);
            for (size_t i = 0; i < made; i++, at++) {
                assert_int_equal(s[0].points[at].step, want[i].step);
                same_bits(s[0].points[at].value, want[i].value);
            }
        }
        assert_int_equal(s[0].count, at);
        arena_reset(&f->arena);
    }
}

static void summaries_give_the_same_result_as_points(void **state)
{
    struct fixture *f = *state;
    f->options.durability = STORAGE_DURABLE_NOT;
    fixture_reopen(f);
    char id[STORAGE_ID];
    uint64_t chance = 7;
    struct storage_point *all = calloc(LONG, sizeof *all);
    assert_non_null(all);
    for (int i = 0; i < LONG; i++)
        all[i] =
            (struct storage_point){.step = 3 * i, .value = i % 5 == 0 ? (double)NAN : (double)(lcg(&chance) % 10000)};
    submit_running(f, id);
    fill_long(f, id, all, 0, LONG);
    check_long(f, id, all, LONG);
    /* Every block of points but the last has a summary in level 1. A row of level 1 contains the summaries of 64
     * blocks, and each full row has one summary in level 2. */
    int64_t sealed = (LONG - 1) / 240;
    assert_int_equal(file_integer(f, "SELECT sum(length(summaries)) / 48 FROM pyramid WHERE level = 1"), sealed);
    assert_int_equal(file_integer(f, "SELECT sum(length(summaries)) / 48 FROM pyramid WHERE level = 2"), sealed / 64);
    /* Cuts the series at the ends of blocks and rows, and beside these ends, and then appends points. */
    const int cuts[] = {69999, 69121, 69120, 46080, 46079, 30720, 30481, 15361, 15360, 15359, 241, 240, 1, 0};
    for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
        OK(storage_job_rewind(f->storage, id, 3 * (cuts[c] - 1), &f->err));
        int until = cuts[c] + 2000 < LONG ? cuts[c] + 2000 : LONG;
        for (int i = cuts[c]; i < until; i++)
            all[i].value = (double)(lcg(&chance) % 20000) - 5000.0;
        fill_long(f, id, all, cuts[c], until);
        if (until > 25000) {
            check_long(f, id, all, until);
        } else { /* the series is too short for the queries of check_long() */
            size_t count;
            struct storage_series *s = read_all(f, id, "x", INT64_MIN, 3, &count);
            struct storage_point want[3];
            assert_int_equal(s[0].count, bucket_of(all, 0, (size_t)until, want));
            assert_memory_equal(s[0].points, want, s[0].count * sizeof want[0]);
        }
    }
    free(all);
}

/* A missing summary is reported as damage. A deleted job leaves no summaries. */
static void missing_summary_is_reported(void **state)
{
    struct fixture *f = *state;
    f->options.durability = STORAGE_DURABLE_NOT;
    fixture_reopen(f);
    char id[STORAGE_ID];
    struct storage_point *all = calloc(LONG, sizeof *all);
    assert_non_null(all);
    for (int i = 0; i < LONG; i++)
        all[i] = (struct storage_point){.step = i, .value = sin(0.01 * i)};
    submit_running(f, id);
    append(f, id, "short", 1, 1);
    fill_long(f, id, all, 0, LONG);
    check_long(f, id, all, LONG);
    fixture_close(f);
    sqlite3 *db = open_to_change(f->path);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM pyramid WHERE level = 1 AND number = 2", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    fixture_open(f);
    struct storage_series *series;
    size_t count;
    struct storage_metric_query query = {.since = INT64_MIN, .max_points = 300};
    REFUSED(STATUS_CORRUPT, storage_metric_read(f->storage, id, &query, &f->arena, &series, &count, &f->err));
    OK(storage_job_request(f->storage, id, JOB_EVENT_CANCEL, NULL, NULL, &f->err));
    OK(storage_job_delete(f->storage, id, &f->err));
    await_integer(f, "SELECT count(*) FROM pending_delete", 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM pyramid"), 0);
    free(all);
}

/* A block with impossible content is reported as damaged. */
static void damaged_blocks_are_reported(void **state)
{
    static const char *const damage[] = {
        "UPDATE block SET points = zeroblob(16*300) WHERE id & 0xffffff = 0",
        "UPDATE block SET points = zeroblob(16*10) WHERE id & 0xffffff = 1",
        "DELETE FROM block WHERE id & 0xffffff = 1",
    };
    struct fixture *f = *state;
    for (size_t d = 0; d < sizeof damage / sizeof damage[0]; d++) {
        char id[STORAGE_ID];
        struct storage_series *series;
        size_t count;
        submit_running(f, id);
        for (int i = 0; i < 1000; i++)
            append(f, id, "x", i, i);
        fixture_close(f);
        sqlite3 *db = open_to_change(f->path);
        assert_int_equal(sqlite3_exec(db, damage[d], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        fixture_open(f);
        struct storage_metric_query query = {.since = INT64_MIN};
        REFUSED(STATUS_CORRUPT, storage_metric_read(f->storage, id, &query, &f->arena, &series, &count, &f->err));
        assert_int_equal(count, 0);
        OK(storage_job_request(f->storage, id, JOB_EVENT_CANCEL, NULL, NULL, &f->err));
        OK(storage_job_delete(f->storage, id, &f->err));
        await_integer(f, "SELECT count(*) FROM pending_delete", 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OPEN(appended_points_are_read_back),
        TEST_OPEN(points_at_earlier_steps_are_dropped),
        TEST_OPEN(many_series_and_jobs_stay_apart),
        TEST_OPEN(rewind_cuts_series_at_any_step),
        TEST_OPEN(reduced_series_follow_the_definition),
        TEST_OPEN(damaged_blocks_are_reported),
        TEST_OPEN(summaries_give_the_same_result_as_points),
        TEST_OPEN(missing_summary_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
