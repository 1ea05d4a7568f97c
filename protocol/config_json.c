/* Configuration from and to JSON. The method's table defines what is allowed. This file maps JSON types to types of
 * fields, and members (flat or in groups) to fields. It also orders fields for people to read. */
#include "protocol/config_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/faults.h"
#include "protocol/json_sink.h"

/* Joins the texts of a list with commas. False: an item is not text, or there is not enough memory. */
static bool join_texts(const cJSON *list, struct buf *out)
{
    JSON_EACH (item, list) {
        if (!cJSON_IsString(item))
            return false;
        buf_format(out, "%s%s", out->size > 0 ? "," : "", item->valuestring);
    }
    buf_append(out, "", 1);
    return !out->failed;
}

static void set_field(const struct config_field *field, const cJSON *value, bool stored, void *config,
                      const char *pointer, struct api_faults *faults)
{
    struct error err;
    error_clear(&err);
    if (field->level == LEVEL_FACT && !stored) {
        api_faults_add(faults, pointer, "cannot be set: motifd reads it from the data set; remove it");
        return;
    }
    struct buf joined;
    buf_init(&joined, 1 << 20);
    bool list = field->type == FIELD_TEXT && field->max == CONFIG_LIST - 1 && cJSON_IsArray(value);
    bool number = field->type == FIELD_INT || field->type == FIELD_REAL || field->type == FIELD_TEXT;
    enum status status = STATUS_INVALID;
    if (number && cJSON_IsNumber(value)) {
        status = config_set_number(field, config, value->valuedouble, &err);
    } else if (field->type == FIELD_BOOL && cJSON_IsBool(value)) {
        status = config_set_bool(field, config, cJSON_IsTrue(value), &err);
    } else if (field->type == FIELD_BOOL && cJSON_IsString(value)) {
        status = config_parse(field, config, value->valuestring, &err);
    } else if ((field->type == FIELD_CHOICE || field->type == FIELD_TEXT) && cJSON_IsString(value)) {
        status = config_set_text(field, config, value->valuestring, &err);
    } else if (list && join_texts(value, &joined)) {
        status = config_set_text(field, config, joined.data, &err);
    } else {
        char allowed[192];
        config_describe(field, allowed, sizeof allowed);
        api_faults_add(faults, pointer, "must be %s; got %s", allowed, json_type_name(value));
        status = STATUS_OK;
    }
    if (status)
        api_faults_add(faults, pointer, "%s", err.message);
    buf_close(&joined);
}

/* Returns the group that a member of a configuration names; FIELD_GROUPS: the member is not a group. A group and a
 * field may have the same name ("data"): the member is the group if its value is an object, and else the field. */
static enum field_group group_of_member(const cJSON *member)
{
    int group = 0;
    while (group < FIELD_GROUPS && strcmp(config_group_name((enum field_group)group), member->string) != 0)
        group++;
    return cJSON_IsObject(member) ? (enum field_group)group : FIELD_GROUPS;
}

/* Returns the value of a field within the object of its group, or NULL. */
static const cJSON *grouped_value(const struct config_field *field, const cJSON *object)
{
    const cJSON *group = cJSON_GetObjectItemCaseSensitive(object, config_group_name(field->group));
    return cJSON_IsObject(group) ? cJSON_GetObjectItemCaseSensitive(group, field->name) : NULL;
}

const cJSON *config_member(const struct config_field *field, const cJSON *object)
{
    const cJSON *flat = cJSON_GetObjectItemCaseSensitive(object, field->name);
    return flat != NULL && group_of_member(flat) == FIELD_GROUPS ? flat : grouped_value(field, object);
}

void config_pointer(const struct config_table *table, const cJSON *object, const char *prefix, const char *name,
                    char out[128])
{
    const struct config_field *field = config_find(table, name);
    char inside[128];
    if (field != NULL && grouped_value(field, object) != NULL) {
        fault_pointer(inside, prefix, config_group_name(field->group));
        fault_pointer(out, inside, name);
    } else {
        fault_pointer(out, prefix, name);
    }
}

struct check_context {
    const struct config_table *table;
    const cJSON *object;
    const char *prefix;
    struct api_faults *faults;
};

static void add_check_fault(void *context, const char *field, const char *detail)
{
    struct check_context *check = context;
    char pointer[128];
    config_pointer(check->table, check->object, check->prefix, field, pointer);
    /* If the field already has a fault, it gets no second one. */
    for (size_t i = 0; i < check->faults->count; i++)
        if (strcmp(check->faults->items[i].pointer, pointer) == 0)
            return;
    api_faults_add(check->faults, pointer, "%s", detail);
}

