/* Reads the body of POST /v1/studies and makes the bodies of its jobs (study_spec.h). */
#include "api/studies/study_spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/config_json.h"
#include "protocol/json_sink.h"

#define SEED "seed"

struct reading {
    const struct method *method;
    const struct method_preset *preset; /* NULL: none */
    const cJSON *config;                /* member "config" of the body; NULL: none */
    void *scratch;                      /* configuration into which values are read to check them */
    struct study_spec *spec;
    struct api_faults *faults;
};

static cJSON *value_of(const struct config_field *field, const void *config)
{
    if (field->type == FIELD_INT || field->type == FIELD_REAL)
        return cJSON_CreateNumber(config_number(field, config));
    if (field->type == FIELD_BOOL)
        return cJSON_CreateBool(config_bool(field, config));
    return cJSON_CreateString(config_text(field, config));
}

/* Copies the axes of the preset, except those whose field the client decides in config. */
static enum status copy_preset_axes(struct reading *r, struct error *err)
{
    const struct method_axis *axis = r->preset != NULL ? r->preset->grid : NULL;
    for (; axis != NULL && axis->field != NULL; axis++) {
        const struct config_field *field = config_find(&r->method->config, axis->field);
        if (field == NULL)
            return error_set(err, STATUS_INTERNAL, NULL, "there is no field %s", axis->field);
        if (config_member(field, r->config) != NULL)
            continue;
        cJSON *values = cJSON_CreateArray();
        if (values == NULL || !json_attach(r->spec->grid, field->name, values))
            return error_memory(err, "a study");
        char value[CONFIG_TEXT + 1];
        for (const char *at = axis->values; method_axis_next(&at, value);) {
            enum status status = config_parse(field, r->scratch, value, err);
            if (status)
                return status;
            cJSON *item = value_of(field, r->scratch);
            if (item == NULL || !cJSON_AddItemToArray(values, item)) {
                cJSON_Delete(item);
                return error_memory(err, "a study");
            }
        }
    }
    return STATUS_OK;
}

/* Checks one value of an axis by reading it as a member of a configuration. */
static bool check_value(struct reading *r, const char *name, const cJSON *value, const char *pointer)
{
    struct api_faults found = {.count = 0};
    cJSON *object = cJSON_CreateObject(), *copy = cJSON_Duplicate(value, true);
    bool made = object != NULL && copy != NULL && json_attach(object, name, copy);
    if (made)
        config_read_object(r->method, object, "", false, r->scratch, &found);
    else if (object == NULL)
        cJSON_Delete(copy);
    cJSON_Delete(object);
    if (found.count > 0)
        api_faults_add(r->faults, pointer, "%s", found.items[0].detail);
    return made;
}

static bool check_values(struct reading *r, const char *name, const cJSON *values, const char *pointer)
{
    bool made = true;
    int i = 0;
    JSON_EACH (value, values) {
        char at[128], number[16];
        (void)snprintf(number, sizeof number, "%d", i);
        fault_pointer(at, pointer, number);
        made = check_value(r, name, value, at) && made;
        int j = 0;
        JSON_EACH (other, values) {
            if (j < i && cJSON_Compare(other, value, true)) {
                api_faults_add(r->faults, at, "repeats the value at index %d", j);
                break;
            }
            j++;
        }
        i++;
    }
    return made;
}

static bool read_axis(struct reading *r, const cJSON *axis)
{
    char pointer[128], of_config[128];
    fault_pointer(pointer, "/grid", axis->string);
    const struct config_field *field = config_find(&r->method->config, axis->string);
    if (field == NULL) {
        char what[80];
        (void)snprintf(what, sizeof what, "a field of %s", r->method->kind);
        struct name_guess guess = {.given = axis->string, .best = config_field_meant(r->method, axis->string)};
        name_guess_fault(&guess, what, pointer, r->faults);
        return true;
    }
    if (!cJSON_IsArray(axis) || axis->child == NULL || cJSON_GetArraySize(axis) > STORAGE_STUDY_JOBS) {
        api_faults_add(r->faults, pointer, "must be a list of 1 to %d values", STORAGE_STUDY_JOBS);
        return true;
    }
    if (config_member(field, r->config) != NULL) {
        config_pointer(&r->method->config, r->config, "/config", axis->string, of_config);
        api_faults_add(r->faults, pointer, "contradicts %s; give the field in one of the two", of_config);
        return true;
    }
    cJSON *copy = cJSON_Duplicate(axis, true);
    if (copy == NULL)
        return false;
    if (cJSON_GetObjectItemCaseSensitive(r->spec->grid, axis->string) != NULL)
        cJSON_DeleteItemFromObjectCaseSensitive(r->spec->grid, axis->string);
    return check_values(r, axis->string, axis, pointer) ? json_attach(r->spec->grid, axis->string, copy)
                                                        : (cJSON_Delete(copy), false);
}

