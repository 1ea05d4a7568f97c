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
struct validation_outcome;

struct head {
    const char *name;

    /* Training. outputs() computes the outputs of the head from the motif maps of a batch. loss() computes the loss of
     * these outputs, a mean over targets. Both return NULL after a failure. targets() returns the number of targets of
     * a batch. */
    struct tensor *(*outputs)(struct method_run *run, struct tensor *motifs, const struct batch *batch);
    struct tensor *(*loss)(struct method_run *run, struct tensor *outputs, const struct batch *batch);
    int (*targets)(const struct batch *batch);

    /* The additional objective that trains g directly, not through the head (sparling_guided()). All members are NULL
     * if g has no such objective. guide() computes the loss of the objective from the scores of
     * network_motifs_extras(). tally() (may be NULL) computes the loss of the count objective from the map before the
     * bottleneck. guide_count() counts a batch of a validation. guide_turning() returns whether the validation also
     * reads its samples from the other strand, and guide_turned() counts a batch that was read from the other strand.
     * measure() is called after a validation: it publishes the loss of the objective and sets the members own_* of *v.
     * search() (may be NULL) is called after a validation of a phase in which g trains alone and that goes on; its
     * errors are those of the computation. */
    struct tensor *(*guide)(struct method_run *run, const struct batch *batch, struct tensor *scores);
    struct tensor *(*tally)(struct method_run *run, const struct batch *batch, struct tensor *before);
    void (*guide_count)(struct method_run *run, const struct batch *batch, struct tensor *scores,
                        const struct tensor *motifs);
    bool (*guide_turning)(const struct method_run *run);
    void (*guide_turned)(struct method_run *run, const struct batch *batch, struct tensor *scores);
    void (*measure)(struct method_run *run, struct validation_outcome *v);
    enum status (*search)(struct method_run *run, struct error *err);

    /* Validation. clear() forgets the counts. count() adds the outputs for one batch to the counts. accuracy() returns
     * the accuracy of the whole validation, in [0, 1]. */
    void (*clear)(struct method_run *run);
    void (*count)(struct method_run *run, const struct batch *batch, const struct tensor *outputs);
    double (*accuracy)(const struct method_run *run);

    /* Evaluation. test() reads a batch of test samples with a network; own: the network is the run's own model. After
     * the last test sample of a network, tested() sets the errors in `row`, the row of this network in the table of
     * results. trained() reads a batch of training samples with the run's own model, for the verdict. named() follows
     * the last of these batches and finds what each channel stands for. Errors are those of the computation, and
     * STATUS_NO_MEMORY. */
    enum status (*test)(struct method_run *run, struct network *network, const struct batch *batch, bool own,
                        struct error *err);
    void (*tested)(struct method_run *run, struct evaluation_row *row);
    enum status (*trained)(struct method_run *run, struct tensor *motifs, const struct batch *batch, struct error *err);
    enum status (*named)(struct method_run *run, struct error *err);

    /* judge() adds the verdict's findings about answers, channels and training. result() (may be NULL) writes further
     * members of the result. */
    enum status (*judge)(struct method_run *run, struct findings *findings, struct error *err);
    void (*result)(const struct method_run *run, const struct sink *out);
};

extern const struct head tokens_head, positions_head, numbers_head;

/* Returns the head for the kind of target that a domain's shape states. */
const struct head *head_of(const struct domain_shape *shape);

#endif
