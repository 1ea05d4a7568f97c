/* Parses an untrusted safetensors file. It checks lengths, types, shapes and offsets, and that the tensors cover the
 * data without gap or overlap, before anything uses them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/formats/safetensors.h"

#define HEAD_MAX (16u << 20)
#define DATA_MAX ((uint64_t)1 << 40)

static enum status safetensors_parse_fault(const char *tensor, const char *member, struct error *err,
                                           const char *detail)
{
    char pointer[SNAPSHOT_NAME + 40] = "";
    if (tensor != NULL)
        json_pointer_add(pointer, sizeof pointer, tensor, strlen(tensor));
    if (member != NULL)
        json_pointer_add(pointer, sizeof pointer, member, strlen(member));
    return error_set(err, STATUS_INVALID, pointer, "%s", detail);
}

static bool read_type(const char *name, enum snapshot_type *type)
{
    static const struct {
        const char *name;
        enum snapshot_type type;
    } types[] = {{"F32", SNAPSHOT_F32},
                 {"F64", SNAPSHOT_F64},
                 {"I64", SNAPSHOT_I64},
                 {"U64", SNAPSHOT_U64},
                 {"U8", SNAPSHOT_U8}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *type = types[i].type;
            return true;
        }
    }
    return false;
}

/* Returns whether the name consists of printable ASCII characters, without spaces and without characters that JSON
 * escapes. A stored stream (core/base/snapshot.h) allows only such names. */
static bool name_fits(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (name[i] <= ' ' || name[i] > '~' || name[i] == '"' || name[i] == '\\')
            return false;
    return length > 0 && length < SNAPSHOT_NAME;
}

static bool safetensors_parse_whole(const cJSON *value, uint64_t *out)
{
    bool ok = cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble <= (double)DATA_MAX &&
              value->valuedouble == floor(value->valuedouble);
    *out = ok ? (uint64_t)value->valuedouble : 0;
    return ok;
}

/* Reads the shape; *elements gets the product of its sizes. */
static enum status read_shape(const cJSON *shape, struct safetensors_tensor *tensor, uint64_t *elements,
                              struct error *err)
{
    *elements = 1;
    for (int d = 0; d < 4; d++)
        tensor->dim[d] = 1;
    if (!cJSON_IsArray(shape) || cJSON_GetArraySize(shape) > 4)
        return safetensors_parse_fault(tensor->name, "shape", err, "must be a list of at most four sizes");
    JSON_EACH (side, shape) {
        uint64_t size;
        if (!safetensors_parse_whole(side, &size) || (size > 0 && *elements > DATA_MAX / size))
            return safetensors_parse_fault(tensor->name, "shape", err,
                                           "must contain whole numbers whose product is not too large");
        tensor->dim[tensor->rank++] = size;
        *elements *= size;
    }
    return STATUS_OK;
}

static enum status read_tensor(const cJSON *item, uint64_t data_bytes, struct safetensors_tensor *tensor,
                               struct error *err)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(item, "dtype");
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
    uint64_t elements;
    *tensor = (struct safetensors_tensor){.name = item->string};
    if (!name_fits(item->string))
        return safetensors_parse_fault(item->string, NULL, err,
                                       "must have a name of 1 to 95 printable ASCII characters");
    if (!cJSON_IsObject(item) || cJSON_GetArraySize(item) != 3)
        return safetensors_parse_fault(item->string, NULL, err, "must be an object with dtype, shape and data_offsets");
    if (!cJSON_IsString(type) || !read_type(type->valuestring, &tensor->type))
        return safetensors_parse_fault(item->string, "dtype", err, "must be F32, F64, I64, U64 or U8");
    enum status status = read_shape(cJSON_GetObjectItemCaseSensitive(item, "shape"), tensor, &elements, err);
    if (status)
        return status;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !safetensors_parse_whole(offsets->child, &tensor->begin) ||
        !safetensors_parse_whole(offsets->child->next, &tensor->end) || tensor->begin > tensor->end ||
        tensor->end > data_bytes)
        return safetensors_parse_fault(item->string, "data_offsets", err, "must be [begin, end) within the file");
    if ((tensor->end - tensor->begin) != elements * snapshot_type_bytes(tensor->type))
        return safetensors_parse_fault(item->string, "data_offsets", err,
                                       "must span as many bytes as type and shape need");
    return STATUS_OK;
}

static int by_place(const void *left, const void *right)
{
    const struct safetensors_tensor *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1; /* at equal offsets, empty tensors come first */
    return strcmp(a->name, b->name);
}

