/* Presets: what differs from the defaults, which are the paper's DigitCircle run. */
#include "core/methods/sparling/config.h"

/* The paper's network, schedule and evaluation (section 5.1 with the authors' code). */
static const struct config_setting paper[] = {{NULL, NULL}};

/* The paper's domain with a network that two CPU cores can train. */
static const struct config_setting digitcircle[] = {
    {"width", "16"},          {"channels", "64"},          {"layers", "3"},
    {"heads", "4"},           {"feed_forward", "256"},     {"head_norm", "pre"},
    {"positions", "learned"}, {"embed_order", "pool-then-embed"},  {"lstm", "false"},
    {"dropout", "0"},         {"identical_layers", "false"}, {"batch", "16"},
    {"learning_rate", "1e-3"}, {"warm_up", "500"},         {"clip_norm", "1"},
    {"total_samples", "2000000"}, {"validation_every", "2000"}, {"validation_samples", "500"},
    {"checkpoint_every", "20000"}, {"target_decay", "1e-5"}, {"batch_norm", "affine"},
    {NULL, NULL}};

/* A smaller circle: the whole line in minutes. The head attends to active cells alone, which lets the annealing
 * begin at a density where most cells are empty. A stage ends when the label is read right about as often as its
 * symbols are known (their order comes last), so that no symbol is left without a channel; the slow decay of the target is
 * for runs in which one never gets its own. */
static const struct config_setting quick[] = {
    {"seed", "2"},            {"image_size", "64"},        {"classes", "5"},          {"min_symbols", "2"},
    {"max_symbols", "4"},     {"min_radius", "12"},        {"width", "16"},
    {"motifs", "5"},          {"channels", "64"},          {"layers", "2"},
    {"heads", "4"},           {"feed_forward", "128"},     {"head_norm", "pre"},
    {"positions", "grid"},    {"embed_order", "pool-then-embed"}, {"attend", "active"},
    {"lstm", "false"},        {"dropout", "0"},            {"identical_layers", "false"},
    {"batch", "8"},           {"learning_rate", "1e-3"},   {"warm_up", "200"},
    {"clip_norm", "1"},       {"density_start", "1.35e-3"}, {"density_final", "1.465e-4"},
    {"target_start", "0.48"}, {"target_max", "0.48"},      {"target_decay", "2e-6"},
    {"validation_every", "1000"}, {"validation_samples", "500"}, {"total_samples", "80000"},
    {"checkpoint_every", "5000"}, {"test_samples", "2000"}, {"motif_samples", "2000"},
    {"stage_samples", "500"}, {NULL, NULL}};

const struct method_preset sparling_presets[SPARLING_PRESETS] = {
    {"digitcircle-quick", "five digits in a 64-pixel picture: a full run with its evaluation in minutes", quick},
    {"digitcircle", "the paper's pictures (100 pixels, ten digits) with a network for two CPU cores", digitcircle},
    {"digitcircle-paper", "the paper's network and schedule, 46 million parameters: days on a CPU", paper},
};
