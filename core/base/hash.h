/* SHA-256, in pieces or at once (libsodium does the work). Each thread its own `struct hash`. */
#ifndef MOTIF_CORE_BASE_HASH_H
#define MOTIF_CORE_BASE_HASH_H

#include <stddef.h>
#include <sodium/crypto_hash_sha256.h>

#define HASH_BYTES 32
#define HASH_TEXT 65 /* lower-case hex with its NUL */

struct hash {
    crypto_hash_sha256_state state;
};

void hash_init(struct hash *hash);
void hash_add(struct hash *hash, const void *bytes, size_t count);
/* Ends the computation; hash_init() before the next use. */
void hash_finish(struct hash *hash, unsigned char digest[HASH_BYTES]);

void hash_bytes(const void *bytes, size_t count, unsigned char digest[HASH_BYTES]);
void hash_hex(const unsigned char digest[HASH_BYTES], char text[HASH_TEXT]);

#endif
