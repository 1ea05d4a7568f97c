/* Creates circulant-banded dictionaries and multiplies with them (dictionary.h).
 *
 * Products are sums of stamps: a block of [block_h][block_w * channels] numbers is added to a map of
 * [height][width * channels] at a position, with wrap-around at both edges. Because of the wrap-around, each row of a
 * stamp consists of at most two pieces. The pieces are long, so the kernel table's axpy runs at full speed. */
#include "core/coding/dictionary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/coding/transform.h"
#include "core/nn/coherence.h"

double dictionary_taps(const struct dictionary_shape *s)
{
    return (double)s->filters * s->inputs * s->extent_h * s->extent_w;
}

static int folded(int extent, int side)
{
    return 2 * extent - 1 < side ? 2 * extent - 1 : side;
}

double dictionary_gram_size(const struct dictionary_shape *s)
{
    return (double)s->filters * s->filters * folded(s->extent_h, s->height) * folded(s->extent_w, s->width);
}

size_t dictionary_signal_size(const struct dictionary *d)
{
    return (size_t)d->shape.height * (size_t)d->shape.width * (size_t)d->shape.inputs;
}

size_t dictionary_code_size(const struct dictionary *d)
{
    return (size_t)d->shape.height * (size_t)d->shape.width * (size_t)d->shape.filters;
}

/* ---- making one -------------------------------------------------------------------------------- */

static enum status normalise(struct dictionary *d, struct error *err)
{
    size_t taps = (size_t)(dictionary_taps(&d->shape) / d->shape.filters);
    for (int f = 0; f < d->shape.filters; f++) {
        float *w = d->filters + (size_t)f * taps;
        double square = 0;
        for (size_t i = 0; i < taps; i++)
            square += (double)w[i] * (double)w[i];
        if (!(square > 1e-30) || !isfinite(square))
            return error_set(err, STATUS_INVALID, NULL, "filter %d is %s", f, isfinite(square) ? "zero" : "not finite");
        double scale = 1 / sqrt(square);
        for (size_t i = 0; i < taps; i++)
            w[i] = (float)((double)w[i] * scale);
    }
    return STATUS_OK;
}

static void fill_rows(struct dictionary *d)
{
    const struct dictionary_shape *s = &d->shape;
    size_t in = 0;
    for (int f = 0; f < s->filters; f++)
        for (int y = s->extent_h - 1; y >= 0; y--)
            for (int x = s->extent_w - 1; x >= 0; x--)
                for (int c = 0; c < s->inputs; c++, in++) {
                    size_t cell = ((size_t)c * (size_t)s->extent_h + (size_t)y) * (size_t)s->extent_w + (size_t)x;
                    d->rows[cell * (size_t)s->filters + (size_t)f] = d->filters[in];
                }
}

/* Converts [filters][extent_h][extent_w][inputs] to the layout of a convolution's weights. */
static void planes(const struct dictionary_shape *s, const float *from, float *to)
{
    size_t window = (size_t)s->extent_h * (size_t)s->extent_w, inputs = (size_t)s->inputs;
    for (size_t f = 0; f < (size_t)s->filters; f++)
        for (size_t i = 0; i < window; i++)
            for (size_t c = 0; c < inputs; c++)
                to[(f * inputs + c) * window + i] = from[(f * window + i) * inputs + c];
}

/* Fills the Gram table from the table of filter_gram(), which contains the inner products of a filter f at the origin
 * with each filter g at each shift. If the circle is shorter than two extents, several shifts are the same position;
 * their inner products are added up. */
static void fold_gram(struct dictionary *d, const struct filter_bank *bank, const float *table)
{
    int rows = 2 * bank->height - 1, columns = 2 * bank->width - 1;
    size_t filters = (size_t)bank->filters;
    for (size_t f = 0; f < filters; f++)
        for (int y = 0; y < rows; y++)
            for (int x = 0; x < columns; x++) {
                const float *from = table + ((f * (size_t)rows + (size_t)y) * (size_t)columns + (size_t)x) * filters;
                float *to = d->gram + ((f * (size_t)d->gram_h + (size_t)(y % d->gram_h)) * (size_t)d->gram_w +
                                       (size_t)(x % d->gram_w)) *
                                          filters;
                for (size_t g = 0; g < filters; g++)
                    to[g] += from[g];
            }
}

