/* Matches latents with true features and scores them (recovery.h). */
#include "core/metrics/latents/recovery.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/metrics/assignment.h"

struct recovery_ranked {
    int64_t active;
    int feature;
};

static double norm_of(const float *row, int d)
{
    double square = 0;
    for (int k = 0; k < d; k++)
        square += (double)row[k] * (double)row[k];
    return sqrt(square);
}

static void compare_rows(struct recovery *r, const float *dictionary, const float *truth, int d,
                         struct thread_pool *pool)
{
    for (int j = 0; j < r->latents; j++) {
        const float *row = dictionary + (ptrdiff_t)j * d;
        double norm = norm_of(row, d), *cosine = r->cosine + (ptrdiff_t)j * r->features;
        r->own[j] = 0;
        for (int i = 0; i < r->features && !thread_pool_stopped(pool); i++) {
            const float *direction = truth + (ptrdiff_t)i * d;
            double inner = 0;
            for (int k = 0; k < d; k++)
                inner += (double)row[k] * (double)direction[k];
            cosine[i] = norm > 0 ? inner / norm : 0;
            if (fabs(cosine[i]) > fabs(cosine[r->own[j]]))
                r->own[j] = i;
        }
    }
    for (int j = r->latents - 1; j >= 0; j--) {
        r->next[j] = r->first[r->own[j]];
        r->first[r->own[j]] = j;
    }
}

static enum status match_rows(struct recovery *r, struct thread_pool *pool, struct error *err)
{
    size_t all = (size_t)r->latents * (size_t)r->features;
    double *score = malloc(all * sizeof *score);
    if (!score)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to match %d latents", r->latents);
    for (size_t i = 0; i < all; i++)
        score[i] = fabs(r->cosine[i]);
    enum status status = assignment_best(score, r->latents, r->features, r->match, &r->mcc, pool, err);
    r->mcc /= r->latents < r->features ? r->latents : r->features;
    free(score);
    return status;
}

enum status recovery_create(const float *dictionary, int latents, const float *truth, int features, int inputs,
                            struct recovery *out, struct thread_pool *pool, struct error *err)
{
    size_t m = (size_t)latents, n = (size_t)features;
    *out = (struct recovery){.latents = latents, .features = features};
    out->cosine = malloc(m * n * sizeof *out->cosine);
    out->own = malloc(m * sizeof *out->own);
    out->next = malloc(m * sizeof *out->next);
    out->first = malloc(n * sizeof *out->first);
    out->match = malloc(m * sizeof *out->match);
    out->fired = calloc(m, sizeof *out->fired);
    out->both = calloc(m, sizeof *out->both);
    out->active = calloc(n, sizeof *out->active);
    out->row = calloc(n, sizeof *out->row);
    out->ranked = malloc(n * sizeof *out->ranked);
    if (!out->cosine || !out->own || !out->next || !out->first || !out->match || !out->fired || !out->both ||
        !out->active || !out->row || !out->ranked)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to compare %d latents with %d features",
                         latents, features);
    for (int i = 0; i < features; i++)
        out->first[i] = -1;
    compare_rows(out, dictionary, truth, inputs, pool);
    return match_rows(out, pool, err);
}

void recovery_close(struct recovery *r)
{
    free(r->cosine);
    free(r->own);
    free(r->next);
    free(r->first);
    free(r->match);
    free(r->fired);
    free(r->both);
    free(r->active);
    free(r->row);
    free(r->ranked);
    *r = (struct recovery){0};
}

void recovery_add(struct recovery *r, const struct recovery_sample *sample)
{
    for (int k = 0; k < sample->features; k++) {
        r->row[sample->feature[k]] = 1;
        r->active[sample->feature[k]]++;
    }
    for (int k = 0; k < sample->latents; k++) {
        int j = sample->latent[k];
        r->fired[j]++;
        r->both[j] += r->row[r->own[j]] > 0;
    }
    for (int k = 0; k < sample->features; k++)
        r->row[sample->feature[k]] = 0;
    r->samples++;
}

/* ---- absorption ---------------------------------------------------------------------------------------------- */

