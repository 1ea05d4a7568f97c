/* Strict UTF-8 check, and escapes for control characters. Every place that accepts names, and every place that writes
 * text from untrusted sources to a terminal, uses the one table of control characters in this file. */
#include "core/base/utf8.h"

#include <stdint.h>

size_t utf8_char(const char *text, size_t bytes)
{
    const unsigned char *u = (const unsigned char *)text;
    if (bytes == 0)
        return 0;
    if (u[0] < 0x80)
        return 1;
    size_t more = u[0] >= 0xC2 && u[0] <= 0xDF ? 1 : (u[0] & 0xF0) == 0xE0 ? 2 : u[0] >= 0xF0 && u[0] <= 0xF4 ? 3 : 0;
    if (more == 0 || bytes <= more)
        return 0;
    for (size_t i = 1; i <= more; i++)
        if ((u[i] & 0xC0) != 0x80)
            return 0;
    /* rejects overlong forms, surrogates and code points above U+10FFFF */
    if ((u[0] == 0xE0 && u[1] < 0xA0) || (u[0] == 0xED && u[1] > 0x9F) || (u[0] == 0xF0 && u[1] < 0x90) ||
        (u[0] == 0xF4 && u[1] > 0x8F))
        return 0;
    return more + 1;
}

bool utf8_valid(const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        size_t length = utf8_char(text + at, bytes - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

/* Ranges of control characters; see utf8_printable(). */
static const struct {
    uint32_t first, last;
} controls[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x200E, 0x200F},
    {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
};

static bool is_control(uint32_t point)
{
    for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++)
        if (point >= controls[i].first && point <= controls[i].last)
            return true;
    return false;
}

/* The code point of a valid character of `length` bytes. */
static uint32_t code_point(const char *text, size_t length)
{
    static const unsigned char first_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    const unsigned char *u = (const unsigned char *)text;
    uint32_t point = u[0] & first_bits[length];
    for (size_t i = 1; i < length; i++)
        point = point << 6 | (u[i] & 0x3Fu);
    return point;
}

bool utf8_printable(const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        size_t length = utf8_char(text + at, bytes - at);
        if (length == 0 || is_control(code_point(text + at, length)))
            return false;
        at += length;
    }
    return true;
}

static void append_escape(struct buf *out, uint32_t point, enum utf8_escapes escapes)
{
    if (escapes == UTF8_FOR_TERMINAL)
        buf_format(out, point < 0x100 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x", point);
    else if (point < 0x10000)
        buf_format(out, "\\u%04x", point);
    else /* JSON writes a character above U+FFFF as a pair of surrogates */
        buf_format(out, "\\u%04x\\u%04x", 0xD7C0 + (point >> 10), 0xDC00 + (point & 0x3FF));
}

void utf8_escape(struct buf *out, const char *text, size_t bytes, enum utf8_escapes escapes)
{
    size_t plain = 0; /* start of the text that was not appended yet; it needs no escape */
    for (size_t at = 0; at < bytes;) {
        size_t length = utf8_char(text + at, bytes - at);
        uint32_t point = length > 0                     ? code_point(text + at, length)
                         : escapes == UTF8_FOR_TERMINAL ? (unsigned char)text[at]
                                                        : 0xFFFD;
        bool stays = length > 0 && (!is_control(point) || (escapes == UTF8_FOR_JSON && text[at] == '\n'));
        size_t next = at + (length > 0 ? length : 1);
        if (!stays) {
            buf_append(out, text + plain, at - plain);
            append_escape(out, point, escapes);
            plain = next;
        }
        at = next;
    }
    buf_append(out, text + plain, bytes - plain);
}
