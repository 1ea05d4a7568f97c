/* Answers the queries of trained models: every route /v1/jobs/{id}/NAME that comes from a method's table.
 *
 * The handler finds the query in the table of the job's method, checks the request against that row (representation,
 * parameters, inputs), opens the model of the checkpoint through a cache and calls the row's function. It never touches
 * a run. The number of queries that compute at the same time is bounded, so that other requests always find a thread.
 */
#include "api/queries/queries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/checkpoint_pick.h"
#include "api/jobs/job_document.h"
#include "api/json/config_json.h"
#include "api/json/faults.h"
#include "api/models/model_cache.h"
#include "api/queries/inputs.h"
#include "api/queries/query_routes.h"
#include "core/base/hash.h"
#include "core/draw/picture.h"
#include "core/draw/png.h"
#include "storage/storage.h"

enum form { FORM_DOCUMENT, FORM_PICTURE, FORM_ARRAY };

/* A request for one query while it is read and answered. */
struct query_request {
    struct storage_job job, with;
    const struct method *method;
    const struct method_query *query;
    struct storage_checkpoint_pick pick;
    struct storage_checkpoint checkpoint, with_checkpoint;
    struct inputs *inputs; /* inputs of a query that takes samples or inputs; else NULL */
    void *parameters;      /* a struct of query->parameters, or NULL */
    struct api_faults *faults;
    int64_t item;
    enum form form;
    struct query_run *run; /* while it computes */
};

static bool takes_files(const struct method_query *query)
{
    return query->takes == METHOD_TAKES_INPUTS || query->takes == METHOD_TAKES_EDITS;
}

static bool json_body(const struct exchange *x)
{
    const char *type = exchange_header(x, "Content-Type");
    return type == NULL || media_is(type, "application/json");
}

/* ---- reading the request: each function returns false after it has sent an error ---- */

static bool no_memory(struct exchange *x)
{
    respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
    return false;
}

/* Finds the query in the table of the job's own method. Another method with the same query may have made the route. */
static bool find_query(struct exchange *x, struct query_request *a)
{
    const struct query_origin *origin = query_routes_origin(x->api->query_routes, x->match.route);
    a->method = api_method(x->api, a->job.kind);
    const struct method_query *wanted = origin->query, *other = NULL;
    for (size_t i = 0; a->method != NULL && i < a->method->query_count; i++) {
        const struct method_query *query = &a->method->queries[i];
        if (query_same_route(query, wanted)) {
            a->query = query;
        } else if (strcmp(query->name, wanted->name) == 0 && (query->item != NULL) == (wanted->item != NULL)) {
            other = query;
        }
    }
    if (a->query != NULL && a->method->open != NULL) {
        return true;
    }
    if (a->query == NULL && other != NULL && a->method->open != NULL) {
        const char *allow = other->verb == METHOD_GET ? "GET, HEAD" : "POST";
        respond_problem(x, PROBLEM_METHOD, "Jobs of kind %s answer '%s', but not to this method. Allowed: %s.",
                        a->job.kind, wanted->name, allow);
        response_header(x->response, "Allow", "%s", allow);
        return false;
    }
    respond_problem(x, PROBLEM_NOT_FOUND, "Jobs of kind %s do not answer '%s'.", a->job.kind, wanted->name);
    return false;
}

/* Chooses the representation of the answer from the Accept header and the representations that the query supports. */
static bool choose_form(struct exchange *x, struct query_request *a)
{
    const char *offers[3];
    enum form forms[3];
    int count = 0;
    char offered[80] = "";
    if (a->query->answer != NULL) {
        forms[count] = FORM_DOCUMENT;
        offers[count++] = "application/json";
    }
    if (a->query->draw != NULL) {
        forms[count] = FORM_PICTURE;
        offers[count++] = "image/png";
    }
    if (a->query->array != NULL) {
        forms[count] = FORM_ARRAY;
        offers[count++] = "application/x-npy";
    }
    int pick = media_pick(exchange_header(x, "Accept"), offers, count);
    if (pick < 0) {
        for (int i = 0; i < count; i++) {
            size_t used = strlen(offered);
            (void)snprintf(offered + used, sizeof offered - used, "%s%s", used > 0 ? ", " : "", offers[i]);
        }
        respond_problem(x, PROBLEM_NOT_ACCEPTABLE, "This query answers with %s.", offered);
        return false;
    }
    a->form = forms[pick];
    if (count > 1) {
        response_header(x->response, "Vary", "Accept");
    }
    return true;
}

