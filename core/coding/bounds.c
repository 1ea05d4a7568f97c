/* Computes local norms by sliding windows, the paper's bounds and the sharper instance bound (bounds.h). */
#include "core/coding/bounds.h"

#include <math.h>
#include <stdlib.h>

static double weigh(float value, int alpha)
{
    return alpha == 0 ? (double)(value != 0) : (double)value * (double)value;
}

/* `in` and `out` are circles of `count` values that are `stride` elements apart. Value i of `out` is the sum of the
 * `window` values of `in` from value i on. */
static void slide(const double *in, double *out, int count, int stride, int window)
{
    int length = window < count ? window : count;
    double sum = 0;
    for (int i = 0; i < length; i++)
        sum += in[(size_t)i * (size_t)stride];
    for (int i = 0, enters = length < count ? length : 0; i < count; i++) {
        out[(size_t)i * (size_t)stride] = sum;
        sum += in[(size_t)enters * (size_t)stride] - in[(size_t)i * (size_t)stride];
        enters = enters + 1 < count ? enters + 1 : 0;
    }
}

double local_norm(const struct local_window *w, const float *map, int alpha, double *scratch)
{
    size_t positions = (size_t)w->height * (size_t)w->width;
    double *cells = scratch, *sums = scratch + positions, largest = 0;
    for (size_t i = 0; i < positions; i++) {
        cells[i] = 0;
        for (int c = 0; c < w->channels; c++)
            cells[i] += weigh(map[i * (size_t)w->channels + (size_t)c], alpha);
    }
    for (int y = 0; y < w->height; y++)
        slide(cells + (size_t)y * (size_t)w->width, sums + (size_t)y * (size_t)w->width, w->width, 1, w->window_w);
    for (int x = 0; x < w->width; x++)
        slide(sums + x, cells + x, w->height, w->width, w->window_h);
    for (size_t i = 0; i < positions; i++)
        largest = cells[i] > largest ? cells[i] : largest;
    return alpha == 0 ? largest : sqrt(largest);
}

double local_norm_literal(const float *map, size_t count, size_t window, int alpha)
{
    size_t length = window < count ? window : count;
    double sum = 0, largest = 0;
    for (size_t i = 0; i < length; i++)
        sum += weigh(map[i], alpha);
    for (size_t i = 0, enters = length < count ? length : 0; i < count; i++) {
        largest = sum > largest ? sum : largest;
        sum += weigh(map[enters], alpha) - weigh(map[i], alpha);
        enters = enters + 1 < count ? enters + 1 : 0;
    }
    return alpha == 0 ? largest : sqrt(largest);
}

double bound_uniform(double mu, double x_min, double x_max, double zeta)
{
    return (0.5 * x_min - zeta) / (mu * x_max) + 0.5;
}

double bound_probabilistic(double mu, double atoms, double x_min, double x_max, double zeta, double delta)
{
    double ratio = x_min / x_max, noise = zeta / x_max;
    return (ratio * ratio / (8 * log(2 * atoms / delta)) - noise * noise) / (mu * mu);
}

double bound_failure(double mu, double stripe, double atoms, double x_min, double x_max, double zeta)
{
    double spread = x_max * x_max * mu * mu * stripe + zeta * zeta;
    return spread > 0 ? 2 * atoms * exp(-x_min * x_min / (8 * spread)) : 0;
}

double bound_error(double patch, double mu, double stripe, double x_max, double zeta)
{
    return sqrt(patch) * (mu * fmax(0, stripe - 1) * x_max + zeta);
}

double bound_pursuit(double mu)
{
    return (1 + 1 / mu) / 3;
}

/* ---- the instance bound ------------------------------------------------------------------------ */

struct instance {
    const struct spikes *x;
    const double *spread; /* v_k of all atoms; the negative value -1 - v_k marks an atom of the support */
    size_t atoms;
    double zeta;
};

/* The tail bound 2 exp(-t^2 / (2 s)), or 1 for t <= 0, where it does not hold. */
static double tail(double t, double s)
{
    if (t <= 0)
        return 1;
    return s > 0 ? 2 * exp(-t * t / (2 * s)) : 0;
}

static double failure_at(const struct instance *in, double p)
{
    double sum = 0, noise = in->zeta * in->zeta;
    for (size_t k = 0; k < in->atoms; k++)
        if (in->spread[k] > 0 || (in->spread[k] == 0 && noise > 0))
            sum += tail(p, in->spread[k] + noise);
    for (int i = 0; i < in->x->count; i++)
        sum += tail(fabs((double)in->x->value[i]) - p, -in->spread[in->x->at[i]] - 1 + noise);
    return sum;
}

struct instance_bound bound_instance(const struct dictionary *d, const struct spikes *x, double zeta, double *scratch)
{
    struct instance in = {x, scratch, dictionary_code_size(d), zeta};
    struct spikes squares = {x->count, x->at, (float *)(void *)(scratch + in.atoms)};
    struct instance_bound bound = {.half = NAN, .best = NAN, .split = NAN};
    double x_min = INFINITY;
    if (x->count == 0)
        return bound;
    for (int i = 0; i < x->count; i++) {
        squares.value[i] = x->value[i] * x->value[i];
        x_min = fmin(x_min, fabs((double)x->value[i]));
    }
    dictionary_interference(d, &squares, 2, scratch);
    for (int i = 0; i < x->count; i++)
        scratch[x->at[i]] = -1 - scratch[x->at[i]];
    bound.half = bound.best = failure_at(&in, 0.5 * x_min);
    bound.split = 0.5;
    /* the threshold p with the smallest bound is usually above x_min / 2, because more atoms are outside the support
     * than inside */
    for (int step = 6; step <= 16; step++) {
        double at = 0.05 * step, value = failure_at(&in, at * x_min);
        if (value < bound.best) {
            bound.best = value;
            bound.split = at;
        }
    }
    return bound;
}

