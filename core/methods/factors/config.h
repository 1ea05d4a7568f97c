/* Configuration of the factors method. A run computes a list of cases: a single one, or every combination of the data
 * sets, models and values of rho of an experiment. */
#ifndef MOTIF_CORE_METHODS_FACTORS_CONFIG_H
#define MOTIF_CORE_METHODS_FACTORS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"
#include "core/methods/factors/model/fit.h"
#include "core/methods/factors/model/nmf.h"
#include "core/methods/method.h"

/* Each enum lists the choices of one field of the configuration, in the order of the names in config.c. */
enum factors_experiment { EXPERIMENT_ONE, EXPERIMENT_RHO, EXPERIMENT_FOLDS };
enum factors_data { DATA_SYNTHETIC, DATA_RATINGS, DATA_ABSTRACTS, DATA_CELLS, DATA_SHIFTED };
enum factors_precision { PRECISION_FLOAT, PRECISION_BF16 };
enum factors_noise { NOISE_DEVIATION, NOISE_VARIANCE };
enum factors_estep { ESTEP_CODE, ESTEP_PAPER };

struct factors_config {
    int64_t seed, threads;
    int model, experiment, data;
    char dataset_name[CONFIG_TEXT], dataset_hash[CONFIG_TEXT];
    int64_t features, folds;
    char models[CONFIG_TEXT], rhos[CONFIG_TEXT];
    int64_t datasets, dataset;
    double rho;
    int64_t rows;
    int noise;
    int64_t topics;
    double shift;

    int64_t latent, hidden;
    int likelihood, prior, objective, estep, zeros;
    double lambda1, lambda0, beta, alpha, group_penalty, nmf_penalty;
    int divergence, precision;
    int64_t group, nmf_iterations;

    int64_t batch, epochs, zeros_after, restarts, screen_epochs, warm_up;
    double learning_rate;

    int64_t total_samples, checkpoint_every;
};

enum { FACTORS_FIELDS = 44, FACTORS_PRESETS = 13 };
extern const struct config_field factors_fields[FACTORS_FIELDS];
extern const struct config_table factors_config_table;
extern const struct method_preset factors_presets[FACTORS_PRESETS];
extern const char *const factors_model_names[];

/* One case of an experiment: a fit, or the best of several restarts. */
struct factors_case {
    enum factors_model model;
    double rho;
    int dataset; /* index of the synthetic data set, or of the held-out fold of a table */
};

enum { FACTORS_CASES = 4096, FACTORS_LIST = 32 };

/* Writes the cases of a configuration: data sets vary fastest, then models, then rho. At most FACTORS_CASES are
 * written. Returns the number of all cases, written or not, or 0 when a list cannot be parsed. */
int factors_cases(const struct factors_config *config, struct factors_case *cases);
/* The settings with which start number `restart` of a case is fitted to a table of `features` columns and `rows`
 * training rows. */
struct fit_setup factors_setup(const struct factors_config *c, const struct factors_case *one, int features, int rows,
                               int restart);
struct nmf_setup factors_nmf_setup(const struct factors_config *config, int features);
/* Upper limit of the number of features, as far as the configuration determines it. */
int factors_features(const struct factors_config *config);
/* Standard deviation of the noise on the synthetic data. */
double factors_deviation(const struct factors_config *config);

void factors_check(const void *config, const struct method_faults *faults);
enum status factors_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err);

#endif
