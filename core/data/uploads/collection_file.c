/* The stored form: a snapshot (core/base/snapshot.h) that contains every array as it is in memory, at offsets that are
 * multiples of 64, so that the file can be mapped into memory. Names follow each other, each with its NUL. Although
 * collection_write() wrote the file, the reader checks it like untrusted bytes, because a damaged file must not cause
 * accesses outside the mapping. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/data/uploads/collection_build.h"
#include "core/base/descriptor.h"
#include "core/formats/audio_wave.h"

enum { HEAD = 8 };

static enum status collection_file_add(struct snapshot *snapshot, enum snapshot_type type, const char *name,
                                       int64_t count, int64_t width, const void *at, struct error *err)
{
    uint64_t dim[2] = {(uint64_t)count, (uint64_t)width};
    return snapshot_add(snapshot, SNAPSHOT_STATE, type, name, 2, dim, (void *)at, err);
}

static char *collection_file_join(const struct collection_names *names, int64_t *bytes)
{
    *bytes = 0;
    for (int i = 0; i < names->count; i++)
        *bytes += (int64_t)strlen(names->name[i]) + 1;
    char *all = malloc((size_t)*bytes + 1), *to = all;
    for (int i = 0; all && i < names->count; i++)
        to = stpcpy(to, names->name[i]) + 1;
    return all;
}

static const char *const list_names[] = {"vocabulary", "columns", "groups", "records", "words", "texts"};
enum { NAME_LISTS = sizeof list_names / sizeof list_names[0] };

static enum status add_names(struct snapshot *snapshot, const struct collection_names *names, const char *as,
                             char **text, struct error *err)
{
    int64_t bytes;
    *text = collection_file_join(names, &bytes);
    if (!*text)
        return error_memory(err, "names");
    return bytes > 0 ? collection_file_add(snapshot, SNAPSHOT_U8, as, bytes, 1, *text, err) : STATUS_OK;
}

/* The snapshot keeps pointers to all values, so the caller owns `head` and `rate` until it is written. */
static enum status add_arrays(struct snapshot *snapshot, const struct collection *c, const int64_t head[HEAD],
                              const int64_t *rate, struct error *err)
{
    int64_t labels = c->label_start[c->count];
    enum status status = collection_file_add(snapshot, SNAPSHOT_I64, "head", HEAD, 1, head, err);
    if (status)
        return status;
    status = collection_file_add(snapshot, SNAPSHOT_I64, "start", c->count + 1, 1, c->start, err);
    if (status)
        return status;
    status = collection_file_add(snapshot, SNAPSHOT_I64, "label_start", c->count + 1, 1, c->label_start, err);
    if (status)
        return status;
    if (labels > 0)
        status = collection_file_add(snapshot, SNAPSHOT_U8, "label", labels, sizeof *c->label, c->label, err);
    if (status)
        return status;
    if (c->number)
        status = collection_file_add(snapshot, SNAPSHOT_F32, "number", c->count, c->vocabulary.count, c->number, err);
    if (status)
        return status;
    if (c->profile)
        status = collection_file_add(snapshot, SNAPSHOT_U8, "profile", 1, 1, &c->profile, err);
    if (status)
        return status;
    if (*rate > 0)
        status = collection_file_add(snapshot, SNAPSHOT_I64, "rate", 1, 1, rate, err);
    if (status)
        return status;
    if (c->kind == COLLECTION_TEXTS)
        status = collection_file_add(snapshot, SNAPSHOT_U8, "wording", 1, sizeof c->wording, &c->wording, err);
    if (status)
        return status;
    if (c->rna)
        status = collection_file_add(snapshot, SNAPSHOT_U8, "rna", 1, 1, &c->rna, err);
    if (status)
        return status;
    if (c->unordered)
        status = collection_file_add(snapshot, SNAPSHOT_U8, "unordered", 1, 1, &c->unordered, err);
    if (status)
        return status;
    if (c->scale != SCALE_AUTO)
        status = collection_file_add(snapshot, SNAPSHOT_U8, "scale", 1, sizeof c->scale, &c->scale, err);
    if (status)
        return status;
    if (c->group)
        status = collection_file_add(snapshot, SNAPSHOT_U8, "group", c->count, sizeof *c->group, c->group, err);
    if (status)
        return status;
    if (c->part)
        status = collection_file_add(snapshot, SNAPSHOT_U8, "part", c->count, 1, c->part, err);
    if (status)
        return status;
    if (c->boxes > 0)
        status = collection_file_add(snapshot, SNAPSHOT_I64, "box_start", c->count + 1, 1, c->box_start, err);
    if (status)
        return status;
    if (c->boxes > 0)
        status = collection_file_add(snapshot, SNAPSHOT_U8, "box", c->boxes, sizeof *c->box, c->box, err);
    if (status)
        return status;
    if (c->moments.count > 0)
        status = collection_file_add(snapshot, SNAPSHOT_U8, "moments", 1, sizeof c->moments, &c->moments, err);
    if (status)
        return status;
    if (c->values)
        return collection_file_add(snapshot, SNAPSHOT_F32, "values", c->start[c->count], (int64_t)c->channels * c->rows,
                                   c->values, err);
    return collection_file_add(snapshot, SNAPSHOT_U8, c->unit ? "unit_bytes" : "bytes", c->start[c->count],
                               (int64_t)c->channels * c->rows, c->bytes, err);
}

