/* A byte source of text as UTF-8. It removes a byte order mark, and converts UTF-16 that begins with one. All other
 * bytes pass unchanged. One thread at a time. */
#ifndef MOTIF_CORE_FORMATS_TEXT_SOURCE_H
#define MOTIF_CORE_FORMATS_TEXT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/formats/byte_source.h"

enum text_form { TEXT_UNKNOWN, TEXT_AS_IT_IS, TEXT_UTF16_LITTLE, TEXT_UTF16_BIG };

struct text_source {
    enum text_form form; /* known after the first read */
    /* private */
    struct byte_source from;
    unsigned char in[1024]; /* bytes [at, filled) were read from `from` and are not converted yet */
    size_t at, filled;
    unsigned char out[4]; /* bytes [out_at, out_filled) of a character were not returned yet */
    size_t out_at, out_filled;
    bool ended;
};

/* Opens the source. `from` is copied; what it refers to must outlive the source. */
void text_source_open(struct text_source *text, const struct byte_source *from);
/* The source as a byte source, which refers to `text`. Its read() gives STATUS_INVALID for UTF-16 that is not valid,
 * and for UTF-32. */
struct byte_source text_source_bytes(struct text_source *text);
/* Reads a whole text as UTF-8: text_source_bytes() and byte_source_all(). */
enum status text_source_all(const struct byte_source *from, size_t most, char **text, size_t *size, struct error *err);

#endif
