/* Parses server-sent events: splits a body into lines, and collects the fields of an event until an empty line ends
 * it. */
#include "api/client/event_stream.h"

#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES (8u << 20)

static void clear_block(struct event_stream *stream)
{
    buf_clear(&stream->data);
    stream->id[0] = stream->type[0] = 0;
    stream->any = false;
}

void event_stream_begin(struct event_stream *stream, bool (*take)(void *context, const char *type, const char *data),
                        void *context)
{
    event_stream_end(stream);
    buf_init(&stream->line, LINE_MAX_BYTES);
    buf_init(&stream->data, LINE_MAX_BYTES);
    stream->take = take;
    stream->context = context;
    clear_block(stream);
}

void event_stream_end(struct event_stream *stream)
{
    buf_close(&stream->line);
    buf_close(&stream->data);
}

/* Called at the empty line that ends an event: passes the event to take(). Returns false if parsing must stop. */
static bool dispatch(struct event_stream *stream)
{
    bool go_on = true;
    if (stream->data.failed) /* the event does not fit into memory, so it must not count as received */
        return false;
    if (stream->id[0])
        memcpy(stream->last, stream->id, sizeof(stream->last));
    if (stream->any)
        go_on = stream->take(stream->context, stream->data.size > 0 ? stream->type : "",
                             stream->data.size > 0 ? stream->data.data : "");
    clear_block(stream);
    return go_on;
}

static bool take_line(struct event_stream *stream, const char *line)
{
    char name[16];
    if (!line[0])
        return dispatch(stream);
    if (line[0] == ':')
        return true; /* a comment is ignored */
    size_t length = strcspn(line, ":");
    const char *value = line[length] ? line + length + 1 : "";
    value += value[0] == ' ';
    snprintf(name, sizeof(name), "%.*s", (int)(length < 15 ? length : 15), line);
    stream->any = true;
    if (strcmp(name, "id") == 0)
        snprintf(stream->id, sizeof(stream->id), "%s", value);
    else if (strcmp(name, "event") == 0)
        snprintf(stream->type, sizeof(stream->type), "%s", value);
    else if (strcmp(name, "data") == 0)
        buf_format(&stream->data, "%s%s", stream->data.size > 0 ? "\n" : "", value);
    return true;
}

bool event_stream_add(struct event_stream *stream, const char *bytes, size_t count)
{
    while (count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t length = end ? (size_t)(end - bytes) : count;
        buf_append(&stream->line, bytes, length);
        if (stream->line.failed)
            return false;
        if (!end)
            return true;
        if (stream->line.size > 0 && stream->line.data[stream->line.size - 1] == '\r')
            stream->line.data[--stream->line.size] = 0;
        if (!take_line(stream, stream->line.size > 0 ? stream->line.data : ""))
            return false;
        buf_clear(&stream->line);
        bytes += length + 1;
        count -= length + 1;
    }
    return true;
}
