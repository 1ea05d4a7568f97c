/* Reads the index of a FASTA file and letters at any place of the file. */
#include "core/genomics/files/faidx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/descriptor.h"
#include "core/base/grown.h"
#include "core/genomics/files/bgzf.h"
#include "core/formats/text_lines.h"

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
