/* Answers a query for many rows (query_rows.h). The rows are computed in pieces, between which other queries compute
 * and the query can stop. */
#include "api/queries/query_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/formats/npy.h"
#include "storage/files/dataset.h"

enum {
    PIECE = 256,
    NPY_HEAD = 4096
}; /* PIECE: rows of a piece; NPY_HEAD: more than the bytes of the header of an .npy file */

/* The file that contains the answer. It exists until the response is closed. */
struct spool {
    int file;
    uint64_t bytes;
    struct ledger_account account;
};

struct rows_job {
    struct exchange *x;
    const struct query_request *a;
    const struct method_question *question;
    struct byte_source from;
    struct npy_header head;
    int width, answer_width;
    float *in, *out; /* [PIECE][width], [PIECE][answer_width] */
    struct spool *spool;
};

/* ---- the file ------------------------------------------------------------------------------------------------ */

static size_t spool_read(void *context, uint64_t offset, void *to, size_t count)
{
    const struct spool *spool = context;
    ssize_t got = offset < spool->bytes ? pread(spool->file, to, count, (off_t)offset) : 0;
    return got > 0 ? (size_t)got : 0;
}

static void spool_close(void *context)
{
    struct spool *spool = context;
    if (spool == NULL)
        return;
    dataset_part_close(&spool->file);
    ledger_close(&spool->account);
    free(spool);
}

static enum status spool_add(struct spool *spool, const void *bytes, size_t count, struct error *err)
{
    for (size_t done = 0; done < count;) {
        ssize_t now = write(spool->file, (const char *)bytes + done, count - done);
        if (now <= 0 && errno != EINTR)
            return error_set(err, STATUS_IO, NULL, "the answer cannot be written: the disk may be full");
        done += now > 0 ? (size_t)now : 0;
    }
    spool->bytes += count;
    return STATUS_OK;
}

/* Opens a file for at most `bytes` bytes, which are taken from the ledger until the response is closed. */
static enum status spool_open(const struct exchange *x, int64_t bytes, struct spool **out, struct error *err)
{
    const char *root = x->api->options.data;
    int64_t none;
    struct spool *spool = calloc(1, sizeof *spool);
    *out = spool;
    if (spool == NULL)
        return error_memory(err, "an answer");
    spool->file = -1;
    if (root == NULL)
        return error_set(err, STATUS_CONFLICT, NULL,
                         "this daemon has no folder of data sets (--data), which answers of many rows need; send a "
                         "batch of at most %d rows",
                         BATCH_MAX);
    ledger_open(&spool->account, x->api->ledger, x->work.account.owner);
    enum status status = ledger_take(&spool->account, LEDGER_ANSWERS, bytes, err);
    return status ? status : dataset_part_open(root, "", NULL, &spool->file, &none, err);
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static enum status read_header(struct rows_job *j, struct error *err)
{
    struct error cause = {0};
    const struct npy_header *head = &j->head;
    j->a->query->row_widths(j->question->model, &j->width, &j->answer_width);
    enum status status = npy_header_read(&j->from, &j->head, &cause);
    if (status)
        return error_set(err, STATUS_INVALID, "", "%s", cause.message);
    if (head->rank != 2 || head->element >= NPY_BYTES || head->dim[1] != j->width || head->dim[0] < 1)
        return error_set(err, STATUS_INVALID, "", "must be an array of numbers, [rows][%d]", j->width);
    if (head->fortran && head->dim[0] > 1 && head->dim[1] > 1)
        return error_set(err, STATUS_INVALID, "", "must be in row-major order (numpy.ascontiguousarray)");
    uint64_t bytes = (uint64_t)head->dim[0] * (uint64_t)j->answer_width * sizeof(float);
    if (head->dim[0] > QUERY_ROWS_MAX || bytes > QUERY_ROWS_BYTES)
        return error_set(err, STATUS_INVALID, "",
                         "has %lld rows, of which the answer would have %llu bytes; at most %d rows and %llu bytes are "
                         "allowed",
                         (long long)head->dim[0], (unsigned long long)bytes, QUERY_ROWS_MAX,
                         (unsigned long long)QUERY_ROWS_BYTES);
    return STATUS_OK;
}

static enum status answer_piece(struct rows_job *j, int64_t first, struct error *err)
{
    struct error cause = {0};
    int64_t left = j->head.dim[0] - first;
    int rows = (int)(left < PIECE ? left : PIECE);
    size_t numbers = (size_t)rows * (size_t)j->width;
    enum status status =
        npy_values_read(&j->from, &j->head, (size_t)first * (size_t)j->width, numbers, j->in, NULL, &cause);
    if (status)
        return error_set(err, STATUS_INVALID, "", "%s", cause.message);
    status = j->a->query->rows(j->question, j->in, rows, j->out, err);
    if (status)
        return status;
    return spool_add(j->spool, j->out, (size_t)rows * (size_t)j->answer_width * sizeof *j->out, err);
}

static enum status answer_rows(struct rows_job *j, struct error *err)
{
    struct buf head;
    int64_t dim[2] = {j->head.dim[0], j->answer_width};
    buf_init(&head, 4096);
    npy_header_write(&head, "<f4", 2, dim);
    enum status status = head.failed ? error_memory(err, "an answer") : spool_add(j->spool, head.data, head.size, err);
    buf_close(&head);
    for (int64_t at = 0; !status && at < j->head.dim[0]; at += PIECE) {
        if (at > 0 && work_yield(&j->x->work, NULL))
            return error_set(err, STATUS_CANCELLED, NULL, "the query was stopped");
        status = answer_piece(j, at, err);
    }
    return status;
}

/* Refuses a body that contains bytes after the array. */
static enum status check_end(struct rows_job *j, struct error *err)
{
    struct error cause = {0};
    return !byte_source_end(&j->from, "the .npy array", &cause)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "", "%s", cause.message);
}

static enum status run_job(struct rows_job *j, struct error *err)
{
    enum status status = read_header(j, err);
    if (status)
        return status;
    j->in = malloc((size_t)PIECE * (size_t)j->width * sizeof *j->in);
    j->out = malloc((size_t)PIECE * (size_t)j->answer_width * sizeof *j->out);
    if (j->in == NULL || j->out == NULL)
        return error_memory(err, "rows");
    status = spool_open(j->x, NPY_HEAD + j->head.dim[0] * j->answer_width * (int64_t)sizeof *j->out, &j->spool, err);
    if (status)
        return status;
    status = answer_rows(j, err);
    return status ? status : check_end(j, err);
}

void query_rows_answer(struct exchange *x, const struct query_request *a, const struct method_question *question)
{
    struct error err;
    struct byte_source_memory body = {x->request->body, x->request->body_bytes, 0};
    struct rows_job j = {.x = x, .a = a, .question = question};
    error_clear(&err);
    j.from = byte_source_of_memory(&body);
    enum status status = run_job(&j, &err);
    free(j.in);
    free(j.out);
    if (status) {
        spool_close(j.spool);
        if (err.code == STATUS_CANCELLED)
            queries_respond_stopped(a->run);
        else
            respond_error(x, &err);
        return;
    }
    x->response->read = spool_read;
    x->response->read_close = spool_close;
    x->response->read_context = j.spool;
    x->response->read_bytes = j.spool->bytes;
    response_header(x->response, "X-Checkpoint", "%lld", (long long)a->checkpoint.seq);
    respond_body(x, 200, "application/x-npy");
}
