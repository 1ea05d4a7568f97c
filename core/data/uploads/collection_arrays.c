/* Reads labels, positions, groups and boxes from NumPy arrays (collection_arrays.h). collection_npz.c describes the
 * arrays. How y is read depends on its type, on its shape and on the target that the user has chosen. */
#include "core/data/uploads/collection_arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/formats/audio_wave.h"
#include "core/genomics/genomics.h"

enum { BASES_OF_RNA = 4 };

/* Returns the index of a name in a list that ends with NULL; -1: it is not there. */
static int place_of(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static bool collection_stated_take(struct stated *out, const char *name, const char *value)
{
    int target = place_of(collection_targets, value), layout = place_of(collection_layouts, value);
    int kind = place_of(collection_kinds, value);
    if (strcmp(name, "target") == 0 && target > TARGET_NONE && target != TARGET_POSITIONS)
        out->target = (enum collection_target)target;
    else if (strcmp(name, "layout") == 0 && layout > LAYOUT_AUTO)
        out->layout = (enum collection_layout)layout;
    else if (strcmp(name, "kind") == 0 &&
             (kind == COLLECTION_RECORDINGS || kind == COLLECTION_MOTIFS || kind == COLLECTION_IMAGES))
        out->kind = (enum collection_kind)kind;
    else if (strcmp(name, "rate") == 0 && atoi(value) > 0 && atoi(value) <= AUDIO_WAVE_RATES)
        out->rate = atoi(value);
    else if (strcmp(name, "y") == 0 && strcmp(value, "index") == 0)
        out->y_index = true;
    else if (strcmp(name, "boxes") == 0 && strcmp(value, "index") == 0)
        out->boxes_index = true;
    else if (strcmp(name, "alphabet") == 0 && strcmp(value, "rna") == 0)
        out->rna = true;
    else if (strcmp(name, "profile") == 0 && strcmp(value, "yes") == 0)
        out->profile = true;
    else
        return false;
    return true;
}

enum status stated_read(const struct npy *options, struct stated *out, struct error *err)
{
    *out = (struct stated){.target = TARGET_NONE};
    if (!options->texts)
        return error_set(err, STATUS_INVALID, NULL, "must be text, such as \"target=count\"");
    for (size_t i = 0; i < options->count; i++) {
        char name[NPY_TEXT];
        snprintf(name, sizeof name, "%s", options->texts[i]);
        char *value = strchr(name, '=');
        if (value)
            *value++ = '\0';
        if (!value || !collection_stated_take(out, name, value))
            return error_set(err, STATUS_INVALID, NULL,
                             "'%.40s' is unknown; allowed are target=, layout=, kind=recordings, rate=, "
                             "kind=motifs, kind=images, y=index, boxes=index, alphabet=rna and profile=yes",
                             options->texts[i]);
    }
    return STATUS_OK;
}

bool stated_same(const struct stated *a, const struct stated *b)
{
    return a->target == b->target && a->layout == b->layout && a->kind == b->kind && a->rate == b->rate &&
           a->y_index == b->y_index && a->boxes_index == b->boxes_index && a->rna == b->rna && a->profile == b->profile;
}

enum status stated_apply(const struct stated *stated, struct collection *c, struct error *err)
{
    bool sequences = c->kind == COLLECTION_SEQUENCES;
    if (stated->kind == COLLECTION_RECORDINGS && (!sequences || c->channels != 1))
        return error_set(err, STATUS_INVALID, NULL, "kind=recordings needs samples of one row and one channel");
    if ((stated->kind == COLLECTION_MOTIFS || stated->rna) && (!sequences || c->channels != BASES_OF_RNA))
        return error_set(err, STATUS_INVALID, NULL, "%s needs samples of one row and four channels",
                         stated->rna ? "alphabet=rna" : "kind=motifs");
    if (stated->kind == COLLECTION_IMAGES && c->kind == COLLECTION_TABLE)
        return error_set(err, STATUS_INVALID, NULL, "kind=images needs x in three or four dimensions");
    if (stated->kind != COLLECTION_TABLE)
        c->kind = stated->kind;
    if (stated->rate > 0 && c->kind != COLLECTION_RECORDINGS)
        return error_set(err, STATUS_INVALID, NULL, "rate= needs kind=recordings");
    if (c->kind == COLLECTION_RECORDINGS)
        c->rate = stated->rate > 0 ? stated->rate : AUDIO_RATE;
    c->rna = stated->rna;
    return STATUS_OK;
}

static enum status check_motif(const struct collection *c, int64_t motif, struct error *err)
{
    const int32_t *label;
    int labels = collection_labels(c, motif, &label);
    int64_t width = collection_length(c, motif), begin = collection_begin(c, motif);
    bool good = labels >= 1 && labels <= 2 && width <= MOTIF_TEXT_WIDTH;
    for (int i = 0; good && i < labels; i++)
        good = strlen(c->vocabulary.name[label[i]]) < MOTIF_TEXT_NAME;
    for (int64_t i = 0; good && i < width * c->channels; i++)
        good = collection_value(c, begin + i) >= 0;
    return good ? STATUS_OK
                : error_set(err, STATUS_INVALID, NULL,
                            "kind=motifs: motif %lld needs one or two names of fewer than %d bytes, at most %d "
                            "positions, and no negative value",
                            (long long)motif, MOTIF_TEXT_NAME, MOTIF_TEXT_WIDTH);
}

enum status stated_check(const struct stated *stated, struct collection *c, struct error *err)
{
    enum status status = STATUS_OK;
    if (stated->profile && c->target != TARGET_NUMBER)
        return error_set(err, STATUS_INVALID, NULL, "profile=yes needs target=number");
    c->profile = stated->profile;
    if (c->kind != COLLECTION_MOTIFS)
        return STATUS_OK;
    if (c->target != TARGET_SEQUENCE || c->count > MOTIF_TEXT_MOTIFS)
        return error_set(err, STATUS_INVALID, NULL, "kind=motifs needs target=sequence and at most %d motifs",
                         MOTIF_TEXT_MOTIFS);
    for (int64_t i = 0; !status && i < c->count; i++)
        status = check_motif(c, i, err);
    return status;
}

enum { ROWS_MOST = 1 << 26 };

enum status array_fault(const char *member, const char *what, struct error *err)
{
    return error_set(err, STATUS_INVALID, NULL, "member '%s' %s", member, what);
}

static const char *const member_names[] = {"x",       "y",     "positions", "boxes",  "group",  "part",
                                           "columns", "names", "id",        "length", "options"};

enum status arrays_check(const struct arrays *a, const struct collection *c, enum collection_target wanted,
                         int64_t count, int64_t cols, struct error *err)
{
    const struct npy *positions = &a->member[MEMBER_POSITIONS];
    bool ragged = a->there[MEMBER_LENGTH], each = ragged ? positions->rank == 1 : positions->rank == 2;
    int64_t columns = c->start[c->count] - c->start[c->count - count];
    for (int m = MEMBER_Y; m <= MEMBER_PART; m++) {
        const struct npy *array = &a->member[m];
        if (m == MEMBER_BOXES || !a->there[m] || (m == MEMBER_POSITIONS && ragged))
            continue;
        if (array->rank < 1 || array->rank > 2 || array->dim[0] != count)
            return error_set(err, STATUS_INVALID, NULL, "member '%s' must have one entry for each of the %lld samples",
                             member_names[m], (long long)count);
    }
    for (int m = MEMBER_GROUP; m <= MEMBER_PART; m++)
        if (a->there[m] && a->member[m].rank != 1)
            return array_fault(member_names[m], "must have one dimension, one entry for each sample", err);
    if (a->there[MEMBER_POSITIONS] && (a->there[MEMBER_Y] || c->kind != COLLECTION_SEQUENCES || !each ||
                                       (!ragged && positions->dim[1] != cols) || positions->count != (size_t)columns))
        return array_fault("positions",
                           "requires samples of one row ([n][1][cols]), one class for each column, and no y", err);
    if (a->there[MEMBER_BOXES] && !a->there[MEMBER_Y])
        return array_fault("boxes", "requires labels in member y", err);
    if (a->there[MEMBER_BOXES] && wanted == TARGET_NUMBER)
        return array_fault("boxes", "is not allowed with target=number, because numbers have no symbols", err);
    return STATUS_OK;
}

/* ---- how y is read ----------------------------------------------------------------------------------------- */

static int64_t width_of(const struct npy *y)
{
    return y->rank == 2 ? y->dim[1] : 1;
}

/* Whether all elements are 0 or 1. */
static bool binary(const struct npy *y)
{
    for (size_t i = 0; y->values && i < y->count; i++)
        if (y->values[i] != 0 && y->values[i] != 1)
            return false;
    return y->values != NULL;
}

/* Whether y, which is read as sequences, looks like counts: all rows are full, and all elements are small. */
static bool like_counts(const struct npy *y)
{
    enum { LARGEST = 9 };
    bool zero = false;
    for (size_t i = 0; i < y->count; i++) {
        if (!(y->values[i] >= 0 && y->values[i] <= LARGEST))
            return false;
        zero = zero || y->values[i] == 0;
    }
    return zero;
}

static enum array_use use_of(const struct npy *y, enum collection_target wanted, bool named, bool index)
{
    if (index)
        return USE_INDEX;
    bool flags = y->element == NPY_BOOL && (y->rank == 2 || named || wanted == TARGET_LABELS);
    if (wanted == TARGET_NUMBER)
        return USE_NUMBERS;
    if (y->texts || wanted == TARGET_SEQUENCE)
        return USE_TOKENS;
    if (wanted == TARGET_COUNT)
        return USE_COUNTS;
    return flags || (y->rank == 2 && y->dim[1] > 1 && binary(y)) ? USE_COLUMNS : USE_TOKENS;
}

static enum status check_names(const struct npy *names, const struct npy *y, enum array_use use, struct error *err)
{
    if (use == USE_TOKENS)
        return array_fault("names",
                           "needs a y of booleans, of zeros and ones, or of counts with target=count, or of "
                           "numbers with target=number",
                           err);
    if (!names->texts || names->rank != 1 || (use != USE_INDEX && names->dim[0] != width_of(y)))
        return array_fault("names", "must be text with one name for each column of y", err);
    for (size_t i = 0; i < names->count; i++)
        if (names->texts[i][0] == '\0')
            return array_fault("names", "contains an empty name", err);
    return STATUS_OK;
}

static enum status check_position_names(const struct arrays *a, struct error *err)
{
    const struct npy *names = &a->member[MEMBER_NAMES];
    if (!names->texts || names->rank != 1 || a->member[MEMBER_POSITIONS].texts)
        return array_fault("names", "must be text with the name of each class, and positions must be integers", err);
    for (size_t i = 0; i < names->count; i++)
        if (names->texts[i][0] == '\0')
            return array_fault("names", "contains an empty name", err);
    return STATUS_OK;
}

enum status array_labels_use(struct builder *b, const struct arrays *a, enum array_use *use, struct error *err)
{
    const struct npy *y = &a->member[MEMBER_Y];
    bool named = a->there[MEMBER_NAMES];
    *use = USE_NONE;
    if (!a->there[MEMBER_Y] && a->there[MEMBER_POSITIONS])
        return named ? check_position_names(a, err) : STATUS_OK;
    if (!a->there[MEMBER_Y])
        return named ? array_fault("names", "requires labels in member y or positions", err) : STATUS_OK;
    *use = use_of(y, b->wanted, named, a->stated.y_index);
    if (b->usual == TARGET_NONE && use_of(y, TARGET_NONE, named, a->stated.y_index) == USE_COLUMNS)
        b->usual = TARGET_LABELS; /* a column for each label */
    if (*use == USE_INDEX && (y->texts || !named))
        return array_fault("y", "must be integers, and the file must contain names, if options contains y=index", err);
    if (b->wanted == TARGET_NUMBER && y->texts)
        return array_fault("y", "contains text, but target=number needs numbers", err);
    if (b->wanted == TARGET_SEQUENCE && y->element == NPY_BOOL)
        return array_fault("y", "contains booleans, but target=sequence needs integers or text", err);
    enum status status = named ? check_names(&a->member[MEMBER_NAMES], y, *use, err) : STATUS_OK;
    bool open = b->wanted == TARGET_NONE && y->values && y->element != NPY_BOOL;
    if (!status && open && *use == USE_TOKENS && y->rank == 2 && y->dim[1] > 1 && like_counts(y))
        return collection_warn(b->c, err, "counts-as-sequences",
                               "y of [%lld][%lld] was read as sequences of the names 0, 1, 2, ...; if its elements say "
                               "how often each label occurs, upload with target=count (motifctl: --target count)",
                               (long long)y->dim[0], (long long)y->dim[1]);
    if (status || !open || *use != USE_COLUMNS)
        return status;
    return collection_warn(b->c, err, "binary-labels",
                           "y of [%lld][%lld] contains only 0 and 1 and was read as a set: a sample has label k if "
                           "column k is 1; with target=sequence it is read as sequences of the names 0 and 1",
                           (long long)y->dim[0], (long long)y->dim[1]);
}

/* ---- one sample -------------------------------------------------------------------------------------------- */

/* Writes an element as a name: text unchanged, an integer in decimal. Returns false
 * for a number that is not an integer below 2^24, up to which a float is exact. */
static bool name_at(const struct npy *array, size_t at, char out[NPY_TEXT])
{
    if (array->texts) {
        snprintf(out, NPY_TEXT, "%s", array->texts[at]);
        return true;
    }
    snprintf(out, NPY_TEXT, "%.0f", (double)array->values[at]);
    return array->values[at] == rintf(array->values[at]) && fabsf(array->values[at]) < 16777216;
}

static enum status take_tokens(struct builder *b, const struct npy *y, int64_t sample, struct error *err)
{
    char name[NPY_TEXT];
    size_t width = (size_t)width_of(y), first = (size_t)sample * width;
    enum status status = STATUS_OK;
    if (y->texts && y->rank == 1)
        return builder_label(b, y->texts[sample], strlen(y->texts[sample]), "sample", sample, err);
    for (size_t i = first; !status && i < first + width; i++) {
        if (y->rank == 2 && (y->texts ? y->texts[i][0] == '\0' : y->values[i] < 0))
            continue;
        bool whole = name_at(y, i, name);
        if (y->texts ? builder_says_missing(b, name, strlen(name)) : isnan(y->values[i]))
            return builder_no_label(b, "sample", sample, err);
        if (!whole)
            return error_set(err, STATUS_INVALID, NULL,
                             "member 'y': the label of sample %lld is not an integer below 16777216; use such integers "
                             "or text (y.astype(str)), or state target=number",
                             (long long)sample);
        status = builder_token(b, name, strlen(name), err);
    }
    return status;
}

/* Appends the tokens of a sample whose elements are indices into `names`. Negative elements are skipped. */
static enum status take_indices(struct builder *b, const struct npy *y, const struct npy *names, int64_t sample,
                                struct error *err)
{
    size_t width = (size_t)width_of(y), first = (size_t)sample * width;
    enum status status = STATUS_OK;
    for (size_t i = first; !status && i < first + width; i++) {
        float index = y->values[i];
        if (index != rintf(index) || index >= (float)names->count)
            return error_set(err, STATUS_INVALID, NULL,
                             "member 'y': %g of sample %lld is not an index below %zu, the number of names",
                             (double)index, (long long)sample, names->count);
        if (index >= 0)
            status = builder_token(b, names->texts[(size_t)index], strlen(names->texts[(size_t)index]), err);
    }
    return status;
}

/* Writes the name of a column of y. */
static void column_name(const struct arrays *a, size_t column, char out[NPY_TEXT])
{
    if (a->there[MEMBER_NAMES])
        snprintf(out, NPY_TEXT, "%s", a->member[MEMBER_NAMES].texts[column]);
    else
        snprintf(out, NPY_TEXT, "%zu", column);
}

/* Adds the numbers of a sample. For the first sample that has numbers, it also adds their names. */
static enum status take_numbers(struct builder *b, const struct arrays *a, int64_t sample, struct error *err)
{
    const struct npy *y = &a->member[MEMBER_Y], *names = &a->member[MEMBER_NAMES];
    size_t width = (size_t)width_of(y), first = (size_t)sample * width;
    enum status status = STATUS_OK;
    bool name = a->there[MEMBER_NAMES] && b->c->vocabulary.count == 0;
    for (size_t k = 0; k < width; k++)
        if (isnan(y->values[first + k]))
            return builder_no_label(b, "sample", sample, err);
    for (size_t k = 0; !status && k < width; k++)
        status = builder_value(b, (double)y->values[first + k], err);
    for (size_t k = 0; !status && name && k < width; k++)
        status = builder_value_name(b, names->texts[k], err);
    return status;
}

/* Appends the name of each column of y to the sample's label n times, where n is the sample's element in this
 * column. */
static enum status take_counts(struct builder *b, const struct arrays *a, int64_t sample, struct error *err)
{
    const struct npy *y = &a->member[MEMBER_Y];
    char name[NPY_TEXT];
    size_t width = (size_t)width_of(y), first = (size_t)sample * width;
    enum status status = STATUS_OK;
    for (size_t k = 0; !status && k < width; k++) {
        float times = y->values[first + k];
        if (!(times >= 0 && times <= ARRAY_COUNT_MOST) || times != rintf(times))
            return error_set(err, STATUS_INVALID, NULL,
                             "member 'y': a count of sample %lld is %g; it must be a whole number from 0 to %d",
                             (long long)sample, (double)times, ARRAY_COUNT_MOST);
        if (times > 0)
            column_name(a, k, name);
        for (int i = 0; !status && i < (int)times; i++)
            status = builder_token(b, name, strlen(name), err);
    }
    return status;
}

/* Adds the class of each position of a sample. If there is an array `names`, it has become the vocabulary, and an
 * element is the index of a name. */
static enum status take_positions(struct builder *b, const struct arrays *a, int64_t sample, struct error *err)
{
    char name[NPY_TEXT];
    const struct npy *p = &a->member[MEMBER_POSITIONS];
    const int64_t *start = b->c->start + b->at - 1;
    bool named = a->there[MEMBER_NAMES];
    enum status status = STATUS_OK;
    for (int64_t i = start[0] - start[-sample]; !status && i < start[1] - start[-sample]; i++) {
        bool good = name_at(p, (size_t)i, name) && (!named || p->values[i] < (float)b->c->vocabulary.count);
        if (!good && named)
            return error_set(err, STATUS_INVALID, NULL,
                             "member 'positions': %g of sample %lld is not an index below %d, the number of names",
                             (double)p->values[i], (long long)sample, b->c->vocabulary.count);
        if (!good)
            return error_set(
                err, STATUS_INVALID, NULL,
                "member 'positions': a class of sample %lld is not an integer below 16777216; use such integers "
                "or text",
                (long long)sample);
        if (!p->texts && p->values[i] < 0)
            status = builder_number(b, -1, err);
        else if (named)
            status = builder_number(b, (int32_t)p->values[i], err);
        else
            status = builder_token(b, name, strlen(name), err);
    }
    return status;
}

enum status array_labels_take(struct builder *b, const struct arrays *a, enum array_use use, int64_t sample,
                              struct error *err)
{
    char name[NPY_TEXT];
    enum status status = STATUS_OK;
    if (use == USE_TOKENS)
        status = take_tokens(b, &a->member[MEMBER_Y], sample, err);
    else if (use == USE_INDEX)
        status = take_indices(b, &a->member[MEMBER_Y], &a->member[MEMBER_NAMES], sample, err);
    else if (use == USE_NUMBERS)
        status = take_numbers(b, a, sample, err);
    else if (use != USE_NONE)
        status = take_counts(b, a, sample, err);
    if (!status && a->there[MEMBER_POSITIONS])
        status = take_positions(b, a, sample, err);
    if (!status && a->there[MEMBER_GROUP])
        status = name_at(&a->member[MEMBER_GROUP], (size_t)sample, name)
                     ? builder_group(b, name, err)
                     : array_fault("group", "must contain integers below 16777216 or text (group.astype(str))", err);
    if (status || !a->there[MEMBER_PART])
        return status;
    return name_at(&a->member[MEMBER_PART], (size_t)sample, name)
               ? builder_part(b, name, err)
               : array_fault("part", "must contain the texts train, validation and test", err);
}

enum status array_labels_unused(struct builder *b, const struct arrays *a, enum array_use use, struct error *err)
{
    struct collection_list unused = {0};
    int64_t width = use >= USE_COLUMNS ? width_of(&a->member[MEMBER_Y])
                    : use == USE_INDEX ? a->member[MEMBER_NAMES].dim[0]
                                       : 0;
    for (int64_t k = 0; k < width; k++) {
        char name[NPY_TEXT];
        column_name(a, (size_t)k, name);
        if (name_list_find(&b->vocabulary, name, strlen(name)) < 0)
            collection_list_add(&unused, name);
    }
    if (unused.count == 0)
        return STATUS_OK;
    return collection_warn(b->c, err, "unused-labels", "%d of %lld labels occur in no sample and were left out: %s",
                           unused.count, (long long)width, unused.text);
}

/* ---- boxes ------------------------------------------------------------------------------------------------- */

/* Replaces the number in `symbol` by the name that has this index. Returns false if there is no such name. */
static bool symbol_name(const struct npy *names, char symbol[NPY_TEXT])
{
    char *end;
    long index = strtol(symbol, &end, 10);
    if (!names->texts || *end != '\0' || index < 0 || (size_t)index >= names->count)
        return false;
    memcpy(symbol, names->texts[index], NPY_TEXT);
    return true;
}

enum status array_boxes_take(struct builder *b, const struct arrays *a, int64_t first, struct error *err)
{
    const struct npy *boxes = &a->member[MEMBER_BOXES];
    if (boxes->rank != 2 || boxes->dim[1] != 6)
        return array_fault("boxes", "must be [m][6]: sample, row0, row1, col0, col1, symbol", err);
    for (int64_t i = 0; i < boxes->dim[0]; i++) {
        char text[6][NPY_TEXT];
        int32_t number[5];
        for (int j = 0; j < 6; j++) {
            bool good = name_at(boxes, (size_t)(6 * i + j), text[j]);
            char *end = text[j];
            long value = good && j < 5 ? strtol(text[j], &end, 10) : 0;
            if (!good || (j < 5 && (end == text[j] || *end != '\0' || value < 0 || value > ROWS_MOST)))
                return error_set(err, STATUS_INVALID, NULL,
                                 "member 'boxes', row %lld: field %d is not a whole number from 0 to %d", (long long)i,
                                 j, ROWS_MOST);
            if (j < 5)
                number[j] = (int32_t)value;
        }
        if (a->stated.boxes_index && !symbol_name(&a->member[MEMBER_NAMES], text[5]))
            return error_set(err, STATUS_INVALID, NULL, "member 'boxes', row %lld: '%.40s' is not an index into names",
                             (long long)i, text[5]);
        if (number[0] >= b->c->count - first)
            return error_set(err, STATUS_INVALID, NULL, "member 'boxes', row %lld: there is no sample %d", (long long)i,
                             number[0]);
        enum status status = builder_box(b, first + number[0], number + 1, text[5], err);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* ---- ids --------------------------------------------------------------------------------------------------- */

enum { ID_BLOCK = 64 };

static enum status add_id(struct id_list *ids, const char *id, struct error *err)
{
    struct collection_names *names = &ids->names;
    char **larger = grown(names->name, (size_t)names->count, sizeof *larger);
    if (!larger)
        return error_memory(err, "ids");
    names->name = larger;
    names->name[names->count] = strdup(id);
    if (!names->name[names->count])
        return error_memory(err, "ids");
    names->count++;
    return STATUS_OK;
}

enum status id_list_read(struct id_list *ids, const struct byte_source *from, const struct npy_header *h, int64_t most,
                         struct error *err)
{
    char block[ID_BLOCK][NPY_TEXT];
    enum status status = STATUS_OK;
    if (h->rank != 1)
        return error_set(err, STATUS_INVALID, NULL, "must have one dimension, with one id for each sample");
    if (h->dim[0] > most - ids->names.count)
        return error_set(err, STATUS_LIMIT, NULL, "has more ids than the %lld samples that are allowed",
                         (long long)most);
    for (int64_t at = 0; !status && at < h->dim[0]; at += ID_BLOCK) {
        size_t count = h->dim[0] - at < ID_BLOCK ? (size_t)(h->dim[0] - at) : ID_BLOCK;
        status = npy_names_read(from, h, (size_t)at, count, block, err);
        for (size_t i = 0; !status && i < count; i++)
            status = add_id(ids, block[i], err);
    }
    return status ? status : byte_source_end(from, "the array of ids", err);
}

enum status id_list_check(const struct id_list *ids, int64_t samples, struct error *err)
{
    return ids->names.count == 0 || ids->names.count == samples
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL,
                           "there are %d ids for %lld samples; every sample needs one, in the same order",
                           ids->names.count, (long long)samples);
}

void id_list_close(struct id_list *ids)
{
    for (int i = 0; i < ids->names.count; i++)
        free(ids->names.name[i]);
    free(ids->names.name);
    *ids = (struct id_list){0};
}
