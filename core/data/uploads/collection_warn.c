/* Warnings about an upload: things that are allowed but often a mistake. The readers of formats add what they notice
 * while they read. collection_inspect() looks at every finished collection. It warns about copies of samples, about
 * columns, channels and numbers that never change, about columns that equal the label or have its name, about columns
 * of very different size, and about labels that look like absence or like other parts of a header. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/grown.h"
#include "core/base/utf8.h"
#include "core/data/uploads/collection_build.h"
#include "core/formats/table/table_columns.h"

enum {
    WARNINGS = 32,
    SHOWN = 5,      /* largest number of names that one warning lists */
    NAME_SHOWN = 20 /* largest number of bytes of a name in a warning */
};

/* The number of bytes of a name that a warning shows: at most NAME_SHOWN, and only whole characters. */
static int collection_warn_shown(const char *name)
{
    return (int)utf8_cut(name, strlen(name), NAME_SHOWN);
}

void collection_list_add(struct collection_list *list, const char *name)
{
    size_t room = sizeof list->text - list->used;
    int wrote = list->count < SHOWN
                    ? snprintf(list->text + list->used, room, "%s'%.*s%s'", list->count > 0 ? ", " : "",
                               collection_warn_shown(name), name, strlen(name) > NAME_SHOWN ? "..." : "")
                : list->count == SHOWN ? snprintf(list->text + list->used, room, ", ...")
                                       : 0;
    list->used += wrote > 0 && (size_t)wrote < room ? (size_t)wrote : 0;
    list->count++;
}

enum status collection_warn(struct collection *c, struct error *err, const char *code, const char *format, ...)
{
    if (c->warnings == WARNINGS)
        return STATUS_OK;
    struct collection_warning *more = grown(c->warning, (size_t)c->warnings, sizeof *more);
    if (!more)
        return error_memory(err, "a warning");
    c->warning = more;
    struct collection_warning *w = &more[c->warnings++];
    w->code = code;
    va_list list;
    va_start(list, format);
    (void)vsnprintf(w->text, sizeof w->text, format, list);
    va_end(list);
    return STATUS_OK;
}

/* ---- copies ------------------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, uint32_t word)
{
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

/* Hash of a sample's values and length. Two samples with the same 64 bits count as copies. */
static uint64_t values_hash(const struct collection *c, int64_t sample)
{
    int64_t begin = collection_begin(c, sample);
    int64_t count = collection_length(c, sample) * c->channels * c->rows;
    uint64_t hash = 0xCBF29CE484222325u ^ (uint64_t)count;
    for (int64_t i = 0; i < count; i++) {
        uint32_t word;
        float value = collection_value(c, begin + i);
        memcpy(&word, &value, sizeof word);
        hash = mix(hash, word);
    }
    return hash;
}

static bool same_labels(const struct collection *c, int64_t a, int64_t b)
{
    const int32_t *one, *other;
    size_t width = (size_t)c->vocabulary.count;
    if (c->target == TARGET_NUMBER)
        return memcmp(c->number + (size_t)a * width, c->number + (size_t)b * width, width * sizeof *c->number) == 0;
    int count = collection_labels(c, a, &one);
    return count == collection_labels(c, b, &other) &&
           (count == 0 || memcmp(one, other, (size_t)count * sizeof *one) == 0);
}

struct copies {
    int64_t all, contrary; /* all: number of samples that equal an earlier one; contrary: how many of these have another
                              label than the earlier sample */
};

/* Counts copies with an open hash table. table: [1 << bits] index of a sample, plus 1; 0: the entry is free. hashes:
 * [count]. */
static void count_copies(const struct collection *c, int bits, int64_t *table, uint64_t *hashes, struct copies *copies)
{
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (int64_t i = 0; i < c->count && !work_stopped(c->work); i++) {
        uint64_t at = (hashes[i] = values_hash(c, i)) & mask;
        while (table[at] > 0 && hashes[table[at] - 1] != hashes[i])
            at = (at + 1) & mask;
        if (table[at] == 0) {
            table[at] = i + 1;
            continue;
        }
        copies->all++;
        copies->contrary += !same_labels(c, table[at] - 1, i);
    }
}

