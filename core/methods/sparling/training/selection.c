/* Keeps the weights of the best validation of a phase.
 *
 * A validation part is small, so its error is noisy. The error is therefore smoothed: each validation counts as much as
 * all earlier ones together. And a phase keeps its last weights unless their error is larger than the best one by more
 * than chance explains (the one-standard-error rule of Breiman et al., 1984).
 *
 * In the phase of g alone the error is the loss of g's own objective. In the other phases it is the share of wrong
 * labels and not their loss, because the loss rises as soon as some wrong answers become certain, long before more
 * answers become wrong. Densities are not comparable, so only validations at the last one count. */
#include "core/methods/sparling/training/selection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/report.h"
#include "core/methods/sparling/run_state.h"

/* Share of the last validation in the smoothed error. */
static const double RECENT = 0.5;
/* Standard error of the loss of g's own objective, as a share of it. */
static const double LOSS_ERROR = 0.03;

enum status selection_open(struct method_run *run, struct error *err)
{
    struct selection *s = &run->selection;
    size_t reals;
    if (!run->config.select_by_validation)
        return STATUS_OK;
    (void)params_values(run->network->params, &reals);
    s->reals = (int64_t)reals;
    s->weights = calloc(reals, sizeof *s->weights);
    return s->weights ? STATUS_OK : error_memory(err, "the best weights");
}

void selection_close(struct method_run *run)
{
    free(run->selection.weights);
}

void selection_begin(struct method_run *run)
{
    struct selection *s = &run->selection;
    s->samples = s->flat = 0;
    s->recent = s->best = INFINITY;
}

void selection_validated(struct method_run *run, const struct validation_outcome *v)
{
    struct selection *s = &run->selection;
    const struct phase *now = plan_now(run);
    bool labels = now->objectives & OBJECTIVE_OF_LABELS, alone = now->name == PHASE_MOTIFS;
    if (s->weights == NULL || !(labels ? annealer_at_least(&run->annealer, &run->rule) : alone))
        return;
    double error = labels ? 1 - run->accuracy : v->own_loss;
    s->recent = isfinite(s->recent) ? RECENT * error + (1 - RECENT) * s->recent : error;
    s->flat++;
    if (s->recent >= s->best)
        return;
    s->best = s->recent;
    s->samples = run->samples;
    s->flat = 0;
    memcpy(s->weights, params_values(run->network->params, NULL), (size_t)s->reals * sizeof *s->weights);
}

/* Returns by how much the smoothed error of equally good weights can be larger than the best one. */
static double standard_error(const struct method_run *run)
{
    double best = run->selection.best;
    bool labels = plan_now(run)->objectives & OBJECTIVE_OF_LABELS;
    return labels ? sqrt(best * (1 - best) / (double)run->config.validation_samples) : LOSS_ERROR * best;
}

void selection_end(struct method_run *run)
{
    struct selection *s = &run->selection;
    if (s->weights == NULL || s->samples == 0)
        return;
    bool returns = s->recent > s->best + standard_error(run);
    run_metric(run, "kept_samples", (double)(returns ? s->samples : run->samples));
    if (returns)
        memcpy(params_values(run->network->params, NULL), s->weights, (size_t)s->reals * sizeof *s->weights);
}

bool selection_sound(const struct method_run *run)
{
    const struct selection *s = &run->selection;
    return s->samples >= 0 && s->samples <= run->samples && s->flat >= 0;
}

enum status selection_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct selection *s = &run->selection;
    const struct snapshot_row rows[] = {
        SNAPSHOT_ARRAY("selection.weights", s->weights, (uint64_t)s->reals),
        SNAPSHOT_NUMBER("selection.samples", &s->samples), SNAPSHOT_NUMBER("selection.flat", &s->flat),
        SNAPSHOT_NUMBER("selection.recent", &s->recent), SNAPSHOT_NUMBER("selection.best", &s->best)};
    return s->weights ? snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err) : STATUS_OK;
}
