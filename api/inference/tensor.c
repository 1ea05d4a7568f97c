/* Reads tensors as 32-bit floats. The model computes with such floats, whatever data type a client sends. */
#include "api/inference/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct tensor_datatype datatypes[TENSOR_DATATYPES] = {
    {"FP32", 4, TENSOR_FLOAT},      {"FP64", 8, TENSOR_FLOAT},      {"FP16", 2, TENSOR_FLOAT},
    {"INT8", 1, TENSOR_SIGNED},     {"INT16", 2, TENSOR_SIGNED},    {"INT32", 4, TENSOR_SIGNED},
    {"INT64", 8, TENSOR_SIGNED},    {"UINT8", 1, TENSOR_UNSIGNED},  {"UINT16", 2, TENSOR_UNSIGNED},
    {"UINT32", 4, TENSOR_UNSIGNED}, {"UINT64", 8, TENSOR_UNSIGNED}, {"BOOL", 1, TENSOR_BOOLEAN},
};

const struct tensor_datatype *tensor_datatype(const char *name)
{
    for (size_t i = 0; i < TENSOR_DATATYPES; i++)
        if (strcmp(datatypes[i].name, name) == 0)
            return &datatypes[i];
    return NULL;
}

void tensor_datatype_names(char *out, size_t room)
{
    out[0] = '\0';
    for (size_t i = 0, used = 0; i < TENSOR_DATATYPES && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%s", i > 0 ? ", " : "", datatypes[i].name);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

struct flat {
    const struct tensor_datatype *type;
    const char *pointer;
    float *out;
    size_t count, room;
    struct error *err;
};

/* Checks a number of a client against its data type. JSON can carry only a part of the numbers of data types with 64
 * bits, because json_scan() refuses integers that a double cannot represent. */
static bool number_fits(const struct tensor_datatype *type, double value)
{
    double bits = (double)(8 * type->bytes);
    if (type->family == TENSOR_FLOAT)
        return fabs(value) <= 3.4028234e38;
    if (value != floor(value))
        return false;
    return type->family == TENSOR_UNSIGNED ? value >= 0 && value < ldexp(1, (int)bits)
                                           : value >= -ldexp(1, (int)bits - 1) && value < ldexp(1, (int)bits - 1);
}

static enum status flatten(struct flat *f, const cJSON *list)
{
    JSON_EACH (item, list) {
        bool boolean = f->type->family == TENSOR_BOOLEAN;
        if (cJSON_IsArray(item)) {
            enum status status = flatten(f, item);
            if (status != STATUS_OK)
                return status;
            continue;
        }
        if (f->count == f->room)
            return error_set(f->err, STATUS_INVALID, f->pointer, "has more elements than the shape (%zu)", f->room);
        if (boolean ? !cJSON_IsBool(item) : !cJSON_IsNumber(item) || !number_fits(f->type, item->valuedouble)) {
            return error_set(f->err, STATUS_INVALID, f->pointer, "element %zu is not a value of %s", f->count,
                             f->type->name);
        }
        f->out[f->count++] = boolean ? (float)cJSON_IsTrue(item) : (float)item->valuedouble;
    }
    return STATUS_OK;
}

enum status tensor_read_json(const struct tensor_datatype *type, const cJSON *data, size_t count, const char *pointer,
                             float *out, struct error *err)
{
    struct flat f = {.type = type, .pointer = pointer, .out = out, .room = count, .err = err};
    if (!cJSON_IsArray(data))
        return error_set(err, STATUS_INVALID, pointer, "must be a list of the elements, flat or nested; got %s",
                         json_type_name(data));
    if (type->family == TENSOR_FLOAT && type->bytes == 2)
        return error_set(err, STATUS_INVALID, pointer, "of FP16 can be sent only as binary data");
    enum status status = flatten(&f, data);
    if (status != STATUS_OK)
        return status;
    if (f.count != count)
        return error_set(err, STATUS_INVALID, pointer, "has %zu elements; the shape has %zu", f.count, count);
    return STATUS_OK;
}

/* ---- binary data --------------------------------------------------------------------------------------------- */

static float half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value = exponent == 0    ? ldexpf((float)fraction, -24)
                  : exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                                   : ldexpf((float)(1024 + fraction), exponent - 25);
    return (bits & 0x8000) != 0 ? -value : value;
}

/* Converts one element, type->bytes little-endian bytes, to a float. */
static float element(const struct tensor_datatype *type, const unsigned char *bytes)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < type->bytes; i++)
        bits |= (uint64_t)bytes[i] << 8 * i;
    if (type->family == TENSOR_SIGNED) {
        int unused = 64 - 8 * (int)type->bytes;
        return (float)((int64_t)(bits << unused) >> unused);
    }
    if (type->family != TENSOR_FLOAT)
        return (float)bits;
    if (type->bytes == 2)
        return half((uint16_t)bits);
    float single;
    double wide;
    uint32_t low = (uint32_t)bits;
    memcpy(&single, &low, sizeof single);
    memcpy(&wide, &bits, sizeof wide);
    return type->bytes == 4 ? single : (float)wide;
}

enum status tensor_read_bytes(const struct tensor_datatype *type, const void *bytes, size_t size, size_t count,
                              const char *pointer, float *out, struct error *err)
{
    const unsigned char *at = bytes;
    if (size != count * type->bytes)
        return error_set(err, STATUS_INVALID, pointer, "must be %zu: %zu elements of %s; got %zu", count * type->bytes,
                         count, type->name, size);
    for (size_t i = 0; i < count; i++) {
        out[i] = element(type, at + i * type->bytes);
        if (type->family == TENSOR_BOOLEAN && at[i] > 1)
            return error_set(err, STATUS_INVALID, pointer, "element %zu is not a value of BOOL: it is %d", i, at[i]);
        if (!isfinite(out[i]))
            return error_set(err, STATUS_INVALID, pointer, "element %zu is not a finite 32-bit float", i);
    }
    return STATUS_OK;
}
