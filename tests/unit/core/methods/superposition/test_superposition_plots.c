/* Checks the pictures of experiments by the tables that are stored with them. The tables contain the lines of the
 * theory and the measured points, and no series of other experiments. Also lets each allocation fail. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/draw/png.h"
#include "core/methods/superposition/run_int.h"
#include "core/methods/superposition/superposition.h"
#include "tests/support/fault.h"
#include "tests/support/run_test.h"

enum { FILES = 8, FINE = 81 };
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

static void chart_of_losses_against_the_ratio_has_theory_and_points(void **state)
{
    struct drawn d;
    struct row rows[FINE], gaps[FINE];
    begin(&d, (const struct config_setting[]){{"experiment", "loss-ratio"},
                                              {"models", "rug,linear"},
                                              {"sizes", "32,64"},
                                              {"ps", "0.1,0.3"},
                                              {"ratios", "0.25,0.5,0.75"},
                                              {"draws", "2"},
                                              {NULL, NULL}});
    const char *table = table_of(&d, "loss-ratio");
    assert_int_equal(rows_of(table, "p = 0.3", "\"closed form, ReLU\"", rows, FINE), FINE);
    for (int i = 0; i < FINE; i++) {
        assert_close(rows[i].x, 0.25 + 0.5 * i / (FINE - 1));
        assert_true(fabs(rows[i].y / theory_optimum(0.3, theory_sigma(0.3, rows[i].x)).loss - 1) < 1e-6 &&
                    isnan(rows[i].low));
    }
    assert_int_equal(rows_of(table, "p = 0.1", "best linear", rows, FINE), FINE);
    assert_close(rows[0].y, theory_linear(0.1, 0.25));
    /* antipodal pairs are defined for ratios n_d / n_s of at least one half */
    assert_int_equal(rows_of(table, "p = 0.1", "antipodal pairs", rows, FINE), FINE);
    assert_true(isnan(rows[0].y) && fabs(rows[FINE - 1].y - theory_pairs(0.1, 0.75)) < 1e-9);
    assert_int_equal(rows_of(table, "p = 0.1", "\"closed form, line above a cut\"", rows, FINE), 0);
    int points = 0;
    for (int i = 0; i < d.run->sweep.count; i++) {
        const struct superposition_case *c = &d.run->cases[i];
        const struct outcome *o = &d.run->outcomes[i];
        char panel[32], series[32];
        bool rug = c->model == MODEL_RUG;
        snprintf(panel, sizeof panel, "p = %.3g", c->p);
        snprintf(series, sizeof series, "\"%s, n_s = %d\"", rug ? "rug" : "linear", c->n_s);
        int count = rows_of(table, panel, series, rows, FINE), same = 0;
        assert_int_equal(count, 3);
        /* In this panel, the series has one point for each of three ratios n_d / n_s and two values of p. The point
         * shows by how many percent the measured loss exceeds the predicted one. */
        assert_int_equal(rows_of(table, "measured over predicted", series, gaps, FINE), 6);
        for (int k = 0; k < count; k++)
            if (fabs(rows[k].x - c->ratio) < 1e-9) {
                assert_close(rows[k].y, o->loss);
                assert_close(rows[k].low, rug ? o->low : o->loss - 2 * o->error);
                assert_close(rows[k].high, rug ? o->high : o->loss + 2 * o->error);
                assert_true(rows[k].low <= rows[k].y && rows[k].y <= rows[k].high);
                double gap = 100 * (o->loss / case_predicted(c) - 1);
                for (int g = 0; g < 6; g++)
                    same += fabs(gaps[g].y - gap) < 1e-5;
                points++;
            }
        assert_true(same >= 1);
    }
    assert_int_equal(points, 2 * 2 * 2 * 3);
    end(&d);
}

static void chart_of_losses_against_p_has_theory_and_points(void **state)
{
    struct drawn d;
    struct row rows[FINE];
    for (int large = 0; large < 2; large++) {
        begin(&d, (const struct config_setting[]){{"experiment", "loss-p"},
                                                  {"model", "rug"},
                                                  {"n_s", "32"},
                                                  {"ps", "0.01,0.1"},
                                                  {"ratios", large ? "0.25,0.5" : "0.25"},
                                                  {NULL, NULL}});
        const char *table = table_of(&d, "loss-p");
        assert_int_equal(rows_of(table, "n_d / n_s = 0.25", "\"Bayes bound, Gaussian interference\"", rows, FINE),
                         FINE);
        for (int i = 0; i < FINE; i++)
            assert_true(fabs(rows[i].x / (0.01 * pow(10, i / (FINE - 1.0))) - 1) < 1e-7);
        assert_close(rows[0].y, theory_bayes(0.01, theory_sigma(0.01, 0.25)));
        assert_int_equal(rows_of(table, "n_d / n_s = 0.25", "antipodal pairs", rows, FINE),
                         /* a chart has the line of antipodal pairs only if one of its ratios n_d / n_s is at least one
                          * half */
                         large ? FINE : 0);
        assert_int_equal(rows_of(table, "n_d / n_s = 0.25", "\"rug, n_s = 32\"", rows, FINE), 2);
        assert_close(rows[0].y, d.run->outcomes[0].loss);
        end(&d);
    }
}

