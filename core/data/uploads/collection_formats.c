/* The list of upload formats, and the function that reads any of them. The list refers to every format, and every
 * format's file calls functions of collection.c. The list has a file of its own, because in collection.c it would
 * create a cycle of calls. */
#include <stdio.h>
#include <string.h>

#include "core/data/uploads/collection.h"
#include "core/data/uploads/collection_build.h"
#include "core/formats/gunzip.h"
#include "core/genomics/genomics.h"

/* The table of the upload options, made from options.inc, and their values as text. Routes, the OpenAPI document, the
 * list of data sets and the hash of a data set use it. */

const char *const collection_layouts[] = {"auto", "channels-last", "channels-first", "signals", NULL};
const char *const collection_words[] = {"unicode", "blanks", "tabs", NULL};
const char *const collection_orders[] = {"kept", "none", NULL};
const char *const collection_missing[] = {"refuse", "drop", "keep", NULL};
const char *const collection_stated_targets[] = {"labels", "sequence", "class", "count", "number", NULL};
const char *const collection_genome_files[] = {"genome.fa.fai", "genome.fa.gz.fai", NULL};
const char *const collection_signal_files[] = {"signal.bw", NULL};

/* clang-format off */
#define ROW(BIT, member, what, formats, formats_meaning, other_meaning)                                         \
    .field.name = #member, .field.offset = offsetof(struct collection_options, member), .field.meaning = what,         \
    .option = OPTION_##BIT, .some = formats, .some_meaning = formats_meaning, .meaning = other_meaning
#define UPLOAD_TEXT(BIT, member, most, what, formats, formats_meaning, other, ...)                              \
    {.field.type = FIELD_TEXT, .field.max = most, ROW(BIT, member, what, formats, formats_meaning, other)},
#define UPLOAD_INTEGER(BIT, member, low, high, none, what, formats, formats_meaning, other, ...)                \
    {.field.type = FIELD_INT, .field.min = low, .field.max = high, .usual = none,                                      \
     ROW(BIT, member, what, formats, formats_meaning, other)},
#define CHOICE(BIT, member, all, stated, none, what, formats, formats_meaning, other)                           \
    {.field.type = FIELD_CHOICE, .field.choices = stated, .names = all, .usual = none,                                 \
     ROW(BIT, member, what, formats, formats_meaning, other)},
#define UPLOAD_CHOICE(BIT, member, all, stated, none, what, formats, formats_meaning, other, ...)               \
    CHOICE(BIT, member, all, stated, none, what, formats, formats_meaning, other)
#define UPLOAD_LAYOUT CHOICE
#define UPLOAD_FLAG(BIT, member, what, formats, formats_meaning, other, ...)                                         \
    {.field.type = FIELD_BOOL, ROW(BIT, member, what, formats, formats_meaning, other)},
/* clang-format on */
const struct collection_option_row collection_option_rows[COLLECTION_OPTIONS + 1] = {
#include "core/data/uploads/options.inc"
};

static int *number_at(const struct collection_option_row *row, struct collection_options *options)
{
    return (int *)(void *)((char *)options + row->field.offset);
}

static int number_of(const struct collection_option_row *row, const struct collection_options *options)
{
    return *(const int *)(const void *)((const char *)options + row->field.offset);
}

static const char *text_of(const struct collection_option_row *row, const struct collection_options *options)
{
    const char *text = *(const char *const *)(const void *)((const char *)options + row->field.offset);
    return text != NULL ? text : "";
}

void collection_option_clear(const struct collection_option_row *row, struct collection_options *options)
{
    if (row->field.type == FIELD_TEXT)
        *(const char **)(void *)((char *)options + row->field.offset) = "";
    else
        *number_at(row, options) = row->usual;
}

void collection_options_clear(struct collection_options *options)
{
    options->stated = 0;
    for (const struct collection_option_row *row = collection_option_rows; row->field.name != NULL; row++)
        collection_option_clear(row, options);
}

bool collection_option_state(const struct collection_option_row *row, struct collection_options *options,
                             const char *text)
{
    struct value value;
    if (value_read(&row->field, VALUE_QUERY, text, &value, NULL))
        return false;
    options->stated |= row->option;
    if (row->field.type == FIELD_TEXT)
        *(const char **)(void *)((char *)options + row->field.offset) = text;
    else if (row->field.type == FIELD_INT)
        *number_at(row, options) = (int)value.integer;
    else if (row->field.type == FIELD_BOOL)
        *number_at(row, options) = value.flag;
    for (int i = 0; row->names != NULL && row->names[i] != NULL; i++)
        if (strcmp(row->names[i], text) == 0)
            *number_at(row, options) = i;
    return true;
}

