/* Agreement of two models. For each pair of channels it counts how often a motif of the first model is near one of
 * the second. It matches channels one to one by these counts, and reports the share of motifs that matched channels
 * find together. */
#ifndef MOTIF_CORE_METRICS_AGREEMENT_H
#define MOTIF_CORE_METRICS_AGREEMENT_H

#include "core/metrics/motif_errors.h"

struct agreement {
    int channels, others; /* number of channels of the first and of the second model */
    double *together;     /* [channels][others] number of pairs of motifs that are near each other */
    /* number of motifs of each channel; motifs: [channels] of the first model; of_other: [others] of the second */
    int64_t *motifs, *of_other;
};

/* Creates an agreement without motifs. The caller calls agreement_close(), after an error too. */
enum status agreement_create(int channels, int others, struct agreement *out, struct error *err);
void agreement_close(struct agreement *a); /* a zeroed struct is allowed */
/* Adds the motifs that both models found in one sample: pairs each motif of the first model with the nearest one of the
 * second within `reach` along both axes. */
void agreement_add(struct agreement *a, const struct motif *motifs, int count, const struct motif *others,
                   int other_count, int reach);

/* Matches the channels. other_of: [channels], the matched channel of the second model, or -1. share: [channels],
 * twice the number of motifs that both channels found, divided by the sum of the two channels' numbers of motifs; 0
 * for a channel without a match, and 0 if neither channel has motifs. */
enum status agreement_match(const struct agreement *a, int *other_of, double *share, struct error *err);

#endif