/* Names that other programs give to settings, and our names, most specific first. */
static const struct {
    const char *other;
    const char *ours[4];
} synonyms[] = {
    {"lr", {"learning_rate"}},
    {"eta", {"learning_rate"}},
    {"step_size", {"learning_rate"}},
    {"epochs", {"epochs", "total_samples", "max_epochs"}},
    {"n_epochs", {"epochs", "total_samples"}},
    {"num_epochs", {"epochs", "total_samples"}},
    {"max_epochs", {"epochs", "total_samples"}},
    {"max_iter", {"iterations", "epochs", "total_samples"}},
    {"iterations", {"epochs", "total_samples"}},
    {"steps", {"total_samples"}},
    {"max_steps", {"total_samples"}},
    {"samples", {"total_samples"}},
    {"batch_size", {"batch"}},
    {"bs", {"batch"}},
    {"n_components", {"latent", "channels"}},
    {"latent_dim", {"latent"}},
    {"n_latents", {"latent"}},
    {"hidden_size", {"hidden", "width"}},
    {"hidden_dim", {"hidden", "width"}},
    {"num_layers", {"layers"}},
    {"n_layers", {"layers"}},
    {"random_state", {"seed"}},
    {"random_seed", {"seed"}},
    {"n_jobs", {"threads"}},
    {"num_workers", {"threads"}},
    {"dataset", {"dataset_name"}},
    {"data_set", {"dataset_name"}},
    {"source", {"dataset_name"}},
    {"density", {"density_final"}},
    {"sparsity_target", {"density_final"}},
};

static const char *synonym_of(const struct method *method, const char *name)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        if (strcmp(synonyms[i].other, name) != 0)
            continue;
        for (size_t k = 0; k < 4 && synonyms[i].ours[k] != NULL; k++)
            if (config_find(&method->config, synonyms[i].ours[k]) != NULL)
                return synonyms[i].ours[k];
    }
    return NULL;
}

const char *config_field_meant(const struct method *method, const char *name)
{
    struct name_guess guess = {.given = name};
    const struct config_field *same = config_find(&method->config, name);
    if (same != NULL && same->level != LEVEL_FACT)
        return same->name;
    const char *synonym = synonym_of(method, name);
    for (size_t i = 0; i < method->config.count && synonym == NULL; i++)
        if (method->config.fields[i].level != LEVEL_FACT)
            name_guess_offer(&guess, method->config.fields[i].name);
    return synonym != NULL ? synonym : guess.best;
}

static void unknown_field(const struct method *method, const char *name, const char *pointer, struct api_faults *faults)
{
    char what[80];
    for (int group = 0; group < FIELD_GROUPS; group++) {
        if (strcmp(config_group_name((enum field_group)group), name) == 0) {
            api_faults_add(faults, pointer, "is a group of fields: must be an object");
            return;
        }
    }
    (void)snprintf(what, sizeof what, "a field of %s", method->kind);
    struct name_guess guess = {.given = name, .best = config_field_meant(method, name)};
    name_guess_fault(&guess, what, pointer, faults);
}

static void read_group(const struct method *method, const cJSON *object, const cJSON *members, enum field_group group,
                       const char *prefix, bool stored, void *config, struct api_faults *faults)
{
    JSON_EACH (item, members) {
        char pointer[128];
        fault_pointer(pointer, prefix, item->string);
        const struct config_field *field = config_find(&method->config, item->string);
        if (field == NULL) {
            unknown_field(method, item->string, pointer, faults);
            continue;
        }
        const cJSON *flat = cJSON_GetObjectItemCaseSensitive(object, field->name);
        if (field->group != group) {
            api_faults_add(faults, pointer, "the field %s belongs to the group %s, not to %s", field->name,
                           config_group_name(field->group), config_group_name(group));
        } else if (flat != NULL && group_of_member(flat) == FIELD_GROUPS) {
            api_faults_add(faults, pointer,
                           "the field %s is given twice: in the group %s and outside of it; give it once", field->name,
                           config_group_name(group));
        } else {
            set_field(field, item, stored, config, pointer, faults);
        }
    }
}

void config_read_object(const struct method *method, const cJSON *object, const char *prefix, bool stored, void *config,
                        struct api_faults *faults)
{
    JSON_EACH (item, object) {
        char pointer[128];
        fault_pointer(pointer, prefix, item->string);
        enum field_group group = group_of_member(item);
        const struct config_field *field = config_find(&method->config, item->string);
        if (group != FIELD_GROUPS)
            read_group(method, object, item, group, pointer, stored, config, faults);
        else if (field != NULL)
            set_field(field, item, stored, config, pointer, faults);
        else
            unknown_field(method, item->string, pointer, faults);
    }
}

void config_check(const struct method *method, const cJSON *object, const void *config, const char *prefix,
                  struct api_faults *faults)
{
    struct check_context check = {&method->config, object, prefix, faults};
    struct method_faults sink = {&check, add_check_fault};
    method_check(method, config, &sink);
}

const struct method_preset *method_preset(const struct method *method, const char *name)
{
    for (size_t i = 0; i < method->preset_count; i++)
        if (strcmp(method->presets[i].name, name) == 0)
            return &method->presets[i];
    return NULL;
}

