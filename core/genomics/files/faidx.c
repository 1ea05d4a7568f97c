/* Reads the index of a FASTA file and letters at any place of the file, which may be compressed. */
#include "core/genomics/files/faidx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/descriptor.h"
#include "core/base/grown.h"
#include "core/formats/text_lines.h"

/* Random access to a file that `bgzip` compressed: the file consists of blocks of at most 64 KiB. Each block is a
 * gzip member whose header contains its length. The index FILE.gzi, which `bgzip --reindex` and `samtools faidx`
 * write, contains the place of each block. One thread at a time. */

enum { BGZF_BLOCK = 1 << 16, HEADER = 12, TRAILER = 8, PLACE = 16, RAW = -15 };
static const int64_t BGZF_INDEX_BYTES = 64 << 20, FILE_MOST = INT64_MAX / 4;

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
    unsigned char packed[BGZF_BLOCK], block[BGZF_BLOCK];
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

static enum status read_bgzf_index(struct bgzf *b, int index, struct error *err)
{
    struct stat what;
    if (fstat(index, &what) != 0)
        return error_set(err, STATUS_IO, NULL, "%s: its .gzi cannot be read", b->shown);
    if (what.st_size > BGZF_INDEX_BYTES)
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

/* NULL is allowed */
static void bgzf_close(struct bgzf *bgzf)
{
    if (!bgzf)
        return;
    free(bgzf->place);
    free(bgzf);
}

/* Reads the index `path`. file: the compressed file, borrowed. Messages call it `shown`. STATUS_NOT_FOUND: there is
 * no index. STATUS_CORRUPT: the index is incomplete, or its offsets are not in ascending order. STATUS_LIMIT: the
 * index has more than 64 MiB. STATUS_IO, STATUS_NO_MEMORY. */
static enum status bgzf_open(int file, const char *path, const char *shown, struct bgzf **bgzf, struct error *err)
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
        status = read_bgzf_index(b, index, err);
    }
    descriptor_close(&index);
    if (status)
        bgzf_close(b);
    else
        *bgzf = b;
    return status;
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
                       .avail_out = BGZF_BLOCK};
    if (inflateInit2(&stream, RAW) != Z_OK)
        return false;
    int end = inflate(&stream, Z_FINISH);
    b->size = BGZF_BLOCK - stream.avail_out;
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
    ssize_t got = read_at(b->file, b->packed, BGZF_BLOCK, place.packed);
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

/* Reads up to `count` bytes from byte `at` of the decompressed file. *got is 0 only at its end. STATUS_CORRUPT: a block
 * is damaged or the index does not fit. STATUS_IO. */
static enum status bgzf_read(struct bgzf *b, int64_t at, void *to, size_t count, size_t *got, struct error *err)
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

enum { INDEX_BYTES = 64 << 20, PATH = 4096, BLOCK = 4096 };

static enum status take_line(struct faidx *f, struct plain_line line, bool *good, struct error *err)
{
    struct plain_line field[5];
    struct faidx_sequence s = {.length = 0};
    int64_t *number[] = {&s.length, &s.offset, &s.line_bases, &s.line_bytes};
    *good = false;
    for (int i = 0; i < 5; i++)
        if (!plain_field(&line, '\t', &field[i]))
            return STATUS_OK;
    if (field[0].size == 0 || field[0].size >= sizeof s.name)
        return STATUS_OK;
    memcpy(s.name, field[0].at, field[0].size);
    for (int i = 0; i < 4; i++)
        if ((*number[i] = plain_integer(field[i + 1], INT64_MAX / 4)) < 0)
            return STATUS_OK;
    if (s.line_bases < 1 || s.line_bytes <= s.line_bases || s.line_bytes - s.line_bases > 2)
        return STATUS_OK;
    struct faidx_sequence *more = grown(f->sequence, (size_t)f->count, sizeof *f->sequence);
    if (!more)
        return error_memory(err, "the index of a genome");
    f->sequence = more;
    f->sequence[f->count++] = s;
    f->length += s.length;
    *good = true;
    return STATUS_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct faidx_sequence *)a)->name, ((const struct faidx_sequence *)b)->name);
}

