/* Writes JSON. Keeps track of open objects and lists, so that misuse by a writer is detected instead of written. */
#include "protocol/json_sink.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/json.h"

/* ---- numbers --------------------------------------------------------------------------------------------- */

/* A float whose digits can be computed quickly. Pictures and maps contain thousands of floats, and printf() needs
 * long integers for each. A float of usual size is m / 2^k with an integer m below 2^24, so one product of 128 bits
 * is enough to compute its digits. The text is the same as that of printf(). */
struct plain_float {
    uint32_t m; /* [2^23, 2^24) */
    int k;      /* [4, 37] */
    int whole;  /* digits before the point; if it is 0 or less, -whole zeros follow the point */
};

static bool plain_float_of(double magnitude, struct plain_float *out)
{
    int exponent;
    if (!(magnitude >= 1e-4 && magnitude < 1e6) || (double)(float)magnitude != magnitude)
        return false;
    out->m = (uint32_t)ldexp(frexp(magnitude, &exponent), 24);
    out->k = 24 - exponent;
    out->whole = -3;
    double power = 1e-3;
    while (magnitude >= power) {
        out->whole++;
        power *= 10;
    }
    return true;
}

static uint64_t power_of_ten(int exponent)
{
    uint64_t power = 1;
    for (; exponent > 0; exponent--)
        power *= 10;
    return power;
}

/* Computes the first `digits` digits of the number as an integer; rounds a half to even. False: with so few digits, the
 * number would read back as another double. */
static bool digits_of(const struct plain_float *f, int digits, uint64_t *out)
{
    int shift = digits - f->whole; /* at most 20 */
    unsigned __int128 scale =
        (unsigned __int128)power_of_ten(shift > 10 ? shift - 10 : 0) * power_of_ten(shift > 10 ? 10 : shift);
    unsigned __int128 number = scale * f->m, unit = (unsigned __int128)1 << f->k;
    unsigned __int128 quotient = number >> f->k, rest = number & (unit - 1), half = unit >> 1;
    bool up = rest > half || (rest == half && (quotient & 1) != 0);
    unsigned __int128 error = up ? unit - rest : rest;
    *out = (uint64_t)quotient + up;
    return error << 30 <= scale; /* the rounding error is at most half a unit in the last place of a double
                                    (2^-30 units in the last place of a float) */
}

/* Writes a number whose digits are those of `value`. digits: the number of all digits; whole: the number of digits
 * before the point. */
static void write_digits(struct buf *out, bool minus, uint64_t value, int digits, int whole)
{
    char text[48], *at = text + sizeof text;
    int behind = digits - whole; /* number of digits after the point */
    while (behind > 0 && value % 10 == 0) {
        value /= 10;
        behind--;
    }
    for (int i = 0; i < behind || value > 0 || i == 0; i++) {
        if (i == behind && i > 0)
            *--at = '.';
        *--at = (char)('0' + value % 10);
        value /= 10;
    }
    if (whole <= 0) {
        *--at = '.';
        *--at = '0';
    }
    if (minus)
        *--at = '-';
    buf_append(out, at, (size_t)(text + sizeof text - at));
}

static bool write_float(struct buf *out, double value)
{
    struct plain_float f;
    uint64_t found = 0;
    if (value == 0 && !signbit(value)) {
        buf_text(out, "0");
        return true;
    }
    if (!plain_float_of(fabs(value), &f))
        return false;
    int digits = 15;
    while (!digits_of(&f, digits, &found) && digits < 17)
        digits++;
    if (found == power_of_ten(digits)) { /* rounding has made 10.00... from 9.99... */
        found /= 10;
        f.whole++;
    }
    write_digits(out, value < 0, found, digits, f.whole);
    return true;
}

void json_write_number(struct buf *out, double value)
{
    if (!isfinite(value)) {
        buf_text(out, "null");
        return;
    }
    if (write_float(out, value))
        return;
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    /* a whole number above JSON_INTEGER gets an exponent, because json_scan() refuses it without one */
    if (fabs(value) > JSON_INTEGER && strpbrk(text, ".e") == NULL)
        (void)snprintf(text, sizeof text, "%.16e", value);
    buf_text(out, text);
}