/* Makes an axis of all folds if the configuration has several and the client does not choose among them. */
static enum status add_folds(struct reading *r, struct error *err)
{
    const struct config_field *folds, *fold;
    const double asked = job_spec_folds(r->method, r->config, &folds, &fold);
    if (folds != NULL && fold != NULL && cJSON_GetObjectItemCaseSensitive(r->spec->grid, folds->name) != NULL &&
        config_member(fold, r->config) == NULL && cJSON_GetObjectItemCaseSensitive(r->spec->grid, fold->name) == NULL)
        return error_set(err, STATUS_INVALID, "/grid/folds", "must be in config, so that the study trains every fold");
    if (!(asked > 0 && asked <= folds->max) || cJSON_GetObjectItemCaseSensitive(r->spec->grid, fold->name) != NULL)
        return STATUS_OK;
    cJSON *values = cJSON_CreateArray();
    if (values == NULL || !json_attach(r->spec->grid, fold->name, values))
        return error_memory(err, "a study");
    for (int i = 0; i < (int)asked; i++) {
        cJSON *item = cJSON_CreateNumber(i);
        if (item == NULL || !cJSON_AddItemToArray(values, item)) {
            cJSON_Delete(item);
            return error_memory(err, "a study");
        }
    }
    return STATUS_OK;
}

static enum status read_grid(struct reading *r, const cJSON *grid, struct error *err)
{
    enum status status = copy_preset_axes(r, err);
    if (status || grid == NULL || cJSON_IsNull(grid))
        return status;
    if (!cJSON_IsObject(grid)) {
        api_faults_add(r->faults, "/grid", "must be an object of fields and lists of values; got %s",
                       json_type_name(grid));
        return STATUS_OK;
    }
    JSON_EACH (axis, grid)
        if (!read_axis(r, axis))
            return error_memory(err, "a study");
    if (cJSON_GetArraySize(r->spec->grid) > STUDY_AXES_MAX)
        api_faults_add(r->faults, "/grid", "must have at most %d fields", STUDY_AXES_MAX);
    return STATUS_OK;
}

/* Reads the number of seeds, and the first seed from config, the preset or the default. */
static enum status read_seeds(struct reading *r, const cJSON *seeds, struct error *err)
{
    struct study_spec *spec = r->spec;
    static const struct config_field member = {.name = "seeds", .type = FIELD_INT, .min = 1, .max = STORAGE_STUDY_JOBS};
    const struct config_field *field = config_find(&r->method->config, SEED);
    spec->seeds = r->preset != NULL && r->preset->seeds > 1 ? r->preset->seeds : 1;
    bool axis = cJSON_GetObjectItemCaseSensitive(spec->grid, SEED) != NULL;
    if (axis)
        spec->seeds = 1;
    if (seeds != NULL && !cJSON_IsNull(seeds))
        (void)job_integer_read(&member, seeds, &spec->seeds, r->faults);
    if (spec->seeds > 1 && axis)
        api_faults_add(r->faults, "/seeds", "contradicts /grid/seed; give the seeds in one of the two");
    if (spec->seeds > 1 && (field == NULL || field->type != FIELD_INT))
        api_faults_add(r->faults, "/seeds", "must be 1: jobs of kind %s have no seed", r->method->kind);
    if (spec->seeds == 1 || axis || field == NULL || field->type != FIELD_INT)
        return STATUS_OK;
    void *start;
    enum status status = config_start(r->method, r->preset, &start, err);
    if (status)
        return status;
    const cJSON *given = config_member(field, r->config);
    spec->seed = (int64_t)config_number(field, start);
    if (cJSON_IsNumber(given) && !config_set_number(field, start, given->valuedouble, NULL))
        spec->seed = (int64_t)config_number(field, start);
    free(start);
    return STATUS_OK;
}

static void count_jobs(struct reading *r)
{
    double count = (double)r->spec->seeds;
    JSON_EACH (axis, r->spec->grid)
        count *= cJSON_GetArraySize(axis);
    if (count > STORAGE_STUDY_JOBS)
        api_faults_add(r->faults, "/grid", "makes %.0f jobs with all seeds; a study has at most %d", count,
                       STORAGE_STUDY_JOBS);
    else
        r->spec->count = (size_t)count;
}

/* Adds a fault for each member that neither a job nor a study has, and removes the members of the study itself, so that
 * the rest is the body of a job. */
