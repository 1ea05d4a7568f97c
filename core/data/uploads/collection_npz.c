/* Reads NumPy's files. An .npz has these members in any order (in brackets: other names that are accepted;
 * docs/reference/files.md describes the forms of each):
 *
 *   x          (X, data, images, inputs) the samples
 *   y          (labels, targets) the labels, or numbers
 *   names      names of the columns of a y that has one column for each label
 *   positions  instead of y: a class at every position
 *   boxes      where symbols are
 *   group      the group of each sample, for splits
 *   part       train, validation or test for each sample
 *   columns    names of the columns of a table, or of the points of signals
 *   id         (ids) an id for each sample
 *   length     the length of each sample, if they differ; x then contains the positions of all samples
 *   options    what the file states about itself (collection_arrays.h)
 *
 * An .npy file contains only x. A safetensors file has tensors of these names in any order; if no tensor is called x
 * and exactly one tensor has none of these names, that tensor is x. An archive can contain several files
 * (collection_tar.c).
 *
 * The reader passes the values of x on to the collection while they arrive, so that memory does not grow with them. If
 * `options` or `length` may follow, the bytes of x wait in the store of the values until the end of the file. The other
 * arrays stay in memory. The reader has x in memory as a whole only if it is in column-major order. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/archive.h"
#include "core/data/uploads/collection_arrays.h"
#include "core/data/uploads/collection_npz.h"
#include "core/data/uploads/labels/builder_finish.h"
#include "core/formats/json/tensors.h"

enum { SIDE = 4096, MEMBERS = 64, SAMPLE_NUMBERS = 1 << 26 };

static int npz_member(const char *name, size_t bytes)
{
    static const struct {
        const char *name;
        enum array_member member;
    } names[] = {{"x", MEMBER_X},
                 {"X", MEMBER_X},
                 {"data", MEMBER_X},
                 {"images", MEMBER_X},
                 {"inputs", MEMBER_X},
                 {"y", MEMBER_Y},
                 {"labels", MEMBER_Y},
                 {"targets", MEMBER_Y},
                 {"boxes", MEMBER_BOXES},
                 {"group", MEMBER_GROUP},
                 {"part", MEMBER_PART},
                 {"columns", MEMBER_COLUMNS},
                 {"positions", MEMBER_POSITIONS},
                 {"names", MEMBER_NAMES},
                 {"id", MEMBER_ID},
                 {"ids", MEMBER_ID},
                 {"length", MEMBER_LENGTH},
                 {"options", MEMBER_OPTIONS}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i].name) == bytes && strncmp(names[i].name, name, bytes) == 0)
            return (int)names[i].member;
    return -1;
}

/* Returns which array a member of an .npz is; -1: none. */
static int member_of(const char *name)
{
    size_t length = strlen(name);
    return length >= 4 && strcmp(name + length - 4, ".npy") == 0 ? npz_member(name, length - 4) : -1;
}

/* ---- samples ----------------------------------------------------------------------------------------------- */

/* Whether a shape looks like [n][channels][rows][cols]: a colour picture, a square picture of one channel, or a
 * sequence of any number of channels ([n][channels][1][cols]). The shape [n][1][cols][channels] does not count, because
 * it is a sequence with channels last. */
static bool looks_first(const struct npy_header *x)
{
    int64_t second = x->dim[1], third = x->dim[2], last = x->dim[3];
    if (x->rank != 4)
        return false;
    bool colours = (second == 3 || second == 4) && third > 4 && last > 4;
    bool square = second == 1 && third > 4 && third == last;
    bool sequence = third == 1 && last > 4;
    return colours || square || sequence;
}

/* Warns about arrays of three dimensions whose shape suggests signals of several channels. */
static enum status warn_of_thin_pictures(struct collection *c, int64_t rows, int64_t cols, struct error *err)
{
    /* the conditions of the warning: at most THIN rows, and at least LONG times as many columns */
    enum { THIN = 16, LONG = 8 };
    if (rows <= THIN && cols >= LONG * rows)
        return collection_warn(
            c, err, "thin-pictures",
            "x of [n][%lld][%lld] was read as pictures of %lld rows; with layout=signals it is read as "
            "signals of %lld channels",
            (long long)rows, (long long)cols, (long long)rows, (long long)rows);
    if (cols <= THIN && rows >= LONG * cols)
        return collection_warn(
            c, err, "thin-pictures",
            "x of [n][%lld][%lld] was read as pictures of %lld columns; if these are signals of %lld "
            "channels, upload them as [n][%lld][%lld] with layout=signals",
            (long long)rows, (long long)cols, (long long)cols, (long long)cols, (long long)cols, (long long)rows);
    return STATUS_OK;
}

