/* Verifies signed JSON Web Tokens. */
#include "server/signin/jwt.h"

#include <cjose/cjose.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "server/signin/list.h"

#define RSA_BITS 2048
#define HEADER_MAX 1024

struct key {
    char id[200], algorithm[16]; /* "": the key states none */
    cjose_jwk_t *jwk;
};

struct jwt_keys {
    struct key of[JWT_KEYS];
    size_t count;
};

static const struct {
    const char *name;
    cjose_jwk_kty_t type;
    cjose_jwk_ec_curve curve; /* of elliptic curves */
} algorithms[] = {
    {"RS256", CJOSE_JWK_KTY_RSA, 0},
    {"RS384", CJOSE_JWK_KTY_RSA, 0},
    {"RS512", CJOSE_JWK_KTY_RSA, 0},
    {"PS256", CJOSE_JWK_KTY_RSA, 0},
    {"PS384", CJOSE_JWK_KTY_RSA, 0},
    {"PS512", CJOSE_JWK_KTY_RSA, 0},
    {"ES256", CJOSE_JWK_KTY_EC, CJOSE_JWK_EC_P_256},
    {"ES384", CJOSE_JWK_KTY_EC, CJOSE_JWK_EC_P_384},
    {"ES512", CJOSE_JWK_KTY_EC, CJOSE_JWK_EC_P_521},
};
#define ALGORITHMS (sizeof algorithms / sizeof algorithms[0])

static size_t algorithm_find(const char *name, size_t length)
{
    size_t i = 0;
    while (i < ALGORITHMS && (strlen(algorithms[i].name) != length || strncmp(algorithms[i].name, name, length) != 0))
        i++;
    return i;
}

bool jwt_algorithms_known(const char *list)
{
    const char *item;
    size_t length, count = 0;
    while (list_next(&list, &item, &length)) {
        if (algorithm_find(item, length) == ALGORITHMS)
            return false;
        count++;
    }
    return count > 0;
}

/* ---- keys ------------------------------------------------------------------------------------------------- */

/* Copies a text member into `out`. False: it is no text or does not fit. A missing member is "". */
static bool copy_member(const cJSON *object, const char *name, char *out, size_t room)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    const char *text = member == NULL ? "" : cJSON_GetStringValue(member);
    out[0] = '\0';
    if (text == NULL || strlen(text) >= room)
        return false;
    memcpy(out, text, strlen(text) + 1);
    return true;
}

static bool usable(const cjose_jwk_t *jwk)
{
    cjose_err err;
    cjose_jwk_kty_t type = cjose_jwk_get_kty(jwk, &err);
    return type == CJOSE_JWK_KTY_EC || (type == CJOSE_JWK_KTY_RSA && cjose_jwk_get_keysize(jwk, &err) >= RSA_BITS);
}

/* Reads a key. False: it cannot verify signatures. */
static bool read_key(const cJSON *object, struct key *key)
{
    cjose_err err;
    char use[8], type[8];
    if (!cJSON_IsObject(object) || !copy_member(object, "kid", key->id, sizeof key->id) ||
        !copy_member(object, "alg", key->algorithm, sizeof key->algorithm) ||
        !copy_member(object, "use", use, sizeof use) || (use[0] != '\0' && strcmp(use, "sig") != 0) ||
        !copy_member(object, "kty", type, sizeof type) || (strcmp(type, "RSA") != 0 && strcmp(type, "EC") != 0))
        return false;
    char *text = cJSON_PrintUnformatted(object);
    if (text == NULL)
        return false;
    key->jwk = cjose_jwk_import(text, strlen(text), &err);
    cJSON_free(text);
    if (key->jwk == NULL || usable(key->jwk))
        return key->jwk != NULL;
    (void)cjose_jwk_release(key->jwk);
    return false;
}

enum status jwt_keys_read(const char *text, size_t bytes, struct jwt_keys **keys, struct error *err)
{
    cJSON *root = NULL;
    *keys = NULL;
    enum status status = json_parse(text, bytes, &root, err);
    if (status)
        return status;
    struct jwt_keys *made = calloc(1, sizeof *made);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "keys");
    if (made != NULL && cJSON_IsArray(list))
        JSON_EACH (item, list)
            if (made->count < JWT_KEYS && read_key(item, &made->of[made->count]))
                made->count++;
    cJSON_Delete(root);
    if (made != NULL && made->count > 0) {
        *keys = made;
        return STATUS_OK;
    }
    free(made);
    return made == NULL ? error_memory(err, "keys")
                        : error_set(err, STATUS_INVALID, NULL, "the key set has no public key for signatures");
}

void jwt_keys_free(struct jwt_keys *keys)
{
    for (size_t i = 0; keys != NULL && i < keys->count; i++)
        (void)cjose_jwk_release(keys->of[i].jwk);
    free(keys);
}

size_t jwt_keys_count(const struct jwt_keys *keys)
{
    return keys != NULL ? keys->count : 0;
}

/* ---- the header and the signature ------------------------------------------------------------------------- */

struct header {
    char algorithm[16], type[32], key[200];
};

/* Whether the text has three parts. */
static bool has_three_parts(const char *token)
{
    const char *first = strchr(token, '.'), *second = first != NULL ? strchr(first + 1, '.') : NULL;
    return second != NULL && strchr(second + 1, '.') == NULL;
}

