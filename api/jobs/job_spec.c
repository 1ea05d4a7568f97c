/* Reads the body of POST /v1/jobs. A table maps each member to its reader; other members are faults. Afterwards, rules
 * that concern several members are checked: executor and ranks, threads, the configuration and its data sets. */
#include "api/jobs/job_spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/jobs/checkpoint_pick.h"
#include "api/jobs/job_name.h"
#include "protocol/config_json.h"
#include "protocol/faults.h"
#include "protocol/json.h"
#include "storage/storage.h"

struct reading {
    const struct api_job_rules *rules;
    struct api_job_spec *spec;
    struct api_faults *faults;
    const cJSON *config; /* the member "config"; NULL: missing */
    bool has_threads;
};

static void read_kind(struct reading *r, const cJSON *value)
{
    if (!cJSON_IsString(value)) {
        api_faults_add(r->faults, "/kind", "must be text; got %s", json_type_name(value));
        return;
    }
    struct name_guess guess = {.given = value->valuestring};
    for (size_t i = 0; i < r->rules->method_count; i++) {
        if (strcmp(r->rules->methods[i]->kind, value->valuestring) == 0) {
            r->spec->method = r->rules->methods[i];
            return;
        }
        name_guess_offer(&guess, r->rules->methods[i]->kind);
    }
    name_guess_fault(&guess, "a kind of this build", "/kind", r->faults);
}

static void read_preset(struct reading *r, const cJSON *value)
{
    if (cJSON_IsNull(value))
        return;
    if (!cJSON_IsString(value)) {
        api_faults_add(r->faults, "/preset", "must be text; got %s", json_type_name(value));
        return;
    }
    if (r->spec->method == NULL)
        return; /* read_kind() has added a fault */
    if (method_preset(r->spec->method, value->valuestring) != NULL) {
        (void)snprintf(r->spec->preset, sizeof r->spec->preset, "%s", value->valuestring);
        return;
    }
    struct name_guess guess = {.given = value->valuestring};
    for (size_t i = 0; i < r->spec->method->preset_count; i++)
        name_guess_offer(&guess, r->spec->method->presets[i].name);
    char what[120];
    const char *kind = r->spec->method->kind;
    (void)snprintf(what, sizeof what, guess.best != NULL ? "a preset of %s" : "a preset of %s; /v1/kinds/%s lists them",
                   kind, kind);
    name_guess_fault(&guess, what, "/preset", r->faults);
}

static void read_config(struct reading *r, const cJSON *value)
{
    if (!cJSON_IsObject(value)) {
        api_faults_add(r->faults, "/config", "must be an object; got %s", json_type_name(value));
        return;
    }
    r->config = value;
}

bool job_name_read(const cJSON *value, char name[STORAGE_NAME], struct api_faults *faults)
{
    if (!cJSON_IsString(value)) {
        api_faults_add(faults, "/name", "must be text; got %s", json_type_name(value));
        return false;
    }
    size_t bytes = strlen(value->valuestring);
    if (bytes >= STORAGE_NAME) {
        api_faults_add(faults, "/name", "must be at most %d bytes; got %zu", STORAGE_NAME - 1, bytes);
        return false;
    }
    const char *fault = job_name_fault(value->valuestring);
    if (fault != NULL) {
        api_faults_add(faults, "/name", "%s", fault);
        return false;
    }
    memcpy(name, value->valuestring, bytes + 1);
    return true;
}

const struct config_field job_priority = JOB_INTEGER("priority", -JOB_PRIORITY_MAX, JOB_PRIORITY_MAX);

bool job_integer_read(const struct config_field *member, const cJSON *value, int64_t *out, struct api_faults *faults)
{
    char pointer[128], allowed[192];
    struct value number;
    struct error err = {0};
    fault_pointer(pointer, "", member->name);
    if (!cJSON_IsNumber(value)) {
        value_describe(member, VALUE_MEMBER, allowed, sizeof allowed);
        api_faults_add(faults, pointer, "must be %s; got %s", allowed, json_type_name(value));
        return false;
    }
    if (value_read_number(member, VALUE_MEMBER, value->valuedouble, &number, &err)) {
        api_faults_add(faults, pointer, "%s", err.message);
        return false;
    }
    *out = number.integer;
    return true;
}

