/* Presets of the dictionary method. Those with a grid are studies. */
#include "core/methods/dictionary/config.h"

/* A small SynthSAEBench. */
static const struct config_setting planted_quick[] = {{"features", "1024"}, {"inputs", "96"}, {"width", "256"},
                                                      {"l0", "20"},         {"seeds", "2"},   {NULL, NULL}};

static const struct config_setting planted_table[] = {
    {"features", "1024"}, {"inputs", "96"}, {"width", "256"}, {"seeds", "3"}, {NULL, NULL}};
static const struct method_axis planted_grid[] = {
    {"learner", "l1 topk batchtopk jumprelu matryoshka matching-pursuit"}, {"l0", "20 25"}, {NULL, NULL}};

/* The toy model of arXiv 2505.20254: 32 features, three of them active in each sample, and 32 latents. */
static const struct config_setting seeds[] = {
    {"source", "iid"}, {"features", "32"}, {"inputs", "16"},      {"active", "3"},      {"width", "32"},
    {"l0", "3"},       {"seeds", "5"},     {"distinct", "50000"}, {"aux_latents", "8"}, {NULL, NULL}};
static const struct method_axis seeds_grid[] = {
    {"learner", "l1 topk batchtopk jumprelu matryoshka matching-pursuit fista"}, {NULL, NULL}};

/* The experiment of arXiv 2603.28744: each dictionary has as many latents as there are features, and trains on few
 * different samples. */
static const struct config_setting learning_or_encoding[] = {{"source", "iid"},
                                                             {"inputs", "0"},
                                                             {"active", "10"},
                                                             {"width", "0"},
                                                             {"l0", "10"},
                                                             {"seeds", "2"},
                                                             {"distinct", "5000"},
                                                             {"batch", "64"},
                                                             {"total_samples", "1000000"},
                                                             {"pursuit_samples", "2000"},
                                                             {NULL, NULL}};
static const struct method_axis learning_grid[] = {
    {"features", "50 100 500 1000"}, {"learner", "l1 topk jumprelu fista"}, {NULL, NULL}};

/* Measures how the error of a dictionary with ten active latents depends on the number of dimensions. The scaling law
 * of arXiv 2505.10465 is about the loss of the toy model that stores the features, not about this error. */
static const struct config_setting scaling[] = {
    {"features", "256"},          {"roots", "0"},           {"width", "0"}, {"l0", "10"}, {"seeds", "1"},
    {"total_samples", "1000000"}, {"pursuit_samples", "0"}, {NULL, NULL}};
static const struct method_axis scaling_grid[] = {{"inputs", "8 16 32 64 128"}, {"zipf", "0 0.5 1 2"}, {NULL, NULL}};

/* Measures which features of a toy model's hidden layer a dictionary finds, for several sparsities and compressions. */
static const struct config_setting superposed[] = {{"source", "rug"},
                                                   {"features", "128"},
                                                   {"width", "0"},
                                                   {"l0", "0"},
                                                   {"seeds", "2"},
                                                   {"learning_rate", "1e-3"},
                                                   {"total_samples", "500000"},
                                                   {"test_samples", "10000"},
                                                   {"pursuit_samples", "0"},
                                                   {NULL, NULL}};
static const struct method_axis superposed_grid[] = {
    {"source", "rug trained"}, {"p", "0.01 0.03 0.1 0.3"}, {"inputs", "16 32 48 64 80 96"}, {NULL, NULL}};

/* Own activations. */
static const struct config_setting dataset[] = {{"source", "dataset"}, {"width", "1024"}, {"l0", "32"},
                                                {"seeds", "3"},        {"batch", "1024"}, {"total_samples", "5000000"},
                                                {NULL, NULL}};

const struct method_preset dictionary_presets[DICTIONARY_PRESETS] = {
    {"planted-quick", "256 latents for 1,024 planted features in 96 dimensions: a minute or two on two cores.",
     .settings = planted_quick},
    {"planted-table", "Six learners at l0 20 and 25 with three seeds each: a small SynthSAEBench.",
     .settings = planted_table, .grid = planted_grid},
    {"seeds",
     "Compares the agreement of five seeds with the true recovery, for all learners, in a toy model of 32 features.",
     .settings = seeds, .grid = seeds_grid},
    {"learning-or-encoding",
     "Compares the codes of the encoder with those of FISTA on the learned dictionary and on the true one, for 50 to "
     "1,000 features.",
     .settings = learning_or_encoding, .grid = learning_grid},
    {"scaling",
     "Shows how the squared error of a dictionary with ten active latents depends on the number of dimensions, for "
     "four exponents of the rates of features.",
     .settings = scaling, .grid = scaling_grid},
    {"superposed",
     "Shows which features a dictionary finds in the hidden layers of rugs and of trained autoencoders, in a phase "
     "diagram over the probability of features and the number of dimensions.",
     .settings = superposed, .grid = superposed_grid},
    {"dataset", "1,024 latents for your own activations (`dataset_name`), three seeds: which latents recur.",
     .settings = dataset},
};
