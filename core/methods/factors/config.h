/* Configuration of the factors method. */
#ifndef MOTIF_CORE_METHODS_FACTORS_CONFIG_H
#define MOTIF_CORE_METHODS_FACTORS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"
#include "core/methods/factors/model/fit.h"
#include "core/methods/factors/model/nmf.h"
#include "core/methods/method.h"
#include "core/methods/shared/fields.h"
#include "core/methods/shared/table_division.h"

/* Each enum lists the choices of one field of the configuration, in the order of the names in config.c. */
enum factors_data { DATA_SYNTHETIC, DATA_RATINGS, DATA_ABSTRACTS, DATA_CELLS, DATA_SHIFTED };
enum factors_precision { PRECISION_FLOAT, PRECISION_BF16 };
enum factors_noise { NOISE_DEVIATION, NOISE_VARIANCE };
enum factors_estep { ESTEP_CODE, ESTEP_PAPER };

struct factors_config {
#define FIELDS_FILE "core/methods/factors/fields.inc"
#include "core/methods/shared/field_members.inc"
};

enum {
    FACTORS_FIELDS = 0
#define FIELDS_FILE "core/methods/factors/fields.inc"
#include "core/methods/shared/field_count.inc"
};
enum { FACTORS_PRESETS = 13 };
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

/* How the rows of an uploaded table are divided. The pointers of the result point into the configuration. */
struct table_request factors_division_request(const struct factors_config *config);
enum status factors_division(const void *config, const char *data, const struct sink *out, struct error *err);
void factors_check(const void *config, const struct method_faults *faults);
enum status factors_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err);

#endif
