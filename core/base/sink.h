/* The interface through which the core writes structured results: objects, lists, numbers and text.
 *
 * The api folder implements it with JSON. Inside an object every value has a key; inside a list the key is NULL. A call
 * returns no error: the sink stores the first failure, which its owner checks at the end. Numbers that are not finite
 * are written as null. Keys and texts are copied. */
#ifndef MOTIF_CORE_BASE_SINK_H
#define MOTIF_CORE_BASE_SINK_H

#include <stdbool.h>
#include <stdint.h>

struct sink {
    void *context;
    void (*begin_object)(void *context, const char *key);
    void (*end_object)(void *context);
    void (*begin_list)(void *context, const char *key);
    void (*end_list)(void *context);
    void (*number)(void *context, const char *key, double value);
    void (*integer)(void *context, const char *key, int64_t value);
    void (*boolean)(void *context, const char *key, bool value);
    void (*text)(void *context, const char *key, const char *value);
    void (*null)(void *context, const char *key);
};

static inline void sink_begin_object(const struct sink *s, const char *key)
{
    s->begin_object(s->context, key);
}
static inline void sink_end_object(const struct sink *s)
{
    s->end_object(s->context);
}
static inline void sink_begin_list(const struct sink *s, const char *key)
{
    s->begin_list(s->context, key);
}
static inline void sink_end_list(const struct sink *s)
{
    s->end_list(s->context);
}
static inline void sink_number(const struct sink *s, const char *key, double v)
{
    s->number(s->context, key, v);
}
static inline void sink_integer(const struct sink *s, const char *key, int64_t v)
{
    s->integer(s->context, key, v);
}
static inline void sink_boolean(const struct sink *s, const char *key, bool v)
{
    s->boolean(s->context, key, v);
}
static inline void sink_text(const struct sink *s, const char *key, const char *v)
{
    s->text(s->context, key, v);
}
static inline void sink_null(const struct sink *s, const char *key)
{
    s->null(s->context, key);
}

#endif
