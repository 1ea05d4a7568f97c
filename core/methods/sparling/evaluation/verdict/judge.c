/* Computes the verdict of a SPARLING run from labels alone.
 *
 * Three questions decide whether a run has learned. Does the model read each name of the labels (test samples)? Does
 * each name have a channel that predicts it (training samples)? Is the answer better than one that ignores the input?
 * Most comparisons use that end of a confidence interval (core/metrics/interval.h) which is better for the run, so a
 * small sample alone causes no finding. If samples have groups, an interval is that of further groups
 * (core/metrics/clusters.h). `limits` has all thresholds. The result contains the figures that are compared
 * with them (members "evidence" and "channels").
 *
 * Labels of one token each are classes. The head may recognise a class by the absence of motifs, and classes may
 * share motifs. So for classes, a channel without a name or with two names causes no finding. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/evaluation/verdict/judge_int.h"
#include "core/metrics/interval.h"

/* ---- the answers ---------------------------------------------------------------------------------------- */

static struct interval share(int64_t part, double all, double samples)
{
    return interval_share(all > 0 ? (double)part / all : 0, samples, limits.sure);
}

/* Effective number of test samples for the share of those that are counted in `with`, [CLUSTERS]. */
static double tests(const struct method_run *run, const int64_t *with)
{
    const struct evidence *e = &run->evaluation.evidence;
    return e->clusters ? clusters_of_share(with, run->evaluation.tested) : (double)e->sums.read;
}

/* The effective number of training samples of a correlation, if samples have groups. */
static double trained(const struct evidence *e, double effective)
{
    return e->clusters ? effective : (double)e->sums.trained;
}

/* Interval of the share of a name's test samples whose answer has the name. */
static struct interval share_read(const struct evidence *e, int token)
{
    const struct evidence_token *t = &e->tokens[token];
    const struct evidence_clusters *c = e->clusters ? &e->clusters[token] : NULL;
    double present = (double)t->present;
    return share(t->both, present, c ? clusters_of_share(c->both, c->present) : present);
}

/* Returns whether every label has exactly one token. */
static bool classes(const struct evidence_sums *s)
{
    return s->longest == 1 && s->shortest == 1;
}

/* Returns whether `present` of n samples, and also enough of the others, tell something about a name. */
static bool common(int64_t present, int64_t n)
{
    return (double)(present < n - present ? present : n - present) >= limits.common;
}

/* Returns whether the answers show that the model does not read a token. */
static bool unread(const struct method_run *run, int token)
{
    const struct evidence *e = &run->evaluation.evidence;
    const struct evidence_token *t = &e->tokens[token];
    double n = evidence_phi_samples(run, token), phi = evidence_phi(e, token);
    if (t->present == 0)
        return false;
    if (common(t->present, e->sums.read))
        return interval_correlation(isnan(phi) ? 0 : phi, n, limits.sure).high < limits.related;
    return (double)t->present < limits.common && share_read(e, token).high < limits.half;
}

/* Returns whether the answers show that the model reads a token poorly. */
static bool weak(const struct method_run *run, int token)
{
    const struct evidence *e = &run->evaluation.evidence;
    return common(e->tokens[token].present, e->sums.read) && !unread(run, token) &&
           interval_correlation(evidence_phi(e, token), evidence_phi_samples(run, token), limits.sure).high <
               limits.weak;
}

/* Returns whether a name that the model reads poorly has a channel of its own. The model then reads the name nearly as
 * well as this channel can, and labels do not show whether another channel could do better. Four conditions must hold:
 *   1. The channel that predicts the name best predicts no other name better.
 *   2. Answers and labels (test samples) are certainly correlated.
 *   3. The correlation of channel and name (training samples) is not clearly higher than that of answers and labels.
 *      Otherwise the channel has learned training samples by heart.
 *   4. It is not certainly lower either. Otherwise the head reads the name from other channels.
 * Classes and counts may share channels, so for them the function returns false. */
