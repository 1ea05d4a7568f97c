/* The field table: the one place that knows names, ranges, defaults and meanings. */
#include "core/methods/environments/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/philox.h"
#include "core/data/dataset.h"
#include "core/methods/shared/multi_start.h"

const char *const environments_baseline_names[] = {"none",       "no-penalty", "independent", "pooled",
                                                   "l1-weights", "l2-changes", "oracle",      NULL};
const char *const environments_sweep_names[] = {"none",    "penalty", "changes",    "density", "depth",
                                                "samples", "latent",  "corruption", "unseen",  NULL};
static const char *const data_names[] = {"simulated", "table", NULL};
static const char *const target_names[] = {"read", "planted", NULL};
static const char *const shape_names[] = {"complete", "caterpillar", "random", NULL};
static const char *const psi_names[] = {"linear", "tanh", NULL};
static const char *const encoder_names[] = {"linear", "mlp", NULL};
enum { STREAM_START = 0x73747274 };
#define baseline_names environments_baseline_names
#define sweep_names environments_sweep_names

#define AT(member) offsetof(struct environments_config, member)
#define INTEGER(name, preset, low, high, unit, meaning)                                                                \
    {                                                                                                                  \
#name, FIELD_INT, AT(name), preset, low, high, false, false, NULL, unit, meaning, GROUP_DATA, LEVEL_ADVANCED,  \
            NULL                                                                                                       \
    }
#define REAL_IN(name, preset, low, high, low_open, high_open, meaning)                                                 \
    {                                                                                                                  \
#name, FIELD_REAL, AT(name), preset, low, high, low_open, high_open, NULL, "", meaning, GROUP_DATA,            \
            LEVEL_ADVANCED, NULL                                                                                       \
    }
#define CHOICE(name, preset, meaning)                                                                                  \
    {                                                                                                                  \
#name, FIELD_CHOICE, AT(name), preset, 0, 0, false, false, name##_names, "", meaning, GROUP_DATA,              \
            LEVEL_ADVANCED, NULL                                                                                       \
    }
#define SWITCH(name, preset, meaning)                                                                                  \
    {                                                                                                                  \
#name, FIELD_BOOL, AT(name), preset, 0, 0, false, false, NULL, "", meaning, GROUP_DATA, LEVEL_ADVANCED, NULL   \
    }
#define TEXT(name, meaning)                                                                                            \
    {                                                                                                                  \
#name, FIELD_TEXT, AT(name), "", 0, 0, false, false, NULL, "", meaning, GROUP_DATA, LEVEL_ADVANCED, NULL       \
    }

