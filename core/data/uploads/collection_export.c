/* Writes a stored data set as an .npz file (collection_export.h). The arrays are those that uploads have
 * (collection_npz.c), with channels last. The array y of sets and counts has a column for each name, if y is then not
 * too large. All other labels are indices into the array `names`. The array x comes last, because the reader needs the
 * others first to know how x must be read. Nothing but the plan of the arrays is in memory. */
#include "core/data/uploads/collection_export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/uploads/collection_arrays.h"
#include "core/data/uploads/collection_npz.h"
#include "core/data/uploads/collection_stated.h"
#include "core/formats/npz/npz_stream.h"

/* EXACT: limit of the integers that a float represents exactly; the reader stores numbers as floats. OPTIONS: maximum
 * number of options in the file. */
enum { EXACT = 1 << 24, OPTIONS = 8 };

typedef void (*elements_fn)(const struct collection_export *e, int64_t first, int64_t count, void *to);

struct collection_export {
    const struct collection *c;
    struct npz_stream_array array[NPZ_STREAM_ARRAYS];
    elements_fn write[NPZ_STREAM_ARRAYS];
    const struct collection_names *texts[NPZ_STREAM_ARRAYS]; /* arrays of text: their elements */
    int arrays;
    bool columns, ragged; /* columns: y has a column for each label; ragged: the file needs the array `length` */
    char option[OPTIONS][STATED_TEXT]; /* elements of the array `options` */
    char *option_name[OPTIONS];
    struct collection_names options;
    struct npz_stream *stream;
};

/* ---- elements of the arrays -------------------------------------------------------------------------------- */

static void write_lengths(const struct collection_export *e, int64_t first, int64_t count, void *to)
{
    int32_t *out = to;
    for (int64_t i = 0; i < count; i++)
        out[i] = (int32_t)collection_length(e->c, first + i);
}

/* One class for each sample. */
static void write_classes(const struct collection_export *e, int64_t first, int64_t count, void *to)
{
    memcpy(to, e->c->label + first, (size_t)count * sizeof(int32_t)); /* check_form() has counted the labels */
}

/* Writes elements of the array [samples][longest]: the labels of each sample, followed by -1. */
static void write_tokens(const struct collection_export *e, int64_t first, int64_t count, void *to)
{
    int32_t *out = to;
    const int32_t *label = NULL;
    for (int64_t i = 0; i < count; i++) {
        int64_t sample = (first + i) / e->c->longest, place = (first + i) % e->c->longest;
        int length = collection_labels(e->c, sample, &label);
        out[i] = place < length ? label[place] : -1;
    }
}

/* Returns how often a sample has the label `name`. The labels of a sample are in ascending order. */
static int times(const struct collection *c, int64_t sample, int64_t name)
{
    const int32_t *label;
    int length = collection_labels(c, sample, &label), found = 0;
    for (int i = 0; i < length && label[i] <= name; i++)
        found += label[i] == name;
    return found;
}

static void write_flags(const struct collection_export *e, int64_t first, int64_t count, void *to)
{
    unsigned char *out = to;
    int64_t width = e->c->vocabulary.count;
    for (int64_t i = 0; i < count; i++)
        out[i] = times(e->c, (first + i) / width, (first + i) % width) > 0;
}

static void write_counts(const struct collection_export *e, int64_t first, int64_t count, void *to)
{
    int32_t *out = to;
    int64_t width = e->c->vocabulary.count;
    for (int64_t i = 0; i < count; i++)
        out[i] = times(e->c, (first + i) / width, (first + i) % width);
}

static void write_numbers(const struct collection_export *e, int64_t first, int64_t count, void *to)
{
    memcpy(to, e->c->number + first, (size_t)count * sizeof(float));
}

/* Returns the index of the sample to which an item (a box or a column) belongs. start: [count + 1] index of the first
 * item of each sample. */
