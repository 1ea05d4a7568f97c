/* What a configuration costs: operations, memory, checkpoints. The unit of all costs is the time of one floating-point
 * operation of a dense product. The constants below come from measured times of short runs of each learner
 * (tests/unit/core/methods/test_predictions.c). */
#include <math.h>

#include "core/methods/dictionary/config.h"
#include "core/methods/dictionary/evaluation/gallery.h"
#include "core/methods/dictionary/model/step.h"

/* Costs of parts of the work, as numbers of operations of a dense product that take the same time. */
static const double FEATURE = 900; /* drawing one feature of PLANTED_TREES */
static const double READ = 20;     /* reading one number from a file */
static const double ACTIVE = 8000; /* drawing one active feature and adding its vector to the sample */
static const double LATENT = 60;   /* selecting among one sample's latents */
static const double SPARSE = 15;   /* a multiplication and addition of a sparse product */
/* training on one sample, the part that does not depend on the size of the dictionary */
static const double ROW = 30000;
static const double WEIGHT = 60;     /* updating one weight */
static const double UPDATE = 3e6;    /* the part of an update that does not depend on the sizes */
static const double THRESHOLD = 600; /* training one threshold of JUMPRELU on one sample */
static const double PRODUCT = 0.65;  /* an operation of the matrix products of FISTA, which are large and fast */
static const double ITERATION = 20;  /* one entry of a code in one iteration of FISTA, without the matrix products */
static const double PURSUIT = 10;    /* a multiplication and addition of OMP or IHT */

enum { GFLOPS = 60 };

static double expected_active(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    if (c->features == 0)
        return 0;
    const struct planted_shape shape = dictionary_data(config, c);
    return c->source == SOURCE_PLANTED ? planted_rates(&shape) : dictionary_active(config, c);
}

static double draw_work(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    double features = c->source == SOURCE_PLANTED ? c->features : c->source == SOURCE_IID ? 0 : c->features / 50.0;
    if (c->features == 0)
        return READ * c->inputs;
    return FEATURE * features + ACTIVE * expected_active(config, c) + 4 * c->inputs * expected_active(config, c);
}

/* Cost of encoding one sample with one dictionary. */
static double encode_work(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    double d = c->inputs, m = c->width, products = 2 * d * m;
    if (c->learner == LEARNER_FISTA)
        return (double)config->iterations * (2 * PRODUCT * products + ITERATION * m);
    if (c->learner == LEARNER_MATCHING_PURSUIT)
        return products + c->l0 * m * LATENT / 10;
    return products + LATENT * m + SPARSE * d * c->l0;
}

static double train_work(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    double d = c->inputs, m = c->width, samples = (double)dictionary_samples(config, c);
    double updates = samples / dictionary_batch(config, c);
    double active = c->learner == LEARNER_L1 || c->learner == LEARNER_JUMPRELU ? fmax(c->l0, m / 4) : c->l0;
    if (c->learner == LEARNER_FISTA)
        return samples * (encode_work(config, c) + 2 * m * (d + m)) + updates * SPARSE * m * m * d;
    double thresholds = c->learner == LEARNER_JUMPRELU ? THRESHOLD * m : 0;
    return samples * (ROW + encode_work(config, c) + 3 * SPARSE * d * active + thresholds) +
           updates * (UPDATE + WEIGHT * 2 * m * d);
}

/* Cost of a one-to-one matching of `rows` with `others` latents. */
static double matching_work(double rows, double others)
{
    double least = fmin(rows, others), most = fmax(rows, others);
    return 20 * least * least * most;
}

/* Upper limit of the number of features that are active in at least one sample of the comparison with classical
 * decoders. */
static double compared_features(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    double active = expected_active(config, c);
    return fmin(c->features,
                (double)config->pursuit_samples * (c->source == SOURCE_PLANTED ? fmax(40, active) : active));
}

static double compare_work(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    double d = c->inputs, m = c->width, n = c->features, rounds = (double)config->iterations;
    double fista = rounds * PRODUCT * 4 * d * (m + (dictionary_correlates(c) ? n : 0));
    double each = fista + PURSUIT * 2 * d * m * (2 * rounds + c->l0);
    /* The true codes are matched with three sets of codes: those of the encoder, of FISTA with the dictionary, and of
     * FISTA with the true features. The matching leaves out features that no sample contains. */
    double active = compared_features(config, c);
    double matching = dictionary_correlates(c) ? 2 * matching_work(m, active) + matching_work(n, active) : 0;
    return (double)config->pursuit_samples * each + (config->pursuit_samples > 0 ? matching + m * m * d * 4 : 0);
}

