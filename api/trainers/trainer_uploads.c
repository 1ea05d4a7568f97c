/* Checkpoints that a trainer reads and writes. To write a checkpoint, the trainer announces its length and SHA-256 and
 * sends it in pieces. The daemon stores it when all bytes have arrived and match the hash. If a response was lost, the
 * trainer announces the checkpoint again. Then the upload continues where it stopped, or the response contains the
 * sequence number of the checkpoint if it is already stored. */
#include <math.h>
#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>

#include "api/jobs/checkpoint_pick.h"
#include "api/jobs/job_document.h"
#include "api/trainers/trainers_int.h"

#define BYTES_MAX ((double)((int64_t)1 << 36))

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Finds the job whose checkpoints are read: the trainer's own job or, with ?of=source, the job that it starts from or
 * evaluates. False: the function has responded. */
static bool whose(struct exchange *x, const char **id)
{
    struct storage_job job;
    struct storage_lease lease;
    struct trainer_stripe *stripe = trainer_enter(x, &lease);
    const char *of = exchange_query(x, "of");
    if (stripe == NULL)
        return false;
    (void)pthread_mutex_unlock(&stripe->lock);
    if (!exchange_job(x, &job))
        return false;
    *id = of != NULL && strcmp(of, "source") == 0 ? job.source_job : exchange_param(x, "id");
    return true;
}

void trainer_checkpoints(struct exchange *x)
{
    struct storage_checkpoint *list;
    struct error err;
    const char *id;
    size_t count;
    error_clear(&err);
    if (!whose(x, &id))
        return;
    if (storage_checkpoint_list(x->api->options.storage, id, &x->arena, &list, &count, &err)) {
        respond_error(x, &err);
        return;
    }
    sink_begin_object(x->out, NULL);
    sink_begin_list(x->out, "checkpoints");
    for (size_t i = 0; i < count; i++) {
        char hex[HASH_TEXT];
        hash_hex(list[i].sha256, hex);
        sink_begin_object(x->out, NULL);
        sink_integer(x->out, "seq", list[i].seq);
        sink_integer(x->out, "step", list[i].step);
        sink_integer(x->out, "samples", list[i].samples);
        sink_number(x->out, "density", list[i].density);
        sink_number(x->out, "accuracy", list[i].accuracy);
        sink_integer(x->out, "bytes", list[i].bytes);
        sink_text(x->out, "sha256", hex);
        sink_boolean(x->out, "stage_end", list[i].stage_end);
        sink_end_object(x->out);
    }
    sink_end_list(x->out);
    sink_end_object(x->out);
    respond_json(x, 200);
}

struct stored {
    struct storage_checkpoint_reader *reader;
    uint64_t bytes;
};

static size_t read_bytes(void *context, uint64_t offset, void *to, size_t count)
{
    const struct stored *stored = context;
    uint64_t left = offset < stored->bytes ? stored->bytes - offset : 0;
    count = left < count ? (size_t)left : count;
    return count > 0 && !storage_checkpoint_read(stored->reader, offset, to, count, NULL) ? count : 0;
}

static void close_bytes(void *context)
{
    struct stored *stored = context;
    storage_checkpoint_close(stored->reader);
    free(stored);
}