/* Sets the kind and the sizes of the collection from the shape of x. */
static enum status take_shape(const struct npy_header *x, enum collection_layout layout, struct collection *c,
                              int64_t *cols, struct error *err)
{
    bool signals = layout == LAYOUT_SIGNALS;
    bool first = signals || layout == LAYOUT_FIRST || (layout == LAYOUT_AUTO && looks_first(x));
    int64_t rows = x->rank > 2 && !signals ? x->dim[first && x->rank == 4 ? 2 : 1] : 1;
    int64_t channels = x->rank == 4 ? x->dim[first ? 1 : 3] : x->rank == 3 && signals ? x->dim[1] : 1;
    *cols = x->rank >= 2 ? x->dim[x->rank == 4 && !first ? 2 : x->rank - 1] : 0;
    if (x->element >= NPY_BYTES || x->rank < 2)
        return array_fault("x", "must be numbers in 2, 3 or 4 dimensions, samples first", err);
    if (!signals && layout != LAYOUT_AUTO && x->rank < 4)
        return error_set(
            err, STATUS_INVALID, NULL, "layout=%s is for x in four dimensions, but x has %d; leave it out%s",
            collection_layouts[layout], x->rank, x->rank == 3 ? ", or use layout=signals for [n][channels][cols]" : "");
    if (signals && x->rank == 4)
        return array_fault("x", "must be [n][cols] or [n][channels][cols] with layout=signals", err);
    if (rows < 1 || rows > SIDE || channels < 1 || channels > SIDE || *cols < 1 || *cols > (rows > 1 ? SIDE : NPZ_LINE))
        return error_set(
            err, STATUS_INVALID, NULL,
            "member 'x' has samples of %lld rows, %lld columns and %lld channels; each must be from 1 to %d",
            (long long)rows, (long long)*cols, (long long)channels, SIDE);
    c->kind = x->rank == 2 && !signals ? COLLECTION_TABLE : rows > 1 ? COLLECTION_IMAGES : COLLECTION_SEQUENCES;
    c->rows = (int)rows;
    c->channels = (int)channels;
    c->channels_first = first;
    if (layout == LAYOUT_AUTO && x->rank == 3 && rows > 1)
        return warn_of_thin_pictures(c, rows, *cols, err);
    if (!first || layout != LAYOUT_AUTO)
        return STATUS_OK;
    return collection_warn(c, err, "channels-first",
                           "x of [%lld][%lld][%lld][%lld] was read as [n][channels][rows][cols]; with "
                           "layout=channels-last it is read as [n][rows][cols][channels]",
                           (long long)x->dim[0], (long long)x->dim[1], (long long)x->dim[2], (long long)x->dim[3]);
}

/* Takes the sizes from the shape of x and the array `length`. */
static enum status take_lengths(const struct npz *n, const struct npy_header *x, struct collection *c, int64_t *cols,
                                struct error *err)
{
    const struct npy *lengths = &n->arrays.member[MEMBER_LENGTH];
    int64_t sum = 0, channels = x->rank == 2 ? x->dim[1] : 0;
    if (n->layout != LAYOUT_AUTO || x->fortran || x->element >= NPY_BYTES || channels < 1 || channels > SIDE)
        return error_set(err, STATUS_INVALID, NULL,
                         "member 'x' must be numbers of [sum of length][channels] in row-major order, with 1 to %d "
                         "channels, because the file has a member 'length'; leave layout out",
                         SIDE);
    *cols = 1;
    for (size_t i = 0; lengths->values && i < lengths->count; i++) {
        float length = lengths->values[i];
        if (!(length >= 1 && length < 16777216) || length != rintf(length))
            return array_fault("length", "must be whole numbers from 1 to 16777215", err);
        *cols = (int64_t)length > *cols ? (int64_t)length : *cols;
        sum += (int64_t)length;
    }
    if (!lengths->values || lengths->rank != 1 || sum != x->dim[0])
        return error_set(err, STATUS_INVALID, NULL,
                         "member 'length' must have one dimension and a sum of %lld, the size of the first dimension "
                         "of x",
                         (long long)x->dim[0]);
    c->kind = COLLECTION_SEQUENCES;
    c->rows = 1;
    c->channels = (int)channels;
    c->channels_first = false;
    return STATUS_OK;
}

