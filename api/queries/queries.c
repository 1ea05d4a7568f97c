/* Answers the queries of trained models: every route /v1/jobs/{id}/NAME that comes from a method's table.
 *
 * query_request.c reads the request. This file opens the model of the checkpoint through a cache, calls the function of
 * the query and sends the answer as a document, a picture or an array. A query never affects a running job. The number
 * of queries that compute at the same time is limited, so that other requests always find a handler thread. */
#include "api/queries/queries.h"

#include <stdio.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/models/model_cache.h"
#include "api/queries/query_request.h"
#include "api/queries/query_rows.h"
#include "core/base/hash.h"
#include "core/data/dataset.h"
#include "core/draw/picture.h"
#include "core/draw/png.h"
#include "core/formats/npy.h"
#include "storage/storage.h"

static struct method_question question_of(const struct query_request *a, const struct method_model *model,
                                          const struct method_model *with, size_t input)
{
    return (struct method_question){.query = a->query,
                                    .model = model,
                                    .input = a->inputs != NULL ? &a->inputs->items[input] : NULL,
                                    .text = a->query->takes == METHOD_TAKES_FILE ? a->run->x->request->body : NULL,
                                    .text_bytes = a->run->x->request->body_bytes,
                                    .text_type = query_request_type(a->run->x),
                                    .with = with,
                                    .parameters = a->parameters,
                                    .item = a->item,
                                    .work = &a->run->x->work};
}

/* Sends an error of the method. For an error in the input with index `index`, puts "/inputs/INDEX" before the method's
 * JSON pointer. */
static void respond_method_error(struct exchange *x, const struct query_request *a, size_t index,
                                 const struct error *err)
{
    if (err->code == STATUS_CANCELLED) {
        queries_respond_stopped(a->run);
        return;
    }
    if (a->query->verb == METHOD_GET && err->code == STATUS_INVALID && err->pointer[0] == '/') {
        api_faults_add(a->faults, err->pointer + 1, "%s", err->message);
        respond_faults(x, PROBLEM_BAD_QUERY, "parameter", a->faults);
        return;
    }
    if (a->inputs == NULL) {
        respond_error(x, err);
        return;
    }
    struct error full;
    error_clear(&full);
    char pointer[192] = "";
    bool parameter = a->query->parameters != NULL && err->pointer[0] == '/' &&
                     config_find(a->query->parameters, err->pointer + 1) != NULL;
    if (parameter)
        (void)snprintf(pointer, sizeof pointer, "%s", err->pointer);
    else if (a->inputs->items[index].kind != METHOD_INPUT_ARRAY || query_request_is_json(x))
        (void)snprintf(pointer, sizeof pointer, "/inputs/%zu%s", index, err->pointer);
    (void)error_set(&full, err->code, pointer, "%s", err->message);
    respond_error(x, &full);
}

/* Writes the answer for each input. together: as in struct method_question. Returns false after it has sent an error.
 */
static bool write_answers(struct exchange *x, const struct query_request *a, const struct method_model *model,
                          void *together)
{
    struct error err;
    error_clear(&err);
    sink_begin_list(x->out, "answers");
    for (size_t i = 0; i < a->inputs->count; i++) {
        if (i > 0 && work_yield(&x->work, NULL)) {
            queries_respond_stopped(a->run);
            return false;
        }
        struct method_question question = question_of(a, model, NULL, i);
        question.together = together;
        question.index = i;
        sink_begin_object(x->out, NULL);
        if (a->query->answer(&question, x->out, &err)) {
            respond_method_error(x, a, i, &err);
            return false;
        }
        sink_begin_list(x->out, "warnings");
        if (a->method->warn != NULL)
            a->method->warn(model, &a->inputs->items[i], x->out);
        if (i == 0)
            inputs_warn(a->inputs, x->out);
        sink_end_list(x->out);
        sink_end_object(x->out);
    }
    sink_end_list(x->out);
    return true;
}

/* Writes the answers of a query whose inputs are read together. Returns false after it has sent an error. */
static bool write_together(struct exchange *x, const struct query_request *a, const struct method_model *model)
{
    const struct method_together *together = a->query->together;
    struct method_question question = question_of(a, model, NULL, 0);
    struct error err;
    void *state = NULL;
    size_t at = 0;
    error_clear(&err);
    enum status status = together->begin(&question, a->inputs->items, a->inputs->count, &state, &at, &err);
    if (status)
        respond_method_error(x, a, at, &err);
    bool written = !status && write_answers(x, a, model, state);
    if (written)
        together->write(&question, state, x->out);
    together->close(state);
    return written;
}

