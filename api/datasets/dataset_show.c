/* Lists and shows uploaded data sets.
 *
 * The daemon stores a document with each data set. The answer about a single data set contains this document and the
 * kinds of jobs that accept the data set, and how jobs divide its samples. A kind accepts it if a job with the kind's
 * preset "dataset" and the name of the data set is valid. The daemon validates such a job for each request, because the
 * result depends on the methods of this build. */
#include "api/datasets/dataset_show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/datasets/dataset_names.h"
#include "api/datasets/datasets.h"
#include "api/jobs/job_spec.h"
#include "api/rights/caller.h"
#include "core/data/dataset.h"
#include "core/data/division/division.h"
#include "core/methods/shared/table_division.h"
#include "core/data/uploads/collection.h"
#include "protocol/config_json.h"
#include "protocol/faults.h"
#include "api/retention/retention.h"
#include "storage/files/dataset.h"

/* Describes the formats of uploads to clients: which options each of them reads, and which values an option may have.
 */

/* The options whose values are names of folders that the operator has provided. files: names of files; a folder is an
 * allowed value if it contains one of these files. */
static const struct {
    enum collection_option option;
    const char *const *files;
} operator_folders[] = {{OPTION_GENOME, collection_genome_files}, {OPTION_SIGNAL, collection_signal_files}};
enum { OPERATOR_FOLDERS = sizeof operator_folders / sizeof operator_folders[0] };

/* The allowed values of one of these options. name: [count] names of folders. */
struct folders {
    const char **name;
    size_t count;
};

/* True if the format reads this value of an option. format->layouts and format->negatives are sets of bits: bit i
 * stands for the value with index i in collection_layouts or collection_negatives. No bits: the format reads all
 * values. */
static bool reads(const struct collection_format *format, enum collection_option option, const char *value)
{
    const bool layout = option == OPTION_LAYOUT, negatives = option == OPTION_NEGATIVES;
    const unsigned bits = layout ? format->layouts : negatives ? format->negatives : 0;
    const char *const *names = layout ? collection_layouts : collection_negatives;
    for (unsigned i = 0; bits != 0 && names[i] != NULL; i++)
        if (strcmp(names[i], value) == 0)
            return (bits & 1u << i) != 0;
    return true;
}

static void write_choices(const struct sink *out, const struct config_field *p, const struct collection_format *format,
                          const struct folders *folders, enum collection_option option)
{
    sink_begin_list(out, "choices");
    for (size_t i = 0; folders != NULL && i < folders->count; i++)
        sink_text(out, NULL, folders->name[i]);
    for (const char *const *c = p->choices; c != NULL && *c != NULL; c++)
        if (reads(format, option, *c))
            sink_text(out, NULL, *c);
    sink_end_list(out);
}

static void write_option(const struct sink *out, const struct config_field *p, const struct collection_format *format,
                         enum collection_option option, const struct folders all[OPERATOR_FOLDERS])
{
    const struct folders *folders = NULL;
    for (int i = 0; i < OPERATOR_FOLDERS; i++)
        folders = operator_folders[i].option == option ? &all[i] : folders;
    const bool choice = p->choices != NULL || folders != NULL;
    sink_begin_object(out, NULL);
    sink_text(out, "name", p->name);
    sink_text(out, "type",
              choice                  ? "choice"
              : p->type == FIELD_INT  ? "integer"
              : p->type == FIELD_BOOL ? "boolean"
                                      : "text");
    sink_text(out, "meaning", collection_option_meaning(option, format->name));
    if (choice)
        write_choices(out, p, format, folders, option);
    if (p->type == FIELD_INT) {
        sink_integer(out, "min", (int64_t)p->min);
        sink_integer(out, "max", (int64_t)p->max);
    }
    sink_end_object(out);
}

/* Writes the list "formats" to x->out. STATUS_IO: the folder of data sets, which contains the genomes, cannot be read.
 * STATUS_NO_MEMORY. */
static enum status dataset_formats(struct exchange *x, struct error *err)
{
    size_t count;
    struct folders folders[OPERATOR_FOLDERS];
    const struct collection_format *formats = collection_formats(&count);
    for (int i = 0; i < OPERATOR_FOLDERS; i++) {
        enum status status = dataset_list_holding(x->api->options.data, operator_folders[i].files, &x->arena,
                                                  &folders[i].name, &folders[i].count, err);
        if (status)
            return status;
    }
    sink_begin_list(x->out, "formats");
    for (size_t i = 0; i < count; i++) {
        sink_begin_object(x->out, NULL);
        sink_text(x->out, "name", formats[i].name);
        sink_text(x->out, "media_type", formats[i].media_type);
        sink_begin_list(x->out, "options");
        for (const struct collection_option_row *o = collection_option_rows; o->field.name != NULL; o++)
            if (formats[i].reads & o->option)
                write_option(x->out, &o->field, &formats[i], o->option, folders);
        sink_end_list(x->out);
        sink_end_object(x->out);
    }
    sink_end_list(x->out);
    return STATUS_OK;
}

