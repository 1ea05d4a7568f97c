/* The configuration of the dictionary method: the table of its fields, and the checks that concern several fields. */
#include "core/methods/dictionary/config.h"

#include <math.h>
#include <string.h>

#include "core/methods/shared/rows.h"
#include "core/methods/dictionary/model/step.h"
#include "core/data/dataset.h"
#include "core/methods/shared/fields.h"
#include "core/methods/shared/former.h"

const char *const dictionary_sources[] = {"planted", "iid", "rug", "trained", "dataset", NULL};
const char *const dictionary_learners[] = {"l1",    "topk", "batchtopk", "jumprelu", "matryoshka", "matching-pursuit",
                                           "fista", NULL};
#define learner_names dictionary_learners
#define source_names dictionary_sources
static const char *const scale_names[] = {"average", "none", NULL};

enum { ALTERNATION = 1024 }; /* number of samples in one update of the learner `fista` */

#define FIELD_STRUCT struct dictionary_config
#define TREES "source=planted"
#define KNOWN "source=planted|iid|rug|trained"
#define HIDDEN "source=rug|trained"
#define UPLOADED "source=dataset"
#define ADAM "learner=l1|topk|batchtopk|jumprelu|matryoshka|matching-pursuit"

const struct config_field dictionary_fields[DICTIONARY_FIELDS] = {
    SEED_AND_THREADS_FIELDS("the true features, the samples and the initial weights"),

    CHOICE_FIELD(
        source, "planted", DATA, BASIC, NULL,
        "Where samples come from: the generator of SynthSAEBench (trees of features with power-law rates), "
        "independent features of which a fixed number is active, the hidden layer of a Persian rug or of a trained "
        "autoencoder (that of `from`, if the submission names a superposition job), or an uploaded data set."),
    TEXT_FIELD(dataset_name, "", DATA, BASIC, UPLOADED,
               "Name of the data set (GET /v1/datasets lists them): an array [rows][dimensions] or "
               "[samples][tokens][dimensions]."),
    TEXT_FIELD(dataset_hash, "", DATA, RESEARCH, UPLOADED,
               "First 40 digits of the hash of the data set's bytes and upload options, which the daemon fills in at "
               "submission, so that the job never continues with other data."),
    INTEGER_FIELD(features, "1024", 2, 16384, "features", DATA, BASIC, KNOWN,
                  "True features of the data; the more there are, the more their directions interfere."),
    INTEGER_FIELD(inputs, "96", 0, 16384, "dimensions", DATA, BASIC, NULL,
                  "Dimensions of a sample (a data set has its own number); with more dimensions, features interfere "
                  "less, and 0 takes 2 active ln(features / active), rounded up."),
    INTEGER_FIELD(roots, "8", 0, 16384, "trees", DATA, ADVANCED, TREES,
                  "Trees of features, in which each feature down to the third level has four children; with more "
                  "trees, more features depend on others, and 0 makes all features independent."),
    REAL_FIELD(zipf, "0.5", 0, 4, "", DATA, ADVANCED, TREES,
               "Exponent of the power law of the features' rates; a larger one makes most features rarer."),
    INTEGER_FIELD(active, "3", 1, 1024, "features", DATA, BASIC, "source=iid",
                  "True features that are active in each sample; a larger number makes samples harder to decompose."),
    POSITIVE_FIELD(p, "0.05", 0, 1, "", DATA, BASIC, HIDDEN,
                   "Probability with which a feature of the toy model is active, with a value that is then uniform in "
                   "[0, 1); a larger one makes samples harder to decompose."),
    INTEGER_FIELD(model_samples, "1000000", 1, CONFIG_INT_MAX, "samples", DATA, ADVANCED, "source=trained",
                  "Training samples of the autoencoder whose hidden layer is the data; more samples take more time and "
                  "store the features better."),
    INTEGER_FIELD(distinct, "0", 0, CONFIG_INT_MAX, "samples", DATA, ADVANCED, NULL,
                  "Number of different training samples, which are repeated; a larger number reduces overfitting, and "
                  "0 makes every sample new."),

    CHOICE_FIELD(learner, "batchtopk", MODEL, BASIC, NULL,
                 "Learner: a sparse autoencoder with an l1 penalty (l1), with the largest activations of a sample "
                 "(topk) or of a batch (batchtopk), with thresholds (jumprelu) or with nested widths (matryoshka); "
                 "matching pursuit; or codes by FISTA (fista)."),
    INTEGER_FIELD(
        width, "256", 0, 65536, "latents", MODEL, BASIC, NULL,
        "Latents of each dictionary; more latents can represent more features, and 0 takes the number of features."),
    REAL_FIELD(l0, "20", 0, 4096, "latents", MODEL, BASIC, NULL,
               "Number of active latents of a sample, or the mean number to which thresholds and the l1 factor are "
               "tuned; a larger number explains more variance with less sparse codes, and 0 takes the mean number of "
               "active features if the source determines it."),
    INTEGER_FIELD(seeds, "2", 1, DICTIONARY_SEEDS, "dictionaries", MODEL, BASIC, NULL,
                  "Number of dictionaries with different initial weights, which are trained on the same samples and "
                  "compared; more dictionaries make the agreement more reliable and take proportionally more time."),

    CHOICE_FIELD(scale, "average", DATA, ADVANCED, NULL,
                 "Scale of the samples: average (a mean norm of sqrt(inputs), for which the learners' defaults are "
                 "chosen) or none (unchanged)."),
    FLAG_FIELD(unit_rows, "false", MODEL, ADVANCED, "learner=l1|topk|batchtopk|jumprelu|matryoshka|matching-pursuit",
               "Whether training keeps the rows of the decoder at norm 1."),
    REAL_FIELD(sparsity, "1", 0, 1000, "", MODEL, ADVANCED, "learner=l1|jumprelu",
               "Factor of the sparsity term in the loss; a larger one leaves fewer active latents."),
    FLAG_FIELD(tuned, "true", MODEL, ADVANCED, "learner=l1|jumprelu",
               "Whether training changes the factor `sparsity` until the mean number of active latents is l0."),
    POSITIVE_FIELD(bandwidth, "1", 0, 100, "", MODEL, ADVANCED, "learner=jumprelu",
                   "Width of the rectangle that replaces the step in the thresholds' gradient; a wider one lets more "
                   "samples move a threshold."),
    REAL_FIELD(aux_weight, "1", 0, 100, "", MODEL, ADVANCED, "learner=topk|batchtopk|matryoshka",
               "Weight of the auxiliary loss, which trains dead latents; a larger weight brings more of them back, and "
               "0 turns the loss off."),
    INTEGER_FIELD(aux_latents, "0", 0, 65536, "latents", MODEL, ADVANCED, "learner=topk|batchtopk|matryoshka",
                  "Number of dead latents that the auxiliary loss uses for a sample; a larger number trains more of "
                  "them at a time, and 0 takes half the number of dimensions."),
    INTEGER_FIELD(
        dead_after, "0", 0, 16000000, "updates", MODEL, ADVANCED, "learner=topk|batchtopk|matryoshka",
        "Number of updates (not samples) without activity after which a latent counts as dead in the auxiliary loss; a "
        "larger number trains dead latents later, and 0 takes a quarter of all updates, but at most 1,000."),
    POSITIVE_FIELD(penalty, "0.1", 0, 100, "", MODEL, ADVANCED, NULL,
                   "Weight of the l1 norm in the codes that FISTA computes of unscaled samples, for comparisons and "
                   "for the learner fista; a larger weight leaves fewer active latents."),
    INTEGER_FIELD(iterations, "100", 1, 10000, "iterations", MODEL, ADVANCED, NULL,
                  "Iterations of FISTA and of iterative hard thresholding; more iterations give more exact codes and "
                  "take more time."),

    INTEGER_FIELD(batch, "1024", 1, 65536, "samples", OPTIMIZER, ADVANCED, NULL,
                  "Samples of one update; larger batches give steadier gradients and fewer updates."),
    POSITIVE_FIELD(learning_rate, "3e-4", 0, 1, "", OPTIMIZER, ADVANCED, ADAM,
                   "Step size of Adam; a larger one trains faster until it diverges."),
    INTEGER_FIELD(alternations, "60", 1, 1000000, "updates", OPTIMIZER, ADVANCED, NULL,
                  "Updates of the dictionary by the learner fista, each from the codes of 1,024 samples; more updates "
                  "take more time and come nearer to the optimum."),
    BELOW_FIELD(
        decay, "0.2", 0, 1, "", OPTIMIZER, ADVANCED, ADAM,
        "Share of the training, at its end, in which the step size falls to 0; a larger share begins to fall earlier."),
    INTEGER_FIELD(total_samples, "5000000", 1, CONFIG_INT_MAX, "samples", OPTIMIZER, BASIC, NULL,
                  "Training samples; more samples take more time and recover more features."),
    INTEGER_FIELD(checkpoint_every, "1000000", 1, CONFIG_INT_MAX, "samples", OPTIMIZER, ADVANCED, NULL,
                  "Training samples between two checkpoints; a larger number stores fewer checkpoints, and a crash "
                  "loses more work."),
    INTEGER_FIELD(test_samples, "50000", 1, 100000000, "samples", EVALUATION, ADVANCED, NULL,
                  "New samples with which each finished dictionary is measured (of a data set, at most a tenth of the "
                  "rows); more samples make the figures more precise."),
    INTEGER_FIELD(pursuit_samples, "500", 0, 100000, "samples", EVALUATION, ADVANCED, NULL,
                  "Test samples whose codes are compared with those of FISTA, orthogonal matching pursuit and "
                  "iterative hard thresholding; more samples make the comparison more precise and take more time."),
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

enum status dictionary_resolve(void *config, const struct method_given *given, const char *data, struct error *err)
{
    struct dictionary_config *c = config;
    (void)given;
    if (c->source != SOURCE_DATASET)
        return STATUS_OK;
    return rows_resolve(data, c->dataset_name, c->dataset_hash, &c->inputs, err);
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

/* ---- earlier versions ---------------------------------------------------------------------------------------- */

static const struct {
    const char *list, *field;
} lists[] = {{"sources", "source"}, {"ps", "p"},           {"learners", "learner"},
             {"l0s", "l0"},         {"sizes", "features"}, {"dimensions", "inputs"},
             {"exponents", "zipf"}};
const char *const dictionary_former[] = {"sources", "ps", "learners", "l0s", "sizes", "dimensions", "exponents", NULL};

void dictionary_adapt(void *config, const struct method_stored *stored)
{
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        former_last(stored, lists[i].list, &dictionary_config_table, lists[i].field, config);
}
