/* What the queries of a model share: private to query.c, compare.c and survey.c. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_INT_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_INT_H

#include <pthread.h>

#include "core/base/arena.h"
#include "core/methods/sparling/queries/query.h"
#include "core/methods/sparling/queries/annotation.h"

/* What computing takes, kept for the next query: pages of a new arena cost as much as a small network does. */
enum { WORKSPACES = 2 };
struct workspace {
    struct arena arena;
    struct thread_pool *pool; /* of one thread */
};
struct workspaces {
    pthread_mutex_t lock;
    struct workspace idle[WORKSPACES];
    int count;
};

struct method_model {
    const struct kernels *kernels;
    struct network *network;
    struct open_domain domain;
    struct workspaces *workspaces;
};

/* One reading with everything it needs, and after an intervention a second one. */
struct inquiry {
    const struct method_model *model; /* that the workspace goes back to; NULL: there is none yet */
    struct workspace space;
    struct exec exec;
    float *planes;
    struct domain_truth *truth;
    struct tensor *motifs;
    struct annotation annotation, after;
};

/* Reads the input and computes its motif map; inquiry_close() in any case. */
enum status inquiry_begin(const struct method_model *model, const struct method_input *input, struct inquiry *inquiry,
                          struct error *err);
/* A workspace and an exec. */
enum status inquiry_ready(const struct method_model *model, struct inquiry *inquiry, struct error *err);
/* inquiry_ready(), then the motif map of the planes that are there. */
enum status inquiry_map(const struct method_model *model, struct inquiry *inquiry, struct error *err);
void inquiry_close(struct inquiry *inquiry);

#endif
