/* Fuzz target of request heads and tokens. It passes heads to the guard as the HTTP parser does. An input is a line
 * "METHOD TARGET VERSION", then one line for each header. A request that the guard accepts must have an unambiguous
 * length, one Host that the server serves, and no foreign Origin. The header Authorization must grant exactly the scope
 * of the token in it. The target finds this scope in its own list of tokens, where it compares secrets instead of
 * hashes. */
#include "tests/fuzz/fuzz.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "api/trainers/trainers.h"
#include "server/http/auth.h"
#include "server/http/guard.h"

#define LINES 24
#define GET "GET /v1/jobs HTTP/1.1\n"
#define POST "POST /v1/jobs HTTP/1.1\nHost: 127.0.0.1:8080\n"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED(GET "Host: localhost\nAuthorization: Bearer reader\nAccept: application/json"),
    FUZZ_SEED(GET "host: [::1]:8080\nauthorization: bearer   writer\nRange: bytes=0-99\nIf-Range: \"a\""),
    FUZZ_SEED(GET "Host: motif.example\nAuthorization: Bearer late\nOrigin: https://evil.example"),
    FUZZ_SEED(POST
              "Authorization: Bearer static\nContent-Length: 12\nContent-Type: application/json\nIdempotency-Key: k"),
    FUZZ_SEED(POST "Authorization: Bearer taken\nTransfer-Encoding: chunked\nExpect: 100-continue"),
    FUZZ_SEED(POST "Origin: http://127.0.0.1:8080\nContent-Length: 1\ncontent-length: 1"),
    FUZZ_SEED(POST "Authorization: Bearer motifrun_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\nContent-Length: 0"),
    FUZZ_SEED(POST "Content-Length: 3\nTransfer-Encoding: chunked"),
    FUZZ_SEED("PUT / HTTP/1.0\nTransfer-Encoding: chunked\nAuthorization: Basic eDp5"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

static const struct {
    const char *secret;
    enum api_scope grants;
} tokens[] = {
    {"static", API_SCOPE_ADMIN}, /* the token of the command line; the other tokens are stored */
    {"reader", API_SCOPE_READ},  {"writer", API_SCOPE_SUBMIT}, {"late", API_SCOPE_NONE}, {"taken", API_SCOPE_NONE},
};

static struct {
    char folder[64], path[80];
    struct storage *storage;
    struct auth auth;
    char made[AUTH_SECRET];
} kept;

static void stop(void)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-lock"};
    char path[100];
    storage_close(kept.storage);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        (void)snprintf(path, sizeof path, "%s%s", kept.path, endings[i]);
        (void)unlink(path);
    }
    (void)rmdir(kept.folder);
}

/* Returns the scope that an Authorization header grants, and the name of its token. */
static enum api_scope scope_of(const char *authorization, char name[AUTH_NAME])
{
    struct auth_caller caller;
    auth_identify(&kept.auth, authorization, &caller);
    memcpy(name, caller.name, sizeof caller.name);
    return caller.scope;
}

/* Checks that loopback has every scope, and other addresses have none, while no token exists. */
static void check_open(void)
{
    char name[AUTH_NAME];
    FUZZ_CHECK(auth_init(&kept.auth, kept.storage, false, "", NULL) == STATUS_INVALID);
    FUZZ_CHECK(auth_init(&kept.auth, kept.storage, true, "", NULL) == STATUS_OK);
    FUZZ_CHECK(scope_of(NULL, name) == API_SCOPE_ADMIN && name[0] == '\0');
}

/* Checks that a token grants the scope that it was created with. */
static void check_made(void)
{
    char line[AUTH_SECRET + 16], name[AUTH_NAME];
    (void)snprintf(line, sizeof line, "Bearer %s", kept.made);
    FUZZ_CHECK(strcmp(auth_scope_name(scope_of(line, name)), "read") == 0 && strcmp(name, "made") == 0);
    FUZZ_CHECK(auth_scope_parse("god") == API_SCOPE_NONE);
}

static void start(void)
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(kept.folder, sizeof kept.folder, "%.40s/motifd-fuzz-XXXXXX", base != NULL ? base : "/tmp");
    FUZZ_CHECK(mkdtemp(kept.folder) != NULL && sodium_init() >= 0);
    (void)snprintf(kept.path, sizeof kept.path, "%s/fuzz.db", kept.folder);
    struct storage_options options = {.path = kept.path, .durability = STORAGE_DURABLE_NOT, .queue_limit = 20};
    FUZZ_CHECK(storage_open(&options, &kept.storage, NULL) == STATUS_OK);
    check_open();
    for (size_t i = 1; i < sizeof tokens / sizeof tokens[0]; i++) {
        struct storage_token token = {.scope =
                                          tokens[i].grants != API_SCOPE_NONE ? (int)tokens[i].grants : API_SCOPE_ADMIN,
                                      .expires_at = strcmp(tokens[i].secret, "late") == 0 ? 1 : 0};
        memcpy(token.name, tokens[i].secret, strlen(tokens[i].secret) + 1);
        (void)crypto_generichash(token.hash, sizeof token.hash, (const unsigned char *)tokens[i].secret,
                                 strlen(tokens[i].secret), NULL, 0);
        FUZZ_CHECK(storage_token_add(kept.storage, &token, NULL) == STATUS_OK);
    }
    FUZZ_CHECK(storage_token_revoke(kept.storage, "taken", NULL) == STATUS_OK);
    FUZZ_CHECK(auth_create(kept.storage, "made", "", auth_scope_parse("read"), 0, kept.made, NULL) == STATUS_OK);
    FUZZ_CHECK(auth_create(kept.storage, "", "", API_SCOPE_READ, 0, kept.made, NULL) == STATUS_INVALID);
    FUZZ_CHECK(auth_init(&kept.auth, kept.storage, true, "static", NULL) == STATUS_OK && kept.auth.required);
    auth_demand(&kept.auth);
    check_made();
    FUZZ_CHECK(atexit(stop) == 0);
}

