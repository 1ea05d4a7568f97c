/* Pictures and tables of a finished dictionary run. A run of one case shows its latents; a run of several cases
 * compares the cases by learner. Each picture comes with a CSV file of the same numbers; figures.csv has all figures of
 * all cases. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/methods/dictionary/run_int.h"

enum { TABLE_BYTES = 16 << 20 };

/* ---- tables -------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t column;
} figures[] = {
    {"loss", OUTCOME_COLUMN(loss)},
    {"l0", OUTCOME_COLUMN(l0)},
    {"explained_variance", OUTCOME_COLUMN(explained)},
    {"shrinkage", OUTCOME_COLUMN(shrinkage)},
    {"dead", OUTCOME_COLUMN(dead)},
    {"mcc", OUTCOME_COLUMN(mcc)},
    {"mcc_sd", OUTCOME_COLUMN(mcc_sd)},
    {"uniqueness", OUTCOME_COLUMN(uniqueness)},
    {"precision", OUTCOME_COLUMN(precision)},
    {"recall", OUTCOME_COLUMN(recall)},
    {"f1", OUTCOME_COLUMN(f1)},
    {"f1_sd", OUTCOME_COLUMN(f1_sd)},
    {"absorption_full", OUTCOME_COLUMN(absorption_full)},
    {"absorption", OUTCOME_COLUMN(absorption_fraction)},
    {"pw_mcc", OUTCOME_COLUMN(pair_absolute)},
    {"pw_mcc_signed", OUTCOME_COLUMN(pair_signed)},
    {"pw_mcc_codes", OUTCOME_COLUMN(pair_codes)},
    {"recurring", OUTCOME_COLUMN(recurring)},
    {"worth", OUTCOME_COLUMN(worth)},
    {"code_mcc", OUTCOME_COLUMN(code_encoder)},
    {"code_mcc_fista", OUTCOME_COLUMN(code_learned)},
    {"code_mcc_true_dictionary", OUTCOME_COLUMN(code_true)},
    {"overlap_fista", OUTCOME_COLUMN(overlap_fista)},
    {"overlap_omp", OUTCOME_COLUMN(overlap_omp)},
    {"overlap_iht", OUTCOME_COLUMN(overlap_iht)},
    {"right", OUTCOME_COLUMN(right_encoder)},
    {"right_fista", OUTCOME_COLUMN(right_fista)},
    {"right_omp", OUTCOME_COLUMN(right_omp)},
    {"right_iht", OUTCOME_COLUMN(right_iht)},
};
enum { FIGURES = sizeof figures / sizeof figures[0] };

/* Appends ",value", or only the comma for a value that is not finite. */
static void add_value(struct buf *out, double value)
{
    if (isfinite(value))
        buf_format(out, ",%.9g", value);
    else
        buf_format(out, ",");
}

static enum status publish_table(struct method_run *run, const char *name, struct buf *table, struct error *err)
{
    const struct method_env *env = &run->sweep.env;
    bool failed = table->failed;
    if (!failed)
        env->artifact(env->context, name, "text/csv", table->data, table->size);
    buf_close(table);
    return failed ? error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the table %s", name) : STATUS_OK;
}

static enum status write_figures(struct method_run *run, struct error *err)
{
    struct buf out;
    buf_init(&out, TABLE_BYTES);
    buf_format(&out, "source,learner,features,inputs,width,target_l0,zipf,p,rug_explained");
    for (int i = 0; i < FIGURES; i++)
        buf_format(&out, ",%s", figures[i].name);
    buf_format(&out, "\n");
    for (int k = 0; k < run->sweep.count; k++) {
        const struct dictionary_case *c = &run->cases[k];
        const double *row = (const double *)(const void *)&run->outcomes[k];
        bool toy = c->source == SOURCE_RUG || c->source == SOURCE_TRAINED;
        buf_format(&out, "%s,%s,%d,%d,%d,%g,%g", dictionary_sources[c->source], dictionary_learners[c->learner],
                   c->features, c->inputs, c->width, c->l0, c->zipf);
        add_value(&out, toy ? c->p : NAN);
        add_value(&out, toy ? hidden_explained(c->p, (double)c->inputs / c->features) : NAN);
        for (int i = 0; i < FIGURES; i++)
            add_value(&out, row[figures[i].column]);
        buf_format(&out, "\n");
    }
    return publish_table(run, "figures.csv", &out, err);
}

static enum status write_latents(struct method_run *run, struct error *err)
{
    struct buf out;
    buf_init(&out, TABLE_BYTES);
    buf_format(&out, "latent,rate,feature,cosine,precision,recall,partner,agrees,worth\n");
    for (int j = 0; j < run->cases[0].width; j++) {
        buf_format(&out, "%d", j);
        for (int i = 0; i < LATENT_COLUMNS; i++)
            add_value(&out, run->latents[(ptrdiff_t)j * LATENT_COLUMNS + i]);
        buf_format(&out, "\n");
    }
    return publish_table(run, "latents.csv", &out, err);
}

