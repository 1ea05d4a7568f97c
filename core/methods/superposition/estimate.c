/* Estimates what a configuration costs if training uses as many samples as it may. */
#include "core/methods/superposition/config.h"

#include <math.h>
#include <stdlib.h>

#include "core/methods/superposition/features.h"
#include "core/superposed/batch.h"
#include "core/superposed/statistics.h"

/* Costs are counted in operations of a large dense product, because the predicted time is the cost divided by the speed
 * of such a product. The weights below convert other work to this unit. They come from a least-squares fit to the
 * processor times of 30 runs; test_predictions compares them with runs. */
enum {
    SAMPLE = 35000,     /* operations for a row of a batch, whatever its width */
    FEATURE = 1000,     /* operations for drawing and comparing a feature of a sample */
    RUG_FEATURE = 1200, /* for a rug: operations for drawing and comparing a feature of a sample, with two transforms */
    WEIGHT = 63,        /* operations for an update of a weight by Adam */
    SPARSE = 6,         /* a sparse product reaches about a sixth of the speed of a dense one */
    DRAWN = 525,        /* operations for a feature of a sample in the test for normality */
    ENTRY = 18000,      /* operations for the statistics of an entry of the matrix W of a trained model */
    RUG_ROW = 63000,    /* operations for each feature of a rug: drawing its row, and the statistics of this row */
    PICTURE = 11000     /* operations for drawing an entry of W in the picture of W */
};
static const double RUG_MODEL = 1e9; /* operations for the closed form of a rug */
static const double RUN = 3.7e9;     /* operations for the charts and files of a run */

/* Speed of one AVX-512 core in GFLOPS; measured together with the weights above. */
enum { PRODUCT_GFLOPS = 90 };

/* Cost of a product whose left factor has this share of non-zeros, as a share of the cost of a dense product. */
static double superposition_estimate_share(double nonzeros)
{
    return nonzeros <= BATCH_SPARSE ? fmin(SPARSE * nonzeros, 1) : 1;
}

static double trained_work(const struct superposition_config *config, const struct superposition_setup *c)
{
    double n = c->n_s, product = 2 * n * c->n_d, test = (double)config->test_samples;
    double samples = (double)config->total_samples, updates = samples / (double)config->batch;
    bool dense = config->products == PRODUCTS_DENSE;
    /* At the end of training, the gradient of the output is about twice as dense as the input. */
    double x = dense ? 1 : superposition_estimate_share(c->p), z = dense ? 1 : superposition_estimate_share(2 * c->p);
    double products = product * (samples * (1 + 2 * x + 2 * z) + test * (1 + x));
    double rows = (samples + test) * SAMPLE + (samples + 0.6 * test) * FEATURE * n;
    return products + rows + updates * WEIGHT * (config->tied ? 1 : 2) * n * c->n_d + ENTRY * n * n;
}

static double rug_work(const struct superposition_config *config, const struct superposition_setup *c)
{
    double draws = c->model == MODEL_RUG ? (double)config->draws : 1, n = c->n_s;
    return draws * n * (RUG_FEATURE * (double)config->test_samples + RUG_ROW) + RUG_MODEL;
}

static double work_of(const struct superposition_config *config, const struct superposition_setup *c)
{
    double work = c->model == MODEL_TRAINED ? trained_work(config, c) : rug_work(config, c);
    return work + (double)DRAWN * statistics_samples(c->n_s) * c->n_s;
}

/* Work of a run in addition to that of its model. */
static double run_work(const struct superposition_config *config)
{
    enum { SIDE = 1024 };
    double side = config->n_s < SIDE ? (double)config->n_s : SIDE;
    return RUN + PICTURE * side * side;
}

static double samples_of(const struct superposition_config *config, const struct superposition_setup *c)
{
    double test = (double)config->test_samples;
    return c->model == MODEL_TRAINED ? (double)config->total_samples + 0.25 * test
           : c->model == MODEL_RUG   ? test * (double)config->draws
                                     : test;
}

static int64_t bytes_of(const struct superposition_config *config, const struct superposition_setup *c)
{
    int64_t n = c->n_s, threads = config->threads > 0 ? config->threads : METHOD_ASSUMED_THREADS;
    if (c->model != MODEL_TRAINED)
        return n * (4 + 8 * threads + 4) + 8 * (int64_t)c->n_d;
    struct autoencoder_shape shape = superposition_shape(config, c);
    int64_t weights = (c->n_d * (config->tied ? 1 : 2) + 1) * n;
    int64_t statistics = 4 * (64 * threads * n + (int64_t)c->n_d * c->n_d) + 96 * n;
    int64_t rows = superposition_uploaded(config) ? 4 * (int64_t)superposition_room(config) * n : 0;
    return rows + 16 * weights + (int64_t)batch_bytes(&shape, superposition_room(config), (int)threads) + statistics;
}

/* Limits test_samples to the test rows of the data set, as a run does. */
static void limit_tests(struct superposition_config *c, const char *data)
{
    struct rows rows = {.file = -1};
    struct error unused = {0};
    if (!superposition_uploaded(c) || !data)
        return;
    const struct rows_request request = superposition_rows(c, data);
    if (!rows_open(&request, &rows, &unused) && c->test_samples > rows_test_count(&rows))
        c->test_samples = rows_test_count(&rows);
    rows_close(&rows);
}

enum status superposition_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err)
{
    struct superposition_config limited = *(const struct superposition_config *)config, *c = &limited;
    struct superposition_setup one = superposition_setup(c);
    (void)err;
    limit_tests(c, data);
    double samples = samples_of(c, &one);
    int64_t parameters = one.model == MODEL_TRAINED ? ((int64_t)one.n_d * (c->tied ? 1 : 2) + 1) * one.n_s : 2;
    *out = (struct method_estimate){.parameters = parameters,
                                    .flops_per_sample = samples > 0 ? (run_work(c) + work_of(c, &one)) / samples : 0,
                                    .memory_bytes = bytes_of(c, &one) + METHOD_BASE_BYTES,
                                    .checkpoint_bytes = 12 * parameters + 512 + 65536,
                                    .samples = (int64_t)samples,
                                    .gflops = PRODUCT_GFLOPS};
    return STATUS_OK;
}
