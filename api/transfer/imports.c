/* POST /v1/imports: stores the model in a file as a job that has succeeded. The file contains weights, a bundle, or
 * another program's model. Clients can query, evaluate and export the job's checkpoint, and start a training from
 * it. The daemon accepts a file only if the method can open its model. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/formats/safetensors.h"
#include "api/http/exchange.h"
#include "api/transfer/bundle.h"
#include "api/transfer/import_int.h"
#include "api/transfer/transfer.h"
#include "core/base/hash.h"
#include "core/formats/byte_source.h"
#include "storage/storage.h"

/* Imports a bundle: stores a finished job with the checkpoints, metrics and result of the file. Before it stores
 * anything, it checks that the method can open every checkpoint with the configuration. */

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(value) ? value->valuestring : NULL;
}

/* Reads one series, {"NAME": [[step, value or null], ...]}. */
static enum status read_points(struct exchange *x, const cJSON *list, struct storage_series *series, struct error *err)
{
    series->name = list->string;
    series->points = arena_zalloc(&x->arena, (size_t)cJSON_GetArraySize(list) + 1, sizeof *series->points);
    if (series->points == NULL)
        return error_memory(err, "metrics");
    JSON_EACH (item, list) {
        const cJSON *step = cJSON_GetArrayItem(item, 0), *value = cJSON_GetArrayItem(item, 1);
        if (cJSON_GetArraySize(item) != 2 || !cJSON_IsNumber(step) || step->valuedouble != floor(step->valuedouble) ||
            fabs(step->valuedouble) > JSON_INTEGER)
            return error_set(err, STATUS_INVALID, "/metrics", "must have points [step, value]");
        series->points[series->count++] =
            (struct storage_point){(int64_t)step->valuedouble, cJSON_IsNumber(value) ? value->valuedouble : NAN};
    }
    return STATUS_OK;
}

static enum status read_metrics(struct exchange *x, const struct bundle *bundle, struct storage_import *import,
                                struct error *err)
{
    enum status status = STATUS_OK;
    struct storage_series *series =
        arena_zalloc(&x->arena, (size_t)cJSON_GetArraySize(bundle->metrics) + 1, sizeof *series);
    import->series = series;
    if (series == NULL)
        return error_memory(err, "metrics");
    JSON_EACH (list, bundle->metrics)
        if (!status)
            status = read_points(x, list, &series[import->series_count++], err);
    return status;
}

static enum status take_checkpoints(struct exchange *x, const struct bundle *bundle, const struct import_model *model,
                                    struct storage_import *import, struct error *err)
{
    struct storage_import_checkpoint *checkpoints = arena_zalloc(&x->arena, bundle->count, sizeof *checkpoints);
    enum status status = checkpoints != NULL ? STATUS_OK : error_memory(err, "a bundle");
    for (size_t i = 0; !status && i < bundle->count; i++) {
        const struct bundle_checkpoint *from = &bundle->checkpoints[i];
        checkpoints[i] = (struct storage_import_checkpoint){
            .what = {from->step, from->samples, from->density, from->accuracy, from->stage_end},
            .seq = from->seq,
            .bytes = {{from->bytes}, {from->count}}};
        status = import_model_check(x, model, &checkpoints[i].bytes, "", err);
    }
    import->checkpoints = checkpoints;
    import->count = bundle->count;
    return status;
}