/* The name by which the caller finds a data set, in the arena; its folder without memory. */
static const char *shown_name(struct exchange *x, const char *folder)
{
    char shown[DATASET_NAME];
    dataset_name_shown(x, folder, shown);
    const char *copy = arena_strdup(&x->arena, shown);
    return copy != NULL ? copy : folder;
}

void dataset_respond_missing(struct exchange *x, const char *name, const char *hint)
{
    const char **names;
    size_t count = 0;
    struct error unused;
    struct name_guess guess = {.given = name};
    error_clear(&unused);
    if (!dataset_list(x->api->options.data, &x->arena, &names, &count, &unused))
        for (size_t i = 0; i < count; i++) {
            bool readable = false;
            if (!dataset_name_readable(x, names[i], &readable, &unused) && readable)
                name_guess_offer(&guess, shown_name(x, names[i]));
        }
    if (guess.best != NULL)
        respond_problem(x, PROBLEM_NOT_FOUND, "There is no data set %s; did you mean '%s'?%s", name, guess.best, hint);
    else
        respond_problem(x, PROBLEM_NOT_FOUND, "There is no data set %s.%s", name, hint);
}

static void respond_unread(struct exchange *x, const char *name, const struct error *err)
{
    if (err->code == STATUS_NOT_FOUND)
        dataset_respond_missing(x, name, "");
    else
        respond_error(x, err);
}

/* Finds out whether a kind accepts the data set. If it does not, `faults` contains the reason. */
static enum status accepts(const struct exchange *x, const struct method *method, const char *name,
                           struct api_faults *faults, struct error *err)
{
    const struct api_job_rules rules = {.methods = x->api->options.methods,
                                        .method_count = x->api->options.method_count,
                                        .threads_max = x->api->options.threads_max,
                                        .data = x->api->options.data,
                                        .executors = x->api->options.executors,
                                        .of_study = true}; /* the preset for own data may train several seeds */
    struct api_job_spec spec = {.method = NULL};
    cJSON *body = cJSON_CreateObject(), *config = body != NULL ? cJSON_AddObjectToObject(body, "config") : NULL;
    enum status status = STATUS_OK;
    if (config == NULL || cJSON_AddStringToObject(body, "kind", method->kind) == NULL ||
        cJSON_AddStringToObject(body, "preset", METHOD_DATASET_PRESET) == NULL ||
        cJSON_AddStringToObject(config, METHOD_DATASET_FIELD, name) == NULL)
        status = error_memory(err, "a job");
    if (!status)
        status = job_spec_read(&rules, body, &spec, faults, err);
    if (!status)
        api_job_spec_close(&spec);
    cJSON_Delete(body);
    return status;
}

static enum status write_kinds(const struct exchange *x, const char *name, const struct sink *to, struct error *err)
{
    enum status status = STATUS_OK;
    sink_begin_list(to, NULL);
    for (size_t m = 0; !status && m < x->api->options.method_count; m++) {
        const struct method *method = x->api->options.methods[m];
        struct api_faults faults = {.count = 0};
        if (method_preset(method, METHOD_DATASET_PRESET) == NULL)
            continue;
        status = accepts(x, method, name, &faults, err);
        if (status && (status != STATUS_INVALID || faults.count == 0))
            break;
        sink_begin_object(to, NULL);
        sink_text(to, "kind", method->kind);
        sink_text(to, "preset", METHOD_DATASET_PRESET);
        /* A fault of another field than the data set's name: the kind trains on it if the client states this field. */
        bool asks = status != STATUS_OK && strcmp(faults.items[0].pointer, "/config/" METHOD_DATASET_FIELD) != 0;
        sink_boolean(to, "accepts", !status || asks);
        sink_text(to, "reason", !status ? NULL : faults.items[0].detail);
        sink_end_object(to);
        status = STATUS_OK;
    }
    sink_end_list(to);
    return status;
}

/* ---- division --------------------------------------------------------------------------------------------------- */

enum { NAMES_SHOWN = 256, NAMES_ALL = 1 << 20 };

