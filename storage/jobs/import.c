/* Imports a finished job. One transaction contains all of it, so a crash leaves either nothing or the complete job. */
#include "storage/jobs/submit_key.h"
#include "storage/storage_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"

struct import {
    struct command base;
    const struct storage_import *in;
    char *id;
    enum storage_submit_outcome outcome;
};

void storage_import_copy(const struct storage_import_bytes *bytes, size_t offset, void *to, size_t count)
{
    size_t first = offset < bytes->count[0] ? bytes->count[0] - offset : 0;
    first = first < count ? first : count;
    if (first > 0)
        memcpy(to, (const unsigned char *)bytes->part[0] + offset, first);
    if (count > first)
        memcpy((unsigned char *)to + first, (const unsigned char *)bytes->part[1] + (offset + first - bytes->count[0]),
               count - first);
}

static enum status put_chunks(struct db *db, int64_t checkpoint, const struct storage_import_bytes *bytes,
                              struct error *err)
{
    size_t total = storage_import_total(bytes);
    unsigned char *chunk = malloc(STORAGE_CHUNK);
    enum status status =
        chunk != NULL ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to store a checkpoint");
    int64_t number = 0;
    for (size_t at = 0; !status && at < total; at += STORAGE_CHUNK) {
        size_t some = total - at < STORAGE_CHUNK ? total - at : STORAGE_CHUNK;
        storage_import_copy(bytes, at, chunk, some);
        status = db_run(db, err, "INSERT INTO chunk VALUES (?, ?)", "ib", (checkpoint << CHUNK_BITS) + number++,
                        (const void *)chunk, some);
    }
    free(chunk);
    return status;
}

static void hash_stream(const struct storage_import_bytes *bytes, unsigned char digest[HASH_BYTES])
{
    struct hash hash;
    hash_init(&hash);
    for (int i = 0; i < 2; i++)
        hash_add(&hash, bytes->part[i], bytes->count[i]);
    hash_finish(&hash, digest);
}

static enum status put_checkpoint(struct storage *storage, struct db *db, int64_t job,
                                  const struct storage_import_checkpoint *in, int64_t now, struct error *err)
{
    unsigned char sha256[HASH_BYTES];
    char seq[24];
    hash_stream(&in->bytes, sha256);
    enum status status = db_run(db, err,
                                "INSERT INTO checkpoint(job, seq, step, samples, density, accuracy, bytes, sha256,"
                                " stage_end, pinned, complete, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 1, ?)",
                                "iiiiddibni", job, in->seq, in->what.step, in->what.samples, in->what.density,
                                in->what.accuracy, (int64_t)storage_import_total(&in->bytes), (const void *)sha256,
                                sizeof sha256, (int)in->what.stage_end, now);
    int64_t checkpoint = sqlite3_last_insert_rowid(db->handle);
    if (!status)
        status = put_chunks(db, checkpoint, &in->bytes, err);
    if (!status)
        status = chain_add(storage, db, checkpoint, err);
    (void)snprintf(seq, sizeof seq, "%lld", (long long)in->seq);
    return status ? status : event_add(db, job, "checkpoint", seq, err);
}

static enum status put_job(struct storage *storage, struct db *db, const struct import *import, int64_t now,
                           int64_t *job, struct error *err)
{
    const struct storage_import *in = import->in;
    int64_t last = in->count > 0 ? in->checkpoints[in->count - 1].seq : 0;
    enum status status = id_next(&storage->ids, now, import->id, err);
    const struct storage_job row = {
        .kind = in->kind,
        .preset = in->preset,
        .name = in->name,
        .owner = in->owner,
        .team = in->team,
        .task = JOB_TRAIN,
        .state = JOB_SUCCEEDED,
        .ranks = 1,
        .config = in->config,
        .progress = in->progress,
        .result = in->result,
        .created_at = now,
        .started_at = now,
        .finished_at = now,
    };
    return status ? status : job_insert(db, import->id, &row, last, job, err);
}

static enum status check_one(int64_t used, int64_t bytes, int64_t most, const char *whose, struct error *err)
{
    if (bytes <= most - used)
        return STATUS_OK;
    return error_set(err, STATUS_LIMIT, NULL,
                     "The jobs of this %s keep %lld bytes of checkpoints and files, and the import has %lld more; the "
                     "limit is %lld",
                     whose, (long long)used, (long long)bytes, (long long)most);
}

/* Checks the limits of the owner's and the team's bytes in the transaction that stores the job, so that simultaneous
 * imports cannot exceed a limit together. */
static enum status check_limit(struct db *db, const struct storage_import *in, struct error *err)
{
    int64_t used, bytes = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < in->count; i++)
        bytes += (int64_t)storage_import_total(&in->checkpoints[i].bytes);
    if (in->owner_bytes > 0 && or_empty(in->owner)[0] != '\0') {
        status = owner_bytes(db, in->owner, &used, err);
        if (!status)
            status = check_one(used, bytes, in->owner_bytes, "token", err);
    }
    if (!status && in->team_bytes > 0 && or_empty(in->team)[0] != '\0') {
        status = team_bytes(db, in->team, &used, err);
        if (!status)
            status = check_one(used, bytes, in->team_bytes, "team", err);
    }
    return status;
}

static enum status import_run(struct storage *storage, struct db *db, struct command *command, struct error *err)
{
    struct import *import = (struct import *)command;
    const struct storage_import *in = import->in;
    int64_t now = db_stamp(db), job = 0;
    const struct submit_key key = {or_empty(in->owner), in->key, in->fingerprint, clock_now_ms()};
    enum status status = submit_key_find(db, &key, import->id, &import->outcome, err);
    if (status || import->outcome != STORAGE_CREATED)
        return status;
    status = check_limit(db, in, err);
    if (!status)
        status = put_job(storage, db, import, now, &job, err);
    for (size_t i = 0; !status && i < in->count; i++)
        status = put_checkpoint(storage, db, job, &in->checkpoints[i], now, err);
    for (size_t i = 0; !status && i < in->series_count; i++)
        status = metric_fill(db, job, &in->series[i], err);
    if (!status)
        status = submit_key_keep(db, &key, job, err);
    if (!status)
        status = event_add(db, job, "state", job_state_name(JOB_SUCCEEDED), err);
    command->adds_events = true;
    return status;
}

static enum status jobs_import_check(const struct storage_import *in, struct error *err)
{
    if (in->kind == NULL || in->config == NULL || in->preset == NULL || in->name == NULL)
        return error_set(err, STATUS_INVALID, NULL, "a job needs a kind and a configuration");
    if (strlen(in->name) >= STORAGE_NAME)
        return error_set(err, STATUS_INVALID, "/name", "must be shorter than %d bytes", STORAGE_NAME);
    if (submit_key_check(in->key, err))
        return STATUS_INVALID;
    for (size_t i = 0; i < in->count; i++)
        if (in->checkpoints[i].seq < 1 || (i > 0 && in->checkpoints[i].seq <= in->checkpoints[i - 1].seq))
            return error_set(err, STATUS_INVALID, NULL, "the numbers of the checkpoints must be positive and increase");
    return STATUS_OK;
}

enum status storage_job_import(struct storage *storage, const struct storage_import *in, char id[STORAGE_ID],
                               enum storage_submit_outcome *outcome, struct error *err)
{
    struct import import = {.base = {.run = import_run}, .in = in, .id = id};
    id[0] = '\0';
    enum status status = jobs_import_check(in, err);
    if (!status)
        status = writer_call(storage, &import.base, err);
    if (status)
        id[0] = '\0';
    *outcome = import.outcome;
    return status;
}
