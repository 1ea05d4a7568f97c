/* Parses server-sent events from pieces of a body (WHATWG HTML, section 9.2.6). Only one thread may use a stream. */
#ifndef MOTIF_API_CLIENT_EVENT_STREAM_H
#define MOTIF_API_CLIENT_EVENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

struct event_stream { /* the caller sets it to zero before the first event_stream_begin() */
    char last[32];    /* id of the last complete event; "" before the first event */
    /* Called for each event. Also called, with "" as `type` and `data`, for a block without data, such as the first
     * block of a stream. Returns false to stop the parser. */
    bool (*take)(void *context, const char *type, const char *data);
    void *context;
    struct buf line, data;
    char id[32], type[32];
    bool any; /* the current block has a field */
};

/* Prepares for a new body: drops an incomplete block of the last body, and keeps `last`. */
void event_stream_begin(struct event_stream *stream, bool (*take)(void *context, const char *type, const char *data),
                        void *context);
/* Parses the next bytes. Returns false when take() returned false, or when a line is longer than 8 MiB. */
bool event_stream_add(struct event_stream *stream, const char *bytes, size_t count);
void event_stream_end(struct event_stream *stream);

#endif
