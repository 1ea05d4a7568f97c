/* Statistics over the seeds of a study (study.h): figures, agreement between seeds, the result and its chart. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/sorted.h"
#include "core/methods/shared/publish.h"
#include "core/methods/sparling/run_int.h"
#include "core/methods/sparling/queries/annotation.h"
#include "core/metrics/agreement.h"
#include "core/metrics/bootstrap.h"

static const char *const figure_names[STUDY_FIGURES] = {"fpe", "fne", "ce", "e2ee", "exact", "single_error"};

static struct study_row row_of(const struct method_run *run)
{
    const struct evaluation *e = &run->evaluation;
    const struct evaluation_row *row = &e->row[e->rows - 1];
    bool majority = run->domain.domain->majority;
    return (struct study_row){
        .seed = (double)run->config.seed,
        .figure = {row->fpe, row->fne, majority ? row->ce_majority : row->ce, row->e2ee, row->exact, row->single},
        .density = row->density,
        .achieved = row->achieved,
        .validation = run->best_accuracy,
        .samples = (double)run->samples,
        .reached = annealer_at_least(&run->annealer, &run->rule) ? 1 : 0,
    };
}

void study_keep(struct method_run *run)
{
    run->study.row[run->study.distribution.now] = row_of(run);
    run->study.distribution.item_done = true;
}

/* ---- figures ------------------------------------------------------------------------- */

struct summary {
    struct bootstrap mean;
    double median;
};

static enum status summarise_figure(const struct study *s, int figure, struct summary *out, struct error *err)
{
    double values[STUDY_MOST] = {0};
    int count = 0;
    for (int64_t i = 0; i < s->distribution.count; i++)
        if (!isnan(s->row[i].figure[figure]))
            values[count++] = s->row[i].figure[figure];
    enum status status = bootstrap_mean(values, count, &out->mean, err);
    sorted_make(values, (size_t)count);
    out->median = count > 0 ? sorted_quantile(values, (size_t)count, 0.5) : NAN;
    return status;
}

/* The seed with the best validation accuracy: a choice that needs no true motifs. */
static const struct study_row *selected(const struct study *s)
{
    const struct study_row *best = &s->row[0];
    for (int64_t i = 1; i < s->distribution.count; i++)
        if (s->row[i].validation > best->validation)
            best = &s->row[i];
    return best;
}

/* ---- agreement -------------------------------------------------------------------- */

/* Reads the stored motifs of a seed's model in a sample. Returns their number; -1: too many were found to store. */
static int found_in(const struct method_run *run, int64_t seed, int64_t sample, struct motif *out)
{
    const int64_t *from = run->study.motifs + (seed * STUDY_SAMPLES + sample) * STUDY_EACH;
    int64_t channels = run->config.channels_motif, cols = run->domain.shape.cols;
    int count = 0;
    if (from[0] < 0)
        return -1;
    for (; count < STUDY_EACH && from[count] > 0; count++) {
        int64_t at = from[count] - 1, place = at / channels;
        out[count] = (struct motif){
            .row = (int)(place / cols), .col = (int)(place % cols), .channel = (int)(at % channels), .value = 1};
    }
    return count;
}

/* Compares the motifs that the models of two seeds found in the same samples, and adds the result to *a. *sparse
 * becomes false if a model has too many motifs in a sample. */
static void count_pair(const struct method_run *run, int64_t one, int64_t two, struct agreement *a, bool *sparse)
{
    const struct evaluation *e = &run->evaluation;
    struct motif motifs[STUDY_EACH], others[STUDY_EACH];
    int reach = annotation_same(sparling_geometry(&run->config).reach);
    *sparse = true;
    for (int64_t i = 0; *sparse && i < STUDY_SAMPLES && i < (int64_t)e->row[e->rows - 1].motif_samples; i++) {
        int count = found_in(run, one, i, motifs), other_count = found_in(run, two, i, others);
        *sparse = count >= 0 && other_count >= 0;
        if (*sparse)
            agreement_add(a, motifs, count, others, other_count, reach);
    }
}

/* Writes the agreement of the models of two seeds: mean and smallest value over the channels of the first model. */
static enum status write_pair(const struct method_run *run, int64_t one, int64_t two, const struct sink *out,
                              struct error *err)
{
    int channels = (int)run->config.channels_motif;
    struct agreement a;
    bool sparse = false;
    int *other_of = malloc((size_t)channels * sizeof *other_of);
    double *share = malloc((size_t)channels * sizeof *share), sum = 0, least = 1;
    enum status status = agreement_create(channels, channels, &a, err);
    if (!other_of || !share)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a comparison");
    if (!status) {
        count_pair(run, one, two, &a, &sparse);
        status = agreement_match(&a, other_of, share, err);
    }
    for (int i = 0; !status && i < channels; i++) {
        sum += share[i];
        least = fmin(least, share[i]);
    }
    if (!status && sparse) {
        sink_begin_object(out, NULL);
        sink_integer(out, "seed", (int64_t)run->study.row[one].seed);
        sink_integer(out, "with", (int64_t)run->study.row[two].seed);
        sink_number(out, "agreement", sum / channels);
        sink_number(out, "least_agreement", least);
        sink_end_object(out);
    }
    agreement_close(&a);
    free(other_of);
    free(share);
    return status;
}

/* Writes the agreement of each pair of seeds on the same samples. Pairs with a model that is not sparse are left out.
 */
