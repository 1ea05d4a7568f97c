/* What all queries of a model use; private to this folder. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_MODEL_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_MODEL_H

#include <pthread.h>

#include "core/base/arena.h"
#include "core/methods/sparling/error_rate/negatives.h"
#include "core/methods/sparling/queries/query.h"
#include "core/methods/sparling/queries/annotation.h"

/* WORKSPACES: number of idle workspaces that are kept. Queries reuse them, because the creation of an arena takes as
 * long as an evaluation of a small network. */
enum { WORKSPACES = 2 };
struct workspace {
    struct arena arena;
    struct thread_pool *pool; /* one thread */
};
struct workspaces {
    pthread_mutex_t lock;
    struct workspace idle[WORKSPACES];
    int count;
};

struct method_model {
    const struct kernels *kernels;
    const char *data; /* folder of data sets, borrowed; NULL: none */
    struct network *network;
    struct open_domain domain;
    struct channel_name *names;     /* [channels]; NULL: the checkpoint has none */
    struct channel_extent *extents; /* [channels]; NULL: the checkpoint has none */
    struct negatives negatives;     /* for the error rates of motifs */
    struct channel_places places;   /* how motifs are reported; points to `extents` */
    bool turned_scores;             /* scores of names are the means of both strands (name_scores.h) */
    struct workspaces *workspaces;
};

/* A query in progress: an input, its motif map and its annotation, and the annotation after an intervention. */
struct inquiry {
    const struct method_question *question; /* the request, whose stop() can end the query; NULL: nothing ends it */
    const struct method_model *model;       /* owner of the workspace; NULL: no workspace taken yet */
    struct workspace space;
    struct exec exec;
    float *planes;
    struct domain_truth *truth;
    struct tensor *motifs;
    const struct tensor *scores; /* [1][channels] the pooled map before the bottleneck; NULL without an objective of
                                    g's own; step memory */
    const float *reverse;        /* planes as g computes them: 1 where a motif is on the other strand; NULL: strands
                                    unknown; step memory */
    struct annotation annotation, after;
};

/* Reads the input and computes its motif map in the question's model. The caller calls inquiry_close() also after a
 * failure. Fails with STATUS_NO_MEMORY, or with STATUS_INVALID and the JSON pointer of the wrong part of the input. */
enum status inquiry_begin(const struct method_question *question, const struct method_input *input,
                          struct inquiry *inquiry, struct error *err);
/* Takes a workspace and prepares an exec. The stop() of the inquiry's question also stops the exec. */
enum status inquiry_ready(const struct method_model *model, struct inquiry *inquiry, struct error *err);
/* Calls inquiry_ready() and computes the motif map of inquiry->planes. */
enum status inquiry_map(const struct method_model *model, struct inquiry *inquiry, struct error *err);
/* inquiry_begin() for the question's input, and the annotation of the map. */
enum status inquiry_read(const struct method_question *question, struct inquiry *inquiry, struct error *err);
/* Gives the workspace back: only `planes`, `truth` and the annotations stay valid. */
void inquiry_rest(struct inquiry *inquiry);
void inquiry_close(struct inquiry *inquiry);

/* Writes the members of one motif into an object that the caller has opened. */
void query_motif_write(const struct annotation *annotation, const struct read_motif *motif, const struct sink *out);
/* Lists up to `most` samples of the test part as inputs: all, or if there are more, some in a fixed random order,
 * because a part may be sorted. They are the samples that a seed chooses. The caller frees *inputs. STATUS_NO_MEMORY.
 */
enum status query_test_samples(const struct open_domain *domain, int64_t most, struct method_input **inputs,
                               size_t *count, struct error *err);
/* The name of a token as the head reads it: START, END, or a name of the domain. */
const char *query_token(const struct open_domain *domain, int token);

#endif