static int64_t sample_of(const struct collection *c, const int64_t *start, int64_t item)
{
    int64_t low = 0, high = c->count - 1;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (start[middle + 1] <= item)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Writes elements of the array [boxes][6]: for each box its sample, row0, row1, col0, col1 and symbol. */
static void write_boxes(const struct collection_export *e, int64_t first, int64_t count, void *to)
{
    const struct collection *c = e->c;
    int32_t *out = to;
    int64_t sample = sample_of(c, c->box_start, first / 6);
    for (int64_t i = 0; i < count; i++) {
        int64_t box = (first + i) / 6, field = (first + i) % 6;
        while (c->box_start[sample + 1] <= box)
            sample++;
        out[i] = field == 0 ? (int32_t)sample : field == 5 ? c->box[box][0] : c->box[box][field];
    }
}

static void write_group_numbers(const struct collection_export *e, int64_t first, int64_t count, void *to)
{
    int32_t *out = to;
    for (int64_t i = 0; i < count; i++)
        out[i] = (int32_t)strtol(e->c->groups.name[e->c->group[first + i]], NULL, 10);
}

/* Reads the next character of valid UTF-8. */
static uint32_t code_point(const char **text)
{
    const unsigned char *at = (const unsigned char *)*text;
    int more = at[0] < 0x80 ? 0 : at[0] < 0xE0 ? 1 : at[0] < 0xF0 ? 2 : 3;
    uint32_t point = more > 0 ? at[0] & (0x3Fu >> more) : at[0];
    for (int i = 1; i <= more && at[i]; i++)
        point = point << 6 | (at[i] & 0x3Fu);
    for (int i = 0; i <= more && **text; i++)
        ++*text;
    return point;
}

static int64_t characters(const char *text)
{
    int64_t count = 0;
    for (; *text; count++)
        (void)code_point(&text);
    return count;
}

static void write_text(const char *text, size_t item, uint32_t *out)
{
    memset(out, 0, item);
    for (size_t i = 0; i < item / sizeof *out && *text; i++)
        out[i] = code_point(&text);
}

static void write_groups(const struct collection_export *e, int64_t first, int64_t count, void *to)
{
    size_t item = e->array[e->arrays - 2].item; /* the array before x */
    for (int64_t i = 0; i < count; i++)
        write_text(e->c->groups.name[e->c->group[first + i]], item, (uint32_t *)to + (size_t)i * item / 4);
}

/* ---- x ----------------------------------------------------------------------------------------------------- */

/* Copies the values of a sample, [channels][rows][columns], as [rows][columns][channels]. */
static void write_x(const struct collection_export *e, int64_t first, int64_t count, void *to)
{
    const struct collection *c = e->c;
    float *values = to;
    unsigned char *bytes = to;
    bool plain = !c->values && !c->unit; /* x contains the stored bytes */
    for (int64_t done = 0; done < count;) {
        int64_t column = (first + done) / (c->channels * c->rows), sample = sample_of(c, c->start, column);
        int64_t begin = collection_begin(c, sample);
        int64_t positions = c->rows * collection_length(c, sample), within = first + done - begin;
        int64_t end = begin + positions * c->channels - first;
        int64_t channel = within % c->channels, position = within / c->channels;
        for (end = end < count ? end : count; done < end; done++) {
            int64_t at = begin + channel * positions + position;
            if (plain)
                bytes[done] = c->bytes[at];
            else
                values[done] = collection_value(c, at);
            if (++channel == c->channels) {
                channel = 0;
                position++;
            }
        }
    }
}

/* ---- the plan ---------------------------------------------------------------------------------------------- */

/* Adds an array to the plan of the file. dim: the sizes of the array's dimensions; if the array has fewer than NPY_RANK
 * dimensions, -1 ends the list. */
static struct npz_stream_array *plan(struct collection_export *e, const char *name, const char *type, size_t item,
                                     const int64_t *dim, elements_fn write)
{
    struct npz_stream_array *a = &e->array[e->arrays];
    *a = (struct npz_stream_array){.name = name, .item = item};
    snprintf(a->type, sizeof a->type, "%s", type);
    while (a->rank < NPY_RANK && dim[a->rank] >= 0) {
        a->dim[a->rank] = dim[a->rank];
        a->rank++;
    }
    e->write[e->arrays++] = write;
    return a;
}

static int64_t widest(const struct collection_names *names)
{
    int64_t most = 1;
    for (int i = 0; i < names->count; i++) {
        int64_t now = characters(names->name[i]);
        most = now > most ? now : most;
    }
    return most;
}

static void set_width(struct npz_stream_array *a, int64_t width)
{
    a->item = 4 * (size_t)width;
    snprintf(a->type, sizeof a->type, "<U%d", (int)width);
}

static void plan_texts(struct collection_export *e, const char *name, const struct collection_names *names)
{
    if (names->count == 0)
        return;
    e->texts[e->arrays] = names;
    set_width(plan(e, name, "", 0, (int64_t[]){names->count, -1}, NULL), widest(names));
}

static void state(struct collection_export *e, const char *name, const char *value)
{
    char *text = e->option[e->options.count];
    snprintf(text, STATED_TEXT, "%s=%s", name, value);
    e->option_name[e->options.count++] = text;
    e->options.name = e->option_name;
}

static enum status too_large(const char *what, struct error *err)
{
    return error_set(err, STATUS_CONFLICT, NULL,
                     "the %s of this data set need an array of more than %d numbers, the most that an upload may have",
                     what, NPZ_OTHER_NUMBERS);
}

/* Whether labels are sets or counts, and an array with a column for each name of the vocabulary is not too large. */
static bool fits_columns(const struct collection *c)
{
    bool set = c->target == TARGET_LABELS || c->target == TARGET_COUNT;
    if (!set || c->count * c->vocabulary.count > NPZ_OTHER_NUMBERS)
        return false;
    return c->target == TARGET_LABELS || c->longest <= ARRAY_COUNT_MOST;
}

static void plan_columns(struct collection_export *e, const int64_t *dim)
{
    if (e->c->target == TARGET_LABELS)
        plan(e, "y", "|b1", 1, dim, write_flags);
    else
        plan(e, "y", "<i4", 4, dim, write_counts);
}

static enum status plan_labels(struct collection_export *e, struct error *err)
{
    const struct collection *c = e->c;
    int64_t width = c->target == TARGET_NUMBER || e->columns ? c->vocabulary.count : c->longest;
    if (c->target == TARGET_NONE)
        return STATUS_OK;
    if (c->target == TARGET_POSITIONS) {
        int64_t columns = c->start[c->count];
        if (columns > NPZ_OTHER_NUMBERS)
            return too_large("classes", err);
        plan(e, "positions", "<i4", 4, e->ragged ? (int64_t[]){columns, -1} : (int64_t[]){c->count, c->cols, -1},
             write_classes); /* the labels of all samples form one array without gaps, because every position has a
                                label */
        return STATUS_OK;
    }
    if (c->count * width > NPZ_OTHER_NUMBERS)
        return too_large("labels", err);
    if (c->target == TARGET_NUMBER)
        plan(e, "y", "<f4", 4, (int64_t[]){c->count, width, -1}, write_numbers);
    else if (e->columns)
        plan_columns(e, (int64_t[]){c->count, width, -1});
    else if (c->target == TARGET_CLASS)
        plan(e, "y", "<i4", 4, (int64_t[]){c->count, -1}, write_classes);
    else
        plan(e, "y", "<i4", 4, (int64_t[]){c->count, width, -1}, write_tokens);
    return STATUS_OK;
}

static enum status plan_boxes(struct collection_export *e, struct error *err)
{
    const struct collection *c = e->c;
    if (c->boxes == 0)
        return STATUS_OK;
    bool exact = c->boxes * 6 <= NPZ_OTHER_NUMBERS;
    for (int64_t i = 0; exact && i < c->boxes; i++)
        exact = c->box[i][2] < EXACT && c->box[i][4] < EXACT;
    if (!exact)
        return too_large("boxes", err);
    plan(e, "boxes", "<i4", 4, (int64_t[]){c->boxes, 6, -1}, write_boxes);
    return STATUS_OK;
}

/* Whether all names are integers in the usual decimal form, and below EXACT in size. The file then stores the integers,
 * from which the reader makes the same names again. */
static bool integers(const struct collection_names *names)
{
    for (int i = 0; i < names->count; i++) {
        char again[24];
        long value = strtol(names->name[i], NULL, 10);
        snprintf(again, sizeof again, "%ld", value);
        if (value <= -EXACT || value >= EXACT || strcmp(again, names->name[i]) != 0)
            return false;
    }
    return true;
}

static void plan_group(struct collection_export *e)
{
    const struct collection *c = e->c;
    if (!c->group)
        return;
    bool numbers = integers(&c->groups);
    struct npz_stream_array *a =
        plan(e, "group", "<i4", 4, (int64_t[]){c->count, -1}, numbers ? write_group_numbers : write_groups);
    if (!numbers)
        set_width(a, widest(&c->groups));
}

static void plan_x(struct collection_export *e)
{
    const struct collection *c = e->c;
    bool plain = !c->values && !c->unit;
    const int64_t table[] = {c->count, c->cols, -1}, ragged[] = {c->start[c->count], c->channels, -1},
                  all[] = {c->count, c->rows, c->cols, c->channels};
    plan(e, "x", plain ? "|u1" : "<f4", plain ? 1 : 4,
         c->kind == COLLECTION_TABLE ? table
         : e->ragged                 ? ragged
                                     : all,
         write_x);
}

/* Adds the options that tell the reader what it cannot see in the arrays themselves. */
static void state_options(struct collection_export *e)
{
    const struct collection *c = e->c;
    if (c->target != TARGET_NONE && c->target != TARGET_POSITIONS)
        state(e, "target", collection_targets[c->target]);
    if (c->kind != COLLECTION_TABLE && !e->ragged)
        state(e, "layout", collection_layouts[LAYOUT_LAST]);
    if (c->kind == COLLECTION_RECORDINGS || c->kind == COLLECTION_MOTIFS ||
        (c->kind == COLLECTION_IMAGES && c->rows == 1))
        state(e, "kind", collection_kinds[c->kind]);
    if (c->target != TARGET_NONE && c->target != TARGET_NUMBER && c->target != TARGET_POSITIONS && !e->columns)
        state(e, "y", "index");
    if (c->boxes > 0)
        state(e, "boxes", "index");
    if (c->rna)
        state(e, "alphabet", "rna");
    if (c->profile)
        state(e, "profile", "yes");
}

static enum status damaged(struct error *err)
{
    return error_set(err, STATUS_CORRUPT, NULL, "the stored data set is damaged");
}

static bool names_fit(const struct collection_names *names)
{
    for (int i = 0; i < names->count; i++)
        if (strlen(names->name[i]) >= NPY_TEXT)
            return false;
    return true;
}

/* Whether samples have one row and may differ in length. */
static bool has_lines(const struct collection *c)
{
    return c->rows == 1 && c->kind != COLLECTION_TABLE && c->kind != COLLECTION_IMAGES;
}

/* Checks the properties of a data set on which the functions that write elements rely. collection_file.c does not check
 * them when it opens the stored form. */
static enum status check_form(const struct collection *c, struct error *err)
{
    bool lines = has_lines(c);
    bool good = names_fit(&c->vocabulary) && names_fit(&c->columns) && names_fit(&c->groups) && names_fit(&c->records);
    for (int64_t i = 0; good && i < c->count; i++) {
        good = lines || collection_length(c, i) == c->cols;
        if (c->target == TARGET_CLASS)
            good = good && c->label_start[i + 1] == i + 1;
        if (c->target == TARGET_POSITIONS)
            good = good && c->label_start[i + 1] == c->start[i + 1];
    }
    return good ? STATUS_OK : damaged(err);
}

static enum status check_lengths(struct collection_export *e, struct error *err)
{
    const struct collection *c = e->c;
    bool lines = has_lines(c);
    for (int64_t i = 0; lines && i < c->count; i++) {
        int64_t length = collection_length(c, i);
        e->ragged = e->ragged || length != c->cols || length > NPZ_LINE;
        if (length >= EXACT)
            return error_set(err, STATUS_CONFLICT, NULL,
                             "sample %lld of this data set has %lld positions; an .npz file that can be uploaded again "
                             "may have samples of fewer than %d",
                             (long long)i, (long long)length, EXACT);
    }
    return STATUS_OK;
}

static enum status plan_all(struct collection_export *e, struct error *err)
{
    const struct collection *c = e->c;
    enum status status = check_form(c, err);
    if (status)
        return status;
    status = check_lengths(e, err);
    if (status)
        return status;
    e->columns = fits_columns(c);
    state_options(e);
    plan_texts(e, "options", &e->options);
    if (e->ragged)
        plan(e, "length", "<i4", 4, (int64_t[]){c->count, -1}, write_lengths);
    plan_texts(e, "names", &c->vocabulary);
    plan_texts(e, "columns", &c->columns);
    plan_texts(e, "id", &c->records);
    status = plan_labels(e, err);
    if (!status)
        status = plan_boxes(e, err);
    if (status)
        return status;
    plan_group(e);
    plan_x(e);
    return STATUS_OK;
}

static void elements(void *context, int array, int64_t first, int64_t count, void *to)
{
    const struct collection_export *e = context;
    size_t item = e->array[array].item;
    if (e->write[array])
        e->write[array](e, first, count, to);
    for (int64_t i = 0; !e->write[array] && i < count; i++)
        write_text(e->texts[array]->name[first + i], item, (uint32_t *)to + (size_t)i * item / 4);
}

enum status collection_export_open(const struct collection *c, struct collection_export **file, struct error *err)
{
    struct collection_export *e = *file = calloc(1, sizeof *e);
    if (!e)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for an .npz file");
    e->c = c;
    enum status status = plan_all(e, err);
    const struct npz_stream_source source = {e, elements};
    return status ? status : npz_stream_open(e->array, e->arrays, &source, &e->stream, err);
}

void collection_export_close(struct collection_export *e)
{
    if (e)
        npz_stream_close(e->stream);
    free(e);
}

uint64_t collection_export_bytes(const struct collection_export *e)
{
    return npz_stream_bytes(e->stream);
}

size_t collection_export_read(struct collection_export *e, uint64_t offset, void *to, size_t count)
{
    return npz_stream_read(e->stream, offset, to, count);
}
