/* The configuration of the dictionary method: the table of its fields, and the checks that concern several fields. */
#include "core/methods/dictionary/config.h"

#include <math.h>
#include <string.h>

#include "core/methods/shared/rows.h"
#include "core/methods/dictionary/model/step.h"
#include "core/data/dataset.h"
#include "core/methods/shared/fields.h"

const char *const dictionary_sources[] = {"planted", "iid", "rug", "trained", "dataset", NULL};
const char *const dictionary_learners[] = {"l1",    "topk", "batchtopk", "jumprelu", "matryoshka", "matching-pursuit",
                                           "fista", NULL};
#define learner_names dictionary_learners
#define source_names dictionary_sources
static const char *const scale_names[] = {"average", "none", "auto", "standard", "robust", "counts", NULL};

enum { ALTERNATION = 1024 }; /* number of samples in one update of the learner `fista` */

#define FIELD_STRUCT struct dictionary_config

const struct config_field dictionary_fields[] = {
#define FIELDS_FILE "core/methods/dictionary/fields.inc"
#include "core/methods/shared/field_rows.inc"
};

const struct config_table dictionary_config_table = CONFIG_TABLE(dictionary_fields, struct dictionary_config);

/* ---- the setup ------------------------------------------------------------------------------------------------ */

struct dictionary_setup dictionary_setup(const struct dictionary_config *c)
{
    int features = dictionary_known(c) ? (int)c->features : 0;
    double inputs = (double)c->inputs, active = (double)c->active;
    if (inputs < 1)
        inputs = fmax(1, ceil(2 * active * log(features / active)));
    struct dictionary_setup made = {.source = (enum dictionary_source)c->source,
                                    .learner = (enum learner)c->learner,
                                    .features = features,
                                    .inputs = (int)inputs,
                                    .width = c->width > 0   ? (int)c->width
                                             : features > 0 ? features
                                                            : (int)inputs,
                                    .l0 = c->l0,
                                    .zipf = c->zipf,
                                    .p = c->p};
    if (!(made.l0 > 0))
        made.l0 = fmin(made.width, fmax(1, dictionary_active(c, &made)));
    return made;
}

bool dictionary_known(const struct dictionary_config *c)
{
    return c->source != SOURCE_DATASET;
}

struct planted_shape dictionary_data(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    bool trees = c->source == SOURCE_PLANTED;
    return (struct planted_shape){.kind = trees                     ? PLANTED_TREES
                                          : c->source == SOURCE_IID ? PLANTED_EXACTLY
                                                                    : PLANTED_UNIFORM,
                                  .features = c->features,
                                  .inputs = c->inputs,
                                  .seed = (uint64_t)config->seed,
                                  .roots = trees ? (int)config->roots : 0,
                                  .zipf = c->zipf,
                                  .rounds = trees ? PLANTED_ROUNDS : 0,
                                  .active = (int)config->active,
                                  .probability = c->p};
}

struct hidden dictionary_hidden(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    return (struct hidden){.features = c->features,
                           .inputs = c->inputs,
                           .trained = c->source == SOURCE_TRAINED,
                           .p = c->p,
                           .seed = (uint64_t)config->seed,
                           .samples = config->model_samples};
}

double dictionary_active(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    switch (c->source) {
    case SOURCE_IID:
        return (double)config->active;
    case SOURCE_RUG:
    case SOURCE_TRAINED:
        return c->p * c->features;
    default:
        return 0;
    }
}

/* Returns the number of updates of a learner other than FISTA. */
static int64_t updates(const struct dictionary_config *config)
{
    return (config->total_samples + config->batch - 1) / config->batch;
}

struct sae_shape dictionary_shape(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    int half = c->inputs / 2 > 0 ? c->inputs / 2 : 1;
    int aux = config->aux_latents > 0 ? (int)config->aux_latents : half;
    int64_t quarter = updates(config) / 4 > 0 ? updates(config) / 4 : 1;
    int64_t dead_after = config->dead_after > 0 ? config->dead_after : quarter < 1000 ? quarter : 1000;
    struct sae_shape shape = {.learner = c->learner,
                              .inputs = c->inputs,
                              .width = c->width,
                              .l0 = c->l0,
                              .levels = 1,
                              .level_end = {c->width},
                              .unit_rows = config->unit_rows,
                              .sparsity = config->sparsity,
                              .tuned = config->tuned,
                              .bandwidth = config->bandwidth,
                              .aux_weight = config->aux_weight,
                              .aux_latents = aux < c->width ? aux : c->width,
                              .dead_after = (int)dead_after,
                              .penalty = config->penalty,
                              .iterations = (int)config->iterations};
    /* Nested widths m/32, m/8, m/2 and m, as in SynthSAEBench. */
    if (c->learner == LEARNER_MATRYOSHKA && c->width >= 32) {
        static const int parts[] = {32, 8, 2, 1};
        shape.levels = 4;
        for (int level = 0; level < 4; level++)
            shape.level_end[level] = c->width / parts[level];
    }
    return shape;
}

