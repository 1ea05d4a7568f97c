/* Builds a collection sample by sample and finishes it: sorts the vocabulary, determines the target, sorts the boxes by
 * sample, and does the checks that hold for every format. */
#include "core/data/uploads/collection_build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/base/utf8.h"
#include "core/formats/csv.h"

/* Numbers as targets: how readers add them to a collection, sample by sample, and the checks at the end.
 *
 * Every sample must have as many numbers as the first one. Numbers are stored as floats, exactly as they were uploaded.
 * Methods standardise them by the mean and the standard deviation of the training samples. */

enum { NUMBER_TEXT = 64 };
static const double LARGEST = 3.4e38; /* a little less than the largest float */

/* Reports that a sample has too few numbers. */
static enum status too_few(const struct builder *b, struct error *err)
{
    int64_t sample = b->width > 0 ? b->numbers / b->width : 0;
    const struct collection_names *records = &b->c->records;
    const char *name = sample < records->count ? records->name[sample] : "";
    return error_set(err, STATUS_INVALID, NULL,
                     "target=number: sample %lld%s%.80s%s has %lld of %d numbers; every sample needs all of them",
                     (long long)sample, name[0] ? " (" : "", name, name[0] ? ")" : "",
                     (long long)(b->width > 0 ? b->numbers % b->width : 0), b->width > 0 ? b->width : 1);
}

enum status builder_value(struct builder *b, double value, struct error *err)
{
    int64_t sample = b->at - 1;
    if (!(fabs(value) <= LARGEST))
        return error_set(err, STATUS_INVALID, NULL,
                         "target=number: a number of sample %lld is %g; it must be from %g to %g", (long long)sample,
                         value, -LARGEST, LARGEST);
    if (sample == 0 && b->width < NUMBERS_MOST)
        b->width++;
    if (b->numbers < sample * b->width)
        return too_few(b, err);
    if (b->numbers >= b->at * b->width)
        return error_set(err, STATUS_INVALID, NULL, "target=number: sample %lld has more than %d numbers, %s",
                         (long long)sample, b->width,
                         sample == 0 ? "the most that is allowed" : "which is how many the first sample has");
    float *more = grown(b->c->number, (size_t)b->numbers, sizeof *more);
    if (!more)
        return error_memory(err, "numbers");
    b->c->number = more;
    more[b->numbers++] = (float)value;
    return STATUS_OK;
}

enum status builder_values(struct builder *b, const char *text, size_t bytes, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t at = 0; !status && at < bytes;) {
        char word[NUMBER_TEXT];
        float value;
        size_t length = 0;
        while (at + length < bytes && !strchr(" \t,", text[at + length]))
            length++;
        snprintf(word, sizeof word, "%.*s", (int)(length < NUMBER_TEXT ? length : NUMBER_TEXT), text + at);
        if (length > 0 && (length >= NUMBER_TEXT || !csv_number(word, &value)))
            return error_set(err, STATUS_INVALID, NULL,
                             "target=number: '%.40s' of sample %lld is not a number from %g to %g", word,
                             (long long)(b->at - 1), -LARGEST, LARGEST);
        if (length > 0)
            status = builder_value(b, (double)value, err);
        at += length + 1;
    }
    return status;
}

enum status builder_value_name(struct builder *b, const char *name, struct error *err)
{
    struct collection_names *names = &b->c->vocabulary;
    char **more = realloc(names->name, (size_t)(names->count + 1) * sizeof *more);
    if (more)
        names->name = more;
    char *copy = more ? strdup(name) : NULL;
    if (!copy)
        return error_memory(err, "names");
    names->name[names->count++] = copy;
    return STATUS_OK;
}

/* Checks that every sample has as many numbers as the first one, and gives each of these numbers a name.
 * builder_finish() calls it. */
