/* Configuration from and to JSON. The table of the method says what is allowed; this file only knows how JSON
 * types meet field types, and finds the name that was probably meant. */
#include "api/json/config_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/config_json_int.h"
#include "api/json/json_sink.h"

void api_faults_add(struct api_faults *faults, const char *pointer, const char *format, ...)
{
    if (faults->count == API_FAULTS_MAX) {
        faults->more++;
        return;
    }
    struct api_fault *fault = &faults->items[faults->count++];
    (void)snprintf(fault->pointer, sizeof fault->pointer, "%s", pointer);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(fault->detail, sizeof fault->detail, format, args);
    va_end(args);
}

/* Levenshtein distance of two names, cut off at NAME_MAX bytes. */
#define NAME_MAX_BYTES 48
static size_t name_distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_BYTES + 1], length_a = strlen(a), length_b = strlen(b);
    if (length_a > NAME_MAX_BYTES || length_b > NAME_MAX_BYTES) {
        return NAME_MAX_BYTES;
    }
    for (size_t j = 0; j <= length_b; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= length_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            size_t above = row[j], change = diagonal + (a[i - 1] != b[j - 1]);
            size_t gap = (above < row[j - 1] ? above : row[j - 1]) + 1;
            row[j] = change < gap ? change : gap;
            diagonal = above;
        }
    }
    return row[length_b];
}

void name_guess_offer(struct name_guess *guess, const char *candidate)
{
    size_t distance = name_distance(guess->given, candidate);
    size_t length = strlen(guess->given), allowed = length < 4 ? 1 : length < 8 ? 2 : 3;
    bool prefix = length >= 3 && strncmp(candidate, guess->given, length) == 0;
    if (prefix && distance > allowed) {
        distance = allowed;
    }
    if (distance <= allowed && (guess->best == NULL || distance < guess->distance)) {
        guess->best = candidate;
        guess->distance = distance;
    }
}

void name_guess_fault(const struct name_guess *guess, const char *what, const char *pointer, struct api_faults *faults)
{
    if (guess->best != NULL) {
        api_faults_add(faults, pointer, "is not %s; did you mean '%s'?", what, guess->best);
    } else {
        api_faults_add(faults, pointer, "is not %s", what);
    }
}

void fault_pointer(char out[128], const char *prefix, const char *name)
{
    (void)snprintf(out, 128, "%s", prefix);
    json_pointer_add(out, 128, name, strlen(name));
}

static void set_field(const struct config_field *field, const cJSON *value, void *config, const char *pointer,
                      struct api_faults *faults)
{
    struct error err;
    error_clear(&err);
    bool number = field->type == FIELD_INT || field->type == FIELD_REAL;
    enum status status = STATUS_INVALID;
    if (number && cJSON_IsNumber(value)) {
        status = config_set_number(field, config, value->valuedouble, &err);
    } else if (field->type == FIELD_BOOL && cJSON_IsBool(value)) {
        status = config_set_bool(field, config, cJSON_IsTrue(value), &err);
    } else if ((field->type == FIELD_CHOICE || field->type == FIELD_TEXT) && cJSON_IsString(value)) {
        status = config_set_text(field, config, value->valuestring, &err);
    } else {
        char allowed[192];
        config_describe(field, allowed, sizeof allowed);
        api_faults_add(faults, pointer, "must be %s; got %s", allowed, json_type_name(value));
        return;
    }
    if (status != STATUS_OK) {
        api_faults_add(faults, pointer, "%s", err.message);
    }
}

struct check_context {
    const char *prefix;
    struct api_faults *faults;
};

static void add_check_fault(void *context, const char *field, const char *detail)
{
    struct check_context *check = context;
    char pointer[128];
    fault_pointer(pointer, check->prefix, field);
    /* A field that is wrong by itself need not be blamed twice. */
    for (size_t i = 0; i < check->faults->count; i++) {
        if (strcmp(check->faults->items[i].pointer, pointer) == 0) {
            return;
        }
    }
    api_faults_add(check->faults, pointer, "%s", detail);
}

