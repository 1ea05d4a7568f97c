/* Builds a collection sample by sample. builder_finish.c finishes it. */
#include "core/data/uploads/collection_build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/grown.h"
#include "core/formats/csv.h"

/* Numbers as targets: how readers add them to a collection, sample by sample, and the checks at the end.
 *
 * Every sample must have as many numbers as the first one. Numbers are stored as floats, exactly as they were uploaded.
 * Methods standardise them by the mean and the standard deviation of the training samples. */

enum { NUMBER_TEXT = 64 };
static const double LARGEST = 3.4e38; /* a little less than the largest float */

enum status builder_too_few(const struct builder *b, struct error *err)
{
    int64_t sample = b->width > 0 ? b->numbers / b->width : 0;
    for (int64_t i = 0; i < b->missing_count && b->missing[i] <= sample; i++)
        sample++; /* samples that are left out have no numbers */
    const struct collection_names *records = &b->c->records;
    const char *name = sample < records->count ? records->name[sample] : "";
    return error_set(err, STATUS_INVALID, NULL,
                     "target=number: sample %lld%s%.80s%s has %lld of %d numbers; every sample needs all of them. "
                     "missing=drop (motifctl: --missing drop) leaves out samples without numbers",
                     (long long)sample, name[0] ? " (" : "", name, name[0] ? ")" : "",
                     (long long)(b->width > 0 ? b->numbers % b->width : 0), b->width > 0 ? b->width : 1);
}

enum status builder_value(struct builder *b, double value, struct error *err)
{
    int64_t sample = b->at - 1, kept = sample - b->missing_count;
    if (!(fabs(value) <= LARGEST))
        return error_set(err, STATUS_INVALID, NULL,
                         "target=number: a number of sample %lld is %g; it must be from %g to %g", (long long)sample,
                         value, -LARGEST, LARGEST);
    if (kept == 0 && b->width < NUMBERS_MOST)
        b->width++;
    if (b->numbers < kept * b->width)
        return builder_too_few(b, err);
    if (b->numbers >= (kept + 1) * b->width)
        return error_set(err, STATUS_INVALID, NULL, "target=number: sample %lld has more than %d numbers, %s",
                         (long long)sample, b->width,
                         kept == 0 ? "the most that is allowed" : "which is how many the first sample has");
    float *more = grown(b->c->number, (size_t)b->numbers, sizeof *more);
    if (!more)
        return error_memory(err, "numbers");
    b->c->number = more;
    more[b->numbers++] = (float)value;
    return STATUS_OK;
}

/* Reads the next number of a text, from *at on, and moves *at behind it; *there is false at the end. */
static enum status next_number(const char *text, size_t bytes, size_t *at, bool *there, float *value,
                               struct rounded *rounded, struct error *err)
{
    char word[NUMBER_TEXT];
    size_t length = 0;
    while (*at < bytes && strchr(" \t,", text[*at]))
        ++*at;
    while (*at + length < bytes && !strchr(" \t,", text[*at + length]))
        length++;
    *there = length > 0;
    snprintf(word, sizeof word, "%.*s", (int)(length < NUMBER_TEXT ? length : NUMBER_TEXT), text + *at);
    *at += length;
    bool number = length < NUMBER_TEXT && csv_number(word, value);
    if (number && csv_rounds(word, *value))
        rounded_add(rounded, "%s became %.0f", word, (double)*value);
    return !*there || number
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL, "'%.40s' is not a number from %g to %g", word, -LARGEST, LARGEST);
}

static bool digit_at(const char *text, size_t at, size_t bytes)
{
    return at < bytes && text[at] >= '0' && text[at] <= '9';
}

/* Whether a comma in a list of numbers may be a decimal sign: it stands between two whole numbers, and it is the only
 * comma, or blanks separate other numbers. */
