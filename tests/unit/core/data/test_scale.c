/* Tests the scales of tables: each kind against plain formulas, the way back, checkpoints, warnings and faults. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/base/buf.h"
#include "core/base/random/philox.h"
#include "core/data/scale.h"
#include "core/data/uploads/collection.h"
#include "tests/support/assert_ok.h"
#include "tests/support/text_sink.h"

enum { ROWS = 101, COLUMNS = 18 };

static float draw(uint64_t *at)
{
    struct philox from = philox_stream(7, 1, 0);
    return (float)philox_normal(&from, (*at)++);
}

/* Columns of very different sizes: column j is about 10^(j - 4), column 3 is constant, column 4 is nearly always 0,
 * column 5 is about 10^30. Counts are whole and not negative. */
static void fill(float *x, bool counts)
{
    uint64_t at = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double size = j == 5 ? 1e30 : pow(10, j % 11 - 4), value = size * (3 + (double)draw(&at));
            value = j == 3 ? 1976.1 : j == 4 ? (i % 20 == 0 ? 7.5 : 0) : value;
            x[i * COLUMNS + j] = (float)(counts ? floor(exp(2 + 2 * (double)draw(&at))) : value);
        }
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The scaled value of row i, column j by the formulas of scale.h; rows from `first` on are measured. */
static double expected(enum collection_scale kind, const float *x, int first, int i, int j)
{
    double totals[ROWS], v[ROWS], mean = 0, square = 0;
    int n = 0;
    for (int r = 0; r < ROWS; r++) {
        totals[r] = 0;
        for (int c = 0; c < COLUMNS; c++)
            totals[r] += (double)x[r * COLUMNS + c];
    }
    double size[ROWS];
    memcpy(size, totals, sizeof size);
    qsort(size + first, ROWS - (size_t)first, sizeof *size, rising);
    double median = (size[first + (ROWS - first - 1) / 2] + size[first + (ROWS - first) / 2]) / 2;
    double own = (double)x[i * COLUMNS + j];
    own = kind == SCALE_COUNTS ? log1p(own * median / totals[i]) : own;
    for (int r = first; r < ROWS; r++) {
        double value = (double)x[r * COLUMNS + j];
        v[n++] = kind == SCALE_COUNTS ? log1p(value * median / totals[r]) : value;
    }
    for (int r = 0; r < n; r++)
        mean += v[r] / n;
    for (int r = 0; r < n; r++)
        square += (v[r] - mean) * (v[r] - mean) / n;
    qsort(v, (size_t)n, sizeof *v, rising);
    double deviation = sqrt(square);
    if (kind == SCALE_NONE)
        return own;
    if (!(v[n - 1] > v[0]))
        return own - v[0];
    if (kind != SCALE_ROBUST)
        return (own - mean) / deviation;
    assert_int_equal((n - 1) % 4, 0); /* the quartiles are values */
    double range = v[(n - 1) / 4 * 3] - v[(n - 1) / 4];
    return (own - v[(n - 1) / 2]) / (range > 0 ? range / 1.34898 : deviation);
}

static void every_kind_follows_its_formula_and_comes_back(void **state)
{
    static float x[ROWS * COLUMNS];
    int rows[ROWS];
    for (int kind = SCALE_NONE; kind <= SCALE_COUNTS; kind++)
        for (int first = 0; first <= 20; first += 20) {
            struct scale s;
            fill(x, kind == SCALE_COUNTS);
            for (int i = first; i < ROWS; i++)
                rows[i - first] = i;
            assert_ok(scale_fit((enum collection_scale)kind, true, x, rows, ROWS - first, COLUMNS, NULL,
                                "/config/scale", &s, err));
            for (int i = 0; i < ROWS; i++) {
                float y[COLUMNS], back[COLUMNS];
                const float *row = x + (ptrdiff_t)i * COLUMNS;
                memcpy(y, row, sizeof y);
                assert_ok(scale_row(&s, y, err));
                for (int j = 0; j < COLUMNS; j++) {
                    double want = expected((enum collection_scale)kind, x, first, i, j);
                    if (!(fabs((double)y[j] - want) <= 1e-5 * (1 + fabs(want))))
                        fail_msg("kind %d, row %d, column %d: %g, not %g", kind, i, j, (double)y[j], want);
                }
                scale_undo(&s, row, y, back);
                for (int j = 0; j < COLUMNS; j++)
                    if (!(fabs((double)back[j] - (double)row[j]) <= 1e-4 * (fabs((double)row[j]) + s.unit[j])))
                        fail_msg("kind %d, row %d, column %d: %g came back as %g", kind, i, j, (double)row[j],
                                 (double)back[j]);
            }
            scale_close(&s);
        }
}