enum status collection_write(const struct collection *c, const struct snapshot_writer *to, struct error *err)
{
    const struct collection_names *lists[NAME_LISTS] = {&c->vocabulary, &c->columns, &c->groups,
                                                        &c->records,    &c->words,   &c->texts};
    const int64_t head[HEAD] = {c->kind, c->target, c->count, c->channels, c->rows, c->cols, c->longest, c->boxes};
    const int64_t rate = c->rate;
    char *text[NAME_LISTS] = {0};
    struct snapshot *snapshot = NULL;
    enum status status = snapshot_create(&snapshot, err);
    if (!status)
        status = add_arrays(snapshot, c, head, &rate, err);
    for (int i = 0; !status && i < NAME_LISTS; i++)
        status = add_names(snapshot, lists[i], list_names[i], &text[i], err);
    if (!status)
        status = snapshot_write(snapshot, to, err);
    snapshot_destroy(snapshot);
    for (int i = 0; i < NAME_LISTS; i++)
        free(text[i]);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------- */

struct mapped {
    const unsigned char *at;
    size_t size;
    struct snapshot_entry *entries;
    size_t count;
};

static enum status read_mapped(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct mapped *m = context;
    if (offset > m->size || count > m->size - offset)
        return error_set(err, STATUS_CORRUPT, NULL, "the stored data set is cut off");
    memcpy(bytes, m->at + offset, count);
    return STATUS_OK;
}

/* Returns the data of the entry `name`; NULL: there is no such entry, or it has another type or other sizes. */
static void *entry(const struct mapped *m, const char *name, enum snapshot_type type, int64_t count, int64_t width)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct snapshot_entry *e = &m->entries[i];
        if (strcmp(e->name, name) == 0)
            return e->type == type && e->dim[0] == (uint64_t)count && e->dim[1] == (uint64_t)width && e->offset % 8 == 0
                       ? (void *)(uintptr_t)(m->at + e->offset)
                       : NULL;
    }
    return NULL;
}

static bool rising(const int64_t *start, int64_t count, int64_t least)
{
    if (!start || start[0] != 0)
        return false;
    for (int64_t i = 0; i < count; i++)
        if (start[i + 1] < start[i] || start[i + 1] - start[i] < least || start[i + 1] > (int64_t)1 << 40)
            return false;
    return true;
}

static bool within(const int32_t *number, int64_t count, int stride, int low, int most)
{
    for (int64_t i = 0; i < count; i++)
        if (number[i * stride] < low || number[i * stride] >= most)
            return false;
    return true;
}

static bool read_head(struct collection *c, const struct mapped *m)
{
    const int64_t *head = entry(m, "head", SNAPSHOT_I64, HEAD, 1);
    if (!head || head[0] < 0 || head[0] > COLLECTION_TEXTS || head[1] < 0 || head[1] > TARGET_NUMBER)
        return false;
    for (int i = 2; i < HEAD; i++)
        if (head[i] < (i < 6 ? 1 : 0) || head[i] > 1 << 30)
            return false;
    c->kind = (enum collection_kind)head[0];
    c->target = (enum collection_target)head[1];
    c->count = head[2];
    c->channels = (int)head[3];
    c->rows = (int)head[4];
    c->cols = (int)head[5];
    c->longest = (int)head[6];
    c->boxes = head[7];
    return c->channels <= 1 << 13 && c->rows <= 1 << 13;
}

