/* The verdict of a run whose targets are numbers, from these numbers alone.
 *
 * Does the model certainly explain a part of the variance of the numbers (R squared on test samples)? Does it explain
 * each of the numbers? Does it explain clearly less on test samples than one of these three: the scores of its channels
 * in a validation, the model of an earlier density, the same model on training samples? Comparisons use the end of a
 * confidence interval that is better for the run, so a small sample alone causes no finding. The first question is the
 * only exception: the lower end of the interval of R squared must be above 0. */
#include <math.h>
#include <stdio.h>

#include "core/methods/sparling/evaluation/verdict/judge_int.h"

/* A model that explains less than this share of the variance explains little. */
static const double LITTLE = 0.1;

static void judge_variance(const struct method_run *run, struct findings *findings)
{
    const struct regression *all = numbers_all(run, NUMBERS_TEST);
    struct interval r2 = regression_r2_interval(all, numbers_all_cluster(run), limits.sure);
    if (!(r2.low > 0)) {
        findings_add(
            findings, &sparling_findings[CONSTANT],
            "R squared of %lld test samples is %.3f, with an interval from %.3f to %.3f; the mean as the answer "
            "has 0.",
            (long long)all->n, regression_r2(all), r2.low, r2.high);
        return;
    }
    if (r2.high >= LITTLE)
        return;
    findings_add(findings, &sparling_findings[LOW_ACCURACY],
                 "The model explains %.1f %% of the variance (at most %.1f %%).", 100 * regression_r2(all),
                 100 * r2.high);
    next_longer(run, findings);
}

/* Finds the numbers whose correlation with their predictions is not certainly above 0. */
static void judge_each(const struct method_run *run, struct findings *findings)
{
    struct names list = {.count = 0};
    int all = run->numbers.count;
    for (int k = 0; all > 1 && k < all; k++) {
        const struct regression *s = &numbers_of(run, NUMBERS_TEST)[k];
        double r = regression_pearson(s);
        if (interval_correlation(isnan(r) ? 0 : r, regression_pearson_samples(s, numbers_cluster(run, k)), limits.sure)
                .low <= 0)
            names_add(&list, token_name(run, k));
    }
    int count = list.count;
    if (count == 0)
        return;
    findings_add(findings, &sparling_findings[2 * count >= all ? MOST_UNREAD : UNREAD],
                 "The answers for %d of %d numbers do not correlate with the true ones: %s.", count, all,
                 names_text(&list));
    if (2 * count < all)
        next_seed(run, findings);
}

static void judge_curve(const struct method_run *run, struct findings *findings)
{
    const struct evaluation *e = &run->evaluation;
    const struct evaluation_row *own = &e->row[e->rows - 1], *best = NULL;
    double high = regression_r2_interval(numbers_all(run, NUMBERS_TEST), numbers_all_cluster(run), limits.sure).high,
           trained = regression_r2_interval(numbers_all(run, NUMBERS_TRAINED), NULL, limits.sure).low;
    for (int64_t i = 0; i + 1 < e->rows; i++)
        if (e->row[i].exact - high >= limits.drop && (!best || e->row[i].exact > best->exact))
            best = &e->row[i];
    if (best)
        findings_add(
            findings, &sparling_findings[EARLIER],
            "At density %.2g the model explained %.1f %% of the variance; at the end, at %.2g, it explains %.1f "
            "%%.",
            best->density, 100 * best->exact, own->density, 100 * own->exact);
    if (best && best->checkpoint >= 0)
        findings_next(findings, "motifctl export JOB --checkpoint %lld", (long long)best->checkpoint);
    if (run->numbers.best_guide - high >= limits.drop) {
        findings_add(findings, &sparling_findings[LOST],
                     "The scores of the channels explained %.1f %% of the variance of validation samples; the answers "
                     "explain %.1f %% of that of test samples.",
                     100 * run->numbers.best_guide, 100 * own->exact);
        next_seed(run, findings);
    }
    if (trained - high >= limits.drop)
        findings_add(findings, &sparling_findings[trained - high >= limits.heart ? BY_HEART : MORE_SAMPLES],
                     "The model explains %.1f %% of the variance of training samples, but only %.1f %% of that of test "
                     "samples: it has learned samples by heart.",
                     100 * regression_r2(numbers_all(run, NUMBERS_TRAINED)), 100 * own->exact);
}

static void judge_effects(const struct method_run *run, struct findings *findings)
{
    const struct channel_name *channels = run->evaluation.evidence.channels;
    struct names list = {.count = 0};
    for (int c = 0; c < (int)run->config.channels_motif; c++) {
        char text[16];
        snprintf(text, sizeof text, "%d", c);
        if (channels[c].active > 0 && channels[c].names == 0)
            names_add(&list, text);
    }
    if (list.count > 0)
        findings_add(findings, &sparling_findings[NO_EFFECT], "%s no number measurably: %s.",
                     list.count == 1 ? "One channel changes" : "Some channels change", names_text(&list));
}

enum status judge_numbers(struct method_run *run, struct findings *findings, struct error *err)
{
    (void)err;
    judge_variance(run, findings);
    judge_each(run, findings);
    judge_curve(run, findings);
    if (run->evaluation.evidence.sums.trained > 0) {
        judge_use(run, findings);
        judge_effects(run, findings);
    }
    judge_reference(run, findings);
    judge_training(run, findings);
    judge_range(run, findings);
    return STATUS_OK;
}
