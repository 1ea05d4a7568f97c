/* The configuration of the environments method: the table of its fields (names, ranges, defaults, meanings), and the
 * checks that concern several fields. */
#include "core/methods/environments/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/data/dataset.h"
#include "core/methods/shared/fields.h"
#include "core/methods/shared/former.h"
#include "core/methods/shared/multi_start.h"

static const char *const baseline_names[] = {"none",       "no-penalty", "independent", "pooled",
                                             "l1-weights", "l2-changes", "oracle",      NULL};
static const char *const data_names[] = {"simulated", "table", NULL};
static const char *const target_names[] = {"read", "planted", NULL};
static const char *const shape_names[] = {"complete", "caterpillar", "random", NULL};
static const char *const psi_names[] = {"linear", "tanh", NULL};
static const char *const encoder_names[] = {"linear", "mlp", NULL};
enum { STREAM_START = 0x73747274 };

#define FIELD_STRUCT struct environments_config
#define SIMULATED "data=simulated"

const struct config_field environments_fields[ENVIRONMENTS_FIELDS] = {
    SEED_AND_THREADS_FIELDS("the data, the initial weights and the order of rows"),

    CHOICE_FIELD(baseline, "none", MODEL, BASIC, NULL,
                 "Model to fit: none is the method itself (sparse changes along the tree); the baselines have no "
                 "penalty, fit each environment alone (independent), fit one head for all (pooled), penalise weights "
                 "or squared changes instead, or know the true latent variables (oracle)."),
    CHOICE_FIELD(data, "simulated", DATA, BASIC, NULL, "Data: simulated, or an uploaded table with its tree."),
    TEXT_FIELD(dataset_name, "", DATA, BASIC, "data=table",
               "Name of the data set that holds the table and, as its groups, the tree."),
    TEXT_FIELD(dataset_hash, "", DATA, RESEARCH, "data=table",
               "First 40 digits of the hash of the data set's bytes and upload options, which the daemon fills in at "
               "submission, so that the job never continues with other data."),
    CHOICE_FIELD(
        target, "read", DATA, ADVANCED, "data=table",
        "Outcome: that of the table if it has one (read), or one that the run plants with known latent variables."),
    INTEGER_FIELD(
        features, "100", 1, 100000, "features", DATA, BASIC, "data=table",
        "Largest number of features to keep, those of the largest variance first; more features take more time."),
    POSITIVE_FIELD(test_share, "0.3", 0, 0.9, "", EVALUATION, ADVANCED, "data=table",
                   "Fraction of the rows of each environment that is held out for the evaluation; a larger one makes "
                   "the errors more precise and leaves fewer training rows."),

    CHOICE_FIELD(
        shape, "complete", DATA, RESEARCH, SIMULATED,
        "Tree of the simulation: complete with `children` and `depth`, a caterpillar, or random with `leaves`."),
    INTEGER_FIELD(depth, "5", 1, 12, "edges", DATA, ADVANCED, SIMULATED " shape=complete",
                  "Edges from the root to a leaf; one more multiplies the environments by `children`."),
    INTEGER_FIELD(children, "2", 1, 64, "nodes", DATA, RESEARCH, SIMULATED " shape=complete",
                  "Children of each node; more children give more environments at each level."),
    INTEGER_FIELD(leaves, "32", 2, 4096, "leaves", DATA, RESEARCH, SIMULATED " shape=caterpillar|random",
                  "Leaves of the tree, each of which is an environment; more leaves take more time."),
    INTEGER_FIELD(inputs, "20", 1, 4096, "inputs", DATA, RESEARCH, SIMULATED,
                  "Number of columns of the simulated input x; more columns make the latent variables harder to find."),
    INTEGER_FIELD(
        factors, "6", 1, 256, "factors", DATA, RESEARCH, NULL,
        "Number of true latent variables of simulated or planted data; a larger number makes them harder to find."),
    CHOICE_FIELD(psi, "linear", DATA, RESEARCH, SIMULATED, "Map from x to the true latent variables: linear, or tanh."),
    INTEGER_FIELD(changes, "1", 0, 256, "weights", DATA, ADVANCED, NULL,
                  "Number of weights that change on each edge of simulated or planted data; a larger number violates "
                  "the assumption of the method, which expects few changes."),
    REAL_FIELD(density, "0", 0, 1, "", DATA, RESEARCH, NULL,
               "Probability with which each weight changes on an edge, instead of the fixed number `changes`; a larger "
               "one makes changes less sparse, and 0 uses `changes`."),
    REAL_FIELD(noise, "0.1", 0, 100, "", DATA, RESEARCH, NULL,
               "Standard deviation of the noise on the outcome; more noise makes changes harder to find."),
    INTEGER_FIELD(samples, "200", 2, 1000000, "rows", DATA, ADVANCED, SIMULATED,
                  "Training rows of each environment; more rows make changes easier to find."),
    INTEGER_FIELD(test_samples, "200", 2, 1000000, "rows", EVALUATION, RESEARCH, SIMULATED,
                  "Test rows of each environment; more rows make the errors more precise."),
    REAL_FIELD(corruption, "0", 0, 1, "", DATA, RESEARCH, NULL,
               "Fraction of the environments that the run moves to wrong places of the tree before it trains; a larger "
               "one makes the tree less useful."),

    CHOICE_FIELD(encoder, "linear", MODEL, BASIC, NULL,
                 "Map from x to the latent variables: a matrix, or a network with two hidden layers (mlp)."),
    INTEGER_FIELD(latent, "6", 0, 256, "variables", MODEL, BASIC, NULL,
                  "Number of latent variables of the model; more variables explain more and are harder to identify, "
                  "and 0 takes the number of principal components of an uploaded table that are above noise."),
    INTEGER_FIELD(hidden, "64", 1, 4096, "units", MODEL, ADVANCED, "encoder=mlp",
                  "Width of the two hidden layers; wider layers fit more complex maps and take more time."),
    REAL_FIELD(
        penalty, "0.01", 0, 1e6, "", SPARSITY, BASIC, NULL,
        "Weight of the sum of absolute changes against the squared error of a row; a larger one keeps fewer changes."),
    REAL_FIELD(sharpness, "0", 0, 1e6, "", SPARSITY, ADVANCED, NULL,
               "Size of a change above which the penalty, late in training, hardly grows with the change; a larger one "
               "makes the penalty more like the sum of absolute changes, and 0 uses this sum."),
    FLAG_FIELD(unit_variance, "true", MODEL, RESEARCH, NULL,
               "Whether latent variables are scaled to variance 1; otherwise the model can evade the penalty by "
               "scaling them up."),
    FLAG_FIELD(merge_root, "true", MODEL, RESEARCH, NULL,
               "Whether the two edges at a root without data count as one, because the data cannot distinguish them."),
    FLAG_FIELD(refit, "true", OPTIMIZER, ADVANCED, NULL,
               "Whether the run fits the weights that are not zero once more after training, without the penalty, to "
               "remove the penalty's bias."),
    INTEGER_FIELD(unseen, "4", 0, 4096, "environments", EVALUATION, ADVANCED, NULL,
                  "Number of environments that are held out as a whole, if possible no two with the same parent; more "
                  "of them make the error for new environments more precise and leave fewer for training."),
    INTEGER_FIELD(fit_samples, "20", 0, 100000, "rows", EVALUATION, RESEARCH, NULL,
                  "Rows of a held-out environment from which the evaluation fits its change; more rows make this fit "
                  "easier, and 0 fits no change."),
    REAL_FIELD(
        fit_penalty, "0.1", 0, 1e6, "", EVALUATION, RESEARCH, NULL,
        "Weight of the absolute change in that fit; a larger one keeps the held-out environment closer to its parent."),
    REAL_FIELD(found_above, "0.05", 0, 1e6, "", EVALUATION, ADVANCED, NULL,
               "Minimum size of a change that counts as found; a larger one reports fewer changes."),

    INTEGER_FIELD(
        batch, "1024", 2, 65536, "rows", OPTIMIZER, ADVANCED, NULL,
        "Rows of one optimiser update; larger batches give steadier gradients and take more time for each update."),
    INTEGER_FIELD(updates, "8000", 1, 10000000, "updates", OPTIMIZER, BASIC, NULL,
                  "Optimiser updates of each fit; more updates take more time and come nearer to the optimum."),
    POSITIVE_FIELD(learning_rate, "0.005", 0, 10, "", OPTIMIZER, BASIC, NULL,
                   "Step size of Adam, which falls in the last two fifths of training; a larger one trains faster "
                   "until it diverges."),
    FIT_FIELDS(screen_updates, "updates", 10000000, "1000000"),
};

