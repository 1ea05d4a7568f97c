/* Statistics of each channel of a motif map over many inputs: how often and how strongly it is active, on which true
 * symbols, and its top activations, that is the inputs with the strongest motifs. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_TOP_ACTIVATIONS_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_TOP_ACTIVATIONS_H

#include "core/base/hash.h"
#include "core/methods/sparling/queries/query_model.h"

enum { TOP_ACTIVATIONS_BINS = 32, TOP_ACTIVATIONS_MOST = 64, TOP_ACTIVATIONS_BATCH = 4 };

struct top_activations_top {
    int64_t sample;
    struct motif at;                 /* the channel's strongest motif in this sample */
    int symbol;                      /* symbol of the true box around this motif; -1: no box, or unknown */
    unsigned char input[HASH_BYTES]; /* digest of the sample's planes */
};

/* Place of a motif in a sample that is a sequence of bases. The motif is maximal: no stronger motif is near it (struct
 * read_motif). */
struct top_activations_site {
    int64_t sample;
    int channel, col;
};

struct top_activations_channel {
    /* active: number of active elements; inputs: number of samples with at least one; motifs: number of maximal motifs
     * (annotation.h) */
    int64_t active, inputs, motifs;
    double sum; /* sum of the values of all active elements */
    float most;
    double range; /* a power of two; the bins divide [0, range) evenly */
    int64_t bin[TOP_ACTIVATIONS_BINS];
    /* [count] inputs in descending order of their strongest motif; no input occurs twice */
    struct top_activations_top *top;
    int count;
    /* [symbols + 1] number of maximal motifs in boxes of each symbol; the last entry: outside all boxes */
    int64_t *symbol;
};

struct top_activations {
    const struct method_model *model;
    struct channels_parameters asked;
    int64_t channel_asked; /* index of the requested channel; -1: all channels */
    int channels, symbols;
    int half;    /* the footprint of a motif is `2 * half + 1` positions wide */
    bool truth;  /* whether true boxes are known */
    bool sparse; /* every sample had at most ANNOTATION_MOTIFS motifs; otherwise the maximal motifs are not counted */
    struct top_activations_channel *channel; /* [channels] */
    const struct alphabet *alphabet;         /* NULL: the samples are not sequences of bases, and `site` is empty */
    struct top_activations_site *site;       /* [sites] in the order of the samples */
    size_t sites;
};

/* Computes the statistics for the queries "channels". The caller calls top_activations_close() also after a failure.
 * Errors: STATUS_NOT_FOUND for a channel that does not exist, STATUS_NO_MEMORY. */
enum status top_activations_take(const struct method_question *question, struct top_activations *out,
                                 struct error *err);
void top_activations_close(struct top_activations *statistics);

/* Draws sample `index` of the set: its planes and, if not NULL, its truth. */
enum status top_activations_sample(const struct top_activations *statistics, int64_t index, float *planes,
                                   struct domain_truth *truth, struct error *err);
/* Returns the symbol that has most motifs of a channel, or -1 if unknown. Sets *count to the number of the channel's
 * motifs on this symbol. */
int top_activations_symbol(const struct top_activations *statistics, const struct top_activations_channel *channel,
                           int64_t *count);

#endif
