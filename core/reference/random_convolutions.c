/* Random convolutions: the kernels and their features. */
#include "core/reference/random_convolutions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"

enum { STREAM_UNIFORM = 0x524f434b, STREAM_NORMAL, MOST_TAPS = 25 };

struct random_kernel {
    int height, width; /* taps along rows and columns */
    int dilation, pad_rows, pad_cols;
    int channels; /* number of channels that it reads */
    size_t first; /* index of its first entry in `channel`; its weights begin at first * MOST_TAPS */
    real bias;
};

struct random_convolutions {
    int channels, rows, cols, count;
    bool unordered;
    struct random_kernel *kernel; /* [count] */
    int *channel;                 /* the channels of all kernels, one after another */
    real *weight;                 /* [entries of `channel`][MOST_TAPS] */
};

/* Random numbers that are drawn one after another. */
struct draws {
    struct philox uniform, normal;
    uint64_t uniforms, normals; /* how many were drawn */
};

static double uniform(struct draws *d)
{
    return (double)philox_uniform(&d->uniform, d->uniforms++);
}

/* Returns the largest exponent u so that `taps` taps with dilation 2^u fit into `length` positions. */
static double most_dilated(int taps, int length)
{
    return length > taps ? log2((double)(length - 1) / (taps - 1)) : 0;
}

/* Returns the number of taps along a dimension of this length, at most `taps`. */
static int fitting(int taps, int length)
{
    return taps <= length ? taps : length;
}

static void draw_shape(struct random_convolutions *c, struct random_kernel *k, struct draws *d)
{
    static const int lines[] = {7, 9, 11}, squares[] = {3, 5};
    if (c->unordered) {
        k->height = k->width = 1;
    } else if (c->rows == 1) {
        k->height = 1;
        k->width = fitting(lines[(int)(3 * uniform(d))], c->cols);
    } else {
        int side = squares[(int)(2 * uniform(d))];
        k->height = fitting(side, c->rows);
        k->width = fitting(side, c->cols);
    }
    double most = k->width > 1 ? most_dilated(k->width, c->cols) : 0;
    if (k->height > 1)
        most = fmin(most, most_dilated(k->height, c->rows));
    k->dilation = (int)exp2(most * uniform(d));
    bool padded = uniform(d) < 0.5;
    k->pad_rows = padded ? (k->height - 1) * k->dilation / 2 : 0;
    k->pad_cols = padded ? (k->width - 1) * k->dilation / 2 : 0;
    k->bias = (real)(2 * uniform(d) - 1);
    k->channels = (int)exp2(log2(c->channels + 1.0) * uniform(d));
    k->channels = fitting(k->channels, c->channels);
}

/* Draws the channels of a kernel, all different, and for each of them weights with mean 0. */
static void draw_weights(struct random_convolutions *c, struct random_kernel *k, struct draws *d, int *order)
{
    int taps = k->height * k->width;
    for (int i = 0; i < c->channels; i++)
        order[i] = i;
    for (int i = 0; i < k->channels; i++) {
        int other = i + (int)((c->channels - i) * uniform(d)), swap = order[i];
        real *w = c->weight + (k->first + (size_t)i) * MOST_TAPS;
        double mean = 0;
        order[i] = order[other];
        order[other] = swap;
        c->channel[k->first + (size_t)i] = order[i];
        for (int t = 0; t < taps; t++) {
            w[t] = (real)philox_normal(&d->normal, d->normals++);
            mean += (double)w[t] / taps;
        }
        for (int t = 0; taps > 1 && t < taps; t++)
            w[t] -= (real)mean;
    }
}

/* The numbers of kernel i come from a stream of its own, so they do not depend on the count. */
static struct draws draws_of(uint64_t seed, int i)
{
    return (struct draws){.uniform = philox_stream(seed, STREAM_UNIFORM, (uint64_t)i),
                          .normal = philox_stream(seed, STREAM_NORMAL, (uint64_t)i)};
}

/* Draws all kernels. order: [channels] scratch. */
static enum status draw_all(struct random_convolutions *c, uint64_t seed, int *order, struct error *err)
{
    size_t entries = 0;
    c->kernel = calloc((size_t)c->count, sizeof *c->kernel);
    if (c->kernel == NULL)
        return error_memory(err, "random convolutions");
    for (int i = 0; i < c->count; i++) {
        struct draws d = draws_of(seed, i);
        draw_shape(c, &c->kernel[i], &d);
        c->kernel[i].first = entries;
        entries += (size_t)c->kernel[i].channels;
    }
    c->channel = malloc(entries * sizeof *c->channel);
    c->weight = calloc(entries * MOST_TAPS, sizeof *c->weight);
    if (c->channel == NULL || c->weight == NULL)
        return error_memory(err, "random convolutions");
    for (int i = 0; i < c->count; i++) {
        struct draws d = draws_of(seed, i);
        d.uniforms = 16; /* beyond the numbers of draw_shape() */
        draw_weights(c, &c->kernel[i], &d, order);
    }
    return STATUS_OK;
}