/* ---- the input, split into lines ------------------------------------------------------------------------------ */

static char *word_of(char **rest)
{
    char *word = *rest, *blank = strchr(word, ' ');
    *rest = blank != NULL ? blank + 1 : word + strlen(word);
    if (blank != NULL)
        *blank = '\0';
    return word;
}

/* Splits the text into the request line and the headers. `text` ends in a NUL. Values of headers may contain further
 * NULs. */
static void cut(char *text, size_t size, struct guard_request *request, struct guard_header headers[LINES])
{
    char *end = text + size, *line = memchr(text, '\n', size);
    *request = (struct guard_request){.headers = headers};
    if (line != NULL)
        *line++ = '\0';
    request->method = word_of(&text);
    request->target = word_of(&text);
    request->version = text;
    while (line != NULL && line < end && request->header_count < LINES) {
        char *next = memchr(line, '\n', (size_t)(end - line)), *stop = next != NULL ? next : end;
        char *colon = memchr(line, ':', (size_t)(stop - line));
        if (colon == NULL)
            return;
        char *value = colon + 1 + (colon + 1 < stop && colon[1] == ' ');
        *colon = *stop = '\0';
        headers[request->header_count++] =
            (struct guard_header){line, value, (size_t)(colon - line), (size_t)(stop - value)};
        line = next != NULL ? next + 1 : NULL;
    }
}

/* ---- what must hold ---------------------------------------------------------------------------------------- */

static void check_passed(const struct guard_request *request, bool loopback)
{
    uint64_t bytes = 7;
    const char *length = guard_header(request, "Content-Length"), *coding = guard_header(request, "Transfer-Encoding");
    const char *host = guard_header(request, "Host"), *origin = guard_header(request, "Origin");
    bool body = guard_body(request, &bytes);
    FUZZ_CHECK(length == NULL || coding == NULL);
    FUZZ_CHECK(coding == NULL || (strcasecmp(coding, "chunked") == 0 && body && bytes == UINT64_MAX));
    FUZZ_CHECK(coding != NULL ||
               (body == (bytes > 0) && (length == NULL ? bytes == 0 : bytes == strtoull(length, NULL, 10))));
    FUZZ_CHECK(strspn(length != NULL ? length : "", "0123456789") == strlen(length != NULL ? length : ""));
    for (size_t i = 0; i < request->header_count; i++) {
        const struct guard_header *header = &request->headers[i];
        FUZZ_CHECK(strlen(header->name) == header->name_bytes && strlen(header->value) == header->value_bytes);
        FUZZ_CHECK(header->name_bytes > 0 && strpbrk(header->name, " \t\r:,;()<>@\"/[]?={}\\") == NULL &&
                   strpbrk(header->value, "\r\n\x7f") == NULL);
    }
    FUZZ_CHECK(host != NULL ? host[0] != '\0' && strpbrk(host, "/@ ,") == NULL
                            : strcmp(request->version, "HTTP/1.0") == 0);
    if (loopback && host != NULL && strcasestr(host, "localhost") == NULL && strstr(host, "::1") == NULL &&
        strncasecmp(host, "motif.example", 13) != 0)
        FUZZ_CHECK(strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.:") == strlen(host));
    if (origin != NULL && strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
        FUZZ_CHECK(host != NULL && strstr(origin, "://") != NULL && strcasecmp(strstr(origin, "://") + 3, host) == 0);
    FUZZ_CHECK(strlen(request->target) <= 4096);
}

static void check_token(const char *authorization)
{
    enum api_scope granted = API_SCOPE_NONE;
    char name[AUTH_NAME];
    if (authorization != NULL && strncasecmp(authorization, "Bearer ", 7) == 0) {
        const char *secret = authorization + 7;
        while (*secret == ' ')
            secret++;
        for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
            granted = strcmp(secret, tokens[i].secret) == 0 ? tokens[i].grants : granted;
        FUZZ_CHECK(trainer_token(authorization) == (strncmp(secret, "motifrun_", 9) == 0));
    } else {
        FUZZ_CHECK(!trainer_token(authorization));
    }
    FUZZ_CHECK(scope_of(authorization, name) == granted && (granted != API_SCOPE_NONE) == (name[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct guard_header headers[LINES];
    struct guard_request request;
    char *text = malloc(size + 1);
    FUZZ_CHECK(text != NULL);
    if (kept.storage == NULL)
        start();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    cut(text, size, &request, headers);
    for (int loopback = 0; loopback < 2; loopback++) {
        struct guard_rules rules = {
            .loopback = loopback == 1, .allow_host = "motif.example", .target_max = 4096, .headers_max = 2048};
        struct guard_verdict verdict = {0};
        if (guard_check(&rules, &request, &verdict)) {
            check_passed(&request, rules.loopback);
        } else {
            FUZZ_CHECK(verdict.status >= 400 && verdict.status <= 501 && verdict.title != NULL &&
                       verdict.detail != NULL);
        }
    }
    check_token(guard_header(&request, "Authorization"));
    free(text);
    return 0;
}