static enum status inspect_copies(struct collection *c, struct error *err)
{
    int bits = 4;
    while ((int64_t)1 << bits < 2 * c->count)
        bits++;
    struct copies copies = {0};
    int64_t *table = calloc((size_t)1 << bits, sizeof *table);
    uint64_t *hashes = malloc((size_t)c->count * sizeof *hashes);
    if (table && hashes)
        count_copies(c, bits, table, hashes, &copies);
    bool good = table && hashes;
    free(table);
    free(hashes);
    if (!good)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to compare samples");
    if (copies.all == 0)
        return STATUS_OK;
    return collection_warn(c, err, "duplicates",
                           "%" PRId64 " of %" PRId64 " samples have the same values as an earlier sample%s; copies in "
                           "the training and the test part make the measured errors too small",
                           copies.all, c->count, copies.contrary > 0 ? ", some of them with another label" : "");
}

/* ---- constants --------------------------------------------------------------------------------------------- */

/* Whether a channel (of a table: a column) has the same value everywhere in all samples. */
static bool constant(const struct collection *c, int part)
{
    bool table = c->kind == COLLECTION_TABLE;
    float first = collection_value(c, table ? part : part * c->rows * collection_length(c, 0));
    for (int64_t i = 0; i < c->count && !work_stopped(c->work); i++) {
        int64_t size = table ? 1 : c->rows * collection_length(c, i);
        int64_t begin = collection_begin(c, i) + part * size;
        for (int64_t j = 0; j < size; j++)
            if (collection_value(c, begin + j) != first)
                return false;
    }
    return true;
}

static enum status inspect_constants(struct collection *c, struct error *err)
{
    bool table = c->kind == COLLECTION_TABLE;
    int parts = table ? c->cols : c->channels;
    struct collection_list found = {0};
    for (int i = 0; i < parts && c->count > 1; i++) {
        char number[16];
        snprintf(number, sizeof number, "%d", i);
        if (constant(c, i))
            collection_list_add(&found, table ? c->columns.name[i] : number);
    }
    if (found.count == 0)
        return STATUS_OK;
    return collection_warn(c, err, table ? "constant-columns" : "constant-channels",
                           "%d of %d %s have the same value in every sample and carry no information: %s", found.count,
                           parts, table ? "columns" : "channels", found.text);
}

/* Warns about targets that are numbers and have the same value in all samples, because nothing can be learned about
 * them. */
static enum status inspect_numbers(struct collection *c, struct error *err)
{
    int width = c->vocabulary.count;
    struct collection_list found = {0};
    for (int k = 0; c->target == TARGET_NUMBER && c->count > 1 && k < width; k++) {
        int64_t i = 1;
        while (i < c->count && c->number[i * width + k] == c->number[k])
            i++;
        if (i == c->count)
            collection_list_add(&found, c->vocabulary.name[k]);
    }
    if (found.count == 0)
        return STATUS_OK;
    return collection_warn(c, err, "constant-numbers",
                           "%d of %d numbers are equal in all samples, so a model cannot learn them: %s", found.count,
                           width, found.text);
}

/* ---- labels ------------------------------------------------------------------------------------------------ */

/* Warns about labels that contain '=': headers of public sequence files contain words such as OS=Human, which are not
 * labels. */
static enum status inspect_labels(struct collection *c, struct error *err)
{
    struct collection_list found = {0};
    for (int i = 0; c->kind == COLLECTION_SEQUENCES && i < c->vocabulary.count; i++)
        if (strchr(c->vocabulary.name[i], '='))
            collection_list_add(&found, c->vocabulary.name[i]);
    if (found.count == 0)
        return STATUS_OK;
    return collection_warn(
        c, err, "labels-with-equals",
        "%d of %d labels contain '=': %s; every word after the name of a record is a label, so remove "
        "the words that are not labels from the headers",
        found.count, c->vocabulary.count, found.text);
}

static bool one_of(const char *const *words, const char *word, size_t bytes)
{
    for (; *words; words++)
        if (strlen(*words) == bytes && strncasecmp(word, *words, bytes) == 0)
            return true;
    return false;
}

/* Whether a name alone says that something is not there: "unbound", "none", "0". Words may be joined by blanks, '_' or
 * '-': "healthy control", "wild-type", "no finding". */