static void without_shifts_zero_stays_zero(void **state)
{
    static float x[ROWS * COLUMNS];
    float y[COLUMNS] = {0};
    for (int kind = SCALE_STANDARD; kind <= SCALE_COUNTS; kind++) {
        struct scale s;
        fill(x, true);
        assert_ok(
            scale_fit((enum collection_scale)kind, false, x, NULL, ROWS, COLUMNS, NULL, "/config/scale", &s, err));
        assert_ok(scale_row(&s, y, err));
        for (int j = 0; j < COLUMNS; j++)
            assert_true(y[j] == 0 && s.unit[j] > 0 && s.low[j] >= 0);
        scale_close(&s);
    }
}

static enum status append(void *context, const void *bytes, size_t count, struct error *err)
{
    buf_append(context, bytes, count);
    return STATUS_OK;
}

static enum status append_file(void *context, const void *bytes, size_t count, struct error *err)
{
    (void)err;
    return fwrite(bytes, 1, count, context) == count ? STATUS_OK : STATUS_IO;
}

static enum status take(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct buf *from = context;
    if (offset + count > from->size)
        return error_set(err, STATUS_CORRUPT, NULL, "the end");
    memcpy(bytes, from->data + offset, count);
    return STATUS_OK;
}

static void write_scale(struct scale *s, struct buf *to)
{
    struct snapshot *snapshot;
    int64_t other = 1;
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("other", &other)};
    to->size = 0;
    assert_ok(snapshot_create(&snapshot, err));
    assert_ok(snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err));
    if (s)
        assert_ok(scale_snapshot(s, "", snapshot, err));
    assert_ok(snapshot_write(snapshot, &(struct snapshot_writer){to, append}, err));
    snapshot_destroy(snapshot);
}

static void checkpoints_keep_the_scale(void **state)
{
    static float x[ROWS * COLUMNS];
    struct scale s, again;
    struct buf stream;
    buf_init(&stream, 1 << 20);
    fill(x, true);
    assert_ok(scale_fit(SCALE_COUNTS, true, x, NULL, ROWS, COLUMNS, NULL, "/config/scale", &s, err));
    write_scale(&s, &stream);
    struct snapshot_reader from = {&stream, stream.size, take};
    assert_ok(scale_load(&from, "", SCALE_COUNTS, COLUMNS, &again, err));
    assert_true(again.columns == COLUMNS && again.size == s.size);
    assert_memory_equal(again.shift, s.shift, 4 * COLUMNS * sizeof *s.shift);
    scale_close(&again);
    assert_int_equal(scale_load(&from, "", SCALE_COUNTS, COLUMNS - 1, &again, NULL), STATUS_CORRUPT);
    scale_close(&again);
    s.unit[COLUMNS - 1] = -1;
    write_scale(&s, &stream);
    from.total_bytes = stream.size;
    assert_int_equal(scale_load(&from, "", SCALE_COUNTS, COLUMNS, &again, NULL), STATUS_CORRUPT);
    scale_close(&again);
    /* a checkpoint of a former version has no scale, and rows stay as they are */
    write_scale(NULL, &stream);
    from.total_bytes = stream.size;
    assert_ok(scale_load(&from, "", SCALE_STANDARD, COLUMNS, &again, err));
    assert_int_equal(again.columns, 0);
    assert_ok(scale_row(&again, x, err));
    scale_close(&again);
    scale_close(&s);
    buf_close(&stream);
}