const struct config_field environments_fields[ENVIRONMENTS_FIELDS] = {
    INTEGER(seed, "1", 0, CONFIG_INT_MAX, "", "seed of data, initial weights and the order of rows"),
    INTEGER(threads, "0", 0, 256, "threads",
            "threads of this job; 0 leaves it to the daemon. Results do not depend on it"),

    CHOICE(baseline, "none",
           "none: sparse changes along a tree; or without the penalty, a head an environment, one head for all, sparse "
           "heads, small changes, or the true latent variables given"),
    CHOICE(data, "simulated", "a simulation, or a table that is read"),
    TEXT(source, "name of the data set that a table is read from, with its tree"),
    TEXT(dataset_hash, "beginning of the SHA-256 of what was uploaded under that name; it is found out on submission"),
    CHOICE(target, "read",
           "tables: the outcome in the table if there is one, or latent variables and outcomes that are planted"),
    INTEGER(features, "100", 1, 100000, "features", "tables: those of the largest variance, at most"),
    REAL_IN(test_share, "0.3", 0, 0.9, true, false, "tables: rows of each environment that are held out"),

    CHOICE(shape, "complete", "simulation: the tree, of `children` and `depth`, or of `leaves`"),
    INTEGER(depth, "5", 1, 12, "edges", "complete tree: edges from root to leaf"),
    INTEGER(children, "2", 1, 64, "nodes", "complete tree: children of a node"),
    INTEGER(leaves, "32", 2, 4096, "leaves", "other trees"),
    INTEGER(inputs, "20", 1, 4096, "inputs", "simulation: width of x"),
    INTEGER(factors, "6", 1, 256, "factors", "true latent variables"),
    CHOICE(psi, "linear", "simulation: how latent variables come from x"),
    INTEGER(changes, "1", 0, 256, "weights", "weights that change on an arc"),
    REAL_IN(density, "0", 0, 1, false, false, "above 0: each weight changes with this probability instead"),
    REAL_IN(noise, "0.1", 0, 100, false, false, "deviation of the outcome's noise"),
    INTEGER(samples, "200", 2, 1000000, "rows", "simulation: rows of training of an environment"),
    INTEGER(test_samples, "200", 2, 1000000, "rows", "simulation: rows of test of an environment"),
    REAL_IN(corruption, "0", 0, 1, false, false,
            "share of the environments that change places in the tree the model is given"),

    CHOICE(encoder, "linear", "from x to the latent variables: a matrix, or two hidden layers"),
    INTEGER(latent, "6", 1, 256, "variables", "latent variables of the model"),
    INTEGER(hidden, "64", 1, 4096, "units", "width of the hidden layers"),
    REAL_IN(penalty, "0.01", 0, 1e6, false, false,
            "weight of the sum of absolute changes against the squared error of a row"),
    REAL_IN(sharpness, "0", 0, 1e6, false, false,
            "above 0: later in training a change of size d counts sharpness / (sharpness + d) times, nearly the "
            "number of "
            "changes; 0: their sizes"),
    SWITCH(unit_variance, "true",
           "latent variables are scaled to variance 1, without which the penalty can be escaped"),
    SWITCH(merge_root, "true", "the two edges at a root without data are one: data cannot tell them apart"),
    SWITCH(refit, "true", "after training, what is not zero is fitted again without the penalty"),
    INTEGER(unseen, "4", 0, 4096, "environments",
            "held out as a whole, no two with the same parent where that is possible"),
    INTEGER(fit_samples, "20", 0, 100000, "rows", "of an unseen environment, for fitting its own change; 0: none"),
    REAL_IN(fit_penalty, "0.1", 0, 1e6, false, false, "weight of the absolute change in that"),
    REAL_IN(found_above, "0.05", 0, 1e6, false, false, "size from which a change counts as found"),

    CHOICE(sweep, "none", "field that takes the numbers of `values`, one after another"),
    TEXT(values, "sweep: its values, as \"0.001,0.01\""),
    TEXT(baselines, "to compare, as \"pooled,none\", or \"all\"; empty: baseline"),
    INTEGER(seeds, "1", 1, 100, "seeds", "repetitions, with seeds that follow one another"),

    INTEGER(batch, "1024", 2, 65536, "rows", "rows of one optimiser update"),
    INTEGER(updates, "8000", 1, 10000000, "updates", "of each fit"),
    INTEGER(restarts, "1", 1, MULTI_START_MOST, "fits",
            "fits from different starts, of which the one with the least objective is kept"),
    INTEGER(screen_updates, "0", 0, 10000000, "updates",
            "updates after which that is decided, and the others end; 0: at the end"),
    REAL_IN(learning_rate, "0.005", 0, 10, true, false, "Adam's step size; it falls in the last two fifths"),

    INTEGER(total_samples, "1000000000", 1, CONFIG_INT_MAX, "samples", "cap on training samples of each fit"),
    INTEGER(checkpoint_every, "1000000", 1, CONFIG_INT_MAX, "samples", "training samples between checkpoints"),
};

const struct config_table environments_config_table = CONFIG_TABLE(environments_fields, struct environments_config);

/* ---- cases -------------------------------------------------------------------------------------------- */

/* Values with commas between; -1 where the text is none. */
static int numbers_in(const char *text, double values[ENVIRONMENTS_LIST])
{
    int count = 0;
    char *end;
    for (const char *at = text; *at; at = *end ? end + 1 : end) {
        double value = strtod(at, &end);
        if (end == at || (*end && *end != ',') || (*end == ',' && !end[1]) || !isfinite(value) ||
            count == ENVIRONMENTS_LIST)
            return -1;
        values[count++] = value;
    }
    return count;
}

/* "all" ends with the method itself, whose pictures are the run's. */
static int baselines_in(const char *text, int indices[ENVIRONMENTS_LIST])
{
    static const int all[BASELINES] = {BASELINE_POOLED,     BASELINE_INDEPENDENT, BASELINE_NO_PENALTY,
                                       BASELINE_L1_WEIGHTS, BASELINE_L2_CHANGES,  BASELINE_ORACLE,
                                       BASELINE_NONE};
    int count = 0;
    if (strcmp(text, "all") == 0) {
        memcpy(indices, all, sizeof all);
        return BASELINES;
    }
    for (const char *at = text; *at;) {
        size_t bytes = strcspn(at, ",");
        int found = -1;
        for (int i = 0; baseline_names[i]; i++)
            if (strlen(baseline_names[i]) == bytes && memcmp(baseline_names[i], at, bytes) == 0)
                found = i;
        if (found < 0 || count == ENVIRONMENTS_LIST || (at[bytes] && !at[bytes + 1]))
            return -1;
        indices[count++] = found;
        at += bytes + (at[bytes] != 0);
    }
    return count;
}

