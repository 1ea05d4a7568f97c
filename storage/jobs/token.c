/* Access tokens. A token is found by the hash of its secret. The comparison need not take constant time: a client
 * cannot choose the hash of the text that it sends, so the time does not reveal a stored hash byte by byte. */
#include "storage/storage_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIVE " NOT revoked AND (expires_at = 0 OR expires_at > ?1)"
#define COLUMNS "hash, name, scope, created_at, expires_at, revoked, team, used_at"

struct change {
    struct command base;
    const struct storage_token *token;
    const char *name;
    int64_t overlap;
};

static enum status insert(struct db *db, const struct storage_token *t, int64_t now, struct error *err)
{
    return db_run(db, err,
                  "INSERT INTO token(hash, name, scope, created_at, expires_at, revoked, team)"
                  " VALUES (?, ?, ?, ?, ?, 0, ?)",
                  "btniit", (const void *)t->hash, sizeof t->hash, t->name, t->scope, now, t->expires_at, t->team);
}

static enum status add_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    const struct storage_token *t = ((struct change *)command)->token;
    int64_t now = clock_now_ms(), taken;
    enum status status =
        db_integer(db, &taken, 0, err, "SELECT count(*) FROM token WHERE hash = ?3 OR (name = ?2 AND" LIVE ")", "itb",
                   now, t->name, (const void *)t->hash, sizeof t->hash);
    if (status)
        return status;
    if (taken > 0)
        return error_set(err, STATUS_CONFLICT, NULL, "a token of that name exists already");
    status = db_integer(db, &taken, 0, err, "SELECT count(*) FROM token WHERE name = ? AND team <> '' AND team <> ?",
                        "tt", t->name, t->team);
    if (status)
        return status;
    if (taken > 0)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "a token of that name belonged to another team, whose jobs and data sets still name it as "
                         "their owner: choose another name");
    return insert(db, t, now, err);
}

enum status storage_token_add(struct storage *storage, const struct storage_token *token, struct error *err)
{
    struct change c = {.base = {.run = add_run}, .token = token};
    if (token->name[0] == '\0' || memchr(token->name, '\0', sizeof token->name) == NULL ||
        memchr(token->team, '\0', sizeof token->team) == NULL)
        return error_set(err, STATUS_INVALID, NULL, "a token needs a name of 1 to 63 bytes");
    return writer_call(storage, &c.base, err);
}

static enum status revoke_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct change *c = (struct change *)command;
    enum status status =
        db_run(db, err, "UPDATE token SET revoked = 1 WHERE name = ?2 AND" LIVE, "it", clock_now_ms(), c->name);
    if (status)
        return status;
    if (db_changes(db) == 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no such token");
    return STATUS_OK;
}

enum status storage_token_revoke(struct storage *storage, const char *name, struct error *err)
{
    struct change c = {.base = {.run = revoke_run}, .name = name};
    return writer_call(storage, &c.base, err);
}

static enum status read_row(sqlite3_stmt *stmt, struct storage_token *out, struct error *err)
{
    const void *hash = db_blob(stmt, 0, sizeof out->hash);
    memset(out, 0, sizeof *out);
    if (hash == NULL)
        return error_set(err, STATUS_CORRUPT, NULL, "a token has no hash");
    if (!db_copy(stmt, 1, out->name, sizeof out->name) || !db_copy(stmt, 6, out->team, sizeof out->team))
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a token");
    memcpy(out->hash, hash, sizeof out->hash);
    out->scope = sqlite3_column_int(stmt, 2);
    out->created_at = sqlite3_column_int64(stmt, 3);
    out->expires_at = sqlite3_column_int64(stmt, 4);
    out->revoked = sqlite3_column_int(stmt, 5) != 0;
    out->used_at = sqlite3_column_int64(stmt, 7);
    out->expired = out->expires_at != 0 && out->expires_at <= clock_now_ms();
    return STATUS_OK;
}

enum status storage_token_find(struct storage *storage, const uint8_t hash[32], struct storage_token *out,
                               struct error *err)
{
    sqlite3_stmt *stmt;
    struct db *db = reader_take(storage);
    enum status status = db_query(db, &stmt, err, "SELECT " COLUMNS " FROM token WHERE hash = ? AND NOT revoked", "b",
                                  (const void *)hash, (size_t)32);
    if (!status) {
        if (db_row(db, stmt, &status, err)) {
            status = read_row(stmt, out, err);
            db_done(stmt);
        } else if (!status) {
            status = error_set(err, STATUS_NOT_FOUND, NULL, "no such token");
        }
    }
    reader_give(storage, db);
    return status;
}

