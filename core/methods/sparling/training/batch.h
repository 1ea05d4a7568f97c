/* Batches of the domain, drawn ahead by a worker thread while the one before is trained on.
 *
 * A batch is a pure function of its request, so that nothing about the worker needs saving, and a run
 * that asks out of order (after load(), say) only waits a little longer. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_BATCH_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/methods/sparling/config.h"

struct batch_request {
    int64_t seed, first; /* samples first .. first + count - 1 of the set `seed` */
    int count;           /* at most what the source was made for */
    int64_t seen;        /* where the batch begins that these are of: some domains grow harder with it */
    enum domain_set set;
};

struct batch {
    struct batch_request request;
    float *images;               /* [count][channels][rows][cols] */
    struct domain_truth *truths; /* [count] */
    int length;                  /* longest label and one more, for END; with a label at every position, the columns */
    int32_t *inputs;             /* [count][length]: START, label, END ...; or nothing */
    int32_t *targets;            /* [count][length]: label, END, then -1: not counted; or the labels */
    int counted;                 /* targets that count */
    int32_t *symbols;   /* [count] the first of each label, from 0; -1 if empty: the classes of samples of one symbol */
    struct error error; /* why the domain could not draw it */
};

struct batch_source;

/* The domain is borrowed and outlives the source. */
enum status batch_source_create(const struct open_domain *domain, int max_count, struct batch_source **source,
                                struct error *err);
void batch_source_destroy(struct batch_source *source); /* joins the worker */

/* The batch of `now`, valid until the next call; `next` (or NULL) is begun in the background. Fails as the domain does.
 */
enum status batch_source_take(struct batch_source *source, const struct batch_request *now,
                              const struct batch_request *next, const struct batch **batch, struct error *err);
/* Makes the labels of the batch that was taken last at least `length` long: another rank's part of it has one that is.
 */
void batch_source_widen(struct batch_source *source, int length);

#endif