int environments_cases(const struct environments_config *c, struct environments_case *cases)
{
    double values[ENVIRONMENTS_LIST] = {NAN};
    int baselines[ENVIRONMENTS_LIST] = {c->baseline}, count = 0;
    int value_count = c->sweep == SWEEP_NONE ? 1 : numbers_in(c->values, values);
    int baseline_count = c->baselines[0] ? baselines_in(c->baselines, baselines) : 1;
    for (int v = 0; v < value_count; v++)
        for (int64_t s = 0; s < c->seeds; s++)
            for (int b = 0; b < baseline_count; b++, count++)
                if (cases && count < ENVIRONMENTS_CASES)
                    cases[count] = (struct environments_case){baselines[b], values[v], c->seed + s};
    return count;
}

/* The field that a sweep sets. */
static const char *swept(int sweep)
{
    return environments_sweep_names[sweep];
}

struct environments_config environments_of_case(const struct environments_config *config,
                                                const struct environments_case *c)
{
    struct environments_config own = *config;
    struct error ignored = {0}; /* ranges were checked with the configuration */
    own.baseline = c->baseline;
    own.seed = c->seed;
    if (config->sweep != SWEEP_NONE)
        config_set_number(config_find(&environments_config_table, swept(config->sweep)), &own, c->value, &ignored);
    return own;
}

/* Of initial weights and batches; the first start's is that of the data. */
static uint64_t start_seed(const struct environments_config *c, int restart)
{
    struct philox from = philox_stream((uint64_t)c->seed, STREAM_START, 0);
    return restart ? (uint64_t)philox_u32(&from, (uint64_t)restart) : (uint64_t)c->seed;
}

struct fit_setup environments_setup(const struct environments_config *c, int features, int restart)
{
    static const enum fit_penalty penalties[BASELINES] = {PENALTY_L1, PENALTY_NONE, PENALTY_NONE, PENALTY_NONE,
                                                          PENALTY_L1, PENALTY_L2,   PENALTY_L1};
    bool oracle = c->baseline == BASELINE_ORACLE;
    int64_t most = c->total_samples / c->batch;
    return (struct fit_setup){
        .encoder = oracle ? ENCODER_GIVEN : (enum fit_encoder)c->encoder,
        .features = features,
        .latent = (int)(oracle ? c->factors : c->latent),
        .hidden = (int)c->hidden,
        .unit_variance = c->unit_variance,
        .penalty = penalties[c->baseline],
        .weight = c->penalty,
        .sharpness = c->sharpness,
        .learning_rate = c->learning_rate,
        .batch = (int)c->batch,
        .updates = c->updates < most ? c->updates
                   : most < 1        ? 1
                                     : most,
        .seed = start_seed(c, restart),
    };
}

/* ---- faults ------------------------------------------------------------------------------------------- */

static void check_sweep(const struct environments_config *c, const struct method_faults *faults)
{
    double values[ENVIRONMENTS_LIST];
    int count = numbers_in(c->values, values);
    if (c->sweep == SWEEP_NONE && c->values[0])
        faults->add(faults->context, "values", "has no meaning without a sweep");
    if (c->sweep != SWEEP_NONE && count < 1)
        faults->add(faults->context, "values", "must be numbers with commas between");
    for (int i = 0; c->sweep != SWEEP_NONE && i < count; i++) {
        struct environments_config own = *c;
        struct error wrong = {0};
        if (config_set_number(config_find(&environments_config_table, swept(c->sweep)), &own, values[i], &wrong))
            method_fault(faults, "values", "%s %s", swept(c->sweep), wrong.message);
    }
}

static double tree_nodes(const struct environments_config *c)
{
    double nodes = 1, row = 1;
    for (int64_t d = 0; d < c->depth; d++)
        nodes += row *= (double)c->children;
    return c->shape == SHAPE_COMPLETE ? nodes : 2 * (double)c->leaves - 1;
}

static double tree_leaves_of(const struct environments_config *c)
{
    return c->shape == SHAPE_COMPLETE ? pow((double)c->children, (double)c->depth) : (double)c->leaves;
}

