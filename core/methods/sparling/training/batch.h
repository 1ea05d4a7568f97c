/* Batches of samples. A worker thread draws the next batch while the caller trains on the current one.
 *
 * A batch is a pure function of its request, so the worker has no state to save. A caller that requests another batch
 * than it announced (after loading a checkpoint, for instance) only waits longer. A source has one caller at a time. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_BATCH_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/methods/sparling/config.h"

enum batch_turns { TURN_NONE, TURN_HALF, TURN_ALL };

struct batch_request {
    int64_t seed, first; /* samples first .. first + count - 1 of the set `seed` */
    int count;           /* at most max_count of batch_source_create() */
    int64_t seen; /* number of training samples before this batch; used if `set` is DOMAIN_LESSON, whose samples are
                     easier at first */
    enum domain_set set;
    enum batch_turns turns; /* which samples are read from the other strand */
};

struct batch {
    struct batch_request request;
    float *images;               /* [count][channels][rows][cols] */
    struct domain_truth *truths; /* [count] */
    int length;                  /* longest label + 1 for END; with a label at every position, the number of columns */
    int32_t *inputs;             /* [count][length]: START, label, END ...; unused with a label at every position */
    int32_t *targets;   /* [count][length]: label, END, then -1, which the loss ignores; with a label at every position:
                           the label of each column */
    int counted;        /* targets that are not -1 */
    int32_t *symbols;   /* [count] first symbol of each label, the class of a single-motif sample; -1: empty label */
    struct error error; /* why the domain failed to draw the batch */
};

struct batch_source;

/* Starts the worker. The domain must outlive the source. Error: STATUS_NO_MEMORY. */
enum status batch_source_create(const struct open_domain *domain, int max_count, struct batch_source **source,
                                struct error *err);
void batch_source_destroy(struct batch_source *source); /* joins the worker */

/* Sets *batch to the batch that `now` requests; it is valid until the next call. The worker then starts to draw the
 * batch of `next` (NULL: nothing). Errors are those of the domain. */
enum status batch_source_take(struct batch_source *source, const struct batch_request *now,
                              const struct batch_request *next, const struct batch **batch, struct error *err);
/* Returns the cluster of sample i of a batch (domain_cluster()). */
int batch_cluster(const struct open_domain *domain, const struct batch *batch, int i);
/* Ranks that share a batch need labels of the same length. If the labels of the current batch are shorter than `length`
 * tokens, pads them to this length. */
void batch_source_widen(struct batch_source *source, int length);

#endif