/* The parameters of GET .../division, which are called as the fields of a job. */
static const struct division_fields division_fields = {
    "/config/dataset_name", "/config/dataset_split",      "/config/dataset_test_group",
    "/config/dataset_test", "/config/dataset_validation", "/config/folds",
    "/config/fold",
};

/* Plans as jobs do: those of tables (core/methods/shared/table_division.h), or those of samples. */
static enum status plan(const struct exchange *x, const char *name, const struct division_request *r,
                        struct collection *c, struct division *d, struct error *err)
{
    char folder[DATASET_PATH], path[DATASET_PATH + 16];
    enum status status = dataset_folder(x->api->options.data, name, folder, err);
    if (!status) {
        (void)snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
        status = collection_open(path, c, err);
    }
    if (status)
        return status;
    if (c->kind == COLLECTION_MOTIFS)
        return error_set(err, STATUS_INVALID, r->fields->data, "contains motifs, which are not divided");
    if (c->kind != COLLECTION_TABLE)
        return division_make(c, r, d, err);
    const struct table_request table = {.source = name,
                                        .hash = "",
                                        .split = (enum table_split)r->split,
                                        .test_group = r->test_group,
                                        .folds = r->folds > 1 ? r->folds : TABLE_FOLDS,
                                        .fold = r->fold,
                                        .fold_field = r->fields->fold};
    collection_close(c);
    *c = (struct collection){0};
    return table_divide(&table, x->api->options.data, c, d, err);
}

/* Writes the division as an object, with at most `most` names and groups of each part. Writes nothing after
 * STATUS_INVALID: the samples cannot be divided so. */
static enum status write_division(const struct exchange *x, const char *name, const struct division_request *request,
                                  int most, const struct sink *to, struct error *err)
{
    struct collection c = {0};
    struct division d = {.part = NULL};
    enum status status = plan(x, name, request, &c, &d, err);
    if (!status) {
        sink_begin_object(to, NULL);
        status = division_write(&c, &d, most, to, err);
        sink_end_object(to);
    }
    division_close(&d);
    collection_close(&c);
    return status;
}

static double share_of(const struct exchange *x, const char *name, double otherwise)
{
    const char *text = exchange_query(x, name);
    char *end;
    double value = text != NULL ? strtod(text, &end) : otherwise;
    return text == NULL || (*end == '\0' && end != text && value >= 0 && value <= 0.9) ? value : NAN;
}

/* The key of a division among the texts that are kept; "": its text is not kept. */
static enum status division_key(const struct exchange *x, const char *name, const struct division_request *r,
                                char key[SHOWN_KEY], struct error *err)
{
    char folder[DATASET_PATH], hash[DATASET_HASH_KEPT + 1];
    enum status status = dataset_folder(x->api->options.data, name, folder, err);
    if (!status)
        status = dataset_hash(folder, hash, err);
    if (status)
        return status;
    int used = snprintf(key, SHOWN_KEY, "%s %s %d %.17g %.17g %lld %lld %lld %s", name, hash, (int)r->split, r->test,
                        r->validation, (long long)r->seed, (long long)r->folds, (long long)r->fold, r->test_group);
    if (used >= SHOWN_KEY)
        key[0] = '\0';
    return STATUS_OK;
}

void datasets_division(struct exchange *x)
{
    const char *name = exchange_param(x, "name"), *split = exchange_query(x, "dataset_split"),
               *group = exchange_query(x, "dataset_test_group");
    struct division_request request = DIVISION_USUAL(&division_fields);
    struct error err;
    error_clear(&err);
    for (int i = 0; split != NULL && division_splits[i] != NULL; i++)
        request.split = strcmp(split, division_splits[i]) == 0 ? (enum division_split)i : request.split;
    request.test = share_of(x, "dataset_test", request.test);
    request.validation = share_of(x, "dataset_validation", request.validation);
    request.test_group = group != NULL ? group : "";
    request.seed = exchange_query_integer(x, "dataset_split_seed", 0);
    request.folds = exchange_query_integer(x, "folds", 0);
    request.fold = exchange_query_integer(x, "fold", 0);
    if (!(request.test + request.validation < 1)) {
        respond_problem(x, PROBLEM_BAD_REQUEST,
                        "dataset_test and dataset_validation must be numbers from 0 to 0.9 whose sum is below 1.");
        return;
    }
    char key[SHOWN_KEY];
    enum status status = division_key(x, name, &request, key, &err);
    if (!status && shown_get(&x->api->shown, key, &x->response->body)) {
        respond_body(x, 200, "application/json");
        return;
    }
    if (!status)
        status = write_division(x, name, &request, NAMES_ALL, x->out, &err);
    if (!status) {
        if (json_sink_done(&x->json) && key[0] != '\0')
            shown_put(&x->api->shown, key, x->response->body.data, x->response->body.size);
        respond_json(x, 200);
    } else if (err.code == STATUS_INVALID) {
        struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
        const char *field = strrchr(err.pointer, '/');
        if (faults == NULL) {
            respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
            return;
        }
        api_faults_add(faults, field != NULL ? field + 1 : "", "%s", err.message);
        respond_faults(x, PROBLEM_INVALID, "parameter", faults);
    } else {
        respond_unread(x, name, &err);
    }
}

