/* Compares several starts of a run and continues the best one (starts).
 *
 * A start is a set of initial weights that the presence objective trains for a part of presence_samples
 * (SPARLING_START). Then the next start begins. The start with the lowest presence loss wins and begins once more. The
 * same initial weights and batches give the same weights bit for bit, so the weights of a start need not be kept.
 * Batches are counted from the beginning of a start.
 */
#include <math.h>

#include "core/methods/sparling/run_int.h"

/* Distance between the seeds of the initial weights of two starts. */
enum { SEED_STEP = 1000003 };

void starts_begin(struct method_run *run)
{
    run->starts = (struct starts){
        .count = sparling_presence_alone(&run->config) ? run->config.starts : 1, .lowest = INFINITY, .loss = INFINITY};
}

int64_t starts_seed(const struct method_run *run)
{
    return run->config.seed + SEED_STEP * run->starts.now;
}

bool starts_sound(const struct method_run *run)
{
    const struct starts *s = &run->starts;
    return s->now >= 0 && s->now < run->config.starts && s->best >= 0 && s->best < run->config.starts &&
           s->count >= 1 && s->count <= run->config.starts && s->samples >= 0 && s->samples <= run->samples &&
           s->updates >= 0 && s->updates <= run->updates;
}

/* Starts are compared after equally many samples. Returns whether the start in progress has trained with fewer. */
static bool shorter(const struct method_run *run)
{
    return (double)(run->samples - run->starts.samples) < SPARLING_START * (double)run->config.presence_samples;
}

bool starts_repeat(const struct method_run *run)
{
    return run->config.starts > 1 && run->starts.count == 1 && shorter(run);
}

/* Requests that the caller begins the start s->now. */
static void restart(struct method_run *run)
{
    struct starts *s = &run->starts;
    s->samples = run->samples;
    s->updates = run->updates;
    s->loss = INFINITY;
    s->due = true;
}

void starts_validated(struct method_run *run, double loss)
{
    struct starts *s = &run->starts;
    s->loss = fmin(s->loss, loss);
    if (shorter(run))
        return;
    run_metric(run, "start_loss", s->loss);
    if (s->loss < s->lowest) {
        s->lowest = s->loss;
        s->best = s->now;
    }
    if (s->now + 1 < s->count) {
        s->now++;
        restart(run);
        return;
    }
    s->count = 1; /* no comparison is left; if the last start is the best, training goes on with it */
    if (s->best == s->now)
        return;
    s->now = s->best;
    restart(run);
}

enum status starts_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct starts *s = &run->starts;
    const struct {
        const char *name;
        int64_t *at;
    } integers[] = {{"starts.count", &s->count},
                    {"starts.now", &s->now},
                    {"starts.best", &s->best},
                    {"starts.samples", &s->samples},
                    {"starts.updates", &s->updates}};
    enum status status = STATUS_OK;
    if (run->config.starts <= 1)
        return STATUS_OK;
    for (size_t i = 0; !status && i < sizeof integers / sizeof integers[0]; i++)
        status = snapshot_add_i64(snapshot, integers[i].name, integers[i].at, err);
    if (!status)
        status = snapshot_add_f64(snapshot, "starts.lowest", &s->lowest, err);
    return status ? status : snapshot_add_f64(snapshot, "starts.loss", &s->loss, err);
}