/* Sets the kind and the sizes of the samples: from the shape of x, and from the array `length` if the file has it. Then
 * applies what the file states about itself. */
static enum status take_sizes(const struct npz *n, const struct npy_header *x, struct collection *c, int64_t *cols,
                              struct error *err)
{
    enum status status =
        n->arrays.there[MEMBER_LENGTH] ? take_lengths(n, x, c, cols, err) : take_shape(x, n->layout, c, cols, err);
    return status ? status : stated_apply(&n->arrays.stated, c, err);
}

/* Checks that a further file has samples like those of the first one. */
static enum status same_shape(struct npz *n, const struct npy_header *x, int64_t *cols, struct error *err)
{
    struct collection *c = n->b->c, other = {0};
    bool ragged = n->arrays.there[MEMBER_LENGTH];
    enum status status = take_sizes(n, x, &other, cols, err);
    free(other.warning);
    if (status)
        return status;
    if (other.kind != c->kind || other.channels != c->channels || other.rows != c->rows ||
        (*cols != n->cols && !ragged))
        return error_set(err, STATUS_INVALID, NULL,
                         "has samples of %d x %d x %lld, but the first file has %d x %d x %lld; all must be alike",
                         other.channels, other.rows, (long long)*cols, c->channels, c->rows, (long long)n->cols);
    return STATUS_OK;
}

/* Moves the channels of a sample from the last axis to the first. item: bytes of a value. */
static void channels_to_front(const unsigned char *from, int channels, int64_t positions, size_t item,
                              unsigned char *to)
{
    for (int64_t p = 0; p < positions; p++)
        for (int k = 0; k < channels; k++)
            memcpy(to + (size_t)(k * positions + p) * item, from + (size_t)(p * channels + k) * item, item);
}

/* Reads one sample from the file in the order of the file: as bytes if the elements are bytes, otherwise as floats.
 * begin: index of its first value in x. */
static enum status read_sample(struct npz *n, const struct byte_source *from, const struct npy_header *h, int64_t begin,
                               int64_t count, struct error *err)
{
    if (h->item == 1 && h->element != NPY_SIGNED)
        return byte_source_exactly(from, n->sample, (size_t)count, "the data of the .npy array", err);
    return npy_values_read(from, h, (size_t)begin, (size_t)count, (float *)(void *)n->sample, &n->rounded, err);
}

/* Adds the sample in n->sample to the collection, with channels first. */
static enum status add_sample(struct npz *n, int64_t cols, bool bytes, struct error *err)
{
    struct collection *c = n->b->c;
    int64_t positions = c->rows * cols, count = positions * c->channels;
    unsigned char *planes = n->sample;
    float *values;
    if (!c->channels_first && c->channels > 1) {
        planes = n->sample + (size_t)count * sizeof *values;
        channels_to_front(n->sample, c->channels, positions, bytes ? 1 : sizeof *values, planes);
    }
    if (bytes)
        return builder_bytes(n->b, cols, planes, err);
    enum status status = builder_sample(n->b, cols, &values, err);
    if (!status)
        memcpy(values, planes, (size_t)count * sizeof *values);
    return status;
}

/* Adds the samples of an array that is in memory. */
static enum status take_array(struct npz *n, const struct npy *x, struct error *err)
{
    int64_t count = x->dim[0] > 0 ? (int64_t)x->count / x->dim[0] : 0;
    enum status status = STATUS_OK;
    for (int64_t i = 0; !status && i < x->dim[0]; i++) {
        memcpy(n->sample, x->values + i * count, (size_t)count * sizeof *x->values);
        status = add_sample(n, n->cols, false, err);
    }
    return status;
}

/* Reads the samples of x one after another. */
static enum status read_each(struct npz *n, const struct byte_source *from, const struct npy_header *h,
                             struct error *err)
{
    const struct npy *lengths = n->arrays.there[MEMBER_LENGTH] ? &n->arrays.member[MEMBER_LENGTH] : NULL;
    int64_t samples = lengths ? lengths->dim[0] : h->dim[0], scale = n->b->c->rows * n->b->c->channels, begin = 0;
    enum status status = STATUS_OK;
    for (int64_t i = 0; !status && i < samples; i++) {
        int64_t cols = lengths ? (int64_t)lengths->values[i] : n->cols;
        status = read_sample(n, from, h, begin, cols * scale, err);
        if (!status)
            status = add_sample(n, cols, h->item == 1 && h->element != NPY_SIGNED, err);
        begin += cols * scale;
    }
    return status ? status : byte_source_end(from, "the .npy array", err);
}

