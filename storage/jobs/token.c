/* Access tokens. A token is found by the hash of its secret. The comparison need not take constant time: a client
 * cannot choose the hash of the text that it sends, so the time does not reveal a stored hash byte by byte. */
#include "storage/storage_int.h"

#include <stdio.h>
#include <string.h>

#define LIVE " NOT revoked AND (expires_at = 0 OR expires_at > ?1)"

struct change {
    struct command base;
    const struct storage_token *token;
    const char *name;
};

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
    return db_run(db, err,
                  "INSERT INTO token(hash, name, scope, created_at, expires_at, revoked, team)"
                  " VALUES (?, ?, ?, ?, ?, 0, ?)",
                  "btniit", (const void *)t->hash, sizeof t->hash, t->name, t->scope, now, t->expires_at, t->team);
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
    return STATUS_OK;
}

enum status storage_token_find(struct storage *storage, const uint8_t hash[32], struct storage_token *out,
                               struct error *err)
{
    sqlite3_stmt *stmt;
    struct db *db = reader_take(storage);
    enum status status = db_query(db, &stmt, err,
                                  "SELECT hash, name, scope, created_at, expires_at, revoked, team FROM token"
                                  " WHERE hash = ?2 AND" LIVE,
                                  "ib", clock_now_ms(), (const void *)hash, (size_t)32);
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
            status = db_query(db, &stmt, err,
                              "SELECT hash, name, scope, created_at, expires_at, revoked, team FROM token"
                              " ORDER BY created_at, name",
                              "");
        while (!status && *count < (size_t)rows && db_row(db, stmt, &status, err))
            status = read_row(stmt, &(*tokens)[(*count)++], err);
        db_done(stmt);
    }
    reader_end(storage, db);
    return status;
}
