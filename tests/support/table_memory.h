/* Keeps the stream that a conversion writes in memory, and reads it back as a data set. */
#ifndef MOTIF_TESTS_SUPPORT_TABLE_MEMORY_H
#define MOTIF_TESTS_SUPPORT_TABLE_MEMORY_H

#include <stdlib.h>
#include <string.h>

#include "core/data/uploads/collection.h"
#include "core/formats/table/table_stream.h"

struct table_memory {
    unsigned char *bytes;
    size_t size, room;
};

static bool table_memory_add(void *context, const void *bytes, size_t count)
{
    struct table_memory *m = context;
    if (m->size + count > m->room) {
        m->room = 2 * (m->size + count);
        m->bytes = realloc(m->bytes, m->room);
    }
    if (!m->bytes)
        return false;
    memcpy(m->bytes + m->size, bytes, count);
    m->size += count;
    return true;
}

static inline struct table_writer table_memory_writer(struct table_memory *m)
{
    return (struct table_writer){.context = m, .write = table_memory_add};
}

static inline enum status table_memory_read(const struct table_memory *m, const struct collection_limits *limits,
                                            struct collection *c, struct error *err)
{
    const struct collection_options options = {.label = "", .group = ""};
    struct byte_source_memory memory = {m->bytes, m->size, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    return collection_read(collection_format_named("h5ad"), &from, &options, limits, c, err);
}

#endif