static enum status read_samples(struct npz *n, const struct byte_source *from, const struct npy_header *h,
                                struct error *err)
{
    struct collection *c = n->b->c;
    int64_t count = c->rows * n->cols * c->channels;
    if (count > SAMPLE_NUMBERS)
        return error_set(err, STATUS_LIMIT, NULL, "has samples of %lld numbers; at most %d are allowed",
                         (long long)count, SAMPLE_NUMBERS);
    n->sample = malloc((size_t)count * 2 * sizeof(float));
    if (!n->sample)
        return error_memory(err, "a sample");
    enum status status = STATUS_OK;
    if (h->fortran) {
        struct npy x;
        status = npy_body_read(from, h, NPZ_OTHER_NUMBERS, &x, err);
        if (!status)
            status = take_array(n, &x, err);
        n->rounded = x.rounded;
        npy_close(&x);
    } else {
        status = read_each(n, from, h, err);
    }
    rounded_join(&n->b->rounded, &n->rounded, "x");
    n->rounded = (struct rounded){0};
    free(n->sample);
    n->sample = NULL;
    return status;
}

/* Notes whether the layout that the user has chosen is the one that the reader would have used. */
static void note_layout(struct npz *n, const struct npy_header *x)
{
    enum collection_layout chosen = n->options->layout, usual = n->arrays.stated.layout;
    if (usual == LAYOUT_AUTO && x->rank == 4)
        usual = looks_first(x) ? LAYOUT_FIRST : LAYOUT_LAST;
    if (chosen != LAYOUT_AUTO && chosen == usual)
        n->b->c->implied |= OPTION_LAYOUT;
}

/* Reads x while it arrives. */
static enum status read_x(struct npz *n, const struct npy_header *h, const struct byte_source *from, struct error *err)
{
    int64_t cols = 0;
    enum status status = n->files == 0 ? take_sizes(n, h, n->b->c, &cols, err) : same_shape(n, h, &cols, err);
    n->cols = cols;
    if (!status && n->files == 0)
        note_layout(n, h);
    return status ? status : read_samples(n, from, h, err);
}

/* Takes what the file states about itself. Options of the request have precedence. */
static enum status take_stated(struct npz *n, struct error *err)
{
    struct arrays *a = &n->arrays;
    struct stated before = a->stated;
    enum status status = stated_read(&a->member[MEMBER_OPTIONS], &a->stated, err);
    if (status)
        return status;
    if (n->files > 0 && !stated_same(&before, &a->stated))
        return error_set(err, STATUS_INVALID, NULL, "differs from that of the first file");
    n->b->usual = a->stated.target;
    n->b->wanted = n->options->target != TARGET_NONE ? n->options->target : a->stated.target;
    n->layout = n->options->layout != LAYOUT_AUTO ? n->options->layout : a->stated.layout;
    return STATUS_OK;
}

/* Whether x can be read at once: the file has stated its options, and its shape allows no array `length`, or that array
 * is there; or it cannot be read at all. NumPy writes members in the order in which the user names them. */
static bool ready_for(const struct npz *n, const struct npy_header *x)
{
    const bool *there = n->arrays.there;
    return n->complete || x->element >= NPY_BYTES || (there[MEMBER_OPTIONS] && (there[MEMBER_LENGTH] || x->rank != 2));
}

/* Keeps the bytes of x until the other members of its file were read. */
static enum status keep_x(struct npz *n, const char *name, const struct npy_header *h, const struct byte_source *from,
                          struct error *err)
{
    int64_t count = 1;
    for (int d = 0; d < h->rank; d++)
        count = count > 0 && h->dim[d] > n->b->limits.bytes / count ? INT64_MAX : count * h->dim[d];
    (void)snprintf(n->late, sizeof n->late, "%s", name);
    n->x = *h;
    return value_store_spool(&n->b->store, from, count, h->item, err);
}