enum status random_convolutions_create(int channels, int rows, int cols, bool unordered, int count, uint64_t seed,
                                       struct random_convolutions **out, struct error *err)
{
    struct random_convolutions *c = calloc(1, sizeof *c);
    int *order = malloc((size_t)channels * sizeof *order);
    enum status status = c && order ? STATUS_OK : error_memory(err, "random convolutions");
    *out = NULL;
    if (!status) {
        *c = (struct random_convolutions){
            .channels = channels, .rows = rows, .cols = cols, .count = count, .unordered = unordered};
        status = draw_all(c, seed, order, err);
    }
    free(order);
    if (status) {
        random_convolutions_destroy(c);
        return status;
    }
    *out = c;
    return STATUS_OK;
}

void random_convolutions_destroy(struct random_convolutions *convolutions)
{
    if (convolutions == NULL)
        return;
    free(convolutions->kernel);
    free(convolutions->channel);
    free(convolutions->weight);
    free(convolutions);
}

double random_convolutions_cost(int channels, int rows, int cols)
{
    /* the mean of 2^u with u uniform in [0, log2 n] is (n - 1) / ln n */
    double n = channels + 1.0, read = (n - 1) / log(n), taps = rows == 1 ? 9 : 17;
    return (read > 1 ? read : 1) * taps * rows * cols;
}

size_t random_convolutions_scratch(const struct random_convolutions *c)
{
    return (2 * (size_t)c->channels + 1) * (size_t)c->rows * (size_t)c->cols;
}

/* Writes the sample with mean 0 and deviation 1 in each channel; a constant channel becomes 0. */
static void standardise(const struct random_convolutions *c, const float *planes, real *out)
{
    size_t size = (size_t)c->rows * (size_t)c->cols;
    for (int channel = 0; channel < c->channels; channel++, planes += size, out += size) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < size; i++)
            sum += (double)planes[i];
        double mean = sum / (double)size;
        for (size_t i = 0; i < size; i++)
            squares += ((double)planes[i] - mean) * ((double)planes[i] - mean);
        double deviation = sqrt(squares / (double)size);
        real scale = deviation > 1e-6 * (fabs(mean) + 1e-6) ? (real)(1 / deviation) : 0;
        for (size_t i = 0; i < size; i++)
            out[i] = (real)((double)planes[i] - mean) * scale;
    }
}

/* Computes the results of a kernel at the positions [rows][cols] of `out`. */
static void convolve(const struct random_convolutions *c, const struct random_kernel *k, const struct kernels *kernels,
                     const real *planes, real *out, int rows, int cols)
{
    for (int i = 0; i < rows * cols; i++)
        out[i] = k->bias;
    for (int n = 0; n < k->channels; n++) {
        const real *plane = planes + (size_t)c->channel[k->first + (size_t)n] * (size_t)c->rows * (size_t)c->cols;
        const real *w = c->weight + (k->first + (size_t)n) * MOST_TAPS;
        for (int tap = 0; tap < k->height * k->width; tap++) {
            int down = tap / k->width * k->dilation - k->pad_rows, right = tap % k->width * k->dilation - k->pad_cols;
            int first = right < 0 ? -right : 0, end = c->cols - right < cols ? c->cols - right : cols;
            for (int row = 0; row < rows && first < end; row++)
                if (row + down >= 0 && row + down < c->rows)
                    kernels->axpy((size_t)(end - first), w[tap], plane + (row + down) * c->cols + first + right,
                                  out + row * cols + first);
        }
    }
}

void random_convolutions_features(const struct random_convolutions *c, const struct kernels *kernels,
                                  const float *planes, real *scratch, real *features)
{
    size_t size = (size_t)c->channels * (size_t)c->rows * (size_t)c->cols;
    real *own = scratch, *standard = own + size, *out = standard + size;
    for (size_t i = 0; i < size; i++)
        own[i] = (real)planes[i];
    standardise(c, planes, standard);
    for (int i = 0; i < c->count; i++) {
        const struct random_kernel *k = &c->kernel[i];
        int rows = c->rows - (k->height - 1) * k->dilation + 2 * k->pad_rows,
            cols = c->cols - (k->width - 1) * k->dilation + 2 * k->pad_cols, positive = 0;
        real most = -INFINITY;
        convolve(c, k, kernels, i % 2 ? standard : own, out, rows, cols);
        for (int at = 0; at < rows * cols; at++) {
            positive += out[at] > 0;
            most = out[at] > most ? out[at] : most;
        }
        features[2 * i] = (real)positive / (real)(rows * cols);
        features[2 * i + 1] = most;
    }
}