static enum status builder_numbers_finish(struct builder *b, struct error *err)
{
    struct collection *c = b->c;
    enum status status = STATUS_OK;
    if (c->kind == COLLECTION_TABLE)
        return error_set(err, STATUS_INVALID, NULL,
                         "target=number is not for tables; if the columns are the points of a signal, upload them "
                         "with layout=signals, otherwise leave target out");
    if (c->target != TARGET_NONE || b->numbers < c->count * (b->width > 0 ? b->width : 1))
        return c->target != TARGET_NONE
                   ? error_set(err, STATUS_INVALID, NULL, "target=number: the file has a class at every position")
                   : too_few(b, err);
    bool named = c->vocabulary.count > 0;
    for (int k = 0; !status && !named && k < b->width; k++) {
        char name[16];
        snprintf(name, sizeof name, "%d", k);
        status = builder_value_name(b, b->width == 1 ? "value" : name, err);
    }
    if (!status && c->vocabulary.count != b->width)
        return error_set(err, STATUS_INVALID, NULL, "target=number: there are %d names for %d numbers",
                         c->vocabulary.count, b->width);
    c->target = TARGET_NUMBER;
    return status;
}

/* Grows an array with capacity *room so that it holds `count` elements; the capacity doubles. */
static enum status collection_build_grow(void **memory, int64_t *room, int64_t count, size_t size, struct error *err)
{
    if (count <= *room)
        return STATUS_OK;
    int64_t larger = 2 * *room > count ? 2 * *room : count;
    larger = larger < 16 ? 16 : larger;
    void *grown = realloc(*memory, (size_t)larger * size);
    if (!grown)
        return error_memory(err, "a data set");
    *memory = grown;
    *room = larger;
    return STATUS_OK;
}

/* ---- names ------------------------------------------------------------------------------------------------- */

void name_list_close(struct name_list *list)
{
    for (int i = 0; i < list->names.count; i++)
        free(list->names.name[i]);
    free(list->names.name);
    free(list->table);
    *list = (struct name_list){0};
}

static size_t collection_build_place(const struct name_list *list, const char *name, size_t bytes)
{
    uint64_t hash = 0xCBF29CE484222325u; /* FNV-1a */
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001B3u;
    size_t mask = ((size_t)1 << list->bits) - 1, at = (size_t)(hash ^ hash >> 29) & mask;
    for (;; at = (at + 1) & mask) {
        int32_t number = list->table[at];
        if (number < 0 ||
            (strncmp(list->names.name[number], name, bytes) == 0 && list->names.name[number][bytes] == '\0'))
            return at;
    }
}

int32_t name_list_find(const struct name_list *list, const char *name, size_t bytes)
{
    return list->table ? list->table[collection_build_place(list, name, bytes)] : -1;
}

static enum status rehash(struct name_list *list, int bits, struct error *err)
{
    int32_t *table = malloc(((size_t)1 << bits) * sizeof *table);
    if (!table)
        return error_memory(err, "names");
    memset(table, 0xFF, ((size_t)1 << bits) * sizeof *table);
    free(list->table);
    list->table = table;
    list->bits = bits;
    for (int32_t i = 0; i < list->names.count; i++)
        table[collection_build_place(list, list->names.name[i], strlen(list->names.name[i]))] = i;
    return STATUS_OK;
}

enum status name_list_add(struct name_list *list, const char *name, size_t bytes, int32_t *number, struct error *err)
{
    enum status status = STATUS_OK;
    if (bytes >= NAME_BYTES)
        return error_set(err, STATUS_INVALID, NULL,
                         "the name '%.40s...' is longer than %d bytes, the most that is allowed", name, NAME_BYTES - 1);
    if (!list->table || list->names.count * 2 > 1 << list->bits)
        status = rehash(list, list->table ? list->bits + 1 : 8, err);
    if (status)
        return status;
    size_t at = collection_build_place(list, name, bytes);
    if (list->table[at] < 0) {
        int64_t room = list->room;
        int most = list->most > 0 ? list->most : NAMES;
        if (list->names.count >= most)
            return error_set(err, STATUS_LIMIT, NULL,
                             "there are more than %d different names, the most that is allowed", most);
        status = collection_build_grow((void **)&list->names.name, &room, list->names.count + 1, sizeof(char *), err);
        list->room = (int)room;
        char *copy = status ? NULL : malloc(bytes + 1);
        if (!copy)
            return error_memory(err, "names");
        memcpy(copy, name, bytes); /* no NUL follows the name */
        copy[bytes] = '\0';
        list->names.name[list->names.count] = copy;
        list->table[at] = list->names.count++;
    }
    *number = list->table[at];
    return STATUS_OK;
}