static void answer_document(struct exchange *x, const struct query_request *a, const struct method_model *model,
                            const struct method_model *with)
{
    struct error err;
    error_clear(&err);
    sink_begin_object(x->out, NULL);
    sink_text(x->out, "job", a->job.id);
    if (with != NULL) {
        sink_integer(x->out, "checkpoint", a->checkpoint.seq);
        sink_text(x->out, "with", a->with.id);
        sink_integer(x->out, "with_checkpoint", a->with_checkpoint.seq);
    } else {
        checkpoint_brief(x->out, &a->checkpoint);
    }
    if (a->absent != NULL && a->absent[0] != '\0')
        sink_text(x->out, "absent", a->absent);
    if (a->inputs != NULL) {
        if (!(a->query->together != NULL ? write_together(x, a, model) : write_answers(x, a, model, NULL)))
            return;
    } else {
        struct method_question question = question_of(a, model, with, 0);
        if (a->query->answer(&question, x->out, &err)) {
            respond_method_error(x, a, 0, &err);
            return;
        }
    }
    sink_end_object(x->out);
    respond_json(x, 200);
}

static void answer_picture(struct exchange *x, const struct query_request *a, const struct method_model *model,
                           const struct method_model *with)
{
    struct error err;
    error_clear(&err);
    struct picture *picture = NULL;
    struct method_question question = question_of(a, model, with, 0);
    if (a->query->draw(&question, &picture, &err)) {
        respond_method_error(x, a, 0, &err);
    } else if (png_encode(picture, &x->response->body, &err)) {
        respond_error(x, &err);
    } else {
        response_header(x->response, "X-Checkpoint", "%lld", (long long)a->checkpoint.seq);
        respond_body(x, 200, "image/png");
    }
    picture_destroy(picture);
}

/* Computes one array for each input into `values`, and responds. */
static void answer_values(struct exchange *x, const struct query_request *a, const struct method_model *model,
                          const struct method_model *with, struct buf *values)
{
    struct error err;
    int rank = 0;
    int64_t dim[4];
    error_clear(&err);
    size_t count = a->inputs != NULL ? a->inputs->count : 1;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && work_yield(&x->work, NULL)) {
            queries_respond_stopped(a->run);
            return;
        }
        struct method_question question = question_of(a, model, with, i);
        if (a->query->array(&question, values, &rank, dim, &err)) {
            respond_method_error(x, a, i, &err);
            return;
        }
    }
    if (values->failed && !values->full) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
    } else if (values->failed) {
        respond_problem(x, PROBLEM_TOO_LARGE, "The answer would be larger than %u MiB; send fewer inputs.",
                        API_DOCUMENT_MAX >> 21);
    } else {
        int64_t shape[NPY_RANK + 1] = {(int64_t)count};
        memcpy(shape + 1, dim, (size_t)rank * sizeof *dim);
        npy_header_write(&x->response->body, "<f4", rank + 1, shape);
        buf_append(&x->response->body, values->data, values->size);
        response_header(x->response, "X-Checkpoint", "%lld", (long long)a->checkpoint.seq);
        respond_body(x, 200, "application/x-npy");
    }
}

static void answer_array(struct exchange *x, const struct query_request *a, const struct method_model *model,
                         const struct method_model *with)
{
    struct buf values;
    buf_init(&values, API_DOCUMENT_MAX / 2);
    answer_values(x, a, model, with, &values);
    buf_close(&values);
}

static void answer_text(struct exchange *x, const struct query_request *a, const struct method_model *model)
{
    struct error err;
    error_clear(&err);
    struct method_question question = question_of(a, model, NULL, 0);
    if (a->text->write(&question, &x->response->body, &err)) {
        buf_clear(&x->response->body);
        respond_method_error(x, a, 0, &err);
        return;
    }
    response_header(x->response, "X-Checkpoint", "%lld", (long long)a->checkpoint.seq);
    respond_body(x, 200, a->text->type);
}

/* Adds the hash of a data set. The method reports a data set that does not exist. */
static void add_dataset(const struct exchange *x, const char *set, struct hash *hash)
{
    char folder[DATASET_PATH], digest[DATASET_HASH_KEPT + 1];
    struct error err;
    error_clear(&err);
    if (set != NULL && set[0] != '\0' && !dataset_folder(x->api->options.data, set, folder, &err) &&
        !dataset_hash(folder, digest, &err))
        hash_add(hash, digest, strlen(digest) + 1);
}

/* Adds the hashes that the data sets of a job have now, so that a client's copy of an answer is not confirmed after its
 * data set was deleted or replaced. */
static void add_job_datasets(const struct exchange *x, const struct query_request *a, const struct storage_job *job,
                             struct hash *hash)
{
    cJSON *config = NULL;
    struct error err;
    error_clear(&err);
    const char *const *field = job->config != NULL ? a->method->dataset_fields : NULL;
    if (field == NULL || json_parse(job->config, strlen(job->config), &config, &err))
        return; /* open_model() reports a configuration that cannot be read */
    for (; *field != NULL; field++)
        add_dataset(x, cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(config, *field)), hash);
    cJSON_Delete(config);
}

/* Adds the hashes of the data sets that the parameters and the jobs name. */
static void add_datasets(const struct exchange *x, const struct query_request *a, struct hash *hash)
{
    for (const char *const *name = a->query->dataset_parameters; name != NULL && *name != NULL; name++)
        add_dataset(x, config_text(config_find(a->query->parameters, *name), a->parameters), hash);
    add_job_datasets(x, a, &a->job, hash);
    add_job_datasets(x, a, &a->with, hash);
}

