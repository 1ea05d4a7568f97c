/* The option parser of every program. options_next() reads one argument. options_parse() reads a whole command line; at
 * the first fault it returns an error that suggests the option that was probably meant. */
#include "core/base/options.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 32

size_t options_distance(const char *a, const char *b)
{
    size_t rows = strlen(a), columns = strlen(b), line[WORD_MAX + 1];
    if (rows > WORD_MAX || columns > WORD_MAX)
        return WORD_MAX + 1;
    for (size_t j = 0; j <= columns; j++)
        line[j] = j;
    for (size_t i = 1; i <= rows; i++) {
        size_t corner = line[0];
        line[0] = i;
        for (size_t j = 1; j <= columns; j++) {
            size_t change = corner + (a[i - 1] != b[j - 1]);
            size_t drop = line[j] + 1, add = line[j - 1] + 1;
            corner = line[j];
            line[j] = change < drop ? change : drop;
            if (add < line[j])
                line[j] = add;
        }
    }
    return line[columns];
}

static const struct config_field *options_find(const struct config_field *specs, const char *name, size_t length)
{
    for (; specs && specs->name; specs++)
        if (strlen(specs->name) == length && memcmp(specs->name, name, length) == 0)
            return specs;
    return NULL;
}

static void options_nearest(const struct config_field *specs, const char *name, const char **best, size_t *distance)
{
    for (; specs && specs->name; specs++) {
        size_t d = options_distance(specs->name, name);
        if (d < *distance) {
            *distance = d;
            *best = specs->name;
        }
    }
}

static enum status unknown(const struct option_reader *reader, const char *word, struct error *err)
{
    char name[WORD_MAX + 1] = "";
    const char *best = NULL, *from = word + strspn(word, "-");
    size_t distance = 3, length = strcspn(from, "=");
    if (word[1] != '-')
        return error_set(err, STATUS_INVALID, NULL, "unknown option %.80s; options start with two dashes", word);
    if (length <= WORD_MAX) {
        memcpy(name, from, length);
        name[length] = 0;
        options_nearest(reader->own, name, &best, &distance);
        options_nearest(reader->shared, name, &best, &distance);
    }
    if (best)
        return error_set(err, STATUS_INVALID, NULL, "unknown option %.80s; did you mean --%s?", word, best);
    return error_set(err, STATUS_INVALID, NULL, "unknown option %.80s", word);
}

/* Returns the long form of an option of one letter; any other word unchanged. The letter is an option only if the table
 * of options contains the long form. */
static const char *long_form(const char *word)
{
    static const char *const forms[][2] = {{"-h", "--help"}, {"-o", "--print"}, {"-q", "--quiet"}, {"-f", "--follow"}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(word, forms[i][0]) == 0)
            return forms[i][1];
    return word;
}

bool options_next(struct option_reader *reader, struct option_item *item)
{
    if (!reader->options_end && reader->at < reader->argc && strcmp(reader->argv[reader->at], "--") == 0) {
        reader->options_end = true;
        reader->at++;
    }
    if (reader->at >= reader->argc)
        return false;
    const char *typed = reader->argv[reader->at++];
    const char *word = long_form(typed);
    *item = (struct option_item){.word = typed, .value = typed};
    if (reader->options_end || word[0] != '-' || word[1] == 0)
        return true;
    size_t length = word[1] == '-' ? strcspn(word + 2, "=") : 0;
    item->value = length > 0 && word[2 + length] == '=' ? word + 3 + length : NULL;
    if (length > 0) {
        item->spec = options_find(reader->own, word + 2, length);
        if (!item->spec)
            item->spec = options_find(reader->shared, word + 2, length);
    }
    if (!item->spec)
        item->fault = OPTION_UNKNOWN;
    else if (item->spec->type == FIELD_BOOL && item->value)
        item->fault = OPTION_VALUE_UNEXPECTED;
    else if (item->spec->type == FIELD_BOOL)
        item->value = "";
    else if (!item->value && reader->at < reader->argc)
        item->value = reader->argv[reader->at++];
    else if (!item->value)
        item->fault = OPTION_VALUE_MISSING;
    return true;
}

/* Sets `err` to a message about the fault of an argument. */
static enum status options_refuse(const struct option_reader *reader, const struct option_item *item, struct error *err)
{
    const struct config_field *spec = item->spec;
    if (item->fault == OPTION_VALUE_UNEXPECTED)
        return error_set(err, STATUS_INVALID, NULL, "--%s takes no value", spec->name);
    if (item->fault == OPTION_VALUE_MISSING)
        return error_set(err, STATUS_INVALID, NULL, "--%s needs a value: --%s %s", spec->name, spec->name, spec->unit);
    return unknown(reader, item->word, err);
}

