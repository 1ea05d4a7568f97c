/* Fuzz target of the manifests of bundles. The target puts the input into a file as its manifest and computes matching
 * hashes, so that the reader does not stop at the check of the hashes. An accepted bundle must have a checkpoint within
 * the file. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "api/transfer/bundle.h"
#include "core/base/hash.h"

#define MANIFEST                                                                                                       \
    "{\"attestation\":{\"config\":{},\"dataset\":null,\"from\":null,\"kind\":\"sparling\",\"origin\":"                 \
    "\"dda8ed678719aad65d7d"                                                                                           \
    "ca7438e92ef907e7d1725c49b6e9aebf0f3d2020391f\",\"checkpoints\":[{\"seq\":1,\"step\":2,\"samples\":3,\"density\":" \
    "0.5,\""                                                                                                           \
    "stage_end\":true,\"sha256\":\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\",\"chain\":"      \
    "\"db55ebce3"                                                                                                      \
    "01c4a6ccdc43e3e659470bac4864e5b1cd3e35a6b56329ef0c3c570\"}],\"chain\":"                                           \
    "\"db55ebce301c4a6ccdc43e3e659470bac4864e5b1cd3e3"                                                                 \
    "5a6b56329ef0c3c570\"},\"members\":[{\"name\":\"metrics\",\"sha256\":"                                             \
    "\"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e83"                                                               \
    "10c060f61caaff8a\",\"bytes\":2},{\"name\":\"checkpoint.1\",\"sha256\":"                                           \
    "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a"                                                                 \
    "9cb410ff61f20015ad\",\"bytes\":3,\"accuracy\":0.5}]}"

const struct fuzz_seed fuzz_seeds[] = {FUZZ_SEED(MANIFEST), FUZZ_SEED("{\"attestation\":{},\"members\":[]}")};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

static void add_head(struct buf *out, const char *head)
{
    size_t length = strlen(head), padded = (length + 7) / 8 * 8;
    for (int i = 0; i < 8; i++) {
        unsigned char byte = (unsigned char)((uint64_t)padded >> 8 * i);
        buf_append(out, &byte, 1);
    }
    buf_append(out, head, length);
    buf_append(out, "        ", padded - length);
}

/* Makes a bundle with this manifest and two members: "metrics" contains {}, "checkpoint.1" contains abc. */
static void wrap(const char *manifest, struct buf *out)
{
    static const char *const names[] = {"metrics", "checkpoint.1"};
    static const int ends[] = {0, 2, 5};
    unsigned char digest[HASH_BYTES];
    char hex[HASH_TEXT];
    cJSON *root = cJSON_CreateObject(), *notes = cJSON_AddObjectToObject(root, "__metadata__");
    hash_bytes(manifest, strlen(manifest), digest);
    hash_hex(digest, hex);
    cJSON_AddStringToObject(notes, "format", BUNDLE_FORMAT);
    cJSON_AddStringToObject(notes, "manifest", manifest);
    cJSON_AddStringToObject(notes, "manifest_sha256", hex);
    for (int i = 0; i < 2; i++) {
        cJSON *tensor = cJSON_AddObjectToObject(root, names[i]);
        cJSON_AddStringToObject(tensor, "dtype", "U8");
        cJSON_AddItemToObject(tensor, "shape", cJSON_CreateIntArray(&(int){ends[i + 1] - ends[i]}, 1));
        cJSON_AddItemToObject(tensor, "data_offsets", cJSON_CreateIntArray(&ends[i], 2));
    }
    char *head = cJSON_PrintUnformatted(root);
    FUZZ_CHECK(head != NULL);
    add_head(out, head);
    buf_text(out, "{}abc");
    cJSON_free(head);
    cJSON_Delete(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bundle bundle;
    struct error err = {0};
    struct buf file;
    char *manifest = malloc(size + 1);
    FUZZ_CHECK(manifest != NULL);
    if (size > 0)
        memcpy(manifest, data, size);
    manifest[size] = '\0';
    buf_init(&file, 1u << 24);
    wrap(manifest, &file);
    enum status status = bundle_open(file.data, file.size, &bundle, &err);
    FUZZ_CHECK(status == err.code && (status == STATUS_OK || (status == STATUS_INVALID && err.message[0] != '\0')));
    FUZZ_CHECK(status != STATUS_OK || bundle.count == 1);
    for (size_t i = 0; i < bundle.count; i++)
        FUZZ_CHECK(memcmp(bundle.checkpoints[i].bytes, "abc", bundle.checkpoints[i].count) == 0);
    /* The unchanged manifest must be accepted. */
    FUZZ_CHECK(strcmp(manifest, MANIFEST) != 0 || status == STATUS_OK);
    bundle_close(&bundle);
    buf_close(&file);
    free(manifest);
    return 0;
}
