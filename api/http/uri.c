/* Decodes request targets and reads header values that are lists. Wrong syntax is an error in targets; in headers it
 * means that the header is ignored, as RFC 9110 allows. */
#include "api/http/uri.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "protocol/json.h"

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

enum status uri_decode(const char *text, size_t bytes, bool plus_is_space, char *out, size_t out_bytes,
                       struct error *err)
{
    size_t length = 0;
    for (size_t at = 0; at < bytes; at++) {
        char c = text[at];
        if (c == '%') {
            int high = bytes - at > 2 ? hex_digit(text[at + 1]) : -1;
            int low = bytes - at > 2 ? hex_digit(text[at + 2]) : -1;
            if (high < 0 || low < 0)
                return error_set(err, STATUS_INVALID, NULL, "'%%' must be followed by two hexadecimal digits");
            c = (char)(high * 16 + low);
            at += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        if ((unsigned char)c < 0x20 || c == 0x7F) {
            return error_set(err, STATUS_INVALID, NULL, "control characters are not allowed, nor as %%%02X",
                             (unsigned)(unsigned char)c);
        }
        if (length + 1 >= out_bytes)
            return error_set(err, STATUS_LIMIT, NULL, "too long");
        out[length++] = c;
    }
    out[length] = '\0';
    if (!utf8_valid(out, length))
        return error_set(err, STATUS_INVALID, NULL, "the decoded bytes are not valid UTF-8");
    return STATUS_OK;
}

void uri_encode(struct buf *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
                     strchr("-._~", *at) != NULL;
        if (plain)
            buf_append(out, at, 1);
        else
            buf_format(out, "%%%02X", *at);
    }
}

enum status query_parse(const char *text, struct query *query, struct error *err)
{
    query->count = 0;
    size_t used = 0;
    while (text != NULL && *text != '\0') {
        size_t pair = strcspn(text, "&"), name = strcspn(text, "=&");
        if (query->count == QUERY_PAIRS)
            return error_set(err, STATUS_LIMIT, NULL, "more than %d query parameters", QUERY_PAIRS);
        if (name == 0)
            return error_set(err, STATUS_INVALID, NULL, "a query parameter has no name");
        size_t value = name < pair ? name + 1 : pair;
        char *name_at = query->text + used;
        enum status status = uri_decode(text, name, true, name_at, sizeof query->text - used, err);
        if (status)
            return status;
        used += strlen(name_at) + 1;
        char *value_at = query->text + used;
        status = used < sizeof query->text
                     ? uri_decode(text + value, pair - value, true, value_at, sizeof query->text - used, err)
                     : error_set(err, STATUS_LIMIT, NULL, "too long");
        if (status)
            return status;
        used += strlen(value_at) + 1;
        if (query_get(query, name_at) != NULL)
            return error_set(err, STATUS_INVALID, NULL, "query parameter '%.60s' is given twice", name_at);
        query->pairs[query->count++] = (struct query_pair){name_at, value_at};
        text += pair;
        if (*text == '&')
            text++;
        if (used >= sizeof query->text)
            return error_set(err, STATUS_LIMIT, NULL, "too long");
    }
    return STATUS_OK;
}

const char *query_get(const struct query *query, const char *name)
{
    for (size_t i = 0; i < query->count; i++)
        if (strcmp(query->pairs[i].name, name) == 0)
            return query->pairs[i].value;
    return NULL;
}

bool traceparent_valid(const char *text)
{
    static const char hex[] = "0123456789abcdef";
    return strlen(text) == 55 && strncmp(text, "00-", 3) == 0 && text[35] == '-' && text[52] == '-' &&
           strspn(text + 3, hex) == 32 && strspn(text + 36, hex) == 16 && strspn(text + 53, hex) == 2 &&
           strspn(text + 3, "0") < 32 && strspn(text + 36, "0") < 16;
}

