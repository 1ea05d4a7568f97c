/* Sends a browser to the issuer, takes its answer, and opens a session. */
#include "server/signin/flow.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/work.h"
#include "protocol/http_client.h"
#include "server/signin/fetch.h"

#define SESSION_COOKIE "motif_session"
#define PENDING_COOKIE "motif_sign_in"
#define PENDING_SECONDS 600
#define CALLBACK "/v1/sign-in/callback"
#define CODE_MAX 2048
#define SECRET 44 /* 32 random bytes in base64, with the NUL */

struct flow {
    struct flow_options options;
    unsigned char key[crypto_secretbox_KEYBYTES];
    atomic_int running;
};

/* What the browser keeps while it is at the issuer. */
struct pending {
    char state[SECRET], nonce[SECRET], verifier[SECRET];
    int64_t until; /* monotonic ms */
};

#define SEALED (crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + sizeof(struct pending))
#define VARIANT sodium_base64_VARIANT_URLSAFE_NO_PADDING

enum status flow_create(const struct flow_options *options, struct flow **flow, struct error *err)
{
    struct flow *made = calloc(1, sizeof *made);
    if (made == NULL)
        return error_memory(err, "sign-in");
    made->options = *options;
    crypto_secretbox_keygen(made->key);
    *flow = made;
    return STATUS_OK;
}

void flow_destroy(struct flow *flow)
{
    if (flow != NULL)
        sodium_memzero(flow->key, sizeof flow->key);
    free(flow);
}

/* ---- cookies ---------------------------------------------------------------------------------------------- */

/* Copies the value of a cookie. False: there is none, or it is too long. */
static bool cookie_value(const char *cookies, const char *name, char *out, size_t room)
{
    size_t length = strlen(name);
    for (const char *at = cookies; at != NULL && *at != '\0'; at += *at == ';') {
        at += strspn(at, " ");
        size_t end = strcspn(at, ";");
        if (end > length && at[length] == '=' && strncmp(at, name, length) == 0) {
            size_t bytes = end - length - 1;
            if (bytes == 0 || bytes >= room)
                return false;
            memcpy(out, at + length + 1, bytes);
            out[bytes] = '\0';
            return true;
        }
        at += end;
    }
    return false;
}

/* SameSite=Lax lets the cookies come with the navigation from the issuer, and with no request that a page of another
 * site sends by itself. */
static void set_cookie(char out[API_COOKIE], const char *name, const char *value, const char *path, int64_t seconds,
                       bool secure)
{
    (void)snprintf(out, API_COOKIE, "%s=%s; Path=%s; Max-Age=%lld; HttpOnly; SameSite=Lax%s", name, value, path,
                   (long long)seconds, secure ? "; Secure" : "");
}

static void seal(const struct flow *flow, const struct pending *pending, char *out, size_t room)
{
    unsigned char bytes[SEALED];
    randombytes_buf(bytes, crypto_secretbox_NONCEBYTES);
    (void)crypto_secretbox_easy(bytes + crypto_secretbox_NONCEBYTES, (const unsigned char *)pending, sizeof *pending,
                                bytes, flow->key);
    (void)sodium_bin2base64(out, room, bytes, sizeof bytes, VARIANT);
}

static bool unseal(const struct flow *flow, const char *text, struct pending *pending)
{
    unsigned char bytes[SEALED];
    size_t count;
    return sodium_base642bin(bytes, sizeof bytes, text, strlen(text), NULL, &count, NULL, VARIANT) == 0 &&
           count == sizeof bytes &&
           crypto_secretbox_open_easy((unsigned char *)pending, bytes + crypto_secretbox_NONCEBYTES,
                                      sizeof bytes - crypto_secretbox_NONCEBYTES, bytes, flow->key) == 0 &&
           pending->until > work_now_ms();
}

/* ---- begin ------------------------------------------------------------------------------------------------ */

