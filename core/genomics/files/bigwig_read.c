/* Reads bigWig files (bigwig_read.h). The format is that of Kent et al. 2010, "BigWig and BigBed: enabling browsing of
 * large distributed datasets", Bioinformatics 26(17), tables S5 to S17. The means are exact: zoom levels of the file,
 * which round, are not used.
 *
 * A file may be damaged, and the daemon must survive it. libBigWig, with which bigwig.c writes files, ends the process
 * on some damaged files, so this reader does not use it. Each size in a file is checked before it is used. The nodes
 * and blocks that one look-up reads do not overlap in a good file, so together they are no longer than the file; a
 * look-up that reads more than that fails. The limit also ends loops between nodes. */
#include "core/genomics/files/bigwig_read.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/descriptor.h"

enum {
    HEADER = 64,
    NODE = 4, /* bytes before the items of a node */
    TREE_HEADER = 32,
    INDEX_HEADER = 48,
    BRANCH = 24, /* bytes of an item of an inner node of the index */
    LEAF = 32,   /* bytes of an item of a leaf of the index */
    BLOCK_HEADER = 24,
    ITEMS = 65535, /* upper limit of the items of a node or block: the file has two bytes for their number */
    BLOCK = BLOCK_HEADER + 12 * ITEMS,   /* largest block, after decompression */
    PACKED = BLOCK + BLOCK / 512 + 1024, /* largest block in the file */
    KEY = 255,                           /* upper limit of the length of a name */
    NODES = 1 << 20,                     /* upper limit of the nodes that wait to be read */
    CHROMOSOMES = 1 << 22
};

struct chromosome {
    char name[KEY + 1];
    uint32_t number, length;
};

struct room {
    unsigned char *bytes;
    size_t count;
};

struct bigwig {
    int file;
    const char *shown;
    uint64_t size, index;          /* size: bytes of the file; index: where in the file the index of blocks begins */
    uint64_t left;                 /* bytes that the look-up in progress may still read */
    bool packed;                   /* whether blocks are compressed */
    struct chromosome *chromosome; /* [count] sorted by name */
    size_t count, room;
    uint64_t *node; /* [nodes] places of the nodes that wait to be read; the last one is next */
    size_t nodes, node_room;
    /* items: the items of a node; in: a block as it is in the file; block: the block after decompression */
    struct room items, in, block;
};

/* The part of a chromosome whose means are computed. */
struct window {
    uint32_t number;
    int64_t start, end;
    int bins;
    double *mean;
    const char *chromosome;
};

/* ---- bytes ----------------------------------------------------------------------------------------------------- */

static uint64_t number_at(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static uint32_t u32(const unsigned char *at)
{
    return (uint32_t)number_at(at, 4);
}

static float f32(const unsigned char *at)
{
    uint32_t bits = u32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Reads `count` bytes at the offset `at` of the file. Returns false if the file ends before them or cannot be read, or
 * if `count` exceeds b->left, the number of bytes that this look-up may still read. */
static bool bigwig_read_take(struct bigwig *b, uint64_t at, void *to, uint64_t count)
{
    char *out = to;
    if (count > b->left || at > b->size || count > b->size - at)
        return false;
    b->left -= count;
    while (count > 0) {
        ssize_t got = pread(b->file, out, (size_t)count, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        out += got;
        at += (uint64_t)got;
        count -= (uint64_t)got;
    }
    return true;
}

/* Makes sure that the buffer `room` has at least `count` bytes. What the buffer contained may be lost. */
static bool bigwig_read_widen(struct room *room, size_t count)
{
    if (count <= room->count)
        return true;
    free(room->bytes);
    room->bytes = malloc(count);
    room->count = room->bytes ? count : 0;
    return room->bytes != NULL;
}

/* ---- trees ------------------------------------------------------------------------------------------------------ */

/* Makes room for one more element. */
static bool bigwig_read_grow(void **list, size_t count, size_t *room, size_t size, size_t most)
{
    if (count < *room)
        return true;
    size_t more = *room > 0 ? 2 * *room : 64;
    void *longer = count < most ? realloc(*list, more * size) : NULL;
    if (!longer)
        return false;
    *list = longer;
    *room = more;
    return true;
}

static bool push(struct bigwig *b, uint64_t node)
{
    void *list = b->node;
    bool fits = bigwig_read_grow(&list, b->nodes, &b->node_room, sizeof *b->node, NODES);
    b->node = list;
    if (fits)
        b->node[b->nodes++] = node;
    return fits;
}

/* Removes the last node from the list of waiting nodes, and reads its *count items into b->items. An item has `leaf`
 * bytes if the node is a leaf, else `branch` bytes. */
static bool next_node(struct bigwig *b, size_t branch, size_t leaf, bool *is_leaf, size_t *count)
{
    unsigned char head[NODE];
    uint64_t at = b->node[--b->nodes];
    if (!bigwig_read_take(b, at, head, NODE))
        return false;
    *is_leaf = head[0] != 0;
    *count = (size_t)number_at(head + 2, 2);
    size_t size = *count * (*is_leaf ? leaf : branch);
    return size <= b->left && bigwig_read_widen(&b->items, size) &&
           bigwig_read_take(b, at + NODE, b->items.bytes, size);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct chromosome *)a)->name, ((const struct chromosome *)b)->name);
}