/* Reads the header, which is the text before the first dot. */
static bool read_header(const char *token, struct header *out)
{
    char text[HEADER_MAX];
    size_t length = strcspn(token, "."), bytes;
    cJSON *header = NULL;
    if (sodium_base642bin((unsigned char *)text, sizeof text, token, length, NULL, &bytes, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        json_parse(text, bytes, &header, NULL) != STATUS_OK)
        return false;
    bool ok = cJSON_IsObject(header) && copy_member(header, "alg", out->algorithm, sizeof out->algorithm) &&
              copy_member(header, "typ", out->type, sizeof out->type) &&
              copy_member(header, "kid", out->key, sizeof out->key) &&
              cJSON_GetObjectItem(header, "crit") == NULL; /* extensions that the reader must understand */
    cJSON_Delete(header);
    return ok;
}

static bool type_known(const char *type)
{
    static const char *const known[] = {"", "JWT", "at+jwt", "application/at+jwt"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcasecmp(type, known[i]) == 0)
            return true;
    return false;
}

/* Whether the key is of the type and the curve that the algorithm needs. */
static bool key_fits(const struct key *key, size_t algorithm)
{
    cjose_err err;
    cjose_jwk_kty_t type = cjose_jwk_get_kty(key->jwk, &err);
    if (type != algorithms[algorithm].type ||
        (key->algorithm[0] != '\0' && strcmp(key->algorithm, algorithms[algorithm].name) != 0))
        return false;
    return type == CJOSE_JWK_KTY_RSA || cjose_jwk_EC_get_curve(key->jwk, &err) == algorithms[algorithm].curve;
}

static bool signed_by(const char *token, const struct key *key, cJSON **claims)
{
    cjose_err err;
    uint8_t *text;
    size_t bytes;
    cjose_jws_t *jws = cjose_jws_import(token, strlen(token), &err);
    bool ok = jws != NULL && cjose_jws_verify(jws, key->jwk, &err) &&
              cjose_jws_get_plaintext(jws, &text, &bytes, &err) &&
              json_parse((const char *)text, bytes, claims, NULL) == STATUS_OK;
    if (jws != NULL)
        cjose_jws_release(jws);
    return ok;
}

/* Verifies the signature with the key that the header names or, if it names none, with each key that fits. */
static const char *check_signature(const struct jwt_keys *keys, const char *token, const struct header *header,
                                   cJSON **claims, bool *unknown)
{
    const size_t algorithm = algorithm_find(header->algorithm, strlen(header->algorithm));
    bool named = false;
    for (size_t i = 0; i < jwt_keys_count(keys); i++) {
        const struct key *key = &keys->of[i];
        if (header->key[0] != '\0' && strcmp(key->id, header->key) != 0)
            continue;
        named = true;
        if (key_fits(key, algorithm) && signed_by(token, key, claims))
            return NULL;
    }
    *unknown = !named;
    return named
               ? "The signature of the token is wrong."
               : "The token is signed with a key that the issuer did not publish when the daemon last asked; try again "
                 "in a minute.";
}

/* ---- the claims ------------------------------------------------------------------------------------------- */

static bool audience_fits(const cJSON *audience, const char *accepted)
{
    if (cJSON_IsString(audience))
        return list_has(accepted, audience->valuestring);
    if (!cJSON_IsArray(audience))
        return false;
    JSON_EACH (item, audience)
        if (cJSON_IsString(item) && list_has(accepted, item->valuestring))
            return true;
    return false;
}

static bool text_is(const cJSON *claims, const char *name, const char *expected)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(claims, name));
    return text != NULL && strcmp(text, expected) == 0;
}

static const char *check_claims(const cJSON *claims, const struct jwt_rules *rules, int64_t now)
{
    const cJSON *expires = cJSON_GetObjectItemCaseSensitive(claims, "exp"),
                *begins = cJSON_GetObjectItemCaseSensitive(claims, "nbf");
    if (!text_is(claims, "iss", rules->issuer))
        return "The token is of another issuer.";
    if (!audience_fits(cJSON_GetObjectItemCaseSensitive(claims, "aud"), rules->audiences))
        return "The token is for another service: its aud is not one that this daemon accepts.";
    if (!cJSON_IsNumber(expires))
        return "The token has no time of expiry.";
    if (expires->valuedouble + (double)rules->skew <= (double)now)
        return "The token has expired.";
    if (begins != NULL && (!cJSON_IsNumber(begins) || begins->valuedouble - (double)rules->skew > (double)now))
        return "The token is not valid yet.";
    if (rules->nonce != NULL && !text_is(claims, "nonce", rules->nonce))
        return "The token belongs to another sign-in.";
    return NULL;
}

const char *jwt_verify(const struct jwt_keys *keys, const struct jwt_rules *rules, int64_t now, const char *token,
                       cJSON **claims, bool *unknown)
{
    struct header header;
    *claims = NULL;
    *unknown = false;
    if (strlen(token) > JWT_MAX)
        return "The token is larger than 8192 bytes.";
    if (!has_three_parts(token) || !read_header(token, &header))
        return "The token is no signed JSON Web Token that this daemon can read.";
    if (algorithm_find(header.algorithm, strlen(header.algorithm)) == ALGORITHMS ||
        !list_has(rules->algorithms, header.algorithm))
        return "The token is signed with an algorithm that this daemon does not accept.";
    if (!type_known(header.type))
        return "The token is of a type that this daemon does not accept.";
    const char *fault = check_signature(keys, token, &header, claims, unknown);
    if (fault == NULL)
        fault = check_claims(*claims, rules, now);
    if (fault != NULL)
        cJSON_Delete(*claims);
    if (fault != NULL)
        *claims = NULL;
    return fault;
}
