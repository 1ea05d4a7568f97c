/* Finishes a collection (builder_finish.h). */
#include "core/data/uploads/labels/builder_finish.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/uploads/labels/label_names.h"
#include "core/data/uploads/labels/label_texts.h"

/* ---- samples without a label ------------------------------------------------------------------------------- */

/* Moves what the collection has for sample `from` to sample `to`, which is not after it. */
static void move_sample(struct builder *b, int64_t from, int64_t to, int64_t *labels)
{
    struct collection *c = b->c;
    int64_t columns = collection_length(c, from);
    int64_t first = c->label_start[from], count = c->label_start[from + 1] - first;
    if (count > 0)
        memmove(c->label + *labels, c->label + first, (size_t)count * sizeof *c->label);
    *labels += count;
    c->label_start[to + 1] = *labels;
    c->start[to + 1] = c->start[to] + columns;
    c->cols = columns > c->cols ? (int)columns : c->cols;
    if (c->group)
        c->group[to] = c->group[from];
    if (c->part)
        c->part[to] = c->part[from];
    if (c->records.count > 0)
        c->records.name[to] = c->records.name[from];
    if (c->texts.count > 0)
        c->texts.name[to] = c->texts.name[from];
}

/* Keeps the texts and boxes of the samples that stay. to: [count] the new number of each sample; -1: it is left out. */
static void move_parts(struct builder *b, const int64_t *to)
{
    struct collection *c = b->c;
    int64_t texts = 0, boxes = 0;
    for (int64_t i = 0; i < b->texts_count; i++)
        if (to[b->texts[i].sample] >= 0) {
            b->texts[texts] = b->texts[i];
            b->texts[texts].sample = to[b->texts[texts].sample];
            texts++;
        }
    for (int64_t i = 0; i < c->boxes; i++)
        if (to[b->box_sample[i]] >= 0) {
            memmove(c->box[boxes], c->box[i], sizeof *c->box);
            b->box_sample[boxes++] = to[b->box_sample[i]];
        }
    b->texts_count = texts;
    c->boxes = boxes;
}

/* Keeps only the groups that samples have. */
static enum status keep_groups(struct builder *b, struct error *err)
{
    struct name_list kept = {.most = b->groups.most};
    enum status status = STATUS_OK;
    for (int64_t i = 0; !status && i < b->c->count; i++) {
        const char *name = b->groups.names.name[b->c->group[i]];
        status = name_list_add(&kept, name, strlen(name), &b->c->group[i], err);
    }
    name_list_close(&b->groups);
    b->groups = kept;
    return status;
}

static enum status leave_out(struct builder *b, struct error *err)
{
    struct collection *c = b->c;
    int64_t count = 0, labels = 0, next = 0, all = c->count;
    if (b->missing_count == 0)
        return STATUS_OK;
    if (b->missing_count == all)
        return error_set(err, STATUS_INVALID, NULL, "no sample has a label, so missing=drop leaves none");
    int64_t *to = malloc((size_t)all * sizeof *to);
    if (!to)
        return error_memory(err, "samples");
    for (int64_t i = 0; i < all; i++) {
        bool out = next < b->missing_count && b->missing[next] == i;
        next += out;
        to[i] = out ? -1 : count++;
    }
    enum status status = value_store_keep(&b->store, c->start, all, (int64_t)c->channels * c->rows, to, err);
    c->cols = 0;
    for (int64_t i = 0; !status && i < all; i++)
        if (to[i] >= 0) {
            move_sample(b, i, to[i], &labels);
        } else {
            if (c->records.count > 0)
                free(c->records.name[i]);
            if (c->texts.count > 0)
                free(c->texts.name[i]);
        }
    if (!status) {
        move_parts(b, to);
        c->count = count;
        c->records.count = c->records.count > 0 ? (int)count : 0;
        c->texts.count = c->texts.count > 0 ? (int)count : 0;
        b->labels = labels;
        status = c->group ? keep_groups(b, err) : STATUS_OK;
    }
    free(to);
    return status ? status
                  : collection_warn(c, err, "missing-labels",
                                    "%lld of %lld samples have no label and were left out; the first is %s",
                                    (long long)b->missing_count, (long long)all, b->first_missing);
}

/* ---- numbers ----------------------------------------------------------------------------------------------- */

/* Checks that every sample has as many numbers as the first one, and gives each of these numbers a name. */
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
                   : builder_too_few(b, err);
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

/* ---- names ------------------------------------------------------------------------------------------------- */

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