static void split_members(struct study_spec *spec, const cJSON *body, struct api_faults *faults)
{
    static const char *const own[] = {"grid", "seeds", "name"};
    JSON_EACH (item, body) {
        char pointer[128];
        struct name_guess guess = {.given = item->string};
        bool mine = false;
        for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
            mine = mine || strcmp(own[i], item->string) == 0;
            name_guess_offer(&guess, own[i]);
        }
        bool known = mine || job_spec_member(item->string, &guess);
        if (!known) {
            fault_pointer(pointer, "", item->string);
            name_guess_fault(&guess, "a member of a study", pointer, faults);
        }
        if (mine || !known)
            cJSON_DeleteItemFromObjectCaseSensitive(spec->base, item->string);
    }
}

static const struct method *method_of(const struct api_job_rules *rules, const cJSON *body)
{
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(body, "kind"));
    for (size_t i = 0; kind != NULL && i < rules->method_count; i++)
        if (strcmp(rules->methods[i]->kind, kind) == 0)
            return rules->methods[i];
    return NULL;
}

/* Reads the members of the study; those of its jobs are read with each job. */
static enum status read_members(struct reading *r, const cJSON *body, struct error *err)
{
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(body, "config");
    const char *preset = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(body, "preset"));
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(body, "name");
    r->config = cJSON_IsObject(config) ? config : NULL;
    r->preset = preset != NULL ? method_preset(r->method, preset) : NULL;
    if (name != NULL && !cJSON_IsNull(name))
        (void)job_name_read(name, r->spec->name, r->faults);
    enum status status = config_start(r->method, r->preset, &r->scratch, err);
    if (!status)
        status = read_grid(r, cJSON_GetObjectItemCaseSensitive(body, "grid"), err);
    if (!status)
        status = add_folds(r, err);
    if (!status)
        status = read_seeds(r, cJSON_GetObjectItemCaseSensitive(body, "seeds"), err);
    if (!status)
        count_jobs(r);
    free(r->scratch);
    return status;
}

enum status study_spec_read(const struct api_job_rules *rules, const cJSON *body, struct study_spec *spec,
                            struct api_faults *faults, struct error *err)
{
    *spec = (struct study_spec){.method = method_of(rules, body), .seeds = 1};
    spec->grid = cJSON_CreateObject();
    spec->base = cJSON_Duplicate(body, true);
    if (spec->grid == NULL || spec->base == NULL)
        return error_memory(err, "a study");
    split_members(spec, body, faults);
    if (spec->method == NULL) { /* reading it as a job adds the fault of its kind */
        struct api_job_spec job;
        enum status status = job_spec_read(rules, spec->base, &job, faults, err);
        api_job_spec_close(&job);
        return !status ? error_set(err, STATUS_INTERNAL, NULL, "a job without a kind is valid") : status;
    }
    struct reading r = {.method = spec->method, .spec = spec, .faults = faults};
    enum status status = read_members(&r, body, err);
    if (status || spec->count > 0)
        return status;
    return error_set(err, STATUS_INVALID, "", "the study has faults");
}

void study_spec_close(struct study_spec *spec)
{
    cJSON_Delete(spec->grid);
    cJSON_Delete(spec->base);
    spec->grid = spec->base = NULL;
}

/* ---- the jobs of a study --------------------------------------------------------------------------------- */

/* Which value each axis has in a job. */
struct point {
    int value[STUDY_AXES_MAX + 1];
    int64_t seed; /* 0 for the first seed */
};

static struct point point_of(const struct study_spec *spec, size_t index)
{
    struct point p = {.seed = (int64_t)(index % (size_t)spec->seeds)};
    size_t rest = index / (size_t)spec->seeds;
    for (int a = cJSON_GetArraySize(spec->grid) - 1; a >= 0; a--) {
        size_t values = (size_t)cJSON_GetArraySize(cJSON_GetArrayItem(spec->grid, a));
        if (a < STUDY_AXES_MAX)
            p.value[a] = (int)(rest % values);
        rest /= values;
    }
    return p;
}

/* Sets a field in a configuration, and removes it from the group in which the client may have given it. */
static bool set_member(const struct method *method, cJSON *config, const char *name, cJSON *value)
{
    const struct config_field *field = config_find(&method->config, name);
    if (value == NULL)
        return false;
    if (field != NULL) {
        cJSON *group = cJSON_GetObjectItemCaseSensitive(config, config_group_name(field->group));
        cJSON_DeleteItemFromObjectCaseSensitive(group, name);
    }
    cJSON_DeleteItemFromObjectCaseSensitive(config, name);
    return json_attach(config, name, value);
}