static double largest_off_diagonal(const struct dictionary *d)
{
    size_t filters = (size_t)d->shape.filters, window = (size_t)d->gram_h * (size_t)d->gram_w;
    size_t middle = (size_t)(d->shape.extent_h - 1) % (size_t)d->gram_h * (size_t)d->gram_w +
                    (size_t)(d->shape.extent_w - 1) % (size_t)d->gram_w;
    double largest = 0;
    for (size_t f = 0; f < filters; f++)
        for (size_t i = 0; i < window; i++)
            for (size_t g = 0; g < filters; g++)
                if (!(f == g && i == middle))
                    largest = fmax(largest, fabs((double)d->gram[(f * window + i) * filters + g]));
    return largest;
}

static size_t band_length(const struct dictionary *d)
{
    return (size_t)d->gram_w * (size_t)d->shape.filters + 2 * BANDED_WIDTH;
}

bool dictionary_shape_bands(const struct dictionary_shape *s)
{
    double filters = s->filters, row = folded(s->extent_w, s->width) * filters;
    return s->height == 1 && folded(s->extent_w, s->width) >= 2 * s->extent_w - 1 &&
           row + 2 * BANDED_WIDTH <= s->width * filters;
}

/* dictionary_correlate_draws() needs copies of the Gram rows with zeros before and behind each row. Makes these copies
 * if dictionary_shape_bands() allows them; otherwise dictionary_correlate_draws() is not available. */
static enum status fill_bands(struct dictionary *d, struct error *err)
{
    size_t filters = (size_t)d->shape.filters, row = (size_t)d->gram_w * filters, length = band_length(d);
    if (!dictionary_shape_bands(&d->shape))
        return STATUS_OK;
    d->bands = calloc(filters * length, sizeof *d->bands);
    if (!d->bands)
        return error_memory(err, "a Gram table");
    for (size_t f = 0; f < filters; f++)
        memcpy(d->bands + f * length + BANDED_WIDTH, d->gram + f * row, row * sizeof *d->gram);
    return STATUS_OK;
}

static enum status fill_gram(struct dictionary *d, struct thread_pool *pool, struct error *err)
{
    const struct dictionary_shape *s = &d->shape;
    struct filter_bank bank = {s->filters, s->inputs, s->extent_h, s->extent_w};
    float *weights = malloc((size_t)dictionary_taps(s) * sizeof *weights);
    float *table = malloc(filter_gram_size(&bank) * sizeof *table);
    enum status status = STATUS_OK;
    if (!weights || !table) {
        status = error_memory(err, "a Gram table");
    } else {
        planes(s, d->filters, weights);
        filter_gram(&bank, weights, pool, table);
        status = thread_pool_check(pool, err);
    }
    if (!status) {
        fold_gram(d, &bank, table);
        d->coherence = fmin(1, largest_off_diagonal(d));
        status = fill_bands(d, err);
    }
    free(weights);
    free(table);
    return status;
}

static bool suits_spectrum(const struct dictionary_shape *s)
{
    return spectrum_suits(s) && spectrum_cost(s) < direct_cost(s);
}

enum status dictionary_create(const struct dictionary_shape *shape, const float *filters, const struct kernels *kernels,
                              struct thread_pool *pool, struct dictionary *out, struct error *err)
{
    struct dictionary *d = out;
    size_t taps = (size_t)dictionary_taps(shape);
    memset(d, 0, sizeof *d);
    d->shape = *shape;
    d->kernels = kernels;
    d->gram_h = folded(shape->extent_h, shape->height);
    d->gram_w = folded(shape->extent_w, shape->width);
    d->filters = malloc(taps * sizeof *d->filters);
    d->rows = malloc(taps * sizeof *d->rows);
    d->gram = calloc((size_t)dictionary_gram_size(shape), sizeof *d->gram);
    enum status status = STATUS_OK;
    if (!d->filters || !d->rows || !d->gram)
        status = error_memory(err, "a dictionary");
    if (!status) {
        memcpy(d->filters, filters, taps * sizeof *d->filters);
        status = normalise(d, err);
    }
    if (!status) {
        fill_rows(d);
        status = fill_gram(d, pool, err);
    }
    if (!status && suits_spectrum(shape))
        status = spectrum_create(shape, d->filters, &d->spectrum, err);
    if (status)
        dictionary_close(d);
    return status;
}

