/* Decoders of one layer (decode.h): thresholds, and basis pursuit by FISTA. */
#include "core/coding/decode.h"

#include <math.h>
#include <string.h>

#include "core/base/random/philox.h"

static void swap_at(float *values, size_t i, size_t j)
{
    float value = values[i];
    values[i] = values[j];
    values[j] = value;
}

/* Returns the k-th largest value, counted from 0, and reorders the values. */
static float select_largest(float *values, size_t count, size_t k)
{
    size_t low = 0, end = count;
    for (;;) {
        float pivot = values[low + (end - low) / 2];
        size_t above = low, i = low,
               below = end; /* above the pivot: [low, above); equal: [above, i); below: [below, end) */
        while (i < below)
            if (values[i] > pivot)
                swap_at(values, above++, i++);
            else if (values[i] < pivot)
                swap_at(values, i, --below);
            else
                i++;
        if (k < above)
            end = above;
        else if (k >= below)
            low = below;
        else
            return pivot;
    }
}

static void keep_largest(const float *code, size_t count, size_t keep, struct spikes *out, float *scratch)
{
    if (keep == 0)
        return;
    keep = keep < count ? keep : count;
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabsf(code[i]);
    float last = select_largest(scratch, count, keep - 1);
    size_t above = 0;
    for (size_t i = 0; i < count; i++)
        above += fabsf(code[i]) > last;
    size_t ties = keep - above;
    for (size_t i = 0; i < count; i++) {
        float magnitude = fabsf(code[i]);
        bool tie = magnitude == last && ties > 0;
        if (magnitude == 0 || (magnitude <= last && !tie))
            continue;
        ties -= tie;
        out->at[out->count] = (int32_t)i;
        out->value[out->count++] = code[i];
    }
}

static float coding_decode_shrink(enum decoder decoder, float c, float t)
{
    switch (decoder) {
    case DECODER_HARD:
        return fabsf(c) > t ? c : 0;
    case DECODER_RELU:
        return c > t ? c - t : 0;
    default:
        return c > t ? c - t : c < -t ? c + t : 0;
    }
}

void decode_threshold(enum decoder decoder, const float *code, size_t count, int64_t keep, double threshold,
                      struct spikes *out, float *scratch)
{
    out->count = 0;
    if (decoder == DECODER_TOP_K) {
        keep_largest(code, count, (size_t)keep, out, scratch);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        float v = coding_decode_shrink(decoder, code[i], (float)threshold);
        if (v == 0)
            continue;
        out->at[out->count] = (int32_t)i;
        out->value[out->count++] = v;
    }
}

/* ---- basis pursuit ------------------------------------------------------------------------------- */

size_t decode_pursuit_scratch(const struct dictionary *d)
{
    /* in floats: the residual, the point at which FISTA takes its step, the gradient, a sparse copy of the point
     * (indices and values), and the scratch of dictionary_analyse() */
    return dictionary_signal_size(d) + 4 * dictionary_code_size(d) + dictionary_scratch(d);
}

struct pursuit {
    const struct dictionary *d;
    size_t signal, code;
    float *residual, *point, *gradient, *scratch;
    struct spikes sparse;
};

static struct pursuit pursuit_over(const struct dictionary *d, float *scratch)
{
    struct pursuit p = {.d = d, .signal = dictionary_signal_size(d), .code = dictionary_code_size(d)};
    p.residual = scratch;
    p.point = p.residual + p.signal;
    p.gradient = p.point + p.code;
    p.sparse.value = p.gradient + p.code;
    p.sparse.at = (int32_t *)(void *)(p.sparse.value + p.code);
    p.scratch = p.sparse.value + 2 * p.code;
    return p;
}

/* residual = A point - signal (signal NULL: A point alone). */
static void residual(struct pursuit *p, const float *signal)
{
    p->sparse.count = 0;
    for (size_t i = 0; i < p->code; i++)
        if (p->point[i] != 0) {
            p->sparse.at[p->sparse.count] = (int32_t)i;
            p->sparse.value[p->sparse.count++] = p->point[i];
        }
    dictionary_synthesise(p->d, &p->sparse, p->residual);
    for (size_t i = 0; signal && i < p->signal; i++)
        p->residual[i] -= signal[i];
}

double decode_lipschitz(const struct dictionary *d, struct thread_pool *pool, float *scratch)
{
    enum { ROUNDS = 40 };
    struct pursuit p = pursuit_over(d, scratch);
    struct philox random = philox_stream(1, 0, 0);
    double norm = 1;
    if (d->hadamard)
        return 2;
    for (size_t i = 0; i < p.code; i++)
        p.point[i] = (float)philox_normal(&random, i);
    for (int round = 0; round < ROUNDS && !thread_pool_stopped(pool); round++) {
        double square = 0;
        for (size_t i = 0; i < p.code; i++)
            square += (double)p.point[i] * (double)p.point[i];
        float scale = (float)(1 / sqrt(square));
        for (size_t i = 0; i < p.code; i++)
            p.point[i] *= scale;
        residual(&p, NULL);
        dictionary_analyse(d, p.residual, p.gradient, p.scratch);
        norm = 0;
        for (size_t i = 0; i < p.code; i++)
            norm += (double)p.gradient[i] * (double)p.gradient[i];
        norm = sqrt(norm);
        memcpy(p.point, p.gradient, p.code * sizeof *p.point);
    }
    return 1.05 * norm;
}

void decode_pursuit(const struct dictionary *d, double lipschitz, const float *signal, double lambda,
                    int64_t iterations, struct thread_pool *pool, float *code, float *scratch)
{
    double step = 1 / lipschitz, t = 1;
    struct pursuit p = pursuit_over(d, scratch);
    memset(code, 0, p.code * sizeof *code);
    memset(p.point, 0, p.code * sizeof *p.point);
    for (int64_t round = 0; round < iterations && !thread_pool_stopped(pool); round++) {
        double next = 0.5 * (1 + sqrt(1 + 4 * t * t));
        float momentum = (float)((t - 1) / next), threshold = (float)(step * lambda);
        residual(&p, signal);
        dictionary_analyse(d, p.residual, p.gradient, p.scratch);
        for (size_t i = 0; i < p.code; i++) {
            float moved = coding_decode_shrink(DECODER_SOFT, p.point[i] - (float)step * p.gradient[i], threshold);
            p.point[i] = moved + momentum * (moved - code[i]);
            code[i] = moved;
        }
        t = next;
    }
}
