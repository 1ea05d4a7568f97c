/* The field table: the one place that knows names, ranges, defaults and meanings. */
#include "core/methods/factors/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/philox.h"
#include "core/data/dataset.h"
#include "core/data/tables/synthetic.h"
#include "core/methods/shared/multi_start.h"

const char *const factors_model_names[] = {"sparse-vae", "vae", "beta-vae", "vsc", "oi-vae", "nmf", NULL};
static const char *const experiment_names[] = {"one", "rho", "folds", NULL};
static const char *const data_names[] = {"synthetic", "ratings", "abstracts", "cells", "shifted", NULL};
static const char *const noise_names[] = {"deviation", "variance", NULL};
static const char *const likelihood_names[] = {"gaussian", "softmax", "bernoulli", NULL};
static const char *const prior_names[] = {"spike-slab", "slab", "horseshoe", "none", NULL};
static const char *const objective_names[] = {"code", "paper", NULL};
static const char *const estep_names[] = {"code", "paper", NULL};
static const char *const zeros_names[] = {"threshold", "proximal", "skip", NULL};
static const char *const precision_names[] = {"float", "bf16", NULL};
static const char *const divergence_names[] = {"corrected", "published", NULL};
#define model_names factors_model_names

#define AT(member) offsetof(struct factors_config, member)
#define INTEGER(name, preset, low, high, unit, meaning)                                                                \
    {                                                                                                                  \
#name, FIELD_INT, AT(name), preset, low, high, false, false, NULL, unit, meaning, GROUP_DATA, LEVEL_ADVANCED,  \
            NULL                                                                                                       \
    }
#define REAL_IN(name, preset, low, high, low_open, high_open, unit, meaning)                                           \
    {                                                                                                                  \
#name, FIELD_REAL, AT(name), preset, low, high, low_open, high_open, NULL, unit, meaning, GROUP_DATA,          \
            LEVEL_ADVANCED, NULL                                                                                       \
    }
#define CHOICE(name, preset, meaning)                                                                                  \
    {                                                                                                                  \
#name, FIELD_CHOICE, AT(name), preset, 0, 0, false, false, name##_names, "", meaning, GROUP_DATA,              \
            LEVEL_ADVANCED, NULL                                                                                       \
    }
#define LIST(name, meaning)                                                                                            \
    {                                                                                                                  \
#name, FIELD_TEXT, AT(name), "", 0, 0, false, false, NULL, "", meaning, GROUP_DATA, LEVEL_ADVANCED, NULL       \
    }

