/* Metrics, the clock and the list of checkpoints: what training, evaluation and the phases all need of the environment.
 *
 * These functions are below the other files of a run, so that training code need not call the code that drives it. */
#include <time.h>

#include "core/methods/sparling/run.h"
#include "core/methods/sparling/run_int.h"

const struct method_metric sparling_metrics[SPARLING_METRICS] = {
    {"loss", "nat", "cross-entropy a target token on training batches, mean of ten updates"},
    {"validation_loss", "nat", "cross-entropy a target token on the validation set"},
    {"accuracy", "", "share of validation samples whose label is read without a fault"},
    {"target_accuracy", "", "accuracy that ends the stage"},
    {"density", "", "target share of active motif map elements"},
    {"achieved_density", "", "active share of the motif map of a training batch"},
    {"fpe", "", "share of the validation set's motifs that lie in no true box"},
    {"fne", "", "share of the validation set's true symbols without a motif"},
    {"ce", "", "share of the covered symbols whose motif is not the one that stands for them"},
    {"coherence", "", "mutual coherence of g's 3x3 convolutions, their mean"},
    {"coherence_max", "", "the largest of them"},
    {"reinitialised", "", "channels that have begun anew so far (reinitialise_below)"},
    {"threshold_mean", "", "mean of the sparse layer's thresholds"},
    {"learning_rate", "", "step size of the optimiser"},
    {"gradient_norm", "", "Euclidean norm of the whole gradient, mean of ten updates"},
    {"samples_per_second", "1/s", "training speed, validation not counted"},
};

double run_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void run_metric(struct method_run *run, const char *name, double value)
{
    if (study_of_many(run))
        distribution_metric(&run->study.distribution, name, run->samples, value);
    else if (run->env.metric)
        run->env.metric(run->env.context, name, run->samples, value);
}

int64_t run_last_checkpoint(const struct method_run *run)
{
    const struct method_checkpoints *list = &run->env.checkpoints;
    struct method_checkpoint last;
    size_t count = 0;
    if (!list->count || list->count(list->context, &count, NULL) || count == 0 ||
        list->describe(list->context, count - 1, &last, NULL))
        return 0;
    return last.seq;
}
