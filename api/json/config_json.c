/* Configuration from and to JSON. The table of the method says what is allowed; this file only knows how JSON
 * types meet field types, and finds the name that was probably meant. */
#include "api/json/config_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/faults.h"
#include "api/json/json_sink.h"

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
