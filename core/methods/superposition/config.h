/* Configuration of the superposition method. */
#ifndef MOTIF_CORE_METHODS_SUPERPOSITION_CONFIG_H
#define MOTIF_CORE_METHODS_SUPERPOSITION_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"
#include "core/methods/shared/rows.h"
#include "core/methods/method.h"
#include "core/methods/shared/fields.h"
#include "core/superposed/model.h"

/* Each enum lists the choices of one field of the configuration, in the order of the names in config.c. */
enum superposition_model { MODEL_TRAINED, MODEL_RUG, MODEL_LINEAR, MODELS };
enum superposition_importance { IMPORTANCE_EQUAL, IMPORTANCE_POWER, IMPORTANCE_GEOMETRIC };
enum superposition_initialisation { INITIALISATION_UNIFORM, INITIALISATION_XAVIER };
enum superposition_stop { STOP_BLOCKS, STOP_WINDOWS, STOP_NEVER };
enum superposition_products { PRODUCTS_AUTO, PRODUCTS_DENSE };

struct superposition_config {
#define FIELDS_FILE "core/methods/superposition/fields.inc"
#include "core/methods/shared/field_members.inc"
};

enum {
    SUPERPOSITION_FIELDS = 0
#define FIELDS_FILE "core/methods/superposition/fields.inc"
#include "core/methods/shared/field_count.inc"
};
enum { SUPERPOSITION_PRESETS = 10 };
extern const struct config_field superposition_fields[SUPERPOSITION_FIELDS];
extern const struct config_table superposition_config_table;
extern const struct method_preset superposition_presets[SUPERPOSITION_PRESETS];

/* The model that a configuration describes. */
struct superposition_setup {
    enum superposition_model model;
    enum activation activation;
    int n_s, n_d;    /* n_s: number of features; n_d: dimensions of the hidden layer */
    double p, ratio; /* p: probability that a feature is not zero; ratio: n_d / n_s before n_d was rounded */
};
struct superposition_setup superposition_setup(const struct superposition_config *config);
/* Number of samples of the largest batch: `batch`, or fewer if training and tests have fewer samples. */
int superposition_room(const struct superposition_config *config);
/* Returns the sizes and the activation of a trained autoencoder. The configuration sets the threshold and
 * k, the number of outputs that a k-sparse activation keeps. If it sets 0, the value comes from theory.h. */
struct autoencoder_shape superposition_shape(const struct superposition_config *config,
                                             const struct superposition_setup *c);
/* Weight of feature i's squared error. */
double superposition_importance(const struct superposition_config *config, int i);

/* Whether the samples are rows of a data set. */
static inline bool superposition_uploaded(const struct superposition_config *config)
{
    return config->dataset_name[0] != '\0';
}

/* Which rows of the data set a configuration names. The pointers of the result point into it. */
struct rows_request superposition_rows(const struct superposition_config *config, const char *data);
/* Sets dataset_hash, n_s and p from the data set, if there is one. */
enum status superposition_resolve(void *config, const struct method_given *given, const char *data, struct error *err);
void superposition_check(const void *config, const struct method_faults *faults);
enum status superposition_estimate(const void *config, const char *data, struct method_estimate *out,
                                   struct error *err);

#endif