static bool doubtful_comma(const char *text, size_t bytes)
{
    int doubtful = 0, blanks = 0;
    size_t begin = 0; /* where the digits before byte i begin */
    for (size_t i = 0; i < bytes; i++) {
        doubtful += text[i] == ',' && begin < i && digit_at(text, i + 1, bytes) &&
                    (begin == 0 || strchr(" \t,+-", text[begin - 1])) && !(begin > 1 && strchr("eE", text[begin - 2]));
        blanks += text[i] == ' ' || text[i] == '\t';
        begin = digit_at(text, i, bytes) ? begin : i + 1;
    }
    return doubtful > 0 && (doubtful == 1 || blanks > 0);
}

enum status builder_values_check(const char *text, size_t bytes, struct error *err)
{
    enum status status = STATUS_OK;
    struct rounded rounded = {0};
    float value;
    if (doubtful_comma(text, bytes))
        return error_set(err, STATUS_INVALID, NULL,
                         "'%.*s' may be numbers with a decimal comma, or several numbers; write a decimal point, and "
                         "blanks between numbers",
                         (int)(bytes < 40 ? bytes : 40), text);
    size_t at = 0;
    for (bool there = true; !status && there;)
        status = next_number(text, bytes, &at, &there, &value, &rounded, err);
    return status;
}

static enum status append_values(struct builder *b, const char *text, size_t bytes, struct error *err)
{
    struct error cause = {0};
    struct rounded rounded = {0};
    char where[48];
    float value;
    size_t at = 0;
    enum status status = builder_values_check(text, bytes, &cause);
    if (status)
        return error_set(err, status, NULL, "target=number, sample %lld: %s", (long long)(b->at - 1), cause.message);
    for (bool there = true; !status;) {
        status = next_number(text, bytes, &at, &there, &value, &rounded, err);
        if (status || !there)
            break;
        status = builder_value(b, (double)value, err);
    }
    (void)snprintf(where, sizeof where, "the numbers of sample %lld", (long long)(b->at - 1));
    rounded_join(&b->rounded, &rounded, where);
    return status;
}

enum status collection_names_add(struct collection_names *names, const char *name, struct error *err)
{
    char **more = grown(names->name, (size_t)names->count, sizeof *more);
    names->name = more ? more : names->name;
    if (!more || !(more[names->count] = strdup(name)))
        return error_memory(err, "names");
    names->count++;
    return STATUS_OK;
}

enum status builder_value_name(struct builder *b, const char *name, struct error *err)
{
    return collection_names_add(&b->c->vocabulary, name, err);
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
    /* FNV-1a. A client does not know the address of the table, so it cannot choose names that all share a place. */
    uint64_t hash = 0xCBF29CE484222325u ^ (uintptr_t)list->table;
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
    *b = (struct builder){.c = c, .limits = *limits, .options = options, .wanted = options->target};
    value_store_open(&b->store, options->store, limits->bytes);
    b->store.work = options->work;
}

void builder_close(struct builder *b)
{
    name_list_close(&b->vocabulary);
    name_list_close(&b->groups);
    name_list_close(&b->symbols);
    free(b->text);
    free(b->texts);
    free(b->missing);
    free(b->last);
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
    return c->kind == COLLECTION_TABLE || c->kind == COLLECTION_RECORDINGS || c->kind == COLLECTION_MOTIFS ||
           c->kind == COLLECTION_TEXTS;
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
    int32_t number;
    int64_t had = b->last_room;
    enum status status = name_list_add(&b->vocabulary, token, bytes, &number, err);
    if (!status)
        status = collection_build_grow((void **)&b->last, &b->last_room, (int64_t)number + 1, sizeof *b->last, err);
    if (status)
        return status;
    memset(b->last + had, 0, (size_t)(b->last_room - had) * sizeof *b->last);
    bool again = b->last[number] == b->at;
    b->last[number] = b->at;
    return again ? STATUS_OK : builder_number(b, number, err);
}

/* ---- texts of labels --------------------------------------------------------------------------------------- */

