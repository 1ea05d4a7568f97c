/* Finds and reads checkpoints. Chunks never change after they are written, so a reader needs no snapshot. It only
 * needs a hold (sweep.c), which keeps the sweep from removing the chunks. */
#include "storage/storage_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

#define COLUMNS "id, seq, step, samples, density, accuracy, bytes, sha256, stage_end, pinned, created_at"
#define FROM " FROM checkpoint WHERE job = ?1 AND complete"

static enum status read_row(sqlite3_stmt *stmt, int64_t *id, struct storage_checkpoint *out, struct error *err)
{
    const void *sha256 = db_blob(stmt, 7, sizeof out->sha256);
    memset(out, 0, sizeof *out);
    *id = sqlite3_column_int64(stmt, 0);
    out->seq = sqlite3_column_int64(stmt, 1);
    out->step = sqlite3_column_int64(stmt, 2);
    out->samples = sqlite3_column_int64(stmt, 3);
    out->density = db_real(stmt, 4);
    out->accuracy = db_real(stmt, 5);
    out->bytes = sqlite3_column_int64(stmt, 6);
    out->stage_end = sqlite3_column_int(stmt, 8) != 0;
    out->pinned = sqlite3_column_int(stmt, 9) != 0;
    out->created_at = sqlite3_column_int64(stmt, 10);
    if (sha256 == NULL)
        return error_set(err, STATUS_CORRUPT, NULL, "a checkpoint has no hash");
    memcpy(out->sha256, sha256, sizeof out->sha256);
    return STATUS_OK;
}

/* Finds a checkpoint. The caller has begun a transaction. */
static enum status checkpoint_read_find(struct db *db, const char *job_id, struct storage_checkpoint_pick pick,
                                        int64_t *id, struct storage_checkpoint *out, struct error *err)
{
    int64_t job;
    sqlite3_stmt *stmt = NULL;
    enum status status = job_number(db, job_id, &job, err);
    if (status)
        return status;
    switch (pick.by) {
    case STORAGE_LATEST:
        status = db_query(db, &stmt, err, "SELECT " COLUMNS FROM " ORDER BY seq DESC LIMIT 1", "i", job);
        break;
    case STORAGE_SEQ:
        status = db_query(db, &stmt, err, "SELECT " COLUMNS FROM " AND seq = ?2", "ii", job, pick.seq);
        break;
    case STORAGE_DENSITY:
        status =
            db_query(db, &stmt, err, "SELECT " COLUMNS FROM " AND abs(density - ?2) <= ?3 ORDER BY seq DESC LIMIT 1",
                     "idd", job, pick.density, fabs(pick.density) * 1e-6);
        break;
    case STORAGE_BEST:
        status = db_query(db, &stmt, err,
                          "SELECT " COLUMNS FROM " AND accuracy IS NOT NULL ORDER BY accuracy DESC, seq DESC LIMIT 1",
                          "i", job);
        break;
    default:
        return error_set(err, STATUS_INVALID, NULL, "unknown way to choose a checkpoint");
    }
    if (status)
        return status;
    if (db_row(db, stmt, &status, err)) {
        status = read_row(stmt, id, out, err);
        db_done(stmt);
    } else if (!status) {
        status = error_set(err, STATUS_NOT_FOUND, NULL, "no such checkpoint");
    }
    return status;
}

enum status storage_checkpoint_find(struct storage *storage, const char *id, struct storage_checkpoint_pick pick,
                                    struct storage_checkpoint *out, struct error *err)
{
    struct db *db;
    int64_t number;
    enum status status = reader_begin(storage, &db, err);
    if (status)
        return status;
    status = checkpoint_read_find(db, id, pick, &number, out, err);
    reader_end(storage, db);
    return status;
}

