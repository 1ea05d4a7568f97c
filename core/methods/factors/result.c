/* Writes the members of a result: the figures of the model, and its topics. */
#include <math.h>
#include <stdlib.h>

#include "core/methods/factors/run.h"
#include "core/methods/factors/run_int.h"

static void write_outcome(const struct sink *out, const struct outcome *o)
{
    sink_number(out, "mse", o->mse);
    sink_number(out, "mse_mean", o->mse_mean);
    sink_number(out, "nll", o->nll);
    sink_number(out, "nll_mean", o->nll_mean);
    sink_number(out, "dci", o->dci);
    sink_number(out, "dci_16", o->dci_16);
    sink_number(out, "support_f1", o->support_f1);
    sink_number(out, "hamming", o->hamming);
    sink_number(out, "columns_used", o->columns);
    sink_number(out, "anchors", o->anchors);
    sink_number(out, "objective", o->objective);
    sink_number(out, "worst_objective", o->worst_objective);
    sink_integer(out, "restart", o->restart);
    sink_number(out, "recall_at_5", o->recall);
    sink_number(out, "ndcg_at_10", o->ndcg);
    sink_number(out, "accuracy", o->accuracy);
    sink_number(out, "anchors_apart", o->anchors_apart);
    sink_number(out, "anchors_found", o->anchors_found);
    sink_number(out, "factors_apart", o->factors_apart);
    sink_integer(out, "updates", o->updates);
    sink_integer(out, "trained_samples", o->samples);
}

enum { TOPIC_FEATURES = 8, TOPIC_ANCHORS = 8, TOPIC_ROWS = 4 };

static void write_feature(const struct method_run *run, int j, const struct sink *out)
{
    if (run->features->names)
        sink_text(out, NULL, run->features->names[j]);
    else
        sink_integer(out, NULL, j);
}

/* Writes the titles of the held-out rows in which a latent variable is largest. codes: [test rows][latent]. */
static void write_rows(const struct method_run *run, const float *codes, int c, const struct sink *out)
{
    int k = (int)run->config.latent, best[TOPIC_ROWS], have = 0;
    char *const *titles = run->features->titles;
    for (int i = 0; i < run->data.test_count; i++) {
        float z = codes[(ptrdiff_t)i * k + c];
        if (!titles[run->data.test[i]] || (have == TOPIC_ROWS && !(z > codes[(ptrdiff_t)best[have - 1] * k + c])))
            continue;
        int at = have < TOPIC_ROWS ? have++ : have - 1;
        for (; at > 0 && z > codes[(ptrdiff_t)best[at - 1] * k + c]; at--)
            best[at] = best[at - 1];
        best[at] = i;
    }
    sink_begin_list(out, "rows");
    for (int i = 0; i < have; i++)
        sink_text(out, NULL, titles[run->data.test[best[i]]]);
    sink_end_list(out);
}

/* Writes what is known about a latent variable: the features on which it acts most, its anchors, and the rows in which
 * it is largest. codes: NULL if rows have no titles. */
static void write_topic(const struct method_run *run, const float *reach, const float *mask, const float *codes, int c,
                        const struct sink *out)
{
    int g = run->features->columns, k = (int)run->config.latent, best[TOPIC_FEATURES], have = 0, listed = 0;
    for (int j = 0; j < g; j++) {
        double size = fabs((double)reach[(ptrdiff_t)j * k + c]);
        if (size == 0 || (have == TOPIC_FEATURES && !(size > fabs((double)reach[(ptrdiff_t)best[have - 1] * k + c]))))
            continue;
        int at = have < TOPIC_FEATURES ? have++ : have - 1;
        for (; at > 0 && size > fabs((double)reach[(ptrdiff_t)best[at - 1] * k + c]); at--)
            best[at] = best[at - 1];
        best[at] = j;
    }
    if (have == 0)
        return;
    sink_begin_object(out, NULL);
    sink_integer(out, "factor", c);
    sink_begin_list(out, "features");
    for (int i = 0; i < have; i++)
        write_feature(run, best[i], out);
    sink_end_list(out);
    sink_begin_list(out, "weights");
    for (int i = 0; i < have; i++)
        sink_number(out, NULL, (double)reach[(ptrdiff_t)best[i] * k + c]);
    sink_end_list(out);
    sink_begin_list(out, "anchors");
    for (int j = 0; j < g && listed < TOPIC_ANCHORS; j++) {
        int used = 0;
        for (int other = 0; other < k; other++)
            used += mask[(ptrdiff_t)j * k + other] != 0;
        if (used == 1 && mask[(ptrdiff_t)j * k + c] != 0) {
            write_feature(run, j, out);
            listed++;
        }
    }
    sink_end_list(out);
    if (codes)
        write_rows(run, codes, c, out);
    sink_end_object(out);
}

