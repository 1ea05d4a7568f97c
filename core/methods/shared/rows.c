/* Reads rows of an uploaded data set in a random order (rows.h). */
#include "core/methods/shared/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/descriptor.h"
#include "core/methods/shared/table_source.h"

static const char *const FIELD = "/config/dataset_name";
enum { ORDER_SPLIT = 0x5300, ORDER_BLOCKS, ORDER_WINDOW };

/* ---- the set ------------------------------------------------------------------------------------------------- */

static enum status shared_rows_measure(struct rows *r, const char *name, struct error *err)
{
    const struct collection *c = &r->set;
    bool table = c->kind == COLLECTION_TABLE || c->kind == COLLECTION_IMAGES || c->kind == COLLECTION_SEQUENCES;
    /* Samples must have one channel of numbers, and all samples the same numbers of rows and columns. */
    if (!table || c->channels != 1 || c->start[c->count] != c->count * c->cols)
        return error_set(err, STATUS_INVALID, FIELD,
                         "%s must be an array of numbers, [rows][dimensions] or [samples][tokens][dimensions]", name);
    r->tokens = c->rows;
    r->inputs = c->cols;
    r->count = c->count * c->rows;
    r->place = collection_place(c);
    if (r->count < ROWS_LEAST || r->inputs > ROWS_INPUTS_MOST)
        return error_set(err, STATUS_INVALID, FIELD,
                         "%s has %lld rows of %d numbers; there must be at least %d rows of at most %d", name,
                         (long long)r->count, r->inputs, ROWS_LEAST, ROWS_INPUTS_MOST);
    return STATUS_OK;
}

/* Divides the samples by their groups or by the parts of the file, and lists them. */
static enum status divide_samples(struct rows *r, const struct rows_request *request, struct error *err)
{
    static const struct division_fields fields = {
        .data = "/config/dataset_name",
        .split = "/config/dataset_split",
        .test_group = "/config/dataset_test_group",
        .test = "/config/dataset_split",
    };
    const struct collection *c = &r->set;
    const struct division_request wanted = {
        .fields = &fields, .split = request->split, .test = 0.1, .whole = true, .test_group = request->test_group};
    int64_t at = 0;
    enum status status = division_make(c, &wanted, &r->division, err);
    r->sample = status ? NULL : malloc((size_t)c->count * sizeof *r->sample);
    if (!status && !r->sample)
        status = error_memory(err, "a division");
    for (int test = 0; !status && test < 2; test++)
        for (int64_t i = 0; i < c->count; i++)
            if ((r->division.part[i] == PART_OF_TEST) == test)
                r->sample[at++] = i;
    return status;
}

static int64_t training_rows(const struct rows *r)
{
    return r->division.count[PART_OF_TRAINING] * r->tokens;
}

static enum status shared_rows_split(struct rows *r, const struct rows_request *request, struct error *err)
{
    bool stated = request->test_group[0] != '\0' || request->split == DIVIDE_GROUPS || request->split == DIVIDE_PARTS ||
                  (request->split == DIVIDE_AUTO && (r->set.group || r->set.part));
    enum status status = stated ? divide_samples(r, request, err) : STATUS_OK;
    if (status)
        return status;
    int64_t rows = r->sample ? training_rows(r) : r->count, block = rows / ROWS_WINDOW;
    r->seed = request->seed;
    r->block = block < 1 ? 1 : block > ROWS_BLOCK ? ROWS_BLOCK : (int)block;
    r->blocks = rows / r->block;
    r->test_blocks = r->sample ? 0 : r->blocks / 10 > 0 ? r->blocks / 10 : 1;
    r->split = permutation_make(r->blocks, request->seed, ORDER_SPLIT, 0);
    return STATUS_OK;
}

static enum status open_file(const char *data, const char *name, const char *hash, struct rows *out, struct error *err)
{
    char folder[DATASET_PATH], path[DATASET_PATH + 16];
    struct error cause = {0};
    enum status status = source_folder(name, hash, data, folder, &cause);
    if (!status) {
        snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
        out->file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (out->file < 0)
            status = error_set(&cause, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, NULL,
                               "data set %s contains no rows of numbers", name);
    }
    if (!status)
        status = collection_map(out->file, &out->set, &cause);
    return status ? error_set(err, status, FIELD, "%s", cause.message) : STATUS_OK;
}

enum status rows_open(const struct rows_request *r, struct rows *out, struct error *err)
{
    *out = (struct rows){.file = -1};
    enum status status = open_file(r->data, r->name, r->hash, out, err);
    if (!status)
        status = shared_rows_measure(out, r->name, err);
    return status ? status : shared_rows_split(out, r, err);
}