static bool says_nothing(const char *name)
{
    static const char between[] = " _-";
    static const char *const nothing[] = {
        "none",    "no",         "not",        "non",       "absent",    "absence",  "negative", "neg",      "control",
        "ctrl",    "background", "bg",         "unbound",   "0",         "false",    "nothing",  "null",     "other",
        "neither", "empty",      "without",    "shuffled",  "normal",    "norm",     "ok",       "okay",     "good",
        "healthy", "nominal",    "intact",     "clean",     "faultless", "flawless", "wt",       "wildtype", "baseline",
        "mock",    "untreated",  "unaffected", "undamaged", "noise",     "silence",  "blank",    "pass",     "passed",
        "gesund",  "fehlerfrei", "sain",       "sano",      "normale",   NULL};
    static const char *const negations[] = {"no", "non", "not", "without", NULL};
    static const char *const things[] = {"finding", "findings", "defect", "defects", "damage", "disease",
                                         "event",   "target",   "fault",  "signal",  "object", "anomaly",
                                         "tumor",   "tumour",   "lesion", NULL};
    char joined[NAME_BYTES];
    size_t used = 0;
    bool all = true, negated = false;
    for (const char *at = name + strspn(name, between); *at; at += strspn(at, between)) {
        size_t bytes = strcspn(at, between);
        all = all && (one_of(nothing, at, bytes) || (negated && one_of(things, at, bytes)));
        negated = negated || one_of(negations, at, bytes);
        if (used + bytes < sizeof joined)
            memcpy(joined + used, at, bytes);
        used += bytes;
        at += bytes;
    }
    return used == 0 ? strcmp(name, "-") == 0 : all || (used < sizeof joined && one_of(nothing, joined, used));
}

/* Whether a name says that something is not there: as says_nothing(), or "not_bound", "non-site". other: the other
 * name of the vocabulary; the name "un" + other also counts. */
static bool says_absence(const char *name, const char *other)
{
    static const char *const begins[] = {"not_", "not-", "not ", "non_", "non-", "non ",     "no_",      "no-",
                                         "no ",  "un",   "neg_", "neg-", "neg ", "without_", "without-", "without "};
    if (says_nothing(name))
        return true;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        size_t length = strlen(begins[i]);
        bool separate = strchr("_- ", begins[i][length - 1]) != NULL;
        if (strncasecmp(name, begins[i], length) == 0 && (separate || strcasecmp(name + length, other) == 0))
            return true;
    }
    return strncasecmp(name, "non", 3) == 0 && strcasecmp(name + 3, other) == 0;
}

/* The index of a name among three or more that says that all others are absent; -1: none. Names that are often real
 * classes beside others do not count: the digit 0, a minus sign, the spoken words "no" and "not". */
static int absence_of_all(const struct collection_names *names)
{
    static const char *const real[] = {"0", "-", "no", "not"};
    for (int i = 0; i < names->count; i++) {
        bool counts = says_nothing(names->name[i]);
        for (size_t j = 0; j < sizeof real / sizeof real[0]; j++)
            counts = counts && strcasecmp(names->name[i], real[j]) != 0;
        if (counts)
            return i;
    }
    return -1;
}

/* Warns if one of several classes is named for the absence of the others. SPARLING looks for a motif of each name, so
 * samples without motifs should have an empty label. */
static enum status inspect_absence(struct collection *c, struct error *err)
{
    bool marks = c->kind == COLLECTION_SEQUENCES || c->kind == COLLECTION_IMAGES || c->kind == COLLECTION_RECORDINGS;
    if (!marks || c->target != TARGET_CLASS || c->vocabulary.count < 2)
        return STATUS_OK;
    char *const *name = c->vocabulary.name;
    bool two = c->vocabulary.count == 2;
    int absent = !two                             ? absence_of_all(&c->vocabulary)
                 : says_absence(name[0], name[1]) ? 0
                 : says_absence(name[1], name[0]) ? 1
                                                  : -1;
    if (absent < 0)
        return STATUS_OK;
    char others[NAME_SHOWN + 8] = "the other names are";
    if (two)
        (void)snprintf(others, sizeof others, "'%.*s' is", collection_warn_shown(name[1 - absent]), name[1 - absent]);
    return collection_warn(
        c, err, "absence-as-label",
        "the label '%.*s' seems to say that %s absent, but a motif would be sought for each "
        "name; upload with absent='%.*s' (motifctl: --absent '%.*s'), which makes it the empty label",
        collection_warn_shown(name[absent]), name[absent], others, collection_warn_shown(name[absent]), name[absent],
        collection_warn_shown(name[absent]), name[absent]);
}

