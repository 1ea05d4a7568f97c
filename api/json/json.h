/* JSON from foreign hands: what cJSON accepts too much of is refused before cJSON sees it.
 *
 * cJSON is lenient about grammar, keeps the last of two equal members, reads integers as doubles and
 * recurses as deep as the text does. So a scanner of our own goes over the text first and checks the
 * whole grammar of RFC 8259, UTF-8, depth, number of values and what doubles can carry; the tree that
 * cJSON then builds is checked for equal members. Every fault names the place by a JSON pointer.
 *
 * This header is the only place of the service that includes cJSON. Pure functions; any thread (cJSON notes where
 * its last failure was in one global that nobody here reads). */
#ifndef MOTIF_API_JSON_JSON_H
#define MOTIF_API_JSON_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/utf8.h"

#define JSON_DEPTH 32                   /* objects and lists inside each other */
#define JSON_MEMBERS 1024               /* of one object: a model may have so many tensors */
#define JSON_VALUES (1u << 20)          /* of one text: bounds the tree to about 80 MiB */
#define JSON_INTEGER 9007199254740991.0 /* 2^53 - 1 */

/* STATUS_CORRUPT: not JSON (the message says line and column); STATUS_INVALID: JSON that cannot be
 * kept exactly (integers beyond 2^53 - 1, NaN, infinities, U+0000, equal members); STATUS_LIMIT: too
 * deep, too many values. err->pointer names the value. */
enum status json_scan(const char *text, size_t bytes, struct error *err);
/* json_scan() and then the tree, which the caller gives to cJSON_Delete(). */
enum status json_parse(const char *text, size_t bytes, cJSON **root, struct error *err);

/* The one way to write a value: members sorted by their bytes, no white space, shortest numbers. Two texts
 * that mean the same give the same bytes. */
void json_canonical(const cJSON *value, struct buf *out);

/* Adds "/token" to a JSON pointer in `pointer` of `size` bytes, escaped as RFC 6901 wants; cut off at a
 * character boundary when it is full. */
void json_pointer_add(char *pointer, size_t size, const char *token, size_t token_bytes);

/* The first of an object's members or a list's items; NULL where there is none, and of NULL. */
const cJSON *json_first(const cJSON *group);
/* NOLINTNEXTLINE(bugprone-macro-parentheses): item is a name */
#define JSON_EACH(item, group) for (const cJSON *item = json_first(group); item != NULL; item = item->next)

/* "a number", "text", "an object", ... */
const char *json_type_name(const cJSON *value);

/* As cJSON's, but that the item is deleted where there is no memory to add it. */
static inline bool json_attach(cJSON *to, const char *name, cJSON *item)
{
    bool added = cJSON_AddItemToObject(to, name, item);
    if (!added) {
        cJSON_Delete(item);
    }
    return added;
}
static inline bool json_attach_last(cJSON *to, cJSON *item)
{
    bool added = cJSON_AddItemToArray(to, item);
    if (!added) {
        cJSON_Delete(item);
    }
    return added;
}

#endif
