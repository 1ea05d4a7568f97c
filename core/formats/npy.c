/* Reads the elements of a .npy file: elements of any type and byte order become floats or UTF-8, and arrays of any
 * memory order become row-major. */
#include "core/formats/npy.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

/* Reads and writes the header of a .npy file, a Python dictionary in a fixed style. The reader accepts exactly this
 * style: keys in quotes; values that are text, True, False or a tuple of integers. */

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
    if (strchr(f->type, 'O'))
        return error_set(err, STATUS_INVALID, NULL,
                         "the array contains Python objects, which cannot be read; convert texts with "
                         "labels.astype(str), and pad samples of different lengths to one length, or join them and "
                         "add an array 'length'");
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

enum { BLOCK = 1 << 16 };

void npy_close(struct npy *array)
{
    free(array->values);
    free(array->texts);
    *array = (struct npy){0};
}

static uint64_t bits_at(const unsigned char *at, size_t size, bool big)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++)
        bits |= (uint64_t)at[big ? size - 1 - i : i] << (8 * i);
    return bits;
}

float npy_half(uint64_t bits)
{
    int exponent = (int)(bits >> 10 & 31);
    float fraction = (float)(bits & 1023) / 1024, sign = bits >> 15 ? -1.0F : 1.0F;
    if (exponent == 31)
        return NAN; /* an infinity or NaN; callers refuse every value that is not finite */
    return sign * (exponent == 0 ? ldexpf(fraction, -14) : ldexpf(1 + fraction, exponent - 15));
}

static float float_value(uint64_t bits, size_t size)
{
    float single;
    double wide;
    uint32_t low = (uint32_t)bits;
    if (size == 2)
        return npy_half(bits);
    if (size == 4) {
        memcpy(&single, &low, sizeof low);
        return single;
    }
    memcpy(&wide, &bits, sizeof wide);
    return isnan(wide) || isinf(wide) ? NAN : fabs(wide) <= (double)FLT_MAX ? (float)wide : INFINITY;
}

static float value_at(const unsigned char *at, const struct npy_header *h)
{
    uint64_t bits = bits_at(at, h->item, h->big);
    int above = 64 - 8 * (int)h->item;
    switch (h->element) {
    case NPY_FLOAT:
        return float_value(bits, h->item);
    case NPY_BFLOAT:
        return float_value(bits << 16, 4);
    case NPY_SIGNED:
        return (float)((int64_t)(bits << above) >> above);
    default:
        return (float)bits;
    }
}

/* Writes a UCS-4 code point as UTF-8 and returns the number of bytes; 0: `room` is too small, or the code point does
 * not exist. */
static size_t npy_encode(uint64_t point, char *out, size_t room)
{
    char at[4];
    size_t count = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    if (point > 0x10FFFF || count > room)
        return 0;
    for (size_t i = count; i-- > 0; point >>= 6)
        at[i] = (char)(i > 0 ? 0x80 | (point & 0x3F) : first[count] | point);
    memcpy(out, at, count);
    return count;
}

static bool text_at(const unsigned char *at, const struct npy_header *h, char out[NPY_TEXT])
{
    size_t unit = h->element == NPY_UNICODE ? 4 : 1, used = 0, count = h->item / unit;
    while (count > 0 && bits_at(at + (count - 1) * unit, unit, h->big) == 0)
        count--; /* NumPy pads texts with NULs */
    for (size_t i = 0; i < count; i++) {
        uint64_t point = bits_at(at + i * unit, unit, h->big);
        if (unit == 1 && used + 1 < NPY_TEXT) {
            out[used++] = (char)point;
            continue;
        }
        size_t bytes = unit == 1 ? 0 : npy_encode(point, out + used, NPY_TEXT - 1 - used);
        if (bytes == 0)
            return false;
        used += bytes;
    }
    out[used] = '\0';
    return strlen(out) == used && utf8_valid(out, used);
}

/* Number of elements, checked against the limit. Every text takes NPY_TEXT bytes of memory, so the limit for texts is
 * lower. */
static enum status count_of(const struct npy_header *h, size_t max_count, size_t *count, struct error *err)
{
    if (h->element >= NPY_BYTES)
        max_count /= NPY_TEXT / sizeof(float);
    *count = 1;
    for (int d = 0; d < h->rank; d++) {
        if ((size_t)h->dim[d] > max_count || (h->dim[d] != 0 && *count > max_count / (size_t)h->dim[d]))
            return error_set(err, STATUS_LIMIT, NULL, "the array is too large; it may have at most %zu elements",
                             max_count);
        *count *= (size_t)h->dim[d];
    }
    return *count <= max_count /* an array of rank 0 has one element, which is too many if max_count is 0 */
               ? STATUS_OK
               : error_set(err, STATUS_LIMIT, NULL, "the array is too large; it may have at most %zu elements",
                           max_count);
}

