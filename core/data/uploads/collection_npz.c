/* Reads NumPy's files. Members of an .npz, with other names that are accepted:
 *
 *   x          (X, data, images, inputs) [n][cols]: a table; [n][rows][cols]: images; [n][rows][cols][channels];
 *              with rows == 1: sequences
 *   y          (labels, targets) [n] integers, or text whose words make a sequence; [n][longest] integers (negative: no
 *              token) or text (empty: no token); [n][labels] booleans: the labels that a sample has
 *   positions  [n][cols] integers, instead of y: a class at every position (negative: unknown)
 *   boxes      [m][6]: sample, row0, row1, col0, col1, symbol; an array of text if the labels are text
 *   group      [n] integers or text, for splits
 *   columns    [cols] text: names of a table's columns
 *
 * An .npy file is x alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/archive.h"
#include "core/data/uploads/collection_int.h"
#include "core/formats/npy.h"

enum { SIDE = 4096, LINE = 1 << 20, MEMBERS = 64 };
enum member { MEMBER_X, MEMBER_Y, MEMBER_POSITIONS, MEMBER_BOXES, MEMBER_GROUP, MEMBER_COLUMNS, MEMBER_COUNT };
static const char *const member_names[] = {"x", "y", "positions", "boxes", "group", "columns"};

struct arrays {
    struct npy member[MEMBER_COUNT];
    bool there[MEMBER_COUNT];
};

static int member_of(const char *name)
{
    static const struct {
        const char *name;
        enum member member;
    } names[] = {
        {"x", MEMBER_X},         {"X", MEMBER_X},         {"data", MEMBER_X},          {"images", MEMBER_X},
        {"inputs", MEMBER_X},    {"y", MEMBER_Y},         {"labels", MEMBER_Y},        {"targets", MEMBER_Y},
        {"boxes", MEMBER_BOXES}, {"group", MEMBER_GROUP}, {"columns", MEMBER_COLUMNS}, {"positions", MEMBER_POSITIONS}};
    size_t length = strlen(name);
    if (length < 4 || strcmp(name + length - 4, ".npy") != 0)
        return -1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i].name) == length - 4 && strncmp(names[i].name, name, length - 4) == 0)
            return (int)names[i].member;
    return -1;
}

static enum status member_fault(const char *member, const char *what, struct error *err)
{
    return error_set(err, STATUS_INVALID, NULL, "member '%s' %s", member, what);
}

static enum status read_member(struct arrays *a, const char *name, const struct byte_source *bytes, int64_t most,
                               struct error *err)
{
    struct error cause = {0};
    int member = member_of(name);
    if (member < 0)
        return error_set(
            err, STATUS_INVALID, NULL,
            "member '%.80s' is not allowed; an .npz may contain x, y, positions, boxes, group and columns (.npy)",
            name);
    if (a->there[member])
        return member_fault(name, "repeats an array that another member already contains; keep one of them", err);
    enum status status = npy_read_from(bytes, (size_t)most, &a->member[member], &cause);
    a->there[member] = !status;
    return status ? error_set(err, status, NULL, "member '%.80s': %s", name, cause.message) : STATUS_OK;
}

/* ---- samples ----------------------------------------------------------------------------------------------- */

static enum status take_shape(const struct npy *x, const struct collection_options *options, struct collection *c,
                              int64_t *cols, struct error *err)
{
    bool first = options->channels_first;
    int64_t rows = x->rank > 2 ? x->dim[first && x->rank == 4 ? 2 : 1] : 1;
    int64_t channels = x->rank == 4 ? x->dim[first ? 1 : 3] : 1;
    *cols = x->rank >= 2 ? x->dim[x->rank == 4 && !first ? 2 : x->rank - 1] : 0;
    if (x->texts || x->rank < 2)
        return member_fault("x", "must be numbers in 2, 3 or 4 dimensions, samples first", err);
    if (rows < 1 || rows > SIDE || channels < 1 || channels > SIDE || *cols < 1 || *cols > (rows > 1 ? SIDE : LINE))
        return error_set(
            err, STATUS_INVALID, NULL,
            "member 'x' has samples of %lld rows, %lld columns and %lld channels; each must be from 1 to %d",
            (long long)rows, (long long)*cols, (long long)channels, SIDE);
    c->kind = x->rank == 2 ? COLLECTION_TABLE : rows > 1 ? COLLECTION_IMAGES : COLLECTION_SEQUENCES;
    c->rows = (int)rows;
    c->channels = (int)channels;
    return STATUS_OK;
}

static void take_values(const struct npy *x, bool first, int64_t sample, int channels, int64_t positions, float *to)
{
    const float *from = x->values + sample * channels * positions;
    for (int64_t p = 0; p < positions; p++)
        for (int k = 0; k < channels; k++)
            to[k * positions + p] = first ? from[k * positions + p] : from[p * channels + k];
}