void rows_close(struct rows *rows)
{
    if (rows->count > 0 || rows->set.mapping)
        collection_close(&rows->set);
    if (rows->file > 0)
        descriptor_close(&rows->file);
    free(rows->sample);
    division_close(&rows->division);
    *rows = (struct rows){.file = -1};
}

enum status rows_resolve(const struct rows_request *request, enum collection_scale wish, char hash[CONFIG_TEXT],
                         int64_t *inputs, int *scaling, struct error *err)
{
    struct error cause = {0};
    struct rows rows;
    const char *name = request->name;
    if (name[0] == '\0')
        return error_set(err, STATUS_INVALID, FIELD, "must name a data set; GET /v1/datasets lists them");
    enum status status = source_resolve(name, request->data, hash, &cause);
    if (status)
        return error_set(err, status, FIELD, "%s", cause.message);
    if (!dataset_name_good(name))
        return STATUS_OK; /* the method's check() reports the invalid name */
    struct rows_request now = *request;
    now.hash = hash;
    status = rows_open(&now, &rows, err);
    *inputs = rows.inputs;
    if (!status) {
        bool alike = rows.set.kind != COLLECTION_TABLE || collection_numbered(&rows.set);
        bool open = wish == SCALE_AUTO && rows.set.scale == SCALE_AUTO;
        const struct table_fit fit = {.wish = open && alike ? SCALE_NONE : wish, .scaling = scaling};
        status = source_scale(&rows.set, &fit, err);
    }
    rows_close(&rows);
    return status;
}

/* ---- order --------------------------------------------------------------------------------------------------- */

static int64_t train_blocks(const struct rows *r)
{
    return r->blocks - r->test_blocks;
}

/* Returns the row that is number `at` of the listed samples' rows. */
static int64_t listed(const struct rows *r, int64_t at)
{
    return r->sample ? r->sample[at / r->tokens] * r->tokens + at % r->tokens : at;
}

int64_t rows_test_count(const struct rows *r)
{
    if (r->sample)
        return r->division.count[PART_OF_TEST] * r->tokens;
    return r->test_blocks * r->block + r->count - r->blocks * r->block;
}

int64_t rows_test(const struct rows *r, int64_t index)
{
    int64_t whole = r->test_blocks * r->block;
    if (r->sample)
        return listed(r, training_rows(r) + index);
    if (index >= whole)
        return r->blocks * r->block + index - whole;
    return permutation_at(&r->split, train_blocks(r) + index / r->block) * r->block + index % r->block;
}

/* The position of a training sample in the order of its epoch: the window that contains it, and its place there. */
struct spot {
    int64_t epoch, window;
    int64_t blocks; /* number of blocks in the window */
    int64_t at;     /* place of the sample in the window */
    struct permutation order;
};

static struct spot spot_of(const struct rows *r, int64_t index)
{
    int64_t all = train_blocks(r), rows = all * r->block, long_window = (int64_t)ROWS_WINDOW * r->block;
    struct spot s = {.epoch = index / rows};
    int64_t place = index % rows;
    s.window = place / long_window;
    s.at = place % long_window;
    s.blocks = all - s.window * ROWS_WINDOW < ROWS_WINDOW ? all - s.window * ROWS_WINDOW : ROWS_WINDOW;
    s.order = permutation_make(all, r->seed, ORDER_BLOCKS, (uint64_t)s.epoch);
    return s;
}

static int64_t block_of(const struct rows *r, const struct spot *s, int64_t number)
{
    return permutation_at(&r->split, permutation_at(&s->order, s->window * ROWS_WINDOW + number));
}

int64_t rows_train(const struct rows *r, int64_t index)
{
    struct spot s = spot_of(r, index);
    const struct permutation mixed =
        permutation_make(s.blocks * r->block, r->seed, ORDER_WINDOW + (uint32_t)s.window, (uint64_t)s.epoch);
    int64_t at = permutation_at(&mixed, s.at);
    return listed(r, block_of(r, &s, at / r->block) * r->block + at % r->block);
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

static size_t value_bytes(const struct rows *r)
{
    return r->set.values ? sizeof(float) : 1;
}

static enum status read_bytes(const struct rows *r, int64_t row, void *to, struct error *err)
{
    size_t bytes = (size_t)r->inputs * value_bytes(r);
    int64_t at = r->place + row * (int64_t)bytes;
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(r->file, (char *)to + done, bytes - done, at + (int64_t)done);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return error_set(err, STATUS_IO, NULL, "row %lld of the data set cannot be read", (long long)row);
        done += got > 0 ? (size_t)got : 0;
    }
    return STATUS_OK;
}

