/* Presets: the paper's figures, at sizes that two cores compute in minutes. */
#include "core/methods/superposition/config.h"

static const struct config_setting fig3[] = {
    {"learning_rate", "1e-2"}, {"stop", "never"}, {"total_samples", "3000000"}, {NULL, NULL}};
static const struct config_setting fig3_paper[] = {{NULL, NULL}};
static const struct config_setting rug[] = {{"model", "rug"}, {"n_s", "256"}, {"n_d", "40"}, {NULL, NULL}};
static const struct config_setting rug_large[] = {
    {"model", "rug"}, {"n_s", "1048576"}, {"test_samples", "200"}, {NULL, NULL}};

static const struct config_setting loss_curve[] = {{"experiment", "loss-ratio"},
                                                   {"models", "rug,trained"},
                                                   {"sizes", "128,512,1024"},
                                                   {"ps", "0.044001"},
                                                   {"ratios", "0.1,0.254001,0.5"},
                                                   {"learning_rate", "1e-2"},
                                                   {"stop", "never"},
                                                   {"batch", "256"},
                                                   {"total_samples", "700000"},
                                                   {"test_samples", "10000"},
                                                   {"draws", "4"},
                                                   {NULL, NULL}};

static const struct config_setting loss_p[] = {{"experiment", "loss-p"},
                                               {"models", "rug"},
                                               {"sizes", "512,8192"},
                                               {"ps", "0.002001,0.01,0.044001,0.1,0.2,0.4,0.6,0.8"},
                                               {"ratios", "0.1,0.3,0.5,0.8"},
                                               {"test_samples", "4000"},
                                               {NULL, NULL}};

static const struct config_setting symmetry[] = {{"experiment", "maps"},    {"models", "trained"},
                                                 {"sizes", "64,128,256"},   {"ps", "0.02:0.5:7"},
                                                 {"ratios", "0.1:0.8:7"},   {"learning_rate", "1e-2"},
                                                 {"stop", "never"},         {"total_samples", "1000000"},
                                                 {"test_samples", "10000"}, {NULL, NULL}};

static const struct config_setting scaling[] = {{"experiment", "scaling"},
                                                {"models", "rug"},
                                                {"sizes", "65536"},
                                                {"ps", "1e-4,3e-4,1e-3,3e-3,1e-2,5e-2,0.2,0.6"},
                                                {"ratios", "0.001,0.01,0.1"},
                                                {"test_samples", "400"},
                                                {NULL, NULL}};

static const struct config_setting activations[] = {{"experiment", "activations"},
                                                    {"activations", "relu,threshold,k-sparse,gated"},
                                                    {"relu_updates", "500"},
                                                    {"sizes", "256"},
                                                    {"ratios", "0.1,0.254001,0.5"},
                                                    {"learning_rate", "1e-2"},
                                                    {"stop", "never"},
                                                    {"total_samples", "1000000"},
                                                    {"test_samples", "20000"},
                                                    {NULL, NULL}};

/* The user's own features. */
static const struct config_setting dataset[] = {{"experiment", "loss-ratio"},
                                                {"ratios", "0.1,0.2,0.3,0.5,0.8"},
                                                {"learning_rate", "1e-2"},
                                                {"stop", "never"},
                                                {"batch", "256"},
                                                {"total_samples", "1000000"},
                                                {"test_samples", "20000"},
                                                {NULL, NULL}};

const struct method_preset superposition_presets[SUPERPOSITION_PRESETS] = {
    {"fig3", "Fig. 3: 512 features in 130 dimensions, at a higher learning rate than the paper's.", .settings = fig3},
    {"fig3-paper", "Fig. 3 with the published learning rate and stop rule.", .settings = fig3_paper},
    {"rug", "Fig. 1: an artificial rug of 256 features in 40 dimensions.", .settings = rug},
    {"rug-large", "An artificial rug of 2^20 features, whose matrix would take 4 TiB.", .settings = rug_large},
    {"loss-curve",
     "Loss against n_d/n_s: trained and artificial weights of three sizes, closed form, best linear map, bounds.",
     .settings = loss_curve},
    {"loss-p", "Loss against p at four ratios: rugs of two sizes and the closed form.", .settings = loss_p},
    {"symmetry", "Symmetry of trained weights over a grid of p and n_d/n_s, for three sizes.", .settings = symmetry},
    {"scaling", "Limits p -> 0 and r -> 0: rugs of 65536 features against the theory and its printed constants.",
     .settings = scaling},
    {"activations", "ReLU, thresholded, k-sparse and gated activations against the bound that covers all of them.",
     .settings = activations},
    {"dataset", "Your own features (`dataset_name`) in 10 to 80 % as many dimensions: loss beside the closed form.",
     .settings = dataset},
};