static enum status checkpoint_read_list(struct db *db, const char *id, struct arena *arena,
                                        struct storage_checkpoint **out, size_t *count, struct error *err)
{
    int64_t job, rows = 0, number;
    sqlite3_stmt *stmt = NULL;
    enum status status = job_number(db, id, &job, err);
    if (!status)
        status = db_integer(db, &rows, 0, err, "SELECT count(*)" FROM, "i", job);
    if (status || rows == 0)
        return status;
    *out = arena_zalloc(arena, (size_t)rows, sizeof **out);
    if (*out == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to list checkpoints");
    status = db_query(db, &stmt, err, "SELECT " COLUMNS FROM " ORDER BY seq", "i", job);
    while (!status && *count < (size_t)rows && db_row(db, stmt, &status, err))
        status = read_row(stmt, &number, &(*out)[(*count)++], err);
    db_done(stmt);
    return status;
}

enum status storage_checkpoint_list(struct storage *storage, const char *id, struct arena *arena,
                                    struct storage_checkpoint **checkpoints, size_t *count, struct error *err)
{
    struct db *db;
    *checkpoints = NULL;
    *count = 0;
    enum status status = reader_begin(storage, &db, err);
    if (status)
        return status;
    status = checkpoint_read_list(db, id, arena, checkpoints, count, err);
    reader_end(storage, db);
    return status;
}

/* ---- bytes ------------------------------------------------------------------------------------------- */

struct storage_checkpoint_reader {
    struct storage *storage;
    int64_t id;
    uint64_t bytes;
    uint8_t sha256[HASH_BYTES];
};

/* Ends the hold. After the last hold of a deleted checkpoint, the writer removes its chunks. */
static void checkpoint_read_release(struct storage *storage, int64_t checkpoint)
{
    if (hold_release(storage, checkpoint))
        writer_want_sweep(storage);
}

/* Finds a checkpoint and holds it. The row may be deleted after it was found and before the hold began. So the row is
 * read again: if it still exists, every later deletion respects the hold. */
static enum status find_and_hold(struct storage *storage, const char *job, struct storage_checkpoint_pick pick,
                                 int64_t *id, struct storage_checkpoint *info, struct error *err)
{
    for (int attempt = 0; attempt < 10; attempt++) {
        int64_t still = 0;
        struct db *db;
        enum status status = reader_begin(storage, &db, err);
        if (status)
            return status;
        status = checkpoint_read_find(db, job, pick, id, info, err);
        reader_end(storage, db);
        if (!status)
            status = hold_add(storage, *id, err);
        if (status)
            return status;
        db = reader_take(storage);
        status = db_integer(db, &still, 0, err, "SELECT id FROM checkpoint WHERE id = ?", "i", *id);
        reader_give(storage, db);
        if (!status && still == *id)
            return STATUS_OK;
        checkpoint_read_release(storage, *id);
        if (status)
            return status;
    }
    return error_set(err, STATUS_UNAVAILABLE, NULL, "the checkpoints of the job change too fast to be read: try again");
}

enum status storage_checkpoint_open(struct storage *storage, const char *id, struct storage_checkpoint_pick pick,
                                    struct storage_checkpoint_reader **reader, struct storage_checkpoint *info,
                                    struct error *err)
{
    struct storage_checkpoint found;
    *reader = NULL;
    struct storage_checkpoint_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to open a checkpoint");
    enum status status = find_and_hold(storage, id, pick, &r->id, &found, err);
    if (status) {
        free(r);
        return status;
    }
    r->storage = storage;
    r->bytes = (uint64_t)found.bytes;
    memcpy(r->sha256, found.sha256, sizeof r->sha256);
    if (info != NULL)
        *info = found;
    *reader = r;
    return STATUS_OK;
}

static enum status read_blob(struct db *db, int64_t chunk, size_t offset, void *bytes, size_t count,
                             sqlite3_blob **blob, struct error *err)
{
    int code = *blob == NULL ? sqlite3_blob_open(db->handle, "main", "chunk", "data", chunk, 0, blob)
                             : sqlite3_blob_reopen(*blob, chunk);
    if (code == SQLITE_ERROR) /* SQLite returns this code when the row does not exist */
        return error_set(err, STATUS_CORRUPT, NULL, "a part of the checkpoint is missing");
    if (code == SQLITE_OK && (size_t)sqlite3_blob_bytes(*blob) < offset + count)
        return error_set(err, STATUS_CORRUPT, NULL, "a part of the checkpoint is too short");
    if (code == SQLITE_OK)
        code = sqlite3_blob_read(*blob, bytes, (int)count, (int)offset);
    return code == SQLITE_OK ? STATUS_OK : db_fail(db, code, err);
}

enum status storage_checkpoint_read(void *reader, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    struct storage_checkpoint_reader *r = reader;
    unsigned char *to = bytes;
    if (offset > r->bytes || count > r->bytes - offset)
        return error_set(err, STATUS_CORRUPT, NULL, "the checkpoint ends early");
    sqlite3_blob *blob = NULL;
    enum status status = STATUS_OK;
    struct db *db = reader_take(r->storage);
    while (count > 0 && !status) {
        size_t within = (size_t)(offset % STORAGE_CHUNK);
        size_t some = STORAGE_CHUNK - within < count ? STORAGE_CHUNK - within : count;
        status = read_blob(db, (r->id << CHUNK_BITS) + (int64_t)(offset / STORAGE_CHUNK), within, to, some, &blob, err);
        to += some;
        offset += some;
        count -= some;
    }
    sqlite3_blob_close(blob);
    reader_give(r->storage, db);
    return status;
}

enum status storage_checkpoint_verify(struct storage_checkpoint_reader *reader, struct error *err)
{
    unsigned char digest[HASH_BYTES];
    struct hash hash;
    unsigned char *piece = malloc(STORAGE_CHUNK);
    if (piece == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to verify a checkpoint");
    hash_init(&hash);
    enum status status = STATUS_OK;
    for (uint64_t at = 0; at < reader->bytes && !status;) {
        size_t some = reader->bytes - at < STORAGE_CHUNK ? (size_t)(reader->bytes - at) : STORAGE_CHUNK;
        status = storage_checkpoint_read(reader, at, piece, some, err);
        if (!status)
            hash_add(&hash, piece, some);
        at += some;
    }
    hash_finish(&hash, digest);
    free(piece);
    if (status)
        return status;
    if (memcmp(digest, reader->sha256, sizeof digest) != 0)
        return error_set(err, STATUS_CORRUPT, NULL, "the bytes of the checkpoint do not match its SHA-256");
    return STATUS_OK;
}

void storage_checkpoint_close(struct storage_checkpoint_reader *reader)
{
    if (reader != NULL)
        checkpoint_read_release(reader->storage, reader->id);
    free(reader);
}
