/* Configuration of the dictionary method: the struct, its table, its presets and its costs.
 *
 * A job trains `seeds` dictionaries of one learner. They start from different weights and train side by side on the
 * same samples, so that their agreement can be measured. */
#ifndef MOTIF_CORE_METHODS_DICTIONARY_CONFIG_H
#define MOTIF_CORE_METHODS_DICTIONARY_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"
#include "core/data/scale.h"
#include "core/methods/shared/rows.h"
#include "core/methods/dictionary/data/hidden.h"
#include "core/methods/dictionary/model/sae.h"
#include "core/methods/method.h"
#include "core/methods/shared/fields.h"
#include "core/planted/planted.h"

/* Each enum lists the choices of one field of the configuration, in the order of the names in config.c. */
enum dictionary_source { SOURCE_PLANTED, SOURCE_IID, SOURCE_RUG, SOURCE_TRAINED, SOURCE_DATASET };
enum dictionary_norm { NORM_AVERAGE, NORM_NONE, NORM_AUTO }; /* then those of the columns */

struct dictionary_config {
#define FIELDS_FILE "core/methods/dictionary/fields.inc"
#include "core/methods/shared/field_members.inc"
};

enum {
    DICTIONARY_FIELDS = 0
#define FIELDS_FILE "core/methods/dictionary/fields.inc"
#include "core/methods/shared/field_count.inc"
};
enum { DICTIONARY_PRESETS = 7 };
extern const struct config_field dictionary_fields[DICTIONARY_FIELDS];
extern const struct config_table dictionary_config_table;
extern const struct method_preset dictionary_presets[DICTIONARY_PRESETS];
extern const char *const dictionary_sources[];  /* in the order of enum dictionary_source */
extern const char *const dictionary_learners[]; /* names, in the order of enum learner; ends with NULL */

/* The data and the dictionaries that a configuration describes. */
struct dictionary_setup {
    enum dictionary_source source;
    enum learner learner;
    int features, inputs, width; /* features: 0 if the true features are unknown */
    double l0, zipf, p;
};

enum { DICTIONARY_SEEDS = 8 };

struct dictionary_setup dictionary_setup(const struct dictionary_config *config);
/* Whether the true features of the samples are known: always, except for an uploaded data set. */
bool dictionary_known(const struct dictionary_config *config);
/* The shape of the generator that draws the samples. It does not include the vectors of a hidden layer
 * (dictionary_hidden()). Call it only if dictionary_known(). */
struct planted_shape dictionary_data(const struct dictionary_config *config, const struct dictionary_setup *c);
struct sae_shape dictionary_shape(const struct dictionary_config *config, const struct dictionary_setup *c);
/* The hidden layer for the sources RUG and TRAINED. */
struct hidden dictionary_hidden(const struct dictionary_config *config, const struct dictionary_setup *c);
/* Mean number of active features of a sample for the sources IID, RUG and TRAINED; 0 for the other sources, for which
 * the mean is unknown. */
double dictionary_active(const struct dictionary_config *config, const struct dictionary_setup *c);
/* dictionary_batch() returns the number of samples in one update, which is larger for the learner FISTA.
 * dictionary_samples() returns the number of training samples. */
int dictionary_batch(const struct dictionary_config *config, const struct dictionary_setup *c);
int64_t dictionary_samples(const struct dictionary_config *config, const struct dictionary_setup *c);
/* Largest relative change that the tuner makes to the sparsity factor in one update. It is larger in short runs, so
 * that the factor can change as much in a short run as in a long one. */
double dictionary_tune_rate(const struct dictionary_config *config);
/* Whether an evaluation computes the correlations of codes with the true codes. It does so only if their tables fit
 * into memory. */
bool dictionary_correlates(const struct dictionary_setup *c);

/* Which rows of the data set a configuration names. The pointers of the result point into it. */
struct rows_request dictionary_rows(const struct dictionary_config *config, const char *data);
/* Sets dataset_hash and inputs from the data set. */
enum status dictionary_resolve(void *config, const struct method_given *given, const char *data, struct error *err);
void dictionary_check(const void *config, const struct method_faults *faults);
enum status dictionary_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err);

#endif
