/* Connects the ranks of a distributed run: rank 0 calls the outside coordinator and broadcasts what it reads. */
#include "trainer/distributed_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)4 << 20) /* bytes of a checkpoint that one broadcast transfers */

static bool outside(const struct distributed_run *distributed)
{
    return comm_rank(distributed->comm) == 0;
}

/* The result of a call on rank 0, which all ranks receive. */
struct answer {
    enum status status;
    struct error error;
    uint64_t count; /* number of bytes, or number of elements of a list */
    struct storage_checkpoint info;
};

static enum status distributed_run_spread(struct comm *comm, struct answer *answer, struct error *err)
{
    enum status status = comm_broadcast(comm, answer, sizeof *answer, 0, err);
    if (status)
        return status;
    if (answer->status)
        return error_set(err, answer->status, answer->error.pointer, "%s", answer->error.message);
    return STATUS_OK;
}

/* Returns OK only if all ranks succeeded, so that either all continue or none. */
static enum status all_have(struct comm *comm, bool mine, struct error *err)
{
    double missing = mine ? 0 : 1;
    enum status status = comm_max(comm, &missing, 1, err);
    if (status)
        return status;
    if (missing > 0)
        return error_set(err, STATUS_NO_MEMORY, NULL, "a rank has not enough memory for the data that rank 0 read");
    return STATUS_OK;
}

/* ---- what a run sends -------------------------------------------------------------------------------- */

static enum status take_metrics(void *context, const struct storage_metric *points, size_t count, struct error *err)
{
    struct distributed_run *distributed = context;
    return outside(distributed) ? distributed->outside.metrics(distributed->outside.context, points, count, err)
                                : STATUS_OK;
}

static enum status take_progress(void *context, const char *document, struct error *err)
{
    struct distributed_run *distributed = context;
    return outside(distributed) ? distributed->outside.progress(distributed->outside.context, document, err)
                                : STATUS_OK;
}

static enum status take_artifact(void *context, const char *name, const char *media_type, const void *bytes,
                                 size_t count, struct error *err)
{
    struct distributed_run *distributed = context;
    return outside(distributed)
               ? distributed->outside.artifact(distributed->outside.context, name, media_type, bytes, count, err)
               : STATUS_OK;
}

static enum status drop_bytes(void *context, const void *bytes, size_t count, struct error *err)
{
    return STATUS_OK;
}

static enum status save_begin(void *context, const struct storage_checkpoint_new *what, struct snapshot_writer *to,
                              struct error *err)
{
    struct distributed_run *distributed = context;
    struct answer answer = {0};
    *to = (struct snapshot_writer){.context = NULL, .write = drop_bytes};
    if (outside(distributed))
        answer.status = distributed->outside.save_begin(distributed->outside.context, what, to, &answer.error);
    return distributed_run_spread(distributed->comm, &answer, err);
}

/* The ranks commit together: if the save failed on one rank, it fails on all. Then all of them retry, or all of them
 * end. */
static enum status save_commit(void *context, int64_t *seq, struct error *err)
{
    struct distributed_run *distributed = context;
    struct answer answer = {0};
    enum status status = comm_agree(distributed->comm, STATUS_OK, err);
    *seq = 0;
    if (status) {
        if (outside(distributed))
            distributed->outside.save_abandon(distributed->outside.context, err);
        return status;
    }
    if (outside(distributed)) {
        answer.status = distributed->outside.save_commit(distributed->outside.context, seq, &answer.error);
        answer.info.seq = *seq;
    }
    status = distributed_run_spread(distributed->comm, &answer, err);
    *seq = answer.info.seq;
    return status;
}

static void save_abandon(void *context, const struct error *why)
{
    struct distributed_run *distributed = context;
    struct error failure = *why;
    (void)comm_agree(distributed->comm, why->code, &failure);
    if (outside(distributed))
        distributed->outside.save_abandon(distributed->outside.context, why);
}

static void distributed_run_stepped(void *context, int64_t samples, double seconds, double gflops)
{
    struct distributed_run *distributed = context;
    if (outside(distributed))
        distributed->outside.stepped(distributed->outside.context, samples, seconds, gflops);
}

static void distributed_run_line(void *context, enum log_level level, const char *text)
{
    struct distributed_run *distributed = context;
    if (outside(distributed))
        distributed->outside.line(distributed->outside.context, level, text);
}

