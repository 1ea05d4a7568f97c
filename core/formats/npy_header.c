/* Reads and writes the header of a .npy file, a Python dictionary in a fixed style. The reader accepts exactly this
 * style: keys in quotes; values that are text, True, False or a tuple of integers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/npy.h"

enum { HEADER_MAX = 4096 };

struct reader {
    const char *at, *end;
};

struct fields {
    char type[16]; /* "<f4" */
    bool fortran, has_type, has_order, has_shape, records;
    int rank; /* rank as the file states it; only the first NPY_RANK dimensions are stored */
    int64_t dim[NPY_RANK];
};

static void skip_space(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t'))
        r->at++;
}

static bool npy_header_take(struct reader *r, char c)
{
    skip_space(r);
    bool there = r->at < r->end && *r->at == c;
    r->at += there;
    return there;
}

static bool take_word(struct reader *r, const char *word)
{
    size_t length = strlen(word);
    skip_space(r);
    bool there = (size_t)(r->end - r->at) >= length && memcmp(r->at, word, length) == 0;
    r->at += there ? length : 0;
    return there;
}

static bool take_text(struct reader *r, char *out, size_t size)
{
    skip_space(r);
    char quote = r->at < r->end ? *r->at : '\0';
    size_t length = 0;
    if (quote != '\'' && quote != '"')
        return false;
    for (r->at++; r->at < r->end && *r->at != quote; r->at++) {
        if (length + 1 >= size)
            return false;
        out[length++] = *r->at;
    }
    out[length] = '\0';
    return npy_header_take(r, quote);
}

static bool take_size(struct reader *r, int64_t *size)
{
    skip_space(r);
    if (r->at == r->end || *r->at < '0' || *r->at > '9')
        return false;
    for (*size = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (*size > INT32_MAX)
            return false;
        *size = *size * 10 + (*r->at - '0');
    }
    return true;
}

static bool take_shape(struct reader *r, struct fields *f)
{
    if (!npy_header_take(r, '('))
        return false;
    for (f->rank = 0; !npy_header_take(r, ')');) {
        int64_t size;
        if (!take_size(r, &size))
            return false;
        if (f->rank < NPY_RANK)
            f->dim[f->rank] = size;
        f->rank++;
        if (!npy_header_take(r, ','))
            return npy_header_take(r, ')');
    }
    return true;
}

/* Skips a record type such as "[('a', '<f4'), ...]". The reader refuses record types, so it only needs to find the end.
 */
static bool skip_records(struct reader *r)
{
    int depth = 0;
    for (; r->at < r->end; r->at++) {
        depth += (*r->at == '[') - (*r->at == ']');
        if (depth == 0) {
            r->at++;
            return true;
        }
    }
    return false;
}

static bool take_type(struct reader *r, struct fields *f)
{
    skip_space(r);
    f->records = r->at < r->end && *r->at == '[';
    return f->records ? skip_records(r) : take_text(r, f->type, sizeof f->type);
}

static bool take_field(struct reader *r, struct fields *f)
{
    char key[24];
    if (!take_text(r, key, sizeof key) || !npy_header_take(r, ':'))
        return false;
    if (strcmp(key, "descr") == 0 && !f->has_type)
        return f->has_type = take_type(r, f);
    if (strcmp(key, "fortran_order") == 0 && !f->has_order) {
        f->fortran = take_word(r, "True");
        return f->has_order = f->fortran || take_word(r, "False");
    }
    if (strcmp(key, "shape") == 0 && !f->has_shape)
        return f->has_shape = take_shape(r, f);
    return false;
}

static bool take_dictionary(struct reader *r, struct fields *f)
{
    if (!npy_header_take(r, '{'))
        return false;
    while (!npy_header_take(r, '}')) {
        if (!take_field(r, f))
            return false;
        if (!npy_header_take(r, ',')) {
            if (!npy_header_take(r, '}'))
                return false;
            break;
        }
    }
    skip_space(r);
    return r->at == r->end && f->has_type && f->has_order && f->has_shape;
}

/* Parses an element type such as "<f4": the byte order, the class, and the size of an element in bytes (for class U in
 * characters). */
