/* The two models of SPARLING, put together from layers (paper section 5.1): g marks motifs in an input, the sparse
 * layer limits the marks, and h reads the motif map as a sequence of tokens.
 *
 *   g   input -> conv -> residual units -> 1x1 conv -> batch norm -> sparse layer = motif map
 *   h   motif map -> 1x1 embedding and max-pool -> row LSTM -> positions -> encoder -> decoder -> logits,
 *       or, with a label at every position, motif map -> dilated convolutions -> logits
 *       or, with numbers as targets, the layers as for tokens, with a single query, and a linear layer over the sums
 *       of the channels -> numbers
 *
 * Any number of execs may evaluate a network at the same time; one exec may train it. */
#ifndef MOTIF_CORE_METHODS_SPARLING_MODEL_NETWORK_H
#define MOTIF_CORE_METHODS_SPARLING_MODEL_NETWORK_H

#include "core/data/scale.h"
#include "core/methods/sparling/config.h"
#include "core/methods/sparling/model/matrix_scores.h"
#include "core/nn/dilated.h"
#include "core/nn/layers.h"
#include "core/nn/params.h"
#include "core/nn/sparse.h"
#include "core/nn/transformer.h"

enum { NETWORK_UNITS = SPARLING_UNITS };

/* Value of the motif in a map that would otherwise be empty (never_empty). */
#define NETWORK_LIFT 1.0F

struct network {
    struct sparling_config config; /* the network's own copy */
    struct params *params;         /* owns every array below */

    struct conv first, last;
    struct residual_unit unit[NETWORK_UNITS];
    struct batch_norm norm; /* batch norm before the sparse layer; unused if batch_norm is none */
    struct sparse *sparse;
    /* [names] with the presence objective: the logit of a name is presence_gain * (score of its channel) +
     * presence_bias */
    struct weight *presence_gain, *presence_bias;
    /* If a name may have several channels (channels_per_name): as in struct presence_parts. The arrays above then have
     * an element for each channel. used: not trained */
    struct weight *presence_used, *presence_effect, *presence_base;
    /* With numbers as targets, the objective that trains g directly (training/guide.c) has two layers: */
    struct weight *guide_gain, *guide_bias; /* scores of channels -> presence of channels */
    struct linear guide;                    /* presence of channels -> numbers */
    struct matrix_scores matrix;            /* used only with matrix_scores, and only in evaluation */
    struct batch_norm noise;                /* batch norm over all channels together, with sparsity noise */

    struct rms_scale scale; /* makes the rms of the pooled motif map 1, with motif_scale rms */
    struct linear embed;    /* motif channels -> head width */
    struct bilstm rows;
    struct weight sines;                             /* positional encodings of the encoder's grid; not trained */
    struct weight *row_positions, *column_positions; /* learned positional encodings */
    struct weight target_sines;                      /* positional encodings of the decoder; not trained */
    struct weight ranks;   /* encodings of the ranks of positions, with rank_positions; not trained */
    struct weight *tokens; /* embedding of target tokens */
    struct encoder encoder;
    struct decoder decoder;
    struct linear out;
    struct linear additive; /* with numbers as targets: the layer over the sums of the channels */
    /* With numbers as targets: mean and standard deviation of each number in the training samples. They convert
     * standardised numbers to the units of the data. */
    struct weight *number_mean, *number_deviation;
    /* [channels] each, for uploaded data: the network reads (value - input_zero) / input_unit. NULL: values as they
     * are. run_initialise() sets them; the network itself reads scaled values. */
    struct weight *input_zero, *input_unit;
    struct dilated dilated; /* with a label at every position, this head replaces everything from `embed` on */

    real *tables; /* memory of the constant positions */
    struct domain_shape shape;
    struct sparling_geometry map;
    int longest;   /* largest number of target positions; `tables` contains their encodings */
    bool matrices; /* whether evaluation uses the matrices, if there are any */
    bool limits;   /* whether evaluation limits the number of motifs of a map (most_motifs, most_names) */
};

/* Creates a network with initial weights from config->seed. trained: with gradients; false: for evaluation only. The
 * configuration is copied. Error: STATUS_NO_MEMORY. */
enum status network_create(const struct sparling_config *config, bool trained, struct thread_pool *pool,
                           struct network **network, struct error *err);
/* Returns STATUS_CORRUPT if the weights of a checkpoint do not have the shapes of this configuration. Allocates no
 * weights. */
enum status network_fit(const struct sparling_config *config, const struct snapshot_reader *from, struct error *err);
void network_destroy(struct network *network);

/* Computes the motif map of `count` inputs, [count][channels][rows][cols] as the domain draws them; they must stay
 * valid until the backward pass. In training, the thresholds first move towards `density`. In evaluation with
 * never_empty, every map has a motif. Like every function here
 * that returns a tensor, it returns NULL after a failure (exec_status() says which), and the tensor is step memory. */