static bool add_chromosome(struct bigwig *b, const unsigned char *item, size_t key)
{
    void *list = b->chromosome;
    bool fits = bigwig_read_grow(&list, b->count, &b->room, sizeof *b->chromosome, CHROMOSOMES);
    b->chromosome = list;
    if (!fits)
        return false;
    struct chromosome *c = &b->chromosome[b->count++];
    *c = (struct chromosome){.number = u32(item + key), .length = u32(item + key + 4)};
    memcpy(c->name, item, key);
    return true;
}

static bool read_chromosomes(struct bigwig *b, uint64_t tree)
{
    unsigned char head[TREE_HEADER];
    if (!bigwig_read_take(b, tree, head, TREE_HEADER))
        return false;
    size_t key = u32(head + 8);
    if (u32(head) != 0x78CA8C91 || key < 1 || key > KEY || u32(head + 12) != 8 || !push(b, tree + TREE_HEADER))
        return false;
    while (b->nodes > 0) {
        bool leaf;
        size_t count;
        if (!next_node(b, key + 8, key + 8, &leaf, &count))
            return false;
        for (size_t i = 0; i < count; i++) {
            const unsigned char *item = b->items.bytes + i * (key + 8);
            if (!(leaf ? add_chromosome(b, item, key) : push(b, number_at(item + key, 8))))
                return false;
        }
    }
    if (b->count > 0)
        qsort(b->chromosome, b->count, sizeof *b->chromosome, by_name);
    return b->count > 0;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool read_header(struct bigwig *b)
{
    unsigned char head[HEADER], index[INDEX_HEADER];
    b->left = b->size;
    if (!bigwig_read_take(b, 0, head, HEADER) || u32(head) != 0x888FFC26)
        return false;
    b->index = number_at(head + 24, 8);
    b->packed = u32(head + 52) > 0;
    return bigwig_read_take(b, b->index, index, INDEX_HEADER) && u32(index) == 0x2468ACE0 &&
           read_chromosomes(b, number_at(head + 8, 8));
}

enum status bigwig_open(const char *path, const char *shown, struct bigwig **out, struct error *err)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "%s does not exist", shown);
    struct bigwig *b = calloc(1, sizeof *b);
    if (!b) {
        descriptor_close(&file);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %s", shown);
    }
    *b = (struct bigwig){
        .file = file, .shown = shown, .size = fstat(file, &info) == 0 && info.st_size > 0 ? (uint64_t)info.st_size : 0};
    if (!read_header(b)) {
        bigwig_close(b);
        return error_set(err, STATUS_CORRUPT, NULL, "%s is no bigWig file", shown);
    }
    *out = b;
    return STATUS_OK;
}

void bigwig_close(struct bigwig *b)
{
    if (!b)
        return;
    descriptor_close(&b->file);
    free(b->chromosome);
    free(b->node);
    free(b->items.bytes);
    free(b->in.bytes);
    free(b->block.bytes);
    free(b);
}