bool job_visibility_read(const cJSON *value, enum visibility *out, struct api_faults *faults)
{
    if (visibility_parse(cJSON_GetStringValue(value), out))
        return true;
    api_faults_add(faults, "/visibility", "must be private, team or everyone");
    return false;
}

static bool tag_read(const cJSON *item, size_t number, struct buf *out, struct api_faults *faults)
{
    char pointer[32];
    const char *text = cJSON_GetStringValue(item);
    size_t bytes = text != NULL ? strlen(text) : 0;
    (void)snprintf(pointer, sizeof pointer, "/tags/%zu", number);
    if (bytes == 0 || bytes >= JOB_TAG_BYTES || !utf8_printable(text, bytes) || strpbrk(text, "\"\\,") != NULL) {
        api_faults_add(faults, pointer,
                       "must be text of 1 to %d bytes without quotation marks, backslashes, commas and control "
                       "characters",
                       JOB_TAG_BYTES - 1);
        return false;
    }
    buf_format(out, "%s\"%s\"", number > 0 ? "," : "[", text);
    return true;
}

bool job_tags_read(const cJSON *value, char tags[JOB_TAGS_TEXT], struct api_faults *faults)
{
    size_t number = 0;
    bool good = cJSON_IsArray(value) && cJSON_GetArraySize(value) <= JOB_TAGS_MAX;
    struct buf text;
    if (!good) {
        api_faults_add(faults, "/tags", "must be a list of at most %d texts", JOB_TAGS_MAX);
        return false;
    }
    buf_init(&text, JOB_TAGS_TEXT - 1);
    JSON_EACH (item, value)
        good = tag_read(item, number++, &text, faults) && good;
    buf_text(&text, number > 0 ? "]" : "[]");
    good = good && !text.failed;
    if (good)
        (void)snprintf(tags, JOB_TAGS_TEXT, "%.*s", (int)text.size, text.data);
    buf_close(&text);
    return good;
}

static void read_tags(struct reading *r, const cJSON *value)
{
    if (!cJSON_IsNull(value))
        (void)job_tags_read(value, r->spec->tags, r->faults);
}

static void read_name(struct reading *r, const cJSON *value)
{
    (void)job_name_read(value, r->spec->name, r->faults);
}

static void read_priority(struct reading *r, const cJSON *value)
{
    int64_t priority = 0;
    (void)job_integer_read(&job_priority, value, &priority, r->faults);
    r->spec->priority = (int)priority;
}

static void read_threads(struct reading *r, const cJSON *value)
{
    int64_t threads = 0;
    const struct config_field member =
        JOB_INTEGER("threads", 1, r->rules->threads_max > 0 ? r->rules->threads_max : 256);
    r->has_threads = job_integer_read(&member, value, &threads, r->faults);
    r->spec->threads = (int)threads;
}

static void read_ranks(struct reading *r, const cJSON *value)
{
    int64_t ranks = 0;
    static const struct config_field member = JOB_INTEGER("ranks", 1, 512);
    (void)job_integer_read(&member, value, &ranks, r->faults);
    r->spec->ranks = (int)ranks;
}

static void read_executor(struct reading *r, const cJSON *value)
{
    static const char *const all[] = {"thread", "process", "mpirun", "slurm", NULL};
    const char *const *offered = r->rules->executors != NULL ? r->rules->executors : all;
    char names[80] = "";
    if (!cJSON_IsString(value)) {
        api_faults_add(r->faults, "/executor", "must be text; got %s", json_type_name(value));
        return;
    }
    for (size_t i = 0; offered[i] != NULL; i++) {
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", offered[i]);
        if (strcmp(offered[i], value->valuestring) == 0) {
            (void)snprintf(r->spec->executor, sizeof r->spec->executor, "%s", offered[i]);
            return;
        }
    }
    api_faults_add(r->faults, "/executor", "must be an executor of this daemon: %s; got \"%.40s\"", names,
                   value->valuestring);
}

