/* Configuration as data: one table of fields describes a configuration struct completely.
 *
 * Validation, defaults, OpenAPI, `check-config`, the dashboard's form and the documentation are generated from this
 * table. A field's range is stated here and nowhere else. A struct stores its fields as int64_t (FIELD_INT), double
 * (FIELD_REAL), bool (FIELD_BOOL), int (FIELD_CHOICE, an index into `choices`) or char[CONFIG_TEXT] (FIELD_TEXT). All
 * functions are pure; any thread may call them. */
#ifndef MOTIF_CORE_BASE_CONFIG_H
#define MOTIF_CORE_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

#define CONFIG_LIST 4096                  /* the same of a text field that is a list, whose `max` is this size - 1 */
#define CONFIG_TEXT 64                    /* size of a text field in bytes, with its NUL */
#define CONFIG_INT_MAX 9007199254740991.0 /* 2^53 - 1: the largest integer that JSON represents exactly */

enum field_type { FIELD_INT, FIELD_REAL, FIELD_BOOL, FIELD_CHOICE, FIELD_TEXT };

/* The group of a field is its subject. The level of a field says who sets the field: every user (basic), a user who
 * tunes a run (advanced), a user who repeats an experiment of a paper (research), or nobody (fact): the method reads a
 * fact from the data set. A stored configuration contains facts, but clients cannot set them. */
enum field_group {
    GROUP_DATA,
    GROUP_MODEL,
    GROUP_SPARSITY,
    GROUP_ANNEALING,
    GROUP_OPTIMIZER,
    GROUP_EVALUATION,
    FIELD_GROUPS
};
enum field_level { LEVEL_BASIC, LEVEL_ADVANCED, LEVEL_RESEARCH, LEVEL_FACT, FIELD_LEVELS };

struct config_field {
    const char *name;
    enum field_type type;
    size_t offset;              /* offset of the field in the struct, in bytes */
    const char *preset;         /* default value, as text: "0.75", "per-channel", "true" */
    double min, max;            /* range of allowed numbers */
    bool min_open, max_open;    /* min_open: the range excludes min; max_open: the range excludes max */
    const char *const *choices; /* for FIELD_CHOICE: the names, ended by NULL */
    const char *unit;           /* unit of the value, such as "samples" or "px"; "" if it has none */
    const char *meaning;        /* one sentence: what happens when the value grows */
    enum field_group group;
    enum field_level level;
    /* The condition under which the field has an effect: clauses such as "FIELD=VALUE|VALUE", separated by spaces. All
     * clauses must hold; a clause holds if FIELD has one of the VALUEs. FIELD is a choice, text or flag of the same
     * table. NULL: the field always has an effect. */
    const char *applies;
};

struct config_setting { /* one field of a preset; a list ends with field == NULL */
    const char *field, *value;
};

struct config_table {
    const struct config_field *fields;
    size_t count, struct_bytes;
};

/* Initialises a `struct config_table`: CONFIG_TABLE(fields_array, struct sparling_config). */
#define CONFIG_TABLE(array, type)                                                                                      \
    {                                                                                                                  \
        (array), sizeof(array) / sizeof((array)[0]), sizeof(type)                                                      \
    }

/* The field with this name, or NULL. */
const struct config_field *config_find(const struct config_table *table, const char *name);

/* Sets every field of `config` to its default. STATUS_INTERNAL if a default does not parse. */
enum status config_defaults(const struct config_table *table, void *config, struct error *err);
/* Sets the fields in `settings` (NULL: none) and leaves the others unchanged. STATUS_INTERNAL for an unknown field,
 * else the errors of config_parse(). */
enum status config_apply(const struct config_table *table, void *config, const struct config_setting *settings,
                         struct error *err);

/* The next three functions set one field each, after a check of type and range. STATUS_INVALID if the value is not
 * allowed; err->message then states what is allowed and what was found: "must be a number in (0, 1]; got 3".
 * err->pointer stays ""; the caller fills it in. config_set_number() also takes a number for a text field and stores
 * its shortest decimal (500 becomes "500"), because a person who types the name 2024 need not know that the field is a
 * text. It refuses a number beyond CONFIG_INT_MAX, where doubles lose digits. */
enum status config_set_number(const struct config_field *field, void *config, double value, struct error *err);
enum status config_set_bool(const struct config_field *field, void *config, bool value, struct error *err);
enum status config_set_text(const struct config_field *field, void *config, const char *value, struct error *err);
/* Sets a field of any type from text ("12", "1e-3", "true", "auto"), the form in which options, files and presets
 * contain values. A flag takes true, false, yes and no. */
enum status config_parse(const struct config_field *field, void *config, const char *text, struct error *err);

/* Return the value of a field: config_number() of a FIELD_INT or FIELD_REAL, config_bool() of a FIELD_BOOL, and
 * config_text() of a FIELD_CHOICE or FIELD_TEXT. The text belongs to `config` or is static. */
double config_number(const struct config_field *field, const void *config);
bool config_bool(const struct config_field *field, const void *config);
const char *config_text(const struct config_field *field, const void *config);

/* Whether the field's condition `applies` holds for this configuration. A clause that names an unknown field or a field
 * with a number never holds. */
bool config_applies(const struct config_table *table, const struct config_field *field, const void *config);
/* Whether two configurations give the field the same value. */
bool config_same(const struct config_field *field, const void *a, const void *b);
/* Whether the field has its default value in this configuration. */
bool config_is_default(const struct config_table *table, const struct config_field *field, const void *config);
/* The static name of a group ("data", "model", ...) and of a level ("basic", "advanced", "research", "fact"). */
const char *config_group_name(enum field_group group);
const char *config_level_name(enum field_level level);

/* Writes what the field allows, for messages and help: "an integer in [1, 64]", "one of dense, sparse, auto". */
void config_describe(const struct config_field *field, char *out, size_t out_bytes);

#endif
