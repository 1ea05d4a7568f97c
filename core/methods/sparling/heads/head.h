/* What depends on the kind of target: tokens of a label, a class at every position, or numbers.
 *
 * Training, evaluation and verdict call these functions through run->head and do not know the kind. To add a kind, add
 * a file of this folder and a line in head_of(). */
#ifndef MOTIF_CORE_METHODS_SPARLING_HEADS_HEAD_H
#define MOTIF_CORE_METHODS_SPARLING_HEADS_HEAD_H

#include "core/methods/findings.h"
#include "core/methods/sparling/training/batch.h"

struct method_run;
struct network;
struct tensor;
struct evaluation_row;

struct head {
    const char *name;

    /* Training. outputs(): what the head computes from the motif maps of a batch. loss(): the loss of these outputs, a
     * mean over targets. targets(): their number. NULL after a failure. */
    struct tensor *(*outputs)(struct method_run *run, struct tensor *motifs, const struct batch *batch);
    struct tensor *(*loss)(struct method_run *run, struct tensor *outputs, const struct batch *batch);
    int (*targets)(const struct batch *batch);

    /* The objective of g alone, which gives g a direction (sparling_guided()). All are NULL if g has no such objective.
     * guide(): its loss, from the scores of network_motifs_extras(). tally(): the loss of the count objective, from the
     * map before the bottleneck; may be NULL. guide_count(): adds a piece of a validation. guide_turning(): whether a
     * validation also reads its samples from the other strand. guide_turned(): adds such a piece. guided(): after a
     * validation, decides whether the first phase ends; errors are those of the computation. */
    struct tensor *(*guide)(struct method_run *run, const struct batch *batch, struct tensor *scores);
    struct tensor *(*tally)(struct method_run *run, const struct batch *batch, struct tensor *before);
    void (*guide_count)(struct method_run *run, const struct batch *batch, struct tensor *scores,
                        const struct tensor *motifs);
    bool (*guide_turning)(const struct method_run *run);
    void (*guide_turned)(struct method_run *run, const struct batch *batch, struct tensor *scores);
    enum status (*guided)(struct method_run *run, struct error *err);

    /* Validations. clear(): forgets the counts. count(): adds the outputs of a piece. accuracy(): of the whole
     * validation, in [0, 1]. */
    void (*clear)(struct method_run *run);
    void (*count)(struct method_run *run, const struct batch *batch, const struct tensor *outputs);
    double (*accuracy)(const struct method_run *run);

    /* Evaluation. test(): reads a batch of test samples with a network. own: it is the run's own model. tested(): sets
     * the errors of a row after its last test sample. trained(): reads a batch of training samples with the run's own
     * model, for the verdict. named(): after the last such batch, finds what each channel stands for. Errors are those
     * of the computation, and STATUS_NO_MEMORY. */
    enum status (*test)(struct method_run *run, struct network *network, const struct batch *batch, bool own,
                        struct error *err);
    void (*tested)(struct method_run *run, struct evaluation_row *row);
    enum status (*trained)(struct method_run *run, struct tensor *motifs, const struct batch *batch, struct error *err);
    enum status (*named)(struct method_run *run, struct error *err);

    /* The verdict's findings about answers, channels and training, and further members of the result (may be NULL). */
    enum status (*judge)(struct method_run *run, struct findings *findings, struct error *err);
    void (*result)(const struct method_run *run, const struct sink *out);
};

extern const struct head tokens_head, positions_head, numbers_head;

/* Returns the head for the kind of target that a domain's shape states. */
const struct head *head_of(const struct domain_shape *shape);

#endif
