/* The configuration of the factors method: the table of its fields (names, ranges, defaults, meanings), and the checks
 * that concern several fields. */
#include "core/methods/factors/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/data/dataset.h"
#include "core/data/tables/synthetic.h"
#include "core/methods/shared/fields.h"
#include "core/methods/shared/former.h"
#include "core/methods/shared/multi_start.h"

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

#define FIELD_STRUCT struct factors_config
#define TABLES "data=ratings|abstracts|cells|shifted"
#define VAES "sparse-vae|vae|beta-vae|vsc|oi-vae"

const struct config_field factors_fields[FACTORS_FIELDS] = {
    SEED_AND_THREADS_FIELDS("the data, the initial weights, the order of rows and the noise"),

    CHOICE_FIELD(model, "sparse-vae", MODEL, BASIC, NULL,
                 "Model to fit: sparse-vae has a mask of factors for each feature; vae, beta-vae, vsc and oi-vae are "
                 "other autoencoders; nmf factorises the table."),
    CHOICE_FIELD(
        data, "synthetic", DATA, BASIC, NULL,
        "Data: synthetic (seven features of two factors), or an uploaded table of ratings, word counts (abstracts) or "
        "any numbers (cells), or shifted (abstracts drawn from topics whose mixture shifts)."),
    TEXT_FIELD(dataset_name, "", DATA, BASIC, TABLES, "Name of the data set that holds the table."),
    TEXT_FIELD(dataset_hash, "", DATA, RESEARCH, TABLES,
               "First 40 digits of the hash of the data set's bytes and upload options, which the daemon fills in at "
               "submission, so that the job never continues with other data."),
    INTEGER_FIELD(features, "0", 0, 100000, "features", DATA, ADVANCED, TABLES,
                  "Largest number of features to keep, those of the largest variance; more features take more time, "
                  "and 0 keeps 300 ratings, 500 words or 558 numbers."),
    INTEGER_FIELD(folds, "5", 2, 100, "folds", EVALUATION, ADVANCED, "data=ratings|abstracts|cells",
                  "Number of parts of the rows, of which `dataset` is held out; a larger number leaves more rows for "
                  "training and makes the held-out error less precise."),
    INTEGER_FIELD(dataset, "0", 0, 1000000, "", DATA, RESEARCH, NULL,
                  "Index of the synthetic data set, of the fold that is held out, or of the draw of shifted documents; "
                  "another index gives other data."),
    BETWEEN_FIELD(rho, "0", -1, 1, "", DATA, RESEARCH, "data=synthetic",
                  "Correlation of the two synthetic factors; a larger one makes them harder to separate."),
    INTEGER_FIELD(rows, "1000", 10, 1000000, "rows", DATA, RESEARCH, "data=synthetic",
                  "Rows of the synthetic data, of which half are held out; more rows make the factors easier to find."),
    CHOICE_FIELD(
        noise, "deviation", DATA, RESEARCH, "data=synthetic",
        "Meaning of the synthetic noise of 0.5: its standard deviation (the authors' code) or its variance (the "
        "paper)."),
    INTEGER_FIELD(topics, "20", 2, 1000, "topics", DATA, RESEARCH, "data=shifted",
                  "Even number of topics that are fitted to the abstracts, and of which half shift; more topics make "
                  "each topic narrower."),
    REAL_FIELD(
        shift, "0.5", 0, 100, "", DATA, RESEARCH, "data=shifted",
        "Standard deviation of the logarithm of the factor that multiplies each shifted topic; a larger one moves the "
        "training mixture further from the test mixture."),

    INTEGER_FIELD(
        latent, "5", 0, 512, "factors", MODEL, BASIC, NULL,
        "Number of latent factors K; more factors explain more, the sparse decoder leaves superfluous factors unused, "
        "and 0 takes the number of principal components of an uploaded table that are above noise."),
    INTEGER_FIELD(hidden, "50", 1, 4096, "units", MODEL, ADVANCED, "model=" VAES,
                  "Width of the two hidden layers of the encoder and of the decoder; wider layers fit more complex "
                  "data and take more time."),
    CHOICE_FIELD(
        likelihood, "gaussian", MODEL, BASIC, "model=" VAES,
        "Distribution of a feature: Gaussian with its own variance, a share of the row's counts (softmax), or 0/1 "
        "(bernoulli)."),
    CHOICE_FIELD(
        prior, "spike-slab", SPARSITY, ADVANCED, "model=sparse-vae",
        "Prior of the decoder's mask: spike-and-slab lasso, slab alone with rate lambda1, horseshoe, or none."),
    CHOICE_FIELD(
        objective, "code", MODEL, RESEARCH, "model=sparse-vae",
        "Objective: that of the authors' code, which scales its terms differently, or the bound of the paper."),
    CHOICE_FIELD(estep, "code", MODEL, RESEARCH, "model=sparse-vae",
                 "E-step: the odds of slab against spike without the normalising factors of the two densities (code, "
                 "as in the authors' program) or with them (paper)."),
    CHOICE_FIELD(zeros, "threshold", SPARSITY, ADVANCED, "model=sparse-vae",
                 "Zeros of the mask: threshold (entries below 0.01 count as zero), proximal (proximal steps make exact "
                 "zeros), or skip (the decoder also skips these zeros from then on)."),
    POSITIVE_FIELD(lambda1, "1", 0, 1e6, "", SPARSITY, ADVANCED, "model=sparse-vae prior=spike-slab|slab",
                   "Rate of the slab; a larger one shrinks the mask's non-zero entries more."),
    POSITIVE_FIELD(lambda0, "10", 0, 1e6, "", SPARSITY, ADVANCED, "model=sparse-vae prior=spike-slab",
                   "Rate of the spike, at least lambda1; a larger one sets more entries of the mask to zero."),
    REAL_FIELD(beta, "2", 0, 1000, "", MODEL, ADVANCED, "model=beta-vae",
               "Weight of the divergence from the prior; a larger one makes the factors simpler and the reconstruction "
               "worse."),

    BETWEEN_FIELD(alpha, "0.01", 0, 1, "", SPARSITY, RESEARCH, "model=vsc",
                  "Prior probability that a latent factor is on; a smaller one makes codes sparser."),
    CHOICE_FIELD(divergence, "corrected", MODEL, RESEARCH, "model=vsc",
                 "Divergence from the prior: corrected (as derived), or published (as in a published program that uses "
                 "standard deviations as variances)."),
    INTEGER_FIELD(warm_up, "0", 0, 100000, "epochs", OPTIMIZER, RESEARCH, "model=vsc",
                  "Epochs in which the slab changes from a standard normal distribution to that of the encoder; more "
                  "epochs make the start of training more stable."),
    REAL_FIELD(nmf_penalty, "1", 0, 1e9, "", SPARSITY, RESEARCH, "model=nmf",
               "Weight of the squares of both matrices; a larger one shrinks them."),
    INTEGER_FIELD(
        nmf_iterations, "200", 1, 100000, "passes", OPTIMIZER, RESEARCH, "model=nmf",
        "Upper limit of the passes of the factorisation; more passes take more time and come nearer to the optimum."),
    INTEGER_FIELD(group, "5", 1, 64, "units", MODEL, RESEARCH, "model=oi-vae",
                  "Units of each feature's own decoder; more units fit more complex features and take more time."),
    REAL_FIELD(group_penalty, "1", 0, 1e6, "", SPARSITY, RESEARCH, "model=oi-vae",
               "Weight of the group lasso; a larger one cuts more factors off from a feature."),

    CHOICE_FIELD(
        precision, "float", OPTIMIZER, ADVANCED, "model=sparse-vae",
        "Precision of the sparse decoder's products in training: float, or bf16 with 8 bits of mantissa, which is "
        "faster where the processor has it."),
    INTEGER_FIELD(batch, "100", 1, 65536, "rows", OPTIMIZER, ADVANCED, "model=" VAES,
                  "Rows of one optimiser update; larger batches give steadier gradients and fewer updates."),
    INTEGER_FIELD(epochs, "200", 1, 100000, "epochs", OPTIMIZER, BASIC, "model=" VAES,
                  "Passes over the training rows; more passes take more time and fit the training rows more closely."),
    INTEGER_FIELD(zeros_after, "50", 0, 100000, "epochs", SPARSITY, ADVANCED, "model=sparse-vae zeros=proximal|skip",
                  "Epochs before the mask gets exact zeros, during which entries below 0.01 count as zero; a larger "
                  "number gives entries more time to grow."),
    POSITIVE_FIELD(learning_rate, "0.01", 0, 10, "", OPTIMIZER, BASIC, "model=" VAES,
                   "Step size of Adam; a larger one trains faster until it diverges."),
    FIT_FIELDS(screen_epochs, "epochs", 100000, "100000"),
};

const struct config_table factors_config_table = CONFIG_TABLE(factors_fields, struct factors_config);

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

/* ---- earlier versions --------------------------------------------------------------------------------- */

const char *const factors_former[] = {"experiment", "models", "rhos", "datasets", NULL};

void factors_adapt(void *config, const struct method_stored *stored)
{
    struct factors_config *c = config;
    const char *experiment = former_text(stored, "experiment");
    bool along = strcmp(experiment, "rho") == 0, folds = strcmp(experiment, "folds") == 0;
    if (along || folds)
        former_last(stored, "models", &factors_config_table, "model", config);
    if (along) {
        former_last(stored, "rhos", &factors_config_table, "rho", config);
        c->dataset += atoll(former_text(stored, "datasets")) - 1;
    } else if (folds) {
        c->dataset = c->folds - 1;
    }
}
