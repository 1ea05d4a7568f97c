/* The configuration of the factors method: the table of its fields (names, ranges, defaults, meanings), and the checks
 * that concern several fields. */
#include "core/methods/factors/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/data/dataset.h"
#include "core/data/scale.h"
#include "core/data/tables/features.h"
#include "core/methods/shared/fields.h"
#include "core/methods/shared/multi_start.h"
#include "core/methods/shared/table_division.h"

static const char *const model_names[] = {"sparse-vae", "vae", "beta-vae", "vsc", "oi-vae", "nmf", NULL};
static const char *const data_names[] = {"synthetic", "ratings", "abstracts", "cells", "shifted", NULL};
static const char *const noise_names[] = {"deviation", "variance", NULL};
static const char *const likelihood_names[] = {"gaussian", "softmax", "bernoulli", NULL};
static const char *const prior_names[] = {"spike-slab", "slab", "horseshoe", "none", NULL};
static const char *const objective_names[] = {"code", "paper", NULL};
static const char *const estep_names[] = {"code", "paper", NULL};
static const char *const zeros_names[] = {"threshold", "proximal", "skip", NULL};
static const char *const precision_names[] = {"float", "bf16", NULL};
static const char *const divergence_names[] = {"corrected", "published", NULL};

/* The factorisation ends when its distance from the optimum has fallen to this fraction of the distance at the first
 * iteration. */
static const double NMF_TOLERANCE = 1e-4;

#define dataset_split_names table_splits /* table_division.h */
#define FIELD_STRUCT struct factors_config

const struct config_field factors_fields[] = {
#define FIELDS_FILE "core/methods/factors/fields.inc"
#include "core/methods/shared/field_rows.inc"
};

const struct config_table factors_config_table = CONFIG_TABLE(factors_fields, struct factors_config);

struct table_request factors_division_request(const struct factors_config *c)
{
    return (struct table_request){.source = c->dataset_name,
                                  .hash = c->dataset_hash,
                                  .split = (enum table_split)c->dataset_split,
                                  .test_group = c->dataset_test_group,
                                  .folds = c->folds,
                                  .fold = c->dataset,
                                  .fold_field = "/config/dataset"};
}

enum status factors_division(const void *config, const char *data, const struct sink *out, struct error *err)
{
    const struct factors_config *c = config;
    if (c->data == DATA_SYNTHETIC || c->data == DATA_SHIFTED) {
        sink_null(out, "division");
        return STATUS_OK;
    }
    const struct table_request request = factors_division_request(c);
    return table_division_write(&request, data, out, err);
}

/* ---- the fit ------------------------------------------------------------------------------------------ */

double factors_deviation(const struct factors_config *config)
{
    return config->noise == NOISE_VARIANCE ? sqrt(0.5) : 0.5;
}

struct fit_setup factors_setup(const struct factors_config *c, int features, int rows, int restart)
{
    enum { STREAM_FIT = 0x666974 };
    struct philox from = philox_stream((uint64_t)c->seed, STREAM_FIT, (uint64_t)c->dataset);
    uint64_t high = philox_u32(&from, 2 * (uint64_t)restart), low = philox_u32(&from, 2 * (uint64_t)restart + 1);
    int64_t most = c->total_samples / rows;
    struct fit_setup setup = {
        .shape = {(enum factors_model)c->model, (enum factors_likelihood)c->likelihood, features, (int)c->latent,
                  (int)c->hidden, (int)c->group},
        .prior = {(enum factors_prior)c->prior, c->lambda1, c->prior == PRIOR_SLAB ? c->lambda1 : c->lambda0,
                  c->estep == ESTEP_PAPER},
        .objective = (enum factors_objective)c->objective,
        .zeros = (enum factors_zeros)c->zeros,
        .beta = c->model == MODEL_BETA_VAE ? c->beta : 1,
        .learning_rate = c->learning_rate,
        .batch = c->batch,
        .epochs = c->epochs < most ? c->epochs
                  : most < 1       ? 1
                                   : most,
        .zeros_after = c->zeros_after,
        .group_penalty = c->group_penalty,
        .rate = c->alpha,
        .printed = c->divergence == 1,
        .relative = c->data == DATA_ABSTRACTS || c->data == DATA_SHIFTED,
        .bf16 = c->precision == PRECISION_BF16,
        .warm_up = c->warm_up,
        .seed = (high << 32 | low) & 0x7fffffffffffffff,
    };
    return setup;
}

struct nmf_setup factors_nmf_setup(const struct factors_config *c, int features)
{
    return (struct nmf_setup){features, (int)c->latent, c->nmf_penalty, NMF_TOLERANCE, c->nmf_iterations};
}

int factors_features(const struct factors_config *config)
{
    static const int most[] = {SYNTHETIC_FEATURES, 300, 500, 558, 500};
    return config->data != DATA_SYNTHETIC && config->features ? (int)config->features : most[config->data];
}

/* ---- faults ------------------------------------------------------------------------------------------- */

void factors_check(const void *config, const struct method_faults *faults)
{
    const struct factors_config *c = config;
    if (c->prior == PRIOR_SPIKE_SLAB && c->lambda0 < c->lambda1)
        method_fault(faults, "lambda0", "must be at least lambda1 (%g); got %g", c->lambda1, c->lambda0);
    if (c->zeros != ZEROS_THRESHOLD && (c->prior == PRIOR_HORSESHOE || c->prior == PRIOR_NONE))
        faults->add(faults->context, "zeros", "must be threshold for the priors horseshoe and none");
    bool table = c->data != DATA_SYNTHETIC;
    if (!table && c->likelihood != LIKELIHOOD_GAUSSIAN)
        faults->add(faults->context, "likelihood", "must be gaussian for the synthetic data");
    if (table && c->dataset_name[0] != '\0' && !dataset_name_good(c->dataset_name)) /* resolve() refuses "" */
        faults->add(faults->context, "dataset_name",
                    "must be the name of a data set: small letters, digits, '.', '-' and '_'");
    if (c->latent == 0 && c->data != DATA_CELLS)
        faults->add(faults->context, "latent", "must be at least 1 for these data");
    if (table && c->data != DATA_SHIFTED && c->dataset >= c->folds)
        method_fault(faults, "dataset", "must be below folds (%.0f); got %.0f", (double)c->folds, (double)c->dataset);
    if (c->data == DATA_SHIFTED && c->topics % 2)
        method_fault(faults, "topics", "must be even: half of them are shifted; got %.0f", (double)c->topics);
}