static void add_label(struct buf *label, const char *field, const cJSON *value, const char *before)
{
    buf_format(label, "%s%s=", before, field);
    if (cJSON_IsString(value))
        buf_text(label, value->valuestring);
    else if (cJSON_IsNumber(value))
        json_write_number(label, value->valuedouble);
    else
        buf_text(label, cJSON_IsTrue(value) ? "true" : "false");
}

/* Writes the name of a job, "STUDY: FIELD=VALUE FIELD=VALUE seed=N", cut to the length of a name. "": a value has
 * characters that a name must not have. */
static void write_name(const struct study_spec *spec, const struct point *p, char name[STORAGE_NAME])
{
    struct buf label;
    const char *before = spec->name[0] != '\0' ? ": " : "";
    int a = 0;
    name[0] = '\0';
    buf_init(&label, 1 << 16);
    buf_text(&label, spec->name);
    JSON_EACH (axis, spec->grid) {
        add_label(&label, axis->string, cJSON_GetArrayItem(axis, p->value[a < STUDY_AXES_MAX ? a : 0]), before);
        before = " ";
        a++;
    }
    if (spec->seeds > 1)
        buf_format(&label, "%sseed=%lld", before, (long long)(spec->seed + p->seed));
    size_t bytes = label.size < STORAGE_NAME - 1 ? label.size : STORAGE_NAME - 1;
    while (!label.failed && bytes > 0 && bytes < label.size && ((unsigned char)label.data[bytes] & 0xC0) == 0x80)
        bytes--; /* a name does not end within a character */
    if (!label.failed && bytes > 0 && utf8_printable(label.data, bytes))
        (void)snprintf(name, STORAGE_NAME, "%.*s", (int)bytes, label.data);
    buf_close(&label);
}

static bool fill_job(const struct study_spec *spec, const struct point *p, cJSON *job)
{
    char name[STORAGE_NAME];
    int a = 0;
    cJSON *config = cJSON_GetObjectItemCaseSensitive(job, "config");
    if (config == NULL) {
        config = cJSON_CreateObject();
        if (config == NULL || !json_attach(job, "config", config))
            return false;
    }
    JSON_EACH (axis, spec->grid) {
        const cJSON *value = cJSON_GetArrayItem(axis, p->value[a < STUDY_AXES_MAX ? a : 0]);
        if (cJSON_IsObject(config) && !set_member(spec->method, config, axis->string, cJSON_Duplicate(value, true)))
            return false;
        a++;
    }
    if (spec->seeds > 1 && cJSON_IsObject(config) &&
        !set_member(spec->method, config, SEED, cJSON_CreateNumber((double)(spec->seed + p->seed))))
        return false;
    write_name(spec, p, name);
    cJSON *text = name[0] != '\0' ? cJSON_CreateString(name) : NULL;
    return name[0] == '\0' || (text != NULL && json_attach(job, "name", text));
}

cJSON *study_spec_job(const struct study_spec *spec, size_t index)
{
    const struct point p = point_of(spec, index);
    cJSON *job = cJSON_Duplicate(spec->base, true);
    if (job != NULL && !fill_job(spec, &p, job)) {
        cJSON_Delete(job);
        return NULL;
    }
    return job;
}

/* Writes where the client has given what a fault of a job points to. */
static void translate(const struct study_spec *spec, const struct point *p, const char *of_job, char pointer[128])
{
    int a = 0;
    (void)snprintf(pointer, 128, "%s", of_job);
    JSON_EACH (axis, spec->grid) {
        char field[128], number[16];
        fault_pointer(field, "/config", axis->string);
        if (strcmp(field, of_job) == 0) {
            fault_pointer(field, "/grid", axis->string);
            (void)snprintf(number, sizeof number, "%d", p->value[a < STUDY_AXES_MAX ? a : 0]);
            fault_pointer(pointer, field, number);
        }
        a++;
    }
    if (strcmp(of_job, "/config/" SEED) == 0 && spec->seeds > 1 && p->seed > 0)
        (void)snprintf(pointer, 128, "/seeds");
}

void study_spec_faults(const struct study_spec *spec, size_t index, const struct api_faults *found,
                       struct api_faults *faults)
{
    const struct point p = point_of(spec, index);
    for (size_t i = 0; i < found->count; i++) {
        char pointer[128];
        bool known = false;
        translate(spec, &p, found->items[i].pointer, pointer);
        for (size_t k = 0; k < faults->count && !known; k++)
            known = strcmp(faults->items[k].pointer, pointer) == 0 &&
                    strcmp(faults->items[k].detail, found->items[i].detail) == 0;
        if (!known)
            api_faults_add(faults, pointer, "%s", found->items[i].detail);
    }
}
