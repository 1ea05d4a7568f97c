/* Estimates the operations and the memory of a run from its configuration. A configuration may leave out the numbers of
 * non-zeros. The run then chooses numbers around S50, the stripe sparsity at which half of the codes are recovered. S50
 * is unknown before the run, so the estimate uses a guess. For random filters and signs, the guess is S50 = 0.6 / mu^2,
 * where mu is the expected coherence of the filters. */
#include <math.h>
#include <stdlib.h>

#include "core/methods/pathways/config.h"
#include "core/coding/transform.h"
#include "core/methods/pathways/trial.h"

/* Expected maximum of `pairs` inner products of random unit vectors in m dimensions, sqrt(2 ln(2 pairs) / m). */
static double expected_coherence(const struct pathways_case *p)
{
    const struct dictionary_shape *s = &p->shape[0];
    if (p->family == PATHWAYS_HADAMARD)
        return 1 / sqrt((double)s->inputs);
    double length = (double)s->inputs * s->extent_h * s->extent_w;
    double pairs = (double)s->filters * s->filters * s->extent_w;
    return fmin(1, sqrt(2 * log(fmax(2, pairs)) / length));
}

static double middle_nonzeros(const struct pathways_config *c, const struct pathways_case *p)
{
    int64_t list[PATHWAYS_POINTS];
    int given = pathways_nonzeros(c, list);
    double sum = 0;
    for (int i = 0; i < given; i++)
        sum += (double)list[i];
    if (given > 0)
        return sum / given;
    const struct dictionary_shape *s = &p->shape[0];
    double mu = expected_coherence(p), stripe = p->signs == SIGNS_ADVERSARIAL ? 1.5 / mu : 0.6 / (mu * mu);
    if (p->family == PATHWAYS_HADAMARD)
        return p->signs == SIGNS_PLUS ? 1 / mu : s->inputs / (2 * log(2.0 * s->inputs));
    return fmax(1, 0.8 * stripe * s->width / fmin(s->width, 2 * s->extent_w - 1));
}

/* Largest number of non-zeros of a trial. A run that chooses the numbers itself ends where recovery has failed, at
 * about twice the middle of the curve. */
static double most_nonzeros(const struct pathways_config *c, const struct pathways_case *p)
{
    int64_t list[PATHWAYS_POINTS];
    int given = pathways_nonzeros(c, list);
    return given > 0 ? (double)list[given - 1] : fmin(4 * middle_nonzeros(c, p), (double)pathways_columns(p) / 2);
}

/* All costs are counted in operations of the axpy kernel, which runs at 20 GFLOPS. Measured weights convert other work
 * to this unit. */
static const double PACE = 20;
enum { BASE_BYTES = 5 << 18 }; /* pages of libraries */

/* Cost of a code whose layers are decoded one after another, by pursuit, by thresholds or by top-k. */
static double whole_cost(const struct pathways_case *p, double nonzeros)
{
    double cost = 0;
    for (int l = p->layers - 1; l >= 0; l--) {
        const struct dictionary_shape *s = &p->shape[l];
        double atoms = (double)s->filters * s->height * s->width;
        double analysis = fmin(direct_cost(s), spectrum_suits(s) ? spectrum_cost(s) : INFINITY);
        cost += 2 * nonzeros * dictionary_gram_size(s) / s->filters + 150 * atoms;
        if (p->rule.decoder == DECODER_PURSUIT)
            cost += (double)p->rule.iterations * (analysis + 30 * atoms);
        double spread = p->nonzeros[l] > 0 ? p->nonzeros[l] : (double)s->extent_w * s->inputs;
        nonzeros = fmin((double)s->width * s->inputs, nonzeros * spread);
    }
    return cost;
}

/* Returns the operations of one trial. *bounds: the operations of the bounds of one code; *attacks: those of the search
 * for adversarial signs of one code. */
static double trial_cost(const struct pathways_config *c, const struct pathways_case *p, double *bounds,
                         double *attacks)
{
    const struct dictionary_shape *s = &p->shape[0];
    double nonzeros = middle_nonzeros(c, p), atoms = (double)s->filters * s->height * s->width;
    double met = p->family == PATHWAYS_HADAMARD ? atoms : nonzeros * dictionary_gram_size(s) / s->filters;
    *bounds = 30 * met + 3600 * atoms;
    *attacks = 36 * met;
    if (p->family == PATHWAYS_HADAMARD)
        return atoms * (log2((double)s->inputs) + 70);
    if (p->layers > 1 || p->rule.decoder != DECODER_TOP_K)
        return whole_cost(p, nonzeros);
    return met / 2 + 18 * atoms;
}

enum status pathways_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err)
{
    const struct pathways_config *c = config;
    struct pathways_case *cases = calloc(PATHWAYS_CASES, sizeof *cases);
    int threads = c->threads > 0 ? (int)c->threads : METHOD_ASSUMED_THREADS;
    if (!cases)
        return error_memory(err, "an estimate");
    int64_t list[PATHWAYS_POINTS], codes = (c->trials + c->draws - 1) / c->draws;
    int count = pathways_cases(c, cases), given = pathways_nonzeros(c, list);
    double points = given > 0 ? given : (double)c->points, trials = 0, flops = 0, bytes = 0, taps = 1;
    for (int i = 0; i < count; i++) {
        double draws = cases[i].signs == SIGNS_RANDOM ? (double)c->draws : 1;
        double own = points * (double)codes * draws;
        trials += own;
        double bounds, attacks, cost = trial_cost(c, &cases[i], &bounds, &attacks);
        double checked = fmin((double)codes, (double)c->bound_codes);
        flops += own * cost + points * checked * bounds;
        flops += cases[i].signs == SIGNS_ADVERSARIAL ? points * (double)codes * attacks : 0;
        bytes = fmax(bytes, scenario_bytes(&cases[i], most_nonzeros(c, &cases[i]), c->bound_codes > 0, threads));
    }
    for (int l = 0; l < cases[0].layers && cases[0].family != PATHWAYS_HADAMARD; l++)
        taps += dictionary_taps(&cases[0].shape[l]);
    out->parameters = (int64_t)taps;
    out->samples = (int64_t)trials;
    out->flops_per_sample = flops / trials;
    out->gflops = PACE;
    out->memory_bytes = (int64_t)bytes + BASE_BYTES;
    out->checkpoint_bytes =
        (int64_t)(4 * taps) + 8192 + 8 * (int64_t)count * (int64_t)sizeof(double) * 32 * PATHWAYS_POINTS / 8;
    free(cases);
    return STATUS_OK;
}