void trainer_checkpoint(struct exchange *x)
{
    struct storage_checkpoint_pick pick;
    struct storage_checkpoint info;
    struct error err;
    const char *id;
    error_clear(&err);
    if (!whose(x, &id))
        return;
    if (!checkpoint_pick_text(exchange_param(x, "seq"), &pick)) {
        respond_problem(x, PROBLEM_NOT_FOUND, "A checkpoint is named by its sequence number or by latest.");
        return;
    }
    struct stored *stored = calloc(1, sizeof *stored);
    enum status status = stored != NULL
                             ? storage_checkpoint_open(x->api->options.storage, id, pick, &stored->reader, &info, &err)
                             : error_memory(&err, "a checkpoint");
    if (status) {
        free(stored);
        respond_error(x, &err);
        return;
    }
    stored->bytes = (uint64_t)info.bytes;
    x->response->status = 200;
    x->response->read = read_bytes;
    x->response->read_close = close_bytes;
    x->response->read_context = stored;
    x->response->read_bytes = stored->bytes;
    response_header(x->response, "Content-Type", "application/octet-stream");
    response_header(x->response, "Cache-Control", "no-store");
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static void respond_received(struct exchange *x, int64_t received, int64_t seq)
{
    sink_begin_object(x->out, NULL);
    sink_integer(x->out, "received", received);
    sink_integer(x->out, "seq", seq);
    sink_end_object(x->out);
    respond_json(x, 200);
}

static bool read_integer(const cJSON *root, const char *name, double max, int64_t *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
    if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > max ||
        item->valuedouble != floor(item->valuedouble))
        return false;
    *out = (int64_t)item->valuedouble;
    return true;
}

static double read_real(const cJSON *root, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static bool read_announcement(const cJSON *root, struct trainer_upload *out)
{
    const cJSON *hex = cJSON_GetObjectItemCaseSensitive(root, "sha256");
    size_t bytes;
    out->what.density = read_real(root, "density");
    out->what.accuracy = read_real(root, "accuracy");
    out->what.stage_end = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "stage_end"));
    return read_integer(root, "step", JSON_INTEGER, &out->what.step) &&
           read_integer(root, "samples", JSON_INTEGER, &out->what.samples) &&
           read_integer(root, "bytes", BYTES_MAX, &out->bytes) && out->bytes > 0 && cJSON_IsString(hex) &&
           strlen(hex->valuestring) == HASH_TEXT - 1 &&
           sodium_hex2bin(out->sha256, sizeof out->sha256, hex->valuestring, HASH_TEXT - 1, NULL, &bytes, NULL) == 0;
}

/* If the announced checkpoint is the newest stored one, an earlier response was lost: sets *seq to its sequence number.
 * Otherwise sets *seq to 0. */
