/* Keeps the lists of marks that were used last (mark_cache.h). */
#include "api/review/mark_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 8, LARGEST = 8 << 20 }; /* LARGEST: bytes of a text that is kept */

struct mark_cache {
    pthread_mutex_t lock;
    int64_t uses;
    struct {
        struct mark_key key;
        char *text; /* NULL: the place is free */
        size_t bytes;
        int64_t used;
    } place[PLACES];
};

enum status mark_cache_create(struct mark_cache **cache, struct error *err)
{
    *cache = calloc(1, sizeof **cache);
    if (*cache == NULL)
        return error_memory(err, "the cache of marks");
    (void)pthread_mutex_init(&(*cache)->lock, NULL);
    return STATUS_OK;
}

void mark_cache_destroy(struct mark_cache *cache)
{
    if (cache == NULL)
        return;
    for (int i = 0; i < PLACES; i++)
        free(cache->place[i].text);
    (void)pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static bool same_key(const struct mark_key *a, const struct mark_key *b)
{
    return memcmp(a->sha256, b->sha256, HASH_BYTES) == 0 && strcmp(a->job, b->job) == 0 && a->samples == b->samples;
}

bool mark_cache_get(struct mark_cache *cache, const struct mark_key *key, struct buf *out)
{
    bool found = false;
    pthread_mutex_lock(&cache->lock);
    for (int i = 0; i < PLACES && !found; i++) {
        found = cache->place[i].text != NULL && same_key(&cache->place[i].key, key);
        if (!found)
            continue;
        cache->place[i].used = ++cache->uses;
        buf_append(out, cache->place[i].text, cache->place[i].bytes);
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

void mark_cache_put(struct mark_cache *cache, const struct mark_key *key, const struct buf *text)
{
    char *copy = text->size > 0 && text->size <= LARGEST ? malloc(text->size) : NULL;
    int oldest = 0;
    if (copy == NULL)
        return;
    memcpy(copy, text->data, text->size);
    pthread_mutex_lock(&cache->lock);
    for (int i = 1; i < PLACES; i++)
        if (cache->place[i].used < cache->place[oldest].used)
            oldest = i;
    free(cache->place[oldest].text);
    cache->place[oldest].key = *key;
    cache->place[oldest].text = copy;
    cache->place[oldest].bytes = text->size;
    cache->place[oldest].used = ++cache->uses;
    pthread_mutex_unlock(&cache->lock);
}

void mark_cache_forget(struct mark_cache *cache, const char *job)
{
    pthread_mutex_lock(&cache->lock);
    for (int i = 0; i < PLACES; i++)
        if (cache->place[i].text != NULL && strcmp(cache->place[i].key.job, job) == 0) {
            free(cache->place[i].text);
            cache->place[i].text = NULL;
            cache->place[i].used = 0;
        }
    pthread_mutex_unlock(&cache->lock);
}