/* Writes the latent variables that are in use. The features of each are ranked by prior_reach(), which says how
 * strongly a weight acts on the decoder. The mask cannot rank them, because it drops weights below PRIOR_ZERO even
 * where the decoder amplifies them. Features with less than a tenth of the largest reach are left out. */
static enum status write_topics(struct method_run *run, const struct sink *out, struct error *err)
{
    /* The parts of an NMF have different scales, so no single limit fits all of them. */
    double least = run->nmf ? 0 : 0.1;
    size_t entries = (size_t)run->features->columns * (size_t)run->config.latent;
    float *mask = malloc(2 * entries * sizeof *mask), *codes = NULL;
    double furthest = 0;
    if (!mask)
        return error_memory(err, "topics");
    float *reach = mask + entries;
    bool masked = case_mask(run, mask);
    if (masked)
        case_reach(run, reach);
    for (size_t i = 0; masked && i < entries; i++)
        furthest = fmax(furthest, fabs((double)reach[i]));
    for (size_t i = 0; masked && i < entries; i++)
        reach[i] = fabs((double)reach[i]) < least * furthest ? 0 : reach[i];
    enum status status = masked && run->features->titles
                             ? case_encode(run, run->data.test, run->data.test_count, &codes, err)
                             : STATUS_OK;
    sink_begin_list(out, "topics");
    for (int c = 0; !status && masked && c < (int)run->config.latent; c++)
        write_topic(run, reach, mask, codes, c, out);
    sink_end_list(out);
    free(codes);
    free(mask);
    return status;
}

/* Writes the names of the features, in the order of the rows of mask.csv. */
static void write_features(const struct features *features, const struct sink *out)
{
    sink_begin_list(out, "features");
    for (int j = 0; features->names && j < features->columns; j++)
        sink_text(out, NULL, features->names[j]);
    sink_end_list(out);
}