static bool understand_type(const char *type, struct npy_header *h)
{
    static const struct {
        char letter;
        enum npy_class element;
        const char *sizes; /* element sizes that are allowed; NULL: any */
    } classes[] = {{'b', NPY_BOOL, "1"},    {'u', NPY_UNSIGNED, "1248"}, {'i', NPY_SIGNED, "1248"},
                   {'f', NPY_FLOAT, "248"}, {'S', NPY_BYTES, NULL},      {'a', NPY_BYTES, NULL},
                   {'U', NPY_UNICODE, NULL}};
    h->big = type[0] == '>';
    type += type[0] != '\0' && strchr("<>|=", type[0]) != NULL;
    char *end;
    long size = type[0] != '\0' && type[1] >= '0' && type[1] <= '9' ? strtol(type + 1, &end, 10) : -1;
    for (size_t i = 0; size >= 0 && *end == '\0' && i < sizeof classes / sizeof classes[0]; i++) {
        if (classes[i].letter != type[0])
            continue;
        h->element = classes[i].element;
        h->item = (size_t)size * (h->element == NPY_UNICODE ? 4 : 1);
        return classes[i].sizes ? size < 10 && size > 0 && strchr(classes[i].sizes, (int)('0' + size)) != NULL
                                : size > 0 && size < NPY_TEXT;
    }
    return false;
}

static enum status understand(const struct fields *f, struct npy_header *h, struct error *err)
{
    if (f->records)
        return error_set(err, STATUS_INVALID, NULL,
                         "the array contains records (fields with names), which cannot be read; save one field");
    if (!understand_type(f->type, h))
        return error_set(
            err, STATUS_INVALID, NULL,
            "element type '%s' cannot be read; allowed are b1, u1 to u8, i1 to i8, f2, f4, f8 and text below %d bytes",
            f->type, NPY_TEXT);
    if (f->rank > NPY_RANK)
        return error_set(err, STATUS_INVALID, NULL, "the array has %d dimensions; at most %d are allowed", f->rank,
                         NPY_RANK);
    h->fortran = f->fortran;
    h->rank = f->rank;
    memcpy(h->dim, f->dim, sizeof h->dim);
    return STATUS_OK;
}

enum status npy_header_read(const struct byte_source *from, struct npy_header *header, struct error *err)
{
    unsigned char u[12];
    char text[HEADER_MAX];
    struct fields f = {.rank = 0};
    *header = (struct npy_header){0};
    enum status status = byte_source_exactly(from, u, 10, "the .npy header", err);
    if (status)
        return status;
    if (memcmp(u, "\x93NUMPY", 6) != 0 || u[6] < 1 || u[6] > 3 || u[7] != 0)
        return error_set(err, STATUS_CORRUPT, NULL, "not a .npy file: it does not begin with NumPy's signature");
    size_t length = (size_t)u[8] | (size_t)u[9] << 8;
    if (u[6] > 1) {
        status = byte_source_exactly(from, u + 10, 2, "the .npy header", err);
        if (status)
            return status;
        length |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    }
    if (length > HEADER_MAX)
        return error_set(err, STATUS_CORRUPT, NULL, "the .npy header is longer than %d bytes", HEADER_MAX);
    status = byte_source_exactly(from, text, length, "the .npy header", err);
    if (status)
        return status;
    struct reader r = {text, text + length};
    if (!take_dictionary(&r, &f))
        return error_set(err, STATUS_CORRUPT, NULL,
                         "the .npy header is not a dictionary of descr, fortran_order and shape");
    return understand(&f, header, err);
}

/* The format requires that the length of the header is a multiple of 64 bytes, so spaces fill it up. */
void npy_header_write(struct buf *out, const char *type, int rank, const int64_t *dim)
{
    char text[192];
    int length = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (int d = 0; d < rank; d++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%lld,", d > 0 ? " " : "", (long long)dim[d]);
    length += snprintf(text + length, sizeof text - (size_t)length, "), }");
    size_t padded = ((size_t)length + 11 + 63) / 64 * 64 - 10;
    unsigned char head[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)padded, (unsigned char)(padded >> 8)};
    buf_append(out, head, sizeof head);
    buf_format(out, "%-*s\n", (int)padded - 1, text);
}
