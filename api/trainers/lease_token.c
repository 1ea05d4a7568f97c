/* Generates and hashes the tokens of leases, which executors pass to trainers and handlers check. */
#include "api/trainers/lease_token.h"

#include <sodium/randombytes.h>
#include <sodium/utils.h>
#include <string.h>

#include "core/base/hash.h"

void lease_token_make(char secret[LEASE_TOKEN], uint8_t hash[STORAGE_LEASE_HASH])
{
    uint8_t random[32];
    size_t prefix = strlen(LEASE_TOKEN_PREFIX);
    randombytes_buf(random, sizeof random);
    memcpy(secret, LEASE_TOKEN_PREFIX, prefix);
    (void)sodium_bin2base64(secret + prefix, LEASE_TOKEN - prefix, random, sizeof random,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(random, sizeof random);
    (void)lease_token_hash(secret, hash);
}

bool lease_token_hash(const char *secret, uint8_t hash[STORAGE_LEASE_HASH])
{
    size_t bytes = strnlen(secret, LEASE_TOKEN);
    hash_bytes(secret, bytes, hash);
    return bytes < LEASE_TOKEN;
}
