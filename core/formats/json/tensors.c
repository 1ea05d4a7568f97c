/* Reads headers of safetensors files, and members of other objects, with libcjson (tensors.h). */
#include "core/formats/json/tensors.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DATA_MOST 1e15 /* bytes */

void tensors_close(struct tensors *tensors)
{
    free(tensors->entry);
    *tensors = (struct tensors){0};
}

static enum status read_piece(void *context, void *to, size_t most, size_t *got, struct error *err)
{
    struct tensors_piece *piece = context;
    *got = 0;
    if (piece->left == 0)
        return STATUS_OK;
    size_t now = (int64_t)most < piece->left ? most : (size_t)piece->left;
    enum status status = piece->from->read(piece->from->context, to, now, got, err);
    piece->left -= status ? 0 : (int64_t)*got;
    return status;
}

struct byte_source tensors_piece_source(struct tensors_piece *piece)
{
    return (struct byte_source){piece, read_piece, piece->from->work};
}

static enum status corrupt(const char *tensor, const char *what, struct error *err)
{
    return error_set(err, STATUS_CORRUPT, NULL, "the header of the safetensors file: tensor '%.80s' %s", tensor, what);
}

static bool json_tensors_whole(const cJSON *value, int64_t *out)
{
    bool good = cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble <= DATA_MOST &&
                value->valuedouble == floor(value->valuedouble);
    *out = good ? (int64_t)value->valuedouble : 0;
    return good;
}

static bool take_type(const cJSON *type, struct npy_header *h)
{
    static const struct {
        const char *name;
        enum npy_class element;
        size_t item;
    } types[] = {{"F64", NPY_FLOAT, 8},    {"F32", NPY_FLOAT, 4},    {"F16", NPY_FLOAT, 2},    {"BF16", NPY_BFLOAT, 2},
                 {"I64", NPY_SIGNED, 8},   {"I32", NPY_SIGNED, 4},   {"I16", NPY_SIGNED, 2},   {"I8", NPY_SIGNED, 1},
                 {"U64", NPY_UNSIGNED, 8}, {"U32", NPY_UNSIGNED, 4}, {"U16", NPY_UNSIGNED, 2}, {"U8", NPY_UNSIGNED, 1},
                 {"BOOL", NPY_BOOL, 1}};
    for (size_t i = 0; cJSON_IsString(type) && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, type->valuestring) == 0) {
            h->element = types[i].element;
            h->item = types[i].item;
            return true;
        }
    return false;
}

static enum status take_shape(const cJSON *shape, struct tensors_entry *entry, double *elements, struct error *err)
{
    const cJSON *side;
    *elements = 1;
    if (!cJSON_IsArray(shape))
        return corrupt(entry->name, "has no shape", err);
    cJSON_ArrayForEach (side, shape) {
        if (entry->header.rank == NPY_RANK)
            return error_set(err, STATUS_INVALID, NULL, "tensor '%.80s' has more than %d dimensions", entry->name,
                             NPY_RANK);
        if (!json_tensors_whole(side, &entry->header.dim[entry->header.rank++]))
            return corrupt(entry->name, "has a shape that is not a list of whole numbers", err);
        *elements *= side->valuedouble;
    }
    return *elements <= DATA_MOST ? STATUS_OK : corrupt(entry->name, "has a shape that is too large", err);
}

static enum status take_entry(const cJSON *item, struct tensors_entry *entry, struct error *err)
{
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
    double elements = 0;
    size_t length = strlen(item->string);
    if (length == 0 || length >= TENSORS_NAME)
        return corrupt(item->string, "must have a name of 1 to 127 bytes", err);
    memcpy(entry->name, item->string, length + 1);
    if (!take_type(cJSON_GetObjectItemCaseSensitive(item, "dtype"), &entry->header))
        return error_set(err, STATUS_INVALID, NULL,
                         "tensor '%.80s' has a type that cannot be read; use F64, F32, F16, BF16, BOOL or integers",
                         entry->name);
    enum status status = take_shape(cJSON_GetObjectItemCaseSensitive(item, "shape"), entry, &elements, err);
    if (status)
        return status;
    if (cJSON_GetArraySize(offsets) != 2 || !json_tensors_whole(offsets->child, &entry->begin) ||
        !json_tensors_whole(offsets->child->next, &entry->end))
        return corrupt(entry->name, "has no data_offsets", err);
    return (double)(entry->end - entry->begin) == elements * (double)entry->header.item
               ? STATUS_OK
               : corrupt(entry->name, "has data_offsets that do not fit its shape and type", err);
}