const struct config_table environments_config_table = CONFIG_TABLE(environments_fields, struct environments_config);

/* ---- the fit ------------------------------------------------------------------------------------------ */

/* Seed of the initial weights and batches. The first restart uses the seed of the data. */
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

enum edge_shape environments_edge_shape(int baseline)
{
    if (baseline == BASELINE_POOLED)
        return EDGES_NONE;
    return baseline == BASELINE_INDEPENDENT || baseline == BASELINE_L1_WEIGHTS ? EDGES_STAR : EDGES_TREE;
}

bool environments_refits(const struct environments_config *c)
{
    return c->refit && c->baseline != BASELINE_NO_PENALTY && c->baseline != BASELINE_L2_CHANGES;
}

/* ---- faults ------------------------------------------------------------------------------------------- */

double environments_nodes(const struct environments_config *c)
{
    double nodes = 1, row = 1;
    for (int64_t d = 0; d < c->depth; d++)
        nodes += row *= (double)c->children;
    return c->shape == SHAPE_COMPLETE ? nodes : 2 * (double)c->leaves - 1;
}

double environments_leaves(const struct environments_config *c)
{
    return c->shape == SHAPE_COMPLETE ? pow((double)c->children, (double)c->depth) : (double)c->leaves;
}

static void check_tree(const struct environments_config *c, const struct method_faults *faults)
{
    if (environments_nodes(c) > TREE_NODES_MOST)
        method_fault(faults, "depth", "makes a tree of %.0f nodes; at most %d are allowed", environments_nodes(c),
                     TREE_NODES_MOST);
    if ((double)c->unseen > environments_leaves(c) - 2)
        method_fault(faults, "unseen", "must leave two of the %.0f environments; got %.0f", environments_leaves(c),
                     (double)c->unseen);
    if (c->fit_samples >= c->test_samples)
        method_fault(faults, "fit_samples", "must be below test_samples (%.0f); got %.0f", (double)c->test_samples,
                     (double)c->fit_samples);
    if (environments_leaves(c) * (double)(c->samples + c->test_samples) * (double)c->inputs > 4e8)
        faults->add(faults->context, "samples", "makes a simulation of more than 400 million numbers");
    if (c->changes > c->factors)
        method_fault(faults, "changes", "must be at most factors (%.0f); got %.0f", (double)c->factors,
                     (double)c->changes);
}