bool collection_numbered(const struct collection *c)
{
    const struct collection_names *columns = &c->columns;
    long first = 0;
    size_t stem = strcspn(columns->name[0], "0123456789");
    for (int i = 0; i < columns->count; i++) {
        const char *name = columns->name[i];
        char *end;
        if (strcspn(name, "0123456789") != stem || strncmp(name, columns->name[0], stem) != 0 || name[stem] == '\0')
            return false;
        long number = strtol(name + stem, &end, 10);
        first = i == 0 ? number : first;
        if (*end != '\0' || number - i != first)
            return false;
    }
    return true;
}

/* Warns about a table with labels whose columns are perhaps the points of a signal: many columns that have numbers
 * instead of names. */
static enum status inspect_table(struct collection *c, struct error *err)
{
    enum { LEAST_POINTS = 16 };
    if (c->kind != COLLECTION_TABLE || c->target == TARGET_NONE || c->columns.count < LEAST_POINTS ||
        !collection_numbered(c))
        return STATUS_OK;
    return collection_warn(c, err, "table-or-signals",
                           "rows of %d numbers with labels were stored as a table; if the columns are the points of a "
                           "signal, upload with layout=signals (motifctl: --signals)",
                           c->columns.count);
}

/* ---- the scale of a table -------------------------------------------------------------------------------------- */

enum { LOOKED_AT = 1000 }; /* rows of a table, evenly spaced, from which its scale is chosen */

static int rows_looked_at(const struct collection *c)
{
    return c->count < LOOKED_AT ? (int)c->count : LOOKED_AT;
}

enum collection_scale collection_scale_of(const struct collection *c)
{
    enum { LEAST_COLUMNS = 10, ABOVE = 30, PIXEL = 255 };
    int rows = rows_looked_at(c);
    int64_t zeros = 0, columns = c->cols;
    float most = 0;
    if (c->scale != SCALE_AUTO || c->kind != COLLECTION_TABLE)
        return c->scale != SCALE_AUTO ? c->scale : SCALE_NONE;
    for (int i = 0; i < rows; i++)
        for (int64_t at = collection_begin(c, c->count * i / rows), end = at + columns; at < end; at++) {
            float x = collection_value(c, at);
            if (!(x >= 0) || x > floorf(x))
                return SCALE_STANDARD;
            zeros += x <= 0;
            most = x > most ? x : most;
        }
    bool counts =
        columns >= LEAST_COLUMNS && most > ABOVE && (most < PIXEL || most > PIXEL) && zeros * 10 >= rows * columns;
    return counts ? SCALE_COUNTS : SCALE_STANDARD;
}

/* Refuses negative counts, and warns about counts that are not whole. */
static enum status inspect_counts(struct collection *c, struct error *err)
{
    for (int64_t i = 0, end = collection_begin(c, c->count); i < end; i++) {
        float x = collection_value(c, i);
        const char *name = c->columns.name[i % c->cols];
        if (x < 0)
            return error_set(err, STATUS_INVALID, NULL,
                             "scale=counts: row %lld, column '%.*s' has %g, but counts are at least 0; upload with "
                             "scale=standard or scale=robust",
                             (long long)(i / c->cols + 1), collection_warn_shown(name), name, (double)x);
        if (x > floorf(x))
            return collection_warn(c, err, "counts-not-whole",
                                   "scale=counts, but row %lld, column '%.*s' has %g, which is not a whole number; the "
                                   "numbers are used as they are, like intensities",
                                   (long long)(i / c->cols + 1), collection_warn_shown(name), name, (double)x);
    }
    return STATUS_OK;
}

