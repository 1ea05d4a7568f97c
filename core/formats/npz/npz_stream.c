/* Makes an .npz file while it is read (npz_stream.h). The file is a list of pieces: for each array its zip header, its
 * data (the .npy header and the elements) and its data descriptor; then the directory of the zip. Everything but the
 * elements is small and is written again for each read. Sources: APPNOTE.TXT of PKWARE, sections 4.3 and 4.5.3;
 * numpy.lib.format. */
#include "core/formats/npz/npz_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    BLOCK = 1 << 16,
    HEAD = 30,        /* bytes of a local header without name and extra field */
    HEAD_EXTRA = 20,  /* its ZIP64 field */
    DESCRIPTOR = 24,  /* with sizes of 8 bytes */
    ENTRY = 46,       /* bytes of an entry of the directory without name and extra field */
    ENTRY_EXTRA = 28, /* its ZIP64 field */
    END = 56 + 20 + 22,
    VERSION = 45,           /* version of the format that is needed to read ZIP64 */
    SIZE_FOLLOWS = 1 << 3,  /* flag: checksum and sizes are in the data descriptor */
    DATE = (0 << 9) | 0x21, /* 1 January 1980, the first date of the format */
    NAME = 32
};
#define IN_EXTRA 0xFFFFFFFFu /* stands for a size or an offset that is in the ZIP64 field */

struct part {
    struct npz_stream_array array;
    char name[NAME]; /* with ".npy" */
    size_t name_bytes;
    struct buf head;      /* the .npy header */
    uint64_t begin;       /* offset of the zip header in the file */
    uint64_t data, bytes; /* data: offset of the data in the file; bytes: size of the data */
    uint64_t summed;      /* `sum` is the checksum of the first `summed` bytes of the data */
    uint32_t sum;
};

struct npz_stream {
    struct npz_stream_source source;
    struct part part[NPZ_STREAM_ARRAYS];
    int count;
    uint64_t directory, bytes; /* directory: offset of the zip's directory; bytes: size of the file */
    unsigned char block[BLOCK];
};

/* ---- little-endian fields ---------------------------------------------------------------------------------- */

struct fields {
    unsigned char at[1 << 12];
    size_t used;
};

static void put(struct fields *f, int bytes, uint64_t value)
{
    for (int i = 0; i < bytes; i++)
        f->at[f->used++] = (unsigned char)(value >> (8 * i));
}

static void put_name(struct fields *f, const struct part *p)
{
    memcpy(f->at + f->used, p->name, p->name_bytes);
    f->used += p->name_bytes;
}

/* Writes the fields, from the version to the date, that are the same in a local header and in an entry of the
 * directory. */
static void put_common(struct fields *f)
{
    put(f, 2, VERSION);
    put(f, 2, SIZE_FOLLOWS);
    put(f, 2, 0); /* not compressed */
    put(f, 2, 0); /* time */
    put(f, 2, DATE);
}

static void write_head(const struct part *p, struct fields *f)
{
    put(f, 4, 0x04034b50);
    put_common(f);
    put(f, 4, 0); /* the checksum follows the data */
    put(f, 4, IN_EXTRA);
    put(f, 4, IN_EXTRA);
    put(f, 2, p->name_bytes);
    put(f, 2, HEAD_EXTRA);
    put_name(f, p);
    put(f, 2, 1);
    put(f, 2, HEAD_EXTRA - 4);
    put(f, 8, 0); /* the sizes follow the data */
    put(f, 8, 0);
}

static void write_descriptor(const struct part *p, struct fields *f)
{
    put(f, 4, 0x08074b50);
    put(f, 4, p->sum);
    put(f, 8, p->bytes);
    put(f, 8, p->bytes);
}

static void write_entry(const struct part *p, struct fields *f)
{
    put(f, 4, 0x02014b50);
    put(f, 2, VERSION);
    put_common(f);
    put(f, 4, p->sum);
    put(f, 4, IN_EXTRA);
    put(f, 4, IN_EXTRA);
    put(f, 2, p->name_bytes);
    put(f, 2, ENTRY_EXTRA);
    put(f, 2, 0); /* comment */
    put(f, 2, 0); /* disk */
    put(f, 2, 0); /* attributes */
    put(f, 4, 0);
    put(f, 4, IN_EXTRA);
    put_name(f, p);
    put(f, 2, 1);
    put(f, 2, ENTRY_EXTRA - 4);
    put(f, 8, p->bytes);
    put(f, 8, p->bytes);
    put(f, 8, p->begin);
}

static void write_directory(const struct npz_stream *s, struct fields *f)
{
    for (int i = 0; i < s->count; i++)
        write_entry(&s->part[i], f);
    uint64_t size = f->used;
    put(f, 4, 0x06064b50);
    put(f, 8, 44); /* number of bytes of this record after this field */
    put(f, 2, VERSION);
    put(f, 2, VERSION);
    put(f, 4, 0); /* disks */
    put(f, 4, 0);
    put(f, 8, (uint64_t)s->count);
    put(f, 8, (uint64_t)s->count);
    put(f, 8, size);
    put(f, 8, s->directory);
    put(f, 4, 0x07064b50);
    put(f, 4, 0);
    put(f, 8, s->directory + size);
    put(f, 4, 1);
    put(f, 4, 0x06054b50);
    put(f, 4, 0); /* disks */
    put(f, 2, (uint64_t)s->count);
    put(f, 2, (uint64_t)s->count);
    put(f, 4, size);
    put(f, 4, IN_EXTRA);
    put(f, 2, 0); /* comment */
}

