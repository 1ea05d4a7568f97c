/* A struct sink that writes JSON text into a bounded buffer.
 *
 *     struct json_sink json;
 *     json_sink_init(&json, &buf);
 *     sink_begin_object(&json.sink, NULL);
 *     method->result(run, &json.sink, &err);
 *     sink_end_object(&json.sink);
 *     if (!json_sink_done(&json)) ...
 *
 * Numbers are written so that reading them back gives the same bits, in the shortest of %.15g, %.16g, %.17g;
 * non-finite ones as null; text that is not UTF-8 has its bad bytes replaced by U+FFFD. One thread at a time. */
#ifndef MOTIF_API_JSON_JSON_SINK_H
#define MOTIF_API_JSON_JSON_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/sink.h"

#define JSON_SINK_DEPTH 32

struct json_sink {
    struct sink sink; /* hand out a pointer to this */
    struct buf *out;  /* borrowed */
    int depth;
    uint32_t in_list;   /* bit d: level d is a list */
    uint32_t has_items; /* bit d: level d needs a comma before its next item */
    bool wrong;         /* misuse: unbalanced, key missing, too deep */
    bool finished;      /* the one root value is complete */
};

/* The sink keeps a pointer to `json`: do not move it. */
void json_sink_init(struct json_sink *json, struct buf *out);
/* Inserts text that already is JSON (a stored document) as a value. */
void json_sink_raw(struct json_sink *json, const char *key, const char *text);
/* True when exactly one value was written, all is balanced, and the buffer did not overflow. */
bool json_sink_done(const struct json_sink *json);

/* The notation itself, for writers that have no sink. */
void json_write_number(struct buf *out, double value);
void json_write_text(struct buf *out, const char *value);

#endif
