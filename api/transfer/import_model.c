/* Steps that both kinds of import share: open the model with its configuration before anything is stored, then store
 * the job and respond. */
#include <stdlib.h>
#include <string.h>

#include "api/datasets/dataset_names.h"
#include "api/formats/safetensors.h"
#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/jobs/job_name.h"
#include "api/jobs/submission.h"
#include "protocol/config_json.h"
#include "protocol/faults.h"
#include "api/transfer/import_int.h"
#include "core/base/hash.h"

enum status import_read(void *context, uint64_t offset, void *to, size_t count, struct error *err)
{
    const struct storage_import_bytes *bytes = context;
    uint64_t total = storage_import_total(bytes);
    if (offset > total || count > total - offset)
        return error_set(err, STATUS_CORRUPT, NULL, "the stream ends too early");
    storage_import_copy(bytes, (size_t)offset, to, count);
    return STATUS_OK;
}

const char *import_preset(const struct method *method, const char *preset)
{
    for (size_t i = 0; preset != NULL && i < method->preset_count; i++)
        if (strcmp(method->presets[i].name, preset) == 0)
            return method->presets[i].name;
    return "";
}

/* Turns the first fault of a configuration into an error at `pointer`. */
static enum status config_error(const struct api_faults *faults, const char *pointer, struct error *err)
{
    return error_set(err, STATUS_INVALID, pointer, "is not a valid configuration of this build: %s %s",
                     faults->items[0].pointer, faults->items[0].detail);
}

enum status import_model_open(struct exchange *x, struct import_model *model, const char *kind, const char *config,
                              const char *pointer, struct error *err)
{
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    model->method = kind != NULL ? api_method(x->api, kind) : NULL;
    if (faults == NULL)
        return error_memory(err, "faults");
    if (model->method == NULL)
        return error_set(err, STATUS_INVALID, pointer, "must name a kind of this daemon; GET /v1/kinds lists them");
    if (config == NULL)
        return error_set(err, STATUS_INVALID, pointer, "must contain the configuration of the job");
    enum status status = config_read_back(model->method, config, strlen(config), "", &model->config, faults, err);
    if (status == STATUS_NO_MEMORY)
        return status;
    if (status) {
        error_clear(err);
        return config_error(faults, pointer, err);
    }
    struct error refused;
    error_clear(&refused);
    status = dataset_names_import(x, model->method, model->config, &refused);
    if (status)
        return error_set(err, status, pointer, "%s", refused.message);
    model->config_text = api_config_write(&model->method->config, model->config);
    return model->config_text != NULL ? STATUS_OK : error_memory(err, "a configuration");
}

/* Refuses a file whose configuration would make the model allocate too much memory. Every weight has at least one byte
 * in the file, so the model may not have more weights than the file has bytes. The job's estimated memory may not
 * exceed the daemon's limit for a job. */
static enum status check_size(const struct exchange *x, const struct import_model *model, size_t count,
                              const char *pointer, struct error *err)
{
    struct method_estimate estimate;
    enum status status = method_estimate(model->method, model->config, NULL, &estimate, err);
    if (status)
        return status;
    if (estimate.parameters > 0 && (uint64_t)estimate.parameters > count) {
        return error_set(err, STATUS_INVALID, pointer,
                         "does not fit its configuration: a model of this configuration has %lld weights, and the "
                         "checkpoint has only %llu bytes",
                         (long long)estimate.parameters, (unsigned long long)count);
    }
    return job_memory_check(x->api, &estimate, pointer, err);
}

enum status import_model_check(struct exchange *x, const struct import_model *model,
                               const struct storage_import_bytes *bytes, const char *pointer, struct error *err)
{
    struct storage_import_bytes stream = *bytes;
    struct snapshot_reader from = {&stream, storage_import_total(bytes), import_read};
    struct method_model *opened = NULL;
    struct error inner;
    error_clear(&inner);
    if (model->method->open == NULL)
        return error_set(err, STATUS_INVALID, pointer, "jobs of kind %s have no model", model->method->kind);
    enum status status = check_size(x, model, (size_t)from.total_bytes, pointer, err);
    if (status)
        return status;
    status = work_check(&x->work, err);
    if (!status) /* an open model has about as many bytes as its checkpoint */
        status = work_take(&x->work, LEDGER_MODELS, (int64_t)from.total_bytes, err);
    if (status)
        return status;
    status = model->method->open(model->config, x->api->options.kernels, x->api->options.data, &from, &opened, &inner);
    work_give(&x->work, LEDGER_MODELS, (int64_t)from.total_bytes);
    if (!status) {
        model->method->close(opened);
        return STATUS_OK;
    }
    if (status != STATUS_CORRUPT && status != STATUS_INVALID && status != STATUS_NUMERIC)
        return error_set(err, status, NULL, "%s", inner.message);
    return error_set(err, STATUS_INVALID, pointer, "does not fit its configuration: %s", inner.message);
}

