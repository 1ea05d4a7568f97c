/* Creates, lists and revokes tokens in a database, and shares the key with which `motifd token` reaches a running
 * daemon. */
#include "server/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/descriptor.h"
#include "core/base/utf8.h"
#include "server/process/files.h"

/* Creates a token or gives it another secret, and writes its text. */
static enum status create(struct storage *storage, const struct api_token_request *request, struct buf *out,
                          struct error *err)
{
    char secret[AUTH_SECRET];
    enum api_scope scope = auth_scope_parse(request->scope);
    int64_t expires = request->expires > 0 ? ((int64_t)time(NULL) + request->expires) * 1000 : 0;
    if (scope == API_SCOPE_NONE)
        return error_set(err, STATUS_INVALID, NULL, "the role must be reader, member, manager or admin");
    enum status status = request->action == API_TOKEN_ROTATE
                             ? auth_rotate(storage, request->name, expires, request->overlap * 1000, secret, err)
                             : auth_create(storage, request->name, request->team, scope, expires, secret, err);
    if (!status) {
        buf_format(out, "%s\n", secret);
        sodium_memzero(secret, sizeof secret);
    }
    return status;
}

static void add_time(struct buf *out, int64_t ms, const char *none)
{
    char text[24];
    struct tm utc;
    time_t seconds = (time_t)(ms / 1000);
    (void)gmtime_r(&seconds, &utc);
    (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M", &utc);
    buf_format(out, "  %-16s", ms == 0 ? none : text);
}

/* Escapes control characters, because another program may have written the name into the database. */
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
    if (!status)
        buf_format(out, "%-24s %-8s  %-16s  %-16s  %s\n", "name", "scope", "created (UTC)", "expires", "last use");
    for (size_t i = 0; !status && i < count; i++) {
        add_name(out, tokens[i].name);
        buf_format(out, " %-8s", auth_scope_name((enum api_scope)tokens[i].scope));
        add_time(out, tokens[i].created_at, "");
        add_time(out, tokens[i].expires_at, "never");
        add_time(out, tokens[i].used_at, "never");
        buf_format(out, "  %s%s%s\n",
                   tokens[i].revoked   ? "revoked"
                   : tokens[i].expired ? "expired"
                                       : "",
                   tokens[i].team[0] != '\0' ? " team " : "", tokens[i].team);
    }
    arena_close(&arena);
    return status;
}

enum status tokens_do(struct storage *storage, const struct api_token_request *request, struct buf *out,
                      struct error *err)
{
    if (request->action == API_TOKEN_CREATE || request->action == API_TOKEN_ROTATE)
        return create(storage, request, out, err);
    return request->action == API_TOKEN_REVOKE ? storage_token_revoke(storage, request->name, err)
                                               : tokens_list(storage, out, err);
}

/* Returns the path of the file, which the caller frees; NULL without memory. */
static char *key_path(const char *db)
{
    char *path;
    return asprintf(&path, "%s-key", db) >= 0 ? path : NULL;
}

enum status tokens_key_write(const char *db, const struct tokens_key *key, struct error *err)
{
    char *path = key_path(db);
    if (path == NULL)
        return error_memory(err, "the key of the operator");
    (void)unlink(path); /* a killed daemon leaves its file */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && dprintf(fd, "%s\n%s\n", key->url, key->key) > 0;
    enum status status =
        ok ? STATUS_OK : error_set(err, STATUS_IO, NULL, "cannot write the key of the operator: %s", strerror(errno));
    descriptor_close(&fd);
    free(path);
    return status;
}

enum status tokens_key_read(const char *db, struct tokens_key *key, struct error *err)
{
    char *path = key_path(db), end = '\0';
    size_t bytes;
    if (path == NULL)
        return error_memory(err, "the key of the operator");
    char *text = file_read(path, sizeof *key, &bytes, NULL);
    free(path);
    memset(key, 0, sizeof *key);
    /* the widths are TOKENS_URL - 1 and AUTH_SECRET - 1 */
    bool complete = text != NULL && sscanf(text, "%191s %63s%c", key->url, key->key, &end) == 3 && end == '\n';
    free(text);
    return complete ? STATUS_OK : error_set(err, STATUS_NOT_FOUND, NULL, "no daemon serves the database");
}

void tokens_key_remove(const char *db)
{
    char *path = key_path(db);
    if (path != NULL)
        (void)unlink(path);
    free(path);
}
