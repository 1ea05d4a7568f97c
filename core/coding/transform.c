/* Circular correlation by FFT (transform.h). */
#include "core/coding/transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kiss_fftnd.h>

struct spectrum {
    struct dictionary_shape shape;
    kiss_fft_cfg row[2], column[2]; /* [0] forward, [1] inverse; column: NULL in one dimension */
    kiss_fft_cpx *pairs;            /* [inputs][(filters + 1) / 2][height][width], scaled by 1 / positions */
    size_t bytes;
};

static bool smooth(int n)
{
    for (int p = 2; p <= 5; p++)
        while (n % p == 0)
            n /= p;
    return n == 1;
}

bool spectrum_suits(const struct dictionary_shape *s)
{
    return smooth(s->width) && smooth(s->height);
}

static size_t positions(const struct dictionary_shape *s)
{
    return (size_t)s->height * (size_t)s->width;
}
static size_t pairs_of(const struct dictionary_shape *s)
{
    return ((size_t)s->filters + 1) / 2;
}

double spectrum_cost(const struct dictionary_shape *s)
{
    const double scalar =
        5.2; /* measured: the scalar FFT takes this many times as long for an operation as the vector kernels */
    double n = (double)positions(s), transforms = (double)s->inputs + (double)pairs_of(s);
    return scalar * transforms * 5 * n * log2(fmax(n, 2)) + 8 * n * (double)pairs_of(s) * (double)s->inputs;
}

double direct_cost(const struct dictionary_shape *s)
{
    double rows = (double)s->inputs * s->extent_h * s->extent_w;
    double call = 240, vectors = ceil((double)s->extent_w * s->filters / 16) * 16;
    return 2 * (double)positions(s) * rows / s->extent_w * (call + vectors);
}

/* Transforms rows, then columns through a buffer of one column. `line`: scratch for twice as many numbers as the longer
 * side has. */
static void transform(const struct spectrum *sp, int inverse, const kiss_fft_cpx *in, kiss_fft_cpx *out,
                      kiss_fft_cpx *line)
{
    int height = sp->shape.height, width = sp->shape.width;
    for (int y = 0; y < height; y++)
        kiss_fft(sp->row[inverse], in + (size_t)y * (size_t)width, out + (size_t)y * (size_t)width);
    for (int x = 0; height > 1 && x < width; x++) {
        for (int y = 0; y < height; y++)
            line[y] = out[(size_t)y * (size_t)width + (size_t)x];
        kiss_fft(sp->column[inverse], line, line + height);
        for (int y = 0; y < height; y++)
            out[(size_t)y * (size_t)width + (size_t)x] = line[height + y];
    }
}

static size_t line_size(const struct dictionary_shape *s)
{
    return 2 * (size_t)(s->height > s->width ? s->height : s->width);
}

size_t spectrum_scratch(const struct dictionary_shape *s)
{
    return 2 * (((size_t)s->inputs + 2) * positions(s) + line_size(s));
}

/* Copies channel c of filter f to the real or the imaginary parts of `to`. The filter's first entry goes to position
 * 0. */
static void transform_place(const struct dictionary_shape *s, const float *filters, int f, int c, bool imaginary,
                            kiss_fft_cpx *to)
{
    if (f >= s->filters)
        return;
    const float *from = filters + (size_t)f * (size_t)s->extent_h * (size_t)s->extent_w * (size_t)s->inputs;
    for (int y = 0; y < s->extent_h; y++)
        for (int x = 0; x < s->extent_w; x++) {
            float v = from[((size_t)y * (size_t)s->extent_w + (size_t)x) * (size_t)s->inputs + (size_t)c];
            kiss_fft_cpx *cell = to + (size_t)y * (size_t)s->width + (size_t)x;
            if (imaginary)
                cell->i = v;
            else
                cell->r = v;
        }
}

/* Transforms two filters with one FFT. Let f and g be neighbouring filters and F and G their transforms. The conjugated
 * transform of f - i g is conj F + i conj G. */
