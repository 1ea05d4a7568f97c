/* Strict UTF-8 check, and escapes for control characters. Every place that accepts names, and every place that writes
 * text from untrusted sources to a terminal, uses the one table of control characters in this file. */
#include "core/base/utf8.h"

#include <stdint.h>
#include <wchar.h>

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

size_t utf8_cut(const char *text, size_t bytes, size_t most)
{
    size_t cut = bytes < most ? bytes : most;
    while (cut > 0 && cut < bytes && ((unsigned char)text[cut] & 0xC0) == 0x80)
        cut--;
    return cut;
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

/* ---- forms of one text ------------------------------------------------------------------------------------- */

size_t utf8_write(uint32_t point, char out[4])
{
    size_t more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    for (size_t i = more; i > 0; i--, point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3F));
    out[0] = (char)(first[more] | point);
    return more + 1;
}

static const struct {
    wchar_t mark;
    const wchar_t *pairs;
} composed[] = {
#include "core/base/utf8_pairs.inc"
};

/* The character that a character and the next one become; 0: none. */
static uint32_t compose(uint32_t base, uint32_t mark)
{
    if (base >= 0x1100 && base < 0x1113 && mark >= 0x1161 && mark < 0x1176) /* the letters of a Hangul syllable */
        return 0xAC00 + ((base - 0x1100) * 21 + (mark - 0x1161)) * 28;
    if (base >= 0xAC00 && base < 0xD7A4 && (base - 0xAC00) % 28 == 0 && mark > 0x11A7 && mark < 0x11C3)
        return base + (mark - 0x11A7);
    for (size_t i = 0; i < sizeof composed / sizeof composed[0]; i++)
        for (const wchar_t *pair = composed[i].pairs; (uint32_t)composed[i].mark == mark && *pair; pair += 2)
            if ((uint32_t)pair[0] == base)
                return (uint32_t)pair[1];
    return 0;
}

static uint32_t lower(uint32_t point)
{
    static const struct {
        uint32_t first, last, step, add;
    } upper[] = {{'A', 'Z', 1, 32},     {0xC0, 0xD6, 1, 32},   {0xD8, 0xDE, 1, 32},    {0x100, 0x12F, 2, 1},
                 {0x132, 0x137, 2, 1},  {0x139, 0x148, 2, 1},  {0x14A, 0x177, 2, 1},   {0x179, 0x17E, 2, 1},
                 {0x386, 0x386, 1, 38}, {0x388, 0x38A, 1, 37}, {0x38C, 0x38C, 1, 64},  {0x38E, 0x38F, 1, 63},
                 {0x391, 0x3AB, 1, 32}, {0x400, 0x40F, 1, 80}, {0x410, 0x42F, 1, 32},  {0x460, 0x481, 2, 1},
                 {0x48A, 0x4BF, 2, 1},  {0x4D0, 0x52F, 2, 1},  {0x1E00, 0x1E95, 2, 1}, {0x1EA0, 0x1EFF, 2, 1}};
    for (size_t i = 0; i < sizeof upper / sizeof upper[0]; i++)
        if (point >= upper[i].first && point <= upper[i].last && (point - upper[i].first) % upper[i].step == 0)
            return point + upper[i].add;
    return point;
}

static size_t one_form(const char *text, size_t bytes, bool fold, char *out)
{
    size_t used = 0, last = 0; /* last: where the character before `used` begins */
    bool valid = utf8_valid(text, bytes);
    for (size_t at = 0; at < bytes;) {
        size_t length = valid ? utf8_char(text + at, bytes - at) : 1;
        uint32_t point = valid ? code_point(text + at, length) : 0;
        uint32_t both = valid && used > 0 ? compose(code_point(out + last, used - last), point) : 0;
        if (fold && valid)
            point = lower(point);
        used = both ? last : used;
        last = used;
        if (valid)
            used += utf8_write(both ? both : point, out + used);
        else
            out[used++] = text[at];
        at += length;
    }
    out[used] = '\0';
    return used;
}

size_t utf8_composed(const char *text, size_t bytes, char *out)
{
    return one_form(text, bytes, false, out);
}

size_t utf8_folded(const char *text, size_t bytes, char *out)
{
    return one_form(text, bytes, true, out);
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