static void chart_of_activations_has_their_bounds(void **state)
{
    static const char *const names[] = {"\"trained, n_s = 16\"", "\"trained threshold, n_s = 16\"",
                                        "\"trained k-sparse, n_s = 16\"", "\"trained gated, n_s = 16\""};
    struct drawn d;
    struct row rows[FINE];
    begin(&d, (const struct config_setting[]){{"experiment", "activations"},
                                              {"n_s", "16"},
                                              {"p", "0.05"},
                                              {"ratios", "0.5,1"},
                                              {"activations", "relu,threshold,k-sparse,gated"},
                                              {NULL, NULL}});
    const char *table = table_of(&d, "activations");
    for (int i = 0; i < 4; i++)
        assert_int_equal(rows_of(table, "p = 0.05", names[i], rows, FINE), 2);
    assert_int_equal(rows_of(table, "p = 0.05", "\"closed form, line above a cut\"", rows, FINE), FINE);
    assert_close(rows[0].y, theory_cut(0.05, theory_sigma(0.05, 0.5)).loss);
    assert_true(isnan(rows[FINE - 1].y)); /* no value: with n_d = n_s, features do not interfere */
    assert_int_equal(rows_of(table, "p = 0.05", "estimate of that bound in the paper", rows, FINE), FINE);
    assert_close(rows[0].y, theory_oracle_printed(0.05, theory_sigma(0.05, 0.5)));
    end(&d);
}

/* A chart has one panel for each probability p of a feature, and one line of measurements for each model and size. It
 * shows only the first eight panels and the first twelve lines. */
static void charts_hold_at_most_eight_panels_and_twelve_lines(void **state)
{
    struct drawn d;
    struct row rows[FINE];
    begin(&d, (const struct config_setting[]){{"experiment", "loss-ratio"},
                                              {"models", "rug,linear"},
                                              {"sizes", "2,4,8,16,32,64,128"},
                                              {"ps", "0.1:1:10"},
                                              {"ratios", "0.5"},
                                              {"test_samples", "2"},
                                              {NULL, NULL}});
    const char *table = table_of(&d, "loss-ratio");
    assert_int_equal(rows_of(table, "p = 0.8", "best linear", rows, FINE), FINE);
    assert_int_equal(rows_of(table, "p = 0.9", "best linear", rows, FINE), 0);
    assert_int_equal(rows_of(table, "p = 0.8", "\"linear, n_s = 32\"", rows, FINE), 1);
    assert_int_equal(rows_of(table, "p = 0.8", "\"linear, n_s = 64\"", rows, FINE), 0);
    end(&d);
}

/* The run draws one chart for each size. The charts show only trained models. */
static void maps_show_trained_models_only(void **state)
{
    struct drawn d;
    struct row rows[FINE];
    begin(&d, (const struct config_setting[]){{"experiment", "maps"},
                                              {"models", "trained,rug"},
                                              {"sizes", "8,16"},
                                              {"ps", "0.1,0.2"},
                                              {"ratios", "0.25,0.5,0.75"},
                                              {NULL, NULL}});
    assert_int_equal(d.files, 4);
    for (int i = 0; i < d.run->sweep.count; i++) {
        const struct superposition_case *c = &d.run->cases[i];
        const struct outcome *o = &d.run->outcomes[i];
        char name[16];
        int found = 0;
        if (c->model != MODEL_TRAINED)
            continue;
        snprintf(name, sizeof name, "maps-%d", c->n_s);
        const char *table = table_of(&d, name);
        const struct {
            const char *panel;
            double value;
        } maps[] = {{"log₁₀ (loss / closed form)", log10(o->loss / case_predicted(c))},
                    {"share of dropped features", o->statistics.dropped},
                    {"variance of W_ii", pow(o->statistics.diagonal_sd, 2)},
                    {"variance of bias", pow(o->statistics.bias_sd, 2)},
                    {"variance of Var(ν_i) over kept rows", o->statistics.noise_variance},
                    {"Lyapunov Λ", o->statistics.lyapunov}};
        for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++) {
            assert_int_equal(rows_of(table, maps[m].panel, "", rows, FINE), 6);
            for (int k = 0; k < 6; k++)
                if (fabs(rows[k].x - c->p) < 1e-9 && fabs(rows[k].y - c->ratio) < 1e-9) {
                    found++;
                    assert_true((isnan(rows[k].value) && !isfinite(maps[m].value)) ||
                                fabs(rows[k].value - maps[m].value) <= 1e-6 * fabs(maps[m].value) + 1e-12);
                }
        }
        assert_int_equal(found, 6);
    }
    end(&d);
}