void json_write_text(struct buf *out, const char *value)
{
    size_t bytes = strlen(value), run = 0; /* run: index of the first byte that is not written yet */
    buf_text(out, "\"");
    for (size_t at = 0; at < bytes;) {
        unsigned char c = (unsigned char)value[at];
        size_t length = utf8_char(value + at, bytes - at);
        if (length != 0 && c >= 0x20 && c != '"' && c != '\\' && c != 0x7F) {
            at += length;
            continue;
        }
        buf_append(out, value + run, at - run);
        if (length == 0)
            buf_text(out, "\xEF\xBF\xBD");
        else if (c == '"' || c == '\\')
            buf_format(out, "\\%c", c);
        else if (c == '\n')
            buf_text(out, "\\n");
        else if (c == '\t')
            buf_text(out, "\\t");
        else
            buf_format(out, "\\u%04x", c);
        at++;
        run = at;
    }
    buf_append(out, value + run, bytes - run);
    buf_text(out, "\"");
}

/* Writes the comma and the key before a value. If the writer misuses the sink, records this and writes nothing. */
static bool open_value(struct json_sink *json, const char *key)
{
    if (json->wrong || json->finished) {
        json->wrong = true;
        return false;
    }
    if (json->depth == 0) {
        json->wrong = key != NULL;
        return !json->wrong;
    }
    uint32_t bit = 1u << (json->depth - 1);
    bool in_list = (json->in_list & bit) != 0;
    if (in_list == (key != NULL)) {
        json->wrong = true;
        return false;
    }
    if ((json->has_items & bit) != 0)
        buf_text(json->out, ",");
    json->has_items |= bit;
    if (key != NULL) {
        json_write_text(json->out, key);
        buf_text(json->out, ":");
    }
    return true;
}

static void close_value(struct json_sink *json)
{
    if (json->depth == 0)
        json->finished = true;
}

static void json_sink_begin(struct json_sink *json, const char *key, bool list)
{
    if (json->depth >= JSON_SINK_DEPTH)
        json->wrong = true;
    if (!open_value(json, key))
        return;
    uint32_t bit = 1u << json->depth;
    json->depth++;
    json->has_items &= ~bit;
    json->in_list = list ? json->in_list | bit : json->in_list & ~bit;
    buf_text(json->out, list ? "[" : "{");
}

static void end(struct json_sink *json, bool list)
{
    if (json->wrong || json->depth == 0 || ((json->in_list >> (json->depth - 1)) & 1u) != (list ? 1u : 0u)) {
        json->wrong = true;
        return;
    }
    json->depth--;
    buf_text(json->out, list ? "]" : "}");
    close_value(json);
}

static void begin_object(void *context, const char *key)
{
    json_sink_begin(context, key, false);
}
static void end_object(void *context)
{
    end(context, false);
}
static void begin_list(void *context, const char *key)
{
    json_sink_begin(context, key, true);
}
static void end_list(void *context)
{
    end(context, true);
}

static void json_sink_number(void *context, const char *key, double value)
{
    struct json_sink *json = context;
    if (open_value(json, key)) {
        json_write_number(json->out, value);
        close_value(json);
    }
}

static void integer(void *context, const char *key, int64_t value)
{
    struct json_sink *json = context;
    if (open_value(json, key)) {
        buf_format(json->out, "%lld", (long long)value);
        close_value(json);
    }
}

static void boolean(void *context, const char *key, bool value)
{
    json_sink_raw(context, key, value ? "true" : "false");
}

static void text(void *context, const char *key, const char *value)
{
    struct json_sink *json = context;
    if (open_value(json, key)) {
        if (value != NULL)
            json_write_text(json->out, value);
        else
            buf_text(json->out, "null");
        close_value(json);
    }
}

static void null(void *context, const char *key)
{
    json_sink_raw(context, key, "null");
}

void json_sink_raw(struct json_sink *json, const char *key, const char *raw)
{
    if (open_value(json, key)) {
        buf_text(json->out, raw);
        close_value(json);
    }
}

void json_sink_init(struct json_sink *json, struct buf *out)
{
    *json = (struct json_sink){
        .sink = {json, begin_object, end_object, begin_list, end_list, json_sink_number, integer, boolean, text, null},
        .out = out,
    };
}

bool json_sink_done(const struct json_sink *json)
{
    return json->finished && !json->wrong && !json->out->failed;
}