enum status storage_token_list(struct storage *storage, struct arena *arena, struct storage_token **tokens,
                               size_t *count, struct error *err)
{
    struct db *db;
    sqlite3_stmt *stmt = NULL;
    int64_t rows;
    *tokens = NULL;
    *count = 0;
    enum status status = reader_begin(storage, &db, err);
    if (status)
        return status;
    status = db_integer(db, &rows, 0, err, "SELECT count(*) FROM token", "");
    if (!status && rows > 0) {
        *tokens = arena_zalloc(arena, (size_t)rows, sizeof **tokens);
        if (*tokens == NULL)
            status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to list tokens");
        else
            status = db_query(db, &stmt, err, "SELECT " COLUMNS " FROM token ORDER BY created_at, name", "");
        while (!status && *count < (size_t)rows && db_row(db, stmt, &status, err))
            status = read_row(stmt, &(*tokens)[(*count)++], err);
        db_done(stmt);
    }
    reader_end(storage, db);
    return status;
}

/* ---- rotation, use and expiry ----------------------------------------------------------------------------- */

static enum status newest(struct db *db, const char *name, struct storage_token *out, struct error *err)
{
    sqlite3_stmt *stmt;
    enum status status = db_query(
        db, &stmt, err, "SELECT " COLUMNS " FROM token WHERE name = ?2 AND" LIVE " ORDER BY created_at DESC LIMIT 1",
        "it", clock_now_ms(), name);
    if (status)
        return status;
    if (db_row(db, stmt, &status, err)) {
        status = read_row(stmt, out, err);
        db_done(stmt);
    } else if (!status) {
        status = error_set(err, STATUS_NOT_FOUND, NULL, "no such token");
    }
    return status;
}

static enum status rotate_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct change *c = (struct change *)command;
    struct storage_token old, next = *c->token;
    int64_t now = clock_now_ms();
    enum status status = newest(db, next.name, &old, err);
    if (status)
        return status;
    next.scope = old.scope;
    memcpy(next.team, old.team, sizeof next.team);
    if (next.expires_at == 0 && old.expires_at != 0)
        next.expires_at = now + (old.expires_at - old.created_at);
    if (c->overlap > 0)
        status = db_run(db, err,
                        "UPDATE token SET expires_at = ?2 WHERE name = ?1 AND NOT revoked"
                        " AND (expires_at = 0 OR expires_at > ?2)",
                        "ti", next.name, now + c->overlap);
    else
        status = db_run(db, err, "UPDATE token SET revoked = 1 WHERE name = ?2 AND" LIVE, "it", now, next.name);
    if (status)
        return status;
    return insert(db, &next, now > old.created_at ? now : old.created_at + 1, err);
}

enum status storage_token_rotate(struct storage *storage, const struct storage_token *token, int64_t overlap,
                                 struct error *err)
{
    struct change c = {.base = {.run = rotate_run}, .token = token, .overlap = overlap};
    return writer_call(storage, &c.base, err);
}

struct use {
    struct command base;
    uint8_t hash[32];
};

static void use_destroy(struct command *command)
{
    free(command);
}

static enum status use_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    const struct use *use = (struct use *)command;
    return db_run(db, err, "UPDATE token SET used_at = max(used_at, ?) WHERE hash = ?", "ib", clock_now_ms(),
                  (const void *)use->hash, sizeof use->hash);
}

enum status storage_token_used(struct storage *storage, const uint8_t hash[32], struct error *err)
{
    struct use *use = calloc(1, sizeof *use);
    if (use == NULL)
        return error_memory(err, "the use of a token");
    memcpy(use->hash, hash, sizeof use->hash);
    use->base = (struct command){.run = use_run, .destroy = use_destroy, .bytes = sizeof *use};
    return writer_post(storage, &use->base, err);
}

enum status storage_token_expiry(struct storage *storage, int64_t *left, struct error *err)
{
    int64_t now = clock_now_ms(), first = 0;
    struct db *db = reader_take(storage);
    enum status status =
        db_integer(db, &first, 0, err,
                   "SELECT coalesce(min(expires_at), 0) FROM token AS t WHERE NOT revoked AND expires_at > ?1"
                   " AND NOT EXISTS (SELECT 1 FROM token AS n WHERE n.name = t.name AND n.created_at > t.created_at"
                   "  AND NOT n.revoked AND (n.expires_at = 0 OR n.expires_at > ?1))",
                   "i", now);
    reader_give(storage, db);
    *left = first > 0 ? first - now : INT64_MAX;
    return status;
}
