/* Writes checkpoints.
 *
 * The caller's bytes are collected in buffers of one chunk. A full buffer goes to the writer's bulk queue while the
 * caller fills the next; when all buffers are queued, the caller waits. begin() adds the row in `checkpoint` with
 * complete = 0, which every reader ignores. commit() waits for the chunks and then sets complete = 1 in an urgent
 * transaction, whose fsync covers the chunks as well. */
#include "storage/storage_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

#define WINDOW 3 /* buffers of one writer */

struct chunk {
    struct command base;
    int64_t id;
    size_t count;
    bool sent;
    unsigned char *bytes; /* STORAGE_CHUNK bytes */
};

struct storage_checkpoint_writer {
    struct storage *storage;
    int64_t job, id, seq;
    int64_t number; /* index in the checkpoint of the chunk that is being filled */
    int64_t bytes;
    int current; /* index in chunks[] of the chunk that is being filled */
    struct chunk chunks[WINDOW];
    struct hash hash;
    struct error error; /* the first failure of this writer */
};

/* ---- begin ------------------------------------------------------------------------------------------- */

struct begin {
    struct command base;
    const char *id;
    const struct storage_checkpoint_new *what;
    struct storage_checkpoint_writer *writer;
};

static enum status begin_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct begin *b = (struct begin *)command;
    struct storage_checkpoint_writer *w = b->writer;
    enum status status = job_number(db, b->id, &w->job, err);
    if (!status)
        status = db_run(db, err, "UPDATE job SET last_seq = last_seq + 1 WHERE num = ?", "i", w->job);
    if (!status)
        status = db_integer(db, &w->seq, 0, err, "SELECT last_seq FROM job WHERE num = ?", "i", w->job);
    if (!status)
        status = db_run(db, err,
                        "INSERT INTO checkpoint(job, seq, step, samples, density, accuracy, bytes, sha256, stage_end,"
                        " pinned, complete, created_at) VALUES (?, ?, ?, ?, ?, ?, 0, NULL, ?, 0, 0, ?)",
                        "iiiiddni", w->job, w->seq, b->what->step, b->what->samples, b->what->density,
                        b->what->accuracy, (int)b->what->stage_end, db_stamp(db));
    w->id = sqlite3_last_insert_rowid(db->handle);
    return status;
}

static void writer_free(struct storage_checkpoint_writer *w)
{
    for (int i = 0; i < WINDOW; i++)
        free(w->chunks[i].bytes);
    free(w);
}

enum status storage_checkpoint_begin(struct storage *storage, const char *id, const struct storage_checkpoint_new *what,
                                     struct storage_checkpoint_writer **writer, struct error *err)
{
    *writer = NULL;
    struct storage_checkpoint_writer *w = calloc(1, sizeof *w);
    bool ok = w != NULL;
    for (int i = 0; ok && i < WINDOW; i++)
        ok = (w->chunks[i].bytes = malloc(STORAGE_CHUNK)) != NULL;
    enum status status = STATUS_OK;
    if (!ok) {
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to write a checkpoint");
    } else {
        w->storage = storage;
        hash_init(&w->hash);
        struct begin b = {.base = {.run = begin_run}, .id = id, .what = what, .writer = w};
        status = writer_call(storage, &b.base, err);
    }
    if (!status)
        *writer = w;
    else if (w != NULL)
        writer_free(w);
    return status;
}

/* ---- write ------------------------------------------------------------------------------------------- */

static enum status chunk_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct chunk *c = (struct chunk *)command;
    return db_run(db, err, "INSERT INTO chunk VALUES (?, ?)", "ib", c->id, (const void *)c->bytes, c->count);
}

static enum status files_checkpoint_remember(struct storage_checkpoint_writer *w, enum status status,
                                             const struct error *err)
{
    if (status && !w->error.code)
        w->error = *err;
    return status;
}

/* Waits until a buffer is free. If the chunk in this buffer could not be written, the writer has failed. */
static void files_checkpoint_settle(struct storage_checkpoint_writer *w, struct chunk *chunk)
{
    if (!chunk->sent)
        return;
    struct error err;
    error_clear(&err);
    (void)files_checkpoint_remember(w, writer_wait(w->storage, &chunk->base, &err), &err);
    chunk->sent = false;
    chunk->count = 0;
}

