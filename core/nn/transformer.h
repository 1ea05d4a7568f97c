/* Transformer encoder and decoder stacks (Vaswani et al. 2017) for training, and greedy decoding.
 *
 * Rows are sample-major: row = sample * length + position. Dropout is applied to the attention probabilities, to the
 * result of attention, and inside and after the feed-forward part. A post-norm stack computes norm(x + f(x)) for
 * each part f and has no final norm. A pre-norm stack computes x + f(norm(x)) and ends with a norm. *_build()
 * declares arrays (errors appear in params_seal()); *_forward() returns NULL after a failure (exec.error). The
 * structs are plain values; the arrays belong to `params`. */
#ifndef MOTIF_CORE_NN_TRANSFORMER_H
#define MOTIF_CORE_NN_TRANSFORMER_H

#include "core/nn/layers.h"

#define TRANSFORMER_LAYERS 16

enum transformer_norm { TRANSFORMER_POST_NORM, TRANSFORMER_PRE_NORM };

struct transformer_config {
    int width, heads, feed_forward, layers; /* width: a multiple of heads; layers <= TRANSFORMER_LAYERS */
    enum transformer_norm norm;
    double dropout;
    bool identical; /* all layers share the initial values of the first */
};

struct encoder_layer {
    struct linear qkv, out; /* weights [3 width][width] and [width][width] */
    struct linear up, down; /* the two layers of the feed-forward part */
    struct layer_norm norm1, norm2;
};
struct encoder {
    struct transformer_config config;
    struct encoder_layer layer[TRANSFORMER_LAYERS];
    struct layer_norm final; /* used by pre-norm stacks only */
};

struct decoder_layer {
    struct linear self_qkv, self_out;
    struct linear cross_q, cross_kv, cross_out; /* weights [width][width], [2 width][width], [width][width] */
    struct linear up, down;
    struct layer_norm norm1, norm2, norm3;
};
struct decoder {
    struct transformer_config config;
    struct decoder_layer layer[TRANSFORMER_LAYERS];
    struct layer_norm final;
};

/* Declares the encoder's arrays as NAME.I.PART for layer I; decoder_build() does the same for a decoder. */
void encoder_build(struct encoder *encoder, struct params *params, const char *name,
                   const struct transformer_config *config);
/* Runs the encoder. x: [batch * length][width]. lengths: [batch], the number of valid positions of each sample; NULL if
 * all are valid. */
struct tensor *encoder_forward(struct exec *e, struct encoder *encoder, struct tensor *x, int batch, int length,
                               const int *lengths);

void decoder_build(struct decoder *decoder, struct params *params, const char *name,
                   const struct transformer_config *config);
/* Runs the decoder with causal self-attention. y: [batch * length][width], the embedded target prefix; memory: [batch *
 * keys][width], the encoder's output. memory_lengths: [batch] number of valid positions of each sample's memory; NULL:
 * all. */
struct tensor *decoder_forward(struct exec *e, struct decoder *decoder, struct tensor *y, struct tensor *memory,
                               int batch, int length, int keys, const int *memory_lengths);

/* Decoding one token at a time, with the keys and values of earlier positions in a cache. For evaluation only, after
 * exec_begin(exec, false, ..); all memory is in the step arena. */
struct decode_cache {
    struct decoder *decoder;
    int batch, keys, capacity, length; /* length: number of positions decoded so far */
    const int *memory_lengths;
    struct tensor *cross_kv[TRANSFORMER_LAYERS]; /* [batch * keys][2 width] keys and values of the memory */
    real *self_kv[TRANSFORMER_LAYERS];           /* [batch][capacity][2 width] keys and values of decoded positions */
};
/* Begins decoding: computes the cross-attention keys and values of `memory`. capacity: maximum number of positions.
 * False after a failure (exec.error). */
bool decode_begin(struct exec *e, struct decode_cache *cache, struct decoder *decoder, struct tensor *memory, int batch,
                  int keys, int capacity, const int *memory_lengths);
/* Decodes one more position. y: [batch][width], the embedded token, with its positional encoding, of the next position
 * of every sample. Returns the decoder's output [batch][width] for that position, equal to the last rows of
 * decoder_forward(). STATUS_INTERNAL in exec.error if the capacity is exceeded. */
struct tensor *decode_step(struct exec *e, struct decode_cache *cache, struct tensor *y);

#endif
