/* Opens a bundle and checks it: recomputes every hash before any content is used. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/transfer/bundle.h"
#include "api/transfer/attestation.h"

#define AT "/__metadata__/"

static enum status changed(const char *pointer, const char *what, struct error *err)
{
    return error_set(err, STATUS_INVALID, pointer, "%s was changed since the bundle was made", what);
}

static bool hash_is(const void *bytes, size_t count, const char *expected)
{
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT];
    hash_bytes(bytes, count, digest);
    hash_hex(digest, hex);
    return expected != NULL && strcmp(hex, expected) == 0;
}

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(value) ? value->valuestring : NULL;
}

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(value) ? value->valuedouble : NAN;
}

/* Returns a member as a whole number of at least 0, or -1 if it is something else. */
static int64_t whole_of(const cJSON *object, const char *name)
{
    double value = number_of(object, name);
    return value >= 0 && value <= JSON_INTEGER && value == floor(value) ? (int64_t)value : -1;
}

bool bundle_is(const struct safetensors_content *content)
{
    const char *format = safetensors_note(content, "format");
    return format != NULL && strcmp(format, BUNDLE_FORMAT) == 0;
}

static enum status read_manifest(struct bundle *bundle, struct error *err)
{
    const char *text = safetensors_note(&bundle->content, "manifest");
    const char *sha256 = safetensors_note(&bundle->content, "manifest_sha256");
    if (!bundle_is(&bundle->content) || text == NULL || sha256 == NULL) {
        return error_set(err, STATUS_INVALID, AT "format",
                         "must be " BUNDLE_FORMAT ", with manifest and manifest_sha256");
    }
    if (!hash_is(text, strlen(text), sha256))
        return changed(AT "manifest", "the manifest", err);
    enum status status = json_parse(text, strlen(text), &bundle->manifest, err);
    if (status)
        return status;
    bundle->attestation = cJSON_GetObjectItemCaseSensitive(bundle->manifest, "attestation");
    return cJSON_IsObject(bundle->attestation)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, AT "manifest", "must have an attestation");
}

/* Checks a tensor against its entry in the manifest. *member receives that entry, NULL if the manifest has none. */
static enum status check_member(const struct bundle *bundle, const struct safetensors_tensor *tensor,
                                const cJSON **member, struct error *err)
{
    char pointer[SNAPSHOT_NAME + 8] = "";
    json_pointer_add(pointer, sizeof pointer, tensor->name, strlen(tensor->name));
    *member = NULL;
    JSON_EACH (item, cJSON_GetObjectItemCaseSensitive(bundle->manifest, "members")) {
        const char *name = text_of(item, "name");
        if (name != NULL && strcmp(name, tensor->name) == 0)
            *member = item;
    }
    size_t count = (size_t)(tensor->end - tensor->begin);
    if (*member == NULL || tensor->type != SNAPSHOT_U8 || tensor->rank != 1)
        return error_set(err, STATUS_INVALID, pointer, "is not listed in the manifest");
    if (!hash_is(bundle->content.data + tensor->begin, count, text_of(*member, "sha256")))
        return changed(pointer, "this member", err);
    return STATUS_OK;
}

static enum status check_members(struct bundle *bundle, struct error *err)
{
    const cJSON *members = cJSON_GetObjectItemCaseSensitive(bundle->manifest, "members"), *member;
    enum status status = STATUS_OK;
    if (!cJSON_IsArray(members) || (size_t)cJSON_GetArraySize(members) != bundle->content.count)
        return error_set(err, STATUS_INVALID, AT "manifest", "must list every member of the bundle once");
    for (size_t i = 0; !status && i < bundle->content.count; i++) {
        const struct safetensors_tensor *tensor = &bundle->content.tensors[i];
        status = check_member(bundle, tensor, &member, err);
        if (!status && strcmp(tensor->name, "metrics") == 0) {
            status = json_parse((const char *)bundle->content.data + tensor->begin,
                                (size_t)(tensor->end - tensor->begin), &bundle->metrics, err);
        }
    }
    return status;
}

/* Returns the tensor of a checkpoint of the chain, or NULL if the bundle does not contain it. */
static const struct safetensors_tensor *find_stream(const struct bundle *bundle, int64_t seq)
{
    for (size_t i = 0; i < bundle->content.count; i++) {
        const char *name = bundle->content.tensors[i].name;
        char *end = NULL;
        if (strncmp(name, "checkpoint.", 11) == 0 && strtoll(name + 11, &end, 10) == seq && *end == '\0')
            return &bundle->content.tensors[i];
    }
    return NULL;
}