static void faults_and_unusual_rows_are_named(void **state)
{
    static char *names[] = {"area", "price"};
    const float x[] = {1, 100, 2, -200, 3, 300};
    struct scale s;
    struct error error = {0};
    struct buf text;
    buf_init(&text, 4096);
    assert_int_equal(scale_fit(SCALE_COUNTS, true, x, NULL, 3, 2, names, "/config/scale", &s, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "row 2 has -200 in column price"));
    scale_close(&s);
    assert_ok(scale_fit(SCALE_STANDARD, true, x, NULL, 3, 2, names, "/config/scale", &s, err));
    const struct sink out = text_sink(&text);
    scale_warn(&s, (const float[]){2, 500}, names, &out); /* within the width of the range */
    assert_int_equal(text.size, 0);
    scale_warn(&s, (const float[]){2, 1e9F}, names, &out);
    buf_append(&text, "", 1);
    assert_true(strstr(text.data, "outside-range") && strstr(text.data, "1e+09 of column price"));
    buf_close(&text);
    scale_close(&s);
    const float counts[] = {1, 2, 3, 4};
    float negative[] = {1, -1};
    struct error refused = {0};
    assert_ok(scale_fit(SCALE_COUNTS, true, counts, NULL, 2, 2, NULL, "/config/scale", &s, err));
    assert_int_equal(scale_row(&s, negative, &refused), STATUS_INVALID);
    assert_non_null(strstr(refused.message, "element 1 is -1"));
    scale_close(&s);
}

/* ---- uploads -------------------------------------------------------------------------------------------------- */

static enum status upload(const char *text, enum collection_scale scale, struct collection *c, struct error *error)
{
    struct byte_source_memory memory = {(const unsigned char *)text, strlen(text), 0};
    const struct byte_source from = byte_source_of_memory(&memory);
    const struct collection_limits limits = COLLECTION_LIMITS;
    struct collection_options options = {.stated = 0};
    collection_options_clear(&options);
    options.scale = scale;
    *error = (struct error){0};
    return collection_read(collection_format_named("csv"), &from, &options, &limits, c, error);
}

static bool warns(const struct collection *c, const char *code, const char *says)
{
    for (int i = 0; i < c->warnings; i++)
        if (strcmp(c->warning[i].code, code) == 0 && strstr(c->warning[i].text, says))
            return true;
    return false;
}

static void uploads_say_how_jobs_scale_them(void **state)
{
    static const char houses[] = "area,price\n50.5,100000\n70,250000\n90,300000\n";
    struct collection c, stored;
    struct error error;
    char wide[4096], path[] = "/tmp/motifd-scale-XXXXXX";
    assert_ok(upload(houses, SCALE_AUTO, &c, &error));
    assert_int_equal(collection_scale_of(&c), SCALE_STANDARD);
    assert_true(warns(&c, "different-sizes", "that of 'area'"));
    collection_close(&c);
    assert_ok(upload(houses, SCALE_COUNTS, &c, &error));
    assert_true(warns(&c, "counts-not-whole", "row 1, column 'area' has 50.5"));
    /* the stored form keeps the choice */
    int file = mkstemp(path);
    assert_true(file >= 0);
    FILE *out = fdopen(file, "wb");
    assert_non_null(out);
    assert_ok(collection_write(&c, &(struct snapshot_writer){out, append_file}, &error));
    collection_close(&c);
    assert_int_equal(fclose(out), 0);
    assert_ok(collection_open(path, &stored, &error));
    assert_true(stored.scale == SCALE_COUNTS && collection_scale_of(&stored) == SCALE_COUNTS);
    collection_close(&stored);
    unlink(path);
    assert_int_equal(upload("a,b\n1,2\n3,-4\n", SCALE_COUNTS, &c, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "row 2, column 'b' has -4"));
    /* molecules in twelve genes; with a pixel of 255 they are a picture */
    for (int pixel = 0; pixel < 2; pixel++) {
        int used = sprintf(wide, "a,b,c,d,e,f,g,h,i,j,k,l\n");
        for (int i = 0; i < 20; i++)
            for (int j = 0; j < 12; j++)
                used += sprintf(wide + used, "%d%c",
                                (i + j) % 3           ? 0
                                : i + j == 9 && pixel ? 255
                                                      : i * j,
                                j < 11 ? ',' : '\n');
        assert_ok(upload(wide, SCALE_AUTO, &c, &error));
        assert_int_equal(collection_scale_of(&c), pixel ? SCALE_STANDARD : SCALE_COUNTS);
        collection_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_follows_its_formula_and_comes_back),
        cmocka_unit_test(without_shifts_zero_stays_zero),
        cmocka_unit_test(checkpoints_keep_the_scale),
        cmocka_unit_test(faults_and_unusual_rows_are_named),
        cmocka_unit_test(uploads_say_how_jobs_scale_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
