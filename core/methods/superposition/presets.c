/* Presets: the paper's figures, at sizes that two cores compute in minutes. Those with a grid are studies. */
#include "core/methods/superposition/config.h"

static const struct config_setting fig3[] = {
    {"learning_rate", "1e-2"}, {"stop", "never"}, {"total_samples", "3000000"}, {NULL, NULL}};
static const struct config_setting fig3_paper[] = {{NULL, NULL}};
static const struct config_setting rug[] = {{"model", "rug"}, {"n_s", "256"}, {"n_d", "40"}, {NULL, NULL}};
static const struct config_setting rug_large[] = {
    {"model", "rug"}, {"n_s", "1048576"}, {"test_samples", "200"}, {NULL, NULL}};

static const struct config_setting loss_curve[] = {
    {"learning_rate", "1e-2"}, {"stop", "never"},         {"batch", "256"}, {"total_samples", "700000"},
    {"p", "0.044001"},         {"test_samples", "10000"}, {"draws", "4"},   {NULL, NULL}};
static const struct method_axis loss_curve_grid[] = {
    {"model", "rug trained"}, {"n_s", "128 512 1024"}, {"ratio", "0.1 0.254001 0.5"}, {NULL, NULL}};

static const struct config_setting loss_p[] = {{"model", "rug"}, {"test_samples", "4000"}, {NULL, NULL}};
static const struct method_axis loss_p_grid[] = {{"n_s", "512 8192"},
                                                 {"p", "0.002001 0.01 0.044001 0.1 0.2 0.4 0.6 0.8"},
                                                 {"ratio", "0.1 0.3 0.5 0.8"},
                                                 {NULL, NULL}};

static const struct config_setting symmetry[] = {{"learning_rate", "1e-2"},
                                                 {"stop", "never"},
                                                 {"total_samples", "1000000"},
                                                 {"test_samples", "10000"},
                                                 {NULL, NULL}};
static const struct method_axis symmetry_grid[] = {{"n_s", "64 128 256"},
                                                   {"p", "0.02 0.1 0.18 0.26 0.34 0.42 0.5"},
                                                   {"ratio", "0.1 0.216667 0.333333 0.45 0.566667 0.683333 0.8"},
                                                   {NULL, NULL}};

static const struct config_setting scaling[] = {
    {"model", "rug"}, {"n_s", "65536"}, {"test_samples", "400"}, {NULL, NULL}};
static const struct method_axis scaling_grid[] = {
    {"p", "1e-4 3e-4 1e-3 3e-3 1e-2 5e-2 0.2 0.6"}, {"ratio", "0.001 0.01 0.1"}, {NULL, NULL}};

static const struct config_setting activations[] = {{"relu_updates", "500"},
                                                    {"n_s", "256"},
                                                    {"learning_rate", "1e-2"},
                                                    {"stop", "never"},
                                                    {"total_samples", "1000000"},
                                                    {"test_samples", "20000"},
                                                    {NULL, NULL}};
static const struct method_axis activations_grid[] = {
    {"activation", "relu threshold k-sparse gated"}, {"ratio", "0.1 0.254001 0.5"}, {NULL, NULL}};

/* The user's own features. */
static const struct config_setting dataset[] = {
    {"ratio", "0.3"}, {"learning_rate", "1e-2"},    {"stop", "never"},
    {"batch", "256"}, {"total_samples", "1000000"}, {"test_samples", "20000"},
    {NULL, NULL}};

const struct method_preset superposition_presets[SUPERPOSITION_PRESETS] = {
    {"fig3", "Fig. 3: 512 features in 130 dimensions, at a higher learning rate than the paper's.", .settings = fig3},
    {"fig3-paper", "Fig. 3 with the published learning rate and stop rule.", .settings = fig3_paper},
    {"rug", "Fig. 1: an artificial rug of 256 features in 40 dimensions.", .settings = rug},
    {"rug-large", "An artificial rug of 2^20 features, whose matrix would take 4 TiB.", .settings = rug_large},
    {"loss-curve",
     "Loss against n_d/n_s: trained and artificial weights of three sizes, closed form, best linear map, bounds.",
     .settings = loss_curve, .grid = loss_curve_grid},
    {"loss-p", "Loss against p at four ratios: rugs of two sizes and the closed form.", .settings = loss_p,
     .grid = loss_p_grid},
    {"symmetry", "Symmetry of trained weights over a grid of p and n_d/n_s, for three sizes.", .settings = symmetry,
     .grid = symmetry_grid},
    {"scaling", "Limits p -> 0 and r -> 0: rugs of 65536 features against the theory and its printed constants.",
     .settings = scaling, .grid = scaling_grid},
    {"activations", "ReLU, thresholded, k-sparse and gated activations against the bound that covers all of them.",
     .settings = activations, .grid = activations_grid},
    {"dataset", "Your own features (`dataset_name`) in 30 % as many dimensions: loss beside the closed form.",
     .settings = dataset},
};