/* The deviation of a column of a table, or of a channel, in `rows` samples. */
static double part_deviation(const struct collection *c, int part, int rows)
{
    double first = 0, sum = 0, squares = 0;
    int64_t count = 0;
    for (int i = 0; i < rows; i++) {
        int64_t sample = c->count * i / rows, length = collection_length(c, sample) * c->rows;
        bool table = c->kind == COLLECTION_TABLE;
        int64_t at = collection_begin(c, sample) + (table ? part : part * length), end = at + (table ? 1 : length);
        first = i == 0 ? (double)collection_value(c, at) : first;
        for (count += end - at; at < end; at++) {
            double x = (double)collection_value(c, at) - first;
            sum += x;
            squares += x * x;
        }
    }
    return sqrt(fmax(0, squares / (double)count - sum / (double)count * (sum / (double)count)));
}

/* Warns about columns or channels of very different size, so that one of them would outweigh all others. */
static enum status inspect_scale(struct collection *c, struct error *err)
{
    const double different = 1000;
    bool table = c->kind == COLLECTION_TABLE;
    int rows = rows_looked_at(c), small = -1, large = -1, parts = table ? c->cols : c->channels;
    double least = HUGE_VAL, most = 0;
    if (!table && (!c->values || collection_one_hot(c)))
        return STATUS_OK;
    if (table && c->scale == SCALE_COUNTS)
        return inspect_counts(c, err);
    if (table && (c->scale != SCALE_AUTO || collection_numbered(c) || collection_scale_of(c) != SCALE_STANDARD))
        return STATUS_OK;
    for (int j = 0; j < parts; j++) {
        double deviation = part_deviation(c, j, rows);
        small = deviation > 0 && deviation < least ? j : small;
        least = deviation > 0 ? fmin(least, deviation) : least;
        large = deviation > most ? j : large;
        most = fmax(most, deviation);
    }
    if (small < 0 || most < different * least)
        return STATUS_OK;
    if (!table && c->rows == 1)
        return collection_warn(c, err, "different-sizes",
                               "the deviation of channel %d is %.3g, that of channel %d is %.3g; jobs therefore scale "
                               "each channel to mean 0 and deviation 1",
                               large, most, small, least);
    if (!table)
        return collection_warn(
            c, err, "different-sizes",
            "the deviation of channel %d is %.3g, that of channel %d is %.3g; jobs scale all channels of pictures by "
            "one number, so the smaller one is hardly seen; divide each channel by its deviation before the upload",
            large, most, small, least);
    const char *wide = c->columns.name[large], *narrow = c->columns.name[small];
    return collection_warn(c, err, "different-sizes",
                           "the deviation of column '%.*s' is %.3g, that of '%.*s' is %.3g; jobs therefore scale each "
                           "column to mean 0 and deviation 1, and answer in the units of the file; scale=none "
                           "(motifctl: --scale none) turns this off",
                           collection_warn_shown(wide), wide, most, collection_warn_shown(narrow), narrow, least);
}

/* ---- columns that give the label away ---------------------------------------------------------------------- */

