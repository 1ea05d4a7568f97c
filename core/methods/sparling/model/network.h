/* The two models of SPARLING put together from layers: g, which marks motifs in an input, the sparse
 * layer, and h, which reads the motif map as a sequence of tokens (paper section 5.1).
 *
 *   g   input -> 1x1 conv -> residual units -> 1x1 conv -> batch norm -> sparse layer = motif map
 *   h   motif map -> 1x1 embedding and max-pool -> row LSTM -> positions -> encoder -> decoder -> logits,
 *       or, where every position has a label, motif map -> dilated convolutions -> logits
 *
 * A network may be evaluated by any number of execs at a time, and trained by one. */
#ifndef MOTIF_CORE_METHODS_SPARLING_MODEL_NETWORK_H
#define MOTIF_CORE_METHODS_SPARLING_MODEL_NETWORK_H

#include "core/methods/sparling/config.h"
#include "core/nn/dilated.h"
#include "core/nn/layers.h"
#include "core/nn/params.h"
#include "core/nn/sparse.h"
#include "core/nn/transformer.h"

enum { NETWORK_UNITS = SPARLING_UNITS };

struct network {
    struct sparling_config config; /* a copy */
    struct params *params;         /* owns every array below */

    struct conv first, last;
    struct residual_unit unit[NETWORK_UNITS];
    struct batch_norm norm; /* before the sparse layer, unless batch_norm is none */
    struct sparse *sparse;
    struct batch_norm noise; /* of all channels together, with sparsity noise */

    struct rms_scale scale; /* of the pooled motif map, with motif_scale rms */
    struct linear embed;    /* motif channels -> head width */
    struct bilstm rows;
    struct weight sines;                             /* positions of the encoder's grid: constant */
    struct weight *row_positions, *column_positions; /* learned ones */
    struct weight target_sines;                      /* positions of the decoder: constant */
    struct weight *tokens;                           /* embedding of target tokens */
    struct encoder encoder;
    struct decoder decoder;
    struct linear out;
    struct dilated dilated; /* instead of all from `embed` on, with a label at every position */

    real *tables; /* memory of the constant positions */
    struct domain_shape shape;
    struct sparling_geometry map;
    int longest; /* target positions the tables have */
};

/* Sealed, with initial values from config->seed. trained false: no gradients, for evaluation only. */
enum status network_create(const struct sparling_config *config, bool trained, struct network **network,
                           struct error *err);
void network_destroy(struct network *network);

/* inputs: [count][channels][rows][cols] as the domain draws them; borrowed until the backward pass. Gives the motif
 * map. In training the thresholds move towards `density` first. */
struct tensor *network_motifs(struct exec *e, struct network *network, const real *inputs, int count, double density);
/* The same, and what sparsity l1 and kl add to the loss (else NULL). */
struct tensor *network_motifs_penalty(struct exec *e, struct network *network, const real *inputs, int count,
                                      double density, struct tensor **penalty);
/* Scores before the ReLU of the motif map: less the thresholds where there are any. Inputs of any size ([rows][cols] of
 * `shape`); thresholds stay. */
struct tensor *network_scores(struct exec *e, struct network *network, const real *inputs, int count,
                              const struct domain_shape *shape);
/* What the decoder attends to: the encoder's output for each cell of the pooled map, or, with attend
 * "active", for the cells that hold a motif. Step memory. */
struct network_memory {
    struct tensor *rows; /* [count * keys][channels]; NULL after a failure */
    int keys;
    const int *lengths; /* [count] keys that exist, or NULL for all */
};
struct network_memory network_memory(struct exec *e, struct network *network, struct tensor *motifs);
/* Teacher forcing. tokens: [count][length] beginning with START; gives [count * length][vocabulary]. */
struct tensor *network_logits(struct exec *e, struct network *network, const struct network_memory *memory,
                              const int32_t *tokens, int count, int length);

/* With a label at every position: [count * columns][classes]. */
struct tensor *network_classes(struct exec *e, struct network *network, struct tensor *motifs);

/* Mean of the thresholds; 0 without any. */
double network_threshold_mean(const struct network *network);
/* Share of a motif map's elements that are above zero. */
double network_density(const struct tensor *motifs);

#endif