static void check_tree(const struct environments_config *c, const struct method_faults *faults)
{
    if (tree_nodes(c) > TREE_NODES_MOST)
        method_fault(faults, "depth", "makes a tree of %.0f nodes; at most %d", tree_nodes(c), TREE_NODES_MOST);
    if ((double)c->unseen > tree_leaves_of(c) - 2)
        method_fault(faults, "unseen", "must leave two of the %.0f environments; got %.0f", tree_leaves_of(c),
                     (double)c->unseen);
    if (c->fit_samples >= c->test_samples)
        method_fault(faults, "fit_samples", "must be below test_samples (%.0f); got %.0f", (double)c->test_samples,
                     (double)c->fit_samples);
    if (tree_leaves_of(c) * (double)(c->samples + c->test_samples) * (double)c->inputs > 4e8)
        faults->add(faults->context, "samples", "makes a simulation of more than 400 million numbers");
    if (c->changes > c->factors)
        method_fault(faults, "changes", "must be at most factors (%.0f); got %.0f", (double)c->factors,
                     (double)c->changes);
}

void environments_check(const void *config, const struct method_faults *faults)
{
    const struct environments_config *c = config;
    int indices[ENVIRONMENTS_LIST];
    bool table = c->data == DATA_TABLE;
    if (baselines_in(c->baselines, indices) < 0)
        faults->add(faults->context, "baselines", "must be names of baselines with commas between, or all");
    check_sweep(c, faults);
    if (table && !dataset_name_good(c->source))
        faults->add(faults->context, "source",
                    "must be the name of a data set: small letters, digits, '.', '-' and '_'");
    if (table && (c->sweep == SWEEP_DEPTH || c->sweep == SWEEP_SAMPLES))
        faults->add(faults->context, "sweep", "must be of something that a table leaves open");
    if (!table)
        check_tree(c, faults);
    if (environments_cases(c, NULL) > ENVIRONMENTS_CASES)
        method_fault(faults, "seeds", "makes %d cases with these lists; at most %d", environments_cases(c, NULL),
                     ENVIRONMENTS_CASES);
}

/* ---- cost --------------------------------------------------------------------------------------------- */

static double encoder_weights(const struct environments_config *c, int features)
{
    double d = features, k = (double)c->latent, h = (double)c->hidden;
    return c->encoder == ENCODER_MLP ? d * h + h * h + h * k : d * k;
}

/* Of training a row. */
static double flops_of(const struct environments_config *c, int features)
{
    return 6 * encoder_weights(c, features) + 12 * (double)c->latent + 200; /* 200: drawing and copying a row */
}

enum { TABLE_ROWS = 5000, TABLE_NODES = 200 }; /* taken for granted where a table has not been read */

/* Of all restarts of a case together. */
static double updates_of(const struct environments_config *c, const struct fit_setup *setup)
{
    double all = (double)setup->updates, together = fmin((double)c->screen_updates, all);
    return all + (double)(c->restarts - 1) * (together > 0 ? together : all);
}

enum status environments_estimate(const void *config, struct method_estimate *out, struct error *err)
{
    const struct environments_config *c = config;
    struct environments_case *cases = calloc(ENVIRONMENTS_CASES, sizeof *cases);
    if (!cases)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for cases");
    int count = environments_cases(c, cases);
    double flops = 0, samples = 0, weights = 0, rows = 0;
    for (int i = 0; i < count && i < ENVIRONMENTS_CASES; i++) {
        struct environments_config own = environments_of_case(c, &cases[i]);
        bool table = own.data == DATA_TABLE;
        int features = (int)(table ? own.features : own.inputs);
        struct fit_setup setup = environments_setup(&own, features, 0);
        double seen = updates_of(&own, &setup) * setup.batch;
        flops += seen * flops_of(&own, features);
        samples += seen;
        weights = fmax(weights,
                       encoder_weights(&own, features) + (table ? TABLE_NODES : tree_nodes(&own)) * (double)own.latent);
        rows = fmax(rows, (table ? TABLE_ROWS : tree_leaves_of(&own) * (double)(own.samples + own.test_samples)) *
                              (features + 2 * (double)own.latent));
    }
    free(cases);
    if (count < 1)
        return error_set(err, STATUS_INVALID, NULL, "no list of cases");
    *out = (struct method_estimate){
        .parameters = (int64_t)weights,
        .flops_per_sample = flops / samples,
        .memory_bytes =
            (int64_t)(4 * rows +
                      (double)c->restarts * (16 * weights + 64.0 * (double)c->batch * (double)(c->hidden + c->latent))),
        .checkpoint_bytes = (int64_t)(12 * weights * (double)c->restarts) + 8192 + 128 * (int64_t)count,
        .samples = (int64_t)samples,
        .gflops = c->encoder == ENCODER_LINEAR ? 2 : 10, /* small products */
    };
    return STATUS_OK;
}
