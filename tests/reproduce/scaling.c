/* Measures how the cost of a training step grows with the size of the batch, the area of the picture, the width of the
 * motif model and the density:
 *
 *      scaling [--threads N] [--seconds S] [--clock wall|processor] [--out DIR]
 *
 * Runs steps of `motifd bench sparling-step --preset small` and changes one field in each sweep. Prints a table and the
 * fitted exponents (least squares of the logarithms, with standard errors). With --out, draws DIR/scaling.png and
 * writes DIR/scaling.csv. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "core/draw/chart.h"
#include "core/kernels/blas.h"

enum { POINTS = 8, SWEEPS = 5, VALUE_BYTES = 24 };

struct sweep {
    const char *name, *label, *backward;
    const char *field; /* field of the configuration; NULL: the sweep sets the option named by `label` instead */
    int panel, count;
    double at[POINTS], x[POINTS]; /* at: values of the field or option; x: values on the chart's x axis */
};

struct measured {
    double ms[POINTS], fit[POINTS], exponent, error;
};

static struct sweep sweeps[SWEEPS] = {
    {"batch", "pictures of a batch", "dense", NULL, 0, 6, {2, 4, 8, 16, 32, 64}, {0}},
    {"area", "pixels of a picture", "dense", "image_size", 1, 6, {48, 64, 88, 120, 160, 224}, {0}},
    {"width", "channels of g", "dense", "width", 2, 6, {16, 24, 32, 40, 48, 64}, {0}},
    {"density, dense", "density", "dense", NULL, 3, 6, {5e-5, 3e-4, 2e-3, 1e-2, 7e-2, 0.5}, {0}},
    {"density, auto with statistics held", "density", "auto", NULL, 3, 6, {5e-5, 3e-4, 2e-3, 1e-2, 7e-2, 0.5}, {0}},
};

/* ---- one number of a benchmark's result ------------------------------------------------------------------ */

static void ignore_key(void *context, const char *key) {}
static void ignore_end(void *context) {}
static void ignore_integer(void *context, const char *key, int64_t value) {}
static void ignore_boolean(void *context, const char *key, bool value) {}
static void ignore_text(void *context, const char *key, const char *value) {}
static void keep_median(void *context, const char *key, double value)
{
    if (key != NULL && strcmp(key, "step_ms_median") == 0)
        *(double *)context = value;
}

static double step_ms(const struct sweep *sweep, double value, const struct bench_options *common)
{
    char text[VALUE_BYTES];
    double ms = NAN;
    struct error err = {0};
    struct sink sink = {&ms,         ignore_key,     ignore_end,     ignore_key,  ignore_end,
                        keep_median, ignore_integer, ignore_boolean, ignore_text, ignore_key};
    struct bench_options options = *common;
    struct config_setting set[] = {{sweep->field, text}, {NULL, NULL}};
    (void)snprintf(text, sizeof text, "%g", value);
    options.preset = "small";
    options.backward = sweep->backward;
    if (sweep->field != NULL)
        options.set = set;
    else if (sweep->panel == 0)
        options.batch = (int)value;
    else
        options.density = value;
    if (bench_run("sparling-step", &options, &sink, &err) != STATUS_OK) {
        fprintf(stderr, "scaling: %s\n", err.message);
        exit(1);
    }
    return ms;
}

/* ---- fits ------------------------------------------------------------------------------------------------ */

static void fit(const struct sweep *s, struct measured *m)
{
    double n = s->count, mx = 0, my = 0, xx = 0, xy = 0, rest = 0;
    for (int i = 0; i < s->count; i++) {
        mx += log(s->x[i]) / n;
        my += log(m->ms[i]) / n;
    }
    for (int i = 0; i < s->count; i++) {
        xx += (log(s->x[i]) - mx) * (log(s->x[i]) - mx);
        xy += (log(s->x[i]) - mx) * (log(m->ms[i]) - my);
    }
    m->exponent = xy / xx;
    for (int i = 0; i < s->count; i++) {
        double line = my + m->exponent * (log(s->x[i]) - mx);
        m->fit[i] = exp(line);
        rest += (log(m->ms[i]) - line) * (log(m->ms[i]) - line);
    }
    m->error = sqrt(rest / (n - 2) / xx);
}