static const struct chromosome *bigwig_read_find(const struct bigwig *b, const char *name)
{
    size_t low = 0, high = b->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, b->chromosome[middle].name);
        if (order == 0)
            return &b->chromosome[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

int64_t bigwig_length(const struct bigwig *b, const char *chromosome)
{
    const struct chromosome *c = bigwig_read_find(b, chromosome);
    return c ? (int64_t)c->length : -1;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* First position of a part. */
static int64_t edge(const struct window *w, int bin)
{
    return w->start + (w->end - w->start) * bin / w->bins;
}

/* Adds the value of the positions [from, to) to the means. Returns false if it is not finite. */
static bool add_value(const struct window *w, int64_t from, int64_t to, float value)
{
    from = from > w->start ? from : w->start;
    to = to < w->end ? to : w->end;
    if (from >= to)
        return true;
    if (!isfinite(value))
        return false;
    int bin = (int)((from - w->start) * w->bins / (w->end - w->start));
    while (bin > 0 && edge(w, bin) > from)
        bin--;
    for (; bin < w->bins && edge(w, bin) < to; bin++) {
        int64_t first = edge(w, bin), last = edge(w, bin + 1);
        int64_t overlap = (to < last ? to : last) - (from > first ? from : first);
        if (overlap > 0)
            w->mean[bin] += (double)value * (double)overlap / (double)(last - first);
    }
    return true;
}

static enum status unreadable(const struct bigwig *b, const struct window *w, struct error *err)
{
    return error_set(err, STATUS_CORRUPT, NULL, "%s cannot be read at %s:%lld-%lld", b->shown, w->chromosome,
                     (long long)w->start, (long long)w->end);
}

/* Adds the values of a block of `size` bytes. */
static enum status add_block(const struct bigwig *b, const unsigned char *block, size_t size, const struct window *w,
                             struct error *err)
{
    enum { INTERVALS = 1, STARTS, STEPS };
    static const size_t bytes[] = {[INTERVALS] = 12, [STARTS] = 8, [STEPS] = 4};
    if (size < BLOCK_HEADER)
        return unreadable(b, w, err);
    int64_t first = u32(block + 4), step = u32(block + 12), span = u32(block + 16);
    int kind = block[20];
    size_t count = (size_t)number_at(block + 22, 2);
    if (kind < INTERVALS || kind > STEPS || count * bytes[kind] > size - BLOCK_HEADER)
        return unreadable(b, w, err);
    for (size_t i = 0; u32(block) == w->number && i < count; i++) {
        const unsigned char *item = block + BLOCK_HEADER + i * bytes[kind];
        int64_t from = kind == STEPS ? first + (int64_t)i * step : u32(item);
        int64_t to = kind == INTERVALS ? u32(item + 4) : from + span;
        if (!add_value(w, from, to, f32(item + bytes[kind] - 4)))
            return error_set(err, STATUS_CORRUPT, NULL, "%s has a value that is not finite at %s:%lld-%lld", b->shown,
                             w->chromosome, (long long)from, (long long)to);
    }
    return STATUS_OK;
}

static enum status read_block(struct bigwig *b, uint64_t at, uint64_t size, const struct window *w, struct error *err)
{
    uLongf unpacked = BLOCK;
    if (size > PACKED || size > b->left || !bigwig_read_widen(&b->in, (size_t)size) ||
        !bigwig_read_take(b, at, b->in.bytes, size))
        return unreadable(b, w, err);
    if (!b->packed)
        return add_block(b, b->in.bytes, (size_t)size, w, err);
    if (!bigwig_read_widen(&b->block, BLOCK) || uncompress(b->block.bytes, &unpacked, b->in.bytes, (uLong)size) != Z_OK)
        return unreadable(b, w, err);
    return add_block(b, b->block.bytes, (size_t)unpacked, w, err);
}

/* Whether an item of the index may have values of the window. */
static bool overlaps(const unsigned char *item, const struct window *w)
{
    uint32_t first = u32(item), last = u32(item + 8);
    return first <= w->number && last >= w->number && (first < w->number || u32(item + 4) < w->end) &&
           (last > w->number || u32(item + 12) > w->start);
}

enum status bigwig_means(struct bigwig *b, const char *chromosome, int64_t start, int64_t end, int bins, double *mean,
                         struct error *err)
{
    const struct chromosome *c = bigwig_read_find(b, chromosome);
    struct window w = {c ? c->number : 0, start, end, bins, mean, chromosome};
    memset(mean, 0, (size_t)bins * sizeof *mean);
    b->left = b->size;
    b->nodes = 0;
    if (!c || !push(b, b->index + INDEX_HEADER))
        return unreadable(b, &w, err);
    while (b->nodes > 0) {
        bool leaf;
        size_t count;
        if (!next_node(b, BRANCH, LEAF, &leaf, &count))
            return unreadable(b, &w, err);
        for (size_t i = 0; i < count; i++) { /* inner nodes are read from the last item to the first */
            const unsigned char *item = b->items.bytes + (leaf ? i * LEAF : (count - 1 - i) * BRANCH);
            enum status status = STATUS_OK;
            if (!overlaps(item, &w))
                continue;
            if (leaf)
                status = read_block(b, number_at(item + 16, 8), number_at(item + 24, 8), &w, err);
            else if (!push(b, number_at(item + 16, 8)))
                status = unreadable(b, &w, err);
            if (status)
                return status;
        }
    }
    return STATUS_OK;
}
