/* Draws the pictures of experiments and writes the numbers that they show as tables. The arrays of a chart live in an
 * arena until the chart is written. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/shared/publish.h"
#include "core/methods/superposition/run_int.h"

enum { FINE = 81, PANELS = 8, GROUPS = 12, SERIES = GROUPS + 8 };

static const char *const activation_labels[] = {"ReLU", "threshold", "k-sparse", "gated"};

/* ---- loss curves -------------------------------------------------------------------------------------- */

/* A chart of the loss against p or against the ratio. Each value of the other parameter has a panel of its own. */
struct curves {
    struct method_run *run;
    struct arena *arena;
    bool along_p, failed;
    double fixed[PANELS], most_fixed; /* fixed: for each panel, the value of the parameter that is constant in the
                                         panel; most_fixed: the largest of these values */
    double from, to;                  /* range of the parameter on the x axis */
    int panels;
    const struct superposition_case *group[GROUPS]; /* first case of each combination of model, activation and size */
    int groups;
};

static double along(const struct curves *k, const struct superposition_case *c)
{
    return k->along_p ? c->p : c->ratio;
}
static double across(const struct curves *k, const struct superposition_case *c)
{
    return k->along_p ? c->ratio : c->p;
}

static bool same_group(const struct superposition_case *a, const struct superposition_case *b)
{
    return a->model == b->model && a->activation == b->activation && a->n_s == b->n_s;
}

static void find_panels_and_groups(struct curves *k)
{
    k->from = INFINITY;
    k->to = 0;
    for (int i = 0; i < k->run->sweep.count; i++) {
        const struct superposition_case *c = &k->run->cases[i];
        bool known = false, grouped = false;
        for (int j = 0; j < k->panels; j++)
            known |= k->fixed[j] == across(k, c);
        for (int j = 0; j < k->groups; j++)
            grouped |= same_group(k->group[j], c);
        if (!known && k->panels < PANELS)
            k->fixed[k->panels++] = across(k, c);
        if (!grouped && k->groups < GROUPS)
            k->group[k->groups++] = c;
        k->most_fixed = fmax(k->most_fixed, across(k, c));
        k->from = fmin(k->from, along(k, c));
        k->to = fmax(k->to, along(k, c));
    }
}

static void *keep(struct curves *k, size_t count, size_t bytes)
{
    void *at = arena_zalloc(k->arena, count, bytes);
    k->failed |= at == NULL;
    return at;
}

static const char *keep_text(struct curves *k, const char *text)
{
    const char *at = arena_strdup(k->arena, text);
    k->failed |= at == NULL;
    return at;
}

enum line { LINE_CLOSED, LINE_CUT, LINE_LINEAR, LINE_PAIRS, LINE_BAYES, LINE_ORACLE, LINE_PRINTED, LINES };

static double line_value(enum line line, double p, double r)
{
    double sigma = theory_sigma(p, r);
    switch (line) {
    case LINE_CLOSED:
        return theory_optimum(p, sigma).loss;
    case LINE_CUT:
        return theory_cut(p, sigma).loss;
    case LINE_LINEAR:
        return theory_linear(p, r);
    case LINE_PAIRS:
        return theory_pairs(p, r);
    case LINE_BAYES:
        return theory_bayes(p, sigma);
    case LINE_ORACLE:
        return theory_oracle(p, sigma);
    case LINE_PRINTED:
        return theory_oracle_printed(p, sigma);
    case LINES:
        break;
    }
    return NAN;
}

/* Whether a chart contains a line. Two lines belong only to the experiment about activations. The line of antipodal
 * pairs exists only for ratios of at least 1/2. */
static bool line_shown(const struct curves *k, enum line line)
{
    if ((line == LINE_CUT || line == LINE_PRINTED) && k->run->config.experiment != EXPERIMENT_ACTIVATIONS)
        return false;
    return line != LINE_PAIRS || (k->along_p ? k->most_fixed >= 0.5 : k->to > 0.5);
}

