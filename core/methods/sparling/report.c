/* Publishes metrics and reads the clock and the list of checkpoints, for training, evaluation and phases.
 *
 * These functions have a file of their own, so that training code can call them without a dependency on the code that
 * drives the run. */
#include <time.h>

#include "core/methods/sparling/report.h"
#include "core/methods/sparling/run.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/presence.h"

const struct method_metric sparling_metrics[SPARLING_METRICS] = {
    {"loss", "nat",
     "Mean over ten updates of the cross-entropy of a target token; in the first phase, of the presence loss."},
    {"validation_loss", "nat", "Cross-entropy of a target token on the validation set."},
    {"kept_samples", "samples",
     "Number of training samples at the validation with whose weights the next phase begins (select_by_validation)."},
    {"presence_loss", "nat", "Loss of the presence objective on the validation set, summed over the names."},
    {"start_loss", "nat", "Lowest presence loss that a start has reached, published at its end (starts)."},
    {"presence_unread", "", "Number of names that the motif model does not recognise yet, in the first phase."},
    {"accuracy", "", "Share of validation samples whose whole label is read correctly."},
    {"phase", "", "Row of the job's plan that the training has reached, counted from 1."},
    {"target_accuracy", "", "Validation accuracy above which the stage ends."},
    {"density", "", "Target share of active elements in the motif map."},
    {"achieved_density", "", "Measured share of active elements in the motif maps of a training batch."},
    {"fpe", "", "False positive error: share of the motifs of the validation set that are in no true box."},
    {"fne", "", "False negative error: share of the true symbols of the validation set without a motif."},
    {"ce", "", "Confusion error: share of the marked symbols whose motif is in another symbol's channel."},
    {"coherence", "", "Mean mutual coherence of the 3x3 convolutions of g."},
    {"coherence_max", "", "Largest mutual coherence among the 3x3 convolutions of g."},
    {"reinitialised", "", "Number of channels reinitialised so far (reinitialise_below)."},
    {"restored_density", "", "Density to which the training went back, published once if it did."},
    {"threshold_mean", "", "Mean of the thresholds of the sparse layer."},
    {"learning_rate", "", "Step size of the optimiser."},
    {"gradient_norm", "", "Euclidean norm of the whole gradient, mean of ten updates."},
    {"samples_per_second", "1/s", "Training speed without validations."},
};

double run_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void run_metric(struct method_run *run, const char *name, double value)
{
    if (run->env.metric)
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