/* ---- a pathway --------------------------------------------------------------------------------- */

static void bounds_collect(const float *map, size_t count, struct spikes *out)
{
    out->count = 0;
    for (size_t i = 0; i < count; i++)
        if (map[i] != 0) {
            out->at[out->count] = (int32_t)i;
            out->value[out->count++] = map[i];
        }
}

static size_t nonzeros_of(const float *map, size_t count)
{
    size_t nonzeros = 0;
    for (size_t i = 0; i < count; i++)
        nonzeros += map[i] != 0;
    return nonzeros;
}

static void bounds_measure(const struct dictionary *d, const struct dictionary *next, const float *map,
                           const struct spikes *x, double *scratch, struct layer_guarantee *out)
{
    const struct dictionary_shape *s = &d->shape, *n = next ? &next->shape : s;
    struct local_window stripe = {s->height, s->width, s->filters, 2 * s->extent_h - 1, 2 * s->extent_w - 1};
    struct local_window patch = {s->height, s->width, s->filters, n->extent_h, n->extent_w};
    out->coherence = d->coherence;
    out->atoms = (double)dictionary_code_size(d);
    out->nonzeros = x->count;
    out->stripe = local_norm(&stripe, map, 0, scratch);
    out->patch = local_norm(&patch, map, 0, scratch);
    out->stripe_literal = NAN;
    if (s->height == 1)
        out->stripe_literal =
            local_norm_literal(map, dictionary_code_size(d), (size_t)(2 * s->extent_w - 1) * (size_t)s->filters, 0);
    out->x_min = x->count ? INFINITY : 0;
    out->x_max = 0;
    for (int i = 0; i < x->count; i++) {
        out->x_min = fmin(out->x_min, fabs((double)x->value[i]));
        out->x_max = fmax(out->x_max, fabs((double)x->value[i]));
    }
}

static void conclude(const struct dictionary *d, const struct spikes *x, double delta, bool instance, double *scratch,
                     struct layer_guarantee *g)
{
    /* The code is zero, so its support is empty. The decoder certainly finds this support if the layer's input has no
     * error; otherwise nothing is guaranteed. */
    if (x->count == 0) {
        g->uniform = g->zeta_in == 0;
        g->uniform_limit = g->probabilistic_limit = NAN;
        g->failure = g->zeta_in == 0 ? 0 : 1;
        g->instance = (struct instance_bound){g->failure, g->failure, 0.5};
        g->zeta_out = g->zeta_in;
        return;
    }
    g->uniform_limit = bound_uniform(g->coherence, g->x_min, g->x_max, g->zeta_in);
    g->probabilistic_limit = bound_probabilistic(g->coherence, g->atoms, g->x_min, g->x_max, g->zeta_in, delta);
    g->failure = bound_failure(g->coherence, g->stripe, g->atoms, g->x_min, g->x_max, g->zeta_in);
    g->uniform = g->stripe < g->uniform_limit;
    g->zeta_out = bound_error(g->patch, g->coherence, g->stripe, g->x_max, g->zeta_in);
    g->instance = (struct instance_bound){NAN, NAN, NAN};
    if (instance)
        g->instance = bound_instance(d, x, g->zeta_in, scratch);
}

enum status pathway_guarantee(const struct dictionary *const *dictionaries, const float *const *codes, int layers,
                              double zeta, double delta, bool instance, struct layer_guarantee *out, struct error *err)
{
    enum status status = STATUS_OK;
    for (int l = 0; !status && l < layers; l++) {
        const struct dictionary *d = dictionaries[l];
        size_t atoms = dictionary_code_size(d), positions = (size_t)d->shape.height * (size_t)d->shape.width;
        size_t count = nonzeros_of(codes[l], atoms), numbers = atoms + count / 2 + 1;
        struct spikes x = {0, malloc((count + 1) * sizeof *x.at), malloc((count + 1) * sizeof *x.value)};
        double *scratch = malloc((numbers > 2 * positions ? numbers : 2 * positions) * sizeof *scratch);
        if (!x.at || !x.value || !scratch) {
            status = error_memory(err, "a guarantee");
        } else {
            bounds_collect(codes[l], atoms, &x);
            bounds_measure(d, l + 1 < layers ? dictionaries[l + 1] : NULL, codes[l], &x, scratch, &out[l]);
            out[l].zeta_in = l == 0 ? zeta : out[l - 1].zeta_out;
            conclude(d, &x, delta, instance, scratch, &out[l]);
        }
        free(x.at);
        free(x.value);
        free(scratch);
    }
    return status;
}

struct pathway_verdict pathway_verdict(const struct layer_guarantee *layers, int count)
{
    struct pathway_verdict v = {.uniform = true};
    double theorem = 0, instance = 0;
    for (int l = 0; l < count; l++) {
        v.uniform = v.uniform && layers[l].uniform;
        theorem += layers[l].failure;
        instance += layers[l].instance.best;
    }
    v.theorem = fmax(0, 1 - theorem);
    v.instance = isnan(instance) ? 0 : fmax(0, 1 - instance);
    return v;
}
