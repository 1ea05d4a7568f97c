/* Asking a trained model: motifs and predict. A query reads an immutable model through the cache and never touches a
 * run; how many compute at the same time is bounded, so that reads of other kinds always find a thread. */
#include "api/queries/queries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/checkpoint_pick.h"
#include "api/jobs/job_document.h"
#include "api/json/faults.h"
#include "api/models/model_cache.h"
#include "api/queries/inputs.h"
#include "core/base/hash.h"
#include "core/draw/picture.h"
#include "core/draw/png.h"
#include "storage/storage.h"

struct asking {
    struct storage_job job;
    const struct method *method;
    const struct method_query *query;
    struct storage_checkpoint_pick pick;
    struct storage_checkpoint checkpoint;
    struct inputs *inputs;
    enum form { FORM_DOCUMENT, FORM_PICTURE, FORM_ARRAY } form;
};

/* False after a problem has been answered. */
static bool read_inputs(struct exchange *x, struct asking *a)
{
    struct error err;
    error_clear(&err);
    const char *type = exchange_header(x, "Content-Type"), *checkpoint = exchange_query(x, "checkpoint");
    a->pick = (struct storage_checkpoint_pick){.by = STORAGE_LATEST};
    if (checkpoint != NULL && !checkpoint_pick_text(checkpoint, &a->pick)) {
        respond_problem(x, PROBLEM_BAD_QUERY, "checkpoint: " CHECKPOINT_PICK_RULE ".");
        return false;
    }
    if (type != NULL && !media_is(type, "application/json")) {
        enum status status = input_from_bytes(type, x->request->body, x->request->body_bytes, "", a->inputs, &err);
        if (status == STATUS_OK && exchange_query_flag(x, "batch")) {
            status = inputs_split(a->inputs, &err);
        }
        if (status != STATUS_OK) {
            respond_error(x, &err);
        }
        return status == STATUS_OK;
    }
    cJSON *body = exchange_object(x);
    if (body == NULL) {
        return false;
    }
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    enum status status = faults != NULL ? inputs_from_json(body, a->inputs, &a->pick, faults, &err)
                                        : error_set(&err, STATUS_NO_MEMORY, NULL, "no memory for faults");
    cJSON_Delete(body);
    if (faults != NULL && faults->count > 0) {
        respond_faults(x, PROBLEM_INVALID, "pointer", faults);
    } else if (status != STATUS_OK) {
        respond_error(x, &err);
    }
    return status == STATUS_OK;
}

static bool find_checkpoint(struct exchange *x, struct asking *a)
{
    struct error err;
    error_clear(&err);
    enum status status = storage_checkpoint_find(x->api->options.storage, a->job.id, a->pick, &a->checkpoint, &err);
    if (status == STATUS_NOT_FOUND && (a->pick.by == STORAGE_LATEST || a->pick.by == STORAGE_BEST)) {
        respond_problem(x, PROBLEM_CONFLICT, "Job %s has no checkpoint yet.", a->job.id);
    } else if (status == STATUS_NOT_FOUND && exchange_query(x, "checkpoint") != NULL) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Job %s has no such checkpoint.", a->job.id);
    } else if (status == STATUS_NOT_FOUND) {
        struct error fault;
        error_clear(&fault);
        (void)error_set(&fault, STATUS_INVALID, "/checkpoint", "job %s has no such checkpoint", a->job.id);
        respond_error(x, &fault);
    } else if (status != STATUS_OK) {
        respond_error(x, &err);
    }
    return status == STATUS_OK;
}

/* A fault of one input: its place in the body is put in front of what the method said. */
static void respond_input_error(struct exchange *x, const struct asking *a, size_t index, const struct error *err)
{
    struct error full;
    error_clear(&full);
    char pointer[192];
    if (a->inputs->items[index].kind == METHOD_INPUT_ARRAY &&
        !media_is(exchange_header(x, "Content-Type"), "application/json")) {
        (void)snprintf(pointer, sizeof pointer, "%s", "");
    } else {
        (void)snprintf(pointer, sizeof pointer, "/inputs/%zu%s", index, err->pointer);
    }
    (void)error_set(&full, err->code, pointer, "%s", err->message);
    respond_error(x, &full);
}

