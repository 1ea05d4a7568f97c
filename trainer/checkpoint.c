/* Checkpoints of a run: saves them with retries, loads the one to start from, gives a method access to earlier ones,
 * and hashes the stored weights. */
#include "trainer/run_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/hash.h"

#define SAVE_TRIES 3
#define HASH_BLOCK (256u * 1024u)
#define PIECE ((size_t)4 << 20) /* bytes that are written between two checks for a cancel */

/* ---- saving ------------------------------------------------------------------------------------------ */

/* A save that is in progress. Half a second after a cancel, the thread pool stops, and a save that still runs fails.
 * This loses nothing, because a cancelled job needs no checkpoint. */
struct saving {
    struct job_run *run;
    struct snapshot_writer to;
};

static enum status write_piece(void *context, const void *bytes, size_t count, struct error *err)
{
    struct saving *saving = context;
    const char *from = bytes;
    enum status status = thread_pool_check(saving->run->pool, err);
    for (size_t at = 0, some; !status && at < count; at += some) {
        some = count - at < PIECE ? count - at : PIECE;
        status = saving->to.write(saving->to.context, from + at, some, err);
        if (!status)
            status = thread_pool_check(saving->run->pool, err);
    }
    return status;
}

static enum status save_once(struct job_run *run, const struct storage_checkpoint_new *what, struct error *err)
{
    const struct coordinator *coordinator = run->coordinator;
    struct saving saving = {.run = run};
    const struct snapshot_writer to = {.context = &saving, .write = write_piece};
    uint64_t bytes = 0;
    int64_t seq = 0;
    double begun = run_now();
    enum status status = coordinator->save_begin(coordinator->context, what, &saving.to, err);
    if (status)
        return status;
    status = run->method->save(run->run, &to, &bytes, err);
    if (status) {
        coordinator->save_abandon(coordinator->context, err);
        return status;
    }
    status = coordinator->save_commit(coordinator->context, &seq, err);
    if (!status) {
        run->last_checkpoint = seq;
        run->saved_step = what->step;
        run_line(run, LOG_LEVEL_DEBUG, "checkpoint %lld at step %lld: %llu bytes in %.0f ms", (long long)seq,
                 (long long)what->step, (unsigned long long)bytes, (run_now() - begun) * 1e3);
    }
    return status;
}

enum status checkpoint_save(struct job_run *run, bool stage_end, struct error *err)
{
    struct storage_checkpoint_new what = {
        .step = run->progress.step,
        .samples = run->progress.samples,
        .density = run->progress.density,
        .accuracy = run->progress.accuracy,
        .stage_end = stage_end,
    };
    enum status status = STATUS_OK;
    for (int attempt = 1; attempt <= SAVE_TRIES; attempt++) {
        struct error failure = {0};
        status = save_once(run, &what, &failure);
        if (run_retries(run, status)) { /* not a try: the disk may stay full for hours */
            attempt--;
            continue;
        }
        /* Only these failures may be temporary: a full queue, or a disk. */
        if (status != STATUS_IO && status != STATUS_UNAVAILABLE)
            return status ? error_set(err, status, failure.pointer, "%s", failure.message) : status;
        run_line(run, LOG_LEVEL_WARN, "checkpoint not saved (try %d of %d): %s", attempt, SAVE_TRIES, failure.message);
        if (attempt == SAVE_TRIES || run->coordinator->draining(run->coordinator->context))
            return error_set(err, status, failure.pointer, "the checkpoint cannot be saved: %s", failure.message);
        (void)nanosleep(&(struct timespec){.tv_sec = attempt}, NULL);
    }
    return status;
}

/* ---- restoring --------------------------------------------------------------------------------------- */

/* Sets *only to whether the stream contains weights and nothing else, as after an import of weights. Such a stream
 * lacks the state of a training, so an evaluation loads only the weights from it. */
static enum status weights_only(const struct snapshot_reader *from, bool *only, struct error *err)
{
    struct snapshot_entry *entries = NULL;
    size_t count = 0;
    enum status status = snapshot_contents(from, &entries, &count, err);
    *only = !status && count > 0 && entries[count - 1].role == SNAPSHOT_WEIGHT; /* weights come first, so
                                                                                               all are weights if the
                                                                                               last entry is one */
    free(entries);
    return status;
}

static enum status load_from(struct job_run *run, enum run_of of, struct storage_checkpoint_pick pick, bool warm,
                             struct storage_checkpoint *info, struct error *err)
{
    const struct coordinator *coordinator = run->coordinator;
    struct snapshot_reader from;
    void *reader = NULL;
    enum status status = coordinator->open(coordinator->context, of, pick, &reader, &from, info, err);
    if (status)
        return status;
    if (!warm && run->job->task == JOB_EVALUATE)
        status = weights_only(&from, &warm, err);
    if (!status)
        status = warm ? method_warm_start(run->method, run->run, &from, err) : run->method->load(run->run, &from, err);
    coordinator->close(coordinator->context, reader);
    return status;
}

static struct storage_checkpoint_pick source_pick(const struct job_run *run)
{
    return run->job->source_checkpoint > 0
               ? (struct storage_checkpoint_pick){.by = STORAGE_SEQ, .seq = run->job->source_checkpoint}
               : (struct storage_checkpoint_pick){.by = STORAGE_LATEST};
}

static enum status rewind_to(struct job_run *run, int64_t samples, struct error *err)
{
    enum status status;
    do {
        error_clear(err);
        status = run->coordinator->rewind(run->coordinator->context, samples, err);
    } while (run_retries(run, status));
    return status;
}

