/* The configuration of the superposition method: the table of its fields (names, ranges, defaults, meanings), and the
 * checks that concern several fields. */
#include "core/methods/superposition/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/dataset.h"
#include "core/methods/shared/fields.h"
#include "core/methods/shared/former.h"
#include "core/methods/superposition/features.h"
#include "core/superposed/theory.h"

static const char *const model_names[] = {"trained", "rug", "linear", NULL};
static const char *const activation_names[] = {"relu", "threshold", "k-sparse", "gated", NULL};
static const char *const importance_names[] = {"equal", "power", "geometric", NULL};
static const char *const initialisation_names[] = {"uniform", "xavier-normal", NULL};
static const char *const stop_names[] = {"blocks", "windows", "never", NULL};
static const char *const products_names[] = {"auto", "dense", NULL};

#define FIELD_STRUCT struct superposition_config
#define TRAINED "model=trained"

const struct config_field superposition_fields[SUPERPOSITION_FIELDS] = {
    SEED_AND_THREADS_FIELDS("the samples, the initial weights and the rows of the rug"),

    CHOICE_FIELD(
        model, "trained", MODEL, BASIC, NULL,
        "Model: an autoencoder trained with Adam, the artificial Persian rug with its two best scalars, or the best "
        "linear map."),
    TEXT_FIELD(
        dataset_name, "", DATA, BASIC, NULL,
        "Name of a data set of your own features (GET /v1/datasets lists them), an array [rows][n_s] without "
        "negative values, such as the codes of a dictionary; n_s and p follow from it, and empty draws features."),
    TEXT_FIELD(dataset_hash, "", DATA, RESEARCH, NULL,
               "First 40 digits of the hash of the data set's bytes and upload options, which the daemon fills in at "
               "submission, so that the job never continues with other data."),
    POSITIVE_FIELD(p, "0.044001", 0, 1, "", DATA, BASIC, NULL,
                   "Probability that a feature is not zero, with a value that is then uniform in [0, 1]; a larger "
                   "probability makes features interfere more."),
    INTEGER_FIELD(
        n_s, "512", 2, 16777216, "features", DATA, BASIC, NULL,
        "Features of the data, a power of two for rug and linear; more features need more dimensions and more time."),
    INTEGER_FIELD(n_d, "0", 0, 16777216, "dimensions", MODEL, BASIC, NULL,
                  "Dimensions of the bottleneck; more dimensions store more features, and 0 takes ratio times n_s, "
                  "rounded down, and at least 1."),
    POSITIVE_FIELD(ratio, "0.254001", 0, 1, "", MODEL, BASIC, NULL,
                   "Ratio n_d / n_s for jobs whose n_d is 0; a larger ratio stores more features."),

    FLAG_FIELD(tied, "false", MODEL, RESEARCH, TRAINED, "Whether encoder and decoder use one matrix."),
    CHOICE_FIELD(
        activation, "relu", MODEL, ADVANCED, TRAINED,
        "Activation of the output z: max(0, z), z above a threshold, the k largest z of a sample, or z where a gate "
        "with its own bias opens."),
    REAL_FIELD(threshold, "0", 0, 10, "", MODEL, ADVANCED, "activation=threshold",
               "Threshold below which an output is zero; a larger one removes more interference and more features, and "
               "0 takes the best one for the predicted interference."),
    INTEGER_FIELD(kept, "0", 0, 16777216, "features", MODEL, ADVANCED, "activation=k-sparse",
                  "Outputs of a sample that are not zero; a larger number keeps more features and more interference, "
                  "and 0 takes the best number for the predicted interference."),
    INTEGER_FIELD(relu_updates, "0", 0, CONFIG_INT_MAX, "updates", OPTIMIZER, RESEARCH, "activation=threshold|k-sparse",
                  "Updates with ReLU before the activation takes effect; with more of them, fewer features stay "
                  "without a gradient for ever because they never pass the activation."),
    CHOICE_FIELD(importance, "equal", DATA, RESEARCH, TRAINED,
                 "Weight of the squared error of feature i: 1, (i + 1)^-importance_rate, or importance_rate^i."),
    REAL_FIELD(importance_rate, "0.9", 0, 10, "", DATA, RESEARCH, TRAINED " importance=power|geometric",
               "Exponent (power) or base (geometric) of the importance; a larger exponent makes later features less "
               "important, and a larger base makes them more important."),
    CHOICE_FIELD(
        initialisation, "uniform", MODEL, RESEARCH, TRAINED,
        "Initial weights: uniform in +-1/sqrt(fan in) with such biases, or normal of variance 2/(n_s + n_d) with "
        "biases 0."),

    INTEGER_FIELD(batch, "1024", 1, 65536, "samples", OPTIMIZER, ADVANCED, TRAINED,
                  "Samples of one optimiser update; larger batches give steadier gradients and fewer updates."),
    INTEGER_FIELD(block, "30000", 0, CONFIG_INT_MAX, "samples", OPTIMIZER, RESEARCH, TRAINED,
                  "Samples drawn at a time, the last batch of which may be smaller; a larger block compares losses "
                  "less often (stop=blocks), and 0 draws batch by batch."),
    POSITIVE_FIELD(learning_rate, "3e-3", 0, 10, "", OPTIMIZER, BASIC, TRAINED,
                   "Step size of Adam times sqrt(n_s); a larger one trains faster until it diverges."),
    POSITIVE_FIELD(epsilon, "1e-7", 0, 1, "", OPTIMIZER, RESEARCH, TRAINED,
                   "Constant in the denominator of Adam's step; a larger one makes steps for small gradients smaller."),
    CHOICE_FIELD(
        stop, "blocks", OPTIMIZER, ADVANCED, TRAINED,
        "When to compare the mean loss of the last two windows and to end where it no longer falls: at the start of "
        "a block (the authors' code), after each window (the paper), or never."),
    INTEGER_FIELD(window, "200", 1, 10000, "updates", OPTIMIZER, ADVANCED, TRAINED " stop=blocks|windows",
                  "Updates of a window; a larger one ends training later and more reliably."),
    REAL_FIELD(tolerance, "0", 0, 1, "", OPTIMIZER, RESEARCH, TRAINED " stop=blocks|windows",
               "Minimum decrease of log10 loss between two windows with which the training continues; a larger one "
               "ends it earlier."),
    CHOICE_FIELD(products, "auto", OPTIMIZER, ADVANCED, TRAINED,
                 "Matrix products: sparse where that is faster, or all dense; the results differ by rounding."),

    INTEGER_FIELD(
        total_samples, "45000000", 1, CONFIG_INT_MAX, "samples", OPTIMIZER, BASIC, TRAINED,
        "Upper limit of the training samples of each model; more samples take more time and usually lower the loss."),
    INTEGER_FIELD(checkpoint_every, "1000000", 1, CONFIG_INT_MAX, "samples", OPTIMIZER, ADVANCED, TRAINED,
                  "Training samples between two checkpoints; a larger number stores fewer of them and loses more work "
                  "in a crash."),
    INTEGER_FIELD(test_samples, "100000", 1, 100000000, "samples", EVALUATION, ADVANCED, NULL,
                  "Number of new samples with which the loss of each finished model is measured; more samples make it "
                  "more precise."),
    INTEGER_FIELD(draws, "1", 1, 64, "rugs", EVALUATION, RESEARCH, NULL,
                  "Number of rugs with different random rows for each case, whose losses are averaged; more rugs make "
                  "the mean more precise."),
};

