/* Grows the extent of a channel to the whole of what its motifs have in common.
 *
 * A channel may need only a part of a motif, for instance a side of a frame, to know it. The inputs around the motifs
 * then are alike in the other parts, too. For each position around the collected motifs of a channel, this file
 * computes the means of the input and of its square. It compares them with the means at the same places of the next
 * training samples. Where these means differ from those of other samples, the inputs around the motifs have something
 * in common, and the extent grows over these positions (channel_extent_grow()). */
#include "core/methods/sparling/evaluation/extents_grow.h"

#include <stdlib.h>

#include "core/methods/sparling/run_state.h"

enum {
    GROW_MOTIFS = 16, /* with fewer motifs, the means differ by chance at too many positions */
    MOMENTS = 2       /* the value and its square */
};

/* Sums over the motifs of a channel. Window: the positions up to `rows` and `cols` from a motif. */
struct alike {
    int rows, cols, high, wide; /* the window has [high][wide] positions */
    int features;               /* MOMENTS for each input channel */
    double *difference;         /* [features][high][wide] */
    int *count;                 /* [high][wide] number of motifs whose window contains the position */
    double *sum, *square; /* [features] sum: of all values of samples and replacements; square: of their squares */
    double values;        /* number of values in each sum */
    double *map;          /* [high][wide] */
    float *planes[2];
};

static void close_alike(struct alike *a)
{
    free(a->difference);
    free(a->count);
    free(a->sum);
    free(a->square);
    free(a->map);
    free(a->planes[0]);
    free(a->planes[1]);
}

static enum status open_alike(const struct method_run *run, struct alike *a, struct error *err)
{
    const struct domain_shape *shape = &run->domain.shape;
    int reach = CHANNEL_EXTENT_REACH * sparling_geometry(&run->config).reach / 2;
    *a = (struct alike){.rows = shape->rows > 1 ? reach : 0,
                        .cols = reach,
                        .features = shape->words > 0 ? shape->words : MOMENTS * shape->channels};
    a->high = 2 * a->rows + 1;
    a->wide = 2 * a->cols + 1;
    size_t window = (size_t)a->high * (size_t)a->wide, features = (size_t)a->features;
    a->difference = calloc(features * window, sizeof *a->difference);
    a->count = calloc(window, sizeof *a->count);
    a->sum = calloc(features, sizeof *a->sum);
    a->square = calloc(features, sizeof *a->square);
    a->map = calloc(window, sizeof *a->map);
    a->planes[0] = calloc(domain_inputs(shape), sizeof *a->planes[0]);
    a->planes[1] = calloc(domain_inputs(shape), sizeof *a->planes[1]);
    return a->difference && a->count && a->sum && a->square && a->map && a->planes[0] && a->planes[1]
               ? STATUS_OK
               : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to measure the extents of channels");
}

/* Adds one position of a motif's window in a text, whose features are the words. */
static void add_words(struct alike *a, size_t from, size_t to)
{
    size_t window = (size_t)a->high * (size_t)a->wide;
    for (int k = 0; k < 2; k++) {
        int word = (int)a->planes[k][from] - 1;
        if (word < 0)
            continue;
        a->difference[(size_t)word * window + to] += k == 0 ? 1 : -1;
        a->sum[word]++;
        a->square[word]++;
    }
    a->count[to]++;
    a->values += 2;
}

/* Adds one position of a motif's window. from: the position in a plane of the input; to: in the window. */
static void add_position(struct alike *a, const struct domain_shape *shape, size_t from, size_t to)
{
    size_t window = (size_t)a->high * (size_t)a->wide;
    if (shape->words > 0) {
        add_words(a, from, to);
        return;
    }
    for (int f = 0; f < a->features; f++) {
        size_t at = (size_t)(f / MOMENTS) * domain_positions(shape) + from;
        double own = (double)a->planes[0][at], other = (double)a->planes[1][at];
        if (f % MOMENTS == 1) {
            own *= own;
            other *= other;
        }
        a->difference[(size_t)f * window + to] += own - other;
        a->sum[f] += own + other;
        a->square[f] += own * own + other * other;
    }
    a->count[to]++;
    a->values += 2;
}

static void add_motif(struct alike *a, const struct domain_shape *shape, const struct extent_candidate *motif)
{
    int top = (int)motif->row - a->rows, left = (int)motif->col - a->cols;
    for (int r = top < 0 ? 0 : top; r < top + a->high && r < shape->rows; r++)
        for (int c = left < 0 ? 0 : left; c < left + a->wide && c < shape->cols; c++)
            add_position(a, shape, (size_t)r * (size_t)shape->cols + (size_t)c,
                         (size_t)(r - top) * (size_t)a->wide + (size_t)(c - left));
}

/* Computes a->map: how much the inputs at each position of the window differ, on average, from the inputs at the same
 * place of the next samples. Each feature adds its squared mean difference, in units of its variance, minus the value
 * expected by chance. A position that lies inside the sample for less than half of the motifs gets 0. */
static void compute_map(struct alike *a, int motifs)
{
    size_t window = (size_t)a->high * (size_t)a->wide;
    for (int f = 0; f < a->features; f++) {
        double mean = a->sum[f] / a->values, variance = a->square[f] / a->values - mean * mean;
        for (size_t i = 0; variance > 0 && i < window; i++) {
            double n = a->count[i], difference = n > 0 ? a->difference[(size_t)f * window + i] / n : 0;
            if (2 * a->count[i] >= motifs)
                a->map[i] += difference * difference / variance - 2 / n;
        }
    }
}

enum status extents_grow(const struct method_run *run, const struct extent_candidate *found, int64_t count,
                         struct channel_extent *extent, struct error *err)
{
    struct alike a;
    if (count < GROW_MOTIFS)
        return STATUS_OK;
    enum status status = open_alike(run, &a, err);
    for (int64_t i = 0; !status && i < count; i++) {
        for (int k = 0; !status && k < 2; k++) {
            int64_t index = (int64_t)found[i].sample + k;
            struct domain_request request = {
                .set = DOMAIN_SAMPLE, .seed = run->config.seed, .index = index, .seen = index};
            status = domain_sample(&run->domain, &request, a.planes[k], NULL, err);
        }
        if (!status)
            add_motif(&a, &run->domain.shape, &found[i]);
    }
    if (!status) {
        compute_map(&a, (int)count);
        channel_extent_grow(extent, a.map, a.rows, a.cols);
    }
    close_alike(&a);
    return status;
}