static void answer_document(struct exchange *x, const struct asking *a, const struct method_model *model)
{
    struct error err;
    error_clear(&err);
    const struct sink *out = x->out;
    sink_begin_object(out, NULL);
    sink_text(out, "job", a->job.id);
    checkpoint_brief(out, &a->checkpoint);
    sink_begin_list(out, "answers");
    for (size_t i = 0; i < a->inputs->count; i++) {
        sink_begin_object(out, NULL);
        if (a->method->query(model, a->query->name, &a->inputs->items[i], out, &err) != STATUS_OK) {
            respond_input_error(x, a, i, &err);
            return;
        }
        sink_end_object(out);
    }
    sink_end_list(out);
    sink_end_object(out);
    respond_json(x, 200);
}

void respond_picture(struct exchange *x, const struct picture *picture, const struct storage_checkpoint *checkpoint)
{
    struct error err;
    error_clear(&err);
    if (png_encode(picture, &x->response->body, &err) != STATUS_OK) {
        respond_error(x, &err);
        return;
    }
    response_header(x->response, "X-Checkpoint", "%lld", (long long)checkpoint->seq);
    respond_body(x, 200, "image/png");
}

static void answer_picture(struct exchange *x, const struct asking *a, const struct method_model *model)
{
    struct error err;
    error_clear(&err);
    struct picture *picture = NULL;
    if (a->method->draw(model, a->query->name, &a->inputs->items[0], &picture, &err) != STATUS_OK) {
        respond_input_error(x, a, 0, &err);
    } else {
        respond_picture(x, picture, &a->checkpoint);
    }
    picture_destroy(picture);
}

/* The file format of NumPy: a head of a multiple of 64 bytes, then float32, [inputs] and the shape of one. */
static void write_npy_head(struct buf *out, size_t inputs, int rank, const int64_t *dim)
{
    char text[192];
    int length = snprintf(text, sizeof text, "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu,", inputs);
    for (int d = 0; d < rank; d++) {
        length += snprintf(text + length, sizeof text - (size_t)length, " %lld,", (long long)dim[d]);
    }
    length += snprintf(text + length, sizeof text - (size_t)length, "), }");
    size_t padded = ((size_t)length + 11 + 63) / 64 * 64 - 10;
    unsigned char head[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)padded, (unsigned char)(padded >> 8)};
    buf_append(out, head, sizeof head);
    buf_format(out, "%-*s\n", (int)padded - 1, text);
}

static void answer_array(struct exchange *x, const struct asking *a, const struct method_model *model)
{
    struct error err;
    struct buf values;
    int rank = 0;
    int64_t dim[4];
    error_clear(&err);
    buf_init(&values, API_DOCUMENT_MAX / 2);
    for (size_t i = 0; i < a->inputs->count; i++) {
        if (a->method->array(model, a->query->name, &a->inputs->items[i], &values, &rank, dim, &err) != STATUS_OK) {
            respond_input_error(x, a, i, &err);
            buf_close(&values);
            return;
        }
    }
    if (values.failed && !values.full) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
    } else if (values.failed) {
        respond_problem(x, PROBLEM_TOO_LARGE, "The answer would be larger than %u MiB; ask for fewer inputs.",
                        API_DOCUMENT_MAX >> 21);
    } else {
        write_npy_head(&x->response->body, a->inputs->count, rank, dim);
        buf_append(&x->response->body, values.data, values.size);
        response_header(x->response, "X-Checkpoint", "%lld", (long long)a->checkpoint.seq);
        respond_body(x, 200, "application/x-npy");
    }
    buf_close(&values);
}

/* A strong tag: the same weights, asked the same, answer with the same bytes. */
static void tag_answer(struct exchange *x, const struct asking *a)
{
    unsigned char digest[HASH_BYTES], form = (unsigned char)a->form;
    char hex[HASH_TEXT];
    struct hash hash;
    const char *query = x->match.query != NULL ? x->match.query : "";
    const char *type = exchange_header(x, "Content-Type");
    hash_init(&hash);
    hash_add(&hash, a->checkpoint.sha256, sizeof a->checkpoint.sha256);
    hash_add(&hash, a->job.id, strlen(a->job.id));
    hash_add(&hash, a->query->name, strlen(a->query->name) + 1);
    hash_add(&hash, query, strlen(query) + 1);
    hash_add(&hash, type != NULL ? type : "", type != NULL ? strlen(type) + 1 : 1);
    hash_add(&hash, &form, 1);
    hash_add(&hash, x->request->body != NULL ? x->request->body : "", x->request->body_bytes);
    hash_finish(&hash, digest);
    hash_hex(digest, hex);
    response_header(x->response, "ETag", "\"%.32s\"", hex);
}

