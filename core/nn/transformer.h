/* Transformer encoder and decoder stacks (Vaswani et al. 2017), trained and decoded.
 *
 * Rows are sample-major: row = sample * length + position. Dropout acts on attention probabilities,
 * after attention, inside and after the feed-forward part. Post-norm: norm(x + f(x)), no final
 * norm. Pre-norm: x + f(norm(x)) and one final norm for the stack. */
#ifndef MOTIF_CORE_NN_TRANSFORMER_H
#define MOTIF_CORE_NN_TRANSFORMER_H

#include "core/nn/layers.h"

#define TRANSFORMER_LAYERS 16

enum transformer_norm { TRANSFORMER_POST_NORM, TRANSFORMER_PRE_NORM };

struct transformer_config {
    int width, heads, feed_forward, layers; /* width a multiple of heads; layers <= TRANSFORMER_LAYERS */
    enum transformer_norm norm;
    double dropout;
    bool identical; /* all layers start with the same values */
};

struct encoder_layer {
    struct linear qkv, out; /* [3 width][width], [width][width] */
    struct linear up, down; /* feed-forward */
    struct layer_norm norm1, norm2;
};
struct encoder {
    struct transformer_config config;
    struct encoder_layer layer[TRANSFORMER_LAYERS];
    struct layer_norm final; /* pre-norm only */
};

struct decoder_layer {
    struct linear self_qkv, self_out;
    struct linear cross_q, cross_kv, cross_out; /* [width][width], [2 width][width], [width][width] */
    struct linear up, down;
    struct layer_norm norm1, norm2, norm3;
};
struct decoder {
    struct transformer_config config;
    struct decoder_layer layer[TRANSFORMER_LAYERS];
    struct layer_norm final;
};

void encoder_build(struct encoder *encoder, struct params *params, const char *name,
                   const struct transformer_config *config);
/* x: [batch * length][width]. lengths: positions of each sample that exist, or NULL for all. */
struct tensor *encoder_forward(struct exec *e, struct encoder *encoder, struct tensor *x, int batch, int length,
                               const int *lengths);

void decoder_build(struct decoder *decoder, struct params *params, const char *name,
                   const struct transformer_config *config);
/* y: [batch * length][width] embedded target prefix, memory: [batch * keys][width]. Causal.
 * memory_lengths: positions of each sample's memory that exist, or NULL for all. */
struct tensor *decoder_forward(struct exec *e, struct decoder *decoder, struct tensor *y, struct tensor *memory,
                               int batch, int length, int keys, const int *memory_lengths);

/* Greedy decoding one token at a time, with the keys and values of earlier positions kept. Evaluation
 * only: after exec_begin(exec, false, ..); all memory is the step arena's. */
struct decode_cache {
    struct decoder *decoder;
    int batch, keys, capacity, length; /* length: positions decoded so far */
    const int *memory_lengths;
    struct tensor *cross_kv[TRANSFORMER_LAYERS]; /* [batch * keys][2 width] */
    real *self_kv[TRANSFORMER_LAYERS];           /* [batch][capacity][2 width] */
};
/* Computes the cross-attention keys and values of `memory` once. false after a failure (exec.error). */
bool decode_begin(struct exec *e, struct decode_cache *cache, struct decoder *decoder, struct tensor *memory, int batch,
                  int keys, int capacity, const int *memory_lengths);
/* y: [batch][width], the embedded (and positioned) token of the next position of every sample.
 * Returns the decoder's output for it, [batch][width]: what decoder_forward() gives in its last rows. */
struct tensor *decode_step(struct exec *e, struct decode_cache *cache, struct tensor *y);

#endif
