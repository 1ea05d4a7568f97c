/* The configurations that memory_peaks.c draws. A form is a group of configurations of one kind of job: it has basic
 * settings, and a list of the fields that memory_peaks.c sets at random. */
#ifndef MOTIF_TESTS_REPRODUCE_MEMORY_DRAWS_H
#define MOTIF_TESTS_REPRODUCE_MEMORY_DRAWS_H

#include "core/base/config.h"

/* The values that a field may get. `choices` NULL: a whole number in [low, high], drawn so that its logarithm is
 * distributed uniformly. Otherwise: one of the words of `choices`, which are separated by spaces. */
struct draw {
    const char *field;
    double low, high;
    const char *choices;
};

struct form {
    const char *kind, *name;
    const struct config_setting *base;
    const struct draw *draws; /* ends with field NULL */
    const char *set;          /* the field that names a data set; NULL: the form reads none */
};

#define END                                                                                                            \
    {                                                                                                                  \
        NULL, NULL                                                                                                     \
    }
#define LAST                                                                                                           \
    {                                                                                                                  \
        NULL, 0, 0, NULL                                                                                               \
    }
#define SHORT                                                                                                          \
    {"validation_every", "40"}, {"validation_samples", "8"}, {"checkpoint_every", "40"}, {"test_samples", "8"},        \
        {"motif_samples", "8"}, {"stage_samples", "4"}, {"curriculum", "0"},                                           \
    {                                                                                                                  \
        "density_start", "0.05"                                                                                        \
    }
static const struct config_setting digits_base[] = {{"image_size", "32"},
                                                    {"classes", "3"},
                                                    {"min_symbols", "1"},
                                                    {"max_symbols", "2"},
                                                    {"shift", "1"},
                                                    {"margin", "8"},
                                                    {"min_radius", "5"},
                                                    {"max_radius", "6"},
                                                    SHORT,
                                                    {"heads", "2"},
                                                    END};
static const struct config_setting latex_base[] = {
    {"domain", "latex"}, {"latex_dpi", "60"}, {"latex_max_tokens", "4"}, SHORT, {"motifs", "16"}, {"heads", "2"}, END};
static const struct config_setting splicing_base[] = {{"domain", "splicing"}, {"context", "80"}, SHORT, END};
#define MODEL_DRAWS                                                                                                    \
    {"width", 4, 256, NULL}, {"units", 1, 6, NULL}, {"narrow_units", 0, 2, NULL}, {"batch", 1, 24, NULL},              \
        {"sparsity", 0, 0, "per-channel per-channel single l1 kl none"}, {"backward", 0, 0, "auto dense sparse"},      \
        {"batch_norm", 0, 0, "affine affine plain none"}, {"accumulate_elements", 1, 100000, NULL},                    \
        {"hold_below", 0, 0, "0 0 1"}, {"total_samples", 1, 120, NULL}, {"checkpoint_every", 1, 100, NULL},            \
        {"validation_every", 1, 100, NULL}, {"seeds", 0, 0, "1 1 2"},                                                  \
    {                                                                                                                  \
        "precision", 0, 0, "float float bf16"                                                                          \
    }
#define TRANSFORMER_DRAWS                                                                                              \
    {"channels", 0, 0, "16 32 64 128 256 512"}, {"layers", 1, 4, NULL}, {"feed_forward", 16, 2048, NULL},              \
        {"heads", 0, 0, "1 2 4 8"}, {"pool", 0, 0, "2 4 8"}, {"lstm", 0, 0, "true false"},                             \
        {"positions", 0, 0, "row learned"}, {"embed_order", 0, 0, "embed-then-pool pool-then-embed"},                  \
        {"attend", 0, 0, "all active"}, {"binning_samples", 0, 0, "0 0 8"},                                            \
    {                                                                                                                  \
        "single_samples", 0, 0, "0 0 8"                                                                                \
    }
static const struct draw digits_draws[] = {
    MODEL_DRAWS, TRANSFORMER_DRAWS, {"motifs", 3, 256, NULL}, {"image_size", 32, 200, NULL}, LAST};
static const struct draw latex_draws[] = {MODEL_DRAWS,
                                          TRANSFORMER_DRAWS,
                                          {"motifs", 16, 256, NULL},
                                          {"latex_rows", 32, 120, NULL},
                                          {"latex_cols", 64, 360, NULL},
                                          LAST};
static const struct draw splicing_draws[] = {MODEL_DRAWS,
                                             {"motifs", 8, 256, NULL},
                                             {"channels", 8, 128, NULL},
                                             {"context", 0, 0, "80 400"},
                                             {"splicing_length", 100, 5000, NULL},
                                             {"chance_shuffles", 0, 0, "0 2"},
                                             {"chance_samples", 1, 2000, NULL},
                                             LAST};

static const struct config_setting trained_base[] = {{"model", "trained"}, {"stop", "never"}, END};
static const struct draw trained_draws[] = {{"n_s", 16, 16384, NULL},
                                            {"ratio", 0, 0, "0.01 0.1 0.25 0.5"},
                                            {"batch", 8, 8192, NULL},
                                            {"block", 0, 0, "0 30000"},
                                            {"total_samples", 8, 40000, NULL},
                                            {"test_samples", 8, 2000, NULL},
                                            {"tied", 0, 0, "true false"},
                                            {"p", 0, 0, "0.002 0.01 0.05 0.2 0.8"},
                                            {"activation", 0, 0, "relu relu threshold k-sparse gated"},
                                            {"products", 0, 0, "auto auto dense"},
                                            LAST};
