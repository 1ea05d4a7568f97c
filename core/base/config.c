/* Reads, checks and describes the fields of a configuration struct by its table. */
#include "core/base/config.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        if (config_parse(&table->fields[i], config, table->fields[i].preset, &fault) != STATUS_OK)
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
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static void *at(const struct config_field *field, void *config)
{
    return (char *)config + field->offset;
}

static const void *at_const(const struct config_field *field, const void *config)
{
    return (const char *)config + field->offset;
}

/* Writes the shortest decimal that reads back as the same number. */
static void shortest(double value, char *out, size_t out_bytes)
{
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(out, out_bytes, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

static void describe_range(const struct config_field *field, const char *noun, char *out, size_t out_bytes)
{
    char low[32], high[32];
    shortest(field->min, low, sizeof low);
    shortest(field->max, high, sizeof high);
    if (isfinite(field->min) && isfinite(field->max)) {
        (void)snprintf(out, out_bytes, "%s in %c%s, %s%c", noun, field->min_open ? '(' : '[', low, high,
                       field->max_open ? ')' : ']');
    } else if (isfinite(field->min)) {
        (void)snprintf(out, out_bytes, "%s %s %s", noun, field->min_open ? "above" : "of at least", low);
    } else if (isfinite(field->max)) {
        (void)snprintf(out, out_bytes, "%s %s %s", noun, field->max_open ? "below" : "of at most", high);
    } else {
        (void)snprintf(out, out_bytes, "%s", noun);
    }
}

void config_describe(const struct config_field *field, char *out, size_t out_bytes)
{
    size_t used;
    switch (field->type) {
    case FIELD_INT:
        describe_range(field, "an integer", out, out_bytes);
        break;
    case FIELD_REAL:
        describe_range(field, "a number", out, out_bytes);
        break;
    case FIELD_BOOL:
        (void)snprintf(out, out_bytes, "true, false, yes or no");
        break;
    case FIELD_CHOICE:
        (void)snprintf(out, out_bytes, "one of ");
        for (int i = 0; field->choices[i] != NULL; i++) {
            used = strlen(out);
            (void)snprintf(out + used, out_bytes - used, "%s%s", i > 0 ? ", " : "", field->choices[i]);
        }
        break;
    case FIELD_TEXT:
        (void)snprintf(out, out_bytes, "text of at most %d bytes without control characters", CONFIG_TEXT - 1);
        break;
    }
}

/* Sets an error like "must be an integer in [1, 64]; got 65". */
static enum status refuse(const struct config_field *field, const char *found, struct error *err)
{
    char allowed[160];
    config_describe(field, allowed, sizeof allowed);
    return error_set(err, STATUS_INVALID, "", "must be %s; got %s", allowed, found);
}

enum status config_set_number(const struct config_field *field, void *config, double value, struct error *err)
{
    char found[32];
    shortest(value, found, sizeof found);
    if (field->type == FIELD_TEXT && fabs(value) <= CONFIG_INT_MAX)
        return config_set_text(field, config, found, err);
    if (field->type != FIELD_INT && field->type != FIELD_REAL) {
        char number[80];
        (void)snprintf(number, sizeof number, "the number %s%s", found,
                       field->type == FIELD_TEXT ? ", which needs quotation marks" : "");
        return refuse(field, number, err);
    }
    bool inside = (field->min_open ? value > field->min : value >= field->min) &&
                  (field->max_open ? value < field->max : value <= field->max);
    if (!isfinite(value) || !inside)
        return refuse(field, found, err);
    if (field->type == FIELD_REAL) {
        double *real = at(field, config);
        *real = value;
        return STATUS_OK;
    }
    if (value != floor(value) || fabs(value) > CONFIG_INT_MAX)
        return refuse(field, found, err);
    int64_t *integer = at(field, config);
    *integer = (int64_t)value;
    return STATUS_OK;
}

enum status config_set_bool(const struct config_field *field, void *config, bool value, struct error *err)
{
    if (field->type != FIELD_BOOL)
        return refuse(field, value ? "true" : "false", err);
    bool *flag = at(field, config);
    *flag = value;
    return STATUS_OK;
}

enum status config_set_text(const struct config_field *field, void *config, const char *value, struct error *err)
{
    size_t length = strlen(value);
    char found[48];
    (void)snprintf(found, sizeof found, "\"%.32s%s\"", value, length > 32 ? "..." : "");
    if (field->type == FIELD_CHOICE) {
        for (int i = 0; field->choices[i] != NULL; i++) {
            if (strcmp(field->choices[i], value) == 0) {
                int *choice = at(field, config);
                *choice = i;
                return STATUS_OK;
            }
        }
        return refuse(field, found, err);
    }
    if (field->type != FIELD_TEXT || length >= CONFIG_TEXT)
        return refuse(field, found, err);
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)value[i]))
            return refuse(field, "a control character", err);
    /* Equal configurations must have equal bytes, so the rest of the text is zeroed. */
    memset(at(field, config), 0, CONFIG_TEXT);
    memcpy(at(field, config), value, length);
    return STATUS_OK;
}

/* Parses a decimal number and nothing else: no spaces, no hexadecimal, no "inf". */
static bool parse_number(const char *text, double *out)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789+-.eE")] != '\0')
        return false;
    char *end;
    *out = strtod(text, &end);
    return *end == '\0';
}

enum status config_parse(const struct config_field *field, void *config, const char *text, struct error *err)
{
    double number;
    switch (field->type) {
    case FIELD_INT:
    case FIELD_REAL:
        if (parse_number(text, &number))
            return config_set_number(field, config, number, err);
        break;
    case FIELD_BOOL:
        if (strcmp(text, "true") == 0 || strcmp(text, "yes") == 0)
            return config_set_bool(field, config, true, err);
        if (strcmp(text, "false") == 0 || strcmp(text, "no") == 0)
            return config_set_bool(field, config, false, err);
        break;
    case FIELD_CHOICE:
    case FIELD_TEXT:
        return config_set_text(field, config, text, err);
    }
    char found[48];
    (void)snprintf(found, sizeof found, "\"%.32s\"", text);
    return refuse(field, found, err);
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
    bool same = defaults != NULL && config_parse(field, defaults, field->preset, &ignored) == STATUS_OK &&
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
    static const char *const names[FIELD_LEVELS] = {"basic", "advanced", "research"};
    return names[level];
}