static struct chart_series theory_series(struct curves *k, enum line line, double fixed)
{
    static const char *const names[] = {"closed form, ReLU",
                                        "closed form, line above a cut",
                                        "best linear",
                                        "antipodal pairs",
                                        "Bayes bound, Gaussian interference",
                                        "Bayes bound if the active features are known",
                                        "estimate of that bound in the paper"};
    static const enum chart_mark marks[] = {CHART_LINE, CHART_DASHES, CHART_DASHES, CHART_DASHES,
                                            CHART_DOTS, CHART_DOTS,   CHART_DASHES};
    static const int colours[] = {6, 6, 7, 4, 1, 3, 3};
    double *x = keep(k, FINE, sizeof *x), *y = keep(k, FINE, sizeof *y);
    double from = k->from, to = k->to;
    for (int i = 0; !k->failed && i < FINE; i++) {
        x[i] = k->along_p ? from * pow(to / from, i / (FINE - 1.0)) : from + (to - from) * i / (FINE - 1.0);
        double p = k->along_p ? x[i] : fixed, r = k->along_p ? fixed : x[i];
        y[i] = r < 1 ? line_value(line, p, r) : NAN;
    }
    return (struct chart_series){names[line], marks[line], colours[line], x, y, NULL, NULL, k->failed ? 0 : FINE};
}

static const char *group_name(struct curves *k, const struct superposition_case *c)
{
    static const char *const models[] = {"trained", "rug", "linear"};
    char text[64];
    snprintf(text, sizeof text, "%s%s%s, n_s = %d", models[c->model],
             c->model == MODEL_TRAINED && c->activation ? " " : "",
             c->model == MODEL_TRAINED && c->activation ? activation_labels[c->activation] : "", c->n_s);
    return keep_text(k, text);
}

/* Groups of the same size have the same colour. If all groups have one size, each group has a colour of its own. */
static int group_colour(const struct curves *k, int group)
{
    int sizes = 0, own = 0;
    for (int g = 0; g < k->groups; g++) {
        bool before = false;
        for (int h = 0; h < g; h++)
            before |= k->group[h]->n_s == k->group[g]->n_s;
        if (k->group[g]->n_s == k->group[group]->n_s && !before)
            own = sizes;
        sizes += !before;
    }
    return sizes > 1 ? own : group;
}

/* The measured losses of a group of cases along the x axis; `fixed` is the value of the parameter that is not on the x
 * axis. With `gap`: by how many per cent the losses exceed the closed form. */
static struct chart_series measured_series(struct curves *k, int group, double fixed, bool gap)
{
    const struct method_run *run = k->run;
    size_t most = (size_t)run->sweep.count, count = 0;
    double *x = keep(k, most, sizeof *x), *y = keep(k, most, sizeof *y), *low = keep(k, most, sizeof *low),
           *high = keep(k, most, sizeof *high);
    for (int i = 0; !k->failed && i < run->sweep.count; i++) {
        const struct superposition_case *c = &run->cases[i];
        const struct outcome *o = &run->outcomes[i];
        if (!same_group(c, k->group[group]) || across(k, c) != fixed)
            continue;
        double unit = gap ? case_predicted(c) / 100 : 1, less = gap ? 100 : 0;
        bool drawn = c->model == MODEL_RUG && run->config.draws > 1;
        x[count] = along(k, c);
        y[count] = o->loss / unit - less;
        low[count] = (drawn ? o->low : o->loss - 2 * o->error) / unit - less;
        high[count++] = (drawn ? o->high : o->loss + 2 * o->error) / unit - less;
    }
    bool points = k->group[group]->model != MODEL_TRAINED;
    int colour = group_colour(k, group);
    return (struct chart_series){
        group_name(k, k->group[group]), points ? CHART_POINTS : CHART_LINE_POINTS, colour, x, y, low, high, count};
}