static enum collection_target target_of(const struct collection *c, int names, bool set)
{
    bool one = true;
    for (int64_t i = 0; one && i < c->count; i++)
        one = c->label_start[i + 1] - c->label_start[i] == 1;
    return names == 0 ? TARGET_NONE : set ? TARGET_LABELS : one ? TARGET_CLASS : TARGET_SEQUENCE;
}

/* Returns whether the labels would have had the same target and the same tokens without the user's choice. */
static bool target_implied(const struct builder *b, enum collection_target wanted, bool set)
{
    if (wanted == TARGET_NONE || b->usual != TARGET_NONE)
        return wanted != TARGET_NONE && wanted == b->usual;
    bool by_count = wanted == TARGET_CLASS || wanted == TARGET_SEQUENCE;
    return by_count && !b->reworded && wanted == target_of(b->c, b->vocabulary.names.count, set);
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

/* Maps the values and says in which form they are. */
static enum status finish_values(struct builder *b, struct error *err)
{
    struct collection *c = b->c;
    enum status status = value_store_finish(&b->store, &c->store, &c->stored, err);
    c->values = b->store.form == VALUE_FLOATS ? c->store : NULL;
    c->bytes = b->store.form == VALUE_FLOATS ? NULL : c->store;
    c->unit = b->store.form == VALUE_UNIT_BYTES;
    return status;
}

/* Makes names of the labels' texts, and sorts the vocabulary. */
static enum status finish_names(struct builder *b, bool *set, struct error *err)
{
    struct collection *c = b->c;
    int32_t *to = NULL;
    enum collection_target wanted = b->wanted;
    /* true: the vocabulary is not sorted, because the reader has made it and has added labels as its indices */
    bool numbered = c->vocabulary.count > 0;
    enum status status = label_texts_read(b, set, err);
    if (!status && target_implied(b, wanted, *set))
        c->implied |= OPTION_TARGET;
    if (!status && !numbered)
        status = label_names_settle(b, set, err);
    if (!status && !numbered)
        status = order_names(&b->vocabulary, &c->vocabulary, &to, err);
    for (int64_t i = 0; !status && to && i < b->labels; i++)
        c->label[i] = c->label[i] < 0 ? -1 : to[c->label[i]];
    for (int64_t i = 0; !status && to && i < c->boxes; i++)
        c->box[i][0] = to[c->box[i][0]];
    free(to);
    return status;
}

static enum status finish_groups(struct builder *b, struct error *err)
{
    int32_t *to = NULL;
    enum status status = order_names(&b->groups, &b->c->groups, &to, err);
    for (int64_t i = 0; !status && i < b->c->count; i++)
        b->c->group[i] = to[b->c->group[i]];
    free(to);
    return status;
}

static void note_longest(struct collection *c)
{
    c->longest = 0;
    for (int64_t i = 0; i < c->count; i++) {
        const int32_t *label;
        int length = collection_labels(c, i, &label);
        c->longest = length > c->longest ? length : c->longest;
    }
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

enum status builder_finish(struct builder *b, bool set, struct error *err)
{
    struct collection *c = b->c;
    bool numbers = b->wanted == TARGET_NUMBER;
    if (c->count == 0 || c->cols == 0)
        return error_set(err, STATUS_INVALID, NULL, "there are no samples; the file needs at least one");
    if (b->options->missing == MISSING_REFUSE || b->missing_count == 0)
        c->implied |= OPTION_MISSING;
    int64_t kept = c->count - b->missing_count; /* samples that stay */
    if ((c->group && b->grouped < kept) || (c->part && b->parted < kept))
        return error_set(err, STATUS_INVALID, NULL, "only some samples have a %s; give one to all of them, or to none",
                         c->part && b->parted < kept ? "part" : "group");
    enum status status = leave_out(b, err);
    if (!status && b->rounded.count > 0)
        status = collection_warn(c, err, "rounded",
                                 "%lld whole numbers beyond %d lost digits in single precision; the first: %s",
                                 (long long)b->rounded.count, ROUNDED_FROM, b->rounded.first);
    if (!status)
        status = finish_values(b, err);
    if (!status)
        status = numbers ? builder_numbers_finish(b, err) : finish_names(b, &set, err);
    if (!status && c->group)
        status = finish_groups(b, err);
    if (!status)
        status = take_groups_as_parts(c, err);
    if (!status)
        status = sort_boxes(b, err);
    if (!status && b->wanted != TARGET_NONE && !numbers)
        status = take_wanted(c, b->wanted, err);
    if (!status && c->target == TARGET_NONE)
        c->target = target_of(c, c->vocabulary.count, set);
    if (!status)
        note_longest(c);
    if (!status && (c->target == TARGET_LABELS || c->target == TARGET_COUNT))
        status = sort_sets(c, err);
    return status ? status : check_boxes(c, err);
}
