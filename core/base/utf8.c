/* Strict UTF-8 check. */
#include "core/base/utf8.h"

size_t utf8_char(const char *text, size_t bytes)
{
    const unsigned char *u = (const unsigned char *)text;
    if (bytes == 0) {
        return 0;
    }
    if (u[0] < 0x80) {
        return 1;
    }
    size_t more = u[0] >= 0xC2 && u[0] <= 0xDF ? 1 : (u[0] & 0xF0) == 0xE0 ? 2 : u[0] >= 0xF0 && u[0] <= 0xF4 ? 3 : 0;
    if (more == 0 || bytes <= more) {
        return 0;
    }
    for (size_t i = 1; i <= more; i++) {
        if ((u[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    /* overlong forms, surrogates, above U+10FFFF */
    if ((u[0] == 0xE0 && u[1] < 0xA0) || (u[0] == 0xED && u[1] > 0x9F) || (u[0] == 0xF0 && u[1] < 0x90) ||
        (u[0] == 0xF4 && u[1] > 0x8F)) {
        return 0;
    }
    return more + 1;
}

bool utf8_valid(const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        size_t length = utf8_char(text + at, bytes - at);
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return true;
}