static int by_place(const void *left, const void *right)
{
    const struct tensors_entry *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end != b->end ? (a->end < b->end ? -1 : 1) : strcmp(a->name, b->name);
}

static enum status take_entries(const cJSON *head, struct tensors *out, struct error *err)
{
    const cJSON *item;
    int64_t end = 0;
    if (!cJSON_IsObject(head))
        return error_set(err, STATUS_CORRUPT, NULL, "the header of the safetensors file must be a JSON object");
    if (cJSON_GetArraySize(head) > TENSORS_MOST)
        return error_set(err, STATUS_LIMIT, NULL, "the file has more than %d tensors", TENSORS_MOST);
    out->entry = calloc((size_t)cJSON_GetArraySize(head) + 1, sizeof *out->entry);
    if (!out->entry)
        return error_memory(err, "a list of tensors");
    cJSON_ArrayForEach (item, head) {
        enum status status =
            strcmp(item->string, "__metadata__") == 0 ? STATUS_OK : take_entry(item, &out->entry[out->count], err);
        if (status)
            return status;
        out->count += strcmp(item->string, "__metadata__") != 0;
    }
    qsort(out->entry, (size_t)out->count, sizeof *out->entry, by_place);
    for (int i = 0; i < out->count; i++) {
        if (out->entry[i].begin != end)
            return corrupt(out->entry[i].name, "does not begin where the previous tensor ends", err);
        end = out->entry[i].end;
    }
    return STATUS_OK;
}

enum status tensors_head_read(const struct byte_source *from, struct tensors *out, struct error *err)
{
    unsigned char length[8];
    uint64_t bytes = 0;
    *out = (struct tensors){0};
    enum status status = byte_source_exactly(from, length, sizeof length, "the safetensors file", err);
    if (status)
        return status;
    for (int i = 0; i < 8; i++)
        bytes |= (uint64_t)length[i] << (8 * i);
    if (bytes < 2 || bytes > TENSORS_HEAD)
        return error_set(err, bytes > TENSORS_HEAD ? STATUS_LIMIT : STATUS_CORRUPT, NULL,
                         "the safetensors file must begin with the length of its header, from 2 to %d bytes",
                         TENSORS_HEAD);
    char *text = malloc((size_t)bytes);
    if (!text)
        return error_memory(err, "the header of a safetensors file");
    status = byte_source_exactly(from, text, (size_t)bytes, "the header of the safetensors file", err);
    cJSON *head = status ? NULL : cJSON_ParseWithLength(text, (size_t)bytes);
    if (!status)
        status = take_entries(head, out, err);
    cJSON_Delete(head);
    free(text);
    return status;
}

/* Returns the cJSON object. The struct json_fields of the interface is only another name for it. */
static cJSON *tree_of(const struct json_fields *fields)
{
    return (cJSON *)(void *)fields;
}

enum status json_fields_create(const char *text, size_t bytes, struct json_fields **out, struct error *err)
{
    cJSON *tree = cJSON_ParseWithLength(text, bytes);
    *out = NULL;
    if (!cJSON_IsObject(tree)) {
        cJSON_Delete(tree);
        return error_set(err, STATUS_INVALID, NULL, "must be one JSON object");
    }
    *out = (struct json_fields *)(void *)tree;
    return STATUS_OK;
}

void json_fields_destroy(struct json_fields *fields)
{
    cJSON_Delete(tree_of(fields));
}

const char *json_fields_text(const struct json_fields *fields, const char *name, const char *usual)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree_of(fields), name);
    return cJSON_IsString(item) ? item->valuestring : usual;
}

bool json_fields_flag(const struct json_fields *fields, const char *name, bool usual)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree_of(fields), name);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : usual;
}

double json_fields_number(const struct json_fields *fields, const char *name, const char *inner, double usual)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree_of(fields), name);
    if (inner)
        item = cJSON_GetObjectItemCaseSensitive(item, inner);
    return cJSON_IsNumber(item) ? item->valuedouble : usual;
}
