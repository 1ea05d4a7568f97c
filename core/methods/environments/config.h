/* Configuration of the environments method. */
#ifndef MOTIF_CORE_METHODS_ENVIRONMENTS_CONFIG_H
#define MOTIF_CORE_METHODS_ENVIRONMENTS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"
#include "core/data/trees/environments.h"
#include "core/methods/environments/model/fit.h"
#include "core/methods/method.h"
#include "core/methods/shared/fields.h"

/* Each enum lists the choices of one field of the configuration, in the order of the names in config.c. */
enum environments_baseline {
    BASELINE_NONE, /* no baseline: tree-based regularisation itself */
    BASELINE_NO_PENALTY,
    BASELINE_INDEPENDENT,
    BASELINE_POOLED,
    BASELINE_L1_WEIGHTS,
    BASELINE_L2_CHANGES,
    BASELINE_ORACLE,
    BASELINES
};
enum environments_data { DATA_SIMULATED, DATA_TABLE };
enum environments_target { TARGET_READ, TARGET_PLANTED };
/* The client's choices are those of enum collection_scale and this one. The fact is one of these too, except that
 * "published" takes the place of "auto". */
enum { SCALE_PUBLISHED = SCALE_COUNTS + 1 };
enum environments_shape { SHAPE_COMPLETE, SHAPE_CATERPILLAR, SHAPE_RANDOM };

struct environments_config {
#define FIELDS_FILE "core/methods/environments/fields.inc"
#include "core/methods/shared/field_members.inc"
};

enum {
    ENVIRONMENTS_FIELDS = 0
#define FIELDS_FILE "core/methods/environments/fields.inc"
#include "core/methods/shared/field_count.inc"
};
enum { ENVIRONMENTS_PRESETS = 11 };
extern const struct config_field environments_fields[ENVIRONMENTS_FIELDS];
extern const struct config_table environments_config_table;
extern const struct method_preset environments_presets[ENVIRONMENTS_PRESETS];
/* The settings with which restart number `restart` (from 0) is fitted to `features` columns. */
struct fit_setup environments_setup(const struct environments_config *c, int features, int restart);

/* environments_edge_shape() returns which edges the model of a baseline has. environments_refits() returns whether a
 * run fits the non-zero weights again after training, without the penalty. */
enum edge_shape environments_edge_shape(int baseline);
bool environments_refits(const struct environments_config *config);

/* environments_nodes() and environments_leaves() return the number of nodes and of leaves of the simulated tree. */
double environments_nodes(const struct environments_config *config);
double environments_leaves(const struct environments_config *config);

/* Refuses an upload without groups, without an outcome or with too few rows. *planted: whether the run plants an
 * outcome. *rows: zeroed if there is no such data set. */
enum status environments_check_data(const struct environments_config *config, const char *data, bool *planted,
                                    struct environments_rows *rows, struct error *err);
/* Writes the member `division` (method.h); null if there is no such data set. */
enum status environments_division(const void *config, const char *data, const struct sink *out, struct error *err);
void environments_check(const void *config, const struct method_faults *faults);
enum status environments_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err);

#endif