/* Draws `nonzeros` of the `taps` places and a random sign for each of them. All sets of places have the same
 * probability (Floyd's algorithm). */
static void draw_sparse(const struct philox *random, uint64_t first, size_t taps, size_t nonzeros, float *out)
{
    memset(out, 0, taps * sizeof *out);
    for (size_t j = taps - nonzeros, i = 0; j < taps; j++, i++) {
        uint32_t word = philox_u32(random, first + 2 * i);
        size_t pick = (size_t)(((uint64_t)word * (j + 1)) >> 32);
        pick = out[pick] != 0 ? j : pick;
        out[pick] = philox_u32(random, first + 2 * i + 1) & 1 ? 1.0f : -1.0f;
    }
}

enum status dictionary_draw(const struct dictionary_shape *shape, enum dictionary_family family, int nonzeros,
                            uint64_t seed, uint32_t stream, const struct kernels *kernels, struct thread_pool *pool,
                            struct dictionary *out, struct error *err)
{
    size_t count = (size_t)dictionary_taps(shape), taps = count / (size_t)shape->filters;
    struct philox random = philox_stream(seed, stream, 0);
    float *filters = malloc(count * sizeof *filters);
    if (!filters)
        return error_memory(err, "filters");
    for (size_t i = 0; i < count && family != FAMILY_SPARSE; i++)
        filters[i] = family == FAMILY_GAUSS       ? (float)philox_normal(&random, i)
                     : philox_u32(&random, i) & 1 ? 1.0f
                                                  : -1.0f;
    for (size_t f = 0; f < (size_t)shape->filters && family == FAMILY_SPARSE; f++)
        draw_sparse(&random, 2 * taps * f, taps, (size_t)nonzeros < taps ? (size_t)nonzeros : taps, filters + f * taps);
    enum status status = dictionary_create(shape, filters, kernels, pool, out, err);
    free(filters);
    return status;
}

enum status dictionary_hadamard(int m, const struct kernels *kernels, struct dictionary *out, struct error *err)
{
    if (m < 1 || (m & (m - 1)) != 0)
        return error_set(err, STATUS_INVALID, NULL, "a Hadamard matrix of side %d is not supported", m);
    *out = (struct dictionary){
        .shape = {.height = 1, .width = 1, .inputs = m, .filters = 2 * m, .extent_h = 1, .extent_w = 1},
        .hadamard = true,
        .gram_h = 1,
        .gram_w = 1,
        .coherence = 1 / sqrt((double)m),
        .kernels = kernels,
    };
    return STATUS_OK;
}

void dictionary_close(struct dictionary *d)
{
    free(d->filters);
    free(d->rows);
    free(d->gram);
    free(d->bands);
    spectrum_destroy(d->spectrum);
    memset(d, 0, sizeof *d);
}

double dictionary_shape_bytes(const struct dictionary_shape *s)
{
    double row = (double)folded(s->extent_w, s->width) * s->filters;
    double bands = dictionary_shape_bands(s) ? s->filters * (row + 2 * BANDED_WIDTH) : 0;
    double bytes = 4 * (2 * dictionary_taps(s) + dictionary_gram_size(s) + bands);
    return bytes + (suits_spectrum(s) ? spectrum_shape_bytes(s) : 0);
}

double dictionary_draw_bytes(const struct dictionary_shape *s)
{
    struct filter_bank bank = {s->filters, s->inputs, s->extent_h, s->extent_w};
    return 4 * (2 * dictionary_taps(s) + (double)filter_gram_size(&bank));
}

double dictionary_shape_scratch(const struct dictionary_shape *s)
{
    return suits_spectrum(s) ? (double)spectrum_scratch(s) : 1;
}

uint64_t dictionary_bytes(const struct dictionary *d)
{
    if (d->hadamard)
        return 0;
    double floats = 2 * dictionary_taps(&d->shape) + (d->bands ? 2 : 1) * dictionary_gram_size(&d->shape);
    return (uint64_t)(4 * floats) + spectrum_bytes(d->spectrum);
}

/* ---- products ---------------------------------------------------------------------------------- */

