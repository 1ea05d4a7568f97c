/* Tests the verification of signed tokens: with keys and tokens that this test makes, and with tokens that an attacker
 * could make. */
#include <cjose/cjose.h>
#include <sodium.h>

#include "core/base/buf.h"
#include "server/signin/jwt.h"
#include "tests/support/unit.h"

#define NOW INT64_C(1900000000)
#define ISSUER "https://id.example.org"
#define GOOD "{\"iss\":\"" ISSUER "\",\"aud\":\"motif\",\"sub\":\"ann\",\"exp\":1900000100,\"nbf\":1899999990}"

static cjose_jwk_t *rsa, *ec, *other;
static struct jwt_keys *keys;
static const struct jwt_rules rules = {
    .issuer = ISSUER, .audiences = "motif, motif-cli", .algorithms = "RS256,ES256", .skew = 30};

static void append_key(struct buf *set, cjose_jwk_t *jwk, const char *more)
{
    cjose_err err;
    char *text = cjose_jwk_to_json(jwk, false, &err);
    assert_non_null(text);
    text[strlen(text) - 1] = '\0';
    buf_format(set, "%s%s%s}", set->size > 0 ? "," : "", text, more);
    free(text);
}

static struct jwt_keys *read_keys(const struct buf *list)
{
    struct jwt_keys *made = NULL;
    struct buf set;
    buf_init(&set, 1 << 16);
    buf_format(&set, "{\"keys\":[%s]}", list->data);
    assert_int_equal(jwt_keys_read(set.data, set.size, &made, NULL), STATUS_OK);
    buf_close(&set);
    return made;
}

static int setup(void **state)
{
    cjose_err err;
    struct buf list;
    rsa = cjose_jwk_create_RSA_random(2048, (const uint8_t *)"\x01\x00\x01", 3, &err);
    ec = cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &err);
    other = cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &err);
    if (sodium_init() < 0 || rsa == NULL || ec == NULL || other == NULL || !cjose_jwk_set_kid(rsa, "r", 1, &err) ||
        !cjose_jwk_set_kid(ec, "e", 1, &err))
        return 1;
    buf_init(&list, 1 << 16);
    append_key(&list, rsa, ",\"use\":\"sig\"");
    append_key(&list, ec, ",\"alg\":\"ES256\"");
    keys = read_keys(&list);
    buf_close(&list);
    return 0;
}

static int teardown(void **state)
{
    jwt_keys_free(keys);
    (void)cjose_jwk_release(rsa);
    (void)cjose_jwk_release(ec);
    (void)cjose_jwk_release(other);
    return 0;
}

/* Signs claims; a member of the header is left out if it is NULL. The caller frees the token. */
static char *token_of(cjose_jwk_t *jwk, const char *algorithm, const char *key, const char *type, const char *critical,
                      const char *claims)
{
    cjose_err err;
    const char *text;
    cjose_header_t *header = cjose_header_new(&err);
    assert_true(cjose_header_set(header, "alg", algorithm, &err));
    assert_true(key == NULL || cjose_header_set(header, "kid", key, &err));
    assert_true(type == NULL || cjose_header_set(header, "typ", type, &err));
    assert_true(critical == NULL || cjose_header_set_raw(header, "crit", critical, &err));
    cjose_jws_t *jws = cjose_jws_sign(jwk, header, (const uint8_t *)claims, strlen(claims), &err);
    assert_non_null(jws);
    assert_true(cjose_jws_export(jws, &text, &err));
    char *copy = strdup(text);
    cjose_jws_release(jws);
    cjose_header_release(header);
    return copy;
}

static bool unknown_key;

/* Verifies a token. Returns the fault, "" if there is none. */
static const char *fault_with(const struct jwt_rules *with, const char *token)
{
    cJSON *claims;
    const char *fault = jwt_verify(keys, with, NOW, token, &claims, &unknown_key);
    assert_int_equal(fault == NULL, claims != NULL);
    cJSON_Delete(claims);
    return fault != NULL ? fault : "";
}

/* Asserts that the fault of a token contains a text; "": the token is accepted. Frees the token. */
static void expect(char *token, const char *fault)
{
    const char *found = fault_with(&rules, token);
    if (fault[0] == '\0' ? found[0] != '\0' : strstr(found, fault) == NULL)
        fail_msg("'%s' instead of '%s' for %s", found, fault, token);
    free(token);
}

static void expect_claims(const char *claims, const char *fault)
{
    expect(token_of(ec, "ES256", "e", "JWT", NULL, claims), fault);
}