static bool own_channel(const struct method_run *run, int token)
{
    const struct evidence *e = &run->evaluation.evidence;
    const struct evidence_token *t = &e->tokens[token];
    int c = (int)t->channel;
    if (c < 0 || run->presence.counted >= 0 || classes(&e->sums))
        return false;
    if (e->channels[c].names == 0 || e->channels[c].token[0] != token || channel_name_sign(&e->channels[c], token) < 0)
        return false;
    struct interval answers =
                        interval_correlation(evidence_phi(e, token), evidence_phi_samples(run, token), limits.sure),
                    channel = interval_correlation(t->strength, trained(e, t->strength_samples), limits.sure);
    return answers.low > limits.related && channel.low - answers.high < limits.drop && channel.high >= answers.low;
}

static void judge_weak(const struct method_run *run, struct findings *findings)
{
    const struct evidence *e = &run->evaluation.evidence;
    struct names poor = {.count = 0}, misread = {.count = 0};
    for (int t = 0; t < run->domain.shape.tokens; t++) {
        char text[NAME_SHOWN + 16];
        if (!weak(run, t))
            continue;
        snprintf(text, sizeof text, "%.*s (%.2f)", NAME_SHOWN - 8, token_name(run, t), evidence_phi(e, t));
        names_add(own_channel(run, t) ? &misread : &poor, text);
    }
    if (poor.count > 0) {
        findings_add(findings, &sparling_findings[WEAK],
                     "Answers and labels have a correlation below %.1f for these names: %s.", limits.weak,
                     names_text(&poor));
        next_seed(run, findings);
    }
    if (misread.count > 0) {
        findings_add(findings, &sparling_findings[MISREAD],
                     "Answers and labels have a correlation below %.1f for these names, although each has a channel of "
                     "its own: %s. Their motifs are weak, or their channels are not yet sharp.",
                     limits.weak, names_text(&misread));
        next_seed(run, findings);
    }
}

static void judge_symbols(const struct method_run *run, struct findings *findings)
{
    const struct evidence *e = &run->evaluation.evidence;
    struct names missing = {.count = 0};
    int judged = 0;
    for (int t = 0; t < run->domain.shape.tokens; t++) {
        judged += e->tokens[t].present > 0;
        if (unread(run, t))
            names_add(&missing, token_name(run, t));
    }
    int count = missing.count;
    if (count > 0)
        findings_add(findings, &sparling_findings[2 * count >= judged ? MOST_UNREAD : UNREAD],
                     "The model reads %d of %d names no better than by chance: %s.", count, judged,
                     names_text(&missing));
    if (count > 0 && 2 * count < judged)
        next_seed(run, findings);
    double right = (double)e->sums.unordered, ordered = (double)e->sums.exact, read = (double)e->sums.read;
    struct interval any = share(e->sums.unordered, read, tests(run, e->unordered)),
                    same = share(e->sums.exact, read, tests(run, run->evaluation.tested_exact));
    if (same.high < limits.half * any.low)
        findings_add(findings, &sparling_findings[ORDER],
                     "%.1f %% of the answers have the right names, but only %.1f %% have them in the right order.",
                     100 * right / read, 100 * ordered / read);
}

/* Compares the end-to-end error with that of the best answer that ignores the input. Does nothing if labels are
 * classes and one class has more than half of the samples. An answer that ignores the input is then right too often
 * for a comparison; judge_symbols() finds the classes that the model does not read. */
static void judge_error(const struct method_run *run, struct findings *findings)
{
    const struct evidence_sums *s = &run->evaluation.evidence.sums;
    double own = run->evaluation.row[run->evaluation.rows - 1].e2ee, constant = fmin(s->constant_edit, s->chance_edit);
    if (!(constant > 0) || isnan(own) || (classes(s) && s->constant_exact > limits.half))
        return;
    double removed = 1 - own / constant;
    if (removed >= limits.half)
        return;
    findings_add(findings, &sparling_findings[removed < limits.useless ? CONSTANT : LOW_ACCURACY],
                 "The end-to-end error is %.1f %%; an answer that ignores the input has %.1f %%.", 100 * own,
                 100 * constant);
    if (removed >= limits.useless)
        next_longer(run, findings);
}

/* Judges a run with the objective single-motifs, which has no labels: compares the error of its model with the error of
 * a symbol that is drawn at random. */