const struct config_field factors_fields[FACTORS_FIELDS] = {
    INTEGER(seed, "1", 0, CONFIG_INT_MAX, "", "seed of data, initial weights, order of rows and noise"),
    INTEGER(threads, "0", 0, 256, "threads",
            "threads of this job; 0 leaves it to the daemon. Results do not depend on it"),

    CHOICE(model, "sparse-vae", "a decoder that sees each feature's own few factors, or one that sees all of them"),
    CHOICE(experiment, "one",
           "one fit; models against the correlation of synthetic factors, over many data sets; models over the folds "
           "of a table"),
    CHOICE(data, "synthetic",
           "seven features of two factors; or a table that is read: ratings, abstracts, cells (or any table of "
           "numbers); or abstracts drawn anew, in training from shifted mixtures of topics"),
    {"source", FIELD_TEXT, AT(source), "", 0, 0, false, false, NULL, "",
     "name of the data set that a table is read from", GROUP_DATA, LEVEL_ADVANCED, NULL},
    LIST(dataset_hash, "beginning of the SHA-256 of what was uploaded under that name; it is found out on submission"),
    INTEGER(features, "0", 0, 100000, "features",
            "tables: most features that are kept; 0: 300 movies, 500 words, 558 genes"),
    INTEGER(folds, "5", 2, 100, "folds",
            "tables: parts of the rows, each held out once; shifted: how often documents are drawn"),
    LIST(models, "experiments: models to compare, as \"sparse-vae,vae\"; empty: model"),
    LIST(rhos, "experiments: values of rho, as \"0,0.2,0.4\"; empty: rho"),
    INTEGER(datasets, "25", 1, 1000, "data sets", "experiments: data sets for each rho"),
    INTEGER(dataset, "0", 0, 1000000, "", "number of the (first) synthetic data set; or of the fold that is held out"),
    REAL_IN(rho, "0", -1, 1, true, true, "", "synthetic data: correlation of the two factors"),
    INTEGER(rows, "1000", 10, 1000000, "rows", "synthetic data: samples, of which about half are held out"),
    CHOICE(noise, "deviation",
           "synthetic data: 0.5 is the noise's deviation (the authors' code) or its variance (the paper)"),
    INTEGER(topics, "20", 2, 1000, "topics", "shifted: topics that are fitted to the abstracts"),
    REAL_IN(shift, "0.5", 0, 100, false, false, "",
            "shifted: deviation of what half of the topics are multiplied by, of its logarithm; less is harder"),

    INTEGER(latent, "5", 1, 512, "factors", "latent variables K"),
    INTEGER(hidden, "50", 1, 4096, "units", "width of the two hidden layers of encoder and decoder"),
    CHOICE(likelihood, "gaussian",
           "Gaussian with a deviation for each feature; multinomial over a row's counts; 0/1 for each feature"),
    CHOICE(prior, "spike-slab",
           "of the sparse decoder's mask: spike-and-slab lasso, slab alone (lambda1), horseshoe, none"),
    CHOICE(objective, "code",
           "the objective of the authors' code, whose terms are scaled differently, or the paper's bound"),
    CHOICE(estep, "code",
           "odds of slab against spike without the densities' factors (the authors' code), or with them"),
    CHOICE(zeros, "threshold",
           "entries of the mask below 0.01 count as zero; or proximal steps make exact zeros; or these are "
           "skipped by the decoder besides, and stay"),
    REAL_IN(lambda1, "1", 0, 1e6, true, false, "", "rate of the slab"),
    REAL_IN(lambda0, "10", 0, 1e6, true, false, "", "rate of the spike; at least lambda1"),
    REAL_IN(beta, "2", 0, 1000, false, false, "", "beta-vae: weight of the divergence"),

    REAL_IN(alpha, "0.01", 0, 1, true, true, "", "vsc: share of latent variables that are on, by the prior"),
    CHOICE(divergence, "corrected",
           "vsc: the divergence from the prior, or that of a published program, with deviations for variances"),
    INTEGER(warm_up, "0", 0, 100000, "epochs",
            "vsc: passes in which the slabs grow from normal ones, whatever the row, to what the encoder says"),
    REAL_IN(nmf_penalty, "1", 0, 1e9, false, false, "", "nmf: weight of the squares of both matrices"),
    REAL_IN(nmf_tolerance, "1e-4", 0, 1, false, false, "",
            "nmf: ends when the distance from the optimum fell to this share of the first"),
    INTEGER(nmf_iterations, "200", 1, 100000, "passes", "nmf: at most"),
    INTEGER(group, "5", 1, 64, "units", "oi-vae: units of each feature's own decoder"),
    REAL_IN(group_penalty, "1", 0, 1e6, false, false, "",
            "oi-vae: weight of the group lasso, by a proximal step after each update"),

    CHOICE(precision, "float",
           "what the sparse decoder's products multiply in training: floats, or floats rounded to bf16 (8 bits)"),
    INTEGER(batch, "100", 1, 65536, "rows", "rows of one optimiser update"),
    INTEGER(epochs, "200", 1, 100000, "epochs", "passes over the rows of training"),
    INTEGER(zeros_after, "50", 0, 100000, "epochs",
            "passes before zeros are made exact (and skipped), see zeros; below 0.01 they count as zero until then"),
    INTEGER(restarts, "1", 1, MULTI_START_MOST, "fits",
            "fits from different starts, of which the one with the least objective is kept"),
    INTEGER(screen_epochs, "0", 0, 100000, "epochs",
            "passes after which that is decided, and the others end; 0: at the end"),
    REAL_IN(learning_rate, "0.01", 0, 10, true, false, "", "Adam's step size"),

    INTEGER(total_samples, "1000000000", 1, CONFIG_INT_MAX, "samples",
            "cap on training samples of each fit, in whole passes"),
    INTEGER(checkpoint_every, "100000", 1, CONFIG_INT_MAX, "samples", "training samples between checkpoints"),
};

const struct config_table factors_config_table = CONFIG_TABLE(factors_fields, struct factors_config);

/* ---- lists -------------------------------------------------------------------------------------------- */