enum status checkpoint_restore(struct job_run *run, struct error *err)
{
    struct storage_checkpoint info = {0};
    struct error none = {0};
    bool evaluate = run->job->task == JOB_EVALUATE;
    if (evaluate)
        return load_from(run, RUN_OF_SOURCE, source_pick(run), false, &info, err);
    enum status status =
        load_from(run, RUN_OF_JOB, (struct storage_checkpoint_pick){.by = STORAGE_LATEST}, false, &info, &none);
    if (!status) {
        run->last_checkpoint = info.seq;
        run->saved_step = info.step;
        run->reported_samples = info.samples;
        return rewind_to(run, info.samples, err);
    }
    if (status != STATUS_NOT_FOUND)
        return error_set(err, status, none.pointer, "checkpoint %lld: %s", (long long)info.seq, none.message);
    /* There is no checkpoint. An earlier attempt may have stored points; they are removed, because this run measures
     * them again. */
    status = rewind_to(run, -1, err);
    if (status)
        return status;
    if (run->job->source_job[0] != '\0')
        return load_from(run, RUN_OF_SOURCE, source_pick(run), true, &info, err);
    return STATUS_OK;
}

/* ---- what a method sees of its job's checkpoints ----------------------------------------------------- */

/* Returns whose checkpoints the method reads: in an evaluation, the checkpoints of the evaluated job; otherwise, the
 * checkpoints of its own job. */
static enum run_of table_of(const struct job_run *run)
{
    return run->job->task == JOB_EVALUATE ? RUN_OF_SOURCE : RUN_OF_JOB;
}

static enum status table_count(void *context, size_t *count, struct error *err)
{
    struct job_run *run = context;
    const struct coordinator *coordinator = run->coordinator;
    arena_reset(&run->list_arena);
    run->list_valid = false;
    enum status status =
        coordinator->list(coordinator->context, table_of(run), &run->list_arena, &run->list, &run->list_count, err);
    if (!status) {
        run->list_valid = true;
        *count = run->list_count;
    }
    return status;
}

static enum status table_entry(struct job_run *run, size_t index, struct error *err)
{
    size_t count = 0;
    enum status status = run->list_valid ? STATUS_OK : table_count(run, &count, err);
    if (status)
        return status;
    if (index >= run->list_count)
        return error_set(err, STATUS_NOT_FOUND, NULL, "there is no checkpoint at index %zu", index);
    return STATUS_OK;
}

static enum status table_describe(void *context, size_t index, struct method_checkpoint *out, struct error *err)
{
    struct job_run *run = context;
    enum status status = table_entry(run, index, err);
    if (!status) {
        const struct storage_checkpoint *entry = &run->list[index];
        *out = (struct method_checkpoint){
            .seq = entry->seq, .step = entry->step, .density = entry->density, .stage_end = entry->stage_end};
    }
    return status;
}

static enum status table_open(void *context, size_t index, struct snapshot_reader *reader, struct error *err)
{
    struct job_run *run = context;
    const struct coordinator *coordinator = run->coordinator;
    enum status status = table_entry(run, index, err);
    coordinator->close(coordinator->context, run->reader);
    run->reader = NULL;
    if (status)
        return status;
    struct storage_checkpoint_pick pick = {.by = STORAGE_SEQ, .seq = run->list[index].seq};
    return coordinator->open(coordinator->context, table_of(run), pick, &run->reader, reader, NULL, err);
}

struct method_checkpoints checkpoint_table(struct job_run *run)
{
    return (struct method_checkpoints){
        .context = run, .count = table_count, .describe = table_describe, .open = table_open};
}

void checkpoint_table_close(struct job_run *run)
{
    run->coordinator->close(run->coordinator->context, run->reader);
    run->reader = NULL;
    run->list_valid = false;
}

/* ---- the weights' hash ---------------------------------------------------------------------------------- */

/* Computes the hash of the weights, which are contiguous at the front of a checkpoint (snapshot.h). */
static enum status hash_weights(const struct snapshot_reader *from, unsigned char digest[HASH_BYTES], struct error *err)
{
    struct snapshot_entry *entries = NULL;
    size_t count = 0;
    struct hash hash;
    unsigned char *block = malloc(HASH_BLOCK);
    enum status status = block != NULL
                             ? snapshot_contents(from, &entries, &count, err)
                             : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to hash the weights");
    hash_init(&hash);
    for (size_t i = 0; !status && i < count; i++) {
        uint64_t left = entries[i].role == SNAPSHOT_WEIGHT ? entries[i].bytes : 0, at = entries[i].offset;
        while (!status && left > 0) {
            size_t piece = left < HASH_BLOCK ? (size_t)left : HASH_BLOCK;
            status = from->read(from->context, at, block, piece, err);
            if (!status) {
                hash_add(&hash, block, piece);
                at += piece;
                left -= piece;
            }
        }
    }
    hash_finish(&hash, digest);
    free(entries);
    free(block);
    return status;
}

enum status checkpoint_weights(struct job_run *run, char text[65], struct error *err)
{
    const struct coordinator *coordinator = run->coordinator;
    struct snapshot_reader from;
    unsigned char digest[HASH_BYTES];
    void *reader = NULL;
    struct storage_checkpoint_pick pick =
        run->job->task == JOB_EVALUATE ? source_pick(run) : (struct storage_checkpoint_pick){.by = STORAGE_LATEST};
    enum status status = coordinator->open(coordinator->context, table_of(run), pick, &reader, &from, NULL, err);
    if (status)
        return status;
    status = hash_weights(&from, digest, err);
    coordinator->close(coordinator->context, reader);
    if (!status)
        hash_hex(digest, text);
    return status;
}