static void save(const char *folder, const char *name, const struct buf *bytes)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wbe");
    if (file == NULL || fwrite(bytes->data, 1, bytes->size, file) != bytes->size || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static void draw(const char *folder, const struct measured *m)
{
    static const char *const titles[] = {"batch", "area", "width", "density"};
    static char names[SWEEPS][96];
    struct chart_series series[2 * SWEEPS] = {0};
    struct chart_panel panels[4] = {0};
    struct error err = {0};
    for (int i = 0, next = 0; i < SWEEPS; i++) {
        struct chart_panel *p = &panels[sweeps[i].panel];
        int colour = i == SWEEPS - 1 ? 1 : 0;
        (void)snprintf(names[i], sizeof names[i], "%s: exponent %.2f ± %.2f", sweeps[i].name, m[i].exponent,
                       m[i].error);
        if (p->series == NULL)
            p->series = &series[next];
        series[next++] = (struct chart_series){.name = names[i],
                                               .mark = CHART_POINTS,
                                               .colour = colour,
                                               .x = sweeps[i].x,
                                               .y = m[i].ms,
                                               .count = (size_t)sweeps[i].count};
        series[next++] = (struct chart_series){
            .mark = CHART_DASHES, .colour = colour, .x = sweeps[i].x, .y = m[i].fit, .count = (size_t)sweeps[i].count};
        p->series_count += 2;
        p->title = titles[sweeps[i].panel];
        p->x = CHART_LOG_AXIS(sweeps[i].label);
        p->y = CHART_LOG_AXIS("milliseconds of a step");
    }
    struct chart chart = {
        .title = "Cost of a training step (small network)", .panels = panels, .panel_count = 4, .columns = 2};
    struct buf png, csv;
    buf_init(&png, CHART_BYTES);
    buf_init(&csv, CHART_BYTES);
    if (chart_png(&chart, &png, &err) != STATUS_OK || chart_csv(&chart, &csv, &err) != STATUS_OK) {
        fprintf(stderr, "scaling: %s\n", err.message);
        exit(1);
    }
    save(folder, "scaling.png", &png);
    save(folder, "scaling.csv", &csv);
    buf_close(&png);
    buf_close(&csv);
}

int main(int argc, char **argv)
{
    static const struct option flags[] = {{"threads", required_argument, NULL, 't'},
                                          {"seconds", required_argument, NULL, 's'},
                                          {"clock", required_argument, NULL, 'c'},
                                          {"out", required_argument, NULL, 'o'},
                                          {NULL, 0, NULL, 0}};
    struct bench_options options = {.threads = 2, .seconds = 3};
    struct measured m[SWEEPS];
    const char *folder = NULL;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;)
        if (flag == 't')
            options.threads = atoi(optarg);
        else if (flag == 's')
            options.seconds = atof(optarg);
        else if (flag == 'c')
            options.processor_time = strcmp(optarg, "processor") == 0;
        else if (flag == 'o')
            folder = optarg;
        else
            return 2;
    blas_init();
    for (int i = 0; i < SWEEPS; i++) {
        struct sweep *s = &sweeps[i];
        for (int k = 0; k < s->count; k++) {
            s->x[k] = s->panel == 1 ? s->at[k] * s->at[k] : s->at[k];
            m[i].ms[k] = step_ms(s, s->at[k], &options);
            printf("%-36s %8g %10.2f ms\n", s->name, s->x[k], m[i].ms[k]);
            (void)fflush(stdout);
        }
        fit(s, &m[i]);
        printf("%-36s exponent %.3f +- %.3f\n", s->name, m[i].exponent, m[i].error);
    }
    if (folder != NULL)
        draw(folder, m);
    return 0;
}