/* Writes the member "division": the plan of a job, or why there is none. */
static enum status append_division(struct exchange *x, const char *name, struct error *err)
{
    struct buf *body = &x->response->body;
    struct json_sink json;
    struct error refused;
    error_clear(&refused);
    buf_text(body, ",\"division\":");
    json_sink_init(&json, body);
    enum status status = write_division(x, name, &DIVISION_USUAL(&division_fields), NAMES_SHOWN, &json.sink, &refused);
    if (status == STATUS_INVALID) {
        sink_begin_object(&json.sink, NULL);
        sink_text(&json.sink, "refused", refused.message);
        sink_end_object(&json.sink);
    } else if (status) {
        *err = refused;
        return status;
    }
    return json_sink_done(&json) ? STATUS_OK : error_memory(err, "a document");
}

/* Appends the beginning of a data set's document: the name by which the caller finds it, and whom it belongs to. *head
 * is the number of characters of the stored text that this replaces: its first member, the name. */
static enum status append_head(struct exchange *x, const char *folder, const char *text, struct buf *body, size_t *head,
                               struct error *err)
{
    static const char first[] = "{\"name\":\"";
    struct dataset_owner owner;
    const char *name = shown_name(x, folder),
               *end = strchr(text + (strlen(text) > sizeof first ? sizeof first : 0), ',');
    enum status status = dataset_owner_read(x->api->options.data, folder, &owner, err);
    if (status)
        return status;
    if (strncmp(text, first, sizeof first - 1) != 0 || end == NULL)
        return error_set(err, STATUS_CORRUPT, NULL, "the document of a data set is damaged");
    struct json_sink json;
    json_sink_init(&json, body);
    sink_begin_object(&json.sink, NULL);
    sink_text(&json.sink, "name", name);
    sink_text(&json.sink, "owner", owner.owner[0] != '\0' ? owner.owner : NULL);
    sink_text(&json.sink, "team", owner.team[0] != '\0' ? owner.team : NULL);
    sink_text(&json.sink, "visibility", visibility_name(owner.visibility));
    *head = (size_t)(end - text);
    return STATUS_OK;
}

/* Appends the members "pinned" and "expires_at". */
static enum status append_retention(struct exchange *x, const char *name, struct buf *body, struct error *err)
{
    struct storage_dataset_use use;
    struct dataset_due *due = NULL;
    const char *rules;
    size_t count = 0;
    enum status status = storage_dataset_use_get(x->api->options.storage, name, &use, err);
    if (!status)
        status = storage_policies_get(x->api->options.storage, &x->arena, &rules, err);
    if (!status)
        status = dataset_due_list(x->api, rules, NULL, name, INT64_MAX, &x->arena, &due, &count, err);
    if (status)
        return status;
    buf_format(body, ",\"pinned\":%s,\"expires_at\":", use.pinned ? "true" : "false");
    struct json_sink json;
    json_sink_init(&json, body);
    sink_time(&json.sink, NULL, count > 0 ? due[0].due_at : 0);
    return STATUS_OK;
}

/* Appends the stored document and adds the members "division" and "kinds" to it. */
static enum status append_document(struct exchange *x, const char *name, const char *text, struct error *err)
{
    size_t head;
    char folder[DATASET_PATH], hash[DATASET_HASH_KEPT + 1], key[SHOWN_KEY];
    struct json_sink json;
    struct buf *body = &x->response->body;
    const char *end = strrchr(text, '}');
    if (end == NULL)
        return error_set(err, STATUS_CORRUPT, NULL, "the document of a data set is damaged");
    enum status status = dataset_folder(x->api->options.data, name, folder, err);
    if (!status)
        status = dataset_hash(folder, hash, err);
    if (status)
        return status;
    status = append_head(x, name, text, body, &head, err);
    if (status)
        return status;
    status = append_retention(x, name, body, err);
    if (status)
        return status;
    buf_append(body, text + head, (size_t)(end - text) - head);
    size_t start = body->size;
    (void)snprintf(key, sizeof key, "%s %s", name, hash);
    if (!shown_get(&x->api->shown, key, body)) {
        status = append_division(x, name, err);
        buf_text(body, ",\"kinds\":");
        json_sink_init(&json, body);
        if (!status)
            status = write_kinds(x, name, &json.sink, err);
        if (!status && !json_sink_done(&json))
            status = error_memory(err, "a document");
        if (!status)
            shown_put(&x->api->shown, key, body->data + start, body->size - start);
    }
    buf_text(body, "}");
    return status;
}

