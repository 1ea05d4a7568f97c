/* SHA-256 by libsodium, in pieces or at once. Each thread uses a `struct hash` of its own. */
#ifndef MOTIF_CORE_BASE_HASH_H
#define MOTIF_CORE_BASE_HASH_H

#include <stddef.h>
#include <sodium/crypto_hash_sha256.h>

#define HASH_BYTES 32
#define HASH_TEXT 65 /* bytes of a digest as lower-case hex, with its NUL */

struct hash {
    crypto_hash_sha256_state state;
};

/* To hash bytes in pieces, call hash_init(), then hash_add() any number of times, then hash_finish(). Call hash_init()
 * again before the next use. */
void hash_init(struct hash *hash);
void hash_add(struct hash *hash, const void *bytes, size_t count);
void hash_finish(struct hash *hash, unsigned char digest[HASH_BYTES]);

/* hash_bytes() computes the digest of `count` bytes; hash_hex() writes a digest as lower-case hex. */
void hash_bytes(const void *bytes, size_t count, unsigned char digest[HASH_BYTES]);
void hash_hex(const unsigned char digest[HASH_BYTES], char text[HASH_TEXT]);

#endif
