/* Fuzz target of model files from clients. The tensors of an accepted file must be within the file and leave no
 * gaps. The snapshot made of them must be readable. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "api/formats/safetensors.h"

#define ONE "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}"
#define TWO                                                                                                            \
    "{\"__metadata__\":{\"k\":\"v\"},\"b\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[8,9]},"                    \
    "\"a\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]},\"e\":{\"dtype\":\"F64\",\"shape\":[0,3],\"data_"  \
    "offsets\":[8,8]}}"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("\x38\0\0\0\0\0\0\0" ONE "12345678"),
    FUZZ_SEED("\xb9\0\0\0\0\0\0\0" TWO "123456789"),
    FUZZ_SEED("\x02\0\0\0\0\0\0\0{}"),
    FUZZ_SEED("\xff\xff\xff\xff\xff\xff\xff\xff{}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

struct memory {
    const char *bytes;
    size_t count;
};

static enum status read_memory(void *context, uint64_t offset, void *to, size_t count, struct error *err)
{
    const struct memory *memory = context;
    if (offset > memory->count || count > memory->count - offset)
        return error_set(err, STATUS_CORRUPT, NULL, "the end");
    memcpy(to, memory->bytes + offset, count);
    return STATUS_OK;
}

static void check_snapshot(const struct safetensors_content *content)
{
    struct buf stream;
    struct error err = {0};
    struct snapshot_entry *entries = NULL;
    size_t count = 0;
    buf_init(&stream, 1u << 24);
    FUZZ_CHECK(safetensors_to_snapshot(content, &stream, &err) == STATUS_OK);
    buf_append(&stream, content->data, safetensors_data_bytes(content));
    struct memory memory = {stream.data, stream.size};
    struct snapshot_reader from = {&memory, stream.size, read_memory};
    FUZZ_CHECK(snapshot_contents(&from, &entries, &count, &err) == STATUS_OK);
    FUZZ_CHECK(count == content->count);
    for (size_t i = 0; i < count; i++) {
        const struct safetensors_tensor *tensor = &content->tensors[i];
        FUZZ_CHECK(strcmp(entries[i].name, tensor->name) == 0 && entries[i].bytes == tensor->end - tensor->begin);
        FUZZ_CHECK(memcmp(stream.data + entries[i].offset, content->data + tensor->begin, (size_t)entries[i].bytes) ==
                   0);
    }
    free(entries);
    buf_close(&stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors_content content;
    struct error err = {0};
    enum status status = safetensors_parse(data, size, &content, &err);
    FUZZ_CHECK(status == err.code && (status == STATUS_OK || status == STATUS_INVALID));
    FUZZ_CHECK((status == STATUS_OK) == (content.head != NULL));
    if (status == STATUS_OK) {
        uint64_t end = 0;
        for (size_t i = 0; i < content.count; i++) {
            FUZZ_CHECK(content.tensors[i].begin == end);
            end = content.tensors[i].end;
        }
        FUZZ_CHECK(content.data + end == data + size);
        check_snapshot(&content);
    }
    safetensors_content_close(&content);
    return 0;
}