/* Sets the default executor. Adds a fault if a job has several ranks, and its executor is neither mpirun nor slurm. */
static void settle_executor(struct reading *r)
{
    const char *executor = r->spec->executor[0] != '\0'  ? r->spec->executor
                           : r->rules->executors != NULL ? r->rules->executors[0]
                                                         : "thread";
    if (r->spec->executor[0] == '\0' && r->rules->executors != NULL)
        (void)snprintf(r->spec->executor, sizeof r->spec->executor, "%s", executor);
    if (r->spec->ranks > 1 && strcmp(executor, "mpirun") != 0 && strcmp(executor, "slurm") != 0) {
        api_faults_add(
            r->faults, "/ranks",
            "must be 1 with the executor \"%s\", which trains a job in one process; use mpirun or slurm for more",
            executor);
    }
}

static void read_from(struct reading *r, const cJSON *value)
{
    if (cJSON_IsNull(value))
        return;
    if (!cJSON_IsObject(value)) {
        api_faults_add(r->faults, "/from", "must be an object with job and checkpoint; got %s", json_type_name(value));
        return;
    }
    const cJSON *job = NULL;
    r->spec->from_checkpoint = (struct storage_checkpoint_pick){.by = STORAGE_LATEST};
    JSON_EACH (item, value) {
        char pointer[128];
        fault_pointer(pointer, "/from", item->string);
        if (strcmp(item->string, "job") == 0)
            job = item;
        else if (strcmp(item->string, "checkpoint") != 0)
            api_faults_add(r->faults, pointer, "is not a member of from; its members are job and checkpoint");
        else if (!checkpoint_pick_json(item, &r->spec->from_checkpoint))
            api_faults_add(r->faults, pointer, CHECKPOINT_PICK_RULE);
    }
    if (job == NULL || !cJSON_IsString(job) || job->valuestring[0] == '\0' ||
        strlen(job->valuestring) >= STORAGE_NAME) {
        api_faults_add(r->faults, "/from/job", "must be the id or name of a job, or latest");
        return;
    }
    (void)snprintf(r->spec->from_job, sizeof r->spec->from_job, "%s", job->valuestring);
}

static void read_visibility(struct reading *r, const cJSON *value)
{
    (void)job_visibility_read(value, &r->spec->visibility, r->faults);
}

static const struct member {
    const char *name;
    void (*read)(struct reading *r, const cJSON *value);
} members[] = {
    /* kind comes first, because the readers of other members use it */
    {"kind", read_kind},         {"preset", read_preset},   {"config", read_config},         {"name", read_name},
    {"priority", read_priority}, {"threads", read_threads}, {"ranks", read_ranks},           {"from", read_from},
    {"executor", read_executor}, {"tags", read_tags},       {"visibility", read_visibility},
};
#define MEMBERS (sizeof members / sizeof members[0])

/* Makes the member `threads` of the job and the field `threads` of its configuration equal. Some methods do not have
 * the field. */
static void settle_threads(struct reading *r)
{
    const struct config_field *field = config_find(&r->spec->method->config, "threads");
    if (field == NULL || field->type != FIELD_INT)
        return;
    int64_t inside = (int64_t)config_number(field, r->spec->config);
    int64_t max = r->rules->threads_max > 0 ? r->rules->threads_max : 256;
    char pointer[128];
    config_pointer(&r->spec->method->config, r->config, "/config", "threads", pointer);
    if (inside > max) {
        api_faults_add(r->faults, pointer, "must be at most %lld on this daemon; got %lld", (long long)max,
                       (long long)inside);
    }
    if (!r->has_threads)
        r->spec->threads = (int)inside;
    else if (config_member(field, r->config) != NULL && inside != r->spec->threads)
        api_faults_add(r->faults, "/threads", "contradicts %s, which is %lld", pointer, (long long)inside);
    else
        (void)config_set_number(field, r->spec->config, r->spec->threads, NULL);
}

/* Refuses a preset that is a study, because a job trains one model. A job may have such a preset if its configuration
 * decides every field of the grid, and the seed if the preset has several. */