static enum status draw_curves(struct method_run *run, bool along_p, const char *name, const char *title,
                               struct error *err)
{
    static const struct chart_reference zero = {NULL, false, 0, NAN, -1};
    struct arena arena;
    struct chart_panel panels[2 * PANELS];
    arena_init(&arena, (size_t)1 << 18, 0);
    struct curves k = {.run = run, .arena = &arena, .along_p = along_p};
    find_panels_and_groups(&k);
    for (int i = 0; i < k.panels; i++) {
        struct chart_series *losses = keep(&k, SERIES, sizeof *losses), *gaps = keep(&k, SERIES, sizeof *gaps);
        char *caption = keep(&k, 64, 1);
        size_t count = 0;
        if (k.failed)
            break;
        for (int g = 0; g < k.groups; g++, count++) {
            losses[count] = measured_series(&k, g, k.fixed[i], false);
            gaps[count] = measured_series(&k, g, k.fixed[i], true);
        }
        for (int line = 0; line < LINES; line++)
            if (line_shown(&k, (enum line)line))
                losses[count++] = theory_series(&k, (enum line)line, k.fixed[i]);
        snprintf(caption, 64, along_p ? "n_d / n_s = %.3g" : "p = %.3g", k.fixed[i]);
        struct chart_axis x = along_p ? CHART_LOG_AXIS("p") : CHART_AXIS("ratio n_d / n_s");
        panels[i] = (struct chart_panel){caption, x, CHART_LOG_AXIS("loss per feature"), losses, count, NULL, 0, NULL};
        panels[k.panels + i] = (struct chart_panel){
            "measured over predicted", x, CHART_AXIS("gap, %"), gaps, (size_t)k.groups, &zero, 1, NULL};
    }
    struct chart chart = {.title = title,
                          .note = "Bars: two standard errors, or the range over a rug's draws.\n"
                                  "Predicted: the closed form of the model (ReLU or linear) for many features.",
                          .panels = panels,
                          .panel_count = 2 * k.panels,
                          .columns = k.panels > 1 ? k.panels : 2,
                          .width = k.panels > 2 ? 330 : 480,
                          .one_legend = true};
    enum status status = k.failed ? error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a chart")
                                  : publish_chart(&run->sweep.env, name, &chart, err);
    arena_close(&arena);
    return status;
}

/* ---- maps --------------------------------------------------------------------------------------------- */

enum map { MAP_LOSS, MAP_DROPPED, MAP_DIAGONAL, MAP_BIAS, MAP_NOISE, MAP_LYAPUNOV, MAPS };

static double map_value(enum map map, const struct superposition_case *c, const struct outcome *o)
{
    const struct statistics *s = &o->statistics;
    switch (map) {
    case MAP_LOSS:
        return log10(o->loss / case_predicted(c));
    case MAP_DROPPED:
        return s->dropped;
    case MAP_DIAGONAL:
        return s->diagonal_sd * s->diagonal_sd;
    case MAP_BIAS:
        return s->bias_sd * s->bias_sd;
    case MAP_NOISE:
        return s->noise_variance;
    case MAP_LYAPUNOV:
        return s->lyapunov;
    case MAPS:
        break;
    }
    return NAN;
}

/* Draws the chart of one size: six maps over p (across) and ratio (up). */
static enum status draw_maps(struct method_run *run, const struct superposition_case *first, const double *ps,
                             int p_count, const double *ratios, int ratio_count, struct error *err)
{
    static const char *const titles[] = {
        "log₁₀ (loss / closed form)", "share of dropped features",           "variance of W_ii",
        "variance of bias",           "variance of Var(ν_i) over kept rows", "Lyapunov Λ"};
    int cells = p_count * ratio_count;
    double *values = calloc((size_t)MAPS * (size_t)cells, sizeof *values);
    struct chart_heat heats[MAPS];
    struct chart_panel panels[MAPS];
    char title[96], name[32];
    if (!values)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for maps");
    for (int m = 0; m < MAPS; m++) {
        double *map = values + m * cells;
        for (int row = 0; row < ratio_count; row++)
            for (int col = 0; col < p_count; col++) {
                ptrdiff_t i = first - run->cases + (ptrdiff_t)col * ratio_count + row;
                map[row * p_count + col] = map_value((enum map)m, &run->cases[i], &run->outcomes[i]);
            }
        bool log = m == MAP_DIAGONAL || m == MAP_BIAS || m == MAP_NOISE || m == MAP_LYAPUNOV;
        heats[m] =
            (struct chart_heat){map, ratio_count, p_count, ps,  ratios, m == MAP_LOSS ? CHART_SIGNED : CHART_VIRIDIS,
                                log, false,       NAN,     NAN, NULL};
        panels[m] = (struct chart_panel){titles[m], CHART_AXIS("p"), CHART_AXIS("ratio n_d / n_s"), NULL, 0, NULL,
                                         0,         &heats[m]};
    }
    snprintf(title, sizeof title, "Symmetry of trained weights, n_s = %d", first->n_s);
    snprintf(name, sizeof name, "maps-%d", first->n_s);
    struct chart chart = {
        .title = title, .panels = panels, .panel_count = MAPS, .columns = 3, .width = 280, .height = 240};
    enum status status = publish_chart(&run->sweep.env, name, &chart, err);
    free(values);
    return status;
}

