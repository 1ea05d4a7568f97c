/* The configuration of the superposition method: the table of its fields (names, ranges, defaults, meanings), and the
 * checks that concern several fields. */
#include "core/methods/superposition/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/dataset.h"
#include "core/data/scale.h"
#include "core/methods/shared/fields.h"
#include "core/methods/superposition/features.h"
#include "core/superposed/theory.h"

static const char *const model_names[] = {"trained", "rug", "linear", NULL};
static const char *const activation_names[] = {"relu", "threshold", "k-sparse", "gated", NULL};
static const char *const importance_names[] = {"equal", "power", "geometric", NULL};
static const char *const initialisation_names[] = {"uniform", "xavier-normal", NULL};
static const char *const stop_names[] = {"blocks", "windows", "never", NULL};
static const char *const products_names[] = {"auto", "dense", NULL};

#define FIELD_STRUCT struct superposition_config

const struct config_field superposition_fields[] = {
#define FIELDS_FILE "core/methods/superposition/fields.inc"
#include "core/methods/shared/field_rows.inc"
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

struct rows_request superposition_rows(const struct superposition_config *c, const char *data)
{
    return (struct rows_request){.data = data,
                                 .name = c->dataset_name,
                                 .hash = c->dataset_hash,
                                 .seed = (uint64_t)c->seed,
                                 .split = (enum division_split)c->dataset_split,
                                 .test_group = c->dataset_test_group};
}

enum status superposition_resolve(void *config, const struct method_given *given, const char *data, struct error *err)
{
    struct superposition_config *c = config;
    struct features features;
    int64_t inputs;
    if (!superposition_uploaded(c)) {
        c->dataset_hash[0] = '\0';
        c->scaling = SCALE_NONE;
        return STATUS_OK;
    }
    const struct rows_request request = superposition_rows(c, data);
    enum status status =
        rows_resolve(&request, (enum collection_scale)c->scale, c->dataset_hash, &inputs, &c->scaling, err);
    if (status || !dataset_name_good(c->dataset_name)) /* check() reports the invalid name */
        return status;
    status = features_open(&request, (enum collection_scale)c->scaling, &features, err);
    if (!status)
        status = fit(c, given, &features, err);
    features_close(&features);
    return status;
}