enum status rows_read(const struct rows *r, int64_t row, float *x, struct error *err)
{
    if (r->set.values)
        return read_bytes(r, row, x, err);
    unsigned char *bytes = (unsigned char *)x + (size_t)r->inputs * (sizeof *x - 1);
    enum status status = read_bytes(r, row, bytes, err);
    /* The bytes are at the end of the memory of x, so the loop reads each byte before it writes a float over it. */
    for (int k = 0; !status && k < r->inputs; k++) {
        unsigned char byte = bytes[k];
        x[k] = r->set.unit ? (float)(byte / 255.0) : (float)byte;
    }
    return status;
}

void rows_expect(const struct rows *r, int64_t index)
{
    int64_t rows = train_blocks(r) * r->block, window = (int64_t)ROWS_WINDOW * r->block;
    int64_t next = index - index % rows % window + window; /* the first sample of the next window */
    struct spot s = spot_of(r, next);
    off_t row = (off_t)((size_t)r->inputs * value_bytes(r)), bytes = row * r->block;
    for (int64_t number = 0; index % rows % window == 0 && number < s.blocks; number++)
        (void)posix_fadvise(r->file, (off_t)r->place + (off_t)listed(r, block_of(r, &s, number) * r->block) * row,
                            bytes, POSIX_FADV_WILLNEED);
}

void rows_describe(const struct rows *r, int64_t row, const struct sink *out)
{
    const struct collection *c = &r->set;
    int64_t sample = row / r->tokens;
    const int32_t *label;
    int labels = collection_labels(c, sample, &label);
    sink_integer(out, "row", row);
    sink_integer(out, "sample", sample);
    if (r->tokens > 1)
        sink_integer(out, "token", row % r->tokens);
    if (c->records.count > 0)
        sink_text(out, "id", c->records.name[sample]);
    if (c->group)
        sink_text(out, "group", c->groups.name[c->group[sample]]);
    if (labels == 0)
        return;
    sink_begin_list(out, "label");
    for (int i = 0; i < labels; i++)
        if (label[i] >= 0)
            sink_text(out, NULL, c->vocabulary.name[label[i]]);
    sink_end_list(out);
}

static void write_rows(const char *name, int64_t rows, int64_t all, double requested, const struct sink *out)
{
    sink_begin_object(out, name);
    sink_integer(out, "samples", rows);
    sink_number(out, "share", (double)rows / (double)all);
    sink_number(out, "requested", requested);
    sink_end_object(out);
}

enum status rows_division(const struct rows *r, const struct sink *out, struct error *err)
{
    enum { SHOWN = 256 };
    char text[80];
    enum status status = STATUS_OK;
    sink_begin_object(out, "division");
    if (r->sample) {
        status = division_write(&r->set, &r->division, SHOWN, out, err);
    } else {
        (void)snprintf(text, sizeof text, "by block of %d neighbouring row%s", r->block, r->block == 1 ? "" : "s");
        sink_text(out, "by", "block");
        sink_text(out, "text", text);
        sink_begin_object(out, "parts");
        write_rows("training", r->count - rows_test_count(r), r->count, 0.9, out);
        write_rows("test", rows_test_count(r), r->count, 0.1, out);
        sink_end_object(out);
        sink_begin_list(out, "warnings");
        sink_end_list(out);
    }
    sink_end_object(out);
    return status;
}

enum status rows_division_of(const struct rows_request *request, const struct sink *out, struct error *err)
{
    struct rows rows;
    enum status status = rows_open(request, &rows, err);
    if (!status)
        status = rows_division(&rows, out, err);
    rows_close(&rows);
    return status;
}

char *const *rows_names(const struct rows *r)
{
    return r->set.kind == COLLECTION_TABLE ? r->set.columns.name : NULL;
}

enum status rows_fit_scale(const struct rows *r, enum collection_scale kind, bool centred, struct scale *scale,
                           struct error *err)
{
    enum { VALUES = 1 << 22, MOST = 1 << 16 };
    int64_t all = train_blocks(r) * r->block, most = VALUES / r->inputs;
    int count = (int)(all < most ? all : most < MOST ? most : MOST);
    float *x = malloc((size_t)count * (size_t)r->inputs * sizeof *x);
    enum status status = x ? STATUS_OK : error_memory(err, "a scale");
    for (int i = 0; !status && i < count; i++)
        status = rows_read(r, rows_train(r, i), x + (ptrdiff_t)i * r->inputs, err);
    if (!status)
        status = scale_fit(kind, centred, x, NULL, count, r->inputs, rows_names(r), "/config/scale", scale, err);
    free(x);
    return status;
}
