/* SHA-256 by libsodium. */
#include "core/base/hash.h"

void hash_init(struct hash *hash)
{
    (void)crypto_hash_sha256_init(&hash->state);
}

void hash_add(struct hash *hash, const void *bytes, size_t count)
{
    if (count > 0) /* `bytes` may be NULL if count is 0 */
        (void)crypto_hash_sha256_update(&hash->state, bytes, count);
}

void hash_finish(struct hash *hash, unsigned char digest[HASH_BYTES])
{
    (void)crypto_hash_sha256_final(&hash->state, digest);
}

void hash_bytes(const void *bytes, size_t count, unsigned char digest[HASH_BYTES])
{
    struct hash hash;
    hash_init(&hash);
    hash_add(&hash, bytes, count);
    hash_finish(&hash, digest);
}

void hash_hex(const unsigned char digest[HASH_BYTES], char text[HASH_TEXT])
{
    static const char figures[] = "0123456789abcdef";
    for (int i = 0; i < HASH_BYTES; i++) {
        text[2 * i] = figures[digest[i] >> 4];
        text[2 * i + 1] = figures[digest[i] & 15];
    }
    text[HASH_TEXT - 1] = '\0';
}
