/* Decides when a stage ends and lowers the density (annealer.h). */
#include "core/methods/sparling/training/annealer.h"

#include <math.h>

/* A stage begins to wait only if its loss is more than WORSE times the loss at the end of the previous stage. */
static const double WORSE = 1.6;

void annealer_init(struct annealer *annealer, double density_start, double target_start, int64_t samples)
{
    *annealer = (struct annealer){.density = density_start,
                                  .target = target_start,
                                  .updated = samples,
                                  .best_loss = INFINITY,
                                  .before = INFINITY};
}

/* Counts the consecutive validations of this stage without a lower loss, and returns whether they end the stage. */
static bool is_on_plateau(struct annealer *a, const struct annealer_rule *rule, double loss)
{
    if (loss < a->best_loss * (1 - rule->plateau_gain)) {
        a->best_loss = loss;
        a->flat = 0;
    } else {
        a->flat++;
    }
    return rule->plateau_validations > 0 && a->flat >= rule->plateau_validations && a->density > rule->plateau_density;
}

/* Whether a stage that makes no progress waits because a channel is spare (annealer.h). The wait begins only if the
 * loss is higher than at the density before. It continues after the loss has fallen, because the channel may be in the
 * middle of a change. */
static bool must_wait(const struct annealer *a, const struct annealer_rule *rule, double loss, bool spare)
{
    return spare && a->waited < rule->wait && (a->waited > 0 || loss > WORSE * a->before) &&
           !annealer_at_least(a, rule);
}

enum status annealer_update(struct annealer *a, const struct annealer_rule *rule, int64_t samples, double accuracy,
                            double loss, bool spare, bool *ended, struct error *err)
{
    *ended = false;
    if (samples < a->updated)
        return error_set(err, STATUS_INTERNAL, NULL, "the sample count of a validation fell from %lld to %lld",
                         (long long)a->updated, (long long)samples);
    if (samples - a->updated < rule->spacing)
        return STATUS_OK;
    double target = a->target - rule->decay * (double)(samples - a->updated);
    a->target = fmin(fmax(target, rule->target_min), rule->target_max);
    a->updated = samples;
    bool flat = is_on_plateau(a, rule, loss);
    bool reached = accuracy > a->target, wait = flat && !reached && must_wait(a, rule, loss, spare);
    a->waited += wait;
    *ended = reached || (flat && !wait);
    if (*ended)
        a->before = loss;
    a->pending = *ended;
    a->target = fmax(a->target, accuracy);
    return STATUS_OK;
}

bool annealer_at_least(const struct annealer *a, const struct annealer_rule *rule)
{
    return a->density * rule->factor < rule->density_final;
}

bool annealer_last(const struct annealer *a, const struct annealer_rule *rule)
{
    return a->pending && annealer_at_least(a, rule);
}

void annealer_advance(struct annealer *a, const struct annealer_rule *rule)
{
    if (!a->pending)
        return;
    a->density *= rule->factor;
    a->pending = 0;
    a->stage++;
    a->best_loss = INFINITY;
    a->flat = a->waited = 0;
}

enum status annealer_snapshot(struct annealer *a, struct snapshot *snapshot, struct error *err)
{
    const struct snapshot_row rows[] = {
        SNAPSHOT_NUMBER("annealer.density", &a->density), SNAPSHOT_NUMBER("annealer.target", &a->target),
        SNAPSHOT_NUMBER("annealer.updated", &a->updated), SNAPSHOT_NUMBER("annealer.pending", &a->pending),
        SNAPSHOT_NUMBER("annealer.stage", &a->stage),     SNAPSHOT_NUMBER("annealer.best_loss", &a->best_loss),
        SNAPSHOT_NUMBER("annealer.flat", &a->flat),       SNAPSHOT_NUMBER("annealer.before", &a->before),
        SNAPSHOT_NUMBER("annealer.waited", &a->waited),
    };
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}
