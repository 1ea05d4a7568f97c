/* Verification of signed JSON Web Tokens (RFC 7519, RFC 8725) with the public keys of an issuer.
 *
 * libcjose checks the signatures. Everything that decides which key and which algorithm may be used is decided here,
 * before libcjose sees the token: the algorithm must be in a list of asymmetric ones, it must belong to the type and
 * the curve of the key that the token names, and the header must contain nothing that this file does not know. So
 * `none`, and HS256 with the text of a public key as the secret, are refused by their names. */
#ifndef MOTIF_SERVER_SIGNIN_JWT_H
#define MOTIF_SERVER_SIGNIN_JWT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "protocol/json.h"

#define JWT_MAX 8192 /* upper limit of the bytes of a token */
#define JWT_KEYS 32  /* upper limit of the keys of an issuer */

struct jwt_keys;

/* Reads a JSON Web Key Set (RFC 7517). Ignores keys that are not public keys for signatures: symmetric ones, those for
 * encryption, RSA keys of less than 2048 bits, and types that libcjose does not know. STATUS_INVALID: the text is no
 * key set, or none of its keys can be used. */
enum status jwt_keys_read(const char *text, size_t bytes, struct jwt_keys **keys, struct error *err);
void jwt_keys_free(struct jwt_keys *keys); /* NULL is fine */
size_t jwt_keys_count(const struct jwt_keys *keys);

struct jwt_rules {
    const char *issuer;     /* the exact value of `iss` */
    const char *audiences;  /* values of `aud` that are accepted, separated by commas */
    const char *algorithms; /* accepted algorithms, separated by commas */
    int64_t skew;           /* seconds by which the clocks of issuer and daemon may differ */
    const char *nonce;      /* the exact value of `nonce`; NULL: any */
};

/* Whether the text is a list of algorithms that jwt_verify() can check, separated by commas. */
bool jwt_algorithms_known(const char *algorithms);

/* Verifies a token at the time `now` (seconds since 1970). Returns NULL and its claims, which the caller frees with
 * cJSON_Delete(); or a sentence for the client, without claims. *unknown: the token names a key that is not in `keys`;
 * the issuer may have made a new one. One thread at a time for the same keys. */
const char *jwt_verify(const struct jwt_keys *keys, const struct jwt_rules *rules, int64_t now, const char *token,
                       cJSON **claims, bool *unknown);

#endif
