/* The scanner that checks a text before cJSON parses it. It is a recursive descent over RFC 8259 to a depth of
 * JSON_DEPTH. The path from the root to the current value is a stack of keys (parts of the text, still encoded) and
 * indices. The scanner makes a JSON pointer from this path only for an error. */
#include "protocol/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/json_sink.h"

struct step {        /* one level of the path to the current value */
    const char *key; /* key of the member, or NULL for an item of a list */
    size_t key_bytes, index;
};
struct scanner {
    const char *start, *at, *end;
    struct step way[JSON_DEPTH + 1];
    int depth;
    size_t values;
    struct error *err;
};

static enum status scan_value(struct scanner *s);

void json_pointer_add(char *pointer, size_t size, const char *token, size_t token_bytes)
{
    size_t at = strlen(pointer);
    if (at + 2 > size)
        return;
    pointer[at++] = '/';
    for (size_t i = 0; i < token_bytes;) {
        size_t length = utf8_char(token + i, token_bytes - i);
        char escaped[4] = {0};
        if (length == 0 || (unsigned char)token[i] < 0x20) {
            memcpy(escaped, "?", 1);
            length = 1;
        } else if (token[i] == '~' || token[i] == '/') {
            memcpy(escaped, token[i] == '~' ? "~0" : "~1", 2);
        } else {
            memcpy(escaped, token + i, length);
        }
        size_t bytes = token[i] == '~' || token[i] == '/' ? 2 : length;
        if (at + bytes >= size)
            break;
        memcpy(pointer + at, escaped, bytes);
        at += bytes;
        i += length;
    }
    pointer[at] = '\0';
}

static void way_pointer(const struct step *way, int depth, char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; i < depth; i++) {
        if (way[i].key != NULL) {
            json_pointer_add(out, size, way[i].key, way[i].key_bytes);
        } else {
            char index[24];
            int length = snprintf(index, sizeof index, "%zu", way[i].index);
            json_pointer_add(out, size, index, (size_t)length);
        }
    }
}

static enum status __attribute__((format(printf, 3, 4)))
fault(struct scanner *s, enum status code, const char *format, ...)
{
    char pointer[sizeof s->err->pointer], message[160];
    way_pointer(s->way, s->depth, pointer, sizeof pointer);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (code != STATUS_CORRUPT)
        return error_set(s->err, code, pointer, "%s", message);
    size_t line = 1, column = 1;
    for (const char *c = s->start; c < s->at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    return error_set(s->err, code, pointer, "line %zu, column %zu: %s", line, column, message);
}

static void skip_space(struct scanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool scan_hex4(const char *at, const char *end, unsigned *value)
{
    *value = 0;
    if (end - at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        *value = *value * 16 + (unsigned)digit;
    }
    return true;
}

/* Scans an escape. s->at is after the backslash. */
static enum status scan_escape(struct scanner *s)
{
    char c = s->at < s->end ? *s->at : '\0';
    if (c != 'u') {
        if (c == '\0' || strchr("\"\\/bfnrt", c) == NULL)
            return fault(s, STATUS_CORRUPT, "unknown escape in text");
        s->at++;
        return STATUS_OK;
    }
    unsigned unit, low;
    if (!scan_hex4(s->at + 1, s->end, &unit))
        return fault(s, STATUS_CORRUPT, "\\u needs four hexadecimal digits");
    if (unit == 0)
        return fault(s, STATUS_INVALID, "text must not contain U+0000");
    s->at += 5;
    if (unit >= 0xD800 && unit <= 0xDFFF) {
        if (unit > 0xDBFF || s->end - s->at < 6 || s->at[0] != '\\' || s->at[1] != 'u' ||
            !scan_hex4(s->at + 2, s->end, &low) || low < 0xDC00 || low > 0xDFFF)
            return fault(s, STATUS_CORRUPT, "half of a surrogate pair in text");
        s->at += 6;
    }
    return STATUS_OK;
}

/* Scans a string. On entry, s->at is at the opening quote; on return, it is after the closing quote. */
static enum status scan_string(struct scanner *s)
{
    s->at++;
    while (s->at < s->end && *s->at != '"') {
        if (*s->at == '\\') {
            s->at++;
            enum status status = scan_escape(s);
            if (status)
                return status;
        } else if ((unsigned char)*s->at < 0x20) {
            return fault(s, STATUS_CORRUPT, "control character in text");
        } else {
            size_t length = utf8_char(s->at, (size_t)(s->end - s->at));
            if (length == 0)
                return fault(s, STATUS_CORRUPT, "not valid UTF-8");
            s->at += length;
        }
    }
    if (s->at == s->end)
        return fault(s, STATUS_CORRUPT, "the closing quotation mark of a text is missing");
    s->at++;
    return STATUS_OK;
}

static bool digit_at(const struct scanner *s, const char *at)
{
    return at < s->end && *at >= '0' && *at <= '9';
}

/* Scans a number. The caller has seen a digit, or a minus and a digit. */
static enum status scan_number(struct scanner *s)
{
    const char *first = s->at, *at = s->at + (*s->at == '-');
    bool whole = true;
    if (*at == '0' && digit_at(s, at + 1))
        return fault(s, STATUS_CORRUPT, "a number must not start with 0");
    while (digit_at(s, at))
        at++;
    if (at < s->end && *at == '.') {
        whole = false;
        at++;
        if (!digit_at(s, at))
            return fault(s, STATUS_CORRUPT, "a digit must follow the decimal point");
        while (digit_at(s, at))
            at++;
    }
    if (at < s->end && (*at == 'e' || *at == 'E')) {
        whole = false;
        at++;
        at += at < s->end && (*at == '+' || *at == '-');
        if (!digit_at(s, at))
            return fault(s, STATUS_CORRUPT, "a digit must follow the exponent");
        while (digit_at(s, at))
            at++;
    }
    char token[64];
    size_t length = (size_t)(at - first);
    if (length >= sizeof token - 1)
        return fault(s, STATUS_INVALID, "a number of %zu characters is too long to be stored exactly", length);
    memcpy(token, first, length);
    token[length] = '\0';
    double value = strtod(token, NULL);
    if (whole && fabs(value) > JSON_INTEGER)
        return fault(s, STATUS_INVALID, "integers beyond 2^53 - 1 cannot be stored exactly; got %s", token);
    if (!isfinite(value))
        return fault(s, STATUS_INVALID, "%s is too large for a number", token);
    s->at = at;
    return STATUS_OK;
}

/* Scans true, false and null. NaN and Infinity get a message of their own. */
static enum status scan_word(struct scanner *s)
{
    static const char *const words[] = {"true", "false", "null"};
    static const char *const not_numbers[] = {"NaN",  "nan",       "Infinity", "-Infinity", "inf",
                                              "-inf", "+Infinity", "+inf",     "-NaN"};
    size_t left = (size_t)(s->end - s->at);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);
        if (left >= length && memcmp(s->at, words[i], length) == 0) {
            s->at += length;
            return STATUS_OK;
        }
    }
    for (size_t i = 0; i < sizeof not_numbers / sizeof not_numbers[0]; i++) {
        size_t length = strlen(not_numbers[i]);
        if (left >= length && memcmp(s->at, not_numbers[i], length) == 0)
            return fault(s, STATUS_INVALID, "must be a finite number; got %s", not_numbers[i]);
    }
    return fault(s, STATUS_CORRUPT, "expected a value");
}

