/* Writes text, values and pictures as HTML (html.h). */
#include "api/report/html.h"

#include <sodium/utils.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void html_text(struct buf *out, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        switch (*text) {
        case '&':
            buf_text(out, "&amp;");
            break;
        case '<':
            buf_text(out, "&lt;");
            break;
        case '>':
            buf_text(out, "&gt;");
            break;
        case '"':
            buf_text(out, "&quot;");
            break;
        case '\'':
            buf_text(out, "&#39;");
            break;
        default:
            buf_append(out, text, 1);
        }
    }
}

void html_format(struct buf *out, const char *format, ...)
{
    char text[1000];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    html_text(out, text);
}

void html_element(struct buf *out, const char *element, const char *text)
{
    buf_format(out, "<%s>", element);
    html_text(out, text);
    buf_format(out, "</%.*s>", (int)strcspn(element, " "), element);
}

size_t html_image_bytes(size_t count)
{
    return (count + 2) / 3 * 4 + 64;
}

void html_image(struct buf *out, const char *type, const void *bytes, size_t count, const char *alt)
{
    size_t room = sodium_base64_encoded_len(count, sodium_base64_VARIANT_ORIGINAL);
    char *text = malloc(room);
    if (text == NULL) {
        out->failed = true;
        return;
    }
    sodium_bin2base64(text, room, bytes, count, sodium_base64_VARIANT_ORIGINAL);
    buf_format(out, "<img src=\"data:%s;base64,", type);
    buf_text(out, text);
    buf_text(out, "\" alt=\"");
    html_text(out, alt);
    buf_text(out, "\">");
    free(text);
}

void html_value(struct buf *out, const cJSON *value)
{
    const char *separator = "";
    if (cJSON_IsString(value))
        html_text(out, value->valuestring);
    else if (cJSON_IsNumber(value))
        buf_format(out, "%.6g", value->valuedouble);
    else if (cJSON_IsBool(value))
        buf_text(out, cJSON_IsTrue(value) ? "yes" : "no");
    else if (!cJSON_IsArray(value))
        buf_text(out, "–");
    JSON_EACH (item, value) {
        buf_text(out, separator);
        if (cJSON_IsObject(item) || cJSON_IsArray(item))
            buf_text(out, "…");
        else
            html_value(out, item);
        separator = ", ";
    }
}
