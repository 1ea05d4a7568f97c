/* Checks the pictures of a model by the tables that are stored with them. Also lets each allocation fail. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/draw/png.h"
#include "core/methods/superposition/run_int.h"
#include "core/methods/registry.h"
#include "tests/support/fault.h"
#include "tests/support/run_test.h"

enum { FILES = 8 };
struct drawn {
    struct run_env environment;
    struct method_run *run;
    char name[FILES][32];
    char *bytes[FILES];
    size_t count[FILES];
    int files;
};

static void forget(struct drawn *d)
{
    for (int i = 0; i < d->files; i++)
        test_free(d->bytes[i]);
    d->files = 0;
}

/* Keeps a copy of each file that the run publishes, with a NUL behind it. Asserts that each file is a PNG picture or a
 * CSV table. */
static void keep(void *watcher, const char *name, const char *media_type, const void *bytes, size_t count)
{
    struct drawn *d = watcher;
    bool png = strcmp(media_type, "image/png") == 0;
    assert_true(d->files < FILES && (png || strcmp(media_type, "text/csv") == 0));
    snprintf(d->name[d->files], sizeof d->name[0], "%s", name);
    d->bytes[d->files] = test_malloc(count + 1);
    memcpy(d->bytes[d->files], bytes, count);
    d->bytes[d->files][count] = '\0';
    d->count[d->files++] = count;
}

static void begin(struct drawn *d, const struct config_setting *more)
{
    static const struct config_setting small[] = {{"test_samples", "40"}, {"total_samples", "60"}, {"batch", "20"},
                                                  {"block", "0"},         {"stop", "never"},       {NULL, NULL}};
    struct superposition_config config;
    enum method_request request = METHOD_CONTINUE;
    memset(d, 0, sizeof *d);
    assert_ok(run_env_open(&d->environment, 1, NULL, err));
    d->environment.watcher = d;
    d->environment.artifact = keep;
    run_test_configure(&superposition_method, &config, small);
    assert_ok(config_apply(&superposition_config_table, &config, more, err));
    d->run = run_test_start(&superposition_method, &d->environment, &config);
    while (request != METHOD_DONE)
        assert_ok(run_env_step(&d->environment, &superposition_method, d->run, &request, err));
}

static void end(struct drawn *d)
{
    superposition_method.destroy(d->run);
    run_env_close(&d->environment);
    forget(d);
}

/* Finds the table that is stored with the picture of that name. */
static const char *table_of(const struct drawn *d, const char *name)
{
    char png[40], csv[40];
    const char *found = NULL;
    int pictures = 0;
    snprintf(png, sizeof png, "%s.png", name);
    snprintf(csv, sizeof csv, "%s.csv", name);
    for (int i = 0; i < d->files; i++) {
        if (strcmp(d->name[i], csv) == 0)
            found = d->bytes[i];
        if (strcmp(d->name[i], png) == 0) {
            float *values;
            int rows, cols;
            assert_ok(png_decode_grey(d->bytes[i], d->count[i], PNG_MAX_SIDE, &values, &rows, &cols, err));
            assert_true(rows > 200 && cols > 200);
            free(values);
            pictures++;
        }
    }
    if (!found || pictures != 1)
        fail_msg("no %s", csv);
    assert_memory_equal(found, "panel,series,x,y,low,high,value\n", 32);
    return found;
}

struct row {
    double x, y, low, high, value;
};

/* Reads the rows of a panel and a series (both as named in the table), at most `room`. Returns the number of rows. */
static int rows_of(const char *table, const char *panel, const char *series, struct row *rows, int room)
{
    char begin_with[160];
    int count = 0;
    size_t bytes = (size_t)snprintf(begin_with, sizeof begin_with, "%s,%s,", panel, series);
    for (const char *line = table; line && *line; line = strchr(line, '\n') + 1) {
        if (strncmp(line, begin_with, bytes) != 0)
            continue;
        double *const to[] = {&rows[count].x, &rows[count].y, &rows[count].low, &rows[count].high, &rows[count].value};
        const char *at = line + bytes;
        for (int i = 0; i < 5; i++, at += *at == ',') {
            char *rest;
            double number = strtod(at, &rest);
            *to[i] = rest > at ? number : NAN;
            at = rest;
        }
        assert_true(*at == '\n' && count < room);
        count++;
    }
    return count;
}

