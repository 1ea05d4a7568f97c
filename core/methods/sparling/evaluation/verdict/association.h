/* The association between channels and labels: which name in a label does the presence of a channel predict?
 *
 * It needs no true positions. For each sample it knows which channels have a motif and which names are in the label.
 * The strength of an association is the correlation of these two facts over the samples (the phi coefficient): 1 when
 * the channel is present in exactly the samples whose label has the name, 0 when the two are independent. A channel may
 * mark two symbols. It then correlates with each of them only half as strongly as with "one of the two", and the
 * comparison shows that it has two names. Pure computation on the caller's memory; one thread at a time. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_VERDICT_ASSOCIATION_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_VERDICT_ASSOCIATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/methods/sparling/model/channel_names.h"

struct association {
    int channels, tokens;
    int64_t room, samples; /* room: number of samples that fit; samples: number of samples so far */
    size_t words;          /* 64-bit words of a row */
    uint64_t *active;      /* [channels][words] bit i: the channel has a motif in sample i */
    uint64_t *present;     /* [tokens][words] bit i: the token is in the label of sample i */
    /* [room] the cluster of the sample's group (core/metrics/clusters.h); the caller owns it; NULL: samples are
     * independent */
    const unsigned char *cluster;
};

/* Allocates the bits of `room` samples. association_close() accepts a zeroed struct. Error: STATUS_NO_MEMORY. */
enum status association_open(struct association *a, int channels, int tokens, int64_t room, struct error *err);
void association_close(struct association *a);

/* Forgets all samples. */
void association_clear(struct association *a);

/* Adds a sample. active: [channels] whether the channel has a motif; NULL: a checkpoint has supplied these bits, and
 * they stay. label: [length] token indices; indices outside of [0, tokens) are left out. Samples after the first `room`
 * are dropped. */
void association_add(struct association *a, const bool *active, const int32_t *label, int length);

/* The tokens that a channel stands for, the strongest first. */
struct association_channel {
    int64_t active; /* number of samples in which the channel has a motif */
    int names;      /* 0: the channel predicts no token */
    int token[CHANNEL_NAMES];
    double strength[CHANNEL_NAMES]; /* correlation with this token alone */
    double whole; /* correlation of the channel with the fact that at least one of its names is in the label; NaN
                     without names */
};
/* Returns the names of a channel. The first name is the token with the largest correlation, if the correlation is at
 * least ASSOCIATION_LEAST and not due to chance. A further name must explain samples that the earlier names do not
 * explain: among the samples whose label has no earlier name, the channel must be active in more than half of those
 * with the token, and in a smaller share of the others. */
struct association_channel association_of_channel(const struct association *a, int channel);
#define ASSOCIATION_LEAST 0.3

/* How well channels explain a token. */
struct association_token {
    int64_t present;  /* number of samples whose label has the token */
    int channel;      /* channel of the largest correlation; -1: none */
    double strength;  /* correlation of `channel` with the token; NaN: the token is in every label or in none */
    double explained; /* correlation of two facts: the label has the token; a channel of a set is active. The set is
                         chosen greedily and has up to CHANNEL_NAMES channels */
    /* effective numbers of samples of the two correlations */
    double strength_samples, explained_samples;
};
/* Returns how well the channels explain a token. scratch: [words]. */
struct association_token association_of_token(const struct association *a, int token, uint64_t *scratch);

/* Correlation of two facts over `samples`, from the numbers of samples with the first, with the second and with both:
 * (n n11 - n1 n2) / sqrt(n1 (n - n1) n2 (n - n2)). Here n is `samples`, n1 `first`, n2 `second` and n11 `both`. NaN if
 * one of the facts is always or never true. */
double association_phi(double samples, double first, double second, double both);

#endif