void config_read_object(const struct method *method, const cJSON *object, const char *prefix, void *config,
                        struct api_faults *faults)
{
    JSON_EACH (item, object) {
        char pointer[128];
        fault_pointer(pointer, prefix, item->string);
        const struct config_field *field = config_find(&method->config, item->string);
        if (field != NULL) {
            set_field(field, item, config, pointer, faults);
            continue;
        }
        struct name_guess guess = {.given = item->string};
        for (size_t i = 0; i < method->config.count; i++) {
            name_guess_offer(&guess, method->config.fields[i].name);
        }
        char what[80];
        (void)snprintf(what, sizeof what, "a field of %s", method->kind);
        name_guess_fault(&guess, what, pointer, faults);
    }
}

void config_check(const struct method *method, const void *config, const char *prefix, struct api_faults *faults)
{
    if (method->check != NULL) {
        struct check_context check = {prefix, faults};
        struct method_faults sink = {&check, add_check_fault};
        method->check(config, &sink);
    }
}

const struct method_preset *method_preset(const struct method *method, const char *name)
{
    for (size_t i = 0; i < method->preset_count; i++) {
        if (strcmp(method->presets[i].name, name) == 0) {
            return &method->presets[i];
        }
    }
    return NULL;
}

enum status config_start(const struct method *method, const struct method_preset *preset, void **config,
                         struct error *err)
{
    *config = calloc(1, method->config.struct_bytes > 0 ? method->config.struct_bytes : 1);
    if (*config == NULL) {
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a configuration");
    }
    enum status status = config_defaults(&method->config, *config, err);
    if (status == STATUS_OK && preset != NULL) {
        status = config_apply(&method->config, *config, preset->settings, err);
    }
    if (status != STATUS_OK) {
        free(*config);
        *config = NULL;
    }
    return status;
}

enum status api_config_parse(const struct method *method, const char *preset, const char *text, size_t bytes,
                             const char *prefix, void **config, struct api_faults *faults, struct error *err)
{
    *config = NULL;
    const struct method_preset *named = NULL;
    if (preset != NULL && preset[0] != '\0') {
        named = method_preset(method, preset);
        if (named == NULL) {
            return error_set(err, STATUS_NOT_FOUND, "/preset", "%s has no preset '%.40s'", method->kind, preset);
        }
    }
    cJSON *root = NULL;
    if (text != NULL) {
        struct error parse;
        error_clear(&parse);
        enum status status = json_parse(text, bytes, &root, &parse);
        if (status != STATUS_OK || !cJSON_IsObject(root)) {
            char pointer[256]; /* both parts are bounded; the record cuts what is longer */
            (void)snprintf(pointer, sizeof pointer, "%s%s", prefix, parse.pointer);
            api_faults_add(faults, pointer, "%s", status != STATUS_OK ? parse.message : "must be an object");
            cJSON_Delete(root);
            return error_set(err, status != STATUS_OK ? status : STATUS_INVALID, pointer, "%s",
                             status != STATUS_OK ? parse.message : "must be an object");
        }
    }
    size_t before = faults->count + faults->more;
    enum status status = config_start(method, named, config, err);
    if (status == STATUS_OK) {
        config_read_object(method, root, prefix, *config, faults);
        config_check(method, *config, prefix, faults);
        if (faults->count + faults->more > before) {
            free(*config);
            *config = NULL;
            status = error_set(err, STATUS_INVALID, prefix, "the configuration has %zu faults",
                               faults->count + faults->more - before);
        }
    }
    cJSON_Delete(root);
    return status;
}

void config_sink(const struct config_table *table, const void *config, const char *key, const struct sink *out)
{
    sink_begin_object(out, key);
    for (size_t i = 0; i < table->count; i++) {
        const struct config_field *field = &table->fields[i];
        switch (field->type) {
        case FIELD_INT:
            sink_integer(out, field->name, (int64_t)config_number(field, config));
            break;
        case FIELD_REAL:
            sink_number(out, field->name, config_number(field, config));
            break;
        case FIELD_BOOL:
            sink_boolean(out, field->name, config_bool(field, config));
            break;
        default:
            sink_text(out, field->name, config_text(field, config));
            break;
        }
    }
    sink_end_object(out);
}

char *api_config_write(const struct config_table *table, const void *config)
{
    struct buf out;
    struct json_sink json;
    buf_init(&out, 1u << 20);
    json_sink_init(&json, &out);
    config_sink(table, config, NULL, &json.sink);
    char *text = json_sink_done(&json) ? buf_take(&out, NULL) : NULL;
    buf_close(&out);
    return text;
}
