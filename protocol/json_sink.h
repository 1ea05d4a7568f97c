/* A struct sink that writes JSON text to a bounded buffer.
 *
 *     struct json_sink json;
 *     json_sink_init(&json, &buf);
 *     sink_begin_object(&json.sink, NULL);
 *     method->result(run, &json.sink, &err);
 *     sink_end_object(&json.sink);
 *     if (!json_sink_done(&json)) ...
 *
 * Numbers are written in the shortest of %.15g, %.16g and %.17g that gives the same bits when read back; NaN and
 * infinities become null. U+FFFD replaces bytes that are not UTF-8. One thread at a time. */
#ifndef MOTIF_PROTOCOL_JSON_SINK_H
#define MOTIF_PROTOCOL_JSON_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/sink.h"

#define JSON_SINK_DEPTH 32

struct json_sink {
    struct sink sink; /* the interface that writers receive a pointer to */
    struct buf *out;  /* borrowed */
    int depth;
    uint32_t in_list;   /* bit d is set if nesting level d is a list */
    uint32_t has_items; /* bit d is set if nesting level d has an item, so the next one needs a comma */
    bool wrong;         /* a writer has misused the sink: unbalanced calls, a missing key, or too deep nesting */
    bool finished;      /* the root value is complete */
};

/* Prepares a sink that appends to `out`. The sink points to `json`: do not move it. */
void json_sink_init(struct json_sink *json, struct buf *out);
/* Writes text that is JSON already (a stored document) as a value. */
void json_sink_raw(struct json_sink *json, const char *key, const char *text);
/* True when exactly one value was written, every object and list was closed, and the buffer did not overflow. */
bool json_sink_done(const struct json_sink *json);

/* json_write_number() and json_write_text() append one value in JSON notation, for writers without a sink. */
void json_write_number(struct buf *out, double value);
void json_write_text(struct buf *out, const char *value);

#endif
