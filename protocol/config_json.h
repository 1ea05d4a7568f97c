/* A method's configuration struct from and to JSON, driven by the method's table of fields.
 *
 * Pure functions; any thread. */
#ifndef MOTIF_PROTOCOL_CONFIG_JSON_H
#define MOTIF_PROTOCOL_CONFIG_JSON_H

#include "protocol/faults.h"
#include "protocol/json.h"
#include "core/base/error.h"
#include "core/base/sink.h"
#include "core/methods/method.h"

/* Reads a configuration that api_config_write() wrote, of a job or of an import: the defaults, then the members of the
 * JSON object `text`, which may be facts (LEVEL_FACT), then method->check(). *config gets malloc'ed memory of
 * method->config.struct_bytes, which the caller frees. STATUS_INVALID: `faults` lists every fault with a pointer below
 * `prefix` (such as "/config"), and *config is NULL. */
enum status config_read_back(const struct method *method, const char *text, size_t bytes, const char *prefix,
                             void **config, struct api_faults *faults, struct error *err);
/* The next functions read the configuration of a client, in steps. */
const struct method_preset *method_preset(const struct method *method, const char *name); /* NULL: no such preset */
/* Returns the defaults, changed by a preset (NULL: none), in malloc'ed memory, which the caller frees. */
enum status config_start(const struct method *method, const struct method_preset *preset, void **config,
                         struct error *err);
/* Sets the fields that the members of `object` (NULL: none) name: {"FIELD": value} or {"GROUP": {"FIELD": value}}. Two
 * things are faults: a field in a wrong group, and a field that is given in both ways. A fact is a fault too, unless
 * the configuration is that of a stored job. */
void config_read_object(const struct method *method, const cJSON *object, const char *prefix, bool stored, void *config,
                        struct api_faults *faults);
/* Adds the faults that method->check() finds by comparing fields. A field that already has a fault gets no second one.
 * object: the document that was read (NULL: none). The pointer to a field leads into its group if the document has the
 * field there. */
void config_check(const struct method *method, const cJSON *object, const void *config, const char *prefix,
                  struct api_faults *faults);
/* Returns the value of a field in `object`, either flat or in the field's group; NULL: none. */
const cJSON *config_member(const struct config_field *field, const cJSON *object);
/* Writes the pointer to a field below `prefix`: within its group if `object` contains it there, else flat. */
void config_pointer(const struct config_table *table, const cJSON *object, const char *prefix, const char *name,
                    char out[128]);

/* Returns every field of a resolved configuration, in the order of the table, as malloc'ed JSON text; NULL if memory is
 * short. */
char *api_config_write(const struct config_table *table, const void *config);
/* Writes the value of one field. */
void config_field_sink(const struct config_field *field, const void *config, const char *key, const struct sink *out);
/* Writes the fields that apply to this configuration as the object "config", for people to read: first those that
 * differ from their default, then basic, advanced and research ones. Then writes the object "facts".
 * STATUS_NO_MEMORY: nothing was written. */
enum status config_show(const struct method *method, const void *config, const struct sink *out, struct error *err);
/* Writes the list "warnings": the fields that a client set and that have no effect, because their condition
 * `applies` does not hold. A field counts as set by the client if its value differs from the default and from the
 * value in the preset (NULL or "": no preset). STATUS_NO_MEMORY: nothing was written. */
enum status config_warn(const struct method *method, const char *preset, const void *config, const struct sink *out,
                        struct error *err);

/* Returns the field of a method that a client probably means by a name: the field itself, the field that has another
 * program's name for the same setting ("lr" for "learning_rate"), or the nearest name. NULL: none is similar. */
const char *config_field_meant(const struct method *method, const char *name);

#endif