static enum status read_array(struct npz *n, int member, const char *name, const struct npy_header *h,
                              const struct byte_source *from, struct error *err)
{
    struct arrays *a = &n->arrays;
    if (member == MEMBER_X)
        return ready_for(n, h) ? read_x(n, h, from, err) : keep_x(n, name, h, from, err);
    if (member == MEMBER_ID)
        return id_list_read(&n->ids, from, h, n->b->limits.samples, err);
    if (member == MEMBER_LENGTH && a->there[MEMBER_X] && n->late[0] == '\0')
        return error_set(err, STATUS_INVALID, NULL, "needs x in two dimensions, [sum of lengths][channels]");
    struct npy_header header = *h;
    header.nan = member == MEMBER_Y && n->options->missing == MISSING_DROP; /* a sample without a label */
    enum status status = npy_body_read(from, &header, NPZ_OTHER_NUMBERS, &a->member[member], err);
    return status || member != MEMBER_OPTIONS ? status : take_stated(n, err);
}

static enum status npz_array(struct npz *n, int member, const char *name, const struct npy_header *h,
                             const struct byte_source *from, struct error *err)
{
    struct error cause = {0};
    struct arrays *a = &n->arrays;
    if (member < 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "member '%.80s' is not allowed; a file may contain x, y, names, positions, boxes, group, "
                         "part, columns, id, length and options",
                         name);
    if (a->there[member])
        return array_fault(name, "repeats an array that another member already contains; keep one of them", err);
    enum status status = read_array(n, member, name, h, from, &cause);
    a->there[member] = !status;
    return status ? error_set(err, status, NULL, "member '%.80s': %s", name, cause.message) : STATUS_OK;
}

static enum status read_member(void *context, const char *name, const struct byte_source *bytes, struct error *err)
{
    struct npz *n = context;
    struct npy_header h = {0};
    struct error cause = {0};
    int member = member_of(name);
    if (archive_of_system(name))
        return STATUS_OK;
    enum status status = member < 0 ? STATUS_OK : npy_header_read(bytes, &h, &cause);
    return status ? error_set(err, status, NULL, "member '%.80s': %s", name, cause.message)
                  : npz_array(n, member, name, &h, bytes, err);
}

/* ---- the collection ----------------------------------------------------------------------------------------- */

static enum status take_columns(struct collection *c, const struct npy *names, int64_t cols, struct error *err)
{
    if (names && (!names->texts || names->rank != 1 || names->dim[0] != cols))
        return array_fault("columns", "must be text with one name for each column of x", err);
    enum status status = STATUS_OK;
    for (int64_t i = 0; !status && i < cols; i++) {
        char made[24];
        snprintf(made, sizeof made, "c%lld", (long long)i);
        status = collection_names_add(&c->columns, names ? names->texts[i] : made, err);
    }
    return status;
}

/* Whether a further file names a table's columns as the first one did. */
static bool same_columns(const struct collection *c, const struct npy *names)
{
    if (!names->texts || names->count != (size_t)c->columns.count)
        return false;
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->texts[i], c->columns.name[i]) != 0)
            return false;
    return true;
}

static enum status name_columns(struct npz *n, struct error *err)
{
    struct collection *c = n->b->c;
    const struct npy *names = n->arrays.there[MEMBER_COLUMNS] ? &n->arrays.member[MEMBER_COLUMNS] : NULL;
    bool signals = c->kind == COLLECTION_SEQUENCES && c->channels == 1 && !n->arrays.there[MEMBER_LENGTH];
    if (c->kind != COLLECTION_TABLE && !(names && signals))
        return names ? array_fault("columns", "is allowed only for tables (x of [n][cols]) and signals of one channel",
                                   err)
                     : STATUS_OK;
    if (n->files == 0)
        return take_columns(c, names, n->cols, err);
    return !names || same_columns(c, names) ? STATUS_OK
                                            : array_fault("columns", "differs from that of the first file", err);
}

/* Uses the names of the classes at positions as the vocabulary, without sorting them. All further files must have the
 * same names. */
static enum status name_classes(struct npz *n, const struct npy *names, struct error *err)
{
    struct collection_names *have = &n->b->c->vocabulary;
    enum status status = STATUS_OK;
    for (size_t i = 0; n->files == 0 && !status && i < names->count; i++) {
        int32_t number;
        status = name_list_add(&n->b->vocabulary, names->texts[i], strlen(names->texts[i]), &number, err);
        if (!status && number != (int32_t)i)
            return array_fault("names", "contains a name twice", err);
        if (!status)
            status = builder_value_name(n->b, names->texts[i], err);
    }
    bool same = (size_t)have->count == names->count;
    for (size_t i = 0; !status && same && i < names->count; i++)
        same = strcmp(have->name[i], names->texts[i]) == 0;
    return status || same ? status : array_fault("names", "differs from that of the first file", err);
}