/* Values with commas between; -1 where the text is none. */
static int numbers_in(const char *text, double low, double high, double values[FACTORS_LIST])
{
    int count = 0;
    char *end;
    for (const char *at = text; *at; at = *end ? end + 1 : end) {
        double value = strtod(at, &end);
        if (end == at || (*end && *end != ',') || (*end == ',' && !end[1]) || !(value > low && value < high) ||
            count == FACTORS_LIST)
            return -1;
        values[count++] = value;
    }
    return count;
}

static int names_in(const char *text, const char *const *names, int indices[FACTORS_LIST])
{
    int count = 0;
    for (const char *at = text; *at;) {
        size_t bytes = strcspn(at, ",");
        int found = -1;
        for (int i = 0; names[i]; i++)
            if (strlen(names[i]) == bytes && memcmp(names[i], at, bytes) == 0)
                found = i;
        if (found < 0 || count == FACTORS_LIST || (at[bytes] && !at[bytes + 1]))
            return -1;
        indices[count++] = found;
        at += bytes + (at[bytes] != 0);
    }
    return count;
}

int factors_cases(const struct factors_config *c, struct factors_case *cases)
{
    bool many = c->experiment != EXPERIMENT_ONE, along = c->experiment == EXPERIMENT_RHO;
    int models[FACTORS_LIST] = {c->model},
        model_count = many && c->models[0] ? names_in(c->models, model_names, models) : 1;
    double rhos[FACTORS_LIST] = {c->rho};
    int rho_count = along && c->rhos[0] ? numbers_in(c->rhos, -1, 1, rhos) : 1, count = 0;
    int sets = along ? (int)c->datasets : many ? (int)c->folds : 1, first = many && !along ? 0 : (int)c->dataset;
    for (int r = 0; r < rho_count; r++)
        for (int m = 0; m < model_count; m++)
            for (int d = 0; d < sets; d++, count++)
                if (cases && count < FACTORS_CASES)
                    cases[count] = (struct factors_case){(enum factors_model)models[m], rhos[r], first + d};
    return model_count < 0 || rho_count < 0 ? 0 : count;
}

double factors_deviation(const struct factors_config *config)
{
    return config->noise == NOISE_VARIANCE ? sqrt(0.5) : 0.5;
}

