/* Configuration of the pathways method: the struct, its table, its presets, its costs, and the cases of a sweep.
 *
 * A run is a list of cases. A case is one dictionary (or one stack of dictionaries) with one way to draw signs,
 * magnitudes and noise and with one decoder. Its curve gives the probability of recovery against the number of
 * non-zeros. */
#ifndef MOTIF_CORE_METHODS_PATHWAYS_CONFIG_H
#define MOTIF_CORE_METHODS_PATHWAYS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"
#include "core/methods/method.h"
#include "core/methods/shared/fields.h"
#include "core/coding/decode.h"
#include "core/coding/dictionary.h"

#define PATHWAYS_DEPTH 8
#define PATHWAYS_CASES 96
#define PATHWAYS_POINTS 24

/* Each enum lists the choices of one field of the configuration, in the order of the names in config.c. The first three
 * families are those of dictionary.h. */
enum pathways_family { PATHWAYS_GAUSS, PATHWAYS_SIGNS, PATHWAYS_SPARSE, PATHWAYS_HADAMARD };
enum pathways_signs { SIGNS_RANDOM, SIGNS_PLUS, SIGNS_ADVERSARIAL };
enum pathways_support { SUPPORT_ANY, SUPPORT_SPIKES, SUPPORT_WORST };
enum pathways_sweep {
    SWEEP_NONE,
    SWEEP_SIZES,
    SWEEP_SIGNS,
    SWEEP_NOISE,
    SWEEP_MAGNITUDES,
    SWEEP_DECODERS,
    SWEEP_DEEP,
    SWEEP_REFERENCE
};

struct pathways_config {
#define FIELDS_FILE "core/methods/pathways/fields.inc"
#include "core/methods/shared/field_members.inc"
};

enum {
    PATHWAYS_FIELDS = 0
#define FIELDS_FILE "core/methods/pathways/fields.inc"
#include "core/methods/shared/field_count.inc"
};
enum { PATHWAYS_PRESETS = 9 };
extern const struct config_field pathways_fields[PATHWAYS_FIELDS];
extern const struct config_table pathways_config_table;
extern const struct method_preset pathways_presets[PATHWAYS_PRESETS];

void pathways_check(const void *config, const struct method_faults *faults);
enum status pathways_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err);

/* One case: the settings for which one curve of recovery is measured. */
struct pathways_case {
    char label[40]; /* names the case within its run: "m=1024 random" */
    int group;      /* number of the group of cases to which pathways_fit() fits one line of the scaling law */
    int family;
    int layers;
    struct dictionary_shape shape[PATHWAYS_DEPTH];
    int nonzeros[PATHWAYS_DEPTH]; /* number of non-zeros in a sparse filter; 0: the filters are dense */
    uint32_t stream; /* number that selects the random filters; equal streams and shapes give equal dictionaries */
    int signs, support;
    /* noise: patch norm of the noise; ratio: largest magnitude; both in units of the smallest magnitude */
    double noise, ratio;
    struct decode_rule rule;
};

/* Writes the cases of a run in order, the configured one first. Returns their number, at most PATHWAYS_CASES. */
int pathways_cases(const struct pathways_config *config, struct pathways_case *out);
/* Number of curves of one dictionary: one for each way to draw signs and supports that the sweep compares. */
int pathways_ways(const struct pathways_config *config);
/* Returns the name of a group, for legends of charts. */
const char *pathways_group_name(const struct pathways_config *config, int group);
/* Parses the field `nonzeros`. Returns the number of values, 0 for an empty list (the run chooses the values), -1 when
 * the text is no ascending list. */
int pathways_nonzeros(const struct pathways_config *config, int64_t out[PATHWAYS_POINTS]);
/* Number of columns from which a code of this case draws its support. For worst supports, these are only the columns
 * that overlap with one drawn column. */
int64_t pathways_columns(const struct pathways_case *c);

#endif