enum status options_parse(const struct config_field *own, const struct config_field *shared, int argc, char **argv,
                          struct options *out, struct error *err)
{
    struct option_reader reader = {.own = own, .shared = shared, .argc = argc, .argv = argv};
    struct option_item item;
    *out = (struct options){.own = own, .shared = shared};
    while (options_next(&reader, &item)) {
        if (item.fault != OPTION_FINE)
            return options_refuse(&reader, &item, err);
        if (out->positional_count == OPTIONS_MAX || out->option_count == OPTIONS_MAX)
            return error_set(err, STATUS_INVALID, NULL, "too many arguments; at most %d are read", OPTIONS_MAX);
        if (item.spec) {
            out->options[out->option_count].name = item.spec->name;
            out->options[out->option_count++].value = item.value;
        } else {
            out->positional[out->positional_count++] = item.value;
        }
    }
    return STATUS_OK;
}

const char *options_value(const struct options *options, const char *name)
{
    for (size_t i = options->option_count; i > 0; i--)
        if (strcmp(options->options[i - 1].name, name) == 0)
            return options->options[i - 1].value;
    return NULL;
}

bool options_has(const struct options *options, const char *name)
{
    return options_value(options, name) != NULL;
}

/* Reads a value. *set: whether the command line or the option's row has one. */
static enum status value_of(const struct options *options, const char *name, struct value *out, bool *set,
                            struct error *err)
{
    const struct config_field *spec = options_find(options->own, name, strlen(name));
    struct error fault = {0};
    const char *text = options_value(options, name);
    if (spec == NULL)
        spec = options_find(options->shared, name, strlen(name));
    *set = spec != NULL && (text != NULL || spec->preset != NULL);
    if (*set && value_read(spec, VALUE_OPTION, text != NULL ? text : spec->preset, out, &fault))
        return error_set(err, fault.code, NULL, "--%s %s", name, fault.message);
    return STATUS_OK;
}

enum status options_integer(const struct options *options, const char *name, long long *out, struct error *err)
{
    struct value value;
    bool set;
    enum status status = value_of(options, name, &value, &set, err);
    if (!status && set)
        *out = value.integer;
    return status;
}

enum status options_number(const struct options *options, const char *name, double *out, struct error *err)
{
    struct value value;
    bool set;
    enum status status = value_of(options, name, &value, &set, err);
    if (!status && set)
        *out = value.number;
    return status;
}

enum { LEFT = 26 }; /* a help text names the options in a left column of this width */

void options_describe(const struct config_field *specs, struct buf *out)
{
    for (; specs && specs->name; specs++) {
        char left[64];
        snprintf(left, sizeof(left), "--%s%s%s", specs->name, specs->type != FIELD_BOOL ? " " : "",
                 specs->type != FIELD_BOOL ? specs->unit : "");
        int width = (int)strlen(left) > LEFT ? (int)strlen(left) : LEFT;
        buf_format(out, "  %-*s ", LEFT, left);
        buf_wrap(out, specs->meaning, strlen(specs->meaning), 2 + width + 1, 2 + LEFT + 1, HELP_COLUMNS);
        buf_text(out, "\n");
    }
}

/* Two or more spaces divide a line into two columns. Returns the index at which the second column begins, or, in a line
 * of one column, the index of the first character that is no space. */
static size_t first_column(const char *line, size_t length)
{
    size_t lead = strspn(line, " "), at = lead;
    while (at + 1 < length && !(line[at] == ' ' && line[at + 1] == ' '))
        at++;
    return at + 1 < length ? at + strspn(line + at, " ") : lead;
}

void options_explain(const char *text, struct buf *out)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n"), head = 0;
        bool paragraph = *text != ' ' && length > 0;
        while (paragraph && text[length] == '\n' && strchr(" \n", text[length + 1]) == NULL)
            length += 1 + strcspn(text + length + 1, "\n");
        if (!paragraph)
            head = first_column(text, length);
        buf_append(out, text, head);
        buf_wrap(out, text + head, length - head, (int)head, (int)head, HELP_COLUMNS);
        text += length;
        if (*text == '\n') {
            buf_text(out, "\n");
            text++;
        }
    }
}