static void refuse_study(const struct reading *r, const struct method_preset *preset)
{
    const struct config_table *table = &r->spec->method->config;
    const struct config_field *seed = config_find(table, "seed");
    char open[128] = "";
    for (const struct method_axis *axis = preset->grid; axis != NULL && axis->field != NULL; axis++) {
        const struct config_field *field = config_find(table, axis->field);
        size_t used = strlen(open);
        if (field != NULL && config_member(field, r->config) == NULL)
            (void)snprintf(open + used, sizeof open - used, "%s%s", used > 0 ? ", " : "", field->name);
    }
    if (preset->seeds > 1 && seed != NULL && config_member(seed, r->config) == NULL) {
        size_t used = strlen(open);
        (void)snprintf(open + used, sizeof open - used, "%sseed", used > 0 ? ", " : "");
    }
    if (open[0] != '\0')
        api_faults_add(
            r->faults, "/preset",
            "is a study: POST /v1/studies submits all its jobs; a single job needs these fields in config: %s", open);
}

double job_spec_folds(const struct method *method, const cJSON *config, const struct config_field **folds,
                      const struct config_field **fold)
{
    *folds = config_find(&method->config, METHOD_FOLDS_FIELD);
    *fold = method->fold_field ? config_find(&method->config, method->fold_field) : NULL;
    const cJSON *given = *folds != NULL && *fold != NULL ? config_member(*folds, config) : NULL;
    return cJSON_IsNumber(given) && given->valuedouble >= 2 && config_member(*fold, config) == NULL ? given->valuedouble
                                                                                                    : 0;
}

/* Refuses several folds without a choice among them, because they are several trainings. */
static void refuse_folds(const struct reading *r)
{
    const struct config_table *table = &r->spec->method->config;
    const struct config_field *folds, *fold;
    char pointer[128];
    if (!(job_spec_folds(r->spec->method, r->config, &folds, &fold) > 0))
        return;
    config_pointer(table, r->config, "/config", METHOD_FOLDS_FIELD, pointer);
    api_faults_add(r->faults, pointer,
                   "trains once for each fold, which is a study: POST /v1/studies submits all its jobs; a single job "
                   "needs %s in config",
                   fold->name);
}

/* Reads the configuration of the body; defaults and the preset supply the fields that the body does not set. */
static enum status read_fields(struct reading *r, const struct method_preset *preset, struct error *err)
{
    struct api_job_spec *spec = r->spec;
    enum status status = config_start(spec->method, preset, &spec->config, err);
    if (!status) {
        config_read_object(spec->method, r->config, "/config", false, spec->config, r->faults);
        settle_threads(r);
    }
    return status;
}

static bool is_given(const void *context, const char *field)
{
    const struct reading *r = context;
    const struct config_field *found = config_find(&r->spec->method->config, field);
    return found != NULL && config_member(found, r->config) != NULL;
}

/* A job with the preset for own data must name a data set. The methods of some kinds also accept a job without one and
 * would train it on drawn samples. */
static void require_dataset(const struct reading *r)
{
    const struct config_table *table = &r->spec->method->config;
    const struct config_field *field = config_find(table, METHOD_DATASET_FIELD);
    char pointer[128];
    if (strcmp(r->spec->preset, METHOD_DATASET_PRESET) != 0 || field == NULL ||
        !config_applies(table, field, r->spec->config) || config_text(field, r->spec->config)[0] != '\0')
        return;
    config_pointer(table, r->config, "/config", METHOD_DATASET_FIELD, pointer);
    api_faults_add(r->faults, pointer, "must name a data set; GET /v1/datasets lists them");
}

/* Lets the method find the data sets that the configuration names. Failures of the daemon (memory, unreadable files)
 * are returned as errors; everything else is a fault of the job. */