static double accuracy_of(const struct bundle *bundle, const char *name)
{
    JSON_EACH (item, cJSON_GetObjectItemCaseSensitive(bundle->manifest, "members")) {
        const char *own = text_of(item, "name");
        if (own != NULL && strcmp(own, name) == 0)
            return number_of(item, "accuracy");
    }
    return NAN;
}

static enum status take_link(struct bundle *bundle, const cJSON *link, char chain[HASH_TEXT], struct error *err)
{
    struct bundle_checkpoint checkpoint = {
        .seq = whole_of(link, "seq"),
        .step = whole_of(link, "step"),
        .samples = whole_of(link, "samples"),
        .density = number_of(link, "density"),
        .stage_end = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(link, "stage_end")),
        .sha256 = text_of(link, "sha256"),
    };
    const char *expected = text_of(link, "chain");
    int64_t before = bundle->count > 0 ? bundle->checkpoints[bundle->count - 1].seq : 0;
    if (checkpoint.seq <= before || checkpoint.step < 0 || checkpoint.samples < 0 || checkpoint.sha256 == NULL ||
        expected == NULL)
        return error_set(err, STATUS_INVALID, AT "manifest", "has a link that lacks a member or is out of order");
    chain_next(chain, checkpoint.seq, checkpoint.step, checkpoint.samples, checkpoint.sha256);
    if (strcmp(chain, expected) != 0)
        return changed(AT "manifest", "the chain of checkpoints", err);
    const struct safetensors_tensor *tensor = find_stream(bundle, checkpoint.seq);
    if (tensor == NULL)
        return STATUS_OK;
    checkpoint.bytes = bundle->content.data + tensor->begin;
    checkpoint.count = (size_t)(tensor->end - tensor->begin);
    checkpoint.accuracy = accuracy_of(bundle, tensor->name);
    if (!hash_is(checkpoint.bytes, checkpoint.count, checkpoint.sha256))
        return changed(AT "manifest", "a checkpoint, or the chain,", err);
    bundle->checkpoints[bundle->count++] = checkpoint;
    return STATUS_OK;
}

static enum status check_chain(struct bundle *bundle, struct error *err)
{
    const cJSON *links = cJSON_GetObjectItemCaseSensitive(bundle->attestation, "checkpoints");
    const char *origin = text_of(bundle->attestation, "origin"), *last = text_of(bundle->attestation, "chain");
    char chain[HASH_TEXT];
    bundle->checkpoints = calloc((size_t)cJSON_GetArraySize(links) + 1, sizeof *bundle->checkpoints);
    if (bundle->checkpoints == NULL || !chain_origin(bundle->attestation, chain))
        return error_memory(err, "a bundle");
    if (origin == NULL || last == NULL || strcmp(origin, chain) != 0)
        return changed(AT "manifest", "the configuration", err);
    JSON_EACH (link, links) {
        enum status status = take_link(bundle, link, chain, err);
        if (status)
            return status;
    }
    if (strcmp(chain, last) != 0)
        return changed(AT "manifest", "the chain of checkpoints", err);
    size_t others = bundle->metrics != NULL ? 1 : 0;
    return bundle->count > 0 && bundle->count + others == bundle->content.count
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, AT "manifest",
                           "must have a link for every checkpoint, and at least one");
}

enum status bundle_open(const void *bytes, size_t count, struct bundle *out, struct error *err)
{
    struct error inner;
    error_clear(&inner);
    *out = (struct bundle){.manifest = NULL};
    enum status status = safetensors_parse(bytes, count, &out->content, &inner);
    if (!status)
        status = read_manifest(out, &inner);
    if (!status)
        status = check_members(out, &inner);
    if (!status)
        status = check_chain(out, &inner);
    if (status) {
        bundle_close(out);
        return error_set(err, status == STATUS_NO_MEMORY ? status : STATUS_INVALID, inner.pointer, "%s", inner.message);
    }
    return STATUS_OK;
}

void bundle_close(struct bundle *bundle)
{
    cJSON_Delete(bundle->manifest);
    cJSON_Delete(bundle->metrics);
    free(bundle->checkpoints);
    safetensors_content_close(&bundle->content);
    *bundle = (struct bundle){.manifest = NULL};
}
