/* Text as HTML. Everything that a client named goes through html_text(), so it never becomes markup.
 *
 * The functions append UTF-8 to a buffer; errors are those of struct buf. Pure functions; any thread. */
#ifndef MOTIF_API_REPORT_HTML_H
#define MOTIF_API_REPORT_HTML_H

#include "core/base/buf.h"
#include "protocol/json.h"

/* Appends a text as the content of an element or of an attribute in double quotes. NULL: appends nothing. */
void html_text(struct buf *out, const char *text);
/* Formats a text as printf() does, cuts it at 1,000 bytes, and appends it as html_text() does. */
void html_format(struct buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends an element that contains a text. element: its name and attributes, "td" or "td class=\"number\"". */
void html_element(struct buf *out, const char *element, const char *text);
/* Appends an <img> whose address contains the bytes. type: the media type, static text. alt: what the picture shows. */
void html_image(struct buf *out, const char *type, const void *bytes, size_t count, const char *alt);
/* Bytes that html_image() appends for a picture of `count` bytes, without `alt`. */
size_t html_image_bytes(size_t count);
/* Appends a value of JSON as text: numbers with six digits, lists with commas between their values. */
void html_value(struct buf *out, const cJSON *value);

#endif
