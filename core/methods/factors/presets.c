/* Presets: the paper's settings (Table 6) and figures. */
#include "core/methods/factors/config.h"

static const struct config_setting synthetic[] = {{"restarts", "10"}, {"screen_epochs", "60"}, {NULL, NULL}};
static const struct config_setting fig3[] = {{"experiment", "rho"},         {"models", "sparse-vae,vae,beta-vae"},
                                             {"rhos", "0,0.2,0.4,0.6,0.8"}, {"restarts", "10"},
                                             {"screen_epochs", "60"},       {NULL, NULL}};

const struct method_preset factors_presets[FACTORS_PRESETS] = {
    {"synthetic", "seven features of two factors, five latent variables: which are used, and what for", synthetic},
    {"fig3", "Fig. 3: held-out error and disentanglement of every model against the factors' correlation", fig3},
};