enum status config_start(const struct method *method, const struct method_preset *preset, void **config,
                         struct error *err)
{
    *config = calloc(1, method->config.struct_bytes > 0 ? method->config.struct_bytes : 1);
    if (*config == NULL)
        return error_memory(err, "a configuration");
    enum status status = config_defaults(&method->config, *config, err);
    if (!status && preset != NULL)
        status = config_apply(&method->config, *config, preset->settings, err);
    if (status) {
        free(*config);
        *config = NULL;
    }
    return status;
}

/* ---- whole configurations ---------------------------------------------------------------------------------------- */

enum status config_read_back(const struct method *method, const char *text, size_t bytes, const char *prefix,
                             void **config, struct api_faults *faults, struct error *err)
{
    cJSON *root = NULL;
    struct error parse;
    error_clear(&parse);
    *config = NULL;
    enum status status = json_parse(text, bytes, &root, &parse);
    if (status || !cJSON_IsObject(root)) {
        char pointer[256]; /* long enough for the prefix and the name; a fault truncates longer text */
        (void)snprintf(pointer, sizeof pointer, "%s%s", prefix, parse.pointer);
        api_faults_add(faults, pointer, "%s", status ? parse.message : "must be an object");
        cJSON_Delete(root);
        return error_set(err, status ? status : STATUS_INVALID, pointer, "%s",
                         status ? parse.message : "must be an object");
    }
    size_t before = faults->count + faults->more;
    status = config_start(method, NULL, config, err);
    if (!status) {
        config_read_object(method, root, prefix, true, *config, faults);
        config_check(method, root, *config, prefix, faults);
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

void config_field_sink(const struct config_field *field, const void *config, const char *key, const struct sink *out)
{
    switch (field->type) {
    case FIELD_INT:
        sink_integer(out, key, (int64_t)config_number(field, config));
        break;
    case FIELD_REAL:
        sink_number(out, key, config_number(field, config));
        break;
    case FIELD_BOOL:
        sink_boolean(out, key, config_bool(field, config));
        break;
    default:
        sink_text(out, key, config_text(field, config));
        break;
    }
}

enum { RANKS = 2 + LEVEL_FACT };

/* Returns the rank of a field in the display. Fields with another value than their default come first (rank 0). Fields
 * with their default follow: basic, advanced, research. Facts have the last rank, whatever their values are. */
static int display_rank(const struct config_field *field, const void *config, const void *defaults)
{
    bool ranked = field->level == LEVEL_FACT || config_same(field, config, defaults);
    return ranked ? 1 + (int)field->level : 0;
}

enum status config_show(const struct method *method, const void *config, const struct sink *out, struct error *err)
{
    void *defaults;
    enum status status = config_start(method, NULL, &defaults, err);
    if (status)
        return status;
    sink_begin_object(out, "config");
    for (int rank = 0; rank < RANKS; rank++) {
        if (rank == RANKS - 1) {
            sink_end_object(out);
            sink_begin_object(out, "facts");
        }
        for (size_t i = 0; i < method->config.count; i++) {
            const struct config_field *field = &method->config.fields[i];
            if (display_rank(field, config, defaults) == rank && config_applies(&method->config, field, config))
                config_field_sink(field, config, field->name, out);
        }
    }
    sink_end_object(out);
    free(defaults);
    return STATUS_OK;
}

enum status config_warn(const struct method *method, const char *preset, const void *config, const struct sink *out,
                        struct error *err)
{
    void *start;
    char pointer[128];
    enum status status = config_start(method, preset != NULL ? method_preset(method, preset) : NULL, &start, err);
    if (status)
        return status;
    sink_begin_list(out, "warnings");
    for (size_t i = 0; i < method->config.count; i++) {
        const struct config_field *field = &method->config.fields[i];
        if (field->level == LEVEL_FACT || config_applies(&method->config, field, config) ||
            config_same(field, config, start) || config_is_default(&method->config, field, config))
            continue;
        char detail[512];
        (void)snprintf(detail, sizeof detail, "has no effect: it applies only with %s", field->applies);
        fault_pointer(pointer, "/config", field->name);
        sink_begin_object(out, NULL);
        sink_text(out, "pointer", pointer);
        sink_text(out, "detail", detail);
        sink_end_object(out);
    }
    sink_end_list(out);
    free(start);
    return STATUS_OK;
}

char *api_config_write(const struct config_table *table, const void *config)
{
    struct buf out;
    struct json_sink json;
    buf_init(&out, 1u << 20);
    json_sink_init(&json, &out);
    sink_begin_object(&json.sink, NULL);
    for (size_t i = 0; i < table->count; i++)
        config_field_sink(&table->fields[i], config, table->fields[i].name, &json.sink);
    sink_end_object(&json.sink);
    char *text = json_sink_done(&json) ? buf_take(&out, NULL) : NULL;
    buf_close(&out);
    return text;
}