/* Allocates memory for the request, with the parameters at their defaults. */
static bool prepare(struct exchange *x, struct query_request *a)
{
    struct error err;
    error_clear(&err);
    a->faults = arena_zalloc(&x->arena, 1, sizeof *a->faults);
    if (a->faults == NULL) {
        return no_memory(x);
    }
    if (a->query->takes == METHOD_TAKES_SAMPLE || takes_files(a->query)) {
        a->inputs = calloc(1, sizeof *a->inputs);
        if (a->inputs == NULL) {
            return no_memory(x);
        }
        a->inputs->edited = a->query->takes == METHOD_TAKES_EDITS;
    }
    if (a->query->parameters != NULL) {
        a->parameters = arena_zalloc(&x->arena, 1, a->query->parameters->struct_bytes);
        if (a->parameters == NULL) {
            return no_memory(x);
        }
        if (config_defaults(a->query->parameters, a->parameters, &err) != STATUS_OK) {
            respond_error(x, &err);
            return false;
        }
    }
    return true;
}

/* Reads ?checkpoint= and, for GET, the parameters of the query. The route admits the parameters of every method that
 * shares it, so they are checked again here. */
static bool read_query_string(struct exchange *x, struct query_request *a)
{
    const char *checkpoint = exchange_query(x, "checkpoint");
    if (checkpoint != NULL && !checkpoint_pick_text(checkpoint, &a->pick)) {
        respond_problem(x, PROBLEM_BAD_QUERY, "checkpoint: " CHECKPOINT_PICK_RULE ".");
        return false;
    }
    bool sample = a->query->takes == METHOD_TAKES_SAMPLE;
    for (size_t i = 0; i < x->query.count && a->query->verb == METHOD_GET; i++) {
        const struct query_pair *pair = &x->query.pairs[i];
        const struct config_field *field =
            a->query->parameters != NULL ? config_find(a->query->parameters, pair->name) : NULL;
        struct error err;
        error_clear(&err);
        if (field != NULL && config_parse(field, a->parameters, pair->value, &err) != STATUS_OK) {
            api_faults_add(a->faults, pair->name, "%s", err.message);
        } else if (field == NULL && strcmp(pair->name, "checkpoint") != 0 &&
                   !(sample && strcmp(pair->name, "seed") == 0)) {
            api_faults_add(a->faults, pair->name, "is not a parameter of this query");
        }
    }
    if (a->faults->count > 0) {
        respond_faults(x, PROBLEM_BAD_QUERY, "parameter", a->faults);
        return false;
    }
    if (sample) {
        a->inputs->items[0] =
            (struct method_input){.kind = METHOD_INPUT_SAMPLE, .seed = exchange_query_integer(x, "seed", 0)};
        a->inputs->count = 1;
    }
    return true;
}

/* Reads a body that is a file: one input or, with ?batch=1, one input for each position of the array's first axis. */
static bool read_file(struct exchange *x, struct query_request *a)
{
    struct error err;
    error_clear(&err);
    enum status status = input_from_bytes(exchange_header(x, "Content-Type"), x->request->body, x->request->body_bytes,
                                          "", a->inputs, &err);
    if (status == STATUS_OK && exchange_query_flag(x, "batch")) {
        status = inputs_split(a->inputs, &err);
    }
    if (status != STATUS_OK) {
        respond_error(x, &err);
    }
    return status == STATUS_OK;
}