struct stamp {
    int height, width, channels; /* sizes of the map */
    int block_h, block_w;
    void (*axpy)(size_t count, real factor, const real *x, real *y);
};

/* Adds `factor` times a block to the map. (y, x): position of the block's first entry; any integers, because both axes
 * wrap around. */
static void stamp(const struct stamp *s, int y, int x, float factor, const float *block, float *map)
{
    size_t channels = (size_t)s->channels, row = (size_t)s->block_w * channels;
    int left = (x % s->width + s->width) % s->width, room = s->width - left;
    size_t head = (size_t)(s->block_w < room ? s->block_w : room) * channels;
    for (int i = 0; i < s->block_h; i++) {
        int at = ((y + i) % s->height + s->height) % s->height;
        float *to = map + (size_t)at * (size_t)s->width * channels;
        const float *from = block + (size_t)i * row;
        s->axpy(head, factor, from, to + (size_t)left * channels);
        if (head < row)
            s->axpy(row - head, factor, from + head, to);
    }
}

struct place {
    int y, x, channel;
};

static struct place place_of(const struct dictionary_shape *s, int channels, int64_t index)
{
    int position = (int)(index / channels);
    return (struct place){position / s->width, position % s->width, (int)(index % channels)};
}

/* The code of a Walsh-Hadamard dictionary is [m Dirac][m Hadamard]; one transform handles the second half. */
static void hadamard_synthesise(const struct dictionary *d, const struct spikes *x, float *signal)
{
    int m = d->shape.inputs, waves = 0;
    float scale = (float)(1 / sqrt((double)m));
    for (int i = 0; i < x->count; i++)
        if (x->at[i] >= m) {
            signal[x->at[i] - m] += scale * x->value[i];
            waves++;
        }
    if (waves > 0)
        d->kernels->hadamard_rows(1, m, signal, m);
    for (int i = 0; i < x->count; i++)
        if (x->at[i] < m)
            signal[x->at[i]] += x->value[i];
}

static void hadamard_analyse(const struct dictionary *d, const float *signal, float *code)
{
    int m = d->shape.inputs;
    float scale = (float)(1 / sqrt((double)m));
    memcpy(code, signal, (size_t)m * sizeof *code);
    memcpy(code + m, signal, (size_t)m * sizeof *code);
    d->kernels->hadamard_rows(1, m, code + m, m);
    for (int i = m; i < 2 * m; i++)
        code[i] *= scale;
}

void dictionary_synthesise(const struct dictionary *d, const struct spikes *x, float *signal)
{
    const struct dictionary_shape *s = &d->shape;
    memset(signal, 0, dictionary_signal_size(d) * sizeof *signal);
    if (d->hadamard) {
        hadamard_synthesise(d, x, signal);
        return;
    }
    struct stamp of = {s->height, s->width, s->inputs, s->extent_h, s->extent_w, d->kernels->axpy};
    size_t block = (size_t)s->extent_h * (size_t)s->extent_w * (size_t)s->inputs;
    for (int i = 0; i < x->count; i++) {
        struct place p = place_of(s, s->filters, x->at[i]);
        stamp(&of, p.y, p.x, x->value[i], d->filters + (size_t)p.channel * block, signal);
    }
}

void dictionary_correlate(const struct dictionary *d, const struct spikes *x, float *code)
{
    const struct dictionary_shape *s = &d->shape;
    struct stamp of = {s->height, s->width, s->filters, d->gram_h, d->gram_w, d->kernels->axpy};
    size_t block = (size_t)d->gram_h * (size_t)d->gram_w * (size_t)s->filters;
    for (int i = 0; i < x->count; i++) {
        struct place p = place_of(s, s->filters, x->at[i]);
        stamp(&of, p.y - s->extent_h + 1, p.x - s->extent_w + 1, x->value[i], d->gram + (size_t)p.channel * block,
              code);
    }
}

/* Lists the Gram rows of all spikes as terms of `call`. Draws form pairs (0 and 1, 2 and 3, ...). Bit q of a spike's
 * pattern is 1 if the spike has different signs in the two draws of pair q. Terms with the same pattern are listed
 * together, in the order of the first entries of their rows. The code is circular, so a row that crosses an end is
 * listed twice, once at each end. */