void recovery_absorb(struct recovery *r, const struct recovery_sample *sample, int feature, double projection,
                     const float *norm)
{
    double top[3] = {0}, main = 0, largest = 0, cosine_of_largest = 0;
    bool main_active = false;
    if (r->first[feature] < 0)
        return;
    for (int k = 0; k < sample->latents; k++) {
        int j = sample->latent[k];
        double cosine = r->cosine[(ptrdiff_t)j * r->features + feature];
        double c = (double)sample->value[k] * (double)norm[j] * cosine;
        if (r->own[j] == feature) {
            main += c;
            main_active = main_active || (double)sample->value[k] >= 1e-8;
        } else if (cosine >= 0.1 && c > top[2]) {
            int at = 2;
            for (; at > 0 && c > top[at - 1]; at--)
                top[at] = top[at - 1];
            top[at] = c;
        }
        if (c > largest) {
            largest = c;
            cosine_of_largest = cosine;
        }
    }
    double others = top[0] + top[1] + top[2], q = fmin(others, projection - main);
    r->absorption_cases++;
    r->absorbed +=
        !main_active && projection >= 0 && cosine_of_largest >= 0.025 && largest >= 0.4 * projection && largest > 0;
    if (main >= projection || others < 0.4 * projection)
        return;
    r->absorbed_share += main <= 0 ? 1 : q / (q + main);
}

/* ---- scores -------------------------------------------------------------------------------------------------- */

static void classify(const struct recovery *r, struct recovery_scores *out)
{
    for (int j = 0; j < r->latents; j++) {
        double fired = (double)r->fired[j], active = (double)r->active[r->own[j]], both = (double)r->both[j];
        out->precision += fired > 0 ? both / fired : 0;
        out->recall += active > 0 ? both / active : 0;
        out->f1 += fired + active > 0 ? 2 * both / (fired + active) : 0;
        out->accuracy += r->samples > 0 ? 1 - (fired + active - 2 * both) / (double)r->samples : 0;
    }
    out->precision /= r->latents;
    out->recall /= r->latents;
    out->f1 /= r->latents;
    out->accuracy /= r->latents;
}

/* The most frequent feature first; of equal frequencies, the smaller index. */
static int by_frequency(const void *a, const void *b)
{
    const struct recovery_ranked *u = a, *v = b;
    return u->active != v->active ? (u->active < v->active) - (u->active > v->active) : u->feature - v->feature;
}

static void share_found(const struct recovery *r, struct recovery_scores *out)
{
    struct recovery_ranked *ranked = r->ranked;
    for (int i = 0; i < r->features; i++)
        r->row[i] = 0;
    for (int j = 0; j < r->latents; j++)
        if (r->match[j] >= 0)
            r->row[r->match[j]] = fabs(r->cosine[(ptrdiff_t)j * r->features + r->match[j]]) >= RECOVERY_FOUND;
    for (int i = 0; i < r->features; i++)
        ranked[i] = (struct recovery_ranked){r->active[i], i};
    qsort(ranked, (size_t)r->features, sizeof *ranked, by_frequency);
    for (int tenth = 0; tenth < RECOVERY_DECILES; tenth++) {
        int from = tenth * r->features / RECOVERY_DECILES, to = (tenth + 1) * r->features / RECOVERY_DECILES;
        double found = 0;
        for (int i = from; i < to; i++)
            found += r->row[ranked[i].feature];
        out->found[tenth] = to > from ? found / (to - from) : NAN;
    }
    memset(r->row, 0, (size_t)r->features * sizeof *r->row);
}

struct recovery_scores recovery_scores(const struct recovery *r)
{
    struct recovery_scores out = {.mcc = r->mcc, .absorption_full = NAN, .absorption_fraction = NAN};
    int different = 0;
    for (int i = 0; i < r->features; i++)
        different += r->first[i] >= 0;
    out.uniqueness = (double)different / r->latents;
    classify(r, &out);
    share_found(r, &out);
    if (r->absorption_cases > 0) {
        out.absorption_full = (double)r->absorbed / (double)r->absorption_cases;
        out.absorption_fraction = r->absorbed_share / (double)r->absorption_cases;
    }
    return out;
}