void dataset_respond(struct exchange *x, int status, const char *name)
{
    const char *text;
    size_t size;
    struct error err;
    error_clear(&err);
    if (dataset_read(x->api->options.data, name, "about.json", &x->arena, &text, &size, &err)) {
        respond_unread(x, name, &err);
        return;
    }
    if (append_document(x, name, text, &err)) {
        respond_error(x, &err);
        return;
    }
    if (status == 201)
        response_header(x->response, "Location", "/v1/datasets/%s", shown_name(x, name));
    respond_body(x, status, "application/json");
}

/* Adds a data set to the list if the caller may read it. bytes: receives its size in addition; NULL: not needed. */
static enum status list_item(struct exchange *x, const char *name, int64_t *bytes, struct error *err)
{
    const char *text;
    size_t size, head;
    bool readable;
    struct buf item;
    error_clear(err);
    enum status status = dataset_name_readable(x, name, &readable, err);
    if (status || !readable)
        return status;
    status = dataset_read(x->api->options.data, name, "about.json", &x->arena, &text, &size, err);
    if (!status && bytes != NULL)
        status = dataset_size(x->api->options.data, name, bytes, err);
    if (status)
        return status;
    buf_init(&item, API_DOCUMENT_MAX);
    status = append_head(x, name, text, &item, &head, err);
    buf_text(&item, status ? "" : text + head);
    buf_append(&item, "", 1);
    if (!status)
        status = buf_status(&item, "a document", err);
    if (!status)
        json_sink_raw(&x->json, NULL, item.data);
    buf_close(&item);
    return status;
}

void datasets_list(struct exchange *x)
{
    struct error err;
    const char **names;
    size_t count;
    int64_t bytes = 0;
    enum status status = STATUS_OK;
    error_clear(&err);
    const bool all = caller_sees_all(x);
    if (dataset_list(x->api->options.data, &x->arena, &names, &count, &err) ||
        (all && dataset_bytes(x->api->options.data, NULL, &bytes, &err))) {
        respond_error(x, &err);
        return;
    }
    sink_begin_object(x->out, NULL);
    sink_begin_list(x->out, "datasets");
    for (size_t i = 0; i < count; i++) {
        status = list_item(x, names[i], all ? NULL : &bytes, &err);
        if (status && status != STATUS_NOT_FOUND) { /* a data set that was deleted meanwhile is skipped */
            respond_error(x, &err);
            return;
        }
    }
    sink_end_list(x->out);
    sink_integer(x->out, "bytes", bytes);
    sink_integer(x->out, "most_bytes", x->api->options.datasets_bytes);
    sink_begin_list(x->out, "endings");
    size_t formats;
    const struct collection_format *f = collection_formats(&formats);
    for (size_t i = 0; i < formats; i++) {
        for (size_t e = 0; f[i].endings[e] != NULL; e++) {
            sink_begin_object(x->out, NULL);
            sink_text(x->out, "ending", f[i].endings[e]);
            sink_text(x->out, "format", f[i].name);
            sink_end_object(x->out);
        }
    }
    sink_end_list(x->out);
    status = dataset_formats(x, &err);
    if (status) {
        respond_error(x, &err);
        return;
    }
    sink_end_object(x->out);
    respond_json(x, 200);
}

void datasets_show(struct exchange *x)
{
    dataset_respond(x, 200, exchange_param(x, "name"));
}

void datasets_preview(struct exchange *x)
{
    const char *bytes, *name = exchange_param(x, "name");
    size_t size;
    struct error err;
    error_clear(&err);
    if (dataset_read(x->api->options.data, name, "preview.png", &x->arena, &bytes, &size, &err)) {
        respond_unread(x, name, &err);
        return;
    }
    buf_append(&x->response->body, bytes, size);
    respond_body(x, 200, "image/png");
}
