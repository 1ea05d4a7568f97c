/* Measures the processor time of the updates of one fit, on one thread:
 *
 *   factors_epoch MODEL FEATURES LATENT HIDDEN BATCH UPDATES [PRECISION [ANCHORS THREES]]
 *
 * - MODEL: sparse-vae or vae.
 * - PRECISION: float or bf16.
 * - ANCHORS, THREES (0..1): the shares of the features that depend on one factor and on three factors. All other
 *   features depend on two. If these arguments are given, the decoder does not compute the entries that its mask sets
 *   to zero.
 *
 * The model uses the softmax likelihood. The rows consist of zeros and ones; a tenth of the values are ones. The
 * program runs two updates to warm up, and then measures. It prints one JSON object: the median time of an update, and
 * the number of operations of an update. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/random/philox.h"
#include "core/kernels/blas.h"
#include "core/methods/factors/config.h"

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void thin(struct latent_model *m, double anchors, double threes)
{
    int g = m->shape.features, k = m->shape.latent;
    for (int j = 0; j < g; j++) {
        int fed = j < anchors * g ? 1 : j < (1 - threes) * g ? 2 : 3;
        for (int c = 0; c < k; c++)
            if ((c - j % k + k) % k >= fed)
                m->mask->value[(ptrdiff_t)j * k + c] = 0;
    }
}

static int failed(const struct error *err)
{
    fprintf(stderr, "factors_epoch: %s\n", err->message);
    return 1;
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct features *features = NULL;
    struct thread_pool *pool = NULL;
    struct fit *fit = NULL;
    if (argc < 7)
        return 2;
    int g = atoi(argv[2]), batch = atoi(argv[5]), updates = atoi(argv[6]), rows = 4 * batch;
    bool sparse = strcmp(argv[1], "sparse-vae") == 0;
    double *seconds = calloc((size_t)updates, sizeof *seconds);
    int *order = calloc((size_t)rows, sizeof *order);
    blas_init();
    if (!seconds || !order || features_create(rows, g, 0, &features, &err) || thread_pool_create(1, &pool, &err))
        return 1;
    struct philox from = philox_stream(1, 1, 0);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)rows * g; i++)
        features->x[i] = philox_uniform(&from, (uint64_t)i) < 0.1f;
    for (int i = 0; i < rows; i++)
        order[i] = i;
    struct fit_setup setup = {
        .shape = {sparse ? MODEL_SPARSE_VAE : MODEL_VAE, LIKELIHOOD_MULTINOMIAL, g, atoi(argv[3]), atoi(argv[4]), 5},
        .prior = {PRIOR_SPIKE_SLAB, 1, 10, false},
        .zeros = argc > 9 ? ZEROS_SKIP : ZEROS_THRESHOLD,
        .bf16 = argc > 7 && strcmp(argv[7], "bf16") == 0,
        .beta = 1,
        .learning_rate = 1e-4,
        .batch = batch,
        .epochs = 1000000};
    struct fit_data data = {features, order, order, rows, rows};
    if (fit_create(&setup, &data, "", kernels_best(), pool, false, &fit, &err))
        return failed(&err);
    if (argc > 9)
        thin(fit->model, atof(argv[8]), atof(argv[9]));
    for (int i = -2; i < updates; i++) {
        double began = processor_seconds();
        if (fit_update(fit, &err))
            return failed(&err);
        if (i >= 0)
            seconds[i] = processor_seconds() - began;
    }
    qsort(seconds, (size_t)updates, sizeof *seconds, ascending);
    printf("{\"model\": \"%s\", \"features\": %d, \"batch\": %d, \"seconds\": %.6f, \"gflop\": %.3f}\n", argv[1], g,
           batch, seconds[updates / 2], 1e-9 * latent_flops(&setup.shape) * batch);
    fit_destroy(fit);
    features_destroy(features);
    thread_pool_destroy(pool);
    free(seconds);
    free(order);
    return 0;
}