/* ---- samples ----------------------------------------------------------------------------------------------- */

void builder_init(struct builder *b, struct collection *c, const struct collection_options *options,
                  const struct collection_limits *limits)
{
    *b = (struct builder){.c = c, .limits = *limits, .wanted = options->target};
    value_store_open(&b->store, options->store, limits->bytes);
}

void builder_close(struct builder *b)
{
    name_list_close(&b->vocabulary);
    name_list_close(&b->groups);
    value_store_close(&b->store);
    free(b->box_sample);
}

static enum status collection_build_begin(struct builder *b, struct error *err)
{
    struct collection *c = b->c;
    int64_t room[2] = {b->samples_room, b->samples_room};
    if (c->count >= b->limits.samples)
        return error_set(err, STATUS_LIMIT, NULL, "there are more than %lld samples, the most that is allowed",
                         (long long)b->limits.samples);
    enum status status = collection_build_grow((void **)&c->start, &room[0], c->count + 2, sizeof *c->start, err);
    if (!status)
        status = collection_build_grow((void **)&c->label_start, &room[1], c->count + 2, sizeof *c->label_start, err);
    if (!status)
        b->samples_room = room[0];
    if (!status && c->count == 0)
        c->start[0] = c->label_start[0] = 0;
    return status;
}

/* Counts a new sample of `columns` columns in the collection. Call it after the values of the sample were added to the
 * store. */
static void counted(struct builder *b, int64_t columns)
{
    struct collection *c = b->c;
    c->start[c->count + 1] = c->start[c->count] + columns;
    b->at = ++c->count;
    c->label_start[c->count] = b->labels;
    c->cols = columns > c->cols ? (int)columns : c->cols;
}

static bool always_floats(const struct collection *c)
{
    return c->kind == COLLECTION_TABLE || c->kind == COLLECTION_RECORDINGS || c->kind == COLLECTION_MOTIFS;
}

enum status builder_sample(struct builder *b, int64_t columns, float **values, struct error *err)
{
    struct collection *c = b->c;
    enum status status = collection_build_begin(b, err);
    b->store.floats = always_floats(c);
    if (!status)
        status = value_store_next(&b->store, columns * c->channels * c->rows, values, err);
    if (!status)
        counted(b, columns);
    return status;
}

enum status builder_bytes(struct builder *b, int64_t columns, const unsigned char *bytes, struct error *err)
{
    struct collection *c = b->c;
    enum status status = collection_build_begin(b, err);
    b->store.floats = always_floats(c);
    if (!status)
        status = value_store_bytes(&b->store, bytes, columns * c->channels * c->rows, err);
    if (!status)
        counted(b, columns);
    return status;
}

enum status builder_widen(struct builder *b, int channels, struct error *err)
{
    struct collection *c = b->c;
    enum status status = value_store_repeat(&b->store, c->start, c->count, c->rows, channels, err);
    c->channels = channels;
    return status;
}

void builder_turn_to(struct builder *b, int64_t sample)
{
    b->at = sample + 1;
    b->c->label_start[b->at] = b->labels;
}

enum status builder_number(struct builder *b, int32_t token, struct error *err)
{
    struct collection *c = b->c;
    if (b->labels >= b->limits.labels)
        return error_set(err, STATUS_LIMIT, NULL, "there are more than %lld labels, the most that is allowed",
                         (long long)b->limits.labels);
    enum status status =
        collection_build_grow((void **)&c->label, &b->labels_room, b->labels + 1, sizeof *c->label, err);
    if (status)
        return status;
    c->label[b->labels++] = token;
    c->label_start[b->at] = b->labels;
    int64_t length = b->labels - c->label_start[b->at - 1];
    c->longest = length > c->longest ? (int)length : c->longest;
    return STATUS_OK;
}

enum status builder_token(struct builder *b, const char *token, size_t bytes, struct error *err)
{
    int32_t number;
    enum status status = name_list_add(&b->vocabulary, token, bytes, &number, err);
    return status ? status : builder_number(b, number, err);
}

