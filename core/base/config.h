/* Configuration as data: one table of fields says everything about a configuration struct.
 *
 * Validation, defaults, OpenAPI, `check-config`, the dashboard's form and the documentation are all
 * read from this table; nothing else may know a field's range. A struct holds its fields as
 * int64_t (FIELD_INT), double (FIELD_REAL), bool (FIELD_BOOL), int (FIELD_CHOICE, an index into
 * `choices`) or char[CONFIG_TEXT] (FIELD_TEXT). Pure functions; any thread. */
#ifndef MOTIF_CORE_BASE_CONFIG_H
#define MOTIF_CORE_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

#define CONFIG_TEXT 64                    /* bytes of a text field, with its NUL */
#define CONFIG_INT_MAX 9007199254740991.0 /* 2^53 - 1: what JSON carries exactly */

enum field_type { FIELD_INT, FIELD_REAL, FIELD_BOOL, FIELD_CHOICE, FIELD_TEXT };

/* What a field is about, and who sets it: everybody, who tunes a run, or who repeats a paper's experiment. */
enum field_group {
    GROUP_DATA,
    GROUP_MODEL,
    GROUP_SPARSITY,
    GROUP_ANNEALING,
    GROUP_OPTIMIZER,
    GROUP_EVALUATION,
    FIELD_GROUPS
};
enum field_level { LEVEL_BASIC, LEVEL_ADVANCED, LEVEL_RESEARCH, FIELD_LEVELS };

struct config_field {
    const char *name;
    enum field_type type;
    size_t offset;              /* of the field in the struct */
    const char *preset;         /* default value, as text: "0.75", "per-channel", "true" */
    double min, max;            /* numbers: inclusive unless the flag says otherwise */
    bool min_open, max_open;    /* numbers: the bound itself is not allowed */
    const char *const *choices; /* FIELD_CHOICE: NULL-terminated names */
    const char *unit;           /* "samples", "px", ... or "" */
    const char *meaning;        /* one sentence: what happens when the value grows */
    enum field_group group;
    enum field_level level;
    /* When the field has an effect: clauses "FIELD=VALUE|VALUE", separated by spaces, that must all hold. FIELD is a
     * choice or a flag of the same table. NULL: always. */
    const char *applies;
};

struct config_setting { /* one override of a preset; a list ends with field == NULL */
    const char *field, *value;
};

struct config_table {
    const struct config_field *fields;
    size_t count, struct_bytes;
};

/* The table of a struct literal: CONFIG_TABLE(fields_array, struct sparling_config). */
#define CONFIG_TABLE(array, type)                                                                                      \
    {                                                                                                                  \
        (array), sizeof(array) / sizeof((array)[0]), sizeof(type)                                                      \
    }

const struct config_field *config_find(const struct config_table *table, const char *name);

/* Fills `config` with every default. A default that does not parse is STATUS_INTERNAL. */
enum status config_defaults(const struct config_table *table, void *config, struct error *err);
/* Defaults are left as they are; each setting overrides one. */
enum status config_apply(const struct config_table *table, void *config, const struct config_setting *settings,
                         struct error *err);

/* Each sets one field after checking type and range; err->message says what is allowed and what was
 * found, for instance "must be a number in (0, 1]; got 3". err->pointer is left to the caller ("" here). */
enum status config_set_number(const struct config_field *field, void *config, double value, struct error *err);
enum status config_set_bool(const struct config_field *field, void *config, bool value, struct error *err);
enum status config_set_text(const struct config_field *field, void *config, const char *value, struct error *err);
/* From text of any type ("12", "1e-3", "true", "auto"), as flags, files and presets carry them. */
enum status config_parse(const struct config_field *field, void *config, const char *text, struct error *err);

double config_number(const struct config_field *field, const void *config); /* INT, REAL */
bool config_bool(const struct config_field *field, const void *config);
const char *config_text(const struct config_field *field, const void *config); /* CHOICE, TEXT */

/* Whether `applies` holds for this configuration. A clause about a field that the table lacks does not hold. */
bool config_applies(const struct config_table *table, const struct config_field *field, const void *config);
/* Whether the configuration gives the field its default. */
bool config_is_default(const struct config_table *table, const struct config_field *field, const void *config);
const char *config_group_name(enum field_group group); /* "data", "model", ... static */
const char *config_level_name(enum field_level level); /* "basic", "advanced", "research"; static */

/* What is allowed, for messages and help: "an integer in [1, 64]", "one of dense, sparse, auto". */
void config_describe(const struct config_field *field, char *out, size_t out_bytes);

#endif