/* Makes a strong ETag from the weights and the request. The same weights and request give the same bytes, so the tag is
 * available before the query is computed. */
static void tag_of(struct exchange *x, const struct query_request *a, char etag[40])
{
    unsigned char digest[HASH_BYTES], form = (unsigned char)a->form;
    char hex[HASH_TEXT];
    struct hash hash;
    const char *query = x->match.query != NULL ? x->match.query : "";
    const char *type = query_request_type(x);
    hash_init(&hash);
    hash_add(&hash, a->checkpoint.sha256, sizeof a->checkpoint.sha256);
    hash_add(&hash, a->with_checkpoint.sha256, sizeof a->with_checkpoint.sha256);
    hash_add(&hash, a->job.id, strlen(a->job.id) + 1);
    hash_add(&hash, a->query->name, strlen(a->query->name) + 1);
    hash_add(&hash, &a->item, sizeof a->item);
    hash_add(&hash, query, strlen(query) + 1);
    if (a->query->verb == METHOD_POST) {
        hash_add(&hash, type != NULL ? type : "", type != NULL ? strlen(type) + 1 : 1);
        exchange_hash_body(x, &hash);
    }
    hash_add(&hash, &form, 1);
    if (a->text != NULL)
        hash_add(&hash, a->text->type, strlen(a->text->type));
    add_datasets(x, a, &hash);
    hash_finish(&hash, digest);
    hash_hex(digest, hex);
    (void)snprintf(etag, 40, "\"%.32s\"", hex);
}

static void queries_answer(struct exchange *x, const struct query_request *a, const struct method_model *model,
                           const struct method_model *with)
{
    if (a->rows) {
        struct method_question question = question_of(a, model, with, 0);
        question.input = NULL;
        query_rows_answer(x, a, &question);
    } else if (a->form == FORM_PICTURE)
        answer_picture(x, a, model, with);
    else if (a->form == FORM_ARRAY)
        answer_array(x, a, model, with);
    else if (a->form == FORM_TEXT)
        answer_text(x, a, model);
    else
        answer_document(x, a, model, with);
}

/* Opens the model of a checkpoint. A running job deletes its latest checkpoint when it has stored the next one, so the
 * checkpoint that was found may be gone. If the client picked the latest or the best checkpoint, the function then
 * finds it again. */
static enum status open_model(struct exchange *x, const struct query_request *a, const struct storage_job *job,
                              struct storage_checkpoint_pick pick, struct storage_checkpoint *checkpoint,
                              struct model_lease *lease, struct error *err)
{
    enum { TRIES = 4 };
    bool moves = pick.by == STORAGE_LATEST || pick.by == STORAGE_BEST;
    enum status status = STATUS_NOT_FOUND;
    for (int i = 0; i < TRIES && status == STATUS_NOT_FOUND; i++) {
        struct storage_checkpoint newer;
        error_clear(err);
        status = model_cache_get(x->api->models, a->method, job, checkpoint->seq, lease, err);
        if (status != STATUS_NOT_FOUND || !moves)
            return status;
        struct error other;
        error_clear(&other);
        if (storage_checkpoint_find(x->api->options.storage, job->id, pick, &newer, &other) ||
            newer.seq == checkpoint->seq)
            return status;
        *checkpoint = newer;
    }
    return status;
}

/* A query of a text of more bytes than this counts as a batch. A compressed text may unpack to many more. */
enum { LONG_TEXT = 1 << 16 };

static void queries_compute(struct exchange *x, struct query_request *a)
{
    struct error err;
    struct model_lease lease, with = {.model = NULL};
    char etag[40];
    error_clear(&err);
    tag_of(x, a, etag);
    if (work_check(&x->work, &err)) {
        respond_error(x, &err);
        return;
    }
    bool batch = a->rows || (a->inputs != NULL && a->inputs->count > 1) ||
                 (a->query->takes == METHOD_TAKES_FILE && x->request->body_bytes > LONG_TEXT);
    if ((a->query->verb == METHOD_GET && respond_not_modified(x, etag)) || !queries_enter(x, batch, a->run))
        return;
    a->run->parameters = a->query->parameters;
    const struct storage_checkpoint_pick latest = {.by = STORAGE_LATEST};
    if (open_model(x, a, &a->job, a->pick, &a->checkpoint, &lease, &err)) {
        respond_error(x, &err);
        queries_leave(a->run);
        return;
    }
    bool pair = a->query->takes == METHOD_TAKES_MODEL;
    if (pair && open_model(x, a, &a->with, latest, &a->with_checkpoint, &with, &err)) {
        respond_error(x, &err);
    } else {
        queries_answer(x, a, lease.model, with.model);
        if (a->query->verb == METHOD_POST && x->response->status == 200)
            response_header(x->response, "ETag", "%s", etag);
        if (pair)
            model_cache_release(x->api->models, &with);
    }
    model_cache_release(x->api->models, &lease);
    queries_leave(a->run);
}

void query_answer(struct exchange *x)
{
    struct query_run run;
    struct query_request a = {.run = &run};
    if (query_request_read(x, &a))
        queries_compute(x, &a);
    query_request_close(&a);
}
