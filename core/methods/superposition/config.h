/* Configuration of the superposition method. A run computes a list of cases: a single one, or every combination of the
 * models, activations, sizes, probabilities and ratios that an experiment lists. */
#ifndef MOTIF_CORE_METHODS_SUPERPOSITION_CONFIG_H
#define MOTIF_CORE_METHODS_SUPERPOSITION_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"
#include "core/methods/method.h"
#include "core/superposed/model.h"

/* Each enum lists the choices of one field of the configuration, in the order of the names in config.c. */
enum superposition_model { MODEL_TRAINED, MODEL_RUG, MODEL_LINEAR, MODELS };
enum superposition_experiment {
    EXPERIMENT_ONE,
    EXPERIMENT_LOSS_RATIO,
    EXPERIMENT_LOSS_P,
    EXPERIMENT_MAPS,
    EXPERIMENT_SCALING,
    EXPERIMENT_ACTIVATIONS
};
enum superposition_importance { IMPORTANCE_EQUAL, IMPORTANCE_POWER, IMPORTANCE_GEOMETRIC };
enum superposition_initialisation { INITIALISATION_UNIFORM, INITIALISATION_XAVIER };
enum superposition_stop { STOP_BLOCKS, STOP_WINDOWS, STOP_NEVER };
enum superposition_products { PRODUCTS_AUTO, PRODUCTS_DENSE };

struct superposition_config {
    int64_t seed, threads;
    int model, experiment;
    double p, ratio;
    int64_t n_s, n_d;
    char dataset_name[CONFIG_TEXT], dataset_hash[CONFIG_TEXT];
    char models[CONFIG_TEXT], sizes[CONFIG_TEXT], ps[CONFIG_TEXT], ratios[CONFIG_TEXT], activations[CONFIG_TEXT];

    bool tied;
    int activation, importance, initialisation;
    double threshold, importance_rate;
    int64_t kept, relu_updates;

    int64_t batch, block, window;
    double learning_rate, epsilon, tolerance;
    int stop, products;

    int64_t total_samples, checkpoint_every, test_samples, draws;
};

enum { SUPERPOSITION_FIELDS = 35, SUPERPOSITION_PRESETS = 10 };
extern const struct config_field superposition_fields[SUPERPOSITION_FIELDS];
extern const struct config_table superposition_config_table;
extern const struct method_preset superposition_presets[SUPERPOSITION_PRESETS];

/* One point of an experiment. */
struct superposition_case {
    enum superposition_model model;
    enum activation activation;
    int n_s, n_d;    /* n_s: number of features; n_d: dimensions of the hidden layer */
    double p, ratio; /* p: probability that a feature is not zero; ratio: n_d / n_s before n_d was rounded */
};

enum { SUPERPOSITION_CASES = 4096, SUPERPOSITION_LIST = 128 };

/* Parses "0.1,0.2" or "from:to:count" (evenly spaced) into values. Returns their number, or -1 when the text is no list
 * of numbers in (0, most]. */
int superposition_list(const char *text, double most, double values[SUPERPOSITION_LIST]);
/* Writes the cases of a configuration: models vary slowest, then activations, sizes and p; the ratio varies fastest. At
 * most SUPERPOSITION_CASES are written. Returns their number, or 0 when a list cannot be parsed. */
int superposition_cases(const struct superposition_config *config, struct superposition_case *cases);
/* Number of samples of the largest batch: `batch`, or fewer if training and tests have fewer samples. */
int superposition_room(const struct superposition_config *config);
/* Returns the sizes and the activation of the autoencoder of a trained case. The configuration sets the threshold and
 * k, the number of outputs that a k-sparse activation keeps. If it sets 0, the value comes from theory.h. */
struct autoencoder_shape superposition_shape(const struct superposition_config *config,
                                             const struct superposition_case *c);
/* Weight of feature i's squared error. */
double superposition_importance(const struct superposition_config *config, int i);

/* Whether the samples are rows of a data set. */
static inline bool superposition_uploaded(const struct superposition_config *config)
{
    return config->dataset_name[0] != '\0';
}

/* Sets dataset_hash, n_s and p from the data set, if there is one. */
enum status superposition_resolve(void *config, const struct method_given *given, const char *data, struct error *err);
void superposition_check(const void *config, const struct method_faults *faults);
enum status superposition_estimate(const void *config, const char *data, struct method_estimate *out,
                                   struct error *err);
/* Operations of a whole case: training, evaluation and statistics. */
double superposition_work(const struct superposition_config *config, const struct superposition_case *c);

#endif
