/* Imports a bundle: stores a finished job with the checkpoints, metrics and result of the file. Before it stores
 * anything, it checks that the method can open every checkpoint with the configuration. */
#include <math.h>
#include <string.h>

#include "api/transfer/bundle.h"
#include "api/transfer/import_int.h"

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
        if (status == STATUS_OK)
            status = read_points(x, list, &series[import->series_count++], err);
    return status;
}

static enum status take_checkpoints(struct exchange *x, const struct bundle *bundle, const struct import_model *model,
                                    struct storage_import *import, struct error *err)
{
    struct storage_import_checkpoint *checkpoints = arena_zalloc(&x->arena, bundle->count, sizeof *checkpoints);
    enum status status = checkpoints != NULL ? STATUS_OK : error_memory(err, "a bundle");
    for (size_t i = 0; status == STATUS_OK && i < bundle->count; i++) {
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
    if (status != STATUS_OK)
        return status;
    status =
        import_model_open(x, model, text_of(bundle->attestation, "kind"), config->data, "/__metadata__/manifest", err);
    if (status != STATUS_OK)
        return status;
    status = take_checkpoints(x, bundle, model, import, err);
    if (status != STATUS_OK)
        return status;
    status = read_metrics(x, bundle, import, err);
    if (status != STATUS_OK)
        return status;
    status = write_result(bundle, result, err);
    if (status != STATUS_OK)
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

void import_bundle(struct exchange *x)
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
    if (status == STATUS_OK)
        status = bundle_import_prepare(x, &bundle, &model, &import, &config, &result, &progress, &err);
    if (status == STATUS_OK)
        import_respond(x, &import);
    else
        respond_error(x, &err);
    buf_close(&config);
    buf_close(&result);
    buf_close(&progress);
    import_model_close(&model);
    bundle_close(&bundle);
}