/* Moves the members that are parameters out of `body` and sets them. */
static enum status read_parameters(const struct query_request *a, cJSON *body, struct error *err)
{
    const struct config_table *table = a->query->parameters;
    const struct method reading = {.kind = a->query->name, .config = table != NULL ? *table : (struct config_table){0}};
    for (size_t i = 0; table != NULL && i < table->count; i++) {
        cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(body, table->fields[i].name);
        cJSON *one = item != NULL ? cJSON_CreateObject() : NULL;
        if (one != NULL && cJSON_AddItemToObject(one, table->fields[i].name, item)) {
            config_read_object(&reading, one, "", a->parameters, a->faults);
        } else if (item != NULL) {
            cJSON_Delete(item);
            cJSON_Delete(one);
            return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for parameters");
        }
        cJSON_Delete(one);
    }
    return STATUS_OK;
}

/* Reads the members that are not parameters, for a query without inputs: "with" or "checkpoint". */
static enum status read_members(struct exchange *x, struct query_request *a, const cJSON *body, struct error *err)
{
    bool model = a->query->takes == METHOD_TAKES_MODEL;
    const cJSON *with = NULL;
    JSON_EACH (item, body) {
        if (model && strcmp(item->string, "with") == 0) {
            with = item;
        } else if (!model && strcmp(item->string, "checkpoint") == 0) {
            if (!checkpoint_pick_json(item, &a->pick)) {
                api_faults_add(a->faults, "/checkpoint", CHECKPOINT_PICK_RULE);
            }
        } else {
            char pointer[128];
            fault_pointer(pointer, "", item->string);
            api_faults_add(a->faults, pointer, "is not a member of the query %s", a->query->name);
        }
    }
    if (!model) {
        return STATUS_OK;
    }
    if (!cJSON_IsString(with)) {
        api_faults_add(a->faults, "/with", "must be the id of the other job");
        return STATUS_OK;
    }
    struct error why;
    error_clear(&why);
    enum status status = storage_job_get(x->api->options.storage, with->valuestring, &x->arena, &a->with, &why);
    if (status == STATUS_NOT_FOUND) {
        api_faults_add(a->faults, "/with", "no job has this id");
    } else if (status != STATUS_OK) {
        return error_set(err, status, NULL, "%s", why.message);
    } else if (strcmp(a->with.kind, a->job.kind) != 0) {
        api_faults_add(a->faults, "/with", "is of kind %s; must be %s", a->with.kind, a->job.kind);
    }
    return STATUS_OK;
}

static bool read_document(struct exchange *x, struct query_request *a)
{
    /* a missing body is allowed if the route says that the body is optional */
    bool empty = x->request->body_bytes == 0;
    cJSON *body = empty ? cJSON_CreateObject() : exchange_object(x);
    if (body == NULL) {
        return empty ? no_memory(x) : false;
    }
    struct error err;
    error_clear(&err);
    enum status status = read_parameters(a, body, &err);
    if (status == STATUS_OK) {
        status = takes_files(a->query) ? inputs_from_json(body, a->inputs, &a->pick, a->faults, &err)
                                       : read_members(x, a, body, &err);
    }
    cJSON_Delete(body);
    if (a->faults->count > 0 && (status == STATUS_OK || status == STATUS_INVALID)) {
        respond_faults(x, PROBLEM_INVALID, "pointer", a->faults);
        return false;
    }
    if (status != STATUS_OK) {
        respond_error(x, &err);
    }
    return status == STATUS_OK;
}

static bool read_request(struct exchange *x, struct query_request *a)
{
    if (!read_query_string(x, a)) {
        return false;
    }
    if (a->query->verb == METHOD_POST && !(json_body(x) ? read_document(x, a) : read_file(x, a))) {
        return false;
    }
    if (a->form == FORM_PICTURE && takes_files(a->query) && a->inputs->count != 1) {
        struct error err;
        error_clear(&err);
        (void)error_set(&err, STATUS_INVALID, "/inputs",
                        "must contain exactly one input when Accept requests a picture; got %zu", a->inputs->count);
        respond_error(x, &err);
        return false;
    }
    return true;
}