enum status builder_token_once(struct builder *b, const char *token, size_t bytes, struct error *err)
{
    int32_t number = name_list_find(&b->vocabulary, token, bytes);
    for (int64_t i = b->c->label_start[b->at - 1]; i < b->labels; i++)
        if (b->c->label[i] == number)
            return STATUS_OK;
    return builder_token(b, token, bytes, err);
}

enum status builder_words(struct builder *b, const char *text, struct error *err)
{
    enum status status = STATUS_OK;
    if (b->wanted == TARGET_NUMBER)
        return builder_values(b, text, strlen(text), err);
    if (b->wanted == TARGET_CLASS) {
        b->reworded = b->reworded || strchr(text, ' ');
        return text[0] != '\0' ? builder_token(b, text, strlen(text), err) : STATUS_OK;
    }
    for (const char *at = text + strspn(text, " "); !status && *at;) {
        size_t bytes = strcspn(at, " ");
        status = builder_token(b, at, bytes, err);
        at += bytes;
        at += strspn(at, " ");
    }
    return status;
}

enum status builder_label(struct builder *b, const char *text, struct error *err)
{
    bool several = b->wanted != TARGET_NONE && b->wanted != TARGET_CLASS;
    b->reworded = b->reworded || several;
    return several ? builder_words(b, text, err) : builder_token(b, text, strlen(text), err);
}

enum status builder_group(struct builder *b, const char *name, struct error *err)
{
    struct collection *c = b->c;
    int32_t number;
    enum status status = name_list_add(&b->groups, name, strlen(name), &number, err);
    int32_t *group = status ? NULL : realloc(c->group, (size_t)b->samples_room * sizeof *group);
    if (!group)
        return status ? status : error_memory(err, "a data set");
    c->group = group;
    group[b->at - 1] = number;
    return STATUS_OK;
}

enum status builder_part(struct builder *b, const char *text, struct error *err)
{
    struct collection *c = b->c;
    int which = collection_part_named(text);
    if (which < 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "sample %lld: the part '%.40s' must be train, validation or test; an empty one is not allowed",
                         (long long)b->at, text);
    unsigned char *part = realloc(c->part, (size_t)b->samples_room);
    if (!part)
        return error_memory(err, "a data set");
    c->part = part;
    part[b->at - 1] = (unsigned char)which;
    return STATUS_OK;
}

/* Turns groups into parts if all of them, at least two, have names of parts. */
static enum status take_groups_as_parts(struct collection *c, struct error *err)
{
    bool parts = c->group && !c->part && c->groups.count > 1;
    for (int i = 0; parts && i < c->groups.count; i++)
        parts = collection_part_named(c->groups.name[i]) >= 0;
    if (!parts)
        return STATUS_OK;
    c->part = malloc((size_t)c->count);
    if (!c->part)
        return error_memory(err, "a data set");
    for (int64_t i = 0; i < c->count; i++)
        c->part[i] = (unsigned char)collection_part_named(c->groups.name[c->group[i]]);
    for (int i = 0; i < c->groups.count; i++)
        free(c->groups.name[i]);
    free(c->groups.name);
    free(c->group);
    c->groups = (struct collection_names){0};
    c->group = NULL;
    return STATUS_OK;
}

enum status builder_box(struct builder *b, int64_t sample, const int32_t place[4], const char *symbol,
                        struct error *err)
{
    struct collection *c = b->c;
    int32_t number = name_list_find(&b->vocabulary, symbol, strlen(symbol));
    if (number < 0)
        return error_set(err, STATUS_INVALID, NULL, "box %lld has the symbol '%.60s', which occurs in no label",
                         (long long)c->boxes, symbol);
    if (c->boxes >= b->limits.labels)
        return error_set(err, STATUS_LIMIT, NULL, "there are more than %lld boxes, the most that is allowed",
                         (long long)b->limits.labels);
    enum status status = collection_build_grow((void **)&c->box, &b->boxes_room, c->boxes + 1, sizeof *c->box, err);
    if (status != STATUS_OK)
        return status;
    status =
        collection_build_grow((void **)&b->box_sample, &b->box_samples_room, c->boxes + 1, sizeof *b->box_sample, err);
    if (status)
        return status;
    memcpy(c->box[c->boxes], (int32_t[]){number, place[0], place[1], place[2], place[3]}, sizeof *c->box);
    b->box_sample[c->boxes++] = sample;
    return STATUS_OK;
}