static void assert_close(double a, double b)
{
    if (!(fabs(a - b) <= 1e-7 * fabs(b) + 1e-12))
        fail_msg("%.9g, not %.9g", a, b);
}

static void a_single_model_gets_its_three_pictures(void **state)
{
    static const char *const models[] = {"trained", "rug", "linear"};
    for (int i = 0; i < 3; i++) {
        struct drawn d;
        struct row rows[16 * 18];
        begin(&d, (const struct config_setting[]){{"model", models[i]}, {"n_s", "16"}, {"ratio", "0.5"}, {NULL, NULL}});
        const char *matrix = table_of(&d, i == 0 ? "matrix" : "rug"), *features = table_of(&d, "features");
        int cells = rows_of(matrix, "", "weight", rows, 16 * 18), cols = i == 0 ? 18 : 16;
        assert_int_equal(cells, 16 * cols);
        struct row diagonal[16];
        assert_int_equal(rows_of(features, "Diagonal and bias", "W_ii", diagonal, 16), 16);
        for (int k = 0; k < 16; k++)
            assert_close(rows[k * cols + k].value, diagonal[k].y);
        /* the picture of the trained model also has an empty column, and then a column with the bias */
        if (i == 0) {
            struct row bias[16];
            assert_int_equal(rows_of(features, "Diagonal and bias", "bias", bias, 16), 16);
            for (int k = 0; k < 16; k++)
                assert_true(isnan(rows[k * cols + 16].value) && fabs(rows[k * cols + 17].value - bias[k].y) < 1e-9);
        }
        end(&d);
    }
}

/* If there is no receiver for files, or in an evaluation job, the run draws nothing. */
static void nothing_is_drawn_without_a_receiver(void **state)
{
    struct drawn d;
    begin(&d, (const struct config_setting[]){{"model", "linear"}, {"n_s", "16"}, {NULL, NULL}});
    forget(&d);
    d.run->base.alone = 1;
    assert_ok(plots_write(d.run, err));
    d.run->base.alone = 0;
    d.run->base.env.artifact = NULL;
    assert_ok(plots_write(d.run, err));
    assert_int_equal(d.files, 0);
    end(&d);
}

/* Lets each allocation fail, one at a time (some are skipped unless MOTIF_FAULT_STRIDE=1). The run reports the failure
 * and publishes no partial file. */
static void failed_allocations_leave_no_partial_file(void **state)
{
    static const char *const models[] = {"trained", "rug", "linear"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct drawn d;
        begin(&d, (const struct config_setting[]){{"model", models[i]}, {"n_s", "16"}, {"ratio", "0.5"}, {NULL, NULL}});
        size_t bytes = d.count[d.files - 1];
        char *wanted = test_malloc(bytes);
        memcpy(wanted, d.bytes[d.files - 1], bytes);
        int all = d.files, failed = 0;
        for (int n = 0, stride = fault_stride(4);; n += stride) {
            struct error err = {0};
            forget(&d);
            fault_after(n);
            enum status status = plots_write(d.run, &err);
            if (!fault_happened()) {
                assert_int_equal(status, STATUS_OK);
                break;
            }
            failed += status != STATUS_OK;
            if (status)
                assert_true(status == STATUS_NO_MEMORY && err.message[0] && d.files < all);
            else if (d.count[d.files - 1] != bytes || memcmp(d.bytes[d.files - 1], wanted, bytes) != 0)
                fail_msg("%s: allocation %d fails, and the table is another", models[i], n);
        }
        assert_true(failed >= 2 && d.count[d.files - 1] == bytes && memcmp(d.bytes[d.files - 1], wanted, bytes) == 0);
        test_free(wanted);
        end(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_single_model_gets_its_three_pictures),
                                       cmocka_unit_test(nothing_is_drawn_without_a_receiver),
                                       cmocka_unit_test(failed_allocations_leave_no_partial_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