static enum status job_spec_resolve(const struct reading *r, struct error *err)
{
    const struct api_job_rules *rules = r->rules;
    struct api_job_spec *spec = r->spec;
    struct error cause;
    error_clear(&cause);
    if (rules->data == NULL)
        return STATUS_OK;
    const struct method_given given = {is_given, r};
    enum status status = method_resolve(spec->method, spec->config, &given, rules->data, &cause);
    if (status == STATUS_NO_MEMORY || status == STATUS_IO)
        return error_set(err, status, NULL, "%s", cause.message);
    if (status) {
        char pointer[128] = "/config";
        if (strncmp(cause.pointer, "/config/", 8) == 0)
            config_pointer(&spec->method->config, r->config, "/config", cause.pointer + 8, pointer);
        api_faults_add(r->faults, pointer, "%s", cause.message);
    } else {
        require_dataset(r);
    }
    return STATUS_OK;
}

/* Adds the fault for a member that a job does not have. If the kind has a field of this name or with this meaning, the
 * fault says that the field belongs in the configuration. */
static void unknown_member(const struct method *method, const struct name_guess *guess, struct api_faults *faults)
{
    char pointer[128];
    fault_pointer(pointer, "", guess->given);
    const char *field = method != NULL ? config_field_meant(method, guess->given) : NULL;
    if (field != NULL && strcmp(field, guess->given) == 0)
        api_faults_add(faults, pointer, "belongs in config: {\"config\": {\"%s\": ...}}", field);
    else if (field != NULL && guess->best == NULL)
        api_faults_add(faults, pointer, "is not a member of a job; did you mean '%s' in config?", field);
    else
        name_guess_fault(guess, "a member of a job", pointer, faults);
}

bool job_spec_member(const char *name, struct name_guess *guess)
{
    for (size_t m = 0; m < MEMBERS; m++) {
        if (strcmp(members[m].name, name) == 0)
            return true;
        name_guess_offer(guess, members[m].name);
    }
    return false;
}

enum status job_spec_read(const struct api_job_rules *rules, const cJSON *root, struct api_job_spec *spec,
                          struct api_faults *faults, struct error *err)
{
    *spec = (struct api_job_spec){.method = NULL};
    struct reading r = {.rules = rules, .spec = spec, .faults = faults};
    for (size_t m = 0; m < MEMBERS; m++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(root, members[m].name);
        if (value != NULL)
            members[m].read(&r, value);
        else if (m == 0)
            api_faults_add(faults, "/kind", "is needed; GET /v1/kinds lists the kinds");
    }
    JSON_EACH (item, root) {
        struct name_guess guess = {.given = item->string};
        if (!job_spec_member(item->string, &guess))
            unknown_member(spec->method, &guess, faults);
    }
    settle_executor(&r);
    if (spec->method != NULL) {
        const struct method_preset *preset = spec->preset[0] != '\0' ? method_preset(spec->method, spec->preset) : NULL;
        if (preset != NULL && !rules->of_study)
            refuse_study(&r, preset);
        if (!rules->of_study)
            refuse_folds(&r);
        enum status status = read_fields(&r, preset, err);
        if (!status)
            status = job_spec_resolve(&r, err);
        if (status)
            return status;
        config_check(spec->method, r.config, spec->config, "/config", faults);
    }
    if (faults->count + faults->more > 0) {
        api_job_spec_close(spec);
        return error_set(err, STATUS_INVALID, "", "the job has %zu faults", faults->count + faults->more);
    }
    return STATUS_OK;
}

enum status api_job_parse(const struct api_job_rules *rules, const char *text, size_t bytes, struct api_job_spec *spec,
                          struct api_faults *faults, struct error *err)
{
    *spec = (struct api_job_spec){.method = NULL};
    cJSON *root;
    struct error parse;
    error_clear(&parse);
    enum status status = json_parse(text, bytes, &root, &parse);
    if (!status && !cJSON_IsObject(root))
        status = error_set(&parse, STATUS_INVALID, "", "must be an object; got %s", json_type_name(root));
    if (status) {
        api_faults_add(faults, parse.pointer, "%s", parse.message);
        (void)error_set(err, status, parse.pointer, "%s", parse.message);
    } else {
        status = job_spec_read(rules, root, spec, faults, err);
    }
    cJSON_Delete(root);
    return status;
}

void api_job_spec_close(struct api_job_spec *spec)
{
    free(spec->config);
    spec->config = NULL;
}