static bool find_checkpoint(struct exchange *x, const struct query_request *a, const struct storage_job *job,
                            struct storage_checkpoint_pick pick, struct storage_checkpoint *out)
{
    struct error err;
    error_clear(&err);
    enum status status = storage_checkpoint_find(x->api->options.storage, job->id, pick, out, &err);
    if (status == STATUS_NOT_FOUND && (pick.by == STORAGE_LATEST || pick.by == STORAGE_BEST)) {
        respond_problem(x, PROBLEM_CONFLICT, "Job %s has no checkpoint yet.", job->id);
    } else if (status == STATUS_NOT_FOUND && (exchange_query(x, "checkpoint") != NULL || !takes_files(a->query))) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Job %s has no such checkpoint; GET /v1/jobs/%s/checkpoints lists them.",
                        job->id, job->id);
    } else if (status == STATUS_NOT_FOUND) {
        struct error fault;
        error_clear(&fault);
        (void)error_set(&fault, STATUS_INVALID, "/checkpoint", "job %s has no such checkpoint", job->id);
        respond_error(x, &fault);
    } else if (status != STATUS_OK) {
        respond_error(x, &err);
    }
    return status == STATUS_OK;
}

static bool find_checkpoints(struct exchange *x, struct query_request *a)
{
    const struct storage_checkpoint_pick latest = {.by = STORAGE_LATEST};
    return find_checkpoint(x, a, &a->job, a->pick, &a->checkpoint) &&
           (a->query->takes != METHOD_TAKES_MODEL || find_checkpoint(x, a, &a->with, latest, &a->with_checkpoint));
}

/* ---- sending the answer ---- */

static struct method_question question_of(const struct query_request *a, const struct method_model *model,
                                          const struct method_model *with, size_t input)
{
    return (struct method_question){.query = a->query,
                                    .model = model,
                                    .input = a->inputs != NULL ? &a->inputs->items[input] : NULL,
                                    .with = with,
                                    .parameters = a->parameters,
                                    .item = a->item,
                                    .stop = queries_stopped,
                                    .stop_context = a->run};
}

/* Sends an error of the method. Puts the position of the input in the body before the method's JSON pointer. */
static void respond_method_error(struct exchange *x, const struct query_request *a, size_t index,
                                 const struct error *err)
{
    if (err->code == STATUS_CANCELLED) {
        queries_respond_stopped(a->run);
        return;
    }
    if (a->inputs == NULL) {
        respond_error(x, err);
        return;
    }
    struct error full;
    error_clear(&full);
    char pointer[192] = "";
    if (a->inputs->items[index].kind != METHOD_INPUT_ARRAY || json_body(x)) {
        (void)snprintf(pointer, sizeof pointer, "/inputs/%zu%s", index, err->pointer);
    }
    (void)error_set(&full, err->code, pointer, "%s", err->message);
    respond_error(x, &full);
}