static enum status scan_member(struct scanner *s)
{
    if (s->at == s->end || *s->at != '"')
        return fault(s, STATUS_CORRUPT, "expected a member name in quotes");
    const char *key = s->at + 1;
    struct step *step = &s->way[s->depth];
    *step = (struct step){"", 0, 0};
    enum status status = scan_string(s);
    if (status)
        return status;
    *step = (struct step){key, (size_t)(s->at - 1 - key), 0};
    s->depth++;
    skip_space(s);
    if (s->at == s->end || *s->at != ':')
        return fault(s, STATUS_CORRUPT, "expected ':' after a member name");
    s->at++;
    status = scan_value(s);
    s->depth--;
    return status;
}

static enum status scan_item(struct scanner *s, size_t index)
{
    s->way[s->depth] = (struct step){NULL, 0, index};
    s->depth++;
    enum status status = scan_value(s);
    s->depth--;
    return status;
}

/* Scans the rest of an object or a list, up to the character `close`. */
static enum status scan_group(struct scanner *s, char close)
{
    if (s->depth >= JSON_DEPTH)
        return fault(s, STATUS_LIMIT, "objects and lists may be %d deep at most", JSON_DEPTH);
    s->at++;
    skip_space(s);
    if (s->at < s->end && *s->at == close) {
        s->at++;
        return STATUS_OK;
    }
    for (size_t count = 0;; count++) {
        if (close == '}' && count == JSON_MEMBERS)
            return fault(s, STATUS_LIMIT, "an object may have %d members at most", JSON_MEMBERS);
        skip_space(s);
        enum status status = close == '}' ? scan_member(s) : scan_item(s, count);
        if (status)
            return status;
        skip_space(s);
        if (s->at < s->end && *s->at == close) {
            s->at++;
            return STATUS_OK;
        }
        if (s->at == s->end || *s->at != ',')
            return fault(s, STATUS_CORRUPT, "expected ',' or '%c'", close);
        s->at++;
    }
}