static void judge_single(const struct method_run *run, struct findings *findings)
{
    double own = run->evaluation.row[run->evaluation.rows - 1].single,
           chance = 1 - 1 / (double)run->single.shape.symbols, removed = 1 - own / chance;
    if (removed < limits.half)
        findings_add(findings, &sparling_findings[removed < limits.useless ? CONSTANT : LOW_ACCURACY],
                     "The single-motif error is %.1f %%; chance has %.1f %%.", 100 * own, 100 * chance);
}

/* ---- the channels ---------------------------------------------------------------------------------------- */

/* Returns whether a channel other than `but` has this token as its first name. */
static bool has_own(const struct method_run *run, int token, int but)
{
    const struct channel_name *channels = run->evaluation.evidence.channels;
    for (int c = 0; c < (int)run->config.channels_motif; c++)
        if (c != but && channels[c].names > 0 && channels[c].token[0] == token &&
            channel_name_sign(&channels[c], token) > 0)
            return true;
    return false;
}

/* Returns whether the channel has at least two names that are not the first name of another channel. */
static bool merged(const struct method_run *run, int channel)
{
    const struct channel_name *of = &run->evaluation.evidence.channels[channel];
    int shared = 0;
    for (int i = 0; i < (int)of->names; i++)
        shared += !has_own(run, (int)of->token[i], channel);
    return of->names > 1 && shared > 1;
}

static void judge_merged(const struct method_run *run, struct findings *findings)
{
    struct names list = {.count = 0};
    for (int c = 0; c < (int)run->config.channels_motif; c++) {
        char name[CHANNEL_NAME_TEXT], text[CHANNEL_NAME_TEXT + 32];
        if (!merged(run, c))
            continue;
        channel_name_text(&run->evaluation.evidence.channels[c], &run->domain, name, sizeof name);
        snprintf(text, sizeof text, "%d (%s)", c, name);
        names_add(&list, text);
    }
    if (list.count == 0)
        return;
    findings_add(findings, &sparling_findings[MERGED], "%s several names: channel %s.",
                 list.count == 1 ? "One channel marks" : "Some channels mark", names_text(&list));
    next_seed(run, findings);
}

/* Finds names that the model reads although no channel predicts them. The model infers such a name from the motifs of
 * other names. */
static void judge_without_channel(const struct method_run *run, struct findings *findings)
{
    const struct evidence *e = &run->evaluation.evidence;
    struct names list = {.count = 0};
    for (int t = 0; t < run->domain.shape.tokens; t++) {
        double n = trained(e, e->tokens[t].explained_samples), explained = e->tokens[t].explained;
        bool varies = common(e->tokens[t].trained, e->sums.trained);
        if (varies && !unread(run, t) &&
            interval_correlation(isnan(explained) ? 0 : explained, n, limits.sure).high < limits.related)
            names_add(&list, token_name(run, t));
    }
    if (list.count == 0)
        return;
    findings_add(findings, &sparling_findings[WITHOUT_CHANNEL], "No channel predicts %s.", names_text(&list));
    next_seed(run, findings);
}

/* How much of the input around a motif a channel reads; 0: unknown. */
static double area(const struct channel_extent *e)
{
    return e->motifs > 0 ? (e->row1 - e->row0) * (e->col1 - e->col0) : 0;
}

/* Returns whether no place in the input explains a class: no channel predicts it, or its channel reads a much larger
 * part of the input than the channels of all other classes. */
static bool without_place(const struct method_run *run, int token)
{
    const struct evidence *e = &run->evaluation.evidence;
    const struct channel_extent *extent = run->evaluation.extents.channel;
    double own = e->tokens[token].channel >= 0 ? area(&extent[e->tokens[token].channel]) : 0, largest = 0;
    for (int t = 0; t < run->domain.shape.tokens; t++)
        if (t != token && e->tokens[t].channel >= 0)
            largest = fmax(largest, area(&extent[e->tokens[t].channel]));
    double explained = e->tokens[token].explained;
    double samples = trained(e, e->tokens[token].explained_samples);
    return interval_correlation(isnan(explained) ? 0 : explained, samples, limits.sure).high < limits.related ||
           (largest > 0 && own >= limits.wide * largest);
}

/* Interval of the difference of two shares of test samples: of those of the other classes that are read, and of those
 * of a class. */