bool collection_option_is_usual(const struct collection_option_row *row, const struct collection_options *options)
{
    return row->field.type == FIELD_TEXT ? text_of(row, options)[0] == '\0' : number_of(row, options) == row->usual;
}

void collection_option_text(const struct collection_option_row *row, const struct collection_options *options,
                            char out[COLLECTION_OPTION_TEXT])
{
    out[0] = '\0';
    if (row->field.type == FIELD_TEXT) {
        (void)snprintf(out, COLLECTION_OPTION_TEXT, "%s", text_of(row, options));
    } else if (row->field.type == FIELD_INT || row->field.type == FIELD_BOOL) {
        if (!collection_option_is_usual(row, options))
            (void)snprintf(out, COLLECTION_OPTION_TEXT, "%d", number_of(row, options));
    } else {
        const char *name = row->names[number_of(row, options)];
        for (size_t i = 0; row->field.choices[i] != NULL; i++)
            if (strcmp(row->field.choices[i], name) == 0)
                (void)snprintf(out, COLLECTION_OPTION_TEXT, "%s", name);
    }
}

const char *collection_option_meaning(enum collection_option option, const char *format)
{
    char word[32];
    (void)snprintf(word, sizeof word, " %s ", format);
    for (const struct collection_option_row *row = collection_option_rows; row->field.name != NULL; row++)
        if (row->option == option)
            return strstr(row->some, word) != NULL ? row->some_meaning : row->meaning;
    return "";
}

/* The upload formats of DNA and RNA: FASTA, motifs in MEME's and JASPAR's format, and regions of a genome in BED or
 * narrowPeak. Their readers are hooks, because a build may leave them out (core/genomics/genomics.h). */

#define READER(hook)                                                                                                   \
    enum status collection_read_##hook(const struct byte_source *from, const struct collection_options *options,       \
                                       const struct collection_limits *limits, struct collection *c,                   \
                                       struct error *err)                                                              \
    {                                                                                                                  \
        return genomics.hook ? genomics.hook(from, options, limits, c, err)                                            \
                             : genomics_missing(STATUS_INVALID, NULL, err);                                            \
    }
READER(fasta)
READER(motifs)
READER(bed)

/* clang-format off */
#define ENDINGS(...) {__VA_ARGS__}
#define ONLY NULL
#define ALSO(type) type
#define UPLOAD_FORMAT(id, type, further, ends, reader, is_text, is_converted, options, layout_bits, negative_bits)     \
    {.name = id, .media_type = type, .further_type = further, .endings = ends, .read = reader, .text = is_text,        \
     .converted = is_converted, .reads = options, .layouts = layout_bits, .negatives = negative_bits},
