/* Configuration of the factors method. */
#ifndef MOTIF_CORE_METHODS_FACTORS_CONFIG_H
#define MOTIF_CORE_METHODS_FACTORS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"
#include "core/methods/factors/model/fit.h"
#include "core/methods/factors/model/nmf.h"
#include "core/methods/method.h"

/* Each enum lists the choices of one field of the configuration, in the order of the names in config.c. */
enum factors_data { DATA_SYNTHETIC, DATA_RATINGS, DATA_ABSTRACTS, DATA_CELLS, DATA_SHIFTED };
enum factors_precision { PRECISION_FLOAT, PRECISION_BF16 };
enum factors_noise { NOISE_DEVIATION, NOISE_VARIANCE };
enum factors_estep { ESTEP_CODE, ESTEP_PAPER };

struct factors_config {
    int64_t seed, threads;
    int model, data;
    char dataset_name[CONFIG_TEXT], dataset_hash[CONFIG_TEXT];
    int64_t features, folds, dataset;
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

enum { FACTORS_FIELDS = 40, FACTORS_PRESETS = 13 };
extern const struct config_field factors_fields[FACTORS_FIELDS];
extern const struct config_table factors_config_table;
extern const struct method_preset factors_presets[FACTORS_PRESETS];

/* The settings with which start number `restart` is fitted to a table of `features` columns and `rows` training rows.
 */
struct fit_setup factors_setup(const struct factors_config *c, int features, int rows, int restart);
struct nmf_setup factors_nmf_setup(const struct factors_config *config, int features);
/* Upper limit of the number of features, as far as the configuration determines it. */
int factors_features(const struct factors_config *config);
/* Standard deviation of the noise on the synthetic data. */
double factors_deviation(const struct factors_config *config);

/* Sets the fields that take the place of the lists of earlier versions. */
extern const char *const factors_former[];
void factors_adapt(void *config, const struct method_stored *stored);
void factors_check(const void *config, const struct method_faults *faults);
enum status factors_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err);

#endif