static const char *skip_blank(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

static size_t without_blank(const char *at, size_t length)
{
    while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t'))
        length--;
    return length;
}

/* Finds the parameter `name` in the text from `at` to `end`, such as ";a=b; c=d". Returns the value of the parameter
 * without quotes, and writes the length of the value to *length; NULL: there is no such parameter. */
static const char *media_parameter(const char *at, const char *end, const char *name, size_t *length)
{
    while (at < end && *at == ';') {
        at = skip_blank(at + 1);
        const char *stop = at;
        bool quoted = false;
        while (stop < end && (quoted || *stop != ';')) {
            quoted ^= *stop == '"';
            stop++;
        }
        size_t key = strcspn(at, "=;");
        if (key == strlen(name) && strncasecmp(at, name, key) == 0 && at + key < stop) {
            const char *value = at + key + 1;
            *length = without_blank(value, (size_t)(stop - value));
            if (*length >= 2 && value[0] == '"' && value[*length - 1] == '"') {
                value++;
                *length -= 2;
            }
            return value;
        }
        at = stop;
    }
    return NULL;
}

bool media_is(const char *content_type, const char *type)
{
    const char *at = skip_blank(content_type), *end = at + strlen(at);
    size_t length = without_blank(at, strcspn(at, ";"));
    if (length != strlen(type) || strncasecmp(at, type, length) != 0)
        return false;
    size_t charset_length;
    const char *charset = media_parameter(at + strcspn(at, ";"), end, "charset", &charset_length);
    return charset == NULL || (charset_length == 5 && strncasecmp(charset, "utf-8", 5) == 0);
}

const char *media_short(const char *type)
{
    const char *name = strchr(type, '/') != NULL ? strchr(type, '/') + 1 : type;
    return strncmp(name, "x-", 2) == 0 ? name + 2 : name;
}

/* Returns how well a media range of an Accept header matches `offer`, a media type that the server can send: 3 if the
 * range is this type, 2 if it is all subtypes of one type, 1 if it is any type, 0 if it does not match. */
static int media_fit(const char *range, size_t length, const char *offer)
{
    if (length == 3 && strncmp(range, "*/*", 3) == 0)
        return 1;
    if (length == strlen(offer) && strncasecmp(range, offer, length) == 0)
        return 3;
    size_t major = strcspn(offer, "/") + 1;
    return length == major + 1 && range[length - 1] == '*' && strncasecmp(range, offer, major) == 0 ? 2 : 0;
}

int media_pick(const char *accept, const char *const *offers, int count)
{
    if (accept == NULL || *skip_blank(accept) == '\0')
        return count > 0 ? 0 : -1;
    int best = -1;
    double best_quality = 0;
    for (int i = 0; i < count; i++) {
        int fit = 0;
        double quality = 0;
        for (const char *at = accept; *at != '\0';) {
            at = skip_blank(at);
            size_t item = strcspn(at, ","), type = strcspn(at, ",;");
            int here = media_fit(at, without_blank(at, type), offers[i]);
            if (here > fit) {
                size_t length;
                const char *q = media_parameter(at + type, at + item, "q", &length);
                fit = here;
                quality = q != NULL ? strtod(q, NULL) : 1.0;
            }
            at += item;
            at += *at == ',';
        }
        if (quality > best_quality) {
            best_quality = quality;
            best = i;
        }
    }
    return best;
}

bool etag_listed(const char *list, const char *etag, bool weak)
{
    const char *at = skip_blank(list);
    if (at[0] == '*' && *skip_blank(at + 1) == '\0')
        return true;
    while (*at != '\0') {
        bool is_weak = strncmp(at, "W/", 2) == 0;
        const char *tag = at + (is_weak ? 2 : 0);
        if (*tag != '"')
            return false;
        size_t length = strcspn(tag + 1, "\"");
        if (tag[1 + length] != '"')
            return false;
        if ((!is_weak || weak) && length + 2 == strlen(etag) && strncmp(tag, etag, length + 2) == 0)
            return true;
        at = skip_blank(tag + length + 2);
        at = *at == ',' ? skip_blank(at + 1) : at + strlen(at);
    }
    return false;
}

static bool range_number(const char **at, uint64_t *value)
{
    if (!isdigit((unsigned char)**at))
        return false;
    *value = 0;
    for (; isdigit((unsigned char)**at); (*at)++) {
        uint64_t digit = (uint64_t)(**at - '0');
        if (*value > (UINT64_MAX - digit) / 10) {
            *value = UINT64_MAX; /* the number is too large for 64 bits; UINT64_MAX exceeds the size of any file, too */
            while (isdigit((unsigned char)**at))
                (*at)++;
            return true;
        }
        *value = *value * 10 + digit;
    }
    return true;
}

enum range range_parse(const char *header, uint64_t total, uint64_t *first, uint64_t *last)
{
    if (header == NULL || strncasecmp(header, "bytes=", 6) != 0)
        return RANGE_ALL;
    const char *at = skip_blank(header + 6);
    uint64_t from = 0, to = UINT64_MAX;
    bool has_from = range_number(&at, &from);
    if (*at++ != '-')
        return RANGE_ALL;
    bool has_to = range_number(&at, &to);
    if (*skip_blank(at) != '\0' || (!has_from && !has_to) || (has_from && has_to && to < from))
        return RANGE_ALL;
    if (!has_from) { /* "bytes=-N": the last N bytes */
        if (to == 0 || total == 0)
            return RANGE_NOT_SATISFIABLE;
        *first = to >= total ? 0 : total - to;
        *last = total - 1;
        return RANGE_PART;
    }
    if (from >= total)
        return RANGE_NOT_SATISFIABLE;
    *first = from;
    *last = to >= total ? total - 1 : to;
    return RANGE_PART;
}
