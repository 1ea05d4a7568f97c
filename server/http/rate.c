/* A set-associative table of token buckets. The hash of a caller selects a set; within a set the bucket that was used
 * longest ago is replaced. */
#include "server/http/rate.h"

#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define SETS 1024
#define WAYS 4

struct bucket {
    uint64_t key;           /* hash of the caller, with a secret key, so that a caller cannot choose its set */
    double permits, filled; /* permits: permits left after the last request; filled: time of this request, 0: none */
};

struct rate {
    pthread_mutex_t lock;
    double per_second, most;
    unsigned char secret[crypto_shorthash_KEYBYTES];
    struct bucket buckets[SETS][WAYS];
};

enum status rate_create(int64_t per_second, struct rate **out, struct error *err)
{
    *out = NULL;
    if (per_second == 0)
        return STATUS_OK;
    struct rate *rate = calloc(1, sizeof *rate);
    if (rate == NULL || sodium_init() < 0 || pthread_mutex_init(&rate->lock, NULL) != 0) {
        free(rate);
        return error_memory(err, "the rate limits");
    }
    rate->per_second = (double)per_second;
    rate->most = 2 * rate->per_second;
    crypto_shorthash_keygen(rate->secret);
    *out = rate;
    return STATUS_OK;
}

void rate_destroy(struct rate *rate)
{
    if (rate != NULL) {
        (void)pthread_mutex_destroy(&rate->lock);
        free(rate);
    }
}

/* Returns the bucket of the caller, refilled. If the caller has none, it gets the bucket of its set that was used
 * longest ago. */
static struct bucket *rate_find(struct rate *rate, uint64_t key, double now)
{
    struct bucket *set = rate->buckets[key % SETS], *oldest = &set[0];
    for (int i = 0; i < WAYS; i++) {
        if (set[i].filled > 0 && set[i].key == key)
            return &set[i];
        oldest = set[i].filled < oldest->filled ? &set[i] : oldest;
    }
    *oldest = (struct bucket){.key = key, .permits = rate->most, .filled = now};
    return oldest;
}

bool rate_take(struct rate *rate, const void *caller, size_t bytes, double now, int *wait)
{
    uint64_t key;
    if (rate == NULL)
        return true;
    (void)crypto_shorthash((unsigned char *)&key, caller, bytes, rate->secret);
    (void)pthread_mutex_lock(&rate->lock);
    struct bucket *bucket = rate_find(rate, key, now);
    double gained = fmax(0, now - bucket->filled) * rate->per_second;
    bucket->permits = fmin(rate->most, bucket->permits + gained);
    bucket->filled = fmax(now, bucket->filled);
    bool granted = bucket->permits >= 1;
    *wait = granted ? 0 : (int)ceil((1 - bucket->permits) / rate->per_second);
    bucket->permits -= granted ? 1 : 0;
    (void)pthread_mutex_unlock(&rate->lock);
    return granted;
}

size_t rate_address(const struct sockaddr *address, uint8_t out[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (address != NULL && address->sa_family == AF_INET) {
        memcpy(out, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        return 4;
    }
    if (address != NULL && address->sa_family == AF_INET6) {
        const uint8_t *v6 = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr;
        if (memcmp(v6, mapped, sizeof mapped) == 0) {
            memcpy(out, v6 + 12, 4);
            return 4;
        }
        memcpy(out, v6, 8);
        return 8;
    }
    out[0] = 0;
    return 1;
}
