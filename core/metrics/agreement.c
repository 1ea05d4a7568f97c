/* Counts pairs of motifs, one of each model, that are near each other, and matches the models' channels. */
#include "core/metrics/agreement.h"

#include <stdlib.h>

#include "core/metrics/assignment.h"

enum status agreement_create(int channels, int others, struct agreement *out, struct error *err)
{
    *out = (struct agreement){.channels = channels, .others = others};
    out->together = calloc((size_t)channels * (size_t)others, sizeof *out->together);
    out->motifs = calloc((size_t)channels, sizeof *out->motifs);
    out->of_other = calloc((size_t)others, sizeof *out->of_other);
    if (out->together == NULL || out->motifs == NULL || out->of_other == NULL)
        return error_memory(err, "a comparison");
    return STATUS_OK;
}

void agreement_close(struct agreement *a)
{
    free(a->together);
    free(a->motifs);
    free(a->of_other);
    *a = (struct agreement){0};
}

static int distance(const struct motif *a, const struct motif *b)
{
    int rows = abs(a->row - b->row), cols = abs(a->col - b->col);
    return rows > cols ? rows : cols;
}

static int agreement_nearest(const struct motif *motif, const struct motif *others, int count, int reach)
{
    int best = -1;
    for (int i = 0; i < count; i++) {
        int far = distance(motif, &others[i]);
        if (far <= reach && (best < 0 || far < distance(motif, &others[best])))
            best = i;
    }
    return best;
}

void agreement_add(struct agreement *a, const struct motif *motifs, int count, const struct motif *others,
                   int other_count, int reach)
{
    for (int i = 0; i < count; i++) {
        int best = agreement_nearest(&motifs[i], others, other_count, reach);
        a->motifs[motifs[i].channel]++;
        if (best >= 0)
            a->together[motifs[i].channel * a->others + others[best].channel] += 1;
    }
    for (int i = 0; i < other_count; i++)
        a->of_other[others[i].channel]++;
}

enum status agreement_match(const struct agreement *a, int *other_of, double *share, struct error *err)
{
    enum status status = assignment_best(a->together, a->channels, a->others, other_of, NULL, NULL, err);
    for (int i = 0; !status && i < a->channels; i++) {
        int other = other_of[i];
        int64_t either = a->motifs[i] + (other >= 0 ? a->of_other[other] : 0);
        share[i] = other >= 0 && either > 0 ? 2 * a->together[i * a->others + other] / (double)either : 0;
    }
    return status;
}