static enum status scan_value(struct scanner *s)
{
    if (++s->values > JSON_VALUES)
        return fault(s, STATUS_LIMIT, "more than %u values", JSON_VALUES);
    skip_space(s);
    if (s->at == s->end)
        return fault(s, STATUS_CORRUPT, "the text ends where a value is expected");
    char c = *s->at;
    if (c == '{')
        return scan_group(s, '}');
    if (c == '[')
        return scan_group(s, ']');
    if (c == '"')
        return scan_string(s);
    bool number = (c >= '0' && c <= '9') || (c == '-' && digit_at(s, s->at + 1));
    return number ? scan_number(s) : scan_word(s);
}

enum status json_scan(const char *text, size_t bytes, struct error *err)
{
    struct error scratch;
    error_clear(&scratch);
    struct scanner s = {.start = text, .at = text, .end = text + bytes, .err = err != NULL ? err : &scratch};
    if (bytes == 0)
        return error_set(s.err, STATUS_CORRUPT, "", "the JSON text is empty");
    enum status status = scan_value(&s);
    if (status)
        return status;
    skip_space(&s);
    return s.at == s.end ? STATUS_OK : fault(&s, STATUS_CORRUPT, "more text follows the value");
}

const cJSON *json_first(const cJSON *group)
{
    return group != NULL ? group->child : NULL;
}

static enum status check_duplicates(const cJSON *value, struct step *way, int depth, struct error *err)
{
    size_t index = 0;
    JSON_EACH (item, value) {
        way[depth] = (struct step){item->string, item->string != NULL ? strlen(item->string) : 0, index++};
        if (cJSON_IsObject(value)) {
            for (const cJSON *other = value->child; other != item; other = other->next) {
                if (strcmp(other->string, item->string) ==
                    0) { /* NOLINT(clang-analyzer-core.NonNullParamChecker): members have names */
                    char pointer[sizeof err->pointer];
                    way_pointer(way, depth + 1, pointer, sizeof pointer);
                    return error_set(err, STATUS_INVALID, pointer, "is given twice");
                }
            }
        }
        if (item->child != NULL) {
            enum status status = check_duplicates(item, way, depth + 1, err);
            if (status)
                return status;
        }
    }
    return STATUS_OK;
}

enum status json_parse(const char *text, size_t bytes, cJSON **root, struct error *err)
{
    *root = NULL;
    enum status status = json_scan(text, bytes, err);
    if (status)
        return status;
    cJSON *tree = cJSON_ParseWithLengthOpts(text, bytes, NULL, false);
    if (tree == NULL) /* the text is valid, so memory is short */
        return error_set(err, STATUS_NO_MEMORY, "", "not enough memory for a JSON text of %zu bytes", bytes);
    struct step way[JSON_DEPTH + 1];
    status = check_duplicates(tree, way, 0, err);
    if (status) {
        cJSON_Delete(tree);
        return status;
    }
    *root = tree;
    return STATUS_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

void json_canonical(const cJSON *value, struct buf *out)
{
    if (cJSON_IsString(value)) {
        json_write_text(out, value->valuestring);
    } else if (cJSON_IsNumber(value)) {
        json_write_number(out, value->valuedouble + 0.0); /* makes -0 equal to 0 */
    } else if (cJSON_IsArray(value)) {
        buf_text(out, "[");
        JSON_EACH (item, value) {
            buf_text(out, item == value->child ? "" : ",");
            json_canonical(item, out);
        }
        buf_text(out, "]");
    } else if (cJSON_IsObject(value)) {
        const cJSON *sorted[JSON_MEMBERS];
        size_t count = 0;
        JSON_EACH (item, value)
            if (count < JSON_MEMBERS)
                sorted[count++] = item;
        if (count > 1)
            qsort(sorted, count, sizeof sorted[0], by_name);
        buf_text(out, "{");
        for (size_t i = 0; i < count; i++) {
            buf_text(out, i == 0 ? "" : ",");
            json_write_text(out, sorted[i]->string);
            buf_text(out, ":");
            json_canonical(sorted[i], out);
        }
        buf_text(out, "}");
    } else {
        buf_text(out, cJSON_IsTrue(value) ? "true" : cJSON_IsFalse(value) ? "false" : "null");
    }
}

const char *json_type_name(const cJSON *value)
{
    return cJSON_IsNumber(value)   ? "a number"
           : cJSON_IsString(value) ? "text"
           : cJSON_IsBool(value)   ? "true or false"
           : cJSON_IsObject(value) ? "an object"
           : cJSON_IsArray(value)  ? "a list"
                                   : "null";
}

bool json_member_text(const char *document, const char *name, char *out, size_t room)
{
    cJSON *root = NULL;
    out[0] = '\0';
    if (document == NULL || json_parse(document, strlen(document), &root, NULL))
        return false;
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, name));
    bool fits = text != NULL && strlen(text) < room;
    if (fits)
        (void)snprintf(out, room, "%s", text);
    cJSON_Delete(root);
    return fits;
}
