/* Reads bytes at any offset of a decompressed file: finds the block with the first byte in the index, and
 * decompresses it. The last block stays in memory, because most readers read forward. */
#include "core/genomics/files/bgzf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/descriptor.h"

enum { BLOCK = 1 << 16, HEADER = 12, TRAILER = 8, PLACE = 16, RAW = -15 };
static const int64_t INDEX_BYTES = 64 << 20, FILE_MOST = INT64_MAX / 4;

struct place {
    int64_t packed, at; /* offset of a block; packed: in the compressed file; at: in the decompressed file */
};

struct bgzf {
    int file;
    const char *shown;
    struct place *place; /* [count] in ascending order */
    int64_t count;
    int64_t begin, next; /* the block in memory has the decompressed bytes [begin, begin + size); next: compressed
                            offset of the following block */
    size_t size;
    unsigned char packed[BLOCK], block[BLOCK];
};

static enum status block_is_damaged(const struct bgzf *b, struct error *err)
{
    return error_set(err, STATUS_CORRUPT, NULL,
                     "%s: a block is damaged, or the file and its index do not belong together; compress the file "
                     "again with bgzip --index",
                     b->shown);
}

static uint64_t bgzf_number(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/* Reads `count` bytes at an offset, or fewer at the end of the file. Returns their number, or -1 after a fault. */
static ssize_t read_at(int file, void *to, size_t count, int64_t at)
{
    size_t done = 0;
    while (done < count) {
        ssize_t got = pread(file, (char *)to + done, count - done, at + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* ---- index ------------------------------------------------------------------------------------------------------- */

/* Parses an index: the number of blocks, then for each block its offsets in both files, all as 64-bit little-endian
 * numbers. The index does not contain the first block. */
static enum status parse_index(struct bgzf *b, const unsigned char *text, int64_t size, struct error *err)
{
    int64_t count = (size - 8) / PLACE;
    if (size < 8 || (size - 8) % PLACE != 0 || bgzf_number(text, 8) != (uint64_t)count)
        return error_set(err, STATUS_CORRUPT, NULL, "%s: its .gzi is not an index of bgzip, or its end is missing",
                         b->shown);
    b->place = calloc((size_t)count + 1, sizeof *b->place);
    if (!b->place)
        return error_memory(err, "the index of a compressed file");
    b->count = 1;
    for (int64_t i = 0; i < count; i++) {
        uint64_t packed = bgzf_number(text + 8 + i * PLACE, 8), at = bgzf_number(text + 16 + i * PLACE, 8);
        const struct place *last = &b->place[b->count - 1];
        if (packed > (uint64_t)FILE_MOST || at > (uint64_t)FILE_MOST || (int64_t)packed <= last->packed ||
            (int64_t)at < last->at)
            return error_set(err, STATUS_CORRUPT, NULL, "%s: the offsets in its .gzi are not in ascending order",
                             b->shown);
        b->place[b->count++] = (struct place){(int64_t)packed, (int64_t)at};
    }
    return STATUS_OK;
}

static enum status read_index(struct bgzf *b, int index, struct error *err)
{
    struct stat what;
    if (fstat(index, &what) != 0)
        return error_set(err, STATUS_IO, NULL, "%s: its .gzi cannot be read", b->shown);
    if (what.st_size > INDEX_BYTES)
        return error_set(err, STATUS_LIMIT, NULL, "%s: its .gzi has more than 64 MiB", b->shown);
    unsigned char *text = malloc((size_t)what.st_size + 1);
    if (!text)
        return error_memory(err, "the index of a compressed file");
    ssize_t got = read_at(index, text, (size_t)what.st_size, 0);
    enum status status = got == what.st_size ? parse_index(b, text, what.st_size, err)
                                             : error_set(err, STATUS_IO, NULL, "%s: its .gzi cannot be read", b->shown);
    free(text);
    return status;
}

enum status bgzf_open(int file, const char *path, const char *shown, struct bgzf **bgzf, struct error *err)
{
    *bgzf = NULL;
    int index = open(path, O_RDONLY | O_CLOEXEC);
    if (index < 0)
        return error_set(
            err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, NULL,
            "%s is compressed, but its index .gzi is missing or cannot be read; make the index with bgzip --reindex",
            shown);
    struct bgzf *b = calloc(1, sizeof *b);
    enum status status =
        b ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a compressed file");
    if (!status) {
        *b = (struct bgzf){.file = file, .shown = shown, .begin = -1};
        status = read_index(b, index, err);
    }
    descriptor_close(&index);
    if (status)
        bgzf_close(b);
    else
        *bgzf = b;
    return status;
}

void bgzf_close(struct bgzf *bgzf)
{
    if (!bgzf)
        return;
    free(bgzf->place);
    free(bgzf);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Returns the length of a block, which the field "BC" of its header contains, and writes the offset of its data to
 * *data. Returns 0 if the bytes are not a block of bgzip. */
static size_t block_bytes(const unsigned char *block, size_t got, size_t *data)
{
    if (got < HEADER || block[0] != 0x1F || block[1] != 0x8B || block[2] != 8 || block[3] != 4)
        return 0;
    size_t extra = (size_t)bgzf_number(block + 10, 2);
    *data = HEADER + extra;
    for (size_t at = HEADER; at + 4 <= *data && *data <= got;) {
        size_t size = (size_t)bgzf_number(block + at + 2, 2);
        if (block[at] == 'B' && block[at + 1] == 'C' && size == 2 && at + 6 <= *data) {
            size_t bytes = (size_t)bgzf_number(block + at + 4, 2) + 1;
            return bytes <= got && bytes >= *data + TRAILER ? bytes : 0;
        }
        at += 4 + size;
    }
    return 0;
}

static bool inflate_block(struct bgzf *b, size_t data, size_t bytes)
{
    z_stream stream = {.next_in = b->packed + data,
                       .avail_in = (uInt)(bytes - data - TRAILER),
                       .next_out = b->block,
                       .avail_out = BLOCK};
    if (inflateInit2(&stream, RAW) != Z_OK)
        return false;
    int end = inflate(&stream, Z_FINISH);
    b->size = BLOCK - stream.avail_out;
    (void)inflateEnd(&stream);
    const unsigned char *trailer = b->packed + bytes - TRAILER;
    return end == Z_STREAM_END && b->size == bgzf_number(trailer + 4, 4) &&
           crc32(crc32(0, NULL, 0), b->block, (uInt)b->size) == bgzf_number(trailer, 4);
}

/* Decompresses the block at a place. A block without bytes ends the file. */
static enum status load_block(struct bgzf *b, struct place place, struct error *err)
{
    size_t data = 0;
    b->begin = -1;
    b->size = 0;
    ssize_t got = read_at(b->file, b->packed, BLOCK, place.packed);
    if (got < 0)
        return error_set(err, STATUS_IO, NULL, "%s cannot be read", b->shown);
    if (got > 0) {
        size_t bytes = block_bytes(b->packed, (size_t)got, &data);
        if (bytes == 0 || !inflate_block(b, data, bytes))
            return block_is_damaged(b, err);
        b->next = place.packed + (int64_t)bytes;
    }
    b->begin = place.at;
    return STATUS_OK;
}

/* Returns the place of the block that contains the byte at `at`. */
static struct place find_place(const struct bgzf *b, int64_t at)
{
    int64_t low = 0, high = b->count - 1;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (b->place[middle].at <= at)
            low = middle;
        else
            high = middle - 1;
    }
    return b->place[low];
}

enum status bgzf_read(struct bgzf *b, int64_t at, void *to, size_t count, size_t *got, struct error *err)
{
    *got = 0;
    bool inside = b->begin >= 0 && at >= b->begin && at < b->begin + (int64_t)b->size;
    if (!inside) {
        bool follows = b->begin >= 0 && b->size > 0 && at == b->begin + (int64_t)b->size;
        struct place place = follows ? (struct place){b->next, at} : find_place(b, at);
        enum status status = load_block(b, place, err);
        if (status)
            return status;
    }
    if (b->size == 0)
        return STATUS_OK;
    if (at >= b->begin + (int64_t)b->size)
        return block_is_damaged(b, err);
    size_t from = (size_t)(at - b->begin), left = b->size - from;
    *got = left < count ? left : count;
    memcpy(to, b->block + from, *got);
    return STATUS_OK;
}