static enum status read_index(struct faidx *f, const char *path, const char *shown, struct error *err)
{
    char file[PATH];
    char *text = NULL;
    size_t size = 0;
    bool good = true;
    if (snprintf(file, sizeof file, "%s.fai", path) >= (int)sizeof file || access(file, R_OK) != 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "%s has no index; make it with samtools faidx", shown);
    enum status status = plain_load(file, shown, INDEX_BYTES, &text, &size, err);
    if (status)
        return status;
    struct plain_lines lines = plain_lines(text, size);
    struct plain_line line;
    while (!status && good && plain_next(&lines, &line))
        if (line.size > 0)
            status = take_line(f, line, &good, err);
    free(text);
    if (!status && (!good || f->count == 0))
        return error_set(err, STATUS_CORRUPT, NULL, "%s: line %lld of the index is no index of a FASTA file", shown,
                         (long long)lines.number);
    if (!status)
        qsort(f->sequence, (size_t)f->count, sizeof *f->sequence, by_name);
    return status;
}

/* Opens the file, plain or compressed, and puts its path into `file`. */
static enum status open_file(struct faidx *f, const char *path, const char *shown, char file[PATH], struct error *err)
{
    char places[PATH];
    if (snprintf(file, PATH, "%s.gz", path) >= PATH || snprintf(places, sizeof places, "%s.gz.gzi", path) >= PATH)
        return error_set(err, STATUS_LIMIT, NULL, "the path of %s is too long", shown);
    f->file = open(path, O_RDONLY | O_CLOEXEC);
    if (f->file >= 0) {
        snprintf(file, PATH, "%s", path);
        return STATUS_OK;
    }
    if (errno == ENOENT)
        f->file = open(file, O_RDONLY | O_CLOEXEC);
    if (f->file < 0)
        return error_set(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, NULL, "%s has no file that can be read",
                         shown);
    return bgzf_open(f->file, places, shown, &f->packed, err);
}

enum status faidx_open(const char *path, const char *shown, struct faidx *out, struct error *err)
{
    char file[PATH];
    *out = (struct faidx){.file = -1};
    enum status status = open_file(out, path, shown, file, err);
    if (!status)
        status = read_index(out, file, shown, err);
    if (status)
        faidx_close(out);
    return status;
}

void faidx_close(struct faidx *index)
{
    bgzf_close(index->packed);
    descriptor_close(&index->file);
    free(index->sequence);
    *index = (struct faidx){.file = -1};
}

const struct faidx_sequence *faidx_find(const struct faidx *index, const char *name)
{
    struct faidx_sequence key = {.length = 0};
    if (strlen(name) >= sizeof key.name)
        return NULL;
    memcpy(key.name, name, strlen(name) + 1);
    return bsearch(&key, index->sequence, (size_t)index->count, sizeof key, by_name);
}

/* Returns the byte offset of a base in the file. */
static int64_t faidx_place(const struct faidx_sequence *s, int64_t base)
{
    return s->offset + base / s->line_bases * s->line_bytes + base % s->line_bases;
}

/* Reads up to `count` bytes of the FASTA text from offset `at`, after decompression. *got is 0 at the end of the
 * text. */
static enum status read_text(const struct faidx *index, int64_t at, char *to, size_t count, size_t *got,
                             struct error *err)
{
    if (index->packed)
        return bgzf_read(index->packed, at, to, count, got, err);
    ssize_t read = pread(index->file, to, count, at);
    *got = read > 0 ? (size_t)read : 0;
    return read < 0 ? error_set(err, STATUS_IO, NULL, "the genome cannot be read") : STATUS_OK;
}

enum status faidx_read(const struct faidx *index, const struct faidx_sequence *sequence, int64_t start, int64_t end,
                       char *letters, struct error *err)
{
    char block[BLOCK];
    int64_t at = faidx_place(sequence, start), until = end > start ? faidx_place(sequence, end - 1) + 1 : at, made = 0;
    while (at < until) {
        size_t wanted = until - at < BLOCK ? (size_t)(until - at) : BLOCK, got;
        enum status status = read_text(index, at, block, wanted, &got, err);
        if (status)
            return status;
        if (got == 0)
            break;
        for (size_t i = 0; i < got; i++) {
            if (block[i] == '\n' || block[i] == '\r')
                continue;
            if (block[i] == '>' || made == end - start)
                return error_set(err, STATUS_CORRUPT, NULL, "the index does not fit the genome; make it again");
            letters[made++] = block[i];
        }
        at += (int64_t)got;
    }
    return made == end - start
               ? STATUS_OK
               : error_set(err, STATUS_CORRUPT, NULL, "the index does not fit the genome; make it again");
}
