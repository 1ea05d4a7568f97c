/* The table of the upload options, made from options.inc, and their values as text. Routes, the OpenAPI document, the
 * list of data sets and the hash of a data set use it. */
#include <stdio.h>
#include <string.h>

#include "core/data/uploads/collection.h"

const char *const collection_layouts[] = {"auto", "channels-last", "channels-first", "signals", NULL};
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
    if (value_read(&row->field, VALUE_QUERY, text, &value, NULL) != STATUS_OK)
        return false;
    options->stated |= row->option;
    if (row->field.type == FIELD_TEXT)
        *(const char **)(void *)((char *)options + row->field.offset) = text;
    else if (row->field.type == FIELD_INT)
        *number_at(row, options) = (int)value.integer;
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
    } else if (row->field.type == FIELD_INT) {
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
