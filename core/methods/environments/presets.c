/* Presets: the simulation with both encoders, the conditions under which the method fails, and tables. All but
 * `dataset` are studies. */
#include "core/methods/environments/config.h"

#define LINEAR                                                                                                         \
    {"learning_rate", "2e-2"},                                                                                         \
    {                                                                                                                  \
        "updates", "12000"                                                                                             \
    }
#define MLP                                                                                                            \
    {"encoder", "mlp"}, {"psi", "tanh"}, {"inputs", "10"}, {"samples", "1000"}, {"learning_rate", "1e-2"},             \
    {                                                                                                                  \
        "updates", "8000"                                                                                              \
    }
#define TABLE(name)                                                                                                    \
    {"data", "table"}, {"dataset_name", name}, {"scale", "published"},                                                 \
    {                                                                                                                  \
        "batch", "256"                                                                                                 \
    }
/* Presets for tables of cells. Their encoder is linear. A nonlinear encoder can recognise the type of a cell from its
 * features. The latent variables would then contain what differs between types, and not the edges of the tree. */
#define CELLS(name)                                                                                                    \
    TABLE(name), LINEAR, {"target", "planted"}, {"features", "30"}, {"sharpness", "0.3"},                              \
    {                                                                                                                  \
        NULL, NULL                                                                                                     \
    }

static const struct config_setting tree_linear[] = {LINEAR, {NULL, NULL}};
static const struct config_setting tree_mlp[] = {MLP, {"restarts", "12"}, {"screen_updates", "2000"}, {NULL, NULL}};

static const struct method_axis three[] = {{"baseline", "no-penalty pooled none"}, {NULL, NULL}};
static const struct method_axis four[] = {{"baseline", "pooled independent no-penalty none"}, {NULL, NULL}};
static const struct method_axis all[] = {
    {"baseline", "pooled independent no-penalty l1-weights l2-changes oracle none"}, {NULL, NULL}};
static const struct method_axis densities[] = {{"density", "0.1 0.2 0.3 0.5"}, {NULL, NULL}};
static const struct method_axis penalties[] = {{"penalty", "0 1e-3 3e-3 1e-2 3e-2"}, {NULL, NULL}};
static const struct method_axis corruptions[] = {{"corruption", "0 0.1 0.25 0.5 1"}, {NULL, NULL}};

static const struct config_setting tissues[] = {TABLE("tissues"), {"updates", "4000"}, {"factors", "4"},
                                                {"latent", "4"},  {"features", "12"},  {"sharpness", "0.3"},
                                                {NULL, NULL}};
static const struct config_setting cells[] = {CELLS("cell-types")};
static const struct config_setting cord_blood[] = {CELLS("cord-blood")};
static const struct config_setting dataset[] = {{"data", "table"},         {"features", "2000"}, {"latent", "0"},
                                                {"unseen", "0"},           {"batch", "256"},     {"updates", "4000"},
                                                {"learning_rate", "2e-2"}, {NULL, NULL}};
static const struct config_setting resistance[] = {
    TABLE("resistance"), {"updates", "4000"}, {"latent", "4"}, {"unseen", "60"}, {NULL, NULL}};

const struct method_preset environments_presets[ENVIRONMENTS_PRESETS] = {
    {"tree-linear",
     "32 environments, one changed weight for each edge and a linear encoder, with and without the penalty.",
     .settings = tree_linear, .grid = three, .seeds = 5},
    {"tree-mlp", "tree-linear with latent variables that are a nonlinear function of the inputs.", .settings = tree_mlp,
     .grid = three, .seeds = 5},
    {"tree-dense-changes", "tree-linear with more and more changed weights for each edge.", .settings = tree_linear,
     .grid = densities, .seeds = 5},
    {"tree-baselines", "All baselines on the simulation of tree-linear.", .settings = tree_linear, .grid = all,
     .seeds = 5},
    {"tree-penalty", "tree-linear with penalties from none to far too large.", .settings = tree_linear,
     .grid = penalties, .seeds = 3},
    {"tree-corrupted", "tree-linear with more and more environments at wrong places of the tree.",
     .settings = tree_linear, .grid = corruptions, .seeds = 3},
    {"tissues", "Gene expression of tissues with planted outcomes; reads the data set tissues.", .settings = tissues,
     .grid = four, .seeds = 3},
    {"cells", "Gene expression of cells by type with planted outcomes; reads the data set cell-types.",
     .settings = cells, .grid = four, .seeds = 3},
    {"cord-blood", "Gene expression of cord blood cells with planted outcomes; reads the data set cord-blood.",
     .settings = cord_blood, .grid = four, .seeds = 3},
    {"resistance", "Antibiotic resistance of bacteria along their phylogeny; reads the data set resistance.",
     .settings = resistance, .grid = four, .seeds = 3},
    {"dataset", "Your own table with groups (PUT /v1/datasets); the number of latent variables follows from the data.",
     .settings = dataset},
};
