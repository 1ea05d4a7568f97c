/* The head for a class at every position (head.h): dilated convolutions, measured by top-k accuracy. */
#include <math.h>

#include "core/methods/sparling/run_state.h"

static struct tensor *compute_outputs(struct method_run *run, struct tensor *motifs, const struct batch *batch)
{
    (void)batch;
    return network_classes(&run->exec, run->network, motifs);
}

static struct tensor *compute_loss(struct method_run *run, struct tensor *logits, const struct batch *batch)
{
    return op_cross_entropy(&run->exec, logits, batch->targets);
}

static int count_targets(const struct batch *batch)
{
    return batch->counted;
}

static void clear_counts(struct method_run *run)
{
    for (int i = 0; run->evaluation.topk && i + 1 < run->domain.shape.tokens; i++)
        topk_clear(&run->evaluation.topk[i]);
}

static void count_answers(struct method_run *run, const struct batch *batch, const struct tensor *outputs_of)
{
    const real *logits = outputs_of->data;
    int classes = run->domain.shape.tokens;
    size_t rows = (size_t)batch->request.count * (size_t)batch->length;
    for (size_t i = 0; i < rows; i++, logits += classes) {
        if (batch->targets[i] < 0)
            continue;
        double most = (double)logits[0], sum = 0;
        for (int c = 1; c < classes; c++)
            most = fmax(most, (double)logits[c]);
        for (int c = 0; c < classes; c++)
            sum += exp((double)logits[c] - most);
        for (int c = 1; c < classes; c++)
            topk_add(&run->evaluation.topk[c - 1], exp((double)logits[c] - most) / sum, batch->targets[i] == c);
    }
}

static double measure_accuracy(const struct method_run *run)
{
    int classes = run->domain.shape.tokens;
    double sum = 0;
    for (int c = 1; c < classes; c++) {
        double share = topk_share(&run->evaluation.topk[c - 1]);
        sum += isnan(share) ? 0 : share; /* NaN: the class does not occur, which counts as 0 */
    }
    return sum / (classes - 1);
}

static enum status test_batch(struct method_run *run, struct network *network, const struct batch *batch, bool own,
                              struct error *err)
{
    struct exec *e = &run->exec;
    struct tensor *map = network_motifs(e, network, batch->images, batch->request.count, 1);
    struct tensor *classes = network_classes(e, network, map);
    if (classes)
        count_answers(run, batch, classes);
    if (classes && own)
        evidence_read(run, batch, NULL);
    return exec_status(e, err);
}

static void set_test_errors(struct method_run *run, struct evaluation_row *row)
{
    row->exact = measure_accuracy(run);
    row->e2ee = 1 - row->exact;
    clear_counts(run);
}

const struct head positions_head = {
    .name = "positions",
    .outputs = compute_outputs,
    .loss = compute_loss,
    .targets = count_targets,
    .clear = clear_counts,
    .count = count_answers,
    .accuracy = measure_accuracy,
    .test = test_batch,
    .tested = set_test_errors,
    .trained = evidence_classes,
    .named = evidence_prevalence,
    .judge = judge_tokens,
};