static void make_secret(char out[SECRET])
{
    unsigned char random[32];
    randombytes_buf(random, sizeof random);
    (void)sodium_bin2base64(out, SECRET, random, sizeof random, VARIANT);
}

/* Writes the address to which the issuer sends the browser back. */
static bool callback_url(const struct flow *flow, const char *host, char out[FETCH_URL])
{
    const struct flow_options *o = &flow->options;
    size_t length = strlen(o->public_url);
    length -= length > 0 && o->public_url[length - 1] == '/';
    int bytes = length > 0 ? snprintf(out, FETCH_URL, "%.*s" CALLBACK, (int)length, o->public_url)
                           : snprintf(out, FETCH_URL, "%s://%s" CALLBACK, o->tls ? "https" : "http", host);
    return bytes > 0 && bytes < FETCH_URL && (length > 0 || host[0] != '\0');
}

static bool is_secure(const struct flow *flow)
{
    return flow->options.tls || strncmp(flow->options.public_url, "https://", 8) == 0;
}

static void add(struct buf *out, const char *name, const char *value)
{
    buf_format(out, "%s=", name);
    http_escape(out, value);
}

static bool begin(struct flow *flow, struct api_sign_in *s)
{
    struct provider_endpoints endpoints;
    struct pending pending;
    unsigned char digest[crypto_hash_sha256_BYTES];
    char back[FETCH_URL], challenge[SECRET], sealed[sodium_base64_ENCODED_LEN(SEALED, VARIANT)];
    struct buf url;
    if (!provider_endpoints_read(flow->options.provider, &endpoints) || !callback_url(flow, s->host, back)) {
        s->fault = "The issuer cannot be reached at the moment, or it offers no sign-in; try again later.";
        return false;
    }
    memset(&pending, 0, sizeof pending); /* its padding too */
    pending.until = work_now_ms() + PENDING_SECONDS * 1000;
    make_secret(pending.state);
    make_secret(pending.nonce);
    make_secret(pending.verifier);
    (void)crypto_hash_sha256(digest, (const unsigned char *)pending.verifier, strlen(pending.verifier));
    (void)sodium_bin2base64(challenge, sizeof challenge, digest, sizeof digest, VARIANT);
    seal(flow, &pending, sealed, sizeof sealed);
    buf_init(&url, sizeof s->location - 1);
    buf_format(&url, "%s%c", endpoints.authorization, strchr(endpoints.authorization, '?') != NULL ? '&' : '?');
    add(&url, "response_type", "code");
    add(&url, "&client_id", flow->options.client);
    add(&url, "&redirect_uri", back);
    add(&url, "&scope", flow->options.scopes);
    add(&url, "&state", pending.state);
    add(&url, "&nonce", pending.nonce);
    add(&url, "&code_challenge", challenge);
    buf_text(&url, "&code_challenge_method=S256");
    bool ok = !url.failed;
    if (ok)
        memcpy(s->location, url.data, url.size + 1);
    else
        s->fault = "The address of the issuer is too long.";
    buf_close(&url);
    set_cookie(s->cookie, PENDING_COOKIE, sealed, "/v1/sign-in", PENDING_SECONDS, is_secure(flow));
    return ok;
}

/* ---- finish ----------------------------------------------------------------------------------------------- */