/* Writes the answer for each input. Returns false after it has sent an error. */
static bool write_answers(struct exchange *x, const struct query_request *a, const struct method_model *model)
{
    struct error err;
    error_clear(&err);
    sink_begin_list(x->out, "answers");
    for (size_t i = 0; i < a->inputs->count; i++) {
        if (i > 0 && !queries_yield(a->run)) {
            queries_respond_stopped(a->run);
            return false;
        }
        struct method_question question = question_of(a, model, NULL, i);
        sink_begin_object(x->out, NULL);
        if (a->query->answer(&question, x->out, &err) != STATUS_OK) {
            respond_method_error(x, a, i, &err);
            return false;
        }
        sink_end_object(x->out);
    }
    sink_end_list(x->out);
    return true;
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
    if (a->inputs != NULL) {
        if (!write_answers(x, a, model)) {
            return;
        }
    } else {
        struct method_question question = question_of(a, model, with, 0);
        if (a->query->answer(&question, x->out, &err) != STATUS_OK) {
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
    if (a->query->draw(&question, &picture, &err) != STATUS_OK) {
        respond_method_error(x, a, 0, &err);
    } else if (png_encode(picture, &x->response->body, &err) != STATUS_OK) {
        respond_error(x, &err);
    } else {
        response_header(x->response, "X-Checkpoint", "%lld", (long long)a->checkpoint.seq);
        respond_body(x, 200, "image/png");
    }
    picture_destroy(picture);
}

/* Writes the header of a .npy file: float32, shape [inputs] followed by the shape of one answer. The format requires a
 * header size that is a multiple of 64 bytes. */
static void write_npy_header(struct buf *out, size_t inputs, int rank, const int64_t *dim)
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

static void answer_array(struct exchange *x, const struct query_request *a, const struct method_model *model,
                         const struct method_model *with)
{
    struct error err;
    struct buf values;
    int rank = 0;
    int64_t dim[4];
    error_clear(&err);
    buf_init(&values, API_DOCUMENT_MAX / 2);
    size_t count = a->inputs != NULL ? a->inputs->count : 1;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && !queries_yield(a->run)) {
            queries_respond_stopped(a->run);
            buf_close(&values);
            return;
        }
        struct method_question question = question_of(a, model, with, i);
        if (a->query->array(&question, &values, &rank, dim, &err) != STATUS_OK) {
            respond_method_error(x, a, i, &err);
            buf_close(&values);
            return;
        }
    }
    if (values.failed && !values.full) {
        (void)no_memory(x);
    } else if (values.failed) {
        respond_problem(x, PROBLEM_TOO_LARGE, "The answer would be larger than %u MiB; send fewer inputs.",
                        API_DOCUMENT_MAX >> 21);
    } else {
        write_npy_header(&x->response->body, count, rank, dim);
        buf_append(&x->response->body, values.data, values.size);
        response_header(x->response, "X-Checkpoint", "%lld", (long long)a->checkpoint.seq);
        respond_body(x, 200, "application/x-npy");
    }
    buf_close(&values);
}

/* Makes a strong ETag from the weights and the request. The same weights and request give the same bytes, so the tag is
 * available before the query is computed. */
static void tag_of(const struct exchange *x, const struct query_request *a, char etag[40])
{
    unsigned char digest[HASH_BYTES], form = (unsigned char)a->form;
    char hex[HASH_TEXT];
    struct hash hash;
    const char *query = x->match.query != NULL ? x->match.query : "";
    const char *type = exchange_header(x, "Content-Type");
    hash_init(&hash);
    hash_add(&hash, a->checkpoint.sha256, sizeof a->checkpoint.sha256);
    hash_add(&hash, a->with_checkpoint.sha256, sizeof a->with_checkpoint.sha256);
    hash_add(&hash, a->job.id, strlen(a->job.id) + 1);
    hash_add(&hash, a->query->name, strlen(a->query->name) + 1);
    hash_add(&hash, &a->item, sizeof a->item);
    hash_add(&hash, query, strlen(query) + 1);
    if (a->query->verb == METHOD_POST) {
        hash_add(&hash, type != NULL ? type : "", type != NULL ? strlen(type) + 1 : 1);
        hash_add(&hash, x->request->body != NULL ? x->request->body : "", x->request->body_bytes);
    }
    hash_add(&hash, &form, 1);
    hash_finish(&hash, digest);
    hash_hex(digest, hex);
    (void)snprintf(etag, 40, "\"%.32s\"", hex);
}

bool queries_stopped(void *context)
{
    struct query_run *run = context;
    const struct api_request *request = run->x->request;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    run->late = run->late || (run->deadline && (now.tv_sec > run->until.tv_sec ||
                                                (now.tv_sec == run->until.tv_sec && now.tv_nsec > run->until.tv_nsec)));
    return run->late || atomic_load(&run->x->api->interrupted) ||
           (request->gone != NULL && request->gone(request->gone_context));
}

void queries_respond_stopped(struct query_run *run)
{
    if (run->late) {
        respond_problem(run->x, PROBLEM_DEADLINE,
                        "The query took longer than %lld s, the limit of this daemon (--query-seconds); send fewer "
                        "inputs or ask for fewer samples.",
                        (long long)run->x->api->options.query_seconds);
    } else {
        respond_problem(run->x, PROBLEM_UNAVAILABLE,
                        "The query was stopped, because its client has disconnected or the daemon ends.");
    }
}

