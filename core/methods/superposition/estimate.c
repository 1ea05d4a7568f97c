/* What a configuration costs. It assumes that training uses all samples up to its cap. */
#include "core/methods/superposition/config.h"

#include <math.h>
#include <stdlib.h>

#include "core/methods/superposition/batch.h"
#include "core/methods/superposition/statistics.h"

/* Counts operations in units of a large dense product, because a prediction divides by the speed of such a product. A
 * sparse product reaches about a sixth of this speed. Drawing, comparing and finding non-zeros cost about a hundred
 * operations for each feature; Adam costs about a hundred for each weight. At the end of training, the gradient of the
 * output is about twice as dense as the input. */
double superposition_flops(const struct superposition_config *config, const struct superposition_case *c)
{
    enum { SPARSE = 6, FEATURE = 500, RUG_FEATURE = 900, WEIGHT = 120 };
    double n = c->n_s, product = 2 * n * c->n_d, batch = (double)config->batch;
    if (c->model != MODEL_TRAINED)
        return n * (4 * log2(n) + RUG_FEATURE);
    double rest = FEATURE * n + WEIGHT * (config->tied ? 1 : 2) * n * c->n_d / batch;
    if (config->products == PRODUCTS_DENSE)
        return 5 * product + rest;
    double x = c->p <= BATCH_SPARSE ? SPARSE * c->p : 1, z = 2 * c->p <= BATCH_SPARSE ? SPARSE * 2 * c->p : 1;
    return product * (1 + 2 * fmin(x, 1) + 2 * fmin(z, 1)) + rest;
}

/* Measured with these weights on one AVX-512 core, in GFLOPS: 89 for preset fig3, 97 for loss-curve. */
enum { PRODUCT_GFLOPS = 90 };

static double case_samples(const struct superposition_config *config, const struct superposition_case *c)
{
    double test = (double)config->test_samples;
    return c->model == MODEL_TRAINED ? (double)config->total_samples + 0.25 * test
           : c->model == MODEL_RUG   ? test * (double)config->draws
                                     : test;
}

/* Operations of a case that do not depend on its samples: drawing the samples of the statistics' test for normality. */
static double case_statistics(const struct superposition_case *c)
{
    enum { DRAWN_FEATURE = 1200 };
    return (double)DRAWN_FEATURE * statistics_samples(c->n_s) * c->n_s;
}

static int64_t case_bytes(const struct superposition_config *config, const struct superposition_case *c)
{
    int64_t n = c->n_s, threads = config->threads > 0 ? config->threads : 2;
    if (c->model != MODEL_TRAINED)
        return n * (4 + 8 * threads + 4) + 8 * (int64_t)c->n_d;
    struct autoencoder_shape shape = superposition_shape(config, c);
    int64_t weights = (c->n_d * (config->tied ? 1 : 2) + 1) * n;
    int64_t statistics = 4 * (64 * threads * n + (int64_t)c->n_d * c->n_d) + 96 * n;
    return 16 * weights + (int64_t)batch_bytes(&shape, (int)config->batch, (int)threads) + statistics;
}

enum status superposition_estimate(const void *config, struct method_estimate *out, struct error *err)
{
    const struct superposition_config *c = config;
    struct superposition_case *cases = calloc(SUPERPOSITION_CASES, sizeof *cases);
    if (!cases)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the list of cases");
    int count = superposition_cases(c, cases);
    double flops = 0, samples = 0;
    int64_t most = 0, parameters = 0;
    count = count < SUPERPOSITION_CASES ? count : SUPERPOSITION_CASES;
    for (int i = 0; i < count; i++) {
        int64_t bytes = case_bytes(c, &cases[i]);
        int64_t own =
            cases[i].model == MODEL_TRAINED ? ((int64_t)cases[i].n_d * (c->tied ? 1 : 2) + 1) * cases[i].n_s : 2;
        samples += case_samples(c, &cases[i]);
        flops += case_samples(c, &cases[i]) * superposition_flops(c, &cases[i]) + case_statistics(&cases[i]);
        most = bytes > most ? bytes : most;
        parameters = own > parameters ? own : parameters;
    }
    *out = (struct method_estimate){.parameters = parameters,
                                    .flops_per_sample = samples > 0 ? flops / samples : 0,
                                    .memory_bytes = most + (int64_t)(8 << 20),
                                    .checkpoint_bytes = 12 * parameters + (int64_t)count * 512 + 65536,
                                    .samples = (int64_t)samples,
                                    .gflops = PRODUCT_GFLOPS};
    free(cases);
    return STATUS_OK;
}
