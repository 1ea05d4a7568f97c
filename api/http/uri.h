/* Request targets (percent-decoding, query parameters) and header values that are lists (Accept, ETags, Range).
 *
 * The decoder is strict. It refuses NUL and control characters (also as %00), wrong hexadecimal digits, and bytes that
 * are not UTF-8, overlong forms of '/' and '.' among them. Pure functions; any thread. */
#ifndef MOTIF_API_HTTP_URI_H
#define MOTIF_API_HTTP_URI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/values.h"
#include "core/base/error.h"

#define QUERY_PAIRS 32

/* Writes the decoded text and a NUL to `out`. plus_is_space: '+' means a space, as in queries. STATUS_INVALID: wrong
 * encoding; STATUS_LIMIT: `out` is too small. */
enum status uri_decode(const char *text, size_t bytes, bool plus_is_space, char *out, size_t out_bytes,
                       struct error *err);

/* Appends text in percent-encoding: all bytes except letters, digits and "-._~" become %XX. */
void uri_encode(struct buf *out, const char *text);

struct query_pair {
    const char *name, *value;
};
struct query {
    struct query_pair pairs[QUERY_PAIRS];
    size_t count;
    char text[4096 + QUERY_PAIRS]; /* memory of the names and values */
};
/* Parses a query, the text after '?'; NULL or "" is an empty query. STATUS_INVALID: wrong encoding, a parameter without
 * a name, or a name that occurs twice. STATUS_LIMIT: too many pairs, or too long text. The pairs point into `query`: do
 * not move or copy it. */
enum status query_parse(const char *text, struct query *query, struct error *err);
const char *query_get(const struct query *query, const char *name); /* returns NULL if the query has no such name */

/* True for a traceparent of version 00 (W3C Trace Context): "00-", 32 and 16 hex digits that are not all 0, and flags.
 */
bool traceparent_valid(const char *text);

/* True if the media type of a Content-Type ("application/json; charset=utf-8") is `type`. False for a charset other
 * than UTF-8; other parameters are ignored. */
bool media_is(const char *content_type, const char *type);
/* Returns the short name of a media type: the part after the '/' and after an "x-", such as "npy" for
 * application/x-npy. */
const char *media_short(const char *type);
/* Returns the index of the offer that an Accept header prefers, and of equal offers the earlier one; -1 if it accepts
 * none. A header that is NULL accepts everything. */
int media_pick(const char *accept, const char *const *offers, int count);

/* True if the list of an If-Match or If-None-Match header contains this tag or is "*". Weak tags ("W/...") can match
 * only if `weak` is set. */
bool etag_listed(const char *list, const char *etag, bool weak);

/* range_parse() finds the part of `total` bytes that a Range header requests: bytes *first to *last, both included.
 * RANGE_ALL: send everything, because the header is missing (NULL) or must be ignored (other units, wrong syntax,
 * several ranges). */
enum range { RANGE_ALL, RANGE_PART, RANGE_NOT_SATISFIABLE };
enum range range_parse(const char *header, uint64_t total, uint64_t *first, uint64_t *last);

#endif