static enum status check_cover(const struct safetensors_content *content, uint64_t data_bytes, struct error *err)
{
    uint64_t end = 0;
    for (size_t i = 0; i < content->count; i++) {
        if (content->tensors[i].begin != end)
            return safetensors_parse_fault(content->tensors[i].name, "data_offsets", err,
                                           "must begin where the previous tensor ends");
        end = content->tensors[i].end;
    }
    return end == data_bytes ? STATUS_OK
                             : error_set(err, STATUS_INVALID, "", "the file has %llu bytes that belong to no tensor",
                                         (unsigned long long)(data_bytes - end));
}

static enum status check_notes(const cJSON *notes, struct error *err)
{
    if (!cJSON_IsObject(notes))
        return safetensors_parse_fault("__metadata__", NULL, err, "must be an object of texts");
    JSON_EACH (note, notes)
        if (!cJSON_IsString(note))
            return safetensors_parse_fault("__metadata__", note->string, err, "must be text");
    return STATUS_OK;
}

static enum status read_head(struct safetensors_content *content, uint64_t data_bytes, struct error *err)
{
    enum status status = STATUS_OK;
    int members = cJSON_GetArraySize(content->head);
    content->tensors = calloc((size_t)members + 1, sizeof *content->tensors);
    if (content->tensors == NULL)
        return error_memory(err, "a table of tensors");
    JSON_EACH (item, content->head) {
        if (strcmp(item->string, "__metadata__") == 0) {
            content->notes = item;
            status = check_notes(item, err);
        } else {
            status = read_tensor(item, data_bytes, &content->tensors[content->count++], err);
        }
        if (status)
            return status;
    }
    qsort(content->tensors, content->count, sizeof *content->tensors, by_place);
    return check_cover(content, data_bytes, err);
}

enum status safetensors_parse(const void *bytes, size_t count, struct safetensors_content *out, struct error *err)
{
    const unsigned char *from = bytes;
    uint64_t length = 0;
    *out = (struct safetensors_content){.head = NULL};
    for (int i = 0; count >= 8 && i < 8; i++)
        length |= (uint64_t)from[i] << (8 * i);
    if (count < 10 || length < 2 || length > count - 8 || length > HEAD_MAX || from[8] != '{') {
        return error_set(err, STATUS_INVALID, "",
                         "is not a safetensors file: it does not begin with a table of tensors");
    }
    struct error inner;
    error_clear(&inner);
    enum status status = json_parse((const char *)from + 8, (size_t)length, &out->head, &inner);
    if (!status) {
        out->data = from + 8 + length;
        status = read_head(out, count - 8 - length, &inner);
    }
    if (status) {
        safetensors_content_close(out);
        return error_set(err, status == STATUS_NO_MEMORY ? status : STATUS_INVALID, inner.pointer, "%s", inner.message);
    }
    return STATUS_OK;
}

void safetensors_content_close(struct safetensors_content *content)
{
    cJSON_Delete(content->head);
    free(content->tensors);
    *content = (struct safetensors_content){.head = NULL};
}

const char *safetensors_note(const struct safetensors_content *content, const char *name)
{
    const cJSON *note = cJSON_GetObjectItemCaseSensitive(content->notes, name);
    return cJSON_IsString(note) ? note->valuestring : NULL;
}

size_t safetensors_data_bytes(const struct safetensors_content *content)
{
    return content->count > 0 ? (size_t)content->tensors[content->count - 1].end : 0;
}

static enum status safetensors_parse_append(void *context, const void *bytes, size_t count, struct error *err)
{
    struct buf *out = context;
    buf_append(out, bytes, count);
    return out->failed ? error_memory(err, "weights") : STATUS_OK;
}

enum status safetensors_to_snapshot(const struct safetensors_content *content, struct buf *out, struct error *err)
{
    struct snapshot *snapshot = NULL;
    struct snapshot_writer to = {out, safetensors_parse_append};
    enum status status = snapshot_create(&snapshot, err);
    for (size_t i = 0; !status && i < content->count; i++) {
        const struct safetensors_tensor *tensor = &content->tensors[i];
        status =
            snapshot_add(snapshot, SNAPSHOT_WEIGHT, tensor->type, tensor->name, tensor->rank, tensor->dim, NULL, err);
    }
    if (!status)
        status = snapshot_write_head(snapshot, &to, err);
    snapshot_destroy(snapshot);
    return status;
}
