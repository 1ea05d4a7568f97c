/* What each channel of a motif map stands for, as far as many inputs tell: how often and how strongly it is active, on
 * which true symbols, and the inputs that excite it most. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_TOP_ACTIVATIONS_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_TOP_ACTIVATIONS_H

#include "core/methods/sparling/queries/query_int.h"

enum { SURVEY_BINS = 32, SURVEY_TOP = 64, SURVEY_BATCH = 4 };

struct top_activations_top {
    int64_t sample;
    struct motif at; /* the channel's strongest of this sample */
    int symbol;      /* whose true box it lies in; -1: in none, or not known */
};

struct top_activations_channel {
    int64_t active, inputs, motifs; /* elements of maps; samples that have any; maximal motifs (annotation.h) */
    double sum;                     /* of active values */
    float most;
    double range; /* a power of two: bins cut [0, range) evenly */
    int64_t bin[SURVEY_BINS];
    struct top_activations_top *top; /* [count] the strongest first; an input that comes again is not listed again */
    int count;
    int64_t *symbol; /* [symbols + 1] maximal motifs by the box they lie in; the last in none */
};

struct top_activations {
    const struct method_model *model;
    struct method_channel_query asked;
    int channels, symbols;
    int half;    /* a motif sees the input within so many positions: its footprint is 2 half + 1 wide */
    bool truth;  /* boxes are known */
    bool sparse; /* every sample had READING_MOTIFS motifs at most: else maximal ones are not counted */
    struct top_activations_channel *channel; /* [channels] */
};

/* top_activations_close() in any case. */
enum status top_activations_take(const struct method_model *model, const struct method_channel_query *asked,
                                 struct top_activations *out, struct error *err);
void top_activations_close(struct top_activations *survey);

/* Sample `index` of the set: its planes and, if not NULL, its truth. */
enum status top_activations_sample(const struct top_activations *survey, int64_t index, float *planes,
                                   struct domain_truth *truth, struct error *err);
/* The symbol that most of a channel's motifs lie on and how many do; -1 when nothing is known. */
int top_activations_symbol(const struct top_activations *survey, const struct top_activations_channel *channel,
                           int64_t *count);

#endif