bool queries_enter(struct exchange *x, bool batch, struct query_run *run)
{
    const struct api_request *request = x->request;
    bool token = request->who != NULL && request->who[0] != '\0';
    const char *peer = request->peer != NULL ? request->peer : "";
    *run = (struct query_run){.x = x, .deadline = x->api->options.query_seconds > 0};
    run->ticket = (struct query_ticket){.batch = batch, .stop = queries_stopped, .context = run};
    (void)snprintf(run->ticket.caller, sizeof run->ticket.caller, "%s%s", token ? "token/" : "",
                   token ? request->who : peer);
    (void)clock_gettime(CLOCK_MONOTONIC, &run->until);
    run->until.tv_sec += x->api->options.query_seconds;
    switch (query_gate_enter(x->api->gate, &run->ticket)) {
    case QUERY_ENTERED:
        return true;
    case QUERY_STOPPED:
        queries_respond_stopped(run);
        return false;
    case QUERY_CALLER_FULL:
        respond_problem(x, PROBLEM_TOO_MANY,
                        "This token or address has as many queries in progress as it may have; try again later.");
        return false;
    default:
        respond_problem(x, PROBLEM_TOO_MANY, "%d queries are running, which is the limit; try again later.",
                        x->api->options.queries_at_once);
        return false;
    }
}

bool queries_yield(struct query_run *run)
{
    return !queries_stopped(run) && query_gate_yield(run->x->api->gate, &run->ticket);
}

void queries_leave(struct query_run *run)
{
    query_gate_leave(run->x->api->gate, &run->ticket);
}

static void answer(struct exchange *x, const struct query_request *a, const struct method_model *model,
                   const struct method_model *with)
{
    if (a->form == FORM_PICTURE) {
        answer_picture(x, a, model, with);
    } else if (a->form == FORM_ARRAY) {
        answer_array(x, a, model, with);
    } else {
        answer_document(x, a, model, with);
    }
}

static void compute(struct exchange *x, struct query_request *a)
{
    struct error err;
    struct model_lease lease, with = {.model = NULL};
    struct query_run run;
    char etag[40];
    error_clear(&err);
    tag_of(x, a, etag);
    bool batch = a->inputs != NULL && a->inputs->count > 1;
    if ((a->query->verb == METHOD_GET && respond_not_modified(x, etag)) || !queries_enter(x, batch, &run)) {
        return;
    }
    a->run = &run;
    if (model_cache_get(x->api->models, a->method, &a->job, a->checkpoint.seq, &lease, &err) != STATUS_OK) {
        respond_error(x, &err);
        queries_leave(&run);
        return;
    }
    bool pair = a->query->takes == METHOD_TAKES_MODEL;
    if (pair &&
        model_cache_get(x->api->models, a->method, &a->with, a->with_checkpoint.seq, &with, &err) != STATUS_OK) {
        respond_error(x, &err);
    } else {
        answer(x, a, lease.model, with.model);
        if (a->query->verb == METHOD_POST && x->response->status == 200) {
            response_header(x->response, "ETag", "%s", etag);
        }
        if (pair) {
            model_cache_release(x->api->models, &with);
        }
    }
    model_cache_release(x->api->models, &lease);
    queries_leave(&run);
}

void query_answer(struct exchange *x)
{
    struct query_request a = {.pick = {.by = STORAGE_LATEST}, .item = -1};
    if (!exchange_job(x, &a.job) || !find_query(x, &a) || !choose_form(x, &a)) {
        return;
    }
    if (a.query->item != NULL) {
        a.item = strtoll(exchange_param(x, ROUTE_ITEM), NULL, 10);
    }
    if (prepare(x, &a) && read_request(x, &a) && find_checkpoints(x, &a)) {
        compute(x, &a);
    }
    if (a.inputs != NULL) {
        inputs_close(a.inputs);
        free(a.inputs);
    }
}
