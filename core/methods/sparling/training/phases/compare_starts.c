/* Compares several starts of a run and continues the best one (starts).
 *
 * A start is a set of initial weights that the presence objective trains for a part of presence_samples
 * (SPARLING_START). Then the next start begins. The start with the lowest presence loss wins and begins once more. The
 * same initial weights and batches give the same weights bit for bit, so the weights of a start need not be kept.
 * Batches are counted from the beginning of a start.
 */
#include <math.h>

#include "core/methods/sparling/report.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/phases/compare_starts.h"
#include "core/methods/sparling/training/initialise.h"
#include "core/methods/sparling/training/phases/motif_phase.h"

void starts_begin(struct method_run *run)
{
    run->starts = (struct starts){
        .count = sparling_presence_alone(&run->config) ? run->config.starts : 1, .lowest = INFINITY, .loss = INFINITY};
}

bool starts_sound(const struct method_run *run)
{
    const struct starts *s = &run->starts;
    return s->now >= 0 && s->now < run->config.starts && s->best >= 0 && s->best < run->config.starts &&
           s->count >= 1 && s->count <= run->config.starts && s->samples >= 0 && s->samples <= run->samples &&
           s->updates >= 0 && s->updates <= run->updates;
}

static bool is_within_comparison(const struct method_run *run)
{
    return (double)(run->samples - run->starts.samples) < SPARLING_START * (double)run->config.presence_samples;
}

/* Begins the start s->now: the run gets new initial weights. */
static enum status begin_start(struct method_run *run, struct error *err)
{
    struct starts *s = &run->starts;
    s->samples = run->samples;
    s->updates = run->updates;
    s->loss = INFINITY;
    return run_initialise(run, err);
}

/* Begins the next start if the present one has used its samples. After the last one, begins the best start again; if
 * the last one is the best, it goes on, and the plan skips PHASE_BEST_START. */
static enum status validated_start(struct method_run *run, struct validation_outcome *v, struct error *err)
{
    struct starts *s = &run->starts;
    s->loss = fmin(s->loss, v->own_loss);
    if (is_within_comparison(run))
        return STATUS_OK;
    run_metric(run, "start_loss", s->loss);
    if (s->loss < s->lowest) {
        s->lowest = s->loss;
        s->best = s->now;
    }
    if (s->now + 1 < s->count) {
        s->now++;
        return begin_start(run, err);
    }
    s->count = 1; /* no comparison is left */
    v->advance = s->best == s->now ? 2 : 1;
    if (s->best == s->now)
        return STATUS_OK;
    s->now = s->best;
    return begin_start(run, err);
}

/* Until the best start is as far as in the comparison, validations must change nothing, as in the comparison; otherwise
 * the weights would not be those of the best start. */
static enum status validated_best(struct method_run *run, struct validation_outcome *v, struct error *err)
{
    if (is_within_comparison(run))
        return STATUS_OK;
    v->advance = 1;
    return motif_phase_validated(run, v, err);
}

const struct phase_rule compare_starts_rule = {.validated = validated_start},
                        best_start_rule = {.validated = validated_best};

enum status starts_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct starts *s = &run->starts;
    const struct snapshot_row rows[] = {
        SNAPSHOT_NUMBER("starts.count", &s->count),     SNAPSHOT_NUMBER("starts.now", &s->now),
        SNAPSHOT_NUMBER("starts.best", &s->best),       SNAPSHOT_NUMBER("starts.samples", &s->samples),
        SNAPSHOT_NUMBER("starts.updates", &s->updates), SNAPSHOT_NUMBER("starts.lowest", &s->lowest),
        SNAPSHOT_NUMBER("starts.loss", &s->loss),
    };
    return run->config.starts <= 1 ? STATUS_OK
                                   : snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}