#define UPLOAD_FORMAT_SAME_TYPE UPLOAD_FORMAT
/* clang-format on */
static const struct collection_format formats[] = {
#include "core/data/uploads/formats.inc"
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

#undef UPLOAD_FORMAT
#undef UPLOAD_FORMAT_SAME_TYPE
#define UPLOAD_FORMAT(id, ...) id,
#define UPLOAD_FORMAT_SAME_TYPE UPLOAD_FORMAT
const char *const collection_format_names[] = {
#include "core/data/uploads/formats.inc"
    NULL};

#undef UPLOAD_FORMAT
#undef UPLOAD_FORMAT_SAME_TYPE
#undef ONLY
#undef ALSO
#define ONLY
#define ALSO(type) type,
#define UPLOAD_FORMAT(id, type, further, ...) type, further
#define UPLOAD_FORMAT_SAME_TYPE(...)
const char *const collection_media_types[] = {
#include "core/data/uploads/formats.inc"
    "application/octet-stream", NULL};

const struct collection_format *collection_formats(size_t *count)
{
    *count = FORMATS;
    return formats;
}

const struct collection_format *collection_format_named(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

static void add_name(char out[COLLECTION_NAMES], const char *name, bool last)
{
    size_t used = strlen(out);
    (void)snprintf(out + used, COLLECTION_NAMES - used, "%s%s", used == 0 ? "" : last ? " and " : ", ", name);
}

/* Writes the names of the formats for which `reads` is true. */
static void list_formats(bool (*reads)(const struct collection_format *format, unsigned bit), unsigned bit,
                         char out[COLLECTION_NAMES])
{
    const char *waiting = NULL;
    out[0] = '\0';
    for (size_t i = 0; i < FORMATS; i++) {
        if (!reads(&formats[i], bit))
            continue;
        if (waiting)
            add_name(out, waiting, false);
        waiting = formats[i].name;
    }
    if (waiting)
        add_name(out, waiting, true);
}

static bool reads_option(const struct collection_format *format, unsigned option)
{
    return (format->reads & option) != 0;
}

static bool reads_layout(const struct collection_format *format, unsigned layout)
{
    return format->reads & OPTION_LAYOUT && (format->layouts == 0 || format->layouts & layout);
}

static bool reads_negatives(const struct collection_format *format, unsigned negatives)
{
    return format->reads & OPTION_NEGATIVES && (format->negatives == 0 || format->negatives & negatives);
}

void collection_option_formats(enum collection_option option, char out[COLLECTION_NAMES])
{
    list_formats(reads_option, option, out);
}

const char *collection_unread(const struct collection_format *format, const struct collection_options *options,
                              char detail[COLLECTION_DETAIL])
{
    const unsigned layout = 1u << options->layout, negatives = 1u << options->negatives;
    char names[COLLECTION_NAMES];
    for (const struct collection_option_row *o = collection_option_rows; o->field.name; o++) {
        if (!(options->stated & o->option))
            continue;
        if (!reads_option(format, o->option)) {
            collection_option_formats(o->option, names);
            (void)snprintf(detail, COLLECTION_DETAIL, "does not apply to %s; formats that read it: %s", format->name,
                           names);
            return o->field.name;
        }
        bool is_layout = o->option == OPTION_LAYOUT, is_negatives = o->option == OPTION_NEGATIVES;
        if ((is_layout && !reads_layout(format, layout)) || (is_negatives && !reads_negatives(format, negatives))) {
            list_formats(is_layout ? reads_layout : reads_negatives, is_layout ? layout : negatives, names);
            (void)snprintf(detail, COLLECTION_DETAIL, "%s does not apply to %s; formats that read it: %s",
                           is_layout ? collection_layouts[options->layout] : collection_negatives[options->negatives],
                           format->name, names);
            return o->field.name;
        }
    }
    return NULL;
}

/* Refuses what needs an order although the client states that there is none. */
static enum status check_bag(const struct collection *c, struct error *err)
{
    const char *ordered = c->kind == COLLECTION_TABLE     ? "the file is a table, whose columns are features"
                          : c->rows > 1                   ? "its samples have rows and columns"
                          : c->target == TARGET_SEQUENCE  ? "its labels are sequences"
                          : c->target == TARGET_POSITIONS ? "its labels name a class for each position"
                                                          : NULL;
    return ordered == NULL
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL,
                           "order=none is for bags of items with a label for the whole bag, but %s%s", ordered,
                           c->target == TARGET_SEQUENCE
                               ? "; state target=labels, class, count or number, or leave out order"
                               : "; leave out order");
}

enum status collection_read(const struct collection_format *format, const struct byte_source *from,
                            const struct collection_options *options, const struct collection_limits *limits,
                            struct collection *c, struct error *err)
{
    struct gunzip *gunzip = NULL;
    char detail[COLLECTION_DETAIL];
    *c = (struct collection){.work = options->work};
    enum status status = format->text ? gunzip_open(from, &gunzip, err) : STATUS_OK;
    if (status)
        return status;
    if (gunzip)
        gunzip_limit(gunzip, limits->bytes * 8 + ((int64_t)1 << 30));
    struct byte_source unpacked = gunzip ? gunzip_source(gunzip) : *from;
    const char *unread = collection_unread(format, options, detail);
    if (unread)
        status = error_set(err, STATUS_INVALID, NULL, "%s %s", unread, detail);
    if (!status && options->negatives != NEGATIVES_NONE && options->target == TARGET_NUMBER)
        status = error_set(err, STATUS_INVALID, NULL,
                           "negatives are not allowed with target=number, because they have no number");
    if (!status)
        status = format->read(&unpacked, options, limits, c, err);
    gunzip_close(gunzip);
    c->scale = options->scale;
    c->unordered = options->order == ORDER_NONE;
    if (!status && c->unordered)
        status = check_bag(c, err);
    if (!status)
        status = collection_inspect(c, err);
    c->work = NULL;
    if (status)
        collection_close(c);
    return status;
}