/* Writes the result of the bundle, with a member "imported" that describes the origin. */
static enum status write_result(const struct bundle *bundle, struct buf *out, struct error *err)
{
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(bundle->manifest, "result");
    const cJSON *evaluation = cJSON_GetObjectItemCaseSensitive(bundle->manifest, "evaluation");
    cJSON *root = cJSON_IsObject(result) ? cJSON_Duplicate(result, true) : cJSON_CreateObject();
    cJSON_DeleteItemFromObjectCaseSensitive(root, "imported");
    cJSON *imported = cJSON_AddObjectToObject(root, "imported");
    const char *job = text_of(bundle->attestation, "job"), *chain = text_of(bundle->attestation, "chain");
    bool ok = cJSON_AddStringToObject(imported, "format", "bundle") != NULL &&
              cJSON_AddStringToObject(imported, "job", job != NULL ? job : "") != NULL &&
              cJSON_AddStringToObject(imported, "chain", chain != NULL ? chain : "") != NULL;
    if (ok && cJSON_IsObject(evaluation))
        ok = json_attach(imported, "evaluation", cJSON_Duplicate(evaluation, true));
    if (ok)
        json_canonical(root, out);
    cJSON_Delete(root);
    return ok && !out->failed ? STATUS_OK : error_memory(err, "a result");
}

static enum status bundle_import_prepare(struct exchange *x, const struct bundle *bundle, struct import_model *model,
                                         struct storage_import *import, struct buf *config, struct buf *result,
                                         struct buf *progress, struct error *err)
{
    struct json_sink json;
    const cJSON *settings = cJSON_GetObjectItemCaseSensitive(bundle->attestation, "config");
    if (settings != NULL)
        json_canonical(settings, config);
    enum status status = buf_status(config, "a configuration", err);
    if (status)
        return status;
    status =
        import_model_open(x, model, text_of(bundle->attestation, "kind"), config->data, "/__metadata__/manifest", err);
    if (status)
        return status;
    status = take_checkpoints(x, bundle, model, import, err);
    if (status)
        return status;
    status = read_metrics(x, bundle, import, err);
    if (status)
        return status;
    status = write_result(bundle, result, err);
    if (status)
        return status;
    json_sink_init(&json, progress);
    import_write_progress(&import->checkpoints[import->count - 1], &json);
    const char *preset = text_of(bundle->attestation, "preset"), *name = text_of(bundle->manifest, "name");
    import->kind = model->method->kind;
    import->preset = import_preset(model->method, preset);
    import->name = name != NULL && strlen(name) < STORAGE_NAME ? name : "";
    import->config = model->config_text;
    import->progress = progress->data;
    import->result = result->data;
    return json_sink_done(&json) ? STATUS_OK : error_memory(err, "a job");
}

/* Imports the request's body as a bundle, and responds. */
static void import_bundle(struct exchange *x)
{
    struct bundle bundle = {.manifest = NULL};
    struct import_model model = {.method = NULL};
    struct storage_import import = {.kind = NULL};
    struct buf config, result, progress;
    struct error err;
    error_clear(&err);
    buf_init(&config, 4u << 20);
    buf_init(&result, 16u << 20);
    buf_init(&progress, 4096);
    enum status status = bundle_open(x->request->body, x->request->body_bytes, &bundle, &err);
    if (!status)
        status = bundle_import_prepare(x, &bundle, &model, &import, &config, &result, &progress, &err);
    if (!status)
        import_respond(x, &import);
    else
        respond_error(x, &err);
    buf_close(&config);
    buf_close(&result);
    buf_close(&progress);
    import_model_close(&model);
    bundle_close(&bundle);
}

/* Imports a model that another program wrote, from a tar of its files. A method that can import such a model has a
 * function `adopt` (struct method), which makes the configuration and the checkpoint of the new job. */

enum { TAR_BLOCK = 512, TAR_MAGIC = 257, CONFIG_MOST = 1 << 16 };

/* import_is_tar() returns whether the body is a tar. import_foreign() imports the tar as a model of another program,
 * and responds. */
static bool import_is_tar(const struct exchange *x)
{
    const char *body = x->request->body;
    return x->request->body_bytes >= TAR_BLOCK && memcmp(body + TAR_MAGIC, "ustar", 5) == 0;
}

/* Returns the first method that can import models of another program; NULL: there is none. */
static const struct method *adopter(void)
{
    size_t count;
    const struct method *const *methods = methods_all(&count);
    for (size_t i = 0; i < count; i++)
        if (methods[i]->adopt)
            return methods[i];
    return NULL;
}

