/* The configuration of the superposition method: the table of its fields (names, ranges, defaults, meanings), the list
 * of cases that an experiment expands to, and the checks that concern several fields. */
#include "core/methods/superposition/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/dataset.h"
#include "core/methods/shared/fields.h"
#include "core/methods/shared/value_list.h"
#include "core/methods/superposition/features.h"
#include "core/superposed/theory.h"

static const char *const model_names[] = {"trained", "rug", "linear", NULL};
static const char *const experiment_names[] = {"one", "loss-ratio", "loss-p", "maps", "scaling", "activations", NULL};
static const char *const activation_names[] = {"relu", "threshold", "k-sparse", "gated", NULL};
static const char *const importance_names[] = {"equal", "power", "geometric", NULL};
static const char *const initialisation_names[] = {"uniform", "xavier-normal", NULL};
static const char *const stop_names[] = {"blocks", "windows", "never", NULL};
static const char *const products_names[] = {"auto", "dense", NULL};

#define FIELD_STRUCT struct superposition_config
#define TRAINED "model=trained"
#define EXPERIMENTS "experiment=loss-ratio|loss-p|maps|scaling|activations"

const struct config_field superposition_fields[SUPERPOSITION_FIELDS] = {
    SEED_AND_THREADS_FIELDS("the samples, the initial weights and the rows of the rug"),

    CHOICE_FIELD(
        model, "trained", MODEL, BASIC, NULL,
        "Model: an autoencoder trained with Adam, the artificial Persian rug with its two best scalars, or the best "
        "linear map."),
    CHOICE_FIELD(
        experiment, "one", EVALUATION, RESEARCH, NULL,
        "Experiment: one model, loss against n_d/n_s, loss against p, maps over both, scaling of the limits, or "
        "several activations."),
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
    TEXT_FIELD(models, "", EVALUATION, RESEARCH, EXPERIMENTS,
               "Models to compare, separated by commas (\"trained,rug,linear\"); empty takes `model` alone."),
    TEXT_FIELD(sizes, "", EVALUATION, RESEARCH, EXPERIMENTS,
               "Values of n_s, separated by commas (\"128,512,1024\"); empty takes `n_s` alone."),
    TEXT_FIELD(ps, "", EVALUATION, RESEARCH, EXPERIMENTS,
               "Values of p, separated by commas, or from:to:count (\"0.002001:0.8:20\"); empty takes `p` alone."),
    TEXT_FIELD(ratios, "", EVALUATION, RESEARCH, EXPERIMENTS,
               "Values of n_d / n_s, written like `ps`; empty takes the ratio of n_d or `ratio`."),
    TEXT_FIELD(
        activations, "", EVALUATION, RESEARCH, "experiment=activations",
        "Activations of the trained models, separated by commas (\"relu,threshold\"); empty takes `activation` alone."),

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

/* ---- lists -------------------------------------------------------------------------------------------- */

static bool in_range(double value, double most)
{
    return value > 0 && value <= most;
}

int superposition_list(const char *text, double most, double values[SUPERPOSITION_LIST])
{
    char *end;
    int count = 0;
    if (strchr(text, ':')) {
        double from = strtod(text, &end), to = *end == ':' ? strtod(end + 1, &end) : NAN;
        double points = *end == ':' ? strtod(end + 1, &end) : NAN;
        if (*end || !in_range(from, most) || !in_range(to, most) || !(points >= 2 && points <= SUPERPOSITION_LIST))
            return -1;
        for (count = 0; count < (int)points; count++)
            values[count] = from + (to - from) * count / ((int)points - 1);
        return count;
    }
    return value_list_numbers(text, nextafter(0, 1), most, values, SUPERPOSITION_LIST);
}

enum { CHOICES = 8 };

struct lists {
    int model[CHOICES], activation[CHOICES], models, activations;
    double size[SUPERPOSITION_LIST], p[SUPERPOSITION_LIST], ratio[SUPERPOSITION_LIST];
    int sizes, ps, ratios;
};

static void read_lists(const struct superposition_config *c, struct lists *l)
{
    bool many = c->experiment != EXPERIMENT_ONE;
    l->models = many ? value_list_names(c->models, model_names, l->model, CHOICES) : 0;
    l->activations = many ? value_list_names(c->activations, activation_names, l->activation, CHOICES) : 0;
    l->sizes = many ? superposition_list(c->sizes, 16777216, l->size) : 0;
    l->ps = many ? superposition_list(c->ps, 1, l->p) : 0;
    l->ratios = many ? superposition_list(c->ratios, 1, l->ratio) : 0;
    if (l->models == 0)
        l->model[l->models++] = c->model;
    if (l->activations == 0)
        l->activation[l->activations++] = c->activation;
    if (l->sizes == 0)
        l->size[l->sizes++] = (double)c->n_s;
    if (l->ps == 0)
        l->p[l->ps++] = c->p;
}

int superposition_cases(const struct superposition_config *c, struct superposition_case *cases)
{
    struct lists l;
    int count = 0;
    read_lists(c, &l);
    if (l.models < 0 || l.activations < 0 || l.sizes < 0 || l.ps < 0 || l.ratios < 0)
        return 0;
    for (int m = 0; m < l.models; m++)
        for (int a = 0; a < (l.model[m] == MODEL_TRAINED ? l.activations : 1); a++)
            for (int s = 0; s < l.sizes; s++)
                for (int p = 0; p < l.ps; p++)
                    for (int r = 0; r < (l.ratios ? l.ratios : 1); r++) {
                        int n_s = (int)l.size[s];
                        double ratio = l.ratios ? l.ratio[r] : c->n_d ? (double)c->n_d / n_s : c->ratio;
                        int n_d = !l.ratios && c->n_d ? (int)c->n_d : (int)floor(n_s * ratio);
                        if (count < SUPERPOSITION_CASES && cases)
                            cases[count] = (struct superposition_case){
                                (enum superposition_model)l.model[m],
                                l.model[m] == MODEL_TRAINED ? (enum activation)l.activation[a] : ACTIVATION_RELU,
                                n_s,
                                n_d < 1 ? 1 : n_d,
                                l.p[p],
                                ratio};
                        count++;
                    }
    return count;
}

int superposition_room(const struct superposition_config *config)
{
    int64_t most = config->total_samples > config->test_samples ? config->total_samples : config->test_samples;
    return (int)(config->batch < most ? config->batch : most);
}

struct autoencoder_shape superposition_shape(const struct superposition_config *config,
                                             const struct superposition_case *c)
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

static void check_lists(const struct superposition_config *c, const struct method_faults *faults)
{
    double values[SUPERPOSITION_LIST];
    int indices[CHOICES];
    if (value_list_names(c->models, model_names, indices, CHOICES) < 0)
        faults->add(faults->context, "models", "must be names from trained, rug and linear, separated by commas");
    if (value_list_names(c->activations, activation_names, indices, CHOICES) < 0)
        faults->add(faults->context, "activations",
                    "must be names from relu, threshold, k-sparse and gated, separated by commas");
    if (superposition_list(c->sizes, 16777216, values) < 0)
        faults->add(faults->context, "sizes", "must be numbers in [2, 16777216], separated by commas");
    if (superposition_list(c->ps, 1, values) < 0)
        faults->add(faults->context, "ps", "must be numbers in (0, 1], separated by commas, or from:to:count");
    if (superposition_list(c->ratios, 1, values) < 0)
        faults->add(faults->context, "ratios", "must be numbers in (0, 1], separated by commas, or from:to:count");
}

static void check_case(const struct superposition_config *c, const struct superposition_case *one,
                       const struct method_faults *faults)
{
    const char *size = c->sizes[0] && c->experiment != EXPERIMENT_ONE ? "sizes" : "n_s";
    if (one->n_s < 2)
        method_fault(faults, size, "must be at least 2; got %d", one->n_s);
    if (one->n_d > one->n_s)
        method_fault(faults, "n_d", "must not exceed n_s (%d); got %d", one->n_s, one->n_d);
    if (one->model != MODEL_TRAINED && (one->n_s & (one->n_s - 1)) != 0)
        method_fault(faults, size, "must be a power of two for rug and linear; got %d", one->n_s);
    if (one->model == MODEL_TRAINED && (double)one->n_s * (double)c->batch > 1 << 28)
        method_fault(faults, "batch", "times n_s must not exceed 2^28 in training; got %.0f x %d", (double)c->batch,
                     one->n_s);
}

/* Checks a configuration with a data set. A data set has one number of features and one share p of values that are not
 * zero, so a configuration must not list several. Only trained models can adapt to a data set, because a rug is made
 * for features that are all alike. */
static void check_uploaded(const struct superposition_config *c, const struct superposition_case *cases, int count,
                           const struct method_faults *faults)
{
    bool many = c->experiment != EXPERIMENT_ONE;
    if (!superposition_uploaded(c))
        return;
    if (!dataset_name_good(c->dataset_name))
        method_fault(faults, "dataset_name", "must be a name of small letters, digits, '.', '-' and '_'");
    if (many && c->sizes[0])
        method_fault(faults, "sizes", "must be empty with dataset_name, because the data set has one size");
    if (many && c->ps[0])
        method_fault(faults, "ps", "must be empty with dataset_name, because the data set has one p");
    for (int i = 0; i < count && i < SUPERPOSITION_CASES; i++)
        if (cases[i].model != MODEL_TRAINED) {
            method_fault(faults, many && c->models[0] ? "models" : "model",
                         "must be trained with dataset_name, because rugs and linear maps do not learn from samples");
            return;
        }
}

void superposition_check(const void *config, const struct method_faults *faults)
{
    const struct superposition_config *c = config;
    struct superposition_case *cases = calloc(SUPERPOSITION_CASES, sizeof *cases);
    int count = cases ? superposition_cases(c, cases) : 0;
    check_lists(c, faults);
    check_uploaded(c, cases, count, faults);
    if (count > SUPERPOSITION_CASES)
        method_fault(faults, "experiment", "has at most %d cases; these lists make %d", SUPERPOSITION_CASES, count);
    struct superposition_case worst = {.n_s = 2};
    /* If several cases have a fault, check_case() gets only the last of them, because one message of each kind is
     * enough. */
    for (int i = 0; i < count && i < SUPERPOSITION_CASES; i++) {
        bool odd = cases[i].model != MODEL_TRAINED && (cases[i].n_s & (cases[i].n_s - 1)) != 0;
        bool large = cases[i].model == MODEL_TRAINED && (double)cases[i].n_s * (double)c->batch > 1 << 28;
        if (cases[i].n_s < 2 || cases[i].n_d > cases[i].n_s || odd || large)
            worst = cases[i];
    }
    check_case(c, &worst, faults);
    if (c->block > 0 && c->block < c->batch)
        method_fault(faults, "block", "must be at least one batch (%.0f); got %.0f", (double)c->batch,
                     (double)c->block);
    free(cases);
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