void import_model_close(struct import_model *model)
{
    free(model->config);
    free(model->config_text);
    *model = (struct import_model){.method = NULL};
}

/* Hashes what an import does: the name of the new job, and the file. */
static void fingerprint(struct exchange *x, uint8_t out[HASH_BYTES])
{
    struct hash hash;
    const char *name = exchange_query(x, "name"), *route = x->match.route->pattern;
    hash_init(&hash);
    hash_add(&hash, route, strlen(route) + 1);
    hash_add(&hash, name != NULL ? name : "", name != NULL ? strlen(name) + 1 : 0);
    hash_add(&hash, "", 1);
    exchange_hash_body(x, &hash);
    hash_finish(&hash, out);
}

void import_respond(struct exchange *x, struct storage_import *import)
{
    enum storage_submit_outcome outcome;
    struct error err;
    char id[STORAGE_ID];
    error_clear(&err);
    const char *name = exchange_query(x, "name");
    import->name = name != NULL ? name : import->name;
    const char *fault = job_name_fault(import->name);
    import->owner = x->request->who;
    import->team = x->request->team;
    import->owner_bytes = x->api->options.share.job_bytes;
    import->team_bytes = x->api->options.share.team_job_bytes;
    if (!repeat_key(x, &import->key))
        return;
    if (import->key != NULL)
        fingerprint(x, import->fingerprint);
    if (work_check(&x->work, &err)) {
        respond_error(x, &err);
    } else if (api_draining(x->api)) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "The daemon is shutting down and accepts no more jobs.");
    } else if (fault != NULL) {
        (void)error_set(&err, STATUS_INVALID, "/name", "%s; ?name= sets another name", fault);
        respond_error(x, &err);
    } else if (storage_job_import(x->api->options.storage, import, id, &outcome, &err) == STATUS_LIMIT) {
        respond_problem(x, PROBLEM_FORBIDDEN, "%s. Delete finished jobs.", err.message);
    } else if (err.code) {
        respond_error(x, &err);
    } else {
        repeat_respond(x, outcome, id);
    }
}

void import_write_progress(const struct storage_import_checkpoint *last, struct json_sink *json)
{
    const struct sink *out = &json->sink;
    sink_begin_object(out, NULL);
    sink_integer(out, "step", last->what.step);
    sink_integer(out, "samples", last->what.samples);
    sink_number(out, "fraction", 1);
    sink_number(out, "density", last->what.density);
    sink_number(out, "accuracy", last->what.accuracy);
    sink_text(out, "stage", "imported");
    sink_end_object(out);
}

static void write_result(struct exchange *x, const char *format, const struct safetensors_content *content,
                         struct json_sink *json)
{
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT];
    struct hash hash;
    hash_init(&hash);
    exchange_hash_body(x, &hash);
    hash_finish(&hash, digest);
    hash_hex(digest, hex);
    const struct sink *out = &json->sink;
    sink_begin_object(out, NULL);
    sink_begin_object(out, "imported");
    sink_text(out, "format", format);
    if (content)
        sink_text(out, "job", safetensors_note(content, "job"));
    sink_text(out, "sha256", hex);
    sink_end_object(out);
    sink_end_object(out);
}

void import_checkpoint(struct exchange *x, const struct import_model *model, const char *format, const char *preset,
                       const struct safetensors_content *content, const struct storage_import_checkpoint *checkpoint)
{
    struct buf result, progress;
    struct json_sink json;
    buf_init(&result, 4096);
    buf_init(&progress, 4096);
    json_sink_init(&json, &result);
    write_result(x, format, content, &json);
    bool ok = json_sink_done(&json);
    json_sink_init(&json, &progress);
    import_write_progress(checkpoint, &json);
    struct storage_import import = {
        .kind = model->method->kind,
        .preset = preset,
        .name = "",
        .config = model->config_text,
        .progress = progress.data,
        .result = result.data,
        .checkpoints = checkpoint,
        .count = 1,
    };
    if (ok && json_sink_done(&json))
        import_respond(x, &import);
    else
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
    buf_close(&result);
    buf_close(&progress);
}