void environments_check(const void *config, const struct method_faults *faults)
{
    const struct environments_config *c = config;
    bool table = c->data == DATA_TABLE;
    if (table && c->dataset_name[0] != '\0' && !dataset_name_good(c->dataset_name)) /* resolve() refuses "" */
        faults->add(faults->context, "dataset_name",
                    "must be the name of a data set: small letters, digits, '.', '-' and '_'");
    if (c->latent == 0 && !table)
        faults->add(faults->context, "latent", "must be at least 1 for a simulation");
    if (!table)
        check_tree(c, faults);
}

/* ---- earlier versions --------------------------------------------------------------------------------- */

const char *const environments_former[] = {"sweep", "values", "baselines", "seeds", NULL};

void environments_adapt(void *config, const struct method_stored *stored)
{
    struct environments_config *c = config;
    const char *sweep = former_text(stored, "sweep"), *seeds = former_text(stored, "seeds");
    if (strcmp(former_text(stored, "baselines"), "all") == 0)
        c->baseline = BASELINE_NONE; /* the last one of all */
    else
        former_last(stored, "baselines", &environments_config_table, "baseline", config);
    if (sweep[0] != '\0' && strcmp(sweep, "none") != 0)
        former_last(stored, "values", &environments_config_table, sweep, config);
    if (seeds[0] != '\0')
        c->seed += atoll(seeds) - 1;
}