static void list_terms(const struct dictionary *d, const struct correlation *c, struct banded_call *call)
{
    const int filters = d->shape.filters;
    const ptrdiff_t circle = (ptrdiff_t)dictionary_code_size(d), row = (ptrdiff_t)d->gram_w * filters;
    const size_t band = band_length(d);
    for (int pass = 0; pass < 2; pass++) { /* first count, then write */
        int ends = 0;
        for (int p = 0; p < BANDED_PATTERNS && pass == 1; p++) {
            int count = call->end[p];
            call->begin[p] = call->end[p] = ends;
            ends += count;
        }
        for (int lap = -1; lap <= 1; lap++)
            for (int i = 0; i < c->x->count; i++) {
                int32_t at = c->x->at[i];
                ptrdiff_t first = (at / filters - (ptrdiff_t)d->shape.extent_w + 1) * filters + lap * circle;
                if (first >= circle || first + row <= 0)
                    continue;
                int flips = c->flips[i], alike = flips ^ flips >> 1, pattern = 0;
                for (int q = 0; q < BANDED_PAIRS; q++)
                    pattern |= (alike >> 2 * q & 1) << q;
                int to = call->end[pattern]++;
                if (pass == 0)
                    continue;
                c->terms[to].first = first;
                c->terms[to].offset = at % filters * (ptrdiff_t)band + BANDED_WIDTH - first;
                for (int q = 0; q < BANDED_PAIRS; q++)
                    c->terms[to].factor[q] = flips >> 2 * q & 1 ? -c->x->value[i] : c->x->value[i];
            }
    }
}

/* The terms of a group (list_terms()) are sorted and have rows of the same length, so the terms that overlap a tile are
 * consecutive. */
void dictionary_correlate_draws(const struct dictionary *d, const struct correlation *c)
{
    const ptrdiff_t circle = (ptrdiff_t)dictionary_code_size(d), row = (ptrdiff_t)d->gram_w * d->shape.filters;
    float tile[BANDED_ROWS * BANDED_WIDTH];
    int last[BANDED_PATTERNS];
    struct banded_call call = {.table = d->bands, .terms = c->terms, .out = tile};
    list_terms(d, c, &call);
    memcpy(last, call.end, sizeof last);
    memcpy(call.end, call.begin, sizeof last);
    for (ptrdiff_t first = 0; first < circle; first += BANDED_WIDTH) {
        size_t entries = circle - first < BANDED_WIDTH ? (size_t)(circle - first) : BANDED_WIDTH;
        memset(tile, 0, sizeof tile);
        for (int r = 0; c->added && r < BANDED_ROWS; r++)
            memcpy(tile + r * BANDED_WIDTH, c->added + first, entries * sizeof *tile);
        for (int p = 0; p < BANDED_PATTERNS; p++) {
            while (call.begin[p] < last[p] && c->terms[call.begin[p]].first + row <= first)
                call.begin[p]++;
            call.end[p] = call.end[p] < call.begin[p] ? call.begin[p] : call.end[p];
            while (call.end[p] < last[p] && c->terms[call.end[p]].first < first + BANDED_WIDTH)
                call.end[p]++;
        }
        call.shift = first;
        d->kernels->banded_sum(&call);
        c->tile(c->context, (size_t)first, entries, tile);
    }
}

void dictionary_analyse_sparse(const struct dictionary *d, const struct spikes *y, float *code)
{
    const struct dictionary_shape *s = &d->shape;
    struct stamp of = {s->height, s->width, s->filters, s->extent_h, s->extent_w, d->kernels->axpy};
    size_t block = (size_t)s->extent_h * (size_t)s->extent_w * (size_t)s->filters;
    for (int i = 0; i < y->count; i++) {
        struct place p = place_of(s, s->inputs, y->at[i]);
        stamp(&of, p.y - s->extent_h + 1, p.x - s->extent_w + 1, y->value[i], d->rows + (size_t)p.channel * block,
              code);
    }
}

size_t dictionary_scratch(const struct dictionary *d)
{
    return d->spectrum ? spectrum_scratch(&d->shape) : 1;
}