bool queries_enter(struct exchange *x)
{
    if (atomic_fetch_add(&x->api->queries, 1) < x->api->options.queries_at_once) {
        return true;
    }
    queries_leave(x);
    respond_problem(x, PROBLEM_TOO_MANY, "%d queries compute already; try again.", x->api->options.queries_at_once);
    return false;
}

void queries_leave(struct exchange *x)
{
    (void)atomic_fetch_sub(&x->api->queries, 1);
}

static void compute(struct exchange *x, const struct asking *a)
{
    struct error err;
    error_clear(&err);
    struct model_lease lease;
    if (!queries_enter(x)) {
        return;
    }
    if (model_cache_get(x->api->models, a->method, &a->job, a->checkpoint.seq, &lease, &err) != STATUS_OK) {
        respond_error(x, &err);
    } else {
        if (a->form == FORM_PICTURE) {
            answer_picture(x, a, lease.model);
        } else if (a->form == FORM_ARRAY) {
            answer_array(x, a, lease.model);
        } else {
            answer_document(x, a, lease.model);
        }
        if (x->response->status == 200) {
            tag_answer(x, a);
        }
        model_cache_release(x->api->models, &lease);
    }
    queries_leave(x);
}

/* Which of the representations that the query has the client wants; false after a 406. */
static bool choose_form(struct exchange *x, struct asking *a)
{
    static const char *const offers[] = {"application/json", "image/png", "application/x-npy"};
    bool draws = a->query->draws && a->method->draw != NULL, counts = draws && a->method->array != NULL;
    int pick = media_pick(exchange_header(x, "Accept"), offers, counts ? 3 : draws ? 2 : 1);
    if (pick < 0) {
        respond_problem(x, PROBLEM_NOT_ACCEPTABLE, "Given are: application/json%s%s.", draws ? ", image/png" : "",
                        counts ? ", application/x-npy" : "");
        return false;
    }
    a->form = (enum form)pick;
    response_header(x->response, "Vary", "Accept");
    return true;
}

/* GET: one sample by ?seed=N; false after a problem has been answered. */
static bool read_sample_query(struct exchange *x, struct asking *a)
{
    const char *checkpoint = exchange_query(x, "checkpoint");
    a->pick = (struct storage_checkpoint_pick){.by = STORAGE_LATEST};
    if (checkpoint != NULL && !checkpoint_pick_text(checkpoint, &a->pick)) {
        respond_problem(x, PROBLEM_BAD_QUERY, "checkpoint: " CHECKPOINT_PICK_RULE ".");
        return false;
    }
    a->inputs->items[0] =
        (struct method_input){.kind = METHOD_INPUT_SAMPLE, .seed = exchange_query_integer(x, "seed", 0)};
    a->inputs->count = 1;
    return true;
}

static void ask(struct exchange *x, const char *name)
{
    struct asking a = {.method = NULL};
    if (!exchange_job(x, &a.job)) {
        return;
    }
    a.method = api_method(x->api, a.job.kind);
    for (size_t i = 0; a.method != NULL && i < a.method->query_count; i++) {
        if (strcmp(a.method->queries[i].name, name) == 0) {
            a.query = &a.method->queries[i];
        }
    }
    if (a.method == NULL || a.query == NULL || a.method->query == NULL || a.method->open == NULL) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Jobs of kind %s do not answer '%s'.", a.job.kind, name);
        return;
    }
    if (!choose_form(x, &a)) {
        return;
    }
    a.inputs = calloc(1, sizeof *a.inputs);
    if (a.inputs == NULL) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        return;
    }
    a.inputs->edited = strcmp(name, "interventions") == 0;
    bool get = strcmp(x->request->method, "POST") != 0;
    if (get ? read_sample_query(x, &a) : read_inputs(x, &a)) {
        if (a.form == FORM_PICTURE && a.inputs->count != 1) {
            struct error err;
            error_clear(&err);
            (void)error_set(&err, STATUS_INVALID, "/inputs", "must be one input for a picture; got %zu",
                            a.inputs->count);
            respond_error(x, &err);
        } else if (find_checkpoint(x, &a)) {
            compute(x, &a);
        }
    }
    inputs_close(a.inputs);
    free(a.inputs);
}

void query_motifs(struct exchange *x)
{
    ask(x, "motifs");
}

void query_predict(struct exchange *x)
{
    ask(x, "predict");
}

void query_interventions(struct exchange *x)
{
    ask(x, "interventions");
}

void query_pathways(struct exchange *x)
{
    ask(x, "pathways");
}