static double work_of(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    struct planted_shape data = dictionary_data(config, c);
    double seeds = (double)config->seeds, test = (double)config->test_samples, m = c->width, n = c->features;
    double matching = matching_work(m, n) + 4 * m * n * c->inputs;
    double drawn = ((double)dictionary_samples(config, c) + test) * draw_work(config, c);
    struct hidden hidden = dictionary_hidden(config, c);
    return (dictionary_known(config) ? planted_work(&data) : 0) + hidden_work(&hidden) + drawn +
           seeds * (train_work(config, c) + test * encode_work(config, c) + matching) +
           seeds * (seeds - 1) / 2 * 60 * m * m * m + compare_work(config, c);
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

static int64_t parameters_of(const struct dictionary_setup *c)
{
    int64_t m = c->width, d = c->inputs;
    int64_t matrices = sae_has_encoder(c->learner) ? 2 : 1;
    return matrices * m * d + d + 2 * m;
}

static int64_t state_bytes(const struct dictionary_setup *c)
{
    int64_t m = c->width, d = c->inputs;
    return c->learner == LEARNER_FISTA ? 4 * (m * m + 2 * m * d) : 16 * parameters_of(c);
}

static int64_t evaluation_bytes(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    int64_t m = c->width, n = c->features, d = c->inputs, most = m > n ? m : n, seeds = config->seeds;
    int64_t batch = dictionary_batch(config, c),
            rows = batch < config->pursuit_samples ? batch : config->pursuit_samples;
    int64_t each = m * n * 8 + (int64_t)(c->l0 + 1) * batch * 8 + 60 * m + 32 * n;
    int64_t pairs = m <= 2048 ? seeds * (seeds - 1) / 2 * m * m * 8 : 0;
    int64_t codes = dictionary_correlates(c) ? 8 * (2 * m * n + n * n) + 4 * rows * n : 0;
    int64_t compared =
        rows * (4 * m + 8 * d + 3072) + 4 * m * d + codes + METHOD_ASSUMED_THREADS * 4 * (64 * (2 * most + d));
    int64_t matching = 8 * m * n; /* the score table of one matching; only one such table exists at a time */
    if (seeds > 1 && m <= 2048 && matching < 16 * m * m)
        matching = 16 * m * m;
    int64_t compared_scores = (int64_t)(8 * (double)most * compared_features(config, c));
    if (dictionary_correlates(c) && matching < compared_scores)
        matching = compared_scores;
    if (c->learner == LEARNER_L1 || c->learner == LEARNER_JUMPRELU || c->learner == LEARNER_FISTA)
        each += m * batch * 8;
    return seeds * each + pairs + matching + (config->pursuit_samples > 0 ? compared : 0);
}

static int64_t run_bytes(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    struct planted_shape data = dictionary_data(config, c);
    struct sae_shape shape = dictionary_shape(config, c);
    bool known = dictionary_known(config);
    struct hidden hidden = dictionary_hidden(config, c);
    bool toy = c->source == SOURCE_RUG || c->source == SOURCE_TRAINED;
    int batch = dictionary_batch(config, c);
    int threads = config->threads > 0 ? (int)config->threads : METHOD_ASSUMED_THREADS;
    return (toy ? 4 * (int64_t)c->features * c->inputs + hidden_bytes(&hidden, threads) : 0) +
           (known ? planted_bytes(&data) + planted_codes_bytes(&data, batch, threads) : 0) +
           4 * (int64_t)batch * c->inputs + config->seeds * state_bytes(c) + step_bytes(&shape, batch, threads) +
           evaluation_bytes(config, c);
}

enum status dictionary_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err)
{
    const struct dictionary_config *c = config;
    struct dictionary_setup one = dictionary_setup(c);
    int64_t gallery = gallery_bytes(one.width) + gallery_codes_bytes(one.width, c->test_samples, one.l0);
    double samples = (double)dictionary_samples(c, &one) + (double)c->test_samples;
    (void)data;
    (void)err;
    *out = (struct method_estimate){.parameters = c->seeds * parameters_of(&one),
                                    .flops_per_sample = samples > 0 ? work_of(c, &one) / samples : 0,
                                    .memory_bytes = run_bytes(c, &one) + gallery + METHOD_BASE_BYTES,
                                    .checkpoint_bytes =
                                        c->seeds * state_bytes(&one) + 512 + 65536 + gallery_bytes(one.width),
                                    .samples = (int64_t)samples,
                                    .gflops = GFLOPS};
    return STATUS_OK;
}
