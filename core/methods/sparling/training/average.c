/* Keeps a running average of the weights (average.h). */
#include "core/methods/sparling/training/average.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/run_state.h"

static real *values_of(struct method_run *run)
{
    return params_values(run->network->params, NULL);
}

enum status average_open(struct method_run *run, struct error *err)
{
    struct average *a = &run->average;
    size_t reals;
    if (run->config.weight_average <= 0)
        return STATUS_OK;
    (void)params_values(run->network->params, &reals);
    a->reals = (int64_t)reals;
    if (!a->other)
        a->other = malloc(reals * sizeof *a->other);
    if (!a->other)
        return error_memory(err, "the average of the weights");
    average_restart(run);
    return STATUS_OK;
}

void average_close(struct method_run *run)
{
    free(run->average.other);
}

static void exchange(struct method_run *run)
{
    struct average *a = &run->average;
    real *values = values_of(run);
    for (int64_t i = 0; i < a->reals; i++) {
        real kept = values[i];
        values[i] = a->other[i];
        a->other[i] = kept;
    }
    a->shown = !a->shown;
}

void average_show(struct method_run *run)
{
    if (run->average.other && !run->average.shown)
        exchange(run);
}

void average_hide(struct method_run *run)
{
    if (run->average.other && run->average.shown)
        exchange(run);
}

void average_update(struct method_run *run)
{
    struct average *a = &run->average;
    if (!a->other)
        return;
    /* the first updates count less, because the weights change most then */
    double done = (double)a->updates++, kept = fmin(run->config.weight_average, (1 + done) / (10 + done));
    const real *values = values_of(run), share = (real)(1 - kept);
    for (int64_t i = 0; i < a->reals; i++)
        a->other[i] += share * (values[i] - a->other[i]);
}

void average_restart(struct method_run *run)
{
    struct average *a = &run->average;
    if (!a->other)
        return;
    memcpy(a->other, values_of(run), (size_t)a->reals * sizeof *a->other);
    a->shown = true;
    a->updates = 0;
}

bool average_sound(const struct method_run *run)
{
    return run->average.updates >= 0 && run->average.updates <= run->updates;
}

enum status average_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct average *a = &run->average;
    const struct snapshot_row rows[] = {SNAPSHOT_ARRAY("average.trained", a->other, (uint64_t)a->reals),
                                        SNAPSHOT_NUMBER("average.updates", &a->updates)};
    return a->other ? snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err) : STATUS_OK;
}