bool builder_says_missing(const struct builder *b, const char *text, size_t bytes)
{
    static const char *const missing[] = {"nan",  "NaN",  "NAN",  "NA",   "N/A",  "n/a",
                                          "#N/A", "<NA>", "None", "NULL", "null", "NaT"};
    for (size_t i = 0; b->options->missing != MISSING_KEEP && i < sizeof missing / sizeof missing[0]; i++)
        if (strlen(missing[i]) == bytes && memcmp(missing[i], text, bytes) == 0)
            return true;
    return false;
}

/* Whether a label may have any number of names, so that none is a label too. */
static bool has_several(const struct builder *b)
{
    enum collection_target target = b->wanted != TARGET_NONE ? b->wanted : b->usual;
    return target == TARGET_LABELS || target == TARGET_SEQUENCE || target == TARGET_COUNT;
}

enum status builder_no_label(struct builder *b, const char *what, int64_t number, struct error *err)
{
    bool several = has_several(b);
    if (b->missing_count > 0 && b->missing[b->missing_count - 1] == b->at - 1)
        return STATUS_OK;
    if (b->missing_count == 0)
        (void)snprintf(b->first_missing, sizeof b->first_missing, "%s %lld", what, (long long)number);
    if (b->options->missing != MISSING_DROP && b->wanted == TARGET_NUMBER)
        return error_set(err, STATUS_INVALID, NULL,
                         "%s has no number; every %s needs one. missing=drop (motifctl: --missing drop) leaves it out",
                         b->first_missing, what);
    if (b->options->missing != MISSING_DROP)
        return error_set(err, STATUS_INVALID, NULL,
                         "%s has no label; every %s needs one%s. missing=drop (motifctl: --missing drop) leaves it out",
                         b->first_missing, what,
                         several ? "" : ", unless the labels are sets: target=labels (motifctl: --target labels)");
    enum status status =
        collection_build_grow((void **)&b->missing, &b->missing_room, b->missing_count + 1, sizeof *b->missing, err);
    if (!status)
        b->missing[b->missing_count++] = b->at - 1;
    return status;
}

enum status builder_label(struct builder *b, const char *text, size_t bytes, const char *what, int64_t number,
                          struct error *err)
{
    bool several = has_several(b);
    bool none = bytes == 0 || builder_says_missing(b, text, bytes);
    if (b->wanted == TARGET_NUMBER)
        return none && (bytes > 0 || b->options->missing == MISSING_DROP) ? builder_no_label(b, what, number, err)
                                                                          : append_values(b, text, bytes, err);
    if ((bytes == 0 && !several && !b->empties) || builder_says_missing(b, text, bytes))
        return builder_no_label(b, what, number, err);
    if (bytes == 0)
        return STATUS_OK;
    if ((int64_t)(b->text_used + bytes) >= b->limits.bytes)
        return error_set(err, STATUS_LIMIT, NULL, "the labels take more than %lld bytes, the most that is allowed",
                         (long long)b->limits.bytes);
    int64_t room = (int64_t)b->text_room;
    enum status status =
        collection_build_grow((void **)&b->texts, &b->texts_room, b->texts_count + 1, sizeof *b->texts, err);
    if (!status)
        status = collection_build_grow((void **)&b->text, &room, (int64_t)(b->text_used + bytes) + 1, 1, err);
    if (status)
        return status;
    b->text_room = (size_t)room;
    memcpy(b->text + b->text_used, text, bytes);
    b->text[b->text_used + bytes] = '\0';
    b->texts[b->texts_count++] = (struct label_text){b->at - 1, b->text_used, bytes};
    b->text_used += bytes + 1;
    return STATUS_OK;
}

