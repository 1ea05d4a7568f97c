/* Decompresses with zlib while bytes arrive. */
#include "core/formats/gunzip.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { BLOCK = 1 << 16, ANY_GZIP = 15 + 16 };

struct gunzip {
    struct byte_source from;
    z_stream stream;
    bool begun, packed, ended; /* begun: gunzip_begin() was called; packed: the file is compressed; ended: the source
                                  has no more bytes */
    int64_t most, made, used;  /* most: upper limit of the unpacked bytes; made, used: numbers of unpacked and of packed
                                  bytes so far */
    bool inside;               /* a member has begun and has not ended */
    unsigned char *at;         /* [left] bytes that were read and not used */
    size_t left;
    unsigned char block[BLOCK];
};

enum status gunzip_open(const struct byte_source *from, struct gunzip **gunzip, struct error *err)
{
    struct gunzip *g = calloc(1, sizeof *g);
    *gunzip = g;
    if (!g || inflateInit2(&g->stream, ANY_GZIP) != Z_OK) {
        free(g);
        *gunzip = NULL;
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to decompress a file");
    }
    g->from = *from;
    g->most = INT64_MAX;
    return STATUS_OK;
}

void gunzip_limit(struct gunzip *gunzip, int64_t most)
{
    gunzip->most = most;
}

void gunzip_close(struct gunzip *gunzip)
{
    if (!gunzip)
        return;
    (void)inflateEnd(&gunzip->stream);
    free(gunzip);
}

/* Reads more bytes behind those that are left. */
static enum status gunzip_fill(struct gunzip *g, struct error *err)
{
    size_t got = 0;
    memmove(g->block, g->at, g->left);
    g->at = g->block;
    enum status status = g->from.read(g->from.context, g->block + g->left, BLOCK - g->left, &got, err);
    if (status)
        return status;
    g->left += got;
    g->ended = got == 0;
    return STATUS_OK;
}

/* Reads the first bytes, which say whether the file is compressed, and refuses other compressors than gzip. */
static enum status gunzip_begin(struct gunzip *g, struct error *err)
{
    static const struct {
        const char *bytes, *name, *unpack;
    } others[] = {{"BZh91A", "bzip2", "bunzip2"},
                  {"\xFD"
                   "7zXZ",
                   "xz", "unxz"},
                  {"\x28\xB5\x2F\xFD", "Zstandard", "unzstd"},
                  {"7z\xBC\xAF\x27\x1C", "7-Zip", "7z x"},
                  {"Rar!\x1A\x07", "RAR", "unrar x"}};
    enum status status = STATUS_OK;
    g->begun = true;
    g->at = g->block;
    while (!status && g->left < 6 && !g->ended)
        status = gunzip_fill(g, err);
    for (size_t i = 0; !status && i < sizeof others / sizeof others[0]; i++)
        if (g->left >= strlen(others[i].bytes) && memcmp(g->at, others[i].bytes, strlen(others[i].bytes)) == 0)
            return error_set(err, STATUS_INVALID, NULL,
                             "the file is compressed with %s, which is not read; unpack it first (%s FILE)",
                             others[i].name, others[i].unpack);
    g->packed = g->left >= 2 && g->at[0] == 0x1F && g->at[1] == 0x8B;
    return status;
}

static enum status read_plain(struct gunzip *g, void *to, size_t most, size_t *got, struct error *err)
{
    if (g->left == 0)
        return g->from.read(g->from.context, to, most, got, err);
    *got = g->left < most ? g->left : most;
    memcpy(to, g->at, *got);
    g->at += *got;
    g->left -= *got;
    return STATUS_OK;
}

static enum status corrupt(struct error *err, const char *what)
{
    return error_set(err, STATUS_CORRUPT, NULL, "the gzip file is damaged: %s", what);
}

static enum status read_packed(struct gunzip *g, void *to, size_t most, size_t *got, struct error *err)
{
    z_stream *z = &g->stream;
    z->next_out = to;
    z->avail_out = most > BLOCK ? BLOCK : (uInt)most;
    uInt room = z->avail_out;
    while (z->avail_out == room) {
        enum status status = g->left == 0 && !g->ended ? gunzip_fill(g, err) : STATUS_OK;
        if (status)
            return status;
        if (g->left == 0)
            return g->inside ? corrupt(err, "it ends too early") : STATUS_OK;
        z->next_in = g->at;
        z->avail_in = (uInt)g->left;
        g->inside = true;
        int result = inflate(z, Z_NO_FLUSH);
        g->used += (int64_t)(g->left - z->avail_in);
        g->at += g->left - z->avail_in;
        g->left = z->avail_in;
        if (result == Z_STREAM_END) { /* another member may follow */
            g->inside = false;
            if (inflateReset(z) != Z_OK)
                return corrupt(err, "it cannot be decompressed");
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            return corrupt(err, "it cannot be decompressed");
        }
    }
    *got = room - z->avail_out;
    g->made += (int64_t)*got;
    if (g->made > g->most)
        return error_set(err, STATUS_LIMIT, NULL,
                         "the compressed file unpacks to more than %lld bytes, the most that is "
                         "allowed",
                         (long long)g->most);
    return byte_source_ratio(g->used, g->made, "the compressed file", err);
}

static enum status gunzip_pull(void *context, void *to, size_t most, size_t *got, struct error *err)
{
    struct gunzip *g = context;
    *got = 0;
    enum status status = g->begun ? STATUS_OK : gunzip_begin(g, err);
    if (status)
        return status;
    return g->packed ? read_packed(g, to, most, got, err) : read_plain(g, to, most, got, err);
}

struct byte_source gunzip_source(struct gunzip *gunzip)
{
    return (struct byte_source){gunzip, gunzip_pull, gunzip->from.work};
}