static struct interval behind_others(const struct method_run *run, int token)
{
    const struct evidence *e = &run->evaluation.evidence;
    int64_t with[CLUSTERS] = {0}, of[CLUSTERS] = {0}, both = 0, present = 0;
    for (int t = 0; t < run->domain.shape.tokens; t++) {
        for (int g = 0; t != token && e->clusters && g < CLUSTERS; g++) {
            with[g] += e->clusters[t].both[g];
            of[g] += e->clusters[t].present[g];
        }
        both += t != token ? e->tokens[t].both : 0;
        present += t != token ? e->tokens[t].present : 0;
    }
    const struct evidence_token *own = &e->tokens[token];
    const struct evidence_clusters *c = e->clusters ? &e->clusters[token] : NULL;
    return interval_difference((double)both / (double)present, c ? clusters_of_share(with, of) : (double)present,
                               (double)own->both / (double)own->present,
                               c ? clusters_of_share(c->both, c->present) : (double)own->present, limits.sure);
}

/* Finds a class that the model reads much worse than the others and that no place in the input explains. It probably
 * says that the others are absent. */
static void judge_absence(const struct method_run *run, struct findings *findings)
{
    const struct evidence *e = &run->evaluation.evidence;
    double present = 0, both = 0;
    for (int t = 0; t < run->domain.shape.tokens; t++) {
        present += (double)e->tokens[t].present;
        both += (double)e->tokens[t].both;
    }
    for (int t = 0; t < run->domain.shape.tokens; t++) {
        const struct evidence_token *own = &e->tokens[t];
        double n = (double)own->present, others = present - n;
        const char *name = token_name(run, t);
        if (!common(own->present, e->sums.read) || !without_place(run, t) || behind_others(run, t).low < limits.drop)
            continue;
        findings_add(findings, &sparling_findings[ABSENCE],
                     "The model reads the class %.*s in %.0f %% of its samples, the others in %.0f %%, and no place in "
                     "the input explains it. If it says that nothing of the others is there, make it the empty label.",
                     NAME_SHOWN, name, 100 * (double)own->both / n, 100 * (both - (double)own->both) / others);
        if (strlen(name) < NAME_SHOWN && !strchr(name, '\''))
            findings_next(findings, "motifctl datasets put NEW-NAME FILE --absent '%s'", name);
    }
}

void judge_use(const struct method_run *run, struct findings *findings)
{
    const struct channel_name *channels = run->evaluation.evidence.channels;
    struct names unused = {.count = 0}, twice = {.count = 0};
    int count = (int)run->config.channels_motif, pairs = 0;
    for (int c = 0; c < count; c++) {
        char text[64];
        int same = (int)channels[c].same;
        snprintf(text, sizeof text, "%d", c);
        /* If labels are counts, one channel marks all motifs, so others may be unused. */
        if (channels[c].active == 0 && run->presence.counted < 0 && !presence_spare(run, c))
            names_add(&unused, text);
        if (same < 0 || (same < c && channels[same].same == c))
            continue;
        snprintf(text, sizeof text, "%d and %d", c, same);
        names_add(&twice, text);
        pairs++;
    }
    if (pairs > 0)
        findings_add(findings, &sparling_findings[DUPLICATE], "%s the same positions: %s.",
                     pairs == 1 ? "Two channels mark" : "Some pairs of channels mark", names_text(&twice));
    if (unused.count > 0) {
        int idle = unused.count;
        findings_add(findings, &sparling_findings[UNUSED],
                     "%d of %d channels mark nothing in %lld training samples: %s.", idle, count,
                     (long long)run->evaluation.evidence.sums.trained, names_text(&unused));
    }
}

/* Names that the labels do not tell from each other (error_rate/separate.h). */
static void judge_together(const struct method_run *run, struct findings *findings)
{
    const struct negatives *n = &run->evaluation.negatives;
    struct names pairs = {.count = 0};
    for (int c = 0; c < n->channels; c++) {
        char text[2 * NAME_SHOWN + 32];
        const struct channel_name *name = &run->evaluation.evidence.channels[c];
        if (n->channel[c].why != NEGATIVES_TOGETHER || name->names == 0)
            continue;
        snprintf(text, sizeof text, "%.*s from %.*s", NAME_SHOWN, token_name(run, (int)name->token[0]), NAME_SHOWN,
                 token_name(run, (int)n->channel[c].companion));
        names_add(&pairs, text);
    }
    if (pairs.count > 0)
        findings_add(findings, &sparling_findings[TOGETHER],
                     "These labels do not tell %s. More samples with only one of the two names would.",
                     names_text(&pairs));
}

