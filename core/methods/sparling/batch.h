/* Batches of the domain, drawn ahead by a worker thread while the one before is trained on.
 *
 * A batch is a pure function of its request, so that nothing about the worker needs saving, and a run
 * that asks out of order (after load(), say) only waits a little longer. */
#ifndef MOTIF_CORE_METHODS_SPARLING_BATCH_H
#define MOTIF_CORE_METHODS_SPARLING_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/digitcircle.h"
#include "core/methods/sparling/config.h"

struct batch_request {
    int64_t seed, first; /* samples first .. first + count - 1 of the set `seed` */
    int count;           /* at most what the source was made for */
    bool raw;            /* instead: generator seeds first, first + 1, ... without hashing (facts §3.3) */
    bool training;       /* the curriculum of the configuration holds */
};

struct batch {
    struct batch_request request;
    float *images;                    /* [count][image_size][image_size] */
    struct digitcircle_truth *truths; /* [count] */
    int length;                       /* longest label and one more, for END */
    int32_t *inputs;                  /* [count][length]: START, label, END ... */
    int32_t *targets;                 /* [count][length]: label, END, then -1: not counted */
    int counted;                      /* targets that count */
};

struct batch_source;

struct digitcircle sparling_domain(const struct sparling_config *config);

enum status batch_source_create(const struct sparling_config *config, int max_count, struct batch_source **source,
                                struct error *err);
void batch_source_destroy(struct batch_source *source); /* joins the worker */

/* The batch of `now`, valid until the next call; `next` (or NULL) is begun in the background. */
const struct batch *batch_source_take(struct batch_source *source, const struct batch_request *now,
                                      const struct batch_request *next);

#endif