static enum status stored_already(struct exchange *x, const char *job, const struct trainer_upload *announced,
                                  int64_t *seq, struct error *err)
{
    struct storage_checkpoint info;
    struct storage_checkpoint_pick latest = {.by = STORAGE_LATEST};
    enum status status = storage_checkpoint_find(x->api->options.storage, job, latest, &info, err);
    *seq = 0;
    if (!status && info.step == announced->what.step && info.stage_end == announced->what.stage_end &&
        memcmp(info.sha256, announced->sha256, sizeof info.sha256) == 0)
        *seq = info.seq;
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static enum status begin_upload(struct exchange *x, struct trainer_stripe *stripe, const struct storage_lease *lease,
                                const struct trainer_upload *announced, int64_t *received, struct error *err)
{
    struct trainer_upload *upload = trainer_upload_find(stripe, lease->job);
    if (upload != NULL && upload->epoch == lease->epoch && upload->what.step == announced->what.step &&
        memcmp(upload->sha256, announced->sha256, sizeof upload->sha256) == 0) {
        *received = upload->received;
        return STATUS_OK;
    }
    trainer_upload_drop(stripe, lease->job);
    upload = malloc(sizeof *upload);
    if (upload == NULL)
        return error_memory(err, "a checkpoint");
    *upload = *announced;
    memcpy(upload->job, lease->job, sizeof upload->job);
    upload->epoch = lease->epoch;
    hash_init(&upload->hash);
    enum status status =
        storage_checkpoint_begin(x->api->options.storage, lease->job, &upload->what, &upload->writer, err);
    if (status) {
        free(upload);
        return status;
    }
    upload->next = stripe->uploads;
    stripe->uploads = upload;
    *received = 0;
    return STATUS_OK;
}

void trainer_announce(struct exchange *x)
{
    struct trainer_upload announced = {.next = NULL};
    struct storage_lease lease;
    struct error err;
    int64_t seq = 0, received = 0;
    error_clear(&err);
    static const char *const members[] = {"step", "samples", "stage_end", "bytes", "sha256", "density", "accuracy"};
    cJSON *root = trainer_body(x, members, sizeof members / sizeof members[0]);
    if (root == NULL)
        return;
    bool whole = read_announcement(root, &announced);
    cJSON_Delete(root);
    if (!whole) {
        (void)error_set(&err, STATUS_INVALID, "", "an announcement must have step, samples, bytes and sha256");
        respond_error(x, &err);
        return;
    }
    struct trainer_stripe *stripe = trainer_enter(x, &lease);
    if (stripe == NULL)
        return;
    enum status status = stored_already(x, lease.job, &announced, &seq, &err);
    if (!status) /* storage_lease_message() fails if the lease has ended */
        status = storage_lease_message(x->api->options.storage, lease.job, lease.epoch, 0, &err);
    if (!status && seq == 0)
        status = begin_upload(x, stripe, &lease, &announced, &received, &err);
    (void)pthread_mutex_unlock(&stripe->lock);
    if (status)
        respond_error(x, &err);
    else
        respond_received(x, seq > 0 ? announced.bytes : received, seq);
}

/* All bytes have arrived: stores the checkpoint if they match the announcement. Frees the upload in any case. */
static enum status finish_upload(struct exchange *x, struct trainer_stripe *stripe, struct trainer_upload *upload,
                                 int64_t *seq, struct error *err)
{
    unsigned char sha256[HASH_BYTES];
    hash_finish(&upload->hash, sha256);
    if (memcmp(sha256, upload->sha256, sizeof sha256) != 0) {
        trainer_upload_drop(stripe, upload->job);
        return error_set(err, STATUS_INVALID, "", "the bytes that arrived do not have the announced SHA-256");
    }
    enum status status = storage_checkpoint_commit(upload->writer, seq, err);
    trainer_upload_forget(stripe, upload);
    const struct api_daemon *daemon = &x->api->options.daemon;
    if (!status && daemon->saved != NULL)
        daemon->saved(daemon->context);
    return status;
}

static enum status add_piece(struct exchange *x, struct trainer_stripe *stripe, struct trainer_upload *upload,
                             int64_t *received, int64_t *seq, struct error *err)
{
    size_t count = x->request->body_bytes;
    if ((int64_t)count > upload->bytes - upload->received)
        return error_set(err, STATUS_INVALID, "", "the piece exceeds the announced number of bytes");
    hash_add(&upload->hash, x->request->body, count);
    enum status status = storage_checkpoint_write(upload->writer, x->request->body, count, err);
    if (status) {
        trainer_upload_drop(stripe, upload->job);
        return status;
    }
    *received = upload->received += (int64_t)count;
    return upload->received == upload->bytes ? finish_upload(x, stripe, upload, seq, err) : STATUS_OK;
}

void trainer_piece(struct exchange *x)
{
    struct storage_lease lease;
    struct error err;
    int64_t received = 0, seq = 0, offset = exchange_query_integer(x, "offset", 0);
    error_clear(&err);
    struct trainer_stripe *stripe = trainer_enter(x, &lease);
    if (stripe == NULL)
        return;
    struct trainer_upload *upload = trainer_upload_find(stripe, lease.job);
    enum status status = STATUS_OK;
    if (upload == NULL || upload->epoch != lease.epoch || lease.state != LEASE_HELD)
        status = error_set(&err, STATUS_NOT_FOUND, NULL, "no checkpoint is announced: announce it again");
    else if (offset != upload->received) /* a repeated piece: the response reports where to continue */
        received = upload->received;
    else
        status = add_piece(x, stripe, upload, &received, &seq, &err);
    (void)pthread_mutex_unlock(&stripe->lock);
    if (status)
        respond_error(x, &err);
    else
        respond_received(x, received, seq);
}