static void send_chunk(struct storage_checkpoint_writer *w)
{
    struct chunk *chunk = &w->chunks[w->current];
    struct error err;
    error_clear(&err);
    enum status status = STATUS_OK;
    if (w->number >= CHUNKS_MAX)
        status = error_set(&err, STATUS_LIMIT, NULL, "the checkpoint is too large");
    if (!status) {
        chunk->base.run = chunk_run;
        chunk->id = (w->id << CHUNK_BITS) + w->number++;
        status = writer_bulk(w->storage, &chunk->base, &err);
        chunk->sent = !status;
    }
    (void)files_checkpoint_remember(w, status, &err);
    w->current = (w->current + 1) % WINDOW;
    files_checkpoint_settle(w, &w->chunks[w->current]);
}

static enum status failure(const struct storage_checkpoint_writer *w, struct error *err)
{
    if (!w->error.code)
        return STATUS_OK;
    return error_set(err, w->error.code, NULL, "%s", w->error.message);
}

enum status storage_checkpoint_write(void *writer, const void *bytes, size_t count, struct error *err)
{
    struct storage_checkpoint_writer *w = writer;
    const unsigned char *from = bytes;
    hash_add(&w->hash, bytes, count);
    w->bytes += (int64_t)count;
    while (count > 0 && !w->error.code) {
        struct chunk *chunk = &w->chunks[w->current];
        size_t some = STORAGE_CHUNK - chunk->count < count ? STORAGE_CHUNK - chunk->count : count;
        memcpy(chunk->bytes + chunk->count, from, some);
        chunk->count += some;
        from += some;
        count -= some;
        if (chunk->count == STORAGE_CHUNK)
            send_chunk(w);
    }
    return failure(w, err);
}

/* ---- commit and retention -------------------------------------------------------------------------------- */

struct commit {
    struct command base;
    struct storage_checkpoint_writer *writer;
    unsigned char sha256[HASH_BYTES];
};

/* Applies the retention rule of storage.h. */
static enum status retain(struct db *db, int64_t job, struct error *err)
{
    sqlite3_stmt *stmt;
    enum status status = db_query(
        db, &stmt, err,
        "SELECT c.id" SPARE_CHECKPOINTS(
            "?1") " AND NOT (c.stage_end AND NOT EXISTS (SELECT 1 FROM checkpoint AS d WHERE d.job = ?1 AND d.complete"
                  "   AND d.stage_end AND d.density IS c.density AND d.seq > c.seq))",
        "i", job);
    int64_t old[64];
    int count = 0;
    while (!status && db_row(db, stmt, &status, err)) {
        old[count++] = sqlite3_column_int64(stmt, 0);
        if (count == (int)(sizeof old / sizeof old[0])) { /* `old` is full: the next commit removes the rest */
            db_done(stmt);
            break;
        }
    }
    for (int i = 0; i < count && !status; i++)
        status = delete_checkpoint_later(db, old[i], err);
    return status;
}

static enum status commit_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct commit *c = (struct commit *)command;
    struct storage_checkpoint_writer *w = c->writer;
    char seq[24];
    enum status status =
        db_run(db, err, "UPDATE checkpoint SET complete = 1, bytes = ?, sha256 = ?, created_at = ? WHERE id = ?",
               "ibii", w->bytes, (const void *)c->sha256, sizeof c->sha256, db_stamp(db), w->id);
    if (!status && db_changes(db) != 1) /* the job was deleted meanwhile */
        status = error_set(err, STATUS_NOT_FOUND, NULL, "no such job");
    if (!status)
        status = chain_add(storage, db, w->id, err);
    (void)snprintf(seq, sizeof seq, "%lld", (long long)w->seq);
    if (!status)
        status = event_add(db, w->job, "checkpoint", seq, err);
    if (!status)
        status = retain(db, w->job, err);
    command->adds_events = true;
    return status;
}

struct discard {
    struct command base;
    int64_t id;
};

static enum status discard_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct discard *d = (struct discard *)command;
    int64_t known;
    enum status status = db_integer(db, &known, 0, err, "SELECT id FROM checkpoint WHERE id = ?", "i", d->id);
    if (status)
        return status;
    if (known != 0)
        return delete_checkpoint_later(db, d->id, err);
    return STATUS_OK;
}

enum status storage_checkpoint_commit(struct storage_checkpoint_writer *writer, int64_t *seq, struct error *err)
{
    struct storage_checkpoint_writer *w = writer;
    *seq = 0;
    if (w->chunks[w->current].count > 0)
        send_chunk(w);
    for (int i = 0; i < WINDOW; i++)
        files_checkpoint_settle(w, &w->chunks[i]);
    enum status status = failure(w, err);
    if (!status) {
        struct commit c = {.base = {.run = commit_run}, .writer = w};
        hash_finish(&w->hash, c.sha256);
        status = writer_call(w->storage, &c.base, err);
    }
    if (status) {
        storage_checkpoint_abandon(w);
        return status;
    }
    *seq = w->seq;
    writer_want_sweep(w->storage);
    writer_free(w);
    return STATUS_OK;
}

