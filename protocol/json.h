/* Strict parsing of JSON from untrusted sources, on top of cJSON.
 *
 * cJSON accepts wrong grammar, keeps both of two members with the same name, reads integers as doubles, and recurses as
 * deep as the text. So a scanner checks the text first: the grammar of RFC 8259, UTF-8, depth, number of values, and
 * that doubles can represent the numbers. cJSON then builds the tree, in which a second check finds members with the
 * same name. Every error contains the JSON pointer of the value.
 *
 * Only this header includes cJSON. Pure functions; any thread. (cJSON records the place of its last failure in a global
 * variable, which this program never reads.) */
#ifndef MOTIF_PROTOCOL_JSON_H
#define MOTIF_PROTOCOL_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/utf8.h"

#define JSON_DEPTH 32 /* nesting depth of objects and lists */
/* maximum number of members of one object; the head of a safetensors file has one member per tensor */
#define JSON_MEMBERS 1024
#define JSON_VALUES (1u << 20)          /* maximum number of values in one text; limits the tree to about 80 MiB */
#define JSON_INTEGER 9007199254740991.0 /* largest integer that is accepted: 2^53 - 1 */

/* Checks a text. STATUS_CORRUPT: not JSON (the message contains line and column); STATUS_INVALID: a value that cannot
 * be stored exactly (integers beyond 2^53 - 1, NaN, infinities, U+0000); STATUS_LIMIT: too deep, or too many values.
 * err->pointer leads to the value. */
enum status json_scan(const char *text, size_t bytes, struct error *err);
/* Checks a text with json_scan() and builds the tree, which the caller frees with cJSON_Delete(). STATUS_INVALID also
 * if two members of an object have the same name. */
enum status json_parse(const char *text, size_t bytes, cJSON **root, struct error *err);

/* Copies the text member `name` of a document's top-level object into `out`, of `room` bytes. Returns false and sets
 * `out` to "" if the document is NULL or damaged, has no such text, or the text does not fit. */
bool json_member_text(const char *document, const char *name, char *out, size_t room);

/* Appends a value in canonical form: members sorted by their bytes, no white space, shortest numbers. Values that are
 * equal give the same bytes. */
void json_canonical(const cJSON *value, struct buf *out);

/* Appends "/token" to a JSON pointer in a buffer of `size` bytes, escaped as in RFC 6901, and truncates it at a
 * character boundary when the buffer is full. */
void json_pointer_add(char *pointer, size_t size, const char *token, size_t token_bytes);

/* Returns the first member of an object, or the first item of a list. Returns NULL if the group is empty or NULL. */
const cJSON *json_first(const cJSON *group);
/* NOLINTNEXTLINE(bugprone-macro-parentheses): item is a name */
#define JSON_EACH(item, group) for (const cJSON *item = json_first(group); item != NULL; item = item->next)

/* Returns the type of a value for error messages: "a number", "text", "an object", ...; static. */
const char *json_type_name(const cJSON *value);

/* Adds an item to an object. If there is no memory to add the item, deletes it and returns false; cJSON's own functions
 * do not delete it. */
static inline bool json_attach(cJSON *to, const char *name, cJSON *item)
{
    bool added = cJSON_AddItemToObject(to, name, item);
    if (!added)
        cJSON_Delete(item);
    return added;
}

#endif