/* ---- one case ------------------------------------------------------------------------------------------------ */

static enum status draw_latents(struct method_run *run, struct error *err)
{
    size_t m = (size_t)run->cases[0].width;
    double *memory = malloc(4 * m * sizeof *memory), tenth[RECOVERY_DECILES];
    const struct outcome *o = &run->outcomes[0];
    if (!memory)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a picture of %zu latents", m);
    double *cosine = memory, *partner = memory + m, *rate = memory + 2 * m, *agrees = memory + 3 * m;
    for (size_t j = 0; j < m; j++) {
        const double *row = run->latents + j * LATENT_COLUMNS;
        cosine[j] = fabs(row[LATENT_COSINE]);
        partner[j] = row[LATENT_PARTNER];
        rate[j] = row[LATENT_RATE];
        agrees[j] = row[LATENT_AGREES];
    }
    for (int i = 0; i < RECOVERY_DECILES; i++)
        tenth[i] = i + 1;
    bool known = dictionary_known(&run->config), paired = run->seeds > 1;
    const struct chart_series recurs = {
        "a latent", CHART_POINTS, -1, known && paired ? partner : rate, known ? cosine : partner, NULL, NULL, m};
    const struct chart_series often = {"a latent", CHART_POINTS, -1, rate, agrees, NULL, NULL, m};
    const struct chart_series found = {"found", CHART_LINE_POINTS, -1, tenth, o->found, NULL, NULL, RECOVERY_DECILES};
    const struct chart_reference limit = {"recurs", known, RECURS, NAN, 6}, half = {"agrees", false, AGREES, NAN, 6};
    const struct chart_axis seeds = CHART_AXIS("smallest |cosine| with other seeds"),
                            often_axis = CHART_LOG_AXIS("share of samples in which it is active");
    struct chart_panel panels[] = {{!known   ? "Agreement of seeds"
                                    : paired ? "True feature and seeds"
                                             : "True feature",
                                    known && paired ? seeds : often_axis,
                                    {known ? "|cosine| with a true feature" : seeds.label, false, 0, 1, NULL},
                                    &recurs,
                                    1,
                                    &limit,
                                    paired,
                                    NULL},
                                   {"Agreement with pursuit",
                                    CHART_LOG_AXIS("share of samples in which it is active"),
                                    {"Jaccard index with OMP", false, 0, 1, NULL},
                                    &often,
                                    1,
                                    &half,
                                    1,
                                    NULL},
                                   {"True features found",
                                    CHART_AXIS("tenth of features, frequent first"),
                                    {"share with |cosine| of 0.9", false, 0, 1, NULL},
                                    &found,
                                    1,
                                    NULL,
                                    0,
                                    NULL}};
    char note[256], truth[64] = "", recur[96] = "", agree[64] = "";
    if (known)
        snprintf(truth, sizeof truth, ", MCC %.3f, F1 %.3f", o->mcc, o->f1);
    if (paired)
        snprintf(recur, sizeof recur, " %.0f of %zu latents recur in every seed.", o->recurring, m);
    if (isfinite(o->worth))
        snprintf(agree, sizeof agree, " %.0f of these agree with pursuit.", o->worth);
    snprintf(note, sizeof note, "%s, l0 %.1f: explained variance %.3f%s.%s%s",
             dictionary_learners[run->cases[0].learner], o->l0, o->explained, truth, recur, agree);
    struct chart chart = {.note = note, .panels = panels, .panel_count = chart_panels_with_numbers(panels, 3)};
    /* There are no panels if samples are uploaded rows, the configuration has one seed, and codes are not compared with
     * pursuit. Only the rates of the latents are known then, and latents.csv contains them. */
    enum status status =
        chart.panel_count > 0 ? publish_chart(&run->sweep.env, "latents-chart", &chart, err) : STATUS_OK;
    free(memory);
    return status;
}

/* ---- several cases ------------------------------------------------------------------------------------------- */

/* Returns the value of a case on the horizontal axis, and sets *label to the name of this axis. The axis shows the
 * number of true features if the configuration lists `sizes`, the number of dimensions if it lists `dimensions`, and
 * otherwise the number of active latents. */
static double position_of(const struct method_run *run, int i, const char **label)
{
    const struct dictionary_config *c = &run->config;
    const struct dictionary_case *at = &run->cases[i];
    *label = c->sizes[0] ? "true features" : c->dimensions[0] ? "dimensions" : "active latents";
    return c->sizes[0] ? at->features : c->dimensions[0] ? at->inputs : at->l0;
}

/* Whether two cases belong to the same line of a chart. The cases of a line differ only in the value on the
 * horizontal axis; each learner and each exponent has a line of its own. */
static bool same_line(const struct dictionary_case *a, const struct dictionary_case *b)
{
    return a->learner == b->learner && !(a->zipf < b->zipf) && !(b->zipf < a->zipf);
}