void storage_checkpoint_abandon(struct storage_checkpoint_writer *writer)
{
    struct storage_checkpoint_writer *w = writer;
    if (w == NULL)
        return;
    for (int i = 0; i < WINDOW; i++)
        files_checkpoint_settle(w, &w->chunks[i]);
    struct discard d = {.base = {.run = discard_run}, .id = w->id};
    if (!writer_call(w->storage, &d.base, NULL))
        writer_want_sweep(w->storage); /* if the deletion of the chunks fails, the next start removes them */
    writer_free(w);
}

/* ---- pin --------------------------------------------------------------------------------------------- */

struct pin {
    struct command base;
    const char *id;
    int64_t seq;
    bool pinned;
};

static enum status pin_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct pin *p = (struct pin *)command;
    int64_t job;
    enum status status = job_number(db, p->id, &job, err);
    if (status)
        return status;
    status = db_run(db, err, "UPDATE checkpoint SET pinned = ? WHERE job = ? AND seq = ? AND complete", "nii",
                    (int)p->pinned, job, p->seq);
    if (status)
        return status;
    if (db_changes(db) == 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no such checkpoint");
    return STATUS_OK;
}

enum status storage_checkpoint_pin(struct storage *storage, const char *id, int64_t seq, bool pinned, struct error *err)
{
    struct pin p = {.base = {.run = pin_run}, .id = id, .seq = seq, .pinned = pinned};
    return writer_call(storage, &p.base, err);
}

/* The facts of every checkpoint that a job ever had, including those whose bytes were removed by the retention rule.
 * The chain proves later which checkpoints led to a model. */

enum status chain_add(struct storage *storage, struct db *db, int64_t checkpoint, struct error *err)
{
    const char *maker = storage->options.maker != NULL ? storage->options.maker : "";
    return db_run(db, err,
                  "INSERT INTO chain SELECT job, seq, step, samples, density, stage_end, bytes, sha256, ?, created_at"
                  " FROM checkpoint WHERE id = ?",
                  "ti", maker, checkpoint);
}

static enum status read_row(sqlite3_stmt *stmt, struct arena *arena, struct storage_link *out, struct error *err)
{
    bool ok = true;
    const void *sha256 = db_blob(stmt, 6, sizeof out->sha256);
    *out = (struct storage_link){
        .seq = sqlite3_column_int64(stmt, 0),
        .step = sqlite3_column_int64(stmt, 1),
        .samples = sqlite3_column_int64(stmt, 2),
        .density = db_real(stmt, 3),
        .stage_end = sqlite3_column_int(stmt, 4) != 0,
        .bytes = sqlite3_column_int64(stmt, 5),
        .maker = db_text(stmt, 7, arena, &ok),
        .created_at = sqlite3_column_int64(stmt, 8),
        .kept = sqlite3_column_int(stmt, 9) != 0,
    };
    if (sha256 == NULL)
        return error_set(err, STATUS_CORRUPT, NULL, "a row of the chain has no hash");
    memcpy(out->sha256, sha256, sizeof out->sha256);
    return ok ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a chain");
}

static enum status files_chain_list(struct db *db, const char *id, struct arena *arena, struct storage_link **out,
                                    size_t *count, struct error *err)
{
    int64_t job, rows = 0;
    sqlite3_stmt *stmt = NULL;
    enum status status = job_number(db, id, &job, err);
    if (!status)
        status = db_integer(db, &rows, 0, err, "SELECT count(*) FROM chain WHERE job = ?", "i", job);
    if (status || rows == 0)
        return status;
    *out = arena_zalloc(arena, (size_t)rows, sizeof **out);
    if (*out == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read a chain");
    status = db_query(db, &stmt, err,
                      "SELECT seq, step, samples, density, stage_end, bytes, sha256, maker, created_at,"
                      " EXISTS (SELECT 1 FROM checkpoint AS c WHERE c.job = l.job AND c.seq = l.seq AND c.complete)"
                      " FROM chain AS l WHERE job = ? ORDER BY seq",
                      "i", job);
    while (!status && *count < (size_t)rows && db_row(db, stmt, &status, err))
        status = read_row(stmt, arena, &(*out)[(*count)++], err);
    db_done(stmt);
    return status;
}

enum status storage_chain_list(struct storage *storage, const char *id, struct arena *arena,
                               struct storage_link **links, size_t *count, struct error *err)
{
    struct db *db;
    *links = NULL;
    *count = 0;
    enum status status = reader_begin(storage, &db, err);
    if (status)
        return status;
    status = files_chain_list(db, id, arena, links, count, err);
    reader_end(storage, db);
    return status;
}