static void fill_pairs(struct spectrum *sp, const float *filters, kiss_fft_cpx *work)
{
    const struct dictionary_shape *s = &sp->shape;
    size_t n = positions(s);
    float share = 1.0f / (float)n;
    for (int c = 0; c < s->inputs; c++)
        for (size_t p = 0; p < pairs_of(s); p++) {
            kiss_fft_cpx *out = sp->pairs + ((size_t)c * pairs_of(s) + p) * n;
            memset(work, 0, n * sizeof *work);
            transform_place(s, filters, (int)(2 * p), c, false, work);
            transform_place(s, filters, (int)(2 * p + 1), c, true, work);
            for (size_t i = 0; i < n; i++)
                work[i].i = -work[i].i;
            transform(sp, 0, work, out, work + n);
            for (size_t i = 0; i < n; i++) {
                out[i].r *= share;
                out[i].i *= -share;
            }
        }
}

/* Returns false if memory is lacking; spectrum_destroy() frees what was allocated. */
static bool transform_allocate(struct spectrum *sp, const struct dictionary_shape *s)
{
    sp->shape = *s;
    sp->bytes = (size_t)s->inputs * pairs_of(s) * positions(s) * sizeof *sp->pairs;
    sp->pairs = malloc(sp->bytes);
    bool made = sp->pairs != NULL;
    for (int inverse = 0; inverse < 2; inverse++) {
        sp->row[inverse] = kiss_fft_alloc(s->width, inverse, NULL, NULL);
        sp->column[inverse] = s->height > 1 ? kiss_fft_alloc(s->height, inverse, NULL, NULL) : NULL;
        made = made && sp->row[inverse] && (s->height <= 1 || sp->column[inverse]);
    }
    return made;
}

enum status spectrum_create(const struct dictionary_shape *s, const float *filters, struct spectrum **spectrum,
                            struct error *err)
{
    struct spectrum *sp = calloc(1, sizeof *sp);
    kiss_fft_cpx *work = calloc(positions(s) + line_size(s), sizeof *work);
    bool made = sp && work && transform_allocate(sp, s);
    if (made)
        fill_pairs(sp, filters, work);
    free(work);
    if (!made) {
        spectrum_destroy(sp);
        return error_memory(err, "the transforms of a dictionary");
    }
    *spectrum = sp;
    return STATUS_OK;
}

void spectrum_destroy(struct spectrum *sp)
{
    if (!sp)
        return;
    for (int inverse = 0; inverse < 2; inverse++) {
        kiss_fft_free(sp->row[inverse]);
        kiss_fft_free(sp->column[inverse]);
    }
    free(sp->pairs);
    free(sp);
}

double spectrum_shape_bytes(const struct dictionary_shape *s)
{
    return (double)s->inputs * (double)pairs_of(s) * (double)positions(s) * (double)sizeof(kiss_fft_cpx);
}

size_t spectrum_bytes(const struct spectrum *sp)
{
    return sp ? sp->bytes : 0;
}

void spectrum_analyse(const struct spectrum *sp, const float *signal, float *code, float *scratch)
{
    const struct dictionary_shape *s = &sp->shape;
    size_t n = positions(s), inputs = (size_t)s->inputs, filters = (size_t)s->filters;
    kiss_fft_cpx *in = (kiss_fft_cpx *)(void *)scratch, *product = in + inputs * n, *out = product + n, *line = out + n;
    for (size_t c = 0; c < inputs; c++) {
        for (size_t i = 0; i < n; i++)
            product[i] = (kiss_fft_cpx){signal[i * inputs + c], 0};
        transform(sp, 0, product, in + c * n, line);
    }
    for (size_t p = 0; p < pairs_of(s); p++) {
        memset(product, 0, n * sizeof *product);
        for (size_t c = 0; c < inputs; c++) {
            const kiss_fft_cpx *pair = sp->pairs + (c * pairs_of(s) + p) * n, *y = in + c * n;
            for (size_t i = 0; i < n; i++) {
                product[i].r += y[i].r * pair[i].r - y[i].i * pair[i].i;
                product[i].i += y[i].r * pair[i].i + y[i].i * pair[i].r;
            }
        }
        transform(sp, 1, product, out, line);
        for (size_t i = 0; i < n; i++) {
            code[i * filters + 2 * p] = out[i].r;
            if (2 * p + 1 < filters)
                code[i * filters + 2 * p + 1] = out[i].i;
        }
    }
}
