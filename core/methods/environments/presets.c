/* Presets: the simulation with both encoders, the conditions under which the method fails, and tables. */
#include "core/methods/environments/config.h"

#define FIVE                                                                                                           \
    {                                                                                                                  \
        "seeds", "5"                                                                                                   \
    }
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
    {"data", "table"}, {"dataset_name", name}, {"baselines", "pooled,independent,no-penalty,none"}, {"batch", "256"},  \
    {                                                                                                                  \
        "seeds", "3"                                                                                                   \
    }
/* Presets for tables of cells. Their encoder is linear. A nonlinear encoder can recognise the type of a cell from its
 * features. The latent variables would then contain what differs between types, and not the edges of the tree. */
#define CELLS(name)                                                                                                    \
    TABLE(name), LINEAR, {"target", "planted"}, {"features", "30"}, {"sharpness", "0.3"},                              \
    {                                                                                                                  \
        NULL, NULL                                                                                                     \
    }

static const struct config_setting tree_linear[] = {
    FIVE, LINEAR, {"baselines", "no-penalty,pooled,none"}, {NULL, NULL}};
static const struct config_setting tree_mlp[] = {
    MLP, FIVE, {"baselines", "no-penalty,pooled,none"}, {"restarts", "12"}, {"screen_updates", "2000"}, {NULL, NULL}};
static const struct config_setting tree_dense[] = {
    FIVE, LINEAR, {"sweep", "density"}, {"values", "0.1,0.2,0.3,0.5"}, {NULL, NULL}};
static const struct config_setting tree_all[] = {FIVE, LINEAR, {"baselines", "all"}, {NULL, NULL}};
static const struct config_setting tree_penalty[] = {
    {"seeds", "3"}, LINEAR, {"sweep", "penalty"}, {"values", "0,1e-3,3e-3,1e-2,3e-2"}, {NULL, NULL}};
static const struct config_setting tree_corrupted[] = {
    {"seeds", "3"}, LINEAR, {"sweep", "corruption"}, {"values", "0,0.1,0.25,0.5,1"}, {NULL, NULL}};
static const struct config_setting tissues[] = {TABLE("tissues"), {"updates", "4000"}, {"factors", "4"},
                                                {"latent", "4"},  {"features", "12"},  {"sharpness", "0.3"},
                                                {NULL, NULL}};
static const struct config_setting cells[] = {CELLS("cells")};
static const struct config_setting cord_blood[] = {CELLS("cord-blood")};
static const struct config_setting dataset[] = {{"data", "table"},         {"features", "2000"}, {"latent", "0"},
                                                {"unseen", "0"},           {"batch", "256"},     {"updates", "4000"},
                                                {"learning_rate", "2e-2"}, {NULL, NULL}};
static const struct config_setting resistance[] = {
    TABLE("resistance"), {"updates", "4000"}, {"latent", "4"}, {"unseen", "60"}, {NULL, NULL}};

const struct method_preset environments_presets[ENVIRONMENTS_PRESETS] = {
    {"tree-linear",
     "32 environments, one changed weight for each edge and a linear encoder, with and without the penalty.",
     .settings = tree_linear},
    {"tree-mlp", "tree-linear with latent variables that are a nonlinear function of the inputs.",
     .settings = tree_mlp},
    {"tree-dense-changes", "tree-linear with more and more changed weights for each edge.", .settings = tree_dense},
    {"tree-baselines", "All baselines on the simulation of tree-linear.", .settings = tree_all},
    {"tree-penalty", "tree-linear with penalties from none to far too large.", .settings = tree_penalty},
    {"tree-corrupted", "tree-linear with more and more environments at wrong places of the tree.",
     .settings = tree_corrupted},
    {"tissues", "Gene expression of tissues with planted outcomes; reads the data set tissues.", .settings = tissues},
    {"cells", "Gene expression of cells by type with planted outcomes; reads the data set cells.", .settings = cells},
    {"cord-blood", "Gene expression of cord blood cells with planted outcomes; reads the data set cord-blood.",
     .settings = cord_blood},
    {"resistance", "Antibiotic resistance of bacteria along their phylogeny; reads the data set resistance.",
     .settings = resistance},
    {"dataset", "Your own table with groups (PUT /v1/datasets); the number of latent variables follows from the data.",
     .settings = dataset},
};