static enum status draw_all_maps(struct method_run *run, struct error *err)
{
    double ps[SUPERPOSITION_LIST] = {run->config.p}, ratios[SUPERPOSITION_LIST] = {run->cases[0].ratio};
    int p_count = superposition_list(run->config.ps, 1, ps),
        ratio_count = superposition_list(run->config.ratios, 1, ratios);
    enum status status = STATUS_OK;
    p_count = p_count < 1 ? 1 : p_count;
    ratio_count = ratio_count < 1 ? 1 : ratio_count;
    for (int i = 0; !status && i + p_count * ratio_count <= run->sweep.count; i += p_count * ratio_count)
        if (run->cases[i].model == MODEL_TRAINED)
            status = draw_maps(run, &run->cases[i], ps, p_count, ratios, ratio_count, err);
    return status;
}

/* ---- scaling ------------------------------------------------------------------------------------------ */

/* Fits loss ~ p^s to the cases of one ratio with p <= most, by least squares on logarithms. Returns s, or NaN for fewer
 * than two cases. */
static double exponent(const struct method_run *run, double ratio, double most, bool predicted)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int i = 0; i < run->sweep.count; i++) {
        const struct superposition_case *c = &run->cases[i];
        if (c->ratio != ratio || c->p > most)
            continue;
        double at = log(c->p), value = log(predicted ? case_predicted(c) : run->outcomes[i].loss);
        n++;
        x += at;
        y += value;
        xx += at * at;
        xy += at * value;
    }
    return n >= 2 ? (n * xy - x * y) / (n * xx - x * x) : NAN;
}

/* Draws the line of the closed form and the points of the rugs. With `along_ratio`, the y axis is loss / Var x, which
 * approaches 1, and the x axis is the ratio r = n_d / n_s at one p. Otherwise the y axis is loss * r / p^2, which grows
 * like ln(1/p), and the x axis is p at one ratio. */
static void scaling_pair(struct curves *k, bool along_ratio, double fixed, int colour, struct chart_series pair[2])
{
    const struct method_run *run = k->run;
    double *x = keep(k, FINE, sizeof *x), *y = keep(k, FINE, sizeof *y);
    double *mx = keep(k, (size_t)run->sweep.count, sizeof *mx), *my = keep(k, (size_t)run->sweep.count, sizeof *my);
    char name[64], points[80];
    size_t found = 0;
    if (k->failed)
        return;
    for (int i = 0; i < FINE; i++) {
        double at = i / (FINE - 1.0), p = along_ratio ? fixed : k->from * pow(k->to / k->from, at);
        double r = along_ratio ? 1e-6 * pow(1e6 * 0.9, at) : fixed, loss = theory_optimum(p, theory_sigma(p, r)).loss;
        x[i] = along_ratio ? r : p;
        y[i] = along_ratio ? loss / theory_variance(p) : loss * r / (p * p);
    }
    for (int i = 0; i < run->sweep.count; i++) {
        const struct superposition_case *c = &run->cases[i];
        double r = case_ratio(c), loss = run->outcomes[i].loss;
        if (along_ratio ? c->p != fixed : c->ratio != fixed)
            continue;
        mx[found] = along_ratio ? r : c->p;
        my[found++] = along_ratio ? loss / theory_variance(c->p) : loss * r / (c->p * c->p);
    }
    snprintf(name, sizeof name, along_ratio ? "p = %.2g" : "n_d / n_s = %.2g", fixed);
    snprintf(points, sizeof points, "rug, %s", name);
    pair[0] = (struct chart_series){keep_text(k, name), CHART_LINE, colour, x, y, NULL, NULL, FINE};
    pair[1] = (struct chart_series){keep_text(k, points), CHART_POINTS, colour, mx, my, NULL, NULL, found};
}

