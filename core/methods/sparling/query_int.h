/* What the queries of a model share: private to query.c, compare.c and survey.c. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERY_INT_H
#define MOTIF_CORE_METHODS_SPARLING_QUERY_INT_H

#include "core/base/arena.h"
#include "core/methods/sparling/query.h"
#include "core/methods/sparling/reading.h"

struct method_model {
    const struct kernels *kernels;
    struct network *network;
    struct open_domain domain;
};

/* One reading with everything it needs, and after an intervention a second one. */
struct inquiry {
    struct pool *pool;
    struct arena arena;
    struct exec exec;
    float *planes;
    struct domain_truth *truth;
    struct tensor *motifs;
    struct reading reading, after;
};

/* Reads the input and computes its motif map; inquiry_close() in any case. */
enum status inquiry_begin(const struct method_model *model, const struct method_input *input, struct inquiry *inquiry,
                          struct error *err);
/* A pool and an exec for an inquiry whose arena is there. */
enum status inquiry_ready(const struct method_model *model, struct inquiry *inquiry, struct error *err);
/* inquiry_ready(), then the motif map of the planes that are there. */
enum status inquiry_map(const struct method_model *model, struct inquiry *inquiry, struct error *err);
void inquiry_close(struct inquiry *inquiry);

#endif