enum { LINES = DICTIONARY_LIST, POINTS = DICTIONARY_CASES, PANELS = 6 };

struct lines {
    double x[LINES][POINTS], y[PANELS][LINES][POINTS];
    char names[LINES][40];
    int first[LINES], points[LINES], count;
};

static void collect(const struct method_run *run, const size_t columns[PANELS], struct lines *l, const char **label)
{
    for (int i = 0; i < run->sweep.count; i++) {
        const double *row = (const double *)(const void *)&run->outcomes[i];
        int at = 0;
        while (at < l->count && !same_line(&run->cases[l->first[at]], &run->cases[i]))
            at++;
        if (at == LINES)
            continue;
        if (at == l->count) {
            l->first[l->count++] = i;
            snprintf(l->names[at], sizeof l->names[at], run->config.exponents[0] ? "%s, exponent %g" : "%s",
                     dictionary_learners[run->cases[i].learner], run->cases[i].zipf);
        }
        l->x[at][l->points[at]] = position_of(run, i, label);
        for (int p = 0; p < PANELS; p++)
            l->y[p][at][l->points[at]] = row[columns[p]];
        l->points[at]++;
    }
}

static enum status draw_cases(struct method_run *run, struct error *err)
{
    static const size_t columns[PANELS] = {OUTCOME_COLUMN(mcc),          OUTCOME_COLUMN(pair_absolute),
                                           OUTCOME_COLUMN(f1),           OUTCOME_COLUMN(loss),
                                           OUTCOME_COLUMN(code_encoder), OUTCOME_COLUMN(code_learned)};
    static const char *const titles[PANELS] = {"True recovery (MCC)",        "Agreement of seeds (PW-MCC)",
                                               "F1 of latents as detectors", "Squared error of a sample",
                                               "Codes of the encoder (MCC)", "Codes by FISTA, same dictionary (MCC)"};
    struct lines *l = calloc(1, sizeof *l);
    struct chart_series series[PANELS][LINES];
    struct chart_panel panels[PANELS];
    const char *label = NULL;
    if (!l)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a picture");
    collect(run, columns, l, &label);
    bool log = run->config.sizes[0] || run->config.dimensions[0];
    for (int p = 0; p < PANELS; p++) {
        bool loss = columns[p] == OUTCOME_COLUMN(loss);
        for (int i = 0; i < l->count; i++)
            series[p][i] = (struct chart_series){l->names[i], CHART_LINE_POINTS,   -1, l->x[i], l->y[p][i], NULL,
                                                 NULL,        (size_t)l->points[i]};
        panels[p] = (struct chart_panel){titles[p],
                                         {label, log, NAN, NAN, NULL},
                                         {NULL, loss, loss ? NAN : 0, loss ? NAN : 1, NULL},
                                         series[p],
                                         (size_t)l->count,
                                         NULL,
                                         0,
                                         NULL};
    }
    int shown = chart_panels_with_numbers(panels, PANELS);
    struct chart chart = {.panels = panels, .panel_count = shown, .columns = shown == 4 ? 2 : 3, .one_legend = true};
    enum status status = publish_chart(&run->sweep.env, "cases-chart", &chart, err);
    free(l);
    return status;
}

/* Draws each case as a point, to show whether the agreement of seeds predicts the true recovery. */
static enum status draw_agreement(struct method_run *run, struct error *err)
{
    double x[LINES][POINTS], y[LINES][POINTS];
    struct chart_series series[LEARNERS];
    size_t points[LEARNERS] = {0};
    int count = 0;
    for (int i = 0; i < run->sweep.count; i++) {
        enum learner at = run->cases[i].learner;
        x[at][points[at]] = run->outcomes[i].pair_absolute;
        y[at][points[at]++] = run->outcomes[i].mcc;
    }
    for (int at = 0; at < LEARNERS; at++)
        if (points[at] > 0)
            series[count++] =
                (struct chart_series){dictionary_learners[at], CHART_POINTS, at, x[at], y[at], NULL, NULL, points[at]};
    const struct chart_panel panel = {"What the agreement of seeds says",
                                      {"agreement of seeds (PW-MCC)", false, 0, 1, NULL},
                                      {"true recovery (MCC)", false, 0, 1, NULL},
                                      series,
                                      (size_t)count,
                                      NULL,
                                      0,
                                      NULL};
    struct chart chart = {.panels = &panel, .panel_count = 1};
    return publish_chart(&run->sweep.env, "agreement", &chart, err);
}

enum status run_pictures(struct method_run *run, struct error *err)
{
    if (!run->sweep.env.artifact || run->sweep.alone)
        return STATUS_OK;
    enum status status = write_figures(run, err);
    if (!status && run->latents)
        status = write_latents(run, err);
    if (status)
        return status;
    if (run->latents)
        return draw_latents(run, err);
    status = run->config.ps[0] ? run_draw_phases(run, err) : draw_cases(run, err);
    return status || run->seeds < 2 ? status : draw_agreement(run, err);
}