/* Grows the memory to `count` elements and keeps the existing ones. */
static enum status npy_grow(struct npy *out, bool texts, size_t count, struct error *err)
{
    size_t bytes = count > 0 ? count * (texts ? NPY_TEXT : sizeof(float)) : 1;
    void *larger = realloc(texts ? (void *)out->texts : (void *)out->values, bytes);
    if (!larger)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for an array of %zu elements", count);
    if (texts)
        out->texts = larger;
    else
        out->values = larger;
    return STATUS_OK;
}

enum { PLACE = 120 };

/* Writes where the element at an index is, which counts in the order of the file. */
static void place_of(const struct npy_header *h, size_t element, char place[PLACE])
{
    size_t index[NPY_RANK] = {0}, rest = element;
    (void)snprintf(place, PLACE, "element");
    for (int i = 0; i < h->rank; i++) {
        int d = h->fortran ? i : h->rank - 1 - i;
        index[d] = rest % (size_t)h->dim[d];
        rest /= (size_t)h->dim[d];
    }
    if (h->rank == 2)
        (void)snprintf(place, PLACE, "row %zu, column %zu", index[0], index[1]);
    for (int d = 0; h->rank != 2 && d < h->rank; d++)
        (void)snprintf(place + strlen(place), PLACE - strlen(place), "%s[%zu]", d == 0 ? " " : "", index[d]);
}

static enum status not_finite(const struct npy_header *h, size_t element, float value, struct error *err)
{
    bool beyond = isinf(value) && h->element == NPY_FLOAT && h->item == 8; /* float_value() makes infinity a NaN */
    char place[PLACE];
    place_of(h, element, place);
    return error_set(err, STATUS_INVALID, NULL,
                     beyond ? "%s of the array (counted from 0) is beyond single precision (3.4e38); divide the values"
                            : "%s of the array (counted from 0) is not finite; remove NaN and infinite values",
                     place);
}

/* Whether elements of the file can be whole numbers that a float does not represent. */
static bool wide(const struct npy_header *h)
{
    return h->item == 8 || (h->item == 4 && h->element <= NPY_SIGNED);
}

/* Counts an element of such a file if it loses digits. */
static void count_rounded(const unsigned char *at, const struct npy_header *h, size_t element, struct rounded *rounded)
{
    uint64_t bits = bits_at(at, h->item, h->big), sign = 0;
    double value = 0;
    char place[PLACE];
    if (h->element == NPY_SIGNED && bits >> (8 * h->item - 1)) {
        sign = 1;
        bits = (h->item == 4 ? UINT32_MAX : UINT64_MAX) - bits + 1;
    }
    if (h->element == NPY_FLOAT)
        memcpy(&value, &bits, sizeof value);
    if (h->element == NPY_FLOAT ? !rounded_double(value) : !rounded_integer(bits))
        return;
    if (rounded->count == 0)
        place_of(h, element, place);
    if (h->element == NPY_FLOAT)
        rounded_add(rounded, "%s (counted from 0): %.17g became %.0f", place, value, (double)(float)value);
    else
        rounded_add(rounded, "%s (counted from 0): %s%llu became %s%.0f", place, sign ? "-" : "",
                    (unsigned long long)bits, sign ? "-" : "", (double)(float)bits);
}

/* Whether an element is NaN, and not infinite. */
static bool nan_at(const unsigned char *at, const struct npy_header *h)
{
    uint64_t bits = bits_at(at, h->item, h->big) << (64 - 8 * h->item);
    int fraction = h->element == NPY_BFLOAT ? 7 : h->item == 2 ? 10 : h->item == 4 ? 23 : 52;
    int above = (int)(8 * h->item) - fraction; /* bits of the sign and the exponent */
    return bits << above != 0;
}

static enum status npy_convert(const unsigned char *block, const struct npy_header *h, size_t first, size_t count,
                               struct npy *out, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const unsigned char *at = block + i * h->item;
        if (out->texts && !text_at(at, h, out->texts[first + i]))
            return error_set(err, STATUS_INVALID, NULL,
                             "element %zu of the array is not UTF-8 text of fewer than %d bytes", first + i, NPY_TEXT);
        if (out->values && !isfinite(out->values[first + i] = value_at(at, h)) && !(h->nan && nan_at(at, h)))
            return not_finite(h, first + i, out->values[first + i], err);
        if (out->values && wide(h))
            count_rounded(at, h, first + i, &out->rounded);
    }
    return STATUS_OK;
}

static enum status read_elements(const struct byte_source *from, const struct npy_header *h, size_t count,
                                 struct npy *out, struct error *err)
{
    bool texts = h->element >= NPY_BYTES;
    unsigned char block[BLOCK];
    size_t step = BLOCK / h->item, room = count < step ? count : step;
    enum status status = npy_grow(out, texts, room, err);
    for (size_t done = 0; !status && done < count;) {
        size_t now = count - done < step ? count - done : step;
        if (done + now > room) {
            room = 2 * room < count ? 2 * room : count;
            room = room < done + now ? done + now : room;
            status = npy_grow(out, texts, room, err);
        }
        if (!status)
            status = byte_source_exactly(from, block, now * h->item, "the data of the .npy array", err);
        if (!status)
            status = npy_convert(block, h, done, now, out, err);
        done += now;
    }
    return status;
}