/* Exchanges the code for a token that names the person. */
static const char *redeem(struct flow *flow, const struct api_sign_in *s, const struct pending *pending,
                          struct auth_caller *caller)
{
    const struct flow_options *o = &flow->options;
    struct provider_endpoints endpoints;
    char back[FETCH_URL];
    struct buf body, answer;
    cJSON *root = NULL;
    if (!provider_endpoints_read(o->provider, &endpoints) || !callback_url(flow, s->host, back))
        return "The issuer cannot be reached at the moment; try again later.";
    buf_init(&body, 16384);
    buf_init(&answer, FETCH_BYTES);
    add(&body, "grant_type", "authorization_code");
    add(&body, "&code", s->code);
    add(&body, "&redirect_uri", back);
    add(&body, "&client_id", o->client);
    add(&body, "&code_verifier", pending->verifier);
    if (o->secret[0] != '\0')
        add(&body, "&client_secret", o->secret);
    const char *fault = "The issuer did not accept the sign-in.";
    if (!body.failed && fetch(endpoints.token, body.data, NULL, &answer, NULL) == STATUS_OK &&
        json_parse(answer.data, answer.size, &root, NULL) == STATUS_OK) {
        const char *token = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "id_token"));
        fault = token == NULL ? "The issuer sent no ID token."
                              : provider_verify(o->provider, token, o->client, pending->nonce, caller);
    }
    cJSON_Delete(root);
    buf_close(&answer);
    buf_close(&body);
    return fault;
}

static bool finish(struct flow *flow, struct api_sign_in *s)
{
    char text[sodium_base64_ENCODED_LEN(SEALED, VARIANT)], session[SESSION_TEXT];
    struct pending pending;
    struct auth_caller caller = {.scope = API_SCOPE_NONE};
    set_cookie(s->cookie, PENDING_COOKIE, "", "/v1/sign-in", 0, is_secure(flow));
    if (!cookie_value(s->cookies, PENDING_COOKIE, text, sizeof text) || !unseal(flow, text, &pending) ||
        strlen(s->state) != SECRET - 1 || sodium_memcmp(s->state, pending.state, SECRET) != 0) {
        s->fault = "This sign-in was not begun in this browser within the last ten minutes; begin again.";
        return false;
    }
    if (s->code[0] == '\0' || strlen(s->code) > CODE_MAX) {
        s->fault = "The issuer refused the sign-in.";
        return false;
    }
    if (atomic_fetch_add(&flow->running, 1) >= FLOW_AT_ONCE)
        s->fault = "Several people sign in at this moment; try again.";
    else
        s->fault = redeem(flow, s, &pending, &caller);
    (void)atomic_fetch_sub(&flow->running, 1);
    if (s->fault != NULL)
        return false;
    sessions_open(flow->options.sessions, &caller, flow->options.session_seconds, session);
    set_cookie(s->cookie, SESSION_COOKIE, session, "/", flow->options.session_seconds, is_secure(flow));
    (void)snprintf(s->name, sizeof s->name, "%s", caller.name);
    (void)snprintf(s->location, sizeof s->location, "/");
    return true;
}

/* ---- sessions --------------------------------------------------------------------------------------------- */

void flow_identify(struct flow *flow, const struct guard_request *request, struct auth_caller *caller)
{
    char text[SESSION_TEXT];
    bool reads = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    struct auth_caller found;
    if (!cookie_value(guard_header(request, "Cookie"), SESSION_COOKIE, text, sizeof text) ||
        !sessions_find(flow->options.sessions, text, &found))
        return;
    *caller = found;
    caller->signed_token = false; /* the sign-in is in the audit log */
    if (!reads && (guard_header(request, "Origin") == NULL || guard_header(request, "X-Motif") == NULL))
        *caller =
            (struct auth_caller){.fault = "A session in a cookie changes something only for requests of the page, "
                                          "with the headers Origin and X-Motif."};
}

static bool sign_out(struct flow *flow, struct api_sign_in *s)
{
    char text[SESSION_TEXT];
    if (cookie_value(s->cookies, SESSION_COOKIE, text, sizeof text))
        sessions_end(flow->options.sessions, text);
    set_cookie(s->cookie, SESSION_COOKIE, "", "/", 0, is_secure(flow));
    return true;
}

bool flow_run(struct flow *flow, struct api_sign_in *s)
{
    return s->action == API_SIGN_IN_BEGIN    ? begin(flow, s)
           : s->action == API_SIGN_IN_FINISH ? finish(flow, s)
                                             : sign_out(flow, s);
}