/* Sorts the boxes by sample; within a sample they keep the order in which they were added. */
static enum status sort_boxes(struct builder *b, struct error *err)
{
    struct collection *c = b->c;
    if (c->boxes == 0)
        return STATUS_OK;
    int32_t(*sorted)[5] = malloc((size_t)c->boxes * sizeof *sorted);
    int64_t *next = calloc((size_t)c->count + 1, sizeof *next);
    c->box_start = calloc((size_t)c->count + 1, sizeof *c->box_start);
    if (!sorted || !next || !c->box_start) {
        free(sorted);
        free(next);
        return error_memory(err, "boxes");
    }
    for (int64_t i = 0; i < c->boxes; i++)
        c->box_start[b->box_sample[i] + 1]++;
    for (int64_t i = 0; i < c->count; i++)
        next[i + 1] = c->box_start[i + 1] += c->box_start[i];
    for (int64_t i = 0; i < c->boxes; i++)
        memcpy(sorted[next[b->box_sample[i]]++], c->box[i], sizeof *sorted);
    free(next);
    free(c->box);
    c->box = sorted;
    return STATUS_OK;
}

/* ---- the end ----------------------------------------------------------------------------------------------- */

struct named {
    const char *name;
    double number; /* the name as a number; NaN if it is not a number */
    int32_t from;
};

