/* Decides when a run ends by itself (patience).
 *
 * At the last density, training continues at the full learning rate as long as the validation loss or the accuracy
 * improves. When neither improves any more, or when the accuracy reaches its target, the learning rate begins to fall.
 * The length of the fall is a fixed share of the number of samples since the first phase. After the fall, training
 * ends. The fall begins early enough to end at the sample limit (reading_limit()). */
#include <math.h>

#include "core/methods/sparling/run_int.h"

/* An improvement is a relative decrease of the validation loss by more than GAIN, or an increase of the accuracy by
 * more than RISE. */
static const double GAIN = 0.02, RISE = 0.005;
/* Minimum length of the learning rate's fall, in validations. */
enum { FALL_VALIDATIONS = 4 };

void ending_begin(struct method_run *run)
{
    run->ending = (struct ending){.loss = INFINITY};
}

bool ending_sound(const struct method_run *run)
{
    const struct ending *c = &run->ending;
    return c->flat >= 0 && c->from >= 0 && c->from <= run->samples && c->to >= c->from &&
           (double)c->to <= 2 * CONFIG_INT_MAX;
}

double ending_rate(const struct method_run *run)
{
    const struct ending *c = &run->ending;
    if (c->from == 0)
        return 1;
    double at = fmin(1, (double)(run->samples - c->from) / (double)(c->to - c->from));
    return 1 - (1 - run->config.learning_rate_final) * at;
}

/* Returns over how many samples the learning rate would fall if the fall began now. The fall ends at a validation. */
static int64_t length_of_fall(const struct method_run *run)
{
    int64_t every = run->config.validation_every;
    double trained = (double)(run->samples - run->presence.ended_samples);
    int64_t validations = (int64_t)ceil(SPARLING_FALL * trained / (double)every);
    return every * (validations > FALL_VALIDATIONS ? validations : FALL_VALIDATIONS);
}

bool ending_validated(struct method_run *run, double loss, bool reached)
{
    struct ending *c = &run->ending;
    if (c->from > 0)
        return run->samples >= c->to;
    bool better = loss < c->loss * (1 - GAIN) || run->accuracy > c->accuracy + RISE;
    c->flat = better ? 0 : c->flat + 1;
    if (better) {
        c->loss = fmin(c->loss, loss);
        c->accuracy = fmax(c->accuracy, run->accuracy);
    }
    int64_t length = length_of_fall(run);
    if (reached || c->flat >= run->config.patience || run->samples + length >= reading_limit(run)) {
        c->from = run->samples;
        c->to = run->samples + length;
    }
    return false;
}

enum status ending_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct ending *c = &run->ending;
    if (run->config.patience == 0)
        return STATUS_OK;
    enum status status = snapshot_add_f64(snapshot, "ending.loss", &c->loss, err);
    if (!status)
        status = snapshot_add_f64(snapshot, "ending.accuracy", &c->accuracy, err);
    if (!status)
        status = snapshot_add_i64(snapshot, "ending.flat", &c->flat, err);
    if (!status)
        status = snapshot_add_i64(snapshot, "ending.from", &c->from, err);
    return status ? status : snapshot_add_i64(snapshot, "ending.to", &c->to, err);
}
