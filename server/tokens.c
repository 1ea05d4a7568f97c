/* Creates, lists and revokes tokens in a database. The caller is `motifd token` itself or, through the console, the
 * daemon. */
#include "server/tokens.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/utf8.h"
#include "server/http/auth.h"

/* Begins an entry of the audit log. As for changes over HTTP, the log records a change before it is tried and again
 * afterwards. */
static enum status begin_note(struct storage *storage, struct storage_audit *entry, const char *method,
                              const char *name, struct error *err)
{
    unsigned char random[12];
    *entry = (struct storage_audit){.who = "console"};
    randombytes_buf(random, sizeof random);
    (void)sodium_bin2hex(entry->request, sizeof entry->request, random, sizeof random);
    (void)snprintf(entry->method, sizeof entry->method, "%s", method);
    (void)snprintf(entry->target, sizeof entry->target, "%s", name);
    return storage_audit_begin(storage, entry, err);
}

static enum status end_note(struct storage *storage, const struct storage_audit *entry, enum status status, int done)
{
    (void)storage_audit_end(storage, entry->request,
                            status == STATUS_OK          ? done
                            : status == STATUS_NOT_FOUND ? 404
                                                         : 409,
                            "", NULL);
    return status;
}

/* Returns the expiry time, 0 for a token that never expires, or -1 when `days` is not a number of days. */
static int64_t expiry(const char *days)
{
    char *end;
    long count = strtol(days, &end, 10);
    if (days[0] == '\0')
        return 0;
    return *end == '\0' && count >= 1 && count <= TOKEN_DAYS_MAX ? ((int64_t)time(NULL) + count * INT64_C(86400)) * 1000
                                                                 : -1;
}

static enum status create(struct storage *storage, const char *const *words, struct buf *out, struct error *err)
{
    char secret[AUTH_SECRET];
    enum api_scope scope = auth_scope_parse(words[TOKEN_SCOPE]);
    int64_t expires = expiry(words[TOKEN_DAYS]);
    struct storage_audit entry;
    if (scope == API_SCOPE_NONE || expires < 0) {
        return error_set(err, STATUS_INVALID, NULL,
                         "the scope must be read, submit or admin, and days an integer in [1, %d]", TOKEN_DAYS_MAX);
    }
    enum status status = begin_note(storage, &entry, "token+", words[TOKEN_NAME], err);
    if (status == STATUS_OK)
        status = auth_create(storage, words[TOKEN_NAME], scope, expires, secret, err);
    if (status == STATUS_OK) {
        buf_format(out, "%s\n", secret);
        sodium_memzero(secret, sizeof secret);
    }
    return end_note(storage, &entry, status, 201);
}

static enum status revoke(struct storage *storage, const char *name, struct error *err)
{
    struct storage_audit entry;
    enum status status = begin_note(storage, &entry, "token-", name, err);
    if (status == STATUS_OK)
        status = storage_token_revoke(storage, name, err);
    return end_note(storage, &entry, status, 204);
}

static void add_day(struct buf *out, int64_t ms, const char *none)
{
    char text[16];
    struct tm utc;
    time_t seconds = (time_t)(ms / 1000);
    (void)gmtime_r(&seconds, &utc);
    (void)strftime(text, sizeof text, "%Y-%m-%d", &utc);
    buf_format(out, "  %-12s", ms == 0 ? none : text);
}

/* Escapes control characters: a database of an earlier build can contain any name. */
static void add_name(struct buf *out, const char *name)
{
    size_t start = out->size;
    utf8_escape(out, name, strlen(name), UTF8_FOR_TERMINAL);
    size_t width = out->size - start;
    buf_format(out, "%*s", width < 24 ? (int)(24 - width) : 0, "");
}

static enum status tokens_list(struct storage *storage, struct buf *out, struct error *err)
{
    struct arena arena;
    struct storage_token *tokens = NULL;
    size_t count = 0;
    arena_init(&arena, 4096, 0);
    enum status status = storage_token_list(storage, &arena, &tokens, &count, err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        add_name(out, tokens[i].name);
        buf_format(out, " %-8s", auth_scope_name((enum api_scope)tokens[i].scope));
        add_day(out, tokens[i].created_at, "");
        add_day(out, tokens[i].expires_at, "for ever");
        buf_format(out, "%s\n", tokens[i].revoked ? "revoked" : "");
    }
    arena_close(&arena);
    return status;
}

enum status tokens_do(struct storage *storage, const char *const *words, size_t count, struct buf *out,
                      struct error *err)
{
    const char *verb = count == TOKEN_WORDS ? words[TOKEN_VERB] : "";
    if (strcmp(verb, "create") == 0)
        return create(storage, words, out, err);
    if (strcmp(verb, "revoke") == 0)
        return revoke(storage, words[TOKEN_NAME], err);
    return strcmp(verb, "list") == 0
               ? tokens_list(storage, out, err)
               : error_set(err, STATUS_INVALID, NULL, "unknown request; use create, list or revoke");
}
