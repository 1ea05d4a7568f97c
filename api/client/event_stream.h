/* Server-sent events out of pieces of a body (WHATWG HTML, section 9.2.6). One thread. */
#ifndef MOTIF_API_CLIENT_EVENT_STREAM_H
#define MOTIF_API_CLIENT_EVENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

struct event_stream { /* all zero before the first begin */
    char last[32];    /* id of the last event that was taken; "" before the first */
    /* Gets an event, or with type "" and data "" a block that has none, such as the one that a stream opens with.
     * False: no more is wanted. */
    bool (*take)(void *context, const char *type, const char *data);
    void *context;
    struct buf line, data;
    char id[32], type[32];
    bool any; /* the block has a field */
};

/* A new body, which may begin in the middle of nothing; `last` stays. */
void event_stream_begin(struct event_stream *stream, bool (*take)(void *context, const char *type, const char *data),
                        void *context);
/* False: take() wanted no more, or a line is longer than 8 MiB. */
bool event_stream_add(struct event_stream *stream, const char *bytes, size_t count);
void event_stream_end(struct event_stream *stream);

#endif
