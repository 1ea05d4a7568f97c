/* Private: the parts of config_json.c that job_spec.c and kinds.c use too. */
#ifndef MOTIF_API_JSON_CONFIG_JSON_INT_H
#define MOTIF_API_JSON_CONFIG_JSON_INT_H

#include "api/json/config_json.h"
#include "api/json/json.h"
#include "core/base/sink.h"

/* "is not <what>; did you mean '<best>'?" */
void name_guess_fault(const struct name_guess *guess, const char *what, const char *pointer, struct api_faults *faults);

/* prefix + "/" + name, escaped. */
void fault_pointer(char out[128], const char *prefix, const char *name);

const struct method_preset *method_preset(const struct method *method, const char *name);
/* Defaults and a preset (or NULL), in new memory. */
enum status config_start(const struct method *method, const struct method_preset *preset, void **config,
                         struct error *err);
/* Sets every member of `object` (NULL: none), collecting faults. */
void config_read_object(const struct method *method, const cJSON *object, const char *prefix, void *config,
                        struct api_faults *faults);
/* Faults that concern several fields. */
void config_check(const struct method *method, const void *config, const char *prefix, struct api_faults *faults);
void config_sink(const struct config_table *table, const void *config, const char *key, const struct sink *out);

#endif
