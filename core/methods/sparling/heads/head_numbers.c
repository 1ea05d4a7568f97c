/* The head for numbers (head.h). It predicts standardised numbers, and its loss is their mean squared error. The share
 * of the variance that it explains (R squared) is the accuracy, and 1 - R squared is the end-to-end error. */
#include <math.h>

#include "core/methods/sparling/run_state.h"

static struct tensor *compute_outputs(struct method_run *run, struct tensor *motifs, const struct batch *batch)
{
    (void)batch;
    return network_numbers(&run->exec, run->network, motifs);
}

static struct tensor *compute_loss(struct method_run *run, struct tensor *numbers, const struct batch *batch)
{
    const real *standard = numbers_standard(run, batch);
    return standard ? op_squared_error(&run->exec, numbers, standard) : NULL;
}

static int count_targets(const struct batch *batch)
{
    return batch->request.count;
}

static void clear_counts(struct method_run *run)
{
    numbers_clear(run, NUMBERS_VALIDATION);
    numbers_clear(run, NUMBERS_GUIDE);
    numbers_clear(run, NUMBERS_TURNED);
    numbers_clear(run, NUMBERS_TEST);
}

static void count_answers(struct method_run *run, const struct batch *batch, const struct tensor *numbers)
{
    numbers_add(run, NUMBERS_VALIDATION, batch, numbers);
}

static double measure_accuracy(const struct method_run *run)
{
    double r2 = regression_r2(numbers_all(run, NUMBERS_VALIDATION));
    return r2 > 0 ? r2 : 0; /* 0 for NaN */
}

static enum status test_batch(struct method_run *run, struct network *network, const struct batch *batch, bool own,
                              struct error *err)
{
    struct exec *e = &run->exec;
    struct tensor *map = network_motifs(e, network, batch->images, batch->request.count, 1);
    struct tensor *numbers = network_numbers(e, network, map);
    enum status status = exec_status(e, err);
    if (status)
        return status;
    if (run->evaluation.position == 0)
        numbers_clear(run, NUMBERS_TEST);
    numbers_add(run, NUMBERS_TEST, batch, numbers);
    if (own)
        evidence_read(run, batch, NULL);
    return STATUS_OK;
}

static void set_test_errors(struct method_run *run, struct evaluation_row *row)
{
    row->exact = regression_r2(numbers_all(run, NUMBERS_TEST));
    row->e2ee = 1 - row->exact;
}

static enum status read_training_batch(struct method_run *run, struct tensor *motifs, const struct batch *batch,
                                       struct error *err)
{
    struct tensor *numbers = network_numbers(&run->exec, run->network, motifs);
    enum status status = exec_status(&run->exec, err);
    if (!status && run->evaluation.position == 0)
        numbers_clear(run, NUMBERS_TRAINED);
    if (!status)
        numbers_add(run, NUMBERS_TRAINED, batch, numbers);
    return status;
}

const struct head numbers_head = {
    .name = "numbers",
    .outputs = compute_outputs,
    .loss = compute_loss,
    .targets = count_targets,
    .guide = guide_loss,
    .guide_count = guide_count,
    .guide_turning = guide_turning,
    .guide_turned = guide_count_turned,
    .measure = guide_measure,
    .clear = clear_counts,
    .count = count_answers,
    .accuracy = measure_accuracy,
    .test = test_batch,
    .tested = set_test_errors,
    .trained = read_training_batch,
    .named = numbers_named,
    .judge = judge_numbers,
    .result = numbers_result,
};