/* ---- the file ---------------------------------------------------------------------------------------------- */

static enum status place_parts(struct npz_stream *s, struct error *err)
{
    uint64_t at = 0, entries = 0;
    for (int i = 0; i < s->count; i++) {
        struct part *p = &s->part[i];
        uint64_t elements = 1;
        for (int d = 0; d < p->array.rank; d++)
            elements *= (uint64_t)p->array.dim[d];
        p->name_bytes = (size_t)snprintf(p->name, sizeof p->name, "%s.npy", p->array.name);
        npy_header_write(&p->head, p->array.type, p->array.rank, p->array.dim);
        if (p->head.failed)
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for an .npz file");
        p->begin = at;
        p->data = at + HEAD + p->name_bytes + HEAD_EXTRA;
        p->bytes = p->head.size + elements * p->array.item;
        at = p->data + p->bytes + DESCRIPTOR;
        entries += ENTRY + p->name_bytes + ENTRY_EXTRA;
    }
    s->directory = at;
    s->bytes = at + entries + END;
    return STATUS_OK;
}

enum status npz_stream_open(const struct npz_stream_array *arrays, int count, const struct npz_stream_source *source,
                            struct npz_stream **stream, struct error *err)
{
    struct npz_stream *s = *stream = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for an .npz file");
    s->source = *source;
    s->count = count;
    for (int i = 0; i < count; i++) {
        s->part[i].array = arrays[i];
        buf_init(&s->part[i].head, 1 << 10);
    }
    return place_parts(s, err);
}

void npz_stream_close(struct npz_stream *s)
{
    for (int i = 0; s && i < s->count; i++)
        buf_close(&s->part[i].head);
    free(s);
}

uint64_t npz_stream_bytes(const struct npz_stream *s)
{
    return s->bytes;
}

static size_t copy_some(const void *from, size_t size, uint64_t offset, void *to, size_t count)
{
    size_t left = size - (size_t)offset, now = left < count ? left : count;
    memcpy(to, (const char *)from + offset, now);
    return now;
}

/* Copies bytes of the data of one array, beginning at `offset` in these data. Copies at most as many elements as fit
 * into s->block. Returns the number of bytes. */
static size_t copy_data(struct npz_stream *s, int part, uint64_t offset, void *to, size_t count)
{
    struct part *p = &s->part[part];
    if (offset < p->head.size)
        return copy_some(p->head.data, p->head.size, offset, to, count);
    size_t item = p->array.item;
    uint64_t at = offset - p->head.size, first = at / item;
    uint64_t left = (p->bytes - p->head.size) / item - first, most = BLOCK / item, wanted = count / item + 2;
    uint64_t elements = left < most ? left : most;
    elements = wanted < elements ? wanted : elements;
    s->source.elements(s->source.context, part, (int64_t)first, (int64_t)elements, s->block);
    return copy_some(s->block, (size_t)elements * item, at - first * item, to, count);
}

static void add_sum(struct part *p, uint64_t offset, const void *bytes, size_t count)
{
    if (offset > p->summed || offset + count <= p->summed)
        return; /* bytes before `offset` are not in the checksum yet, or all of these bytes already are */
    size_t known = (size_t)(p->summed - offset);
    p->sum = (uint32_t)crc32(p->sum, (const Bytef *)bytes + known, (uInt)(count - known));
    p->summed = offset + count;
}

/* Completes the checksums of the parts before `end`. */
static void complete_sums(struct npz_stream *s, int end)
{
    unsigned char bytes[1 << 12];
    for (int i = 0; i < end; i++)
        while (s->part[i].summed < s->part[i].bytes) {
            uint64_t at = s->part[i].summed;
            add_sum(&s->part[i], at, bytes, copy_data(s, i, at, bytes, sizeof bytes));
        }
}

/* Copies bytes of one piece of the file. */
static size_t copy_piece(struct npz_stream *s, uint64_t offset, void *to, size_t count)
{
    struct fields f = {.used = 0};
    uint64_t begin = s->directory;
    int i = 0;
    while (i < s->count && offset >= s->part[i].data + s->part[i].bytes + DESCRIPTOR)
        i++;
    struct part *p = i < s->count ? &s->part[i] : NULL;
    if (p && offset < p->data) {
        begin = p->begin;
        write_head(p, &f);
    } else if (p && offset < p->data + p->bytes) {
        size_t got = copy_data(s, i, offset - p->data, to, count);
        add_sum(p, offset - p->data, to, got);
        return got;
    } else if (p) {
        begin = p->data + p->bytes;
        complete_sums(s, i + 1);
        write_descriptor(p, &f);
    } else {
        complete_sums(s, s->count);
        write_directory(s, &f);
    }
    return copy_some(f.at, f.used, offset - begin, to, count);
}

size_t npz_stream_read(struct npz_stream *s, uint64_t offset, void *to, size_t count)
{
    size_t done = 0;
    if (offset >= s->bytes)
        return 0;
    if (count > s->bytes - offset)
        count = (size_t)(s->bytes - offset);
    while (done < count)
        done += copy_piece(s, offset + done, (char *)to + done, count - done);
    return done;
}