static void judge_crowd(const struct method_run *run, struct findings *findings)
{
    const struct motif_counts *c = &run->evaluation.motif_counts;
    bool dense = c->samples > 0 && (double)c->dense > limits.half * (double)c->samples;
    if (!dense && !(c->tokens > 0 && (double)c->motifs > limits.motifs_per_token * (double)c->tokens))
        return;
    if (dense)
        findings_add(findings, &sparling_findings[CROWDED],
                     "%lld of %lld samples have too many motifs to list; the density at the end was %.2g.",
                     (long long)c->dense, (long long)c->samples, run->annealer.density);
    else
        findings_add(findings, &sparling_findings[CROWDED],
                     "There are %.1f motifs for each token of a label; the density at the end was %.2g.",
                     (double)c->motifs / (double)c->tokens, run->annealer.density);
    next_longer(run, findings);
}

/* ---- the reference --------------------------------------------------------------------------------------- */

/* Returns whether the reference certainly has more samples right than the run's model. */
static bool certainly_better(const struct reference_pair *pair)
{
    return pair->p < 0.5 * erfc(limits.sure * sqrt(0.5));
}

void judge_reference(const struct method_run *run, struct findings *findings)
{
    const struct reference_figures *f = &run->evaluation.reference;
    const struct evaluation_row *own = &run->evaluation.row[run->evaluation.rows - 1];
    struct names better = {.count = 0};
    double samples = (double)f->samples;
    if (f->samples == 0)
        return;
    if (run->domain.shape.numbers > 0) {
        if (f->r2_low > own->exact)
            findings_add(findings, &sparling_findings[BELOW_REFERENCE],
                         "The reference explains %.1f %% of the variance, the model %.1f %%.", 100 * f->r2,
                         100 * own->exact);
        return;
    }
    for (int t = 0; t < run->domain.shape.tokens; t++)
        if (certainly_better(&f->names[t]))
            names_add(&better, token_name(run, t));
    if (!certainly_better(&f->label))
        return;
    findings_add(findings, &sparling_findings[BELOW_REFERENCE],
                 "The reference has %.1f %% of the test samples right that the model has wrong; %.1f %% are the other "
                 "way round.%s%s",
                 100 * (double)f->label.reference / samples, 100 * (double)f->label.model / samples,
                 better.count > 0 ? " It reads these names better: " : "", better.count > 0 ? names_text(&better) : "");
}

/* ---- the training ----------------------------------------------------------------------------------------- */

static double effective_tests(const struct evaluation_row *row)
{
    return row->effective > 0 ? row->effective : (double)row->test_samples;
}

static void judge_stages(const struct method_run *run, struct findings *findings)
{
    const struct evaluation *e = &run->evaluation;
    const struct evaluation_row *own = &e->row[e->rows - 1], *best = NULL;
    for (int64_t i = 0; i + 1 < e->rows; i++) {
        const struct evaluation_row *row = &e->row[i];
        bool sure = interval_share(row->exact, effective_tests(row), limits.sure).low >
                    interval_share(own->exact, effective_tests(own), limits.sure).high;
        if (sure && own->e2ee - row->e2ee >= limits.drop && (!best || row->e2ee < best->e2ee))
            best = row;
    }
    if (!best)
        return;
    findings_add(findings, &sparling_findings[EARLIER],
                 "At density %.2g the end-to-end error was %.1f %%; at the end, at %.2g, it is %.1f %%.", best->density,
                 100 * best->e2ee, own->density, 100 * own->e2ee);
    if (best->checkpoint >= 0)
        findings_next(findings, "motifctl export JOB --checkpoint %lld", (long long)best->checkpoint);
}

/* Accuracy gained between the first and the second half of the validations at the last density; 0 if there are too few
 * validations. */
