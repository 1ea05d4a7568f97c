/* A cache of the marks that models have in their test parts, as the JSON text of the query that lists them. Any thread
 * may call any function. */
#ifndef MOTIF_API_REVIEW_MARK_CACHE_H
#define MOTIF_API_REVIEW_MARK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/hash.h"

/* What a list of marks depends on: the weights, the job with its data, and the number of samples. */
struct mark_key {
    unsigned char sha256[HASH_BYTES];
    char job[32];
    int64_t samples;
};

struct mark_cache;
enum status mark_cache_create(struct mark_cache **cache, struct error *err);
void mark_cache_destroy(struct mark_cache *cache); /* NULL is fine */

/* Appends the text of a key to `out`. Returns false if the cache does not have it. */
bool mark_cache_get(struct mark_cache *cache, const struct mark_key *key, struct buf *out);
/* Keeps a copy of a text instead of the one that was used least recently. Without memory, it keeps nothing. */
void mark_cache_put(struct mark_cache *cache, const struct mark_key *key, const struct buf *text);
/* Drops the texts of a job. */
void mark_cache_forget(struct mark_cache *cache, const char *job);

#endif
