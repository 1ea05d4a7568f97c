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
#include "storage/storage.h"

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
    if (status == STATUS_OK)
        status = note_integer(content, "samples", &checkpoint->what.samples, err);
    if (status == STATUS_OK)
        status = note_integer(content, "checkpoint", &checkpoint->seq, err);
    if (status == STATUS_OK)
        status = note_fraction(content, "density", &checkpoint->what.density, err);
    if (status == STATUS_OK)
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
    if (status == STATUS_OK)
        status = read_notes(content, &checkpoint, &err);
    if (status == STATUS_OK)
        status = safetensors_to_snapshot(content, &head, &err);
    checkpoint.bytes =
        (struct storage_import_bytes){{head.data, content->data}, {head.size, safetensors_data_bytes(content)}};
    if (status == STATUS_OK)
        status = check_weights(x, &model, &checkpoint.bytes, &err);
    if (status == STATUS_OK)
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
    const char *expected = exchange_query(x, "sha256");
    hash_bytes(x->request->body, x->request->body_bytes, digest);
    hash_hex(digest, hex);
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
    if (safetensors_parse(x->request->body, x->request->body_bytes, &content, &err) != STATUS_OK)
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
    int most = x->api->options.imports_at_once;
    if (atomic_fetch_add(&x->api->imports, 1) < most)
        import_file(x);
    else
        respond_problem(x, PROBLEM_TOO_MANY, "%d imports are in progress already.", most);
    atomic_fetch_sub(&x->api->imports, 1);
}