static double late_gain(const struct evidence *e)
{
    int64_t all = e->sums.validations, first = all;
    double half[2] = {0, 0};
    while (first > 0 && all - first < EVIDENCE_CURVE &&
           e->curve[(first - 1) % EVIDENCE_CURVE].density == e->curve[(all - 1) % EVIDENCE_CURVE].density)
        first--;
    int64_t count = (all - first) / 2;
    for (int64_t i = 0; count >= 2 && i < count; i++) {
        half[0] += e->curve[(all - 1 - i) % EVIDENCE_CURVE].accuracy / (double)count;
        half[1] += e->curve[(all - 1 - count - i) % EVIDENCE_CURVE].accuracy / (double)count;
    }
    return half[0] - half[1];
}

/* Notes that a run that ends by itself (joint_phase.c) ended although its last validations were better than earlier
 * ones. Either it came to the limit of its samples, or it ended before because the accuracy reached its target or, if
 * the plateau rule applies to the last density, because the loss did not fall. */
static void judge_end(const struct method_run *run, struct findings *findings)
{
    const struct sparling_config *c = &run->config;
    const struct ending *end = &run->ending;
    long long samples = run->samples, most = c->total_samples;
    double higher = (1 + c->target_max) / 2;
    const char *constant = c->target_decay > 0 ? " --set target_decay=0" : "";
    char rise[80] = "";
    if (higher - c->target_max > 5e-4) /* a target near 1 cannot rise */
        (void)snprintf(rise, sizeof rise, " --set target_start=%.4g --set target_max=%.4g", higher, higher);
    if (end->from == 0 || end->to >= head_phase_limit(run)) {
        findings_add(findings, &sparling_findings[IMPROVING],
                     "Training ended after %lld of %lld samples, because of the limit total_samples, while the model "
                     "still improved.",
                     samples, most);
        next_longer(run, findings);
    } else if (c->plateau_validations > 0 && sparling_last_density(c) > c->plateau_density) {
        findings_add(findings, &sparling_findings[IMPROVING],
                     "Training ended after %lld of %lld samples, because the loss did not fall in %lld validations or "
                     "the accuracy reached its target, while the model still improved.",
                     samples, most, (long long)c->plateau_validations);
        findings_next(findings, AGAIN "--set plateau_validations=0%s%s", rise, constant);
    } else {
        findings_add(findings, &sparling_findings[IMPROVING],
                     "Training ended after %lld of %lld samples, because the accuracy reached its target of at most "
                     "%.4g %%, while the model still improved; at the end the accuracy is %.4g %%.",
                     samples, most, 100 * c->target_max, 100 * run->accuracy);
        if (rise[0] != '\0' || constant[0] != '\0')
            findings_next(findings, "motifctl submit --like JOB%s%s", rise, constant);
        else
            next_longer(run, findings);
    }
}

void judge_training(const struct method_run *run, struct findings *findings)
{
    const struct evidence *e = &run->evaluation.evidence;
    const struct sparling_config *c = &run->config;
    /* A validation with an accuracy above the target raises annealer.target to this accuracy. Only such a target can be
     * above target_max. */
    double target = fmin(run->annealer.target, c->target_max);
    const struct evaluation_row *own = &run->evaluation.row[run->evaluation.rows - 1];
    /* Groups lower the effective number of validation samples as much as that of test samples. */
    double checked = (double)c->validation_samples * effective_tests(own) / fmax(1, (double)own->test_samples);
    double gain = late_gain(e);
    if (run->numbers.count == 0 && interval_share(run->accuracy, checked, limits.sure).high < target)
        findings_add(findings, &sparling_findings[BELOW_TARGET],
                     "The accuracy of the last validation was %.1f %%; its target was %.1f %%.", 100 * run->accuracy,
                     100 * target);
    if (sparling_thresholds(c) && !annealer_at_least(&run->annealer, &run->rule) && run->samples >= c->total_samples) {
        const bool dense = run->annealer.density > limits.dense * sparling_last_density(c);
        findings_add(
            findings, &sparling_findings[dense ? DENSE : STOPPED],
            "Training used all its %lld samples at the density %.2g; the last density of the schedule is %.2g.",
            (long long)c->total_samples, run->annealer.density, sparling_last_density(c));
        next_longer(run, findings);
    }
    if (c->patience > 0 && run->ending.flat < c->patience && run->accuracy < target)
        judge_end(run, findings);
    if (c->patience == 0 && gain > limits.gain &&
        gain > limits.sure * sqrt(2 * run->accuracy * (1 - run->accuracy) / checked)) {
        findings_add(findings, &sparling_findings[IMPROVING],
                     "At the last density the accuracy rose by %.1f points from the first half of its validations to "
                     "the second.",
                     100 * gain);
        next_longer(run, findings);
    }
}