static enum status write_agreement(const struct method_run *run, const struct sink *out, struct error *err)
{
    enum status status = STATUS_OK;
    if (run->direct)
        return STATUS_OK;
    sink_begin_list(out, "agreement");
    for (int64_t i = 0; i < run->study.distribution.count; i++)
        for (int64_t j = i + 1; !status && j < run->study.distribution.count; j++)
            status = write_pair(run, i, j, out, err);
    sink_end_list(out);
    return status;
}

/* ---- the result ------------------------------------------------------------------------------------ */

static void write_row(const struct study_row *row, const struct sink *out)
{
    sink_integer(out, "seed", (int64_t)row->seed);
    for (int i = 0; i < STUDY_FIGURES; i++)
        if (!isnan(row->figure[i]))
            sink_number(out, figure_names[i], row->figure[i]);
    sink_number(out, "density", row->density);
    sink_number(out, "achieved_density", row->achieved);
    sink_number(out, "validation_accuracy", row->validation);
    sink_integer(out, "trained_samples", (int64_t)row->samples);
    sink_boolean(out, "reached_final_density", row->reached != 0);
}

enum status study_result(const struct method_run *run, const struct sink *out, struct error *err)
{
    const struct study *s = &run->study;
    enum status status = STATUS_OK;
    if (!study_of_many(run) || s->distribution.count < 1)
        return STATUS_OK;
    sink_begin_object(out, "study");
    sink_begin_list(out, "runs");
    for (int64_t i = 0; i < s->distribution.count; i++) {
        sink_begin_object(out, NULL);
        write_row(&s->row[i], out);
        sink_end_object(out);
    }
    sink_end_list(out);
    sink_begin_object(out, "summary");
    for (int i = 0; !status && i < STUDY_FIGURES; i++) {
        struct summary summary;
        status = summarise_figure(s, i, &summary, err);
        if (status || summary.mean.count == 0)
            continue;
        sink_begin_object(out, figure_names[i]);
        sink_integer(out, "count", summary.mean.count);
        sink_number(out, "mean", summary.mean.mean);
        sink_number(out, "median", summary.median);
        sink_number(out, "low", summary.mean.low);
        sink_number(out, "high", summary.mean.high);
        sink_end_object(out);
    }
    sink_end_object(out);
    if (!status)
        status = write_agreement(run, out, err);
    sink_begin_object(out, "selected"); /* the seed with the best validation accuracy */
    write_row(selected(s), out);
    sink_end_object(out);
    sink_end_object(out);
    return status;
}

/* ---- pictures ----------------------------------------------------------------------------------------- */

/* Draws two panels. Left: every seed, with the mean and its interval. Right: motif error against end-to-end error (Fig.
 * 9). */
static enum status draw(struct method_run *run, struct error *err)
{
    enum { SHOWN = 4 };
    const struct study *s = &run->study;
    static const char *const names[SHOWN + 1] = {"FPE", "FNE", "CE", "E2EE", NULL};
    double place[SHOWN][STUDY_MOST], value[SHOWN][STUDY_MOST], at[SHOWN], mean[SHOWN], low[SHOWN], high[SHOWN];
    struct chart_series left[SHOWN + 1], right[SHOWN - 1];
    for (int i = 0; i < SHOWN; i++) {
        struct summary summary;
        enum status status = summarise_figure(s, i, &summary, err);
        if (status)
            return status;
        at[i] = i + 1;
        mean[i] = 100 * summary.mean.mean;
        low[i] = 100 * summary.mean.low;
        high[i] = 100 * summary.mean.high;
        for (int64_t j = 0; j < s->distribution.count; j++) {
            place[i][j] =
                i + 1 + (s->distribution.count > 1 ? 0.5 * (double)j / (double)(s->distribution.count - 1) - 0.25 : 0);
            value[i][j] = 100 * s->row[j].figure[i];
        }
        left[i] = (struct chart_series){names[i], CHART_POINTS, i,    place[i],
                                        value[i], NULL,         NULL, (size_t)s->distribution.count};
        if (i < SHOWN - 1)
            right[i] = (struct chart_series){names[i], CHART_POINTS, i,    value[SHOWN - 1],
                                             value[i], NULL,         NULL, (size_t)s->distribution.count};
    }
    left[SHOWN] = (struct chart_series){"mean, 95 % interval", CHART_POINTS, 7, at, mean, low, high, SHOWN};
    right[0].x = right[1].x = right[2].x = value[SHOWN - 1];
    const struct chart_panel panels[] = {{"each seed, in order",
                                          {NULL, false, 0.5, SHOWN + 0.5, names},
                                          {"percent", false, 0, NAN, NULL},
                                          left,
                                          SHOWN + 1,
                                          NULL,
                                          0,
                                          NULL},
                                         {"motif error against end-to-end error", CHART_LOG_AXIS("E2EE in percent"),
                                          CHART_LOG_AXIS("percent"), right, SHOWN - 1, NULL, 0, NULL}};
    char title[64];
    snprintf(title, sizeof title, "%lld seeds, beginning with seed %lld", (long long)s->distribution.count,
             (long long)s->row[0].seed);
    const struct chart chart = {.title = title,
                                .note = "The right panel has logarithmic axes, so it does not show errors of 0.",
                                .panels = panels,
                                .panel_count = 2};
    return publish_chart(&run->env, "study", &chart, err);
}

enum status study_artifacts(struct method_run *run, struct error *err)
{
    return study_of_many(run) && run->env.artifact && !run->direct ? draw(run, err) : STATUS_OK;
}
