/* A sink that writes "key=value" and brackets, so that a test can search an answer as text. */
#include "tests/support/text_sink.h"

static void put(struct buf *buf, const char *key)
{
    buf_text(buf, " ");
    if (key)
        buf_format(buf, "%s=", key);
}
static void begin_object(void *c, const char *key)
{
    put(c, key), buf_text(c, "{");
}
static void end_object(void *c)
{
    buf_text(c, " }");
}
static void begin_list(void *c, const char *key)
{
    put(c, key), buf_text(c, "[");
}
static void end_list(void *c)
{
    buf_text(c, " ]");
}
static void number(void *c, const char *key, double v)
{
    put(c, key), buf_format(c, "%.9g", v);
}
static void integer(void *c, const char *key, int64_t v)
{
    put(c, key), buf_format(c, "%lld", (long long)v);
}
static void boolean(void *c, const char *key, bool v)
{
    put(c, key), buf_text(c, v ? "true" : "false");
}
static void text(void *c, const char *key, const char *v)
{
    put(c, key), buf_format(c, "'%s'", v);
}
static void null(void *c, const char *key)
{
    put(c, key), buf_text(c, "null");
}

struct sink text_sink(struct buf *buf)
{
    return (struct sink){.context = buf,
                         .begin_object = begin_object,
                         .end_object = end_object,
                         .begin_list = begin_list,
                         .end_list = end_list,
                         .number = number,
                         .integer = integer,
                         .boolean = boolean,
                         .text = text,
                         .null = null};
}