/* Adds the labels and boxes of the samples from `first` on, after all members of a file were read. */
static enum status take_labels(struct npz *n, int64_t first, struct error *err)
{
    struct collection *c = n->b->c;
    const struct arrays *a = &n->arrays;
    enum array_use use = USE_NONE;
    if (c->count == 0)
        return error_set(err, STATUS_INVALID, NULL, "there are no samples; the file needs at least one");
    enum status status = arrays_check(a, c, n->b->wanted, c->count - first, n->cols, err);
    if (status)
        return status;
    if (a->there[MEMBER_POSITIONS])
        c->target = TARGET_POSITIONS;
    if (n->arrays.there[MEMBER_LENGTH] && n->arrays.member[MEMBER_LENGTH].dim[0] != c->count - first)
        return array_fault("length", "must have one entry for each sample", err);
    status = name_columns(n, err);
    if (status)
        return status;
    status = array_labels_use(n->b, a, &use, err);
    if (status)
        return status;
    if (n->files > 0 && use != n->use)
        return array_fault("y", "has labels of another kind than those of the first file; state the target", err);
    n->use = use;
    if (use == USE_NUMBERS)
        rounded_join(&n->b->rounded, &a->member[MEMBER_Y].rounded, "y");
    if (a->there[MEMBER_POSITIONS] && a->there[MEMBER_NAMES])
        status = name_classes(n, &a->member[MEMBER_NAMES], err);
    for (int64_t i = first; !status && i < c->count; i++) {
        builder_turn_to(n->b, i);
        status = array_labels_take(n->b, a, use, i - first, err);
    }
    if (status || !a->there[MEMBER_BOXES])
        return status;
    return array_boxes_take(n->b, a, first, err);
}

void npz_open(struct npz *n, struct builder *b, const struct collection_options *options)
{
    *n = (struct npz){.b = b, .options = options, .layout = options->layout};
}

static void close_arrays(struct npz *n)
{
    for (int i = 0; i < MEMBER_COUNT; i++) {
        npy_close(&n->arrays.member[i]);
        n->arrays.there[i] = false;
    }
    n->late[0] = '\0';
    n->complete = false;
}

void npz_close(struct npz *n)
{
    close_arrays(n);
    id_list_close(&n->ids);
    free(n->sample);
    n->sample = NULL;
}

/* Reads x after all other members of its file. */
static enum status read_late(struct npz *n, struct error *err)
{
    struct byte_source kept = value_store_spooled(&n->b->store);
    kept.work = n->b->options->work;
    struct error cause = {0};
    enum status status = read_x(n, &n->x, &kept, &cause);
    return status ? error_set(err, status, NULL, "member '%s': %s", n->late, cause.message) : STATUS_OK;
}

static enum status npz_end(struct npz *n, int64_t first, struct error *err)
{
    if (!n->arrays.there[MEMBER_X])
        return error_set(err, STATUS_INVALID, NULL, "there is no array 'x', which holds the samples");
    enum status status = n->late[0] ? read_late(n, err) : STATUS_OK;
    if (!status)
        status = take_labels(n, first, err);
    n->files++;
    return status ? status : id_list_check(&n->ids, n->b->c->count, err);
}

static enum status add_npz(struct npz *n, const struct byte_source *from, struct error *err)
{
    struct archive_limits bounds = {MEMBERS, n->b->limits.bytes * 8 + ((int64_t)1 << 30)};
    int64_t first = n->b->c->count;
    close_arrays(n);
    enum status status = archive_reader_each(ARCHIVE_ZIP, from, &bounds, read_member, n, err);
    return status ? status : npz_end(n, first, err);
}

static enum status add_npy(struct npz *n, bool ids, const struct byte_source *from, struct error *err)
{
    struct npy_header h;
    close_arrays(n);
    enum status status = npy_header_read(from, &h, err);
    if (status)
        return status;
    if (ids)
        return id_list_read(&n->ids, from, &h, n->b->limits.samples, err);
    status = read_x(n, &h, from, err);
    if (status)
        return status;
    status = name_columns(n, err);
    n->files++;
    return status;
}