/* ---- what a run reads -------------------------------------------------------------------------------- */

static enum status distributed_run_list(void *context, enum run_of of, struct arena *arena,
                                        struct storage_checkpoint **out, size_t *count, struct error *err)
{
    struct distributed_run *distributed = context;
    struct answer answer = {0};
    if (outside(distributed)) {
        answer.status = distributed->outside.list(distributed->outside.context, of, arena, out, count, &answer.error);
        answer.count = !answer.status ? *count : 0;
    }
    enum status status = distributed_run_spread(distributed->comm, &answer, err);
    if (!status && !outside(distributed)) {
        *count = (size_t)answer.count;
        *out = arena_zalloc(arena, *count + 1, sizeof **out);
    }
    if (!status)
        status = all_have(distributed->comm, *count == 0 || *out != NULL, err);
    return status ? status : comm_broadcast(distributed->comm, *out, *count * sizeof **out, 0, err);
}

struct received { /* A checkpoint that a rank other than 0 has received: all its bytes are in memory. */
    uint64_t bytes;
    char data[];
};

static enum status read_received(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct received *from = context;
    if (offset > from->bytes || count > from->bytes - offset)
        return error_set(err, STATUS_CORRUPT, NULL, "the checkpoint ends early");
    memcpy(bytes, from->data + offset, count);
    return STATUS_OK;
}

/* Broadcasts a checkpoint in blocks. On rank 0, `to` has space for one block; on the other ranks, it has space for all
 * bytes. Before each block, rank 0 broadcasts whether it could read the block. */
static enum status send_bytes(struct comm *comm, const struct snapshot_reader *from, char *to, uint64_t bytes,
                              struct error *err)
{
    bool first = comm_rank(comm) == 0;
    enum status status = STATUS_OK;
    for (uint64_t at = 0; !status && at < bytes; at += BLOCK) {
        size_t count = bytes - at < BLOCK ? (size_t)(bytes - at) : BLOCK;
        struct answer answer = {0};
        if (first)
            answer.status = from->read(from->context, at, to, count, &answer.error);
        status = distributed_run_spread(comm, &answer, err);
        if (!status)
            status = comm_broadcast(comm, first ? to : to + at, count, 0, err);
    }
    return status;
}

static void close_checkpoint(void *context, void *reader)
{
    struct distributed_run *distributed = context;
    if (outside(distributed))
        distributed->outside.close(distributed->outside.context, reader);
    else
        free(reader);
}

static enum status open_checkpoint(void *context, enum run_of of, struct storage_checkpoint_pick pick, void **reader,
                                   struct snapshot_reader *from, struct storage_checkpoint *info, struct error *err)
{
    struct distributed_run *distributed = context;
    struct answer answer = {0};
    struct received *received = NULL;
    char *block = NULL;
    *reader = NULL;
    if (outside(distributed)) {
        answer.status = distributed->outside.open(distributed->outside.context, of, pick, reader, from, &answer.info,
                                                  &answer.error);
        answer.count = !answer.status ? from->total_bytes : 0;
    }
    enum status status = distributed_run_spread(distributed->comm, &answer, err);
    if (info != NULL)
        *info = answer.info;
    if (status || comm_size(distributed->comm) == 1)
        return status;
    if (outside(distributed))
        block = malloc(BLOCK);
    else
        *reader = received = malloc(sizeof *received + (size_t)answer.count);
    status = all_have(distributed->comm, block != NULL || received != NULL, err);
    if (!status)
        status = send_bytes(distributed->comm, from, received != NULL ? received->data : block, answer.count, err);
    if (!status && received != NULL) {
        received->bytes = answer.count;
        *from = (struct snapshot_reader){.context = received, .total_bytes = answer.count, .read = read_received};
    }
    if (status) {
        close_checkpoint(distributed, *reader);
        *reader = NULL;
    }
    free(block);
    return status;
}

static enum status rewind_points(void *context, int64_t last_samples, struct error *err)
{
    struct distributed_run *distributed = context;
    struct answer answer = {0};
    if (outside(distributed))
        answer.status = distributed->outside.rewind(distributed->outside.context, last_samples, &answer.error);
    return distributed_run_spread(distributed->comm, &answer, err);
}

/* ---- control and end ---------------------------------------------------------------------------------------- */

