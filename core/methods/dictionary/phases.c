/* Draws the phase diagram of a run over hidden layers of toy models. It has four maps over the probability of a feature
 * and the number of dimensions: the share of features that a dictionary recovers from the hidden layer of a Persian rug
 * (core/superposed/rug.h) and of a trained model, the agreement of seeds on the trained one, and the share of the
 * variance that the rug explains by its closed form. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/dictionary/run_int.h"

enum { MAPS = 4, SIDE = DICTIONARY_LIST };
enum { MAP_RUG, MAP_TRAINED, MAP_AGREEMENT, MAP_CLOSED };

struct phases {
    double map[MAPS][SIDE * SIDE]; /* [rows][cols] */
    double ps[SIDE], place[SIDE];  /* place: positions 1, 2, ... on the axis */
    int inputs[SIDE], rows, cols;
    char names[SIDE][16], label[160];
    const char *name[SIDE + 1];
};

static int place_of(double *values, int *count, double value)
{
    int at = 0;
    while (at < *count && (values[at] < value || values[at] > value))
        at++;
    if (at == *count && *count < SIDE)
        values[(*count)++] = value;
    return at;
}

static void collect(const struct method_run *run, struct phases *f)
{
    double inputs[SIDE];
    for (int i = 0; i < run->sweep.count; i++) {
        (void)place_of(f->ps, &f->cols, run->cases[i].p);
        (void)place_of(inputs, &f->rows, run->cases[i].inputs);
    }
    for (int m = 0; m < MAPS; m++)
        for (int i = 0; i < f->rows * f->cols; i++)
            f->map[m][i] = NAN;
    for (int i = 0; i < run->sweep.count; i++) {
        const struct dictionary_case *c = &run->cases[i];
        int col = place_of(f->ps, &f->cols, c->p), row = place_of(inputs, &f->rows, c->inputs);
        if (col >= f->cols || row >= f->rows)
            continue;
        int cell = row * f->cols + col;
        f->inputs[row] = c->inputs;
        if (c->source == SOURCE_RUG || c->source == SOURCE_TRAINED) {
            f->map[c->source == SOURCE_RUG ? MAP_RUG : MAP_TRAINED][cell] = run->outcomes[i].mcc;
            f->map[MAP_CLOSED][cell] = hidden_explained(c->p, (double)c->inputs / c->features);
        }
        if (c->source == SOURCE_TRAINED)
            f->map[MAP_AGREEMENT][cell] = run->outcomes[i].pair_absolute;
    }
}

static void label(struct phases *f)
{
    int used = snprintf(f->label, sizeof f->label, "dimensions:");
    for (int i = 0; i < f->rows && used < (int)sizeof f->label - 16; i++)
        used += snprintf(f->label + used, sizeof f->label - (size_t)used, " %d", f->inputs[i]);
    for (int i = 0; i < f->cols; i++) {
        snprintf(f->names[i], sizeof f->names[i], "%g", f->ps[i]);
        f->name[i] = f->names[i];
    }
    for (int i = 0; i < SIDE; i++)
        f->place[i] = i + 1;
}

enum status run_draw_phases(struct method_run *run, struct error *err)
{
    static const char *const titles[MAPS] = {"Rug: features recovered (MCC)", "Trained: features recovered (MCC)",
                                             "Trained: agreement of seeds (PW-MCC)",
                                             "Closed form: the rug's own output"};
    struct phases *f = calloc(1, sizeof *f);
    struct chart_panel panels[MAPS];
    struct chart_heat heats[MAPS];
    if (!f)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a picture");
    collect(run, f);
    label(f);
    for (int m = 0; m < MAPS; m++) {
        heats[m] = (struct chart_heat){.values = f->map[m],
                                       .rows = f->rows,
                                       .cols = f->cols,
                                       .x = f->place,
                                       .y = f->place,
                                       .map = CHART_VIRIDIS,
                                       .min = 0,
                                       .max = 1,
                                       .label = m == MAP_CLOSED ? "share of the variance" : "mean |cosine|"};
        panels[m] = (struct chart_panel){.title = titles[m],
                                         .x = {"probability of a feature", false, NAN, NAN, f->name},
                                         .y = CHART_AXIS(f->label),
                                         .heat = &heats[m]};
    }
    struct chart chart = {.panels = panels, .panel_count = chart_panels_with_numbers(panels, MAPS), .columns = 2};
    enum status status = publish_chart(&run->sweep.env, "phases", &chart, err);
    free(f);
    return status;
}
