/* The header is a Python dictionary in a fixed style; the little reader here takes exactly that: keys in quotes, values
 * that are text, True, False or a tuple of integers. */
#include "core/data/npy.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MAX 4096

struct reader {
    const char *at, *end;
};

struct header {
    char type[8]; /* "<f4" */
    bool fortran, has_type, has_order, has_shape;
    int rank;
    int64_t dim[NPY_RANK];
};

static void skip_space(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t')) {
        r->at++;
    }
}

static bool take(struct reader *r, char c)
{
    skip_space(r);
    if (r->at < r->end && *r->at == c) {
        r->at++;
        return true;
    }
    return false;
}

static bool take_word(struct reader *r, const char *word)
{
    size_t length = strlen(word);
    skip_space(r);
    if ((size_t)(r->end - r->at) >= length && memcmp(r->at, word, length) == 0) {
        r->at += length;
        return true;
    }
    return false;
}

static bool take_text(struct reader *r, char *out, size_t size)
{
    skip_space(r);
    char quote = r->at < r->end ? *r->at : '\0';
    if (quote != '\'' && quote != '"') {
        return false;
    }
    r->at++;
    size_t length = 0;
    while (r->at < r->end && *r->at != quote) {
        if (length + 1 >= size) {
            return false;
        }
        out[length++] = *r->at++;
    }
    out[length] = '\0';
    return take(r, quote);
}

static bool take_shape(struct reader *r, struct header *h)
{
    if (!take(r, '(')) {
        return false;
    }
    for (h->rank = 0; !take(r, ')'); h->rank++) {
        skip_space(r);
        if (h->rank == NPY_RANK || r->at == r->end || *r->at < '0' || *r->at > '9') {
            return false;
        }
        int64_t size = 0;
        while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
            if (size > INT32_MAX) {
                return false;
            }
            size = size * 10 + (*r->at++ - '0');
        }
        h->dim[h->rank] = size;
        if (!take(r, ',')) {
            h->rank++;
            return take(r, ')');
        }
    }
    return true;
}

static bool take_header(struct reader *r, struct header *h)
{
    if (!take(r, '{')) {
        return false;
    }
    while (!take(r, '}')) {
        char key[24];
        if (!take_text(r, key, sizeof key) || !take(r, ':')) {
            return false;
        }
        if (strcmp(key, "descr") == 0 && !h->has_type) {
            h->has_type = take_text(r, h->type, sizeof h->type);
        } else if (strcmp(key, "fortran_order") == 0 && !h->has_order) {
            h->fortran = take_word(r, "True");
            h->has_order = h->fortran || take_word(r, "False");
        } else if (strcmp(key, "shape") == 0 && !h->has_shape) {
            h->has_shape = take_shape(r, h);
        } else {
            return false;
        }
        if (!take(r, ',')) {
            return take(r, '}') && h->has_type && h->has_order && h->has_shape;
        }
    }
    return h->has_type && h->has_order && h->has_shape;
}

enum element { ELEMENT_NONE, ELEMENT_F4, ELEMENT_F8, ELEMENT_U1, ELEMENT_I8 };

static enum element element_of(const char *type, bool *big)
{
    static const struct {
        const char *name;
        enum element element;
    } elements[] = {{"f4", ELEMENT_F4}, {"f8", ELEMENT_F8}, {"u1", ELEMENT_U1}, {"i8", ELEMENT_I8}};
    *big = type[0] == '>';
    const char *name = type + (strchr("<>|=", type[0]) != NULL && type[0] != '\0' ? 1 : 0);
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++) {
        if (strcmp(elements[i].name, name) == 0) {
            return elements[i].element;
        }
    }
    return ELEMENT_NONE;
}

static float value_at(const unsigned char *at, enum element element, size_t size, bool big)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++) {
        bits |= (uint64_t)at[big ? size - 1 - i : i] << (8 * i);
    }
    if (element == ELEMENT_F4) {
        uint32_t half = (uint32_t)bits;
        float value;
        memcpy(&value, &half, sizeof value);
        return value;
    }
    if (element == ELEMENT_F8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return fabs(value) <= 3.4028234e38 ? (float)value : NAN;
    }
    return element == ELEMENT_U1 ? (float)bits : (float)(int64_t)bits;
}

static enum status read_values(const unsigned char *at, size_t left, size_t max_count, const struct header *h,
                               struct npy *out, struct error *err)
{
    bool big;
    enum element element = element_of(h->type, &big);
    if (element == ELEMENT_NONE) {
        return error_set(err, STATUS_INVALID, NULL, "element type '%s' is not taken; f4, f8, u1 and i8 are", h->type);
    }
    size_t size = element == ELEMENT_F4 ? 4 : element == ELEMENT_U1 ? 1 : 8;
    size_t count = 1;
    for (int d = 0; d < h->rank; d++) {
        out->dim[d] = h->dim[d];
        if ((size_t)h->dim[d] > max_count || (h->dim[d] != 0 && count > max_count / (size_t)h->dim[d])) {
            return error_set(err, STATUS_LIMIT, NULL, "an array may have %zu numbers at most", max_count);
        }
        count *= (size_t)h->dim[d];
    }
    if (count > max_count) { /* rank 0 and max_count 0 */
        return error_set(err, STATUS_LIMIT, NULL, "an array may have %zu numbers at most", max_count);
    }
    if (left != count * size) {
        return error_set(err, STATUS_CORRUPT, NULL, "the .npy file has %zu bytes of data; its shape needs %zu", left,
                         count * size);
    }
    if (h->fortran && h->rank > 1) {
        return error_set(err, STATUS_INVALID, NULL, "arrays in Fortran order are not taken");
    }
    float *values = malloc(count > 0 ? count * sizeof *values : 1);
    if (values == NULL) {
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for an array of %zu numbers", count);
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = value_at(at + i * size, element, size, big);
        if (!isfinite(values[i])) {
            free(values);
            return error_set(err, STATUS_INVALID, NULL, "number %zu of the array is not finite", i);
        }
    }
    out->rank = h->rank;
    out->count = count;
    out->values = values;
    return STATUS_OK;
}

enum status npy_read(const void *bytes, size_t size, size_t max_count, struct npy *out, struct error *err)
{
    const unsigned char *u = bytes;
    *out = (struct npy){0};
    if (size < 10 || memcmp(u, "\x93NUMPY", 6) != 0 || u[6] < 1 || u[6] > 3 || u[7] != 0) {
        return error_set(err, STATUS_CORRUPT, NULL, "not a .npy file");
    }
    size_t start = u[6] == 1 ? 10 : 12;
    if (size < start) {
        return error_set(err, STATUS_CORRUPT, NULL, "the .npy header is cut off");
    }
    size_t length = (size_t)u[8] | (size_t)u[9] << 8;
    if (u[6] > 1) {
        length |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    }
    if (length > HEADER_MAX || length > size - start) {
        return error_set(err, STATUS_CORRUPT, NULL, "the .npy header is cut off or too long");
    }
    struct reader r = {(const char *)u + start, (const char *)u + start + length};
    struct header h = {.rank = 0};
    bool good = take_header(&r, &h);
    skip_space(&r);
    if (!good || r.at != r.end) {
        return error_set(err, STATUS_CORRUPT, NULL, "the .npy header cannot be read, or has more than %d dimensions",
                         NPY_RANK);
    }
    return read_values(u + start + length, size - start - length, max_count, &h, out, err);
}