static void tokens_of_the_issuer_are_accepted(void **state)
{
    assert_int_equal(jwt_keys_count(keys), 2);
    expect(token_of(rsa, "RS256", "r", "JWT", NULL, GOOD), "");
    expect(token_of(ec, "ES256", "e", "at+jwt", NULL, GOOD), "");
    expect(token_of(ec, "ES256", NULL, NULL, NULL, GOOD), ""); /* the only key that fits */
    expect_claims("{\"iss\":\"" ISSUER "\",\"aud\":[\"x\",\"motif-cli\"],\"exp\":1900000100}", "");
    expect_claims("{\"iss\":\"" ISSUER "\",\"aud\":\"motif\",\"exp\":1899999971,\"nbf\":1900000029}",
                  ""); /* the skew */
}

static void wrong_claims_are_refused(void **state)
{
    static const struct {
        const char *claims, *fault;
    } cases[] = {
        {"{\"iss\":\"https://evil.example.org\",\"aud\":\"motif\",\"exp\":1900000100}", "another issuer"},
        {"{\"iss\":\"" ISSUER "/\",\"aud\":\"motif\",\"exp\":1900000100}", "another issuer"},
        {"{\"aud\":\"motif\",\"exp\":1900000100}", "another issuer"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":\"other\",\"exp\":1900000100}", "another service"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":\"motif, motif-cli\",\"exp\":1900000100}", "another service"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":[],\"exp\":1900000100}", "another service"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":{\"motif\":1},\"exp\":1900000100}", "another service"},
        {"{\"iss\":\"" ISSUER "\",\"exp\":1900000100}", "another service"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":\"motif\"}", "no time of expiry"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":\"motif\",\"exp\":\"1900000100\"}", "no time of expiry"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":\"motif\",\"exp\":1899999970}", "has expired"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":\"motif\",\"exp\":-1}", "has expired"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":\"motif\",\"exp\":1900000100,\"nbf\":1900000031}", "not valid yet"},
        {"{\"iss\":\"" ISSUER "\",\"aud\":\"motif\",\"exp\":1900000100,\"nbf\":\"0\"}", "not valid yet"},
        {"[1]", "another issuer"},
        {"{\"iss\":\"" ISSUER "\",\"iss\":\"x\",\"aud\":\"motif\",\"exp\":1900000100}", "signature"}, /* two members */
        {"no JSON", "signature"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_claims(cases[i].claims, cases[i].fault);
    struct jwt_rules with = rules;
    with.nonce = "n1";
    char *token = token_of(ec, "ES256", "e", "JWT", NULL, GOOD);
    assert_non_null(strstr(fault_with(&with, token), "another sign-in"));
    free(token);
}

/* Joins a header and the good claims, in base64, with a signature. */
static char *raw_token(const char *header, const char *signature)
{
    char head[400], body[400], *token;
    const int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
    (void)sodium_bin2base64(head, sizeof head, (const unsigned char *)header, strlen(header), variant);
    (void)sodium_bin2base64(body, sizeof body, (const unsigned char *)GOOD, strlen(GOOD), variant);
    assert_true(asprintf(&token, "%s.%s.%s", head, body, signature) > 0);
    return token;
}

static void forged_tokens_are_refused(void **state)
{
    cjose_err err;
    static const char *const no_algorithms[] = {"none", "None", "NONE", "", "HS256", "ES512", "RS512", "EdDSA", "dir"};
    for (size_t i = 0; i < sizeof no_algorithms / sizeof no_algorithms[0]; i++) {
        char header[80];
        (void)snprintf(header, sizeof header, "{\"alg\":\"%s\",\"kid\":\"r\"}", no_algorithms[i]);
        expect(raw_token(header, ""), "an algorithm that this daemon does not accept");
        expect(raw_token(header, "AAAA"), "an algorithm that this daemon does not accept");
    }
    /* the public key as the secret of HS256 */
    char *text = cjose_jwk_to_json(rsa, false, &err);
    cjose_jwk_t *secret = cjose_jwk_create_oct_spec((const uint8_t *)text, strlen(text), &err);
    expect(token_of(secret, "HS256", "r", "JWT", NULL, GOOD), "an algorithm");
    (void)cjose_jwk_release(secret);
    free(text);
    /* another key under the known name, a key of the other type, and a signature of another token */
    expect(token_of(other, "ES256", "e", "JWT", NULL, GOOD), "signature");
    expect(token_of(ec, "ES256", "r", "JWT", NULL, GOOD), "signature");
    expect(token_of(rsa, "RS256", "e", "JWT", NULL, GOOD), "signature");
    expect(raw_token("{\"alg\":\"ES256\",\"kid\":\"e\"}", ""), "signature");
    expect(raw_token("{\"alg\":\"ES256\",\"kid\":\"e\"}", "AAAA"), "signature");
    expect(raw_token("{\"alg\":\"RS256\",\"kid\":\"r\"}", "AAAA"), "signature");
    expect(token_of(ec, "ES256", "e", "JWT", "[\"exp\"]", GOOD), "no signed JSON Web Token");
    expect(token_of(ec, "ES256", "e", "logout+jwt", NULL, GOOD), "of a type");
    /* a key in the header is never used */
    expect(raw_token("{\"alg\":\"ES256\",\"jwk\":{\"kty\":\"EC\"},\"kid\":\"mine\"}", "AAAA"), "did not publish");
    assert_true(unknown_key);
    expect(token_of(other, "ES256", NULL, "JWT", NULL, GOOD), "signature");
    assert_false(unknown_key);
    /* a changed body */
    char *token = token_of(ec, "ES256", "e", "JWT", NULL, GOOD), *body = strchr(token, '.') + 30;
    *body = *body == 'A' ? 'B' : 'A';
    expect(token, "signature");
}

static void damaged_tokens_are_refused(void **state)
{
    static const char *const cases[] = {
        "", ".", "..", "...", "a.b.c", "a.b.c.d.e", "e30.e30.", "W10.e30.AA", "eyJhbGciOjF9.e30.AA"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_not_equal(fault_with(&rules, cases[i]), "");
    char *large = malloc(JWT_MAX + 2);
    memset(large, 'A', JWT_MAX + 1);
    large[100] = large[200] = '.';
    large[JWT_MAX + 1] = '\0';
    expect(large, "larger than 8192 bytes");
    char *token = token_of(ec, "ES256", "e", "JWT", NULL, GOOD);
    for (size_t end = 0; end < strlen(token); end++) { /* every beginning of a token */
        char *part = strndup(token, end);
        assert_string_not_equal(fault_with(&rules, part), "");
        free(part);
    }
    free(token);
}

static void keys_that_cannot_verify_are_ignored(void **state)
{
    cjose_err err;
    struct buf list;
    struct jwt_keys *made = NULL, *mine = keys;
    cjose_jwk_t *weak = cjose_jwk_create_RSA_random(1024, (const uint8_t *)"\x01\x00\x01", 3, &err);
    cjose_jwk_t *secret = cjose_jwk_create_oct_random(256, &err);
    buf_init(&list, 1 << 16);
    append_key(&list, weak, "");
    append_key(&list, secret, ",\"k\":\"AAAA\"");
    append_key(&list, ec, ",\"use\":\"enc\"");
    buf_text(&list, ",7,{},{\"kty\":\"RSA\"},{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}");
    static const char *const broken[] = {"", "{", "[]", "{\"keys\":7}", "{\"keys\":[]}"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        assert_int_not_equal(jwt_keys_read(broken[i], strlen(broken[i]), &made, NULL), STATUS_OK);
    char *set;
    assert_true(asprintf(&set, "{\"keys\":[%s]}", list.data) > 0);
    assert_int_equal(jwt_keys_read(set, strlen(set), &made, NULL), STATUS_INVALID);
    assert_null(made);
    free(set);
    append_key(&list, ec, ",\"alg\":\"ES384\""); /* the key is for another algorithm */
    keys = read_keys(&list);
    assert_int_equal(jwt_keys_count(keys), 1);
    expect(token_of(ec, "ES256", "e", "JWT", NULL, GOOD), "signature");
    jwt_keys_free(keys);
    keys = NULL; /* the keys were never fetched */
    expect(token_of(ec, "ES256", "e", "JWT", NULL, GOOD), "did not publish");
    assert_true(unknown_key);
    keys = mine;
    buf_close(&list);
    (void)cjose_jwk_release(weak);
    (void)cjose_jwk_release(secret);
}

static void only_asymmetric_algorithms_can_be_set(void **state)
{
    assert_true(jwt_algorithms_known("RS256,ES256"));
    assert_true(jwt_algorithms_known(" PS512 , ES384"));
    static const char *const wrong[] = {"", ",", "none", "HS256", "RS256,HS256", "rs256", "RS25", "EdDSA"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(jwt_algorithms_known(wrong[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_of_the_issuer_are_accepted),   cmocka_unit_test(wrong_claims_are_refused),
        cmocka_unit_test(forged_tokens_are_refused),           cmocka_unit_test(damaged_tokens_are_refused),
        cmocka_unit_test(keys_that_cannot_verify_are_ignored), cmocka_unit_test(only_asymmetric_algorithms_can_be_set),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