/* ---- the data --------------------------------------------------------------------------------------------- */

static enum status judge_rare(const struct method_run *run, struct findings *findings, struct error *err)
{
    const struct domain *domain = run->domain.domain;
    int tokens = run->domain.shape.tokens;
    struct names list = {.count = 0};
    if (!domain->frequencies)
        return STATUS_OK;
    double *count = calloc(2 * (size_t)tokens, sizeof *count);
    if (!count)
        return error_memory(err, "the verdict");
    double *with = count + tokens;
    double samples = (double)domain->frequencies(run->domain.state, count, with);
    for (int t = 0; t < tokens; t++)
        if (round(with[t] * samples) <= limits.rare)
            names_add(&list, token_name(run, t));
    free(count);
    if (list.count > 0)
        findings_add(findings, &sparling_findings[RARE], "At most one training sample has each of these names: %s.",
                     names_text(&list));
    return STATUS_OK;
}

static void judge_data(const struct method_run *run, struct findings *findings)
{
    const struct evidence_sums *s = &run->evaluation.evidence.sums;
    if (!(s->read > 0 && s->trained > 0))
        return;
    double all = (double)s->trained, heart = (double)s->trained_exact / all;
    double read = (double)s->read, exact = (double)s->exact / read;
    /* The training samples are drawn from the whole training part, so its groups are no sample of others. */
    double gap = interval_difference(heart, all, exact, tests(run, run->evaluation.tested_exact), limits.sure).low;
    if (gap >= limits.drop)
        findings_add(findings, &sparling_findings[gap >= limits.heart ? BY_HEART : MORE_SAMPLES],
                     "%.1f %% of the training samples are answered exactly, but only %.1f %% of the test samples: the "
                     "model has learned samples by heart.",
                     100 * heart, 100 * exact);
}

void judge_range(const struct method_run *run, struct findings *findings)
{
    const struct evidence_sums *s = &run->evaluation.evidence.sums;
    double width = s->trained_high - s->trained_low, slack = limits.outside * width;
    if (width >= 0 && (s->low < s->trained_low - slack || s->high > s->trained_high + slack))
        findings_add(findings, &sparling_findings[OUTSIDE],
                     "Inputs of test samples have values from %.3g to %.3g; training samples have %.3g to %.3g.",
                     s->low, s->high, s->trained_low, s->trained_high);
}

/* ---- the verdict ------------------------------------------------------------------------------------------ */

enum status judge_tokens(struct method_run *run, struct findings *findings, struct error *err)
{
    const struct evidence_sums *s = &run->evaluation.evidence.sums;
    const struct domain_shape *shape = &run->domain.shape;
    judge_error(run, findings);
    judge_symbols(run, findings);
    judge_weak(run, findings);
    if (!shape->positions && !classes(s) && s->trained > 0) {
        if (shape->tokens <= run->config.channels_motif)
            judge_without_channel(run, findings);
        judge_merged(run, findings);
        judge_crowd(run, findings);
    }
    if (!shape->positions && classes(s) && s->trained > 0 && shape->tokens <= run->config.channels_motif)
        judge_absence(run, findings);
    if (!shape->positions && s->trained > 0) {
        judge_use(run, findings);
        judge_together(run, findings);
        judge_marks(run, findings);
    }
    judge_stages(run, findings);
    judge_reference(run, findings);
    judge_training(run, findings);
    judge_data(run, findings);
    judge_range(run, findings);
    return judge_rare(run, findings, err);
}

enum status sparling_judge(struct method_run *run, struct findings *findings, struct error *err)
{
    enum status status = STATUS_OK;
    if (run->activity != ACTIVITY_DONE || run->evaluation.rows < 1)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has no result before its evaluation has finished");
    if (run->direct)
        judge_single(run, findings);
    else
        status = run->head->judge(run, findings, err);
    publish_findings(&run->findings, &sparling_findings[ARTIFACT], findings);
    return status;
}