/* Reads a list of names, which the file need not contain. */
static enum status read_names(struct collection_names *names, const struct mapped *m, const char *as)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct snapshot_entry *e = &m->entries[i];
        if (strcmp(e->name, as) != 0)
            continue;
        char *at = (char *)(uintptr_t)(m->at + e->offset), *end = at + e->bytes;
        if (e->type != SNAPSHOT_U8 || e->bytes == 0 || end[-1] != '\0')
            return STATUS_CORRUPT;
        int count = 0;
        for (const char *c = at; c < end; c++)
            count += *c == '\0';
        names->name = malloc((size_t)count * sizeof *names->name);
        for (; names->name && at < end; at += strlen(at) + 1)
            names->name[names->count++] = at;
        return names->name ? STATUS_OK : STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}

static bool find_arrays(struct collection *c, const struct mapped *m)
{
    c->start = entry(m, "start", SNAPSHOT_I64, c->count + 1, 1);
    c->label_start = entry(m, "label_start", SNAPSHOT_I64, c->count + 1, 1);
    if (!rising(c->start, c->count, 1) || !rising(c->label_start, c->count, 0))
        return false;
    c->label = entry(m, "label", SNAPSHOT_U8, c->label_start[c->count], sizeof *c->label);
    c->group = entry(m, "group", SNAPSHOT_U8, c->count, sizeof *c->group);
    c->part = entry(m, "part", SNAPSHOT_U8, c->count, 1);
    c->unordered = entry(m, "unordered", SNAPSHOT_U8, 1, 1) != NULL;
    c->rna = entry(m, "rna", SNAPSHOT_U8, 1, 1) != NULL;
    c->profile = entry(m, "profile", SNAPSHOT_U8, 1, 1) != NULL;
    const int64_t *rate = entry(m, "rate", SNAPSHOT_I64, 1, 1);
    if (rate && (*rate < 1 || *rate > AUDIO_WAVE_RATES))
        return false;
    if (c->kind == COLLECTION_RECORDINGS) /* earlier versions resampled all recordings, and stored no rate */
        c->rate = rate ? (int)*rate : AUDIO_RATE;
    int64_t lines = (int64_t)c->channels * c->rows;
    const uint32_t *scale = entry(m, "scale", SNAPSHOT_U8, 1, sizeof c->scale);
    c->scale = scale && *scale <= SCALE_COUNTS ? (enum collection_scale) * scale : SCALE_AUTO;
    const struct collection_moments *moments = entry(m, "moments", SNAPSHOT_U8, 1, sizeof *moments);
    c->values = entry(m, "values", SNAPSHOT_F32, c->start[c->count], lines);
    c->bytes = c->values ? NULL : entry(m, "unit_bytes", SNAPSHOT_U8, c->start[c->count], lines);
    c->unit = c->bytes != NULL;
    if (!c->values && !c->bytes)
        c->bytes = entry(m, "bytes", SNAPSHOT_U8, c->start[c->count], lines);
    if (moments && moments->count == c->start[c->count] * lines)
        c->moments = *moments;
    if (c->boxes > 0) {
        c->box_start = entry(m, "box_start", SNAPSHOT_I64, c->count + 1, 1);
        c->box = entry(m, "box", SNAPSHOT_U8, c->boxes, sizeof *c->box);
    }
    return (c->values || c->bytes) && (c->label || c->label_start[c->count] == 0) &&
           (c->boxes == 0 || (c->box && rising(c->box_start, c->count, 0) && c->box_start[c->count] == c->boxes));
}

/* If the targets are numbers, finds the numbers in the file. Call it after read_names(). Returns false if the numbers
 * are missing or one of them is not finite. */