int builder_indicator(const char *cell)
{
    static const char *const yes[] = {"1", "1.0", "true", "yes"}, *const no[] = {"", "0", "0.0", "false", "no"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (strcasecmp(cell, yes[i]) == 0)
            return 1;
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (strcasecmp(cell, no[i]) == 0)
            return 0;
    return -1;
}

void builder_label_columns(struct builder *b, int columns, bool indicators)
{
    struct collection_recognised *r = &b->c->recognised;
    b->usual = TARGET_LABELS;
    (void)snprintf(r->labels, sizeof r->labels, "a set: %s of %d columns", indicators ? "the names" : "the texts",
                   columns);
}

enum status builder_cell(struct builder *b, bool indicators, const char *name, const char *cell, int64_t row,
                         struct error *err)
{
    bool text = cell[0] != '\0' && !builder_says_missing(b, cell, strlen(cell));
    int there = indicators ? builder_indicator(cell) : text;
    if (there < 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "row %lld, column '%.60s': '%.40s' is neither 0 nor 1, but the columns of labels have 0 and 1 "
                         "in the first row",
                         (long long)row, name, cell);
    const char *token = indicators ? name : cell;
    return there ? builder_token_once(b, token, strlen(token), err) : STATUS_OK;
}

bool builder_has_label(const struct builder *b, int64_t sample)
{
    int64_t low = 0, high = b->texts_count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (b->texts[middle].sample == sample)
            return true;
        low = b->texts[middle].sample < sample ? middle + 1 : low;
        high = b->texts[middle].sample < sample ? high : middle;
    }
    return false;
}

enum status builder_record(struct builder *b, const char *name, struct error *err)
{
    struct collection_names *names = &b->c->records;
    if (strlen(name) >= NAME_BYTES)
        return error_set(err, STATUS_INVALID, NULL,
                         "the id '%.40s...' is longer than %d bytes, the most that is allowed", name, NAME_BYTES - 1);
    return collection_names_add(names, name, err);
}

enum status builder_column(struct builder *b, const char *role, const char *name, struct error *err)
{
    struct collection_recognised *r = &b->c->recognised;
    struct collection_column *more = grown(r->column, (size_t)r->columns, sizeof *more);
    r->column = more ? more : r->column;
    if (!more || !(more[r->columns].name = strdup(name)))
        return error_memory(err, "names");
    more[r->columns++].role = role;
    return STATUS_OK;
}

enum status builder_group(struct builder *b, const char *name, struct error *err)
{
    struct collection *c = b->c;
    int32_t number;
    enum status status = name_list_add(&b->groups, name, strlen(name), &number, err);
    int64_t had = b->groups_room;
    if (!status)
        status = collection_build_grow((void **)&c->group, &b->groups_room, b->at, sizeof *c->group, err);
    if (status)
        return status;
    memset(c->group + had, 0, (size_t)(b->groups_room - had) * sizeof *c->group);
    c->group[b->at - 1] = number;
    b->grouped++;
    return STATUS_OK;
}

enum status builder_part(struct builder *b, const char *text, struct error *err)
{
    struct collection *c = b->c;
    int which = collection_part_named(text);
    if (which < 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "sample %lld: the part '%.40s' must be train, validation or test; an empty one is not allowed",
                         (long long)(b->at - 1), text);
    int64_t had = b->parts_room;
    enum status status = collection_build_grow((void **)&c->part, &b->parts_room, b->at, 1, err);
    if (status)
        return status;
    memset(c->part + had, 0, (size_t)(b->parts_room - had));
    c->part[b->at - 1] = (unsigned char)which;
    b->parted++;
    return STATUS_OK;
}

enum status builder_box(struct builder *b, int64_t sample, const int32_t place[4], const char *symbol,
                        struct error *err)
{
    struct collection *c = b->c;
    int32_t number;
    if (c->boxes >= b->limits.labels)
        return error_set(err, STATUS_LIMIT, NULL, "there are more than %lld boxes, the most that is allowed",
                         (long long)b->limits.labels);
    enum status status = name_list_add(&b->symbols, symbol, strlen(symbol), &number, err);
    if (status)
        return status;
    status = collection_build_grow((void **)&c->box, &b->boxes_room, c->boxes + 1, sizeof *c->box, err);
    if (status)
        return status;
    status =
        collection_build_grow((void **)&b->box_sample, &b->box_samples_room, c->boxes + 1, sizeof *b->box_sample, err);
    if (status)
        return status;
    memcpy(c->box[c->boxes], (int32_t[]){number, place[0], place[1], place[2], place[3]}, sizeof *c->box);
    b->box_sample[c->boxes++] = sample;
    return STATUS_OK;
}