const struct config_table superposition_config_table = CONFIG_TABLE(superposition_fields, struct superposition_config);

struct superposition_setup superposition_setup(const struct superposition_config *c)
{
    int n_d = c->n_d ? (int)c->n_d : (int)floor((double)c->n_s * c->ratio);
    return (struct superposition_setup){.model = (enum superposition_model)c->model,
                                        .activation = c->model == MODEL_TRAINED ? (enum activation)c->activation
                                                                                : ACTIVATION_RELU,
                                        .n_s = (int)c->n_s,
                                        .n_d = n_d < 1 ? 1 : n_d,
                                        .p = c->p,
                                        .ratio = c->n_d ? (double)c->n_d / (double)c->n_s : c->ratio};
}

int superposition_room(const struct superposition_config *config)
{
    int64_t most = config->total_samples > config->test_samples ? config->total_samples : config->test_samples;
    return (int)(config->batch < most ? config->batch : most);
}

struct autoencoder_shape superposition_shape(const struct superposition_config *config,
                                             const struct superposition_setup *c)
{
    struct autoencoder_shape shape = {c->n_s,           c->n_d,
                                      config->tied,     config->initialisation == INITIALISATION_XAVIER,
                                      c->activation,    (float)config->threshold,
                                      (int)config->kept};
    if ((c->activation == ACTIVATION_THRESHOLD && config->threshold <= 0) ||
        (c->activation == ACTIVATION_KEEP && config->kept == 0)) {
        struct theory_cut best = theory_cut(c->p, theory_sigma(c->p, (double)c->n_d / c->n_s));
        shape.threshold = (float)fmax(0, best.slope * best.cut + best.intercept);
        shape.kept = (int)fmin(c->n_s, fmax(1, floor(0.5 + best.share * c->n_s)));
    }
    return shape;
}

