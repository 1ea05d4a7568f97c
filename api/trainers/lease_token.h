/* The token of a trainer's lease: "motifrun_" and 32 random bytes in URL-safe base64. The database stores only its
 * SHA-256. Any thread. */
#ifndef MOTIF_API_TRAINERS_LEASE_TOKEN_H
#define MOTIF_API_TRAINERS_LEASE_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/storage.h"

#define LEASE_TOKEN_PREFIX "motifrun_"
#define LEASE_TOKEN 64 /* bytes with the NUL */

/* Makes a new token and its hash. The process must have called sodium_init(). */
void lease_token_make(char secret[LEASE_TOKEN], uint8_t hash[STORAGE_LEASE_HASH]);
/* Hashes a token. False: the text is too long to be a token. */
bool lease_token_hash(const char *secret, uint8_t hash[STORAGE_LEASE_HASH]);

#endif