struct rows_request dictionary_rows(const struct dictionary_config *c, const char *data)
{
    return (struct rows_request){.data = data,
                                 .name = c->dataset_name,
                                 .hash = c->dataset_hash,
                                 .seed = (uint64_t)c->seed,
                                 .split = (enum division_split)c->dataset_split,
                                 .test_group = c->dataset_test_group};
}

enum status dictionary_resolve(void *config, const struct method_given *given, const char *data, struct error *err)
{
    struct dictionary_config *c = config;
    (void)given;
    if (c->source != SOURCE_DATASET)
        return STATUS_OK;
    enum collection_scale wish = c->scale < NORM_AUTO    ? SCALE_NONE
                                 : c->scale == NORM_AUTO ? SCALE_AUTO
                                                         : (enum collection_scale)(c->scale - 1);
    const struct rows_request request = dictionary_rows(c, data);
    return rows_resolve(&request, wish, c->dataset_hash, &c->inputs, &c->scaling, err);
}

double dictionary_tune_rate(const struct dictionary_config *config)
{
    /* The rate is inversely proportional to the number of updates. */
    return fmin(STEP_LONG_RATE * STEP_LONG_UPDATES / (double)updates(config), 0.02);
}

int dictionary_batch(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    return c->learner == LEARNER_FISTA ? ALTERNATION : (int)config->batch;
}

int64_t dictionary_samples(const struct dictionary_config *config, const struct dictionary_setup *c)
{
    return c->learner == LEARNER_FISTA ? ALTERNATION * config->alternations : config->total_samples;
}

bool dictionary_correlates(const struct dictionary_setup *c)
{
    return c->features > 0 && (double)c->features * c->width <= 1 << 22;
}

/* ---- faults -------------------------------------------------------------------------------------------------- */

static void check_setup(const struct dictionary_config *c, const struct dictionary_setup *one,
                        const struct method_faults *faults)
{
    bool hidden = one->source == SOURCE_RUG || one->source == SOURCE_TRAINED;
    if (!(c->l0 > 0) && !hidden && one->source != SOURCE_IID)
        method_fault(faults, "l0", "must be above 0 for planted data and data sets; 0 is for iid, rug and trained");
    if (one->l0 > one->width)
        method_fault(faults, "l0", "must not exceed the width (%d); got %g", one->width, one->l0);
    if (one->source == SOURCE_RUG &&
        ((one->features & (one->features - 1)) != 0 || one->inputs > one->features || one->inputs < 1))
        method_fault(faults, "features",
                     "must be a power of two and at least the number of inputs for a rug; got %d and %d", one->features,
                     one->inputs);
    if (hidden && one->p * one->features > PLANTED_MOST_ACTIVE / 2.0 && one->features > PLANTED_MOST_ACTIVE)
        method_fault(faults, "p", "times the number of features must not exceed %d; got %g", PLANTED_MOST_ACTIVE / 2,
                     one->p * one->features);
    if (one->source == SOURCE_IID && c->active >= one->features)
        method_fault(faults, "active", "must be below the number of features (%d); got %d", one->features,
                     (int)c->active);
    if (one->source != SOURCE_IID && c->inputs == 0)
        method_fault(faults, "inputs", "must be at least 1; 0 is for iid data");
    if (c->source != SOURCE_DATASET && one->inputs > 4096)
        method_fault(faults, "inputs", "must be at most 4096 unless the source is a data set; got %d", one->inputs);
    if (one->source == SOURCE_PLANTED && c->roots > one->features)
        method_fault(faults, "roots", "must not exceed the number of features (%d); got %d", one->features,
                     (int)c->roots);
    if ((double)c->batch * one->width > 1 << 28)
        method_fault(faults, "batch", "times the width must not exceed 2^28; got %d x %d", (int)c->batch, one->width);
    if (c->pursuit_samples > 0 && one->l0 > 256)
        method_fault(faults, "pursuit_samples", "must be 0 where l0 exceeds 256; got %d", (int)c->pursuit_samples);
}

void dictionary_check(const void *config, const struct method_faults *faults)
{
    const struct dictionary_config *c = config;
    struct dictionary_setup one = dictionary_setup(c);
    if (c->source == SOURCE_DATASET && c->dataset_name[0] && !dataset_name_good(c->dataset_name))
        method_fault(faults, "dataset_name", "must be a name of small letters, digits, '.', '-' and '_'");
    if (c->batch > 1 && c->distinct > 0 && c->distinct < c->batch)
        method_fault(faults, "distinct", "must be 0 or at least the batch (%d); got %d", (int)c->batch,
                     (int)c->distinct);
    check_setup(c, &one, faults);
}