static enum status draw_scaling(struct method_run *run, struct error *err)
{
    double ps[SUPERPOSITION_LIST] = {run->config.p}, ratios[SUPERPOSITION_LIST] = {run->cases[0].ratio};
    int p_count = superposition_list(run->config.ps, 1, ps),
        ratio_count = superposition_list(run->config.ratios, 1, ratios);
    struct arena arena;
    struct chart_series by_p[2 * SUPERPOSITION_LIST], by_ratio[2 * SUPERPOSITION_LIST];
    char printed[64], note[192];
    const double small = 0.01;
    if (p_count < 2 || ratio_count < 1)
        return STATUS_OK; /* a line needs two points */
    double last = ratios[ratio_count - 1], most = ps[p_count - 1];
    arena_init(&arena, (size_t)1 << 18, 0);
    struct curves k = {.run = run, .arena = &arena, .along_p = true};
    find_panels_and_groups(&k);
    for (int j = 0; j < ratio_count; j++)
        scaling_pair(&k, false, ratios[j], j, &by_p[2 * j]);
    for (int j = 0; j < p_count; j++)
        scaling_pair(&k, true, ps[j], j, &by_ratio[2 * j]);
    snprintf(printed, sizeof printed, "limit as printed, p = %.2g", most);
    const struct chart_reference limits[] = {
        {"limit Var x", false, 1, NAN, -1},
        {printed, false, theory_blind_printed(most) / theory_variance(most), NAN, 1}};
    const struct chart_panel panels[] = {
        {"p → 0", CHART_LOG_AXIS("p"), CHART_LOG_AXIS("loss × r / p²"), by_p, 2 * (size_t)ratio_count, NULL, 0, NULL},
        {"r → 0", CHART_LOG_AXIS("ratio r = n_d / n_s"), CHART_AXIS("loss / Var x"), by_ratio, 2 * (size_t)p_count,
         limits, 2, NULL}};
    snprintf(note, sizeof note,
             "Lines: closed form. Points: rugs. For p up to %g at n_d / n_s = %g, loss ~ p^s with s = %.3f (rugs) "
             "and %.3f (closed form).",
             small, last, exponent(run, last, small, false), exponent(run, last, small, true));
    struct chart chart = {.title = "How the loss scales", .note = note, .panels = panels, .panel_count = 2};
    enum status status = k.failed ? error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a chart")
                                  : publish_chart(&run->sweep.env, "scaling", &chart, err);
    arena_close(&arena);
    return status;
}

enum status plots_write(struct method_run *run, struct error *err)
{
    if (!run->sweep.env.artifact || run->sweep.alone)
        return STATUS_OK;
    switch ((enum superposition_experiment)run->config.experiment) {
    case EXPERIMENT_ONE:
        return plots_one(run, err);
    case EXPERIMENT_LOSS_RATIO:
        return draw_curves(run, false, "loss-ratio", "Loss against the ratio of dimensions to features", err);
    case EXPERIMENT_LOSS_P:
        return draw_curves(run, true, "loss-p", "Loss against the probability that a feature is on", err);
    case EXPERIMENT_ACTIVATIONS:
        return draw_curves(run, false, "activations", "Activations against the bound for every function of y", err);
    case EXPERIMENT_MAPS:
        return draw_all_maps(run, err);
    case EXPERIMENT_SCALING:
        return draw_scaling(run, err);
    }
    return STATUS_OK;
}