void dictionary_analyse_directly(const struct dictionary *d, const float *signal, float *code, float *scratch)
{
    (void)scratch;
    if (d->hadamard) {
        hadamard_analyse(d, signal, code);
        return;
    }
    memset(code, 0, dictionary_code_size(d) * sizeof *code);
    for (size_t i = 0; i < dictionary_signal_size(d); i++) {
        int32_t at = (int32_t)i;
        float value = signal[i];
        struct spikes one = {1, &at, &value};
        if (value != 0)
            dictionary_analyse_sparse(d, &one, code);
    }
}

void dictionary_analyse(const struct dictionary *d, const float *signal, float *code, float *scratch)
{
    if (d->spectrum)
        spectrum_analyse(d->spectrum, signal, code, scratch);
    else
        dictionary_analyse_directly(d, signal, code, scratch);
}

double dictionary_inner(const struct dictionary *d, int64_t k, int64_t j)
{
    const struct dictionary_shape *s = &d->shape;
    if (d->hadamard) {
        int64_t m = s->inputs, low = k < j ? k : j, high = k < j ? j : k;
        if (k == j)
            return 1;
        if (low >= m || high < m)
            return 0;
        return (__builtin_parityll((unsigned long long)(low & (high - m))) ? -1 : 1) / sqrt((double)m);
    }
    struct place a = place_of(s, s->filters, j), b = place_of(s, s->filters, k);
    int y = ((b.y - a.y + s->extent_h - 1) % s->height + s->height) % s->height;
    int x = ((b.x - a.x + s->extent_w - 1) % s->width + s->width) % s->width;
    if (y >= d->gram_h || x >= d->gram_w)
        return 0;
    size_t window = ((size_t)a.channel * (size_t)d->gram_h + (size_t)y) * (size_t)d->gram_w + (size_t)x;
    return (double)d->gram[window * (size_t)s->filters + (size_t)b.channel];
}

/* A Dirac column and a Hadamard column have the inner product +-1 / sqrt m. Two different columns of the same kind are
 * orthogonal. */
static void hadamard_interference(const struct dictionary *d, const struct spikes *x, int power, double *sums)
{
    int m = d->shape.inputs;
    double half[2] = {0, 0}, unit = power == 1 ? 1 / sqrt((double)m) : 1.0 / m;
    for (int i = 0; i < x->count; i++)
        half[x->at[i] >= m] += (double)x->value[i];
    for (int k = 0; k < 2 * m; k++)
        sums[k] = unit * half[k < m];
}

static void add_powers(size_t count, double weight, int power, const float *from, double *to)
{
    if (power == 1)
        for (size_t i = 0; i < count; i++)
            to[i] += weight * (double)fabsf(from[i]);
    else
        for (size_t i = 0; i < count; i++)
            to[i] += weight * (double)(from[i] * from[i]);
}

void dictionary_interference(const struct dictionary *d, const struct spikes *x, int power, double *sums)
{
    const struct dictionary_shape *s = &d->shape;
    size_t filters = (size_t)s->filters, row = (size_t)d->gram_w * filters;
    if (d->hadamard) {
        hadamard_interference(d, x, power, sums);
        return;
    }
    memset(sums, 0, dictionary_code_size(d) * sizeof *sums);
    for (int i = 0; i < x->count; i++) {
        struct place p = place_of(s, s->filters, x->at[i]);
        const float *block = d->gram + (size_t)p.channel * (size_t)d->gram_h * row;
        int left = ((p.x - s->extent_w + 1) % s->width + s->width) % s->width, room = s->width - left;
        size_t head = (size_t)(d->gram_w < room ? d->gram_w : room) * filters;
        for (int y = 0; y < d->gram_h; y++) {
            int at = ((p.y - s->extent_h + 1 + y) % s->height + s->height) % s->height;
            double *to = sums + (size_t)at * (size_t)s->width * filters;
            add_powers(head, (double)x->value[i], power, block + (size_t)y * row, to + (size_t)left * filters);
            add_powers(row - head, (double)x->value[i], power, block + (size_t)y * row + head, to);
        }
        double own = dictionary_inner(d, x->at[i], x->at[i]); /* squared norm of the column: 1 up to rounding */
        sums[x->at[i]] -= (double)x->value[i] * (power == 1 ? fabs(own) : own * own);
    }
    for (int i = 0; i < x->count; i++)
        sums[x->at[i]] = fmax(0, sums[x->at[i]]);
}