static const struct config_setting rug_base[] = {{"model", "rug"}, END};
static const struct draw rug_draws[] = {
    {"model", 0, 0, "rug linear"},   {"n_s", 0, 0, "128 1024 4096 65536 1048576 4194304"},
    {"ratio", 0, 0, "0.1 0.5 0.01"}, {"test_samples", 2, 200, NULL},
    {"draws", 1, 3, NULL},           LAST};

static const struct config_setting codes_base[] = {{"trials", "16"}, {"draws", "2"}, {"bound_codes", "2"}, END};
static const struct draw codes_draws[] = {{"dictionary", 0, 0, "gauss signs sparse dirac-hadamard"},
                                          {"filters", 1, 64, NULL},
                                          {"filter_length", 0, 0, "16 64 256 1024 4096"},
                                          {"length", 4096, 262144, NULL},
                                          {"depth", 0, 0, "1 1 2 3"},
                                          {"deep_filters", 1, 16, NULL},
                                          {"deep_length", 4, 256, NULL},
                                          {"signs", 0, 0, "random plus adversarial"},
                                          {"decoder", 0, 0, "top-k top-k hard pursuit"},
                                          {"iterations", 1, 20, NULL},
                                          {"nonzeros", 0, 0, "4,16 8 32,64"},
                                          {"sweep", 0, 0, "none none noise decoders reference"},
                                          LAST};

static const struct config_setting synthetic_base[] = {
    {"epochs", "2"}, {"nmf_iterations", "4"}, {"learning_rate", "1e-5"}, END};
#define FIT_DRAWS                                                                                                      \
    {"model", 0, 0, "sparse-vae sparse-vae vae beta-vae vsc oi-vae nmf"}, {"latent", 1, 256, NULL},                    \
        {"hidden", 4, 2048, NULL}, {"batch", 8, 16384, NULL}, {"restarts", 1, 4, NULL},                                \
        {"zeros", 0, 0, "threshold threshold skip proximal"},                                                          \
    {                                                                                                                  \
        "precision", 0, 0, "float float bf16"                                                                          \
    }
static const struct draw synthetic_draws[] = {FIT_DRAWS, {"rows", 100, 300000, NULL}, LAST};
static const struct config_setting cells_base[] = {{"data", "cells"},         {"epochs", "2"},
                                                   {"nmf_iterations", "4"},   {"learning_rate", "1e-5"},
                                                   {"learning_rate", "1e-5"}, END};
static const struct draw cells_draws[] = {FIT_DRAWS, {"features", 4, 1000, NULL}, {"folds", 2, 8, NULL}, LAST};

static const struct config_setting tree_base[] = {{"unseen", "1"}, {"fit_samples", "2"}, END};
#define ENVIRONMENT_DRAWS                                                                                              \
    {"baseline", 0, 0, "none none no-penalty independent pooled l1-weights l2-changes oracle"},                        \
        {"encoder", 0, 0, "linear mlp"}, {"latent", 1, 64, NULL}, {"hidden", 4, 1024, NULL},                           \
        {"batch", 8, 16384, NULL}, {"updates", 2, 20, NULL},                                                           \
    {                                                                                                                  \
        "restarts", 1, 4, NULL                                                                                         \
    }
static const struct draw tree_draws[] = {ENVIRONMENT_DRAWS,
                                         {"depth", 1, 7, NULL},
                                         {"samples", 10, 20000, NULL},
                                         {"test_samples", 10, 20000, NULL},
                                         {"inputs", 2, 512, NULL},
                                         {"factors", 1, 32, NULL},
                                         LAST};

static const struct config_setting planted_base[] = {{"iterations", "10"}, {"alternations", "2"}, END};
static const struct draw planted_draws[] = {
    {"source", 0, 0, "planted iid"},
    {"learner", 0, 0, "l1 topk batchtopk jumprelu matryoshka matching-pursuit fista"},
    {"features", 16, 4096, NULL},
    {"inputs", 8, 512, NULL},
    {"width", 16, 4096, NULL},
    {"l0", 1, 32, NULL},
    {"roots", 0, 8, NULL},
    {"seeds", 1, 3, NULL},
    {"batch", 16, 4096, NULL},
    {"total_samples", 64, 10000, NULL},
    {"test_samples", 64, 4000, NULL},
    {"pursuit_samples", 0, 0, "0 16 64 500"},
    LAST};

static const struct form forms[] = {
    {"sparling", "digitcircle", digits_base, digits_draws, NULL},
    {"sparling", "latex", latex_base, latex_draws, NULL},
    {"sparling", "splicing", splicing_base, splicing_draws, NULL},
    {"superposition", "one", trained_base, trained_draws, NULL},
    {"superposition", "rug", rug_base, rug_draws, NULL},
    {"pathways", "codes", codes_base, codes_draws, NULL},
    {"factors", "synthetic", synthetic_base, synthetic_draws, NULL},
    {"factors", "table", cells_base, cells_draws, "dataset_name"},
    {"environments", "tree", tree_base, tree_draws, NULL},
    {"dictionary", "planted", planted_base, planted_draws, NULL},
};

#endif