struct tensor *network_motifs(struct exec *e, struct network *network, const real *inputs, int count, double density);
/* What the loss needs in addition to the motif map. network_motifs_extras() computes it together with the map. */
struct network_extras {
    struct tensor *reverse; /* if `strands` is "both": a map that is 1 where the score of the other strand is larger and
                               0 elsewhere; otherwise NULL */
    struct tensor *penalty; /* the term that `sparsity` l1, scaled-l1 or kl adds to the loss, else NULL */
    struct tensor
        *scores; /* with an objective of g's own: [count][motif channels] the pooled map before the bottleneck */
    struct tensor *before; /* the map of g before the bottleneck, with a position for each block (stride) */
};
struct tensor *network_motifs_extras(struct exec *e, struct network *network, const real *inputs, int count,
                                     double density, struct network_extras *extras);
/* Whether evaluation replaces values of channels by scores of matrices. */
bool network_uses_matrices(const struct network *network);
/* Largest number of motifs of a map in evaluation; 0: any number. */
int network_most(const struct network *network);
/* Distance of the limit network_most(): two maxima of a channel count as one motif if they are at most this many rows
 * and at most this many columns apart. */
int network_near(const struct network *network);
/* The features that g's last layer reads: a map of `width` channels with a position for each block (stride). */
struct tensor *network_features(struct exec *e, struct network *network, const real *inputs, int count);
/* The scores of network_motifs_extras() for the reverse complements of the inputs, which must be bases. Only networks
 * with an objective of g's own have scores. */
struct tensor *network_turned_scores(struct exec *e, struct network *network, const real *inputs, int count);
/* The logit of a name. scores: [motif channels] of one sample, as of network_motifs_extras(). */
double network_presence_logit(const struct network *network, const real *scores, int name);
/* Returns how many channels a name has. */
int network_parts_used(const struct network *network, int name);
/* The presence loss (op_presence()) of the scores of network_motifs_extras(). occurs: [count][names]; weight, scale:
 * [names]; scale may be NULL. */
struct tensor *network_presence(struct exec *e, struct network *network, struct tensor *scores, const bool *occurs,
                                const real *weight, const real *scale);
/* Updates the running scale of the head's input in training (motif_scale rms), without computing the rest of the
 * head. */
void network_follow_scale(struct exec *e, struct network *network, struct tensor *motifs);
/* Scores of the motif map before the ReLU, with the thresholds subtracted if there are any. Thresholds do not move.
 * With a stride, positions at which no motif can be have the score -INFINITY. shape: sizes of the inputs, which may
 * differ from the domain's. */
struct tensor *network_scores(struct exec *e, struct network *network, const real *inputs, int count,
                              const struct domain_shape *shape);
/* Scores as of network_scores(), but at most 0 where a channel with a matrix has no peak. The motifs are the positions
 * above 0. Their number is not limited. */
struct tensor *network_window(struct exec *e, struct network *network, const real *inputs, int count,
                              const struct domain_shape *shape);
/* What the decoder attends to: the encoder's output for each position of the pooled map or, with attend "active", for
 * the positions with a motif. Step memory. */
struct network_memory {
    struct tensor *rows; /* [count * keys][channels]; NULL after a failure */
    int keys;
    const int *lengths; /* [count] number of valid keys of each sample; NULL: all keys are valid */
};
struct network_memory network_memory(struct exec *e, struct network *network, struct tensor *motifs);
/* Logits of the next token at every position with teacher forcing: [count * length][vocabulary]. tokens:
 * [count][length], beginning with START. */
struct tensor *network_logits(struct exec *e, struct network *network, const struct network_memory *memory,
                              const int32_t *tokens, int count, int length);

/* Predicts the numbers that are the targets, standardised: [count][numbers]. */
struct tensor *network_numbers(struct exec *e, struct network *network, struct tensor *motifs);
/* The numbers that the scores of network_motifs_extras() predict, standardised: [count][numbers]. */
struct tensor *network_guide(struct exec *e, struct network *network, struct tensor *scores);
/* A standardised number in the units of the data set. */
double network_number(const struct network *network, int number, double standardised);

/* For labels at every position: the logits of the classes, [count * columns][classes]. */
struct tensor *network_classes(struct exec *e, struct network *network, struct tensor *motifs);

/* From now on, each batch moves the running statistics of all batch norms of g by `share` of the way towards its own
 * statistics. 0: by the usual share. */
void network_average_norms(struct network *network, double share);
/* Mean of the thresholds; 0 without thresholds. */
double network_threshold_mean(const struct network *network);
/* Share of the elements of a motif map that are above zero. */
double network_density(const struct tensor *motifs);

/* Sets the scale of the inputs: one column for all channels, or one for each. Does nothing without input_zero. */
void network_scale(struct network *network, const struct scale *scale);

#endif