/* ---- labels ------------------------------------------------------------------------------------------------ */

/* Writes an element as a name: text unchanged, an integer in decimal. False: it is a number but not an integer. */
static bool name_at(const struct npy *array, size_t at, char out[NPY_TEXT])
{
    if (array->texts) {
        snprintf(out, NPY_TEXT, "%s", array->texts[at]);
        return true;
    }
    snprintf(out, NPY_TEXT, "%.0f", (double)array->values[at]);
    return array->values[at] == rintf(array->values[at]) && fabsf(array->values[at]) < 16777216;
}

static enum status take_label(struct builder *b, const struct npy *y, int64_t sample, struct error *err)
{
    char name[NPY_TEXT];
    size_t width = y->rank == 2 ? (size_t)y->dim[1] : 1, first = (size_t)sample * width;
    enum status status = STATUS_OK;
    if (y->texts && y->rank == 1)
        return builder_words(b, y->texts[sample], err);
    for (size_t i = 0; !status && i < width; i++) {
        bool set = y->element == NPY_BOOL && y->rank == 2;
        if (set ? y->values[first + i] == 0
                : y->rank == 2 && (y->texts ? y->texts[first + i][0] == '\0' : y->values[first + i] < 0))
            continue;
        if (!set && !name_at(y, first + i, name))
            return error_set(err, STATUS_INVALID, NULL,
                             "member 'y': the label of sample %lld is not an integer; use integers or text",
                             (long long)sample);
        if (set)
            snprintf(name, sizeof name, "%zu", i);
        status = builder_token(b, name, strlen(name), err);
    }
    return status;
}

static enum status take_positions(struct builder *b, const struct npy *p, int64_t sample, struct error *err)
{
    char name[NPY_TEXT];
    enum status status = STATUS_OK;
    for (size_t i = (size_t)(sample * p->dim[1]); !status && i < (size_t)((sample + 1) * p->dim[1]); i++) {
        bool good = name_at(p, i, name);
        if (!good)
            return error_set(err, STATUS_INVALID, NULL,
                             "member 'positions': a class of sample %lld is not an integer; use integers or text",
                             (long long)sample);
        status = !p->texts && p->values[i] < 0 ? builder_number(b, -1, err) : builder_token(b, name, strlen(name), err);
    }
    return status;
}

static enum status take_boxes(struct builder *b, const struct npy *boxes, struct error *err)
{
    if (boxes->rank != 2 || boxes->dim[1] != 6)
        return member_fault("boxes", "must be [m][6]: sample, row0, row1, col0, col1, symbol", err);
    for (int64_t i = 0; i < boxes->dim[0]; i++) {
        char text[6][NPY_TEXT];
        int32_t number[5];
        for (int j = 0; j < 6; j++) {
            bool good = name_at(boxes, (size_t)(6 * i + j), text[j]);
            char *end = text[j];
            long value = good && j < 5 ? strtol(text[j], &end, 10) : 0;
            if (!good || (j < 5 && (end == text[j] || *end != '\0' || value < 0 || value > LINE * 64L)))
                return error_set(err, STATUS_INVALID, NULL,
                                 "member 'boxes', row %lld: field %d is not a whole number from 0 to 67108864",
                                 (long long)i, j);
            if (j < 5)
                number[j] = (int32_t)value;
        }
        if (number[0] >= b->c->count)
            return error_set(err, STATUS_INVALID, NULL, "member 'boxes', row %lld: there is no sample %d", (long long)i,
                             number[0]);
        enum status status = builder_box(b, number[0], number + 1, text[5], err);
        if (status)
            return status;
    }
    return STATUS_OK;
}

static enum status take_columns(struct collection *c, const struct npy *names, int64_t cols, struct error *err)
{
    if (names && (!names->texts || names->rank != 1 || names->dim[0] != cols))
        return member_fault("columns", "must be text with one name for each column of x", err);
    c->columns.name = calloc((size_t)cols, sizeof(char *));
    for (int64_t i = 0; c->columns.name && i < cols; i++) {
        char made[24];
        snprintf(made, sizeof made, "c%lld", (long long)i);
        if (!(c->columns.name[i] = strdup(names ? names->texts[i] : made)))
            break;
        c->columns.count++;
    }
    return c->columns.count == cols ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for names");
}

