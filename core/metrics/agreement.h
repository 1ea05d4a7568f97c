/* Whether two models mark the same: motifs of both near each other are counted by their channels, channels are matched
 * one to one by these counts, and a channel agrees as far as its motifs and its partner's are found together. */
#ifndef MOTIF_CORE_METRICS_AGREEMENT_H
#define MOTIF_CORE_METRICS_AGREEMENT_H

#include "core/metrics/motif_errors.h"

struct agreement {
    int channels, others;       /* of the two models */
    double *together;           /* [channels][others] motifs of both models near each other */
    int64_t *motifs, *of_other; /* by channel */
};

/* agreement_close() in any case. */
enum status agreement_create(int channels, int others, struct agreement *out, struct error *err);
void agreement_close(struct agreement *a); /* zeroed is fine */
/* The motifs that both models have in one sample: each of the first beside the nearest of the second, within `reach`
 * along both axes. */
void agreement_add(struct agreement *a, const struct motif *motifs, int count, const struct motif *others,
                   int other_count, int reach);

/* other_of: [channels], a channel's partner or -1; share: [channels], twice the motifs found together over those of
 * either, 0 where there are none. */
enum status agreement_match(const struct agreement *a, int *other_of, double *share, struct error *err);

#endif