struct fit_setup factors_setup(const struct factors_config *c, const struct factors_case *one, int features, int rows,
                               int restart)
{
    enum { STREAM_FIT = 0x666974 };
    struct philox from = philox_stream((uint64_t)c->seed, STREAM_FIT, (uint64_t)one->dataset);
    uint64_t high = philox_u32(&from, 2 * (uint64_t)restart), low = philox_u32(&from, 2 * (uint64_t)restart + 1);
    int64_t most = c->total_samples / rows;
    struct fit_setup setup = {
        .shape = {one->model, (enum factors_likelihood)c->likelihood, features, (int)c->latent, (int)c->hidden,
                  (int)c->group},
        .prior = {(enum factors_prior)c->prior, c->lambda1, c->prior == PRIOR_SLAB ? c->lambda1 : c->lambda0,
                  c->estep == ESTEP_PAPER},
        .objective = (enum factors_objective)c->objective,
        .zeros = (enum factors_zeros)c->zeros,
        .beta = one->model == MODEL_BETA_VAE ? c->beta : 1,
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
    return (struct nmf_setup){features, (int)c->latent, c->nmf_penalty, c->nmf_tolerance, c->nmf_iterations};
}

int factors_features(const struct factors_config *config)
{
    static const int most[] = {SYNTHETIC_FEATURES, 300, 500, 558, 500};
    return config->data != DATA_SYNTHETIC && config->features ? (int)config->features : most[config->data];
}

/* Operations of training a case, all restarts counted. */
static double flops_of(const struct factors_config *config, const struct factors_case *c, int features, int rows)
{
    struct fit_setup setup = factors_setup(config, c, features, rows, 0);
    if (c->model == MODEL_NMF)
        return 12.0 * rows * features * (double)config->latent * (double)config->nmf_iterations;
    double others = (double)(config->restarts - 1), epochs = (double)setup.epochs;
    double screened = config->screen_epochs > 0 ? fmin(epochs, (double)config->screen_epochs) : epochs;
    return latent_flops(&setup.shape) * rows * (epochs + others * screened);
}

/* ---- faults ------------------------------------------------------------------------------------------- */

void factors_check(const void *config, const struct method_faults *faults)
{
    const struct factors_config *c = config;
    int names[FACTORS_LIST];
    double values[FACTORS_LIST];
    if (names_in(c->models, model_names, names) < 0)
        faults->add(faults->context, "models", "must be names of models with commas between");
    if (numbers_in(c->rhos, -1, 1, values) < 0)
        faults->add(faults->context, "rhos", "must be numbers in (-1, 1) with commas between");
    if (c->prior == PRIOR_SPIKE_SLAB && c->lambda0 < c->lambda1)
        method_fault(faults, "lambda0", "must be at least lambda1 (%g); got %g", c->lambda1, c->lambda0);
    if (c->zeros != ZEROS_THRESHOLD && (c->prior == PRIOR_HORSESHOE || c->prior == PRIOR_NONE))
        faults->add(faults->context, "zeros", "must be threshold for a prior that has no absolute value in it");
    bool table = c->data != DATA_SYNTHETIC;
    if (!table && c->likelihood != LIKELIHOOD_GAUSSIAN)
        faults->add(faults->context, "likelihood", "must be gaussian for the synthetic data");
    if (table && !dataset_name_good(c->source))
        faults->add(faults->context, "source",
                    "must be the name of a data set: small letters, digits, '.', '-' and '_'");
    if (table ? c->experiment == EXPERIMENT_RHO : c->experiment == EXPERIMENT_FOLDS)
        method_fault(faults, "experiment", "must be one or %s for these data", table ? "folds" : "rho");
    if (table && c->data != DATA_SHIFTED && c->experiment == EXPERIMENT_ONE && c->dataset >= c->folds)
        method_fault(faults, "dataset", "must be below folds (%.0f); got %.0f", (double)c->folds, (double)c->dataset);
    if (c->data == DATA_SHIFTED && c->topics % 2)
        method_fault(faults, "topics", "must be even: half of them are shifted; got %.0f", (double)c->topics);
    if (factors_cases(c, NULL) > FACTORS_CASES)
        method_fault(faults, "experiment", "has at most %d cases; these lists make %d", FACTORS_CASES,
                     factors_cases(c, NULL));
}

enum { TABLE_ROWS = 10000 }; /* taken for granted where a table has not been read */

enum status factors_estimate(const void *config, struct method_estimate *out, struct error *err)
{
    const struct factors_config *c = config;
    struct factors_case *cases = calloc(FACTORS_CASES, sizeof *cases);
    struct latent_model *model = NULL;
    if (!cases)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for cases");
    int count = factors_cases(c, cases), g = factors_features(c), most = 0;
    int rows = c->data == DATA_SYNTHETIC ? (int)c->rows / 2 : TABLE_ROWS;
    double flops = 0, samples = 0;
    for (int i = 0; i < count && i < FACTORS_CASES; i++) {
        flops += flops_of(c, &cases[i], g, rows);
        samples += (double)factors_setup(c, &cases[i], g, rows, 0).epochs * rows;
        most = cases[i].model == MODEL_SPARSE_VAE ? i : most;
    }
    struct fit_setup setup = factors_setup(c, &cases[most], g, rows, 0);
    enum status status = count > 0 ? latent_create(&setup.shape, "", false, &model, err)
                                   : error_set(err, STATUS_INVALID, NULL, "no list of cases");
    if (!status) {
        int64_t parameters = params_count(model->params);
        double activations = fmin(latent_row_bytes(model) * (double)c->batch, c->zeros == ZEROS_SKIP ? 64e6 : 8e6) +
                             16.0 * (double)(c->hidden + 2 * c->latent) * (double)c->batch;
        *out = (struct method_estimate){
            .parameters = parameters,
            .flops_per_sample = flops / samples,
            .memory_bytes =
                (int64_t)((double)c->restarts * (16.0 * (double)parameters + activations) + 12.0 * rows * g),
            .checkpoint_bytes = 12 * parameters * c->restarts + 4096 + 256 * (int64_t)count,
            .samples = (int64_t)samples,
            .gflops = c->hidden < 100 ? 8 : 0, /* small products: measured */
        };
    }
    latent_destroy(model);
    free(cases);
    return status;
}
