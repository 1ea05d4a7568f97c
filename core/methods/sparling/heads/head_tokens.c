/* The head for labels that are tokens: a sequence, a set, a class or a count (head.h).
 *
 * Validation counts exact matches without decoding: greedy decoding gives the label y if and only if, at every prefix
 * of y, the most probable token is the next one, END included. One pass with teacher forcing computes exactly that, and
 * the loss as well. A test compares the counts with those of decode.c. */
#include <stdlib.h>

#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/label_counts.h"
#include "core/methods/sparling/training/presence.h"

static struct tensor *compute_outputs(struct method_run *run, struct tensor *motifs, const struct batch *batch)
{
    struct exec *e = &run->exec;
    struct network_memory memory = network_memory(e, run->network, motifs);
    return network_logits(e, run->network, &memory, batch->inputs, batch->request.count, batch->length);
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
    (void)run; /* phases.c clears validation_correct */
}

/* Counts the samples in which every token of the label, END included, has the largest logit. */
static void count_answers(struct method_run *run, const struct batch *batch, const struct tensor *logits)
{
    int vocabulary = sparling_vocabulary(&run->config);
    for (int i = 0; i < batch->request.count; i++) {
        bool right = true;
        for (int j = 0; right && j <= batch->truths[i].length; j++) {
            size_t row = (size_t)i * (size_t)batch->length + (size_t)j;
            const real *score = logits->data + row * (size_t)vocabulary;
            int best = 0;
            for (int k = 1; k < vocabulary; k++)
                if (score[k] > score[best])
                    best = k;
            right = best == batch->targets[row];
        }
        run->validation_correct += right;
    }
}

static double measure_accuracy(const struct method_run *run)
{
    return (double)run->validation_correct / (double)run->config.validation_samples;
}

static enum status test_batch(struct method_run *run, struct network *network, const struct batch *batch, bool own,
                              struct error *err)
{
    struct evaluation *evaluation = &run->evaluation;
    struct exec *e = &run->exec;
    int samples = batch->request.count, steps = sparling_decode_steps(&run->config);
    struct decoded *decoded = calloc((size_t)samples, sizeof *decoded);
    if (!decoded)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to evaluate");
    struct tensor *motifs = network_motifs(e, network, batch->images, samples, 1);
    struct network_memory memory = network_memory(e, network, motifs);
    enum status status = decode_greedy(e, network, &memory, samples, steps, decoded, err);
    for (int i = 0; !status && i < samples; i++) {
        const struct domain_truth *truth = &batch->truths[i];
        evaluation->edit_sum += decoded_edit_error(&decoded[i], truth->label, truth->length);
        bool right = decoded_equals(&decoded[i], truth->label, truth->length);
        int cluster = batch_cluster(&run->domain, batch, i);
        evaluation->exact += right;
        evaluation->tested[cluster]++;
        evaluation->tested_exact[cluster] += right;
    }
    if (!status && own)
        evidence_read(run, batch, decoded);
    free(decoded);
    return status;
}

static void set_test_errors(struct method_run *run, struct evaluation_row *row)
{
    row->e2ee = run->evaluation.edit_sum / (double)row->test_samples;
    row->exact = (double)run->evaluation.exact / (double)row->test_samples;
    row->effective = clusters_of_share(run->evaluation.tested_exact, run->evaluation.tested);
}

const struct head tokens_head = {
    .name = "tokens",
    .outputs = compute_outputs,
    .loss = compute_loss,
    .targets = count_targets,
    .guide = presence_loss,
    .tally = tally_loss,
    .guide_count = presence_count,
    .guide_turning = presence_turning,
    .guide_turned = presence_count_turned,
    .measure = presence_measure,
    .search = presence_search,
    .clear = clear_counts,
    .count = count_answers,
    .accuracy = measure_accuracy,
    .test = test_batch,
    .tested = set_test_errors,
    .trained = evidence_answers,
    .named = evidence_names,
    .judge = judge_tokens,
};