static int compare_text(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static int compare_number(const void *a, const void *b)
{
    double x = ((const struct named *)a)->number, y = ((const struct named *)b)->number;
    return x < y ? -1 : x > y ? 1 : compare_text(a, b);
}

/* Sorts names (as numbers if all of them are numbers), so that the index of a name does not depend on the order of
 * samples. (*to)[old] is the new index of the name with the index `old`. */
static enum status order_names(struct name_list *list, struct collection_names *out, int32_t **to, struct error *err)
{
    int count = list->names.count;
    bool numbers = true;
    struct named *named = malloc(((size_t)count + 1) * sizeof *named);
    *to = malloc(((size_t)count + 1) * sizeof **to);
    out->name = malloc(((size_t)count + 1) * sizeof *out->name);
    if (!named || !*to || !out->name) {
        free(named);
        return error_memory(err, "names");
    }
    for (int32_t i = 0; i < count; i++) {
        char *end;
        const char *name = list->names.name[i];
        named[i] = (struct named){name, strtod(name, &end), i};
        numbers = numbers && *end == '\0' && isfinite(named[i].number);
    }
    qsort(named, (size_t)count, sizeof *named, numbers ? compare_number : compare_text);
    for (int32_t i = 0; i < count; i++) {
        (*to)[named[i].from] = i;
        out->name[i] = list->names.name[named[i].from];
    }
    out->count = count;
    list->names.count = 0; /* the collection owns the names now */
    free(named);
    return STATUS_OK;
}

static int compare_tokens(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static enum status sort_sets(struct collection *c, struct error *err)
{
    for (int64_t i = 0; i < c->count; i++) {
        const int32_t *label;
        int length = collection_labels(c, i, &label);
        qsort(c->label + c->label_start[i], (size_t)length, sizeof *label, compare_tokens);
        for (int j = 1; j < length; j++)
            if (c->target == TARGET_LABELS && label[j] == label[j - 1])
                return error_set(err, STATUS_INVALID, NULL,
                                 "sample %lld has the label '%.60s' twice; a set contains each label once",
                                 (long long)i, c->vocabulary.name[label[j]]);
    }
    return STATUS_OK;
}

/* Sets the target that the user wants, if the labels fit it. */
static enum status take_wanted(struct collection *c, enum collection_target wanted, struct error *err)
{
    if (c->target == TARGET_POSITIONS || c->vocabulary.count == 0)
        return error_set(err, STATUS_INVALID, NULL, "target=%s: the file has %s; leave target out",
                         collection_targets[wanted],
                         c->vocabulary.count == 0 ? "no labels" : "a class at every position");
    for (int64_t i = 0; wanted == TARGET_CLASS && i < c->count; i++)
        if (c->label_start[i + 1] - c->label_start[i] != 1)
            return error_set(err, STATUS_INVALID, NULL,
                             "target=class: sample %lld has %lld labels; every sample needs exactly one", (long long)i,
                             (long long)(c->label_start[i + 1] - c->label_start[i]));
    c->target = wanted;
    return STATUS_OK;
}

static enum collection_target target_of(const struct collection *c, bool set)
{
    bool one = true;
    for (int64_t i = 0; one && i < c->count; i++)
        one = c->label_start[i + 1] - c->label_start[i] == 1;
    return c->vocabulary.count == 0 ? TARGET_NONE : set ? TARGET_LABELS : one ? TARGET_CLASS : TARGET_SEQUENCE;
}

/* Returns whether the labels would have had the same target and the same tokens without the user's choice. */
static bool target_implied(const struct builder *b, bool set)
{
    if (b->wanted == TARGET_NONE || b->usual != TARGET_NONE)
        return b->wanted != TARGET_NONE && b->wanted == b->usual;
    bool by_count = b->wanted == TARGET_CLASS || b->wanted == TARGET_SEQUENCE;
    return by_count && !b->reworded && b->wanted == target_of(b->c, set);
}

static enum status check_boxes(const struct collection *c, struct error *err)
{
    for (int64_t i = 0; c->box_start && i < c->count; i++)
        for (int64_t j = c->box_start[i]; j < c->box_start[i + 1]; j++) {
            const int32_t *b = c->box[j];
            if (b[1] < 0 || b[1] >= b[2] || b[2] > c->rows || b[3] < 0 || b[3] >= b[4] ||
                b[4] > collection_length(c, i))
                return error_set(err, STATUS_INVALID, NULL,
                                 "box %lld is empty or outside its sample %lld: rows %d to %d, columns %d to %d",
                                 (long long)j, (long long)i, b[1], b[2], b[3], b[4]);
        }
    return STATUS_OK;
}

enum status builder_finish(struct builder *b, bool set, struct error *err)
{
    struct collection *c = b->c;
    int32_t *to = NULL, *groups = NULL;
    bool numbers = b->wanted == TARGET_NUMBER;
    /* true: the vocabulary is not sorted, because the reader has made it and has added labels as its indices, or
     * because the targets are numbers */
    bool numbered = c->vocabulary.count > 0 || numbers;
    if (c->count == 0 || c->cols == 0)
        return error_set(err, STATUS_INVALID, NULL, "there are no samples; the file needs at least one");
    enum status status = value_store_finish(&b->store, &c->store, &c->stored, err);
    if (status)
        return status;
    c->values = b->store.form == VALUE_FLOATS ? c->store : NULL;
    c->bytes = b->store.form == VALUE_FLOATS ? NULL : c->store;
    c->unit = b->store.form == VALUE_UNIT_BYTES;
    if (numbers)
        status = builder_numbers_finish(b, err);
    else if (!numbered)
        status = order_names(&b->vocabulary, &c->vocabulary, &to, err);
    if (!status && c->group)
        status = order_names(&b->groups, &c->groups, &groups, err);
    for (int64_t i = 0; !status && to && i < b->labels; i++)
        c->label[i] = c->label[i] < 0 ? -1 : to[c->label[i]];
    for (int64_t i = 0; !status && to && i < c->boxes; i++)
        c->box[i][0] = to[c->box[i][0]];
    for (int64_t i = 0; !status && groups && i < c->count; i++)
        c->group[i] = groups[c->group[i]];
    free(to);
    free(groups);
    if (!status)
        status = take_groups_as_parts(c, err);
    if (!status)
        status = sort_boxes(b, err);
    if (!status && target_implied(b, set))
        c->implied |= OPTION_TARGET;
    if (!status && b->wanted != TARGET_NONE && !numbers)
        status = take_wanted(c, b->wanted, err);
    if (!status && c->target == TARGET_NONE)
        c->target = target_of(c, set);
    if (!status && (c->target == TARGET_LABELS || c->target == TARGET_COUNT))
        status = sort_sets(c, err);
    return status ? status : check_boxes(c, err);
}