/* The classes of a table as numbers: their names if all are numbers, else their indices. */
static void class_numbers(const struct collection_names *names, double *number)
{
    bool numbers = true;
    for (int k = 0; k < names->count; k++) {
        char *end;
        number[k] = strtod(names->name[k], &end);
        numbers = numbers && *end == '\0' && isfinite(number[k]);
    }
    for (int k = 0; !numbers && k < names->count; k++)
        number[k] = k;
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Whether each class has a value of its own in the column. own: room for a value of each class. */
static bool value_of_class(const struct collection *c, int column, float *own)
{
    int classes = c->vocabulary.count;
    for (int k = 0; k < classes; k++)
        own[k] = NAN;
    for (int64_t i = 0; i < c->count; i++) {
        float value = collection_value(c, collection_begin(c, i) + column), *mine = &own[c->label[i]];
        if (!isnan(*mine) && *mine != value)
            return false;
        *mine = value;
    }
    qsort(own, (size_t)classes, sizeof *own, compare_floats);
    for (int k = 1; k < classes; k++)
        if (own[k] == own[k - 1])
            return false;
    return true;
}

/* The size of the correlation of a column and the classes; 0 if one of them is constant. */
static double correlation(const struct collection *c, int column, const double *number)
{
    double n = (double)c->count, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    double first = (double)collection_value(c, collection_begin(c, 0) + column), other = number[c->label[0]];
    for (int64_t i = 0; i < c->count; i++) { /* differences to the first row keep the sums small */
        double a = (double)collection_value(c, collection_begin(c, i) + column) - first,
               b = number[c->label[i]] - other;
        x += a;
        y += b;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    double spread = (xx - x * x / n) * (yy - y * y / n);
    return spread > 0 ? fabs(xy - x * y / n) / sqrt(spread) : 0;
}

/* Whether the values of a column count the rows: 0, 1, 2, ... or 1, 2, 3, ... Times may do so. */
static bool counts_rows(const struct collection *c, int column)
{
    if (strncasecmp(c->columns.name[column], "time", 4) == 0)
        return false;
    float first = collection_value(c, collection_begin(c, 0) + column);
    for (int64_t i = 0; i < c->count; i++)
        if (collection_value(c, collection_begin(c, i) + column) != first + (float)i)
            return false;
    return first == 0 || first == 1;
}

/* Whether a column has a name such as sample_id, Patient ID or sampleId. */
static bool named_for_rows(const char *name)
{
    size_t bytes = strlen(name);
    const char *end = bytes > 2 ? name + bytes - 2 : "";
    return strcasecmp(end, "id") == 0 &&
           (strchr("_-. ", end[-1]) || (end[0] == 'I' && end[-1] >= 'a' && end[-1] <= 'z'));
}

/* Warns about features that equal the class, that have the name of a label, or that name the rows. */
static enum status inspect_features(struct collection *c, struct error *err)
{
    enum { LEAST_ROWS = 6 }; /* with fewer rows, features agree with the classes by chance */
    int classes = c->vocabulary.count;
    struct collection_list copies = {0}, named = {0}, counting = {0};
    if (c->kind != COLLECTION_TABLE)
        return STATUS_OK;
    bool compared = c->target == TARGET_CLASS && classes > 1 && c->count >= LEAST_ROWS && c->count >= 2 * classes;
    double *number = malloc(((size_t)classes + 1) * sizeof *number);
    float *own = malloc(((size_t)classes + 1) * sizeof *own);
    bool good = number && own;
    if (good)
        class_numbers(&c->vocabulary, number);
    for (int j = 0; good && j < c->columns.count; j++)
        if (compared && (value_of_class(c, j, own) || correlation(c, j, number) > .99))
            collection_list_add(&copies, c->columns.name[j]);
        else if (table_label_name(c->columns.name[j]))
            collection_list_add(&named, c->columns.name[j]);
        else if (c->count >= LEAST_ROWS && (named_for_rows(c->columns.name[j]) || counts_rows(c, j)))
            collection_list_add(&counting, c->columns.name[j]);
    free(number);
    free(own);
    if (!good)
        return error_memory(err, "a comparison of columns");
    enum status status =
        copies.count == 0
            ? STATUS_OK
            : collection_warn(c, err, "label-copies",
                              "%d features equal the label, or nearly (correlation above .99), so a model needs no "
                              "other: %s; leave copies out with ignore (motifctl: --ignore COLUMN)",
                              copies.count, copies.text);
    if (!status && counting.count > 0)
        status = collection_warn(c, err, "identifier-features",
                                 "%d features seem to name the rows: %s; leave them out with ignore (motifctl: "
                                 "--ignore COLUMN), or state them as id or group",
                                 counting.count, counting.text);
    if (status || named.count == 0)
        return status;
    return collection_warn(
        c, err, "label-features",
        "%d features have the name of a label: %s; name the label with label (motifctl: --label COLUMN), and leave "
        "others out with ignore (--ignore COLUMN)",
        named.count, named.text);
}

enum status collection_inspect(struct collection *c, struct error *err)
{
    static enum status (*const inspect[])(struct collection * collection, struct error * fault) = {
        inspect_copies, inspect_constants, inspect_numbers,  inspect_absence,
        inspect_table,  inspect_scale,     inspect_features, inspect_labels};
    c->moments = collection_measure(c);
    enum status status = work_check(c->work, err);
    for (size_t i = 0; !status && i < sizeof inspect / sizeof inspect[0]; i++) {
        status = inspect[i](c, err);
        if (!status)
            status = work_check(c->work, err);
    }
    return status;
}