/* Reorders an array whose first index runs fastest. */
static enum status to_row_major(struct npy *out, struct error *err)
{
    bool texts = out->texts != NULL;
    size_t item = texts ? NPY_TEXT : sizeof(float);
    const char *from = texts ? (const char *)out->texts : (const char *)out->values;
    char *to = malloc(out->count > 0 ? out->count * item : 1);
    if (!to)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to reorder an array");
    int64_t index[NPY_RANK] = {0};
    for (size_t i = 0; i < out->count; i++) {
        size_t at = 0;
        for (int d = out->rank - 1; d >= 0; d--)
            at = at * (size_t)out->dim[d] + (size_t)index[d];
        memcpy(to + i * item, from + at * item, item);
        for (int d = out->rank - 1; d >= 0 && ++index[d] == out->dim[d]; d--)
            index[d] = 0;
    }
    free(out->texts);
    free(out->values);
    out->texts = texts ? (void *)to : NULL;
    out->values = texts ? NULL : (float *)(void *)to;
    return STATUS_OK;
}

enum status npy_body_read(const struct byte_source *from, const struct npy_header *h, size_t max_count, struct npy *out,
                          struct error *err)
{
    *out = (struct npy){0};
    enum status status = count_of(h, max_count, &out->count, err);
    if (status)
        return status;
    out->rank = h->rank;
    out->element = h->element;
    memcpy(out->dim, h->dim, sizeof out->dim);
    status = read_elements(from, h, out->count, out, err);
    if (!status)
        status = byte_source_end(from, "the .npy array", err);
    if (!status && h->fortran && h->rank > 1)
        status = to_row_major(out, err);
    if (status)
        npy_close(out);
    return status;
}

enum status npy_read_from(const struct byte_source *from, size_t max_count, struct npy *out, struct error *err)
{
    struct npy_header h;
    *out = (struct npy){0};
    enum status status = npy_header_read(from, &h, err);
    return status ? status : npy_body_read(from, &h, max_count, out, err);
}

enum status npy_values_read(const struct byte_source *from, const struct npy_header *h, size_t first, size_t count,
                            float *values, struct rounded *rounded, struct error *err)
{
    unsigned char block[BLOCK];
    size_t step = BLOCK / h->item;
    enum status status = STATUS_OK;
    for (size_t done = 0; !status && done < count;) {
        size_t now = count - done < step ? count - done : step;
        status = byte_source_exactly(from, block, now * h->item, "the data of the .npy array", err);
        for (size_t i = 0; !status && i < now; i++)
            if (!isfinite(values[done + i] = value_at(block + i * h->item, h)))
                return not_finite(h, first + done + i, values[done + i], err);
        for (size_t i = 0; !status && rounded && wide(h) && i < now; i++)
            count_rounded(block + i * h->item, h, first + done + i, rounded);
        done += now;
    }
    return status;
}

static bool name_at(const unsigned char *at, const struct npy_header *h, char out[NPY_TEXT])
{
    uint64_t bits = h->element < NPY_BYTES ? bits_at(at, h->item, h->big) : 0;
    int above = 64 - 8 * (int)h->item;
    if (h->element >= NPY_BYTES)
        return text_at(at, h, out);
    if (h->element == NPY_SIGNED)
        snprintf(out, NPY_TEXT, "%lld", (long long)((int64_t)(bits << above) >> above));
    else
        snprintf(out, NPY_TEXT, "%llu", (unsigned long long)bits);
    return true;
}

enum status npy_names_read(const struct byte_source *from, const struct npy_header *h, size_t first, size_t count,
                           char (*names)[NPY_TEXT], struct error *err)
{
    unsigned char block[BLOCK];
    size_t step = BLOCK / h->item;
    enum status status = STATUS_OK;
    if (h->element == NPY_FLOAT || h->element == NPY_BFLOAT)
        return error_set(err, STATUS_INVALID, NULL, "must contain text or integers");
    for (size_t done = 0; !status && done < count;) {
        size_t now = count - done < step ? count - done : step;
        status = byte_source_exactly(from, block, now * h->item, "the data of the .npy array", err);
        for (size_t i = 0; !status && i < now; i++)
            if (!name_at(block + i * h->item, h, names[done + i]))
                return error_set(err, STATUS_INVALID, NULL,
                                 "element %zu of the array is not UTF-8 text of fewer than %d bytes", first + done + i,
                                 NPY_TEXT);
        done += now;
    }
    return status;
}

enum status npy_read(const void *bytes, size_t size, size_t max_count, struct npy *out, struct error *err)
{
    struct byte_source_memory memory = {bytes, size, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    enum status status = npy_read_from(&from, max_count, out, err);
    if (!status && out->texts) {
        npy_close(out);
        return error_set(err, STATUS_INVALID, NULL, "the array contains text; numbers are needed");
    }
    return status;
}