static enum status import_foreign_adopt(struct exchange *x, struct buf *config, struct buf *checkpoint,
                                        struct import_model *model, struct error *err)
{
    struct byte_source_memory memory = {(const unsigned char *)x->request->body, x->request->body_bytes, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    from.work = &x->work;
    const struct method *method = adopter();
    if (!method)
        return error_set(err, STATUS_INVALID, "", "must be a bundle or a safetensors file");
    enum status status = method->adopt(&from, config, checkpoint, err);
    if (!status && (config->failed || checkpoint->failed))
        status = error_memory(err, "a model");
    if (status == STATUS_CORRUPT || status == STATUS_INVALID || status == STATUS_LIMIT) {
        struct error cause = *err;
        error_clear(err);
        return error_set(err, STATUS_INVALID, "", "%s", cause.message);
    }
    if (status)
        return status;
    buf_append(config, "", 1); /* the text ends with NUL */
    return config->failed ? error_memory(err, "a configuration")
                          : import_model_open(x, model, method->kind, config->data, "", err);
}

static void import_foreign(struct exchange *x)
{
    struct import_model model = {.method = NULL};
    struct storage_import_checkpoint checkpoint = {.seq = 1, .what = {.stage_end = true}};
    struct buf config, bytes;
    struct error err;
    error_clear(&err);
    buf_init(&config, CONFIG_MOST);
    /* the checkpoint may be larger than the file, because numbers of two bytes become floats */
    buf_init(&bytes, 4 * (size_t)x->api->options.import_bytes);
    enum status status = import_foreign_adopt(x, &config, &bytes, &model, &err);
    checkpoint.bytes = (struct storage_import_bytes){{bytes.data, NULL}, {bytes.size, 0}};
    if (!status)
        status = import_model_check(x, &model, &checkpoint.bytes, "", &err);
    if (!status)
        import_checkpoint(x, &model, model.method->adopts, "", NULL, &checkpoint);
    else
        respond_error(x, &err);
    import_model_close(&model);
    buf_close(&config);
    buf_close(&bytes);
}

/* ---- one file of weights ---- */

#define HEAD_MAX (16u << 20) /* upper limit of the bytes of a stream's table of contents */
#define NOTE(name) "/__metadata__/" name

static enum status note_integer(const struct safetensors_content *content, const char *name, int64_t *out,
                                struct error *err)
{
    const char *text = safetensors_note(content, name);
    char pointer[64];
    (void)snprintf(pointer, sizeof pointer, NOTE("%s"), name);
    *out = 0;
    if (text != NULL && (!text_integer(text, out) || *out < 0 || *out > (int64_t)JSON_INTEGER))
        return error_set(err, STATUS_INVALID, pointer, "must be a whole number of at most 2^53 - 1");
    return STATUS_OK;
}

static enum status note_fraction(const struct safetensors_content *content, const char *name, double *out,
                                 struct error *err)
{
    const char *text = safetensors_note(content, name);
    char pointer[64], *end = NULL;
    (void)snprintf(pointer, sizeof pointer, NOTE("%s"), name);
    *out = NAN;
    if (text == NULL)
        return STATUS_OK;
    *out = strtod(text, &end);
    bool ok = end != text && *end == '\0' && *out >= 0 && *out <= 1;
    return ok ? STATUS_OK : error_set(err, STATUS_INVALID, pointer, "must be a number in [0, 1]");
}

static enum status read_notes(const struct safetensors_content *content, struct storage_import_checkpoint *checkpoint,
                              struct error *err)
{
    enum status status = note_integer(content, "step", &checkpoint->what.step, err);
    if (!status)
        status = note_integer(content, "samples", &checkpoint->what.samples, err);
    if (!status)
        status = note_integer(content, "checkpoint", &checkpoint->seq, err);
    if (!status)
        status = note_fraction(content, "density", &checkpoint->what.density, err);
    if (!status)
        status = note_fraction(content, "accuracy", &checkpoint->what.accuracy, err);
    checkpoint->what.stage_end = true;
    checkpoint->seq = checkpoint->seq > 0 ? checkpoint->seq : 1;
    return status;
}

/* Checks that a model can be opened from weights alone. The models of most kinds also need the state of their run, for
 * instance which case of a sweep they belong to. Only a bundle contains that state, so the error says so. */
static enum status check_weights(struct exchange *x, const struct import_model *model,
                                 const struct storage_import_bytes *bytes, struct error *err)
{
    enum status status = import_model_check(x, model, bytes, "", err);
    if (status != STATUS_INVALID || strstr(err->message, " is missing") == NULL)
        return status;
    struct error cause = *err;
    error_clear(err);
    return error_set(err, status, "",
                     "%s; if the file is a complete export of weights, a job of kind %s cannot be made from weights "
                     "alone: import its bundle (GET /v1/jobs/{id}/bundle)",
                     cause.message, model->method->kind);
}

static void import_weights(struct exchange *x, const struct safetensors_content *content)
{
    struct import_model model = {.method = NULL};
    struct storage_import_checkpoint checkpoint = {.seq = 0};
    struct error err;
    struct buf head;
    error_clear(&err);
    buf_init(&head, HEAD_MAX);
    enum status status = import_model_open(x, &model, safetensors_note(content, "kind"),
                                           safetensors_note(content, "config"), "/__metadata__", &err);
    if (!status)
        status = read_notes(content, &checkpoint, &err);
    if (!status)
        status = safetensors_to_snapshot(content, &head, &err);
    checkpoint.bytes =
        (struct storage_import_bytes){{head.data, content->data}, {head.size, safetensors_data_bytes(content)}};
    if (!status)
        status = check_weights(x, &model, &checkpoint.bytes, &err);
    if (!status)
        import_checkpoint(x, &model, "safetensors", import_preset(model.method, safetensors_note(content, "preset")),
                          content, &checkpoint);
    else
        respond_error(x, &err);
    import_model_close(&model);
    buf_close(&head);
}

/* Compares the hash of the body with the one that the sender announced, if any. False: the function has responded. */
static bool arrived_whole(struct exchange *x)
{
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT];
    struct error err;
    struct hash hash;
    const char *expected = exchange_query(x, "sha256");
    error_clear(&err);
    hash_init(&hash);
    exchange_hash_body(x, &hash);
    hash_finish(&hash, digest);
    hash_hex(digest, hex);
    if (work_check(&x->work, &err)) {
        respond_error(x, &err);
        return false;
    }
    if (expected == NULL || strcmp(expected, hex) == 0)
        return true;
    respond_problem(x, PROBLEM_BAD_QUERY, "sha256: does not match the file, whose hash is %s.", hex);
    return false;
}

static void import_file(struct exchange *x)
{
    struct safetensors_content content = {.head = NULL};
    struct error err;
    error_clear(&err);
    if (!arrived_whole(x))
        return;
    if (import_is_tar(x)) {
        import_foreign(x);
        return;
    }
    if (safetensors_parse(x->request->body, x->request->body_bytes, &content, &err))
        respond_error(x, &err);
    else if (bundle_is(&content))
        import_bundle(x);
    else
        import_weights(x, &content);
    safetensors_content_close(&content);
}

/* Handles POST /v1/imports. An import takes seconds; the limit of simultaneous imports keeps handler threads free for
 * other requests. */
void imports_create(struct exchange *x)
{
    struct error err;
    error_clear(&err);
    if (work_take(&x->work, LEDGER_IMPORTS, 1, &err))
        respond_no_place(x, &err, "imports", x->api->options.imports_at_once);
    else
        import_file(x);
}