double superposition_importance(const struct superposition_config *config, int i)
{
    if (config->importance == IMPORTANCE_POWER)
        return pow(i + 1, -config->importance_rate);
    return config->importance == IMPORTANCE_GEOMETRIC ? pow(config->importance_rate, i) : 1;
}

/* ---- faults ------------------------------------------------------------------------------------------- */

/* Only trained models can adapt to a data set, because a rug is made for features that are all alike. */
static void check_uploaded(const struct superposition_config *c, const struct method_faults *faults)
{
    if (!superposition_uploaded(c))
        return;
    if (!dataset_name_good(c->dataset_name))
        method_fault(faults, "dataset_name", "must be a name of small letters, digits, '.', '-' and '_'");
    if (c->model != MODEL_TRAINED)
        method_fault(faults, "model",
                     "must be trained with dataset_name, because rugs and linear maps do not learn from samples");
}

void superposition_check(const void *config, const struct method_faults *faults)
{
    const struct superposition_config *c = config;
    struct superposition_setup one = superposition_setup(c);
    check_uploaded(c, faults);
    if (one.n_d > one.n_s)
        method_fault(faults, "n_d", "must not exceed n_s (%d); got %d", one.n_s, one.n_d);
    if (one.model != MODEL_TRAINED && (one.n_s & (one.n_s - 1)) != 0)
        method_fault(faults, "n_s", "must be a power of two for rug and linear; got %d", one.n_s);
    if (one.model == MODEL_TRAINED && (double)one.n_s * (double)c->batch > 1 << 28)
        method_fault(faults, "batch", "times n_s must not exceed 2^28 in training; got %.0f x %d", (double)c->batch,
                     one.n_s);
    if (c->block > 0 && c->block < c->batch)
        method_fault(faults, "block", "must be at least one batch (%.0f); got %.0f", (double)c->batch,
                     (double)c->block);
}

/* ---- earlier versions --------------------------------------------------------------------------------- */

const char *const superposition_former[] = {"experiment", "models", "sizes", "ps", "ratios", "activations", NULL};

void superposition_adapt(void *config, const struct method_stored *stored)
{
    struct superposition_config *c = config;
    const char *experiment = former_text(stored, "experiment");
    if (experiment[0] == '\0' || strcmp(experiment, "one") == 0)
        return;
    former_last(stored, "models", &superposition_config_table, "model", config);
    former_last(stored, "sizes", &superposition_config_table, "n_s", config);
    former_last(stored, "ps", &superposition_config_table, "p", config);
    if (c->model == MODEL_TRAINED)
        former_last(stored, "activations", &superposition_config_table, "activation", config);
    if (former_last(stored, "ratios", &superposition_config_table, "ratio", config))
        c->n_d = 0;
}

/* ---- data sets ------------------------------------------------------------------------------------------ */

static bool has(const struct method_given *given, const char *field)
{
    return given && given->has(given->context, field);
}

static enum status fit(struct superposition_config *c, const struct method_given *given, const struct features *f,
                       struct error *err)
{
    int n = f->rows.inputs;
    if (has(given, "n_s") && c->n_s != n)
        return error_set(err, STATUS_INVALID, "/config/n_s",
                         "must be %d, the number of columns of %s, or be left out; got %lld", n, c->dataset_name,
                         (long long)c->n_s);
    /* p may be given if it is the share of the data set, because a job that is submitted again contains this share. */
    if (has(given, "p") && fabs(c->p - f->p) > 1e-9 * f->p)
        return error_set(err, STATUS_INVALID, "/config/p",
                         "must be left out with dataset_name, whose share of values that are not zero is %.9g; got %g",
                         f->p, c->p);
    c->n_s = n;
    c->p = f->p;
    return STATUS_OK;
}

enum status superposition_resolve(void *config, const struct method_given *given, const char *data, struct error *err)
{
    struct superposition_config *c = config;
    struct features features;
    int64_t inputs;
    if (!superposition_uploaded(c)) {
        c->dataset_hash[0] = '\0';
        return STATUS_OK;
    }
    enum status status = rows_resolve(data, c->dataset_name, c->dataset_hash, &inputs, err);
    if (status || !dataset_name_good(c->dataset_name)) /* check() reports the invalid name */
        return status;
    status = features_open(data, c->dataset_name, c->dataset_hash, (uint64_t)c->seed, &features, err);
    if (!status)
        status = fit(c, given, &features, err);
    features_close(&features);
    return status;
}
