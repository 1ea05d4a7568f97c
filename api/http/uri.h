/* Request targets: strict percent-decoding, query parameters, and header values that are lists.
 *
 * Nothing that a client sends becomes a path of the host; still the decoder refuses what has no
 * business in a target: NUL and control characters (also as %00), bad hexadecimal digits, bytes that are not
 * UTF-8 (so overlong forms of '/' and '.' too). Pure functions; any thread. */
#ifndef MOTIF_API_HTTP_URI_H
#define MOTIF_API_HTTP_URI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

#define QUERY_PAIRS 32

/* `out` gets the decoded text and a NUL. STATUS_INVALID, STATUS_LIMIT (does not fit). */
enum status uri_decode(const char *text, size_t bytes, bool plus_is_space, char *out, size_t out_bytes,
                       struct error *err);

struct query_pair {
    const char *name, *value;
};
struct query {
    struct query_pair pairs[QUERY_PAIRS];
    size_t count;
    char text[4096 + QUERY_PAIRS]; /* where names and values live */
};
/* `text`: what stands behind '?', NULL or "" for none. A name that occurs twice is refused. The pairs
 * point into `query`: do not move it. */
enum status query_parse(const char *text, struct query *query, struct error *err);
const char *query_get(const struct query *query, const char *name); /* NULL: not given */

/* A decimal integer and nothing else ("-12", "7"); false otherwise or beyond int64_t. */
bool text_integer(const char *text, int64_t *value);

/* Is `content_type` ("application/json; charset=utf-8") of this type? Parameters other than a charset
 * that is not UTF-8 do not matter. */
bool media_is(const char *content_type, const char *type);
/* The offer that an Accept header wants most (the earlier of equals), or -1. NULL accepts all. */
int media_pick(const char *accept, const char *const *offers, int count);

/* Does an If-Match / If-None-Match list name this tag? `*` names every tag. Weak tags ("W/...") match only
 * when `weak` is set. */
bool etag_listed(const char *list, const char *etag, bool weak);

/* The answer to a Range header over `total` bytes. RANGE_ALL: none, or one to be ignored (other units, bad
 * syntax, several ranges). */
enum range { RANGE_ALL, RANGE_PART, RANGE_NOT_SATISFIABLE };
enum range range_parse(const char *header, uint64_t total, uint64_t *first, uint64_t *last);

#endif