/* Checks that every member fits the number of samples and the kind of data. */
static enum status check_arrays(const struct arrays *a, const struct collection *c, int64_t cols, struct error *err)
{
    int64_t count = a->member[MEMBER_X].dim[0];
    for (int m = MEMBER_Y; m <= MEMBER_GROUP; m++) {
        const struct npy *array = &a->member[m];
        if (m == MEMBER_BOXES || !a->there[m])
            continue;
        if (array->rank < 1 || array->rank > 2 || array->dim[0] != count)
            return error_set(err, STATUS_INVALID, NULL, "member '%s' must have one entry for each of the %lld samples",
                             member_names[m], (long long)count);
    }
    if (a->there[MEMBER_GROUP] && a->member[MEMBER_GROUP].rank != 1)
        return member_fault("group", "must have one dimension, one entry for each sample", err);
    if (a->there[MEMBER_POSITIONS] &&
        (a->there[MEMBER_Y] || c->kind != COLLECTION_SEQUENCES || a->member[MEMBER_POSITIONS].rank != 2 ||
         a->member[MEMBER_POSITIONS].dim[1] != cols))
        return member_fault("positions",
                            "requires samples of one row ([n][1][cols]), one class for each column, and no y", err);
    if (a->there[MEMBER_BOXES] && !a->there[MEMBER_Y])
        return member_fault("boxes", "requires labels in member y", err);
    return STATUS_OK;
}

static enum status take_sample(struct builder *b, const struct arrays *a, const struct collection_options *options,
                               int64_t sample, int64_t cols, struct error *err)
{
    struct collection *c = b->c;
    float *values;
    char name[NPY_TEXT];
    enum status status = builder_sample(b, cols, &values, err);
    if (!status)
        take_values(&a->member[MEMBER_X], options->channels_first, sample, c->channels, c->rows * cols, values);
    if (!status && a->there[MEMBER_Y])
        status = take_label(b, &a->member[MEMBER_Y], sample, err);
    if (!status && a->there[MEMBER_POSITIONS])
        status = take_positions(b, &a->member[MEMBER_POSITIONS], sample, err);
    if (!status && a->there[MEMBER_GROUP])
        status = name_at(&a->member[MEMBER_GROUP], (size_t)sample, name)
                     ? builder_group(b, name, err)
                     : member_fault("group", "must contain integers or text", err);
    return status;
}

static enum status assemble(const struct arrays *a, const struct collection_options *options,
                            const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct builder b;
    int64_t cols = 0;
    const struct npy *x = &a->member[MEMBER_X], *y = &a->member[MEMBER_Y];
    builder_init(&b, c, limits);
    enum status status = take_shape(x, options, c, &cols, err);
    if (!status)
        status = check_arrays(a, c, cols, err);
    if (a->there[MEMBER_POSITIONS])
        c->target = TARGET_POSITIONS;
    if (!status && c->kind == COLLECTION_TABLE)
        status = take_columns(c, a->there[MEMBER_COLUMNS] ? &a->member[MEMBER_COLUMNS] : NULL, cols, err);
    else if (!status && a->there[MEMBER_COLUMNS])
        status = member_fault("columns", "is allowed for tables only (x of [n][cols])", err);
    for (int64_t i = 0; !status && i < x->dim[0]; i++)
        status = take_sample(&b, a, options, i, cols, err);
    if (!status && a->there[MEMBER_BOXES])
        status = take_boxes(&b, &a->member[MEMBER_BOXES], err);
    if (!status)
        status = builder_finish(&b, a->there[MEMBER_Y] && y->element == NPY_BOOL && y->rank == 2, err);
    builder_close(&b);
    return status;
}

static enum status read_npz(const struct byte_source *from, const struct collection_options *options,
                            const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct arrays a = {0};
    struct archive_reader *archive = NULL;
    struct archive_limits bounds = {MEMBERS, limits->numbers * 8 + (1 << 20)};
    bool more = true;
    enum status status = archive_reader_create(ARCHIVE_ZIP, from, &bounds, &archive, err);
    while (!status) {
        const char *name;
        struct byte_source bytes;
        status = archive_reader_next(archive, &name, &bytes, &more, err);
        if (status || !more)
            break;
        status = read_member(&a, name, &bytes, limits->numbers, err);
    }
    archive_reader_destroy(archive);
    if (!status && !a.there[MEMBER_X])
        status = error_set(err, STATUS_INVALID, NULL, "there is no member 'x.npy', which holds the samples");
    if (!status)
        status = assemble(&a, options, limits, c, err);
    for (int i = 0; i < MEMBER_COUNT; i++)
        npy_close(&a.member[i]);
    return status;
}

static enum status read_npy(const struct byte_source *from, const struct collection_options *options,
                            const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct arrays a = {.there = {true}};
    enum status status = npy_read_from(from, (size_t)limits->numbers, &a.member[MEMBER_X], err);
    if (!status)
        status = assemble(&a, options, limits, c, err);
    npy_close(&a.member[MEMBER_X]);
    return status;
}

const struct collection_format npz_format = {"npz", "application/x-npz", read_npz};
const struct collection_format npy_format = {"npy", "application/x-npy", read_npy};