static bool must_yield(void *context)
{
    struct distributed_run *distributed = context;
    struct error err = {0};
    double requested = atomic_load(distributed->stop_requested) ? 1 : 0;
    if (outside(distributed) && distributed->outside.must_yield(distributed->outside.context))
        requested = 1;
    return comm_max(distributed->comm, &requested, 1, &err) != STATUS_OK || requested > 0;
}

/* Several ranks must end a step together. So only a run with one rank may give up a step. */
static bool must_stop(void *context)
{
    struct distributed_run *distributed = context;
    return comm_size(distributed->comm) == 1 && distributed->outside.must_stop != NULL &&
           distributed->outside.must_stop(distributed->outside.context);
}

static bool distributed_run_draining(void *context)
{
    struct distributed_run *distributed = context;
    struct error err = {0};
    char now = outside(distributed) && distributed->outside.draining(distributed->outside.context) ? 1 : 0;
    return comm_broadcast(distributed->comm, &now, sizeof now, 0, &err) != STATUS_OK || now != 0;
}

/* If another rank is gone, this rank fails too, but its error does not contain the reason. Rank 0 then does not report
 * the end to the daemon, and the next try continues from the last checkpoint. */
static void distributed_run_leave(void *context, enum job_event event, const char *result, const char *error,
                                  double seconds)
{
    struct distributed_run *distributed = context;
    distributed->end = event;
    (void)snprintf(distributed->failure, sizeof distributed->failure, "%s", error != NULL ? error : "");
    if (outside(distributed) && !comm_broken(distributed->comm))
        distributed->outside.leave(distributed->outside.context, event, result, error, seconds);
}

struct coordinator distributed_coordinator(struct distributed_run *distributed)
{
    return (struct coordinator){
        .context = distributed,
        .metrics = take_metrics,
        .progress = take_progress,
        .artifact = take_artifact,
        .save_begin = save_begin,
        .save_commit = save_commit,
        .save_abandon = save_abandon,
        .list = distributed_run_list,
        .open = open_checkpoint,
        .close = close_checkpoint,
        .rewind = rewind_points,
        .must_yield = must_yield,
        .must_stop = must_stop,
        .draining = distributed_run_draining,
        .stepped = distributed_run_stepped,
        .line = distributed_run_line,
        .leave = distributed_run_leave,
    };
}

/* ---- the job --------------------------------------------------------------------------------------------------- */

enum { TEXTS = 5 };

static void texts_of(struct storage_job *job, const char **texts[TEXTS])
{
    texts[0] = &job->kind;
    texts[1] = &job->config;
    texts[2] = &job->params;
    texts[3] = &job->progress;
    texts[4] = &job->source_job;
}

enum status distributed_job(struct comm *comm, enum status status, struct arena *arena, struct storage_job *job,
                            struct error *err)
{
    struct answer answer = {.status = status};
    const char **texts[TEXTS];
    struct storage_job head = *job; /* the pointers are valid on rank 0 only and are replaced below */
    uint64_t bytes[TEXTS] = {0};    /* bytes of each text with its NUL; 0 stands for NULL */
    if (comm_size(comm) == 1)
        return status;
    if (status) {
        answer.error = *err;
        error_clear(err);
    }
    texts_of(job, texts);
    for (size_t i = 0; !status && comm_rank(comm) == 0 && i < TEXTS; i++)
        bytes[i] = *texts[i] != NULL ? strlen(*texts[i]) + 1 : 0;
    status = distributed_run_spread(comm, &answer, err);
    if (!status)
        status = comm_broadcast(comm, bytes, sizeof bytes, 0, err);
    if (!status)
        status = comm_broadcast(comm, &head, sizeof head, 0, err);
    if (!status && comm_rank(comm) != 0) {
        *job = head;
        job->preset = job->name = job->owner = job->executor = "";
        job->result = job->error = NULL;
    }
    for (size_t i = 0; !status && i < TEXTS; i++) {
        char *text = NULL;
        if (comm_rank(comm) != 0)
            *texts[i] = text = bytes[i] > 0 ? arena_zalloc(arena, (size_t)bytes[i], 1) : NULL;
        else
            text = (char *)(uintptr_t)*texts[i]; /* on rank 0, a broadcast only reads the text, so const is cast away */
        status = all_have(comm, bytes[i] == 0 || text != NULL, err);
        if (!status && bytes[i] > 0)
            status = comm_broadcast(comm, text, (size_t)bytes[i], 0, err);
    }
    return status;
}
