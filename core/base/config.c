/* The fields of a configuration struct by their table; values.c reads and checks single values. */
#include "core/base/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/values.h"

const struct config_field *config_find(const struct config_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->fields[i].name, name) == 0)
            return &table->fields[i];
    return NULL;
}

enum status config_defaults(const struct config_table *table, void *config, struct error *err)
{
    memset(config, 0, table->struct_bytes);
    for (size_t i = 0; i < table->count; i++) {
        struct error fault;
        error_clear(&fault);
        if (config_parse(&table->fields[i], config, table->fields[i].preset, &fault))
            return error_set(err, STATUS_INTERNAL, NULL, "default of %s: %s", table->fields[i].name, fault.message);
    }
    return STATUS_OK;
}

enum status config_apply(const struct config_table *table, void *config, const struct config_setting *settings,
                         struct error *err)
{
    for (; settings != NULL && settings->field != NULL; settings++) {
        const struct config_field *field = config_find(table, settings->field);
        if (field == NULL)
            return error_set(err, STATUS_INTERNAL, NULL, "there is no field %s", settings->field);
        enum status status = config_parse(field, config, settings->value, err);
        if (status)
            return status;
    }
    return STATUS_OK;
}

static const void *at_const(const struct config_field *field, const void *config)
{
    return (const char *)config + field->offset;
}

void config_describe(const struct config_field *field, char *out, size_t out_bytes)
{
    value_describe(field, VALUE_CONFIG, out, out_bytes);
}

enum status config_set_number(const struct config_field *field, void *config, double number, struct error *err)
{
    struct value value;
    char found[32];
    value_shortest(number, found, sizeof found);
    if (field->type == FIELD_TEXT && fabs(number) <= CONFIG_INT_MAX)
        return config_set_text(field, config, found, err);
    if (field->type != FIELD_INT && field->type != FIELD_REAL) {
        char words[80];
        (void)snprintf(words, sizeof words, "the number %s%s", found,
                       field->type == FIELD_TEXT ? ", which needs quotation marks" : "");
        return value_refuse(field, VALUE_CONFIG, words, err);
    }
    enum status status = value_read_number(field, VALUE_CONFIG, number, &value, err);
    if (!status)
        value_store(field, config, &value);
    return status;
}

enum status config_set_bool(const struct config_field *field, void *config, bool value, struct error *err)
{
    if (field->type != FIELD_BOOL)
        return value_refuse(field, VALUE_CONFIG, value ? "true" : "false", err);
    value_store(field, config, &(struct value){.flag = value});
    return STATUS_OK;
}

enum status config_set_text(const struct config_field *field, void *config, const char *value, struct error *err)
{
    if (field->type != FIELD_CHOICE && field->type != FIELD_TEXT) {
        char found[48];
        (void)snprintf(found, sizeof found, "\"%.32s%s\"", value, strlen(value) > 32 ? "..." : "");
        return value_refuse(field, VALUE_CONFIG, found, err);
    }
    return value_take(field, VALUE_CONFIG, config, value, err);
}

enum status config_parse(const struct config_field *field, void *config, const char *text, struct error *err)
{
    return value_take(field, VALUE_CONFIG, config, text, err);
}

double config_number(const struct config_field *field, const void *config)
{
    if (field->type == FIELD_INT) {
        const int64_t *integer = at_const(field, config);
        return (double)*integer;
    }
    const double *real = at_const(field, config);
    return *real;
}

bool config_bool(const struct config_field *field, const void *config)
{
    const bool *flag = at_const(field, config);
    return *flag;
}

const char *config_text(const struct config_field *field, const void *config)
{
    if (field->type == FIELD_CHOICE) {
        const int *choice = at_const(field, config);
        return field->choices[*choice];
    }
    return at_const(field, config);
}

/* Whether the value of `field` occurs in the text [from, to), a list of values separated by '|'. */
static bool value_is_among(const struct config_field *field, const void *config, const char *from, const char *to)
{
    const char *value =
        field->type == FIELD_BOOL ? (config_bool(field, config) ? "true" : "false") : config_text(field, config);
    size_t length = strlen(value);
    while (from < to) {
        size_t part = strcspn(from, "| ");
        if (part == length && memcmp(from, value, length) == 0)
            return true;
        from += part + 1;
    }
    return false;
}

bool config_applies(const struct config_table *table, const struct config_field *field, const void *config)
{
    const char *clause = field->applies;
    while (clause != NULL && *clause != '\0') {
        size_t length = strcspn(clause, " "), name_length = strcspn(clause, "=");
        const struct config_field *asked = NULL;
        for (size_t i = 0; i < table->count && asked == NULL; i++) {
            const char *name = table->fields[i].name;
            if (strlen(name) == name_length && memcmp(name, clause, name_length) == 0)
                asked = &table->fields[i];
        }
        bool has_names = asked != NULL && asked->type != FIELD_INT && asked->type != FIELD_REAL;
        if (!has_names || !value_is_among(asked, config, clause + name_length + 1, clause + length))
            return false;
        clause += length + (clause[length] == ' ');
    }
    return true;
}

bool config_same(const struct config_field *field, const void *a, const void *b)
{
    switch (field->type) {
    case FIELD_INT:
    case FIELD_REAL:
        return config_number(field, a) == config_number(field, b);
    case FIELD_BOOL:
        return config_bool(field, a) == config_bool(field, b);
    default:
        return strcmp(config_text(field, a), config_text(field, b)) == 0;
    }
}

bool config_is_default(const struct config_table *table, const struct config_field *field, const void *config)
{
    struct error ignored;
    error_clear(&ignored);
    void *defaults = calloc(1, table->struct_bytes);
    bool same = defaults != NULL && !config_parse(field, defaults, field->preset, &ignored) &&
                config_same(field, defaults, config);
    free(defaults);
    return same;
}

const char *config_group_name(enum field_group group)
{
    static const char *const names[FIELD_GROUPS] = {"data",      "model",     "sparsity",
                                                    "annealing", "optimizer", "evaluation"};
    return names[group];
}

const char *config_level_name(enum field_level level)
{
    static const char *const names[FIELD_LEVELS] = {"basic", "advanced", "research", "fact"};
    return names[level];
}
