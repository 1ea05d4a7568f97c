/* Tests that the reader of bigWig files gives the means of the values that libBigWig has written. A file that was
 * cut off or changed gives an error. */
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "tests/support/looks.h"
#include "core/base/descriptor.h"
#include "core/base/random/philox.h"
#include "core/genomics/files/bigwig.h"
#include "core/genomics/files/bigwig_read.h"

enum { CHROMOSOMES = 700, FIRST = 400000, OTHERS = 1000, INTERVALS = 60000, BINS = 5 };
static struct bigwig_interval interval[INTERVALS + CHROMOSOMES];
static int intervals;
static char name_room[CHROMOSOMES][16];
static const char *name[CHROMOSOMES];
static uint32_t length[CHROMOSOMES];
static struct buf bytes;

/* Makes a file with many blocks on its first chromosome, and one value on each of the others. */
static int setup(void **state)
{
    struct philox random = philox_stream(3, 1, 0);
    uint64_t drawn = 0;
    struct error err = {0};
    for (int c = 0; c < CHROMOSOMES; c++) {
        snprintf(name_room[c], sizeof name_room[c], "chr%d", c);
        name[c] = name_room[c];
        length[c] = c == 0 ? FIRST : OTHERS;
    }
    for (uint32_t at = 0; intervals < INTERVALS;) {
        uint32_t from = at + philox_u32(&random, drawn++) % 4, to = from + 1 + philox_u32(&random, drawn++) % 5;
        if (to > FIRST)
            break;
        float value = (float)philox_uniform(&random, drawn++) - 0.3F;
        interval[intervals++] = (struct bigwig_interval){0, from, to, value};
        at = to;
    }
    for (int c = 1; c < CHROMOSOMES; c++)
        interval[intervals++] = (struct bigwig_interval){c, 100, 200, (float)c};
    buf_init(&bytes, 1 << 26);
    enum status status = bigwig_write(name, length, CHROMOSOMES, interval, (size_t)intervals, NULL, &bytes, &err);
    return status == STATUS_OK || status == STATUS_CONFLICT ? 0 : -1;
}

static int teardown(void **state)
{
    buf_close(&bytes);
    return 0;
}

/* Opens a file with these bytes. */
static enum status open_bytes(const char *from, size_t count, struct bigwig **file)
{
    char path[64];
    struct error err = {0};
    int memory = memfd_create("bigwig", MFD_CLOEXEC);
    assert_true(memory >= 0 && write(memory, from, count) == (ssize_t)count);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    enum status status = bigwig_open(path, "signal.bw", file, &err);
    assert_true(status == STATUS_OK || strcmp(err.message, "signal.bw is no bigWig file") == 0);
    descriptor_close(&memory);
    return status;
}

static double plain_mean(int chromosome, int64_t start, int64_t end)
{
    double sum = 0;
    for (int i = 0; i < intervals; i++) {
        const struct bigwig_interval *x = &interval[i];
        int64_t from = x->start > start ? x->start : start, to = x->end < end ? x->end : end;
        if ((int)x->chromosome == chromosome && from < to)
            sum += (double)x->value * (double)(to - from);
    }
    return sum / (double)(end - start);
}

static void means_are_those_of_the_written_values(void **state)
{
    struct bigwig *file;
    struct error err = {0};
    struct philox random = philox_stream(4, 1, 0);
    if (bytes.size == 0)
        skip(); /* this build writes no bigWig files */
    assert_int_equal(open_bytes(bytes.data, bytes.size, &file), STATUS_OK);
    assert_int_equal(bigwig_length(file, "chr0"), FIRST);
    assert_int_equal(bigwig_length(file, "chr699"), OTHERS);
    assert_int_equal(bigwig_length(file, "chr700"), -1);
    for (uint64_t i = 0; i < 60; i++) {
        int c = i % 2 ? (int)(philox_u32(&random, 4 * i) % CHROMOSOMES) : 0;
        int64_t most = length[c], start = philox_u32(&random, 4 * i + 1) % (most - BINS),
                end = start + BINS + philox_u32(&random, 4 * i + 2) % (most - start - BINS + 1);
        double mean[BINS];
        assert_int_equal(bigwig_means(file, name[c], start, end, BINS, mean, &err), STATUS_OK);
        for (int bin = 0; bin < BINS; bin++) {
            double expected =
                plain_mean(c, start + (end - start) * bin / BINS, start + (end - start) * (bin + 1) / BINS);
            assert_true(fabs(mean[bin] - expected) < 1e-9 * (1 + fabs(expected)));
        }
    }
    bigwig_close(file);
}

static void files_that_were_cut_off_or_changed_give_errors(void **state)
{
    int refused = 0, unreadable = 0;
    char *changed = malloc(bytes.size + 1);
    struct philox random = philox_stream(5, 1, 0);
    assert_non_null(changed);
    if (bytes.size == 0) {
        free(changed);
        skip();
    }
    for (uint64_t i = 0; i < 200; i++) {
        size_t count = i < 100 ? bytes.size * i / 100 : bytes.size;
        struct bigwig *file;
        struct error err = {0};
        double mean[BINS];
        memcpy(changed, bytes.data, count);
        for (uint64_t j = 0; i >= 100 && j < 40; j++)
            changed[philox_u32(&random, 100 * i + 2 * j) % count] = (char)philox_u32(&random, 100 * i + 2 * j + 1);
        if (open_bytes(changed, count, &file)) {
            refused++;
            continue;
        }
        int64_t found = bigwig_length(file, "chr0");
        unreadable += found >= BINS && bigwig_means(file, "chr0", 0, found, BINS, mean, &err) == STATUS_CORRUPT;
        bigwig_close(file);
    }
    assert_true(refused >= 20 && unreadable >= 20);
    free(changed);
}

/* A file without its index would be damaged, so nothing is written. */
static void writing_ends_wherever_its_budget_ends(void **state)
{
    bool written = bytes.size == 0; /* this build writes no bigWig files */
    for (int n = 0; !written; n += 1 + n / 2) {
        struct looks looks;
        struct buf out;
        struct error err = {0};
        looks_open(&looks, n);
        buf_init(&out, 1 << 26);
        enum status status =
            bigwig_write(name, length, CHROMOSOMES, interval, (size_t)intervals, &looks.work, &out, &err);
        written = !looks.ended;
        assert_int_equal(status, written ? STATUS_OK : STATUS_CANCELLED);
        assert_int_equal(out.size, written ? bytes.size : 0);
        assert_true(n < 100000 && (!written || n > CHROMOSOMES));
        buf_close(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_are_those_of_the_written_values),
        cmocka_unit_test(writing_ends_wherever_its_budget_ends),
        cmocka_unit_test(files_that_were_cut_off_or_changed_give_errors),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