static bool find_numbers(struct collection *c, const struct mapped *m)
{
    if (c->target != TARGET_NUMBER)
        return true;
    c->number = entry(m, "number", SNAPSHOT_F32, c->count, c->vocabulary.count);
    for (int64_t i = 0; c->number && i < c->count * c->vocabulary.count; i++)
        if (!isfinite(c->number[i]))
            return false;
    return c->number && c->vocabulary.count > 0 && c->vocabulary.count <= NUMBERS_MOST && c->label_start[c->count] == 0;
}

/* Whether the values of texts are numbers of words. */
static bool words_good(struct collection *c, const struct mapped *m)
{
    const struct collection_wording *wording = entry(m, "wording", SNAPSHOT_U8, 1, sizeof *wording);
    if (c->kind != COLLECTION_TEXTS)
        return true;
    if (!wording || !c->values || c->channels != 1 || c->rows != 1 || c->texts.count != c->count ||
        wording->buckets < 0 || wording->buckets >= c->words.count || wording->cut < 0 || wording->words < 0 ||
        wording->words > WORDS_TABS)
        return false;
    c->wording = *wording;
    for (int64_t i = 0; i < c->start[c->count]; i++)
        if (!(c->values[i] >= 0 && c->values[i] <= (float)c->words.count))
            return false;
    return true;
}

static bool numbers_good(const struct collection *c)
{
    int low = c->target == TARGET_POSITIONS ? -1 : 0, most = c->vocabulary.count;
    bool good = within(c->label, c->label_start[c->count], 1, low, most);
    for (int64_t i = 0; good && i < c->count; i++)
        good = collection_length(c, i) <= c->cols && c->label_start[i + 1] - c->label_start[i] <= c->longest;
    if (good && c->group)
        good = within(c->group, c->count, 1, 0, c->groups.count);
    for (int64_t i = 0; good && c->part && i < c->count; i++)
        good = c->part[i] < COLLECTION_PARTS;
    return good && (c->boxes == 0 || within(c->box[0], c->boxes, 5, 0, most)) &&
           (c->kind != COLLECTION_TABLE || c->columns.count == c->cols) &&
           (c->records.count == 0 || c->records.count == c->count);
}

static enum status map_file(int file, struct collection *c, struct mapped *m, struct error *err)
{
    struct stat what;
    void *at = fstat(file, &what) == 0 && what.st_size > 0
                   ? mmap(NULL, (size_t)what.st_size, PROT_READ, MAP_PRIVATE, file, 0)
                   : MAP_FAILED;
    if (at == MAP_FAILED)
        return error_set(err, STATUS_IO, NULL, "the stored data set cannot be read");
    c->mapping = at;
    c->mapped = (size_t)what.st_size;
    *m = (struct mapped){.at = at, .size = c->mapped};
    return STATUS_OK;
}

enum status collection_map(int file, struct collection *c, struct error *err)
{
    struct mapped m = {0};
    *c = (struct collection){0};
    enum status status = map_file(file, c, &m, err);
    if (status)
        return status;
    struct snapshot_reader reader = {&m, m.size, read_mapped};
    status = snapshot_contents(&reader, &m.entries, &m.count, err);
    struct collection_names *names[NAME_LISTS] = {&c->vocabulary, &c->columns, &c->groups,
                                                  &c->records,    &c->words,   &c->texts};
    enum status found = !status && read_head(c, &m) && find_arrays(c, &m) ? STATUS_OK : STATUS_CORRUPT;
    for (int i = 0; !found && i < NAME_LISTS; i++)
        found = read_names(names[i], &m, list_names[i]);
    if (!found && (!find_numbers(c, &m) || !words_good(c, &m) || !numbers_good(c)))
        found = STATUS_CORRUPT;
    if (!status && found)
        status = error_set(err, found, NULL,
                           found == STATUS_CORRUPT ? "the stored data set is damaged" : "not enough memory for names");
    free(m.entries);
    if (status)
        collection_close(c);
    return status;
}

enum status collection_open(const char *path, struct collection *c, struct error *err)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    *c = (struct collection){0};
    if (file < 0 && status_unopened(errno) == STATUS_NOT_FOUND)
        return error_set(err, STATUS_NOT_FOUND, NULL, "there is no such data set");
    if (file < 0)
        return error_set(err, STATUS_IO, NULL, "the stored data set cannot be opened");
    enum status status = collection_map(file, c, err);
    descriptor_close(&file);
    return status;
}