static void scaling_lines_need_two_points(void **state)
{
    struct drawn d;
    struct row rows[FINE];
    begin(&d, (const struct config_setting[]){{"experiment", "scaling"},
                                              {"model", "rug"},
                                              {"n_s", "64"},
                                              {"ps", "0.1"},
                                              {"ratios", "0.25,0.5"},
                                              {NULL, NULL}});
    assert_int_equal(d.files, 0);
    end(&d);
    begin(&d, (const struct config_setting[]){{"experiment", "scaling"},
                                              {"model", "rug"},
                                              {"n_s", "64"},
                                              {"ps", "0.005,0.01,0.1"},
                                              {"ratios", "0.25,0.5"},
                                              {NULL, NULL}});
    const char *table = table_of(&d, "scaling");
    assert_int_equal(rows_of(table, "p → 0", "\"rug, n_d / n_s = 0.5\"", rows, FINE), 3);
    for (int i = 0; i < 3; i++) {
        const struct superposition_case *c = NULL;
        for (int k = 0; k < d.run->sweep.count; k++)
            if (d.run->cases[k].ratio == 0.5 && fabs(d.run->cases[k].p - rows[i].x) < 1e-9) {
                c = &d.run->cases[k];
                assert_close(rows[i].y, d.run->outcomes[k].loss * 0.5 / (c->p * c->p));
            }
        assert_non_null(c);
    }
    assert_int_equal(rows_of(table, "r → 0", "p = 0.1", rows, FINE), FINE);
    assert_true(fabs(rows[0].x - 1e-6) < 1e-12 &&
                fabs(rows[0].y - 1) < 0.01); /* without dimensions, the loss is the variance of a feature */
    assert_int_equal(rows_of(table, "r → 0", "limit Var x", rows, FINE), 1);
    assert_int_equal(rows_of(table, "r → 0", "\"limit as printed, p = 0.1\"", rows, FINE), 1);
    assert_close(rows[0].y, theory_blind_printed(0.1) / theory_variance(0.1));
    end(&d);
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

/* If there is no receiver for files, or if a single case is evaluated, the run draws nothing. */
static void nothing_is_drawn_without_a_receiver(void **state)
{
    struct drawn d;
    begin(&d, (const struct config_setting[]){
                  {"experiment", "loss-ratio"}, {"model", "linear"}, {"n_s", "16"}, {NULL, NULL}});
    forget(&d);
    d.run->sweep.alone = 1;
    assert_ok(plots_write(d.run, err));
    d.run->sweep.alone = 0;
    d.run->sweep.env.artifact = NULL;
    assert_ok(plots_write(d.run, err));
    assert_int_equal(d.files, 0);
    end(&d);
}

/* Lets each allocation fail, one at a time (some are skipped unless MOTIF_FAULT_STRIDE=1). The run reports the failure
 * and publishes no partial file. */
static void failed_allocations_leave_no_partial_file(void **state)
{
    static const char *const experiments[] = {"loss-ratio", "loss-p", "maps", "scaling"};
    for (size_t i = 0; i < sizeof experiments / sizeof experiments[0]; i++) {
        struct drawn d;
        begin(&d, (const struct config_setting[]){{"experiment", experiments[i]},
                                                  {"model", i == 2 ? "trained" : "rug"},
                                                  {"n_s", "16"},
                                                  {"ps", "0.01,0.1"},
                                                  {"ratios", "0.25,0.5"},
                                                  {NULL, NULL}});
        size_t bytes = d.count[d.files - 1];
        char *wanted = test_malloc(bytes);
        memcpy(wanted, d.bytes[d.files - 1], bytes);
        int failed = 0;
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
                assert_true(status == STATUS_NO_MEMORY && err.message[0] && d.files < 2);
            else if (d.count[d.files - 1] != bytes || memcmp(d.bytes[d.files - 1], wanted, bytes) != 0)
                fail_msg("%s: allocation %d fails, and the table is another", experiments[i], n);
        }
        assert_true(failed >= 2 && d.count[d.files - 1] == bytes && memcmp(d.bytes[d.files - 1], wanted, bytes) == 0);
        test_free(wanted);
        end(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(chart_of_losses_against_the_ratio_has_theory_and_points),
                                       cmocka_unit_test(chart_of_losses_against_p_has_theory_and_points),
                                       cmocka_unit_test(chart_of_activations_has_their_bounds),
                                       cmocka_unit_test(charts_hold_at_most_eight_panels_and_twelve_lines),
                                       cmocka_unit_test(maps_show_trained_models_only),
                                       cmocka_unit_test(scaling_lines_need_two_points),
                                       cmocka_unit_test(a_single_model_gets_its_three_pictures),
                                       cmocka_unit_test(nothing_is_drawn_without_a_receiver),
                                       cmocka_unit_test(failed_allocations_leave_no_partial_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
