/* Reads, checks and describes typed values by their rows. */
#include "core/base/values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes the shortest decimal that reads back as the same number. */
void value_shortest(double value, char *out, size_t out_bytes)
{
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(out, out_bytes, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

static const struct {
    const char *quote; /* before and after a value in a message */
    int shown;         /* most bytes of a value in a message */
    bool plain;        /* numbers of ranges have no exponent, and integers are digits only */
} sources[VALUE_SOURCES] = {
    [VALUE_CONFIG] = {"\"", 32, false}, [VALUE_SETTING] = {"\"", 40, true}, [VALUE_OPTION] = {"", 40, true},
    [VALUE_QUERY] = {"'", 40, true},    [VALUE_MEMBER] = {"", 40, true},
};

static long long values_whole(double number)
{
    return number >= 0x1p63 ? INT64_MAX : (long long)number;
}

static void describe_range(const struct config_field *field, const char *noun, char *out, size_t out_bytes)
{
    char low[32], high[32];
    value_shortest(field->min, low, sizeof low);
    value_shortest(field->max, high, sizeof high);
    if (isfinite(field->min) && isfinite(field->max)) {
        (void)snprintf(out, out_bytes, "%s in %c%s, %s%c", noun, field->min_open ? '(' : '[', low, high,
                       field->max_open ? ')' : ']');
    } else if (isfinite(field->min)) {
        (void)snprintf(out, out_bytes, "%s %s %s", noun, field->min_open ? "above" : "of at least", low);
    } else if (isfinite(field->max)) {
        (void)snprintf(out, out_bytes, "%s %s %s", noun, field->max_open ? "below" : "of at most", high);
    } else {
        (void)snprintf(out, out_bytes, "%s", noun);
    }
}

static void describe_choices(const struct config_field *field, char *out, size_t out_bytes)
{
    (void)snprintf(out, out_bytes, "one of ");
    for (int i = 0; field->choices[i] != NULL; i++) {
        size_t used = strlen(out);
        (void)snprintf(out + used, out_bytes - used, "%s%s", i > 0 ? ", " : "", field->choices[i]);
    }
}

static size_t text_most(const struct config_field *field)
{
    return field->max > 0 ? (size_t)field->max : CONFIG_TEXT - 1;
}

static void describe_text(const struct config_field *field, enum value_source source, char *out, size_t out_bytes)
{
    size_t most = text_most(field);
    if (source == VALUE_CONFIG)
        (void)snprintf(out, out_bytes, "text of at most %zu bytes without control characters", most);
    else if (source == VALUE_QUERY)
        (void)snprintf(out, out_bytes, "1 to %zu bytes of text", most);
    else
        (void)snprintf(out, out_bytes, "shorter than %zu bytes", most + 1);
}

void value_describe(const struct config_field *field, enum value_source source, char *out, size_t out_bytes)
{
    bool plain = sources[source].plain;
    if (field->choices != NULL)
        describe_choices(field, out, out_bytes);
    else if (field->type == FIELD_INT && plain)
        (void)snprintf(out, out_bytes, "an integer in [%lld, %lld]", values_whole(field->min),
                       values_whole(field->max));
    else if (field->type == FIELD_REAL && plain)
        (void)snprintf(out, out_bytes, "a number in [%g, %g]", field->min, field->max);
    else if (field->type == FIELD_INT || field->type == FIELD_REAL)
        describe_range(field, field->type == FIELD_INT ? "an integer" : "a number", out, out_bytes);
    else if (field->type == FIELD_BOOL)
        (void)snprintf(out, out_bytes, source == VALUE_QUERY ? "0 or 1" : "true, false, yes or no");
    else
        describe_text(field, source, out, out_bytes);
}

/* Sets an error like "must be an integer in [1, 64]; got 65". */
enum status value_refuse(const struct config_field *field, enum value_source source, const char *found,
                         struct error *err)
{
    char allowed[192];
    value_describe(field, source, allowed, sizeof allowed);
    return error_set(err, STATUS_INVALID, "", "must be %s; got %s", allowed, found);
}

/* Refuses a text, which the message shows in the quotation marks of its source. */
static enum status refuse_text(const struct config_field *field, enum value_source source, const char *text,
                               struct error *err)
{
    char found[64];
    int shown = sources[source].shown;
    bool named = field->type == FIELD_CHOICE || field->type == FIELD_TEXT;
    bool cut = source == VALUE_CONFIG && named && strlen(text) > (size_t)shown;
    (void)snprintf(found, sizeof found, "%s%.*s%s%s", sources[source].quote, shown, text, cut ? "..." : "",
                   sources[source].quote);
    return value_refuse(field, source, found, err);
}

static bool inside(const struct config_field *field, double number)
{
    return (field->min_open ? number > field->min : number >= field->min) &&
           (field->max_open ? number < field->max : number <= field->max);
}

enum status value_read_number(const struct config_field *field, enum value_source source, double number,
                              struct value *out, struct error *err)
{
    bool integer = field->type == FIELD_INT;
    if (isfinite(number) && inside(field, number) &&
        (!integer || (number == floor(number) && fabs(number) <= CONFIG_INT_MAX))) {
        *out = (struct value){.number = number, .integer = integer ? (int64_t)number : 0};
        return STATUS_OK;
    }
    char found[32];
    if (source == VALUE_MEMBER)
        (void)snprintf(found, sizeof found, "%.17g", number);
    else
        value_shortest(number, found, sizeof found);
    return value_refuse(field, source, found, err);
}

/* Parses a decimal number and nothing else: no spaces, no hexadecimal, no "inf". Options take these as well. */
static bool parse_number(enum value_source source, const char *text, double *out)
{
    if (text[0] == '\0' || (source != VALUE_OPTION && text[strspn(text, "0123456789+-.eE")] != '\0'))
        return false;
    char *end;
    *out = strtod(text, &end);
    return *end == '\0';
}

bool text_integer(const char *text, int64_t *value)
{
    const char *digits = text + (text[0] == '-');
    size_t length = strspn(digits, "0123456789");
    if (length == 0 || digits[length] != '\0')
        return false;
    errno = 0;
    long long parsed = strtoll(text, NULL, 10);
    if (errno != 0)
        return false;
    *value = parsed;
    return true;
}

static enum status read_integer(const struct config_field *field, enum value_source source, const char *text,
                                struct value *out, struct error *err)
{
    double number;
    int64_t integer;
    if (!sources[source].plain)
        return parse_number(source, text, &number) ? value_read_number(field, source, number, out, err)
                                                   : refuse_text(field, source, text, err);
    const char *digits = text;
    if (source != VALUE_QUERY) { /* what programs read may begin with spaces and a plus sign */
        digits += strspn(digits, " \t\n\v\f\r");
        digits += digits[0] == '+' && digits[1] != '-';
    }
    if (!text_integer(digits, &integer) || !inside(field, (double)integer))
        return refuse_text(field, source, text, err);
    *out = (struct value){.integer = integer};
    return STATUS_OK;
}

static enum status read_flag(const struct config_field *field, enum value_source source, const char *text,
                             struct value *out, struct error *err)
{
    static const char *const words[][2] = {{"true", "false"}, {"yes", "no"}, {"1", "0"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if ((source == VALUE_QUERY ? i == 1 : i == 2) ||
            (strcmp(text, words[i][0]) != 0 && strcmp(text, words[i][1]) != 0))
            continue;
        *out = (struct value){.flag = strcmp(text, words[i][0]) == 0};
        return STATUS_OK;
    }
    return refuse_text(field, source, text, err);
}

static enum status read_text(const struct config_field *field, enum value_source source, const char *text,
                             struct value *out, struct error *err)
{
    size_t length = strlen(text);
    if (length > text_most(field) || (source == VALUE_QUERY && length == 0)) {
        if (source == VALUE_CONFIG)
            return refuse_text(field, source, text, err);
        char allowed[64];
        describe_text(field, source, allowed, sizeof allowed);
        return error_set(err, STATUS_INVALID, "", "must be %s", allowed);
    }
    for (size_t i = 0; source == VALUE_CONFIG && i < length; i++)
        if (iscntrl((unsigned char)text[i]))
            return value_refuse(field, source, "a control character", err);
    *out = (struct value){.text = text};
    return STATUS_OK;
}

enum status value_read(const struct config_field *field, enum value_source source, const char *text, struct value *out,
                       struct error *err)
{
    double number;
    if (field->choices != NULL) {
        for (int i = 0; field->choices[i] != NULL; i++) {
            if (strcmp(field->choices[i], text) == 0) {
                *out = (struct value){.choice = i, .text = text};
                return STATUS_OK;
            }
        }
        return refuse_text(field, source, text, err);
    }
    if (field->type == FIELD_INT)
        return read_integer(field, source, text, out, err);
    if (field->type == FIELD_BOOL)
        return read_flag(field, source, text, out, err);
    if (field->type == FIELD_TEXT)
        return read_text(field, source, text, out, err);
    if (!parse_number(source, text, &number))
        return refuse_text(field, source, text, err);
    if (source != VALUE_CONFIG && !inside(field, number))
        return refuse_text(field, source, text, err);
    return value_read_number(field, source, number, out, err);
}

void value_store(const struct config_field *field, void *config, const struct value *value)
{
    char *to = (char *)config + field->offset;
    switch (field->type) {
    case FIELD_INT:
        *(int64_t *)(void *)to = value->integer;
        break;
    case FIELD_REAL:
        *(double *)(void *)to = value->number;
        break;
    case FIELD_BOOL:
        *(bool *)to = value->flag;
        break;
    case FIELD_CHOICE:
        *(int *)(void *)to = value->choice;
        break;
    case FIELD_TEXT:
        /* Equal configurations must have equal bytes, so the rest of the text is zeroed. */
        memset(to, 0, text_most(field) + 1);
        memcpy(to, value->text, strlen(value->text));
        break;
    }
}

enum status value_take(const struct config_field *field, enum value_source source, void *config, const char *text,
                       struct error *err)
{
    struct value value;
    enum status status = value_read(field, source, text, &value, err);
    if (!status)
        value_store(field, config, &value);
    return status;
}