enum status factors_result(struct method_run *run, const struct sink *out, struct error *err)
{
    if (run->base.phase != MODEL_RUN_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    write_outcome(out, &run->outcome);
    sink_integer(out, "seed", run->config.seed);
    sink_integer(out, "samples", run->data.test_count);
    if (run->base.alone)
        return STATUS_OK;
    scale_write(&run->scale, "scale", run->features->names, out);
    enum status status = factors_division(&run->config, run->base.env.data, out, err);
    if (!status)
        status = write_topics(run, out, err);
    if (!status)
        write_features(run->features, out);
    return status;
}

/* The verdict of a factors run: whether the latent variables carry any information about the rows.
 *
 * A fit whose mask has died, or whose latent variables have collapsed, gives the same answer for every row. Its
 * held-out error is then that of a constant: the column means of the training rows. For counts, the constant is the
 * share of each column in the sum of these means. */

/* The error of a fit must be lower than that of the constant answer by this share. If a fit has collapsed, its
 * error differs from that of the constant answer by rounding only. */
static const double GAIN = 0.01;
static const double GUARD = 1e-6; /* as in evaluate.c */

enum { CONSTANT, DEAD, STUCK, ARTIFACT };
const struct finding_code factors_findings[FACTORS_FINDINGS] = {
    [CONSTANT] = {"no-better-than-mean", FINDING_ERROR, VERDICT_NOT_LEARNED,
                  "The held-out error is at least 99 % of that of a constant answer, the mean of the training rows.",
                  "motifctl submit --like JOB --set learning_rate=1e-2 --set restarts=10"},
    [DEAD] = {"dead-mask", FINDING_ERROR, VERDICT_NOT_LEARNED, "No column of the mask has a non-zero entry.",
              "motifctl submit --like JOB --set lambda0=1 --set restarts=10"},
    [STUCK] = {"stuck-fit", FINDING_WARNING, VERDICT_PARTLY,
               "The held-out error of simulated rows is above four times the variance of their noise.",
               "motifctl submit --like JOB --set restarts=10"},
    [ARTIFACT] = FINDING_ARTIFACT_FAILED,
};

/* Means of the training rows' columns, [columns]; the caller frees them. NULL: no memory. */
static double *column_means(const struct method_run *run)
{
    int g = run->features->columns;
    double *mean = calloc((size_t)g, sizeof *mean);
    for (int i = 0; mean && i < run->data.train_count; i++) {
        const float *x = run->features->x + (ptrdiff_t)run->data.train[i] * g;
        for (int j = 0; j < g; j++)
            mean[j] += (double)x[j] / run->data.train_count;
    }
    return mean;
}

/* Error of the constant answer `mean` on the test rows, in the unit of outcome.mse or outcome.nll. */
static double constant_error(const struct method_run *run, const double *mean)
{
    int g = run->features->columns, n = run->data.test_count;
    double sum = 0, total = 0;
    for (int j = 0; j < g; j++)
        total += mean[j];
    for (int i = 0; i < n; i++) {
        const float *x = run->features->x + (ptrdiff_t)run->data.test[i] * g;
        for (int j = 0; j < g; j++) {
            double v = (double)x[j], m = mean[j];
            if (run->config.likelihood == LIKELIHOOD_GAUSSIAN)
                sum += (v - m) * (v - m) / g;
            else if (run->config.likelihood == LIKELIHOOD_MULTINOMIAL)
                sum -= v * log((total > 0 ? m / total : 0) + GUARD);
            else
                sum -= v * log(m + GUARD) + (1 - v) * log(1 - m + GUARD);
        }
    }
    return sum / n;
}

/* Compares the model with the constant answer. */
static enum status judge_error(struct method_run *run, struct findings *findings, struct error *err)
{
    const struct outcome *o = &run->outcome;
    bool gaussian = run->config.likelihood == LIKELIHOOD_GAUSSIAN;
    double own = gaussian ? fmin(o->mse, o->mse_mean) : fmin(o->nll, o->nll_mean); /* fmin() leaves out NaN */
    if (!run->base.opened || !run->features || run->data.test_count < 1 || isnan(own))
        return STATUS_OK;
    double *mean = column_means(run);
    if (!mean)
        return error_memory(err, "the verdict");
    double constant = constant_error(run, mean);
    free(mean);
    if (own > (1 - GAIN) * constant)
        findings_add(findings, &factors_findings[CONSTANT],
                     "The held-out error is %.4g; the mean of the training rows, which ignores the input, has %.4g.",
                     own, constant);
    return STATUS_OK;
}

enum status factors_judge(struct method_run *run, struct findings *findings, struct error *err)
{
    const struct outcome *o = &run->outcome;
    double deviation = factors_deviation(&run->config), limit = 4 * deviation * deviation;
    if (run->base.phase != MODEL_RUN_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    if (o->columns == 0) /* NaN if the model has no mask */
        findings_add(findings, &factors_findings[DEAD],
                     "No column of the mask has a non-zero entry, so no feature depends on a latent variable.");
    if (run->config.data == DATA_SYNTHETIC && o->mse > limit)
        findings_add(findings, &factors_findings[STUCK],
                     "The fit ended with a held-out error of %.4g, above four times the variance of the noise (%.4g).",
                     o->mse, limit);
    enum status status = judge_error(run, findings, err);
    publish_findings(&run->base.findings, &factors_findings[ARTIFACT], findings);
    return status;
}