/* ---- safetensors ------------------------------------------------------------------------------------------- */

/* Returns the tensor that is x although it has another name; -1: none. */
static int unnamed(const struct tensors *t)
{
    int found = -1, unknown = 0;
    for (int i = 0; i < t->count; i++) {
        int member = npz_member(t->entry[i].name, strlen(t->entry[i].name));
        if (member == MEMBER_X)
            return -1;
        if (member < 0) {
            found = i;
            unknown++;
        }
    }
    return unknown == 1 ? found : -1;
}

/* Whether the length of the samples may follow x. A safetensors file has no text, and therefore no `options`. */
static bool has_length(const struct tensors *t)
{
    for (int i = 0; i < t->count; i++)
        if (npz_member(t->entry[i].name, strlen(t->entry[i].name)) == MEMBER_LENGTH)
            return true;
    return false;
}

static enum status add_tensors(struct npz *n, const struct byte_source *from, struct error *err)
{
    struct tensors t;
    int64_t first = n->b->c->count;
    close_arrays(n);
    enum status status = tensors_head_read(from, &t, err);
    int x = status ? -1 : unnamed(&t);
    n->complete = !status && !has_length(&t);
    for (int i = 0; !status && i < t.count; i++) {
        const struct tensors_entry *e = &t.entry[i];
        struct tensors_piece piece = {from, e->end - e->begin};
        struct byte_source bytes = tensors_piece_source(&piece);
        status =
            npz_array(n, i == x ? MEMBER_X : npz_member(e->name, strlen(e->name)), e->name, &e->header, &bytes, err);
    }
    if (!status)
        status = byte_source_end(from, "the last tensor", err);
    tensors_close(&t);
    return status ? status : npz_end(n, first, err);
}

/* ---- files ------------------------------------------------------------------------------------------------- */

/* Whether the name of a member of an archive says that it contains ids: "id.npy", "ids-0003.npy". */
static bool ids_named(const char *name)
{
    size_t bytes = strncmp(name, "ids", 3) == 0 ? 3 : 2;
    return strncmp(name, "id", 2) == 0 && strchr("-_.0123456789", name[bytes]) != NULL;
}

bool npz_named(const char *name)
{
    const char *end = strrchr(name, '.');
    return end && (strcmp(end, ".npz") == 0 || strcmp(end, ".npy") == 0 || strcmp(end, ".safetensors") == 0);
}

enum status npz_add(struct npz *n, const char *name, const struct byte_source *from, struct error *err)
{
    const char *end = strrchr(name, '.');
    const bool first = n->b->rounded.count == 0;
    enum status status = strcmp(end, ".npz") == 0   ? add_npz(n, from, err)
                         : strcmp(end, ".npy") == 0 ? add_npy(n, ids_named(name), from, err)
                                                    : add_tensors(n, from, err);
    if (first && end > name)
        rounded_within(&n->b->rounded, name);
    return status;
}

enum status npz_finish(struct npz *n, struct error *err)
{
    enum status status = id_list_check(&n->ids, n->b->c->count, err);
    if (status)
        return status;
    status = array_labels_unused(n->b, &n->arrays, n->use, err);
    if (status)
        return status;
    n->b->c->records = n->ids.names;
    n->ids = (struct id_list){0};
    status = builder_finish(n->b, n->use == USE_COLUMNS, err);
    return status ? status : stated_check(&n->arrays.stated, n->b->c, err);
}

static enum status read_file(const char *ending, const struct byte_source *from,
                             const struct collection_options *options, const struct collection_limits *limits,
                             struct collection *c, struct error *err)
{
    struct builder b;
    struct npz n;
    builder_init(&b, c, options, limits);
    npz_open(&n, &b, options);
    enum status status = npz_add(&n, ending, from, err);
    if (!status)
        status = npz_finish(&n, err);
    npz_close(&n);
    builder_close(&b);
    return status;
}

#define READER(format, ending)                                                                                         \
    enum status collection_read_##format(const struct byte_source *from, const struct collection_options *options,     \
                                         const struct collection_limits *limits, struct collection *c,                 \
                                         struct error *err)                                                            \
    {                                                                                                                  \
        return read_file(ending, from, options, limits, c, err);                                                       \
    }
READER(npz, ".npz")
READER(npy, ".npy")
READER(tensors, ".safetensors")
