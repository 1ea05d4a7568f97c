/* POST /v1/KIND/NAME: runs a computation of a method on convolutions and a signal. The daemon needs no job of the kind
 * KIND for it.
 *
 * The convolutions come from the body, or from the model of any job that has convolutions. This file reads the JSON;
 * the method computes the answer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/checkpoint_pick.h"
#include "protocol/config_json.h"
#include "protocol/faults.h"
#include "api/models/model_cache.h"
#include "api/queries/inputs.h"
#include "api/queries/queries.h"
#include "api/queries/query_routes.h"
#include "api/rights/caller.h"
#include "storage/storage.h"

enum { LAYERS_MAX = 64, CODE_MAX = 65536 };

struct recovery {
    struct method reading; /* for config_read_object(), which takes a method; contains only the table of options */
    const struct method_computation *computation;
    struct query_run *run;
    struct storage_job job; /* the job that the body names; else all zero */
    struct storage_checkpoint checkpoint;
    const struct method *source;
    bool from_job;
    struct inputs *arrays; /* the arrays of the request: first the filters of each layer, then the signal */
    struct method_convolution layers[LAYERS_MAX];
    struct method_spike *code;
    int64_t nonzeros[LAYERS_MAX];
    struct method_recovery request;
    void *options;
    struct api_faults *faults;
    struct error failure; /* an error of this daemon, not of the client, that occurs while the body is read */
};

static void add_error(struct recovery *r, const struct error *err)
{
    if (err->code == STATUS_NO_MEMORY)
        (void)error_set(&r->failure, err->code, NULL, "%s", err->message);
    else
        api_faults_add(r->faults, err->pointer, "%s", err->message);
}

/* Reads an array of numbers and returns it, or adds a fault and returns NULL. */
static const struct method_input *read_numbers(struct recovery *r, const cJSON *value, const char *pointer)
{
    struct error err;
    error_clear(&err);
    if (input_array_from_json(value, pointer, r->arrays, &err)) {
        add_error(r, &err);
        return NULL;
    }
    return &r->arrays->items[r->arrays->count - 1];
}

/* Reads {"filters", "name"?}. The filters have the shape [filters][length], [filters][inputs][length] or
 * [filters][inputs][height][width]. */
static void read_layer(struct recovery *r, const cJSON *layer)
{
    size_t index = r->request.layer_count;
    struct method_convolution *c = &r->layers[index];
    char pointer[64];
    (void)snprintf(pointer, sizeof pointer, "/model/layers/%zu", index);
    const cJSON *filters = cJSON_GetObjectItemCaseSensitive(layer, "filters");
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(layer, "name");
    r->request.layer_count++;
    if (!cJSON_IsObject(layer) || filters == NULL || cJSON_GetArraySize(layer) != (name != NULL ? 2 : 1) ||
        (name != NULL && (!cJSON_IsString(name) || strlen(name->valuestring) >= sizeof c->name))) {
        api_faults_add(r->faults, pointer, "must be an object with 'filters' and, optionally, a short 'name'");
        return;
    }
    (void)snprintf(pointer, sizeof pointer, "/model/layers/%zu/filters", index);
    const struct method_input *array = read_numbers(r, filters, pointer);
    if (array == NULL)
        return;
    if (array->rank < 2) {
        api_faults_add(r->faults, pointer,
                       "must be a list of filters: [filters][length], [filters][inputs][length] or "
                       "[filters][inputs][height][width]");
        return;
    }
    (void)snprintf(c->name, sizeof c->name, "%s", name != NULL ? name->valuestring : "");
    if (name == NULL)
        (void)snprintf(c->name, sizeof c->name, "layer.%zu", index + 1);
    c->filters = (int)array->dim[0];
    c->inputs = array->rank > 2 ? (int)array->dim[1] : 1;
    c->height = array->rank > 3 ? (int)array->dim[2] : 1;
    c->width = (int)array->dim[array->rank - 1];
    c->weights = array->values;
}

static void read_model(struct recovery *r, const cJSON *model)
{
    const cJSON *layers = cJSON_GetObjectItemCaseSensitive(model, "layers");
    if (!cJSON_IsObject(model) || cJSON_GetArraySize(model) != 1 || !cJSON_IsArray(layers) || layers->child == NULL ||
        cJSON_GetArraySize(layers) > LAYERS_MAX) {
        api_faults_add(r->faults, "/model", "must be an object with a list of 1 to %d layers", LAYERS_MAX);
        return;
    }
    JSON_EACH (layer, layers)
        read_layer(r, layer);
}

/* Reads the signal. If the first layer has several inputs, the innermost lists have one number for each of them. */
static void read_signal(struct recovery *r, const cJSON *signal)
{
    const struct method_input *array = read_numbers(r, signal, "/signal");
    if (array == NULL)
        return;
    int channels = r->request.layer_count > 0 && r->layers[0].inputs > 1 ? r->layers[0].inputs : 1;
    int rank = channels > 1 ? array->rank - 1 : array->rank;
    r->request.rank = rank;
    for (int d = 0; d < 2; d++)
        r->request.dim[d] = array->dim[d];
    r->request.signal = array->values;
    if (channels > 1 && (rank < 1 || rank > 2 || array->dim[rank] != channels)) {
        api_faults_add(r->faults, "/signal", "must be a list of positions, or of rows of positions, of %d numbers each",
                       channels);
    } else if (rank > 2) {
        api_faults_add(r->faults, "/signal", "must be a list of numbers, or a list of equally long lists of numbers");
    }
}

static bool computations_whole(const cJSON *value, double most)
{
    return cJSON_IsNumber(value) && value->valuedouble == floor(value->valuedouble) && fabs(value->valuedouble) <= most;
}

/* Reads the length of the signal: a number of positions, or [rows, columns]. */
static void read_length(struct recovery *r, const cJSON *length)
{
    const double most = INPUT_NUMBERS_MAX;
    const cJSON *first = cJSON_IsArray(length) ? length->child : length;
    int rank = cJSON_IsArray(length) ? cJSON_GetArraySize(length) : 1;
    if (length == NULL || rank < 1 || rank > 2) {
        api_faults_add(r->faults, "/length",
                       "must be the length of the signal: a number of positions, or [rows, columns]");
        return;
    }
    r->request.rank = rank;
    for (int d = 0; d < rank; d++, first = first->next) {
        if (!computations_whole(first, most) || first->valuedouble < 1) {
            api_faults_add(r->faults, "/length", "must contain integers in [1, %.0f]", most);
            return;
        }
        r->request.dim[d] = (int64_t)first->valuedouble;
    }
}

/* Reads the non-zeros of a code: [[position, filter, value], ...] or, in two dimensions, [[row, column, filter, value],
 * ...]. */
static void read_code(struct recovery *r, const cJSON *code)
{
    int count = cJSON_IsArray(code) ? cJSON_GetArraySize(code) : 0, members = r->request.rank == 2 ? 4 : 3;
    if (count < 1 || count > CODE_MAX) {
        api_faults_add(r->faults, "/code", "must be a list of 1 to %d non-zeros", CODE_MAX);
        return;
    }
    r->code = calloc((size_t)count, sizeof *r->code);
    if (r->code == NULL) {
        (void)error_memory(&r->failure, "a code");
        return;
    }
    JSON_EACH (spike, code) {
        char pointer[40];
        double values[4] = {0};
        bool good = cJSON_IsArray(spike) && cJSON_GetArraySize(spike) == members;
        const cJSON *member = good ? spike->child : NULL;
        for (int i = 0; good && i < members; i++, member = member->next) {
            good = i == members - 1 ? cJSON_IsNumber(member) : computations_whole(member, JSON_INTEGER);
            values[4 - members + i] = good ? member->valuedouble : 0;
        }
        (void)snprintf(pointer, sizeof pointer, "/code/%zu", r->request.code_count);
        if (!good) {
            api_faults_add(r->faults, pointer, "must be [%s, filter, value]",
                           members == 4 ? "row, column" : "position");
        }
        r->code[r->request.code_count++] =
            (struct method_spike){(int64_t)values[0], (int64_t)values[1], (int64_t)values[2], values[3]};
    }
    r->request.code = r->code;
}

static void read_nonzeros(struct recovery *r, const cJSON *list)
{
    size_t count = 0;
    bool good = cJSON_IsArray(list) && cJSON_GetArraySize(list) <= LAYERS_MAX;
    JSON_EACH (item, list) {
        good = good && computations_whole(item, JSON_INTEGER);
        if (good)
            r->nonzeros[count++] = (int64_t)item->valuedouble;
    }
    if (!good || count != r->request.layer_count) {
        api_faults_add(r->faults, "/nonzeros", "must be a list of %zu integers, one for each layer",
                       r->request.layer_count);
    }
    r->request.nonzeros = r->nonzeros;
}

static void read_options(struct recovery *r, const cJSON *config, struct error *err)
{
    if (config_start(&r->reading, NULL, &r->options, err))
        return;
    if (config != NULL && !cJSON_IsObject(config))
        api_faults_add(r->faults, "/config", "must be an object");
    else
        config_read_object(&r->reading, config, "/config", false, r->options, r->faults);
    r->request.options = r->options;
}

static void check_members(struct recovery *r, const cJSON *body)
{
    static const char *const names[] = {"model", "job",    "checkpoint", "layers", "signal",
                                        "code",  "length", "nonzeros",   "config"};
    JSON_EACH (item, body) {
        struct name_guess guess = {.given = item->string};
        bool known = false;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            known = known || strcmp(item->string, names[i]) == 0;
            name_guess_offer(&guess, names[i]);
        }
        if (!known) {
            char pointer[128];
            fault_pointer(pointer, "", item->string);
            name_guess_fault(&guess, "a member of this request", pointer, r->faults);
        }
    }
}

/* Finds the job and its checkpoint. choose_layers() reads the convolutions after the model has been opened. */
static void find_job(struct exchange *x, struct recovery *r, const cJSON *body, struct error *err)
{
    const cJSON *job = cJSON_GetObjectItemCaseSensitive(body, "job");
    const cJSON *checkpoint = cJSON_GetObjectItemCaseSensitive(body, "checkpoint");
    struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
    struct storage *storage = x->api->options.storage;
    struct error inner;
    error_clear(&inner);
    r->from_job = true;
    if (!cJSON_IsString(job)) {
        api_faults_add(r->faults, "/job", "must be the id of a job");
        return;
    }
    if (checkpoint != NULL && !checkpoint_pick_json(checkpoint, &pick)) {
        api_faults_add(r->faults, "/checkpoint", CHECKPOINT_PICK_RULE);
        return;
    }
    enum status status = caller_job(x, job->valuestring, &r->job, &inner);
    if (status == STATUS_NOT_FOUND) {
        api_faults_add(r->faults, "/job", "no job has this id");
        return;
    }
    if (!status) {
        r->source = api_method(x->api, r->job.kind);
        if (r->source == NULL || r->source->convolutions == NULL || r->source->open == NULL) {
            api_faults_add(r->faults, "/job", "is of kind %s, whose models have no convolutions", r->job.kind);
            return;
        }
        status = storage_checkpoint_find(storage, r->job.id, pick, &r->checkpoint, &inner);
    }
    if (status == STATUS_NOT_FOUND) {
        api_faults_add(r->faults, checkpoint != NULL ? "/checkpoint" : "/job", "job %s has no such checkpoint",
                       r->job.id);
    } else if (status) {
        (void)error_set(err, status, "", "%s", inner.message);
    }
}

/* Chooses all convolutions of the model or, if `names` is not NULL, those that it lists, in that order. */
static void choose_layers(struct recovery *r, const struct method_model *model, const cJSON *names)
{
    struct method_convolution all[LAYERS_MAX];
    size_t count = r->source->convolutions(model, all, LAYERS_MAX);
    count = count < LAYERS_MAX ? count : LAYERS_MAX;
    if (names == NULL) {
        memcpy(r->layers, all, count * sizeof all[0]);
        r->request.layer_count = count;
    } else if (!cJSON_IsArray(names) || names->child == NULL || cJSON_GetArraySize(names) > LAYERS_MAX) {
        api_faults_add(r->faults, "/layers", "must be a list of 1 to %d names of layers", LAYERS_MAX);
        return;
    }
    int index = 0;
    JSON_EACH (name, names) {
        size_t i = 0;
        char pointer[40];
        (void)snprintf(pointer, sizeof pointer, "/layers/%d", index++);
        while (i < count && !(cJSON_IsString(name) && strcmp(all[i].name, name->valuestring) == 0))
            i++;
        if (i < count) {
            r->layers[r->request.layer_count++] = all[i];
        } else {
            api_faults_add(r->faults, pointer, "is not the name of a layer of this job; the first layer is %s",
                           count > 0 ? all[0].name : "none");
        }
    }
    if (r->request.layer_count == 0 && r->faults->count == 0)
        api_faults_add(r->faults, "/job", "has a model without convolutions");
}

/* Reads either the signal or its code (read_code()), and then the options. The layers must have been read before. */
static void read_question(struct recovery *r, const cJSON *body, struct error *err)
{
    const cJSON *signal = cJSON_GetObjectItemCaseSensitive(body, "signal");
    const cJSON *code = cJSON_GetObjectItemCaseSensitive(body, "code");
    const cJSON *length = cJSON_GetObjectItemCaseSensitive(body, "length");
    const cJSON *nonzeros = cJSON_GetObjectItemCaseSensitive(body, "nonzeros");
    if ((signal != NULL) == (code != NULL)) {
        api_faults_add(r->faults, "/signal", "is required unless code and length are present; send one of the two");
    } else if (signal != NULL) {
        read_signal(r, signal);
    } else {
        read_length(r, length);
        read_code(r, code);
    }
    if (signal != NULL && length != NULL)
        api_faults_add(r->faults, "/length", "is allowed with code only; a signal defines its own length");
    if (nonzeros != NULL)
        read_nonzeros(r, nonzeros);
    read_options(r, cJSON_GetObjectItemCaseSensitive(body, "config"), err);
    if (r->failure.code) /* an error of the daemon is reported instead of the client's faults */
        *err = r->failure;
    r->request.layers = r->layers;
}

static void respond_fault_of_method(struct exchange *x, const struct recovery *r, const struct error *err)
{
    struct error full;
    error_clear(&full);
    char pointer[160];
    bool layer = strncmp(err->pointer, "/layers", 7) == 0;
    (void)snprintf(pointer, sizeof pointer, "%s%s", layer && !r->from_job ? "/model" : "",
                   layer && r->from_job ? "/job" : err->pointer);
    (void)error_set(&full, err->code, pointer, "%s%s",
                    layer && r->from_job ? "has layers that this computation cannot use: " : "", err->message);
    respond_error(x, &full);
}

static void computations_answer(struct exchange *x, struct recovery *r, const cJSON *body)
{
    struct error err;
    error_clear(&err);
    read_question(r, body, &err);
    if (!err.code && r->faults->count > 0) {
        respond_faults(x, PROBLEM_INVALID, "pointer", r->faults);
        return;
    }
    if (err.code) {
        respond_error(x, &err);
        return;
    }
    sink_begin_object(x->out, NULL);
    if (r->from_job) {
        sink_text(x->out, "job", r->job.id);
        sink_integer(x->out, "checkpoint", r->checkpoint.seq);
    }
    enum status status = r->computation->compute(&r->request, x->out, &err);
    if (status == STATUS_CANCELLED) {
        queries_respond_stopped(r->run);
        return;
    }
    if (status) {
        respond_fault_of_method(x, r, &err);
        return;
    }
    sink_end_object(x->out);
    respond_json(x, 200);
}

static void answer_from_job(struct exchange *x, struct recovery *r, const cJSON *body)
{
    struct error err;
    error_clear(&err);
    struct model_lease lease;
    find_job(x, r, body, &err);
    if (err.code) {
        respond_error(x, &err);
    } else if (r->faults->count > 0) {
        respond_faults(x, PROBLEM_INVALID, "pointer", r->faults);
    } else if (model_cache_get(x->api->models, r->source, &r->job, r->checkpoint.seq, &lease, &err)) {
        respond_error(x, &err);
    } else {
        choose_layers(r, lease.model, cJSON_GetObjectItemCaseSensitive(body, "layers"));
        computations_answer(x, r, body);
        model_cache_release(x->api->models, &lease);
    }
}

static void computations_compute(struct exchange *x, struct recovery *r, const cJSON *body)
{
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(body, "model"),
                *job = cJSON_GetObjectItemCaseSensitive(body, "job");
    check_members(r, body);
    if ((model != NULL) == (job != NULL)) {
        api_faults_add(r->faults, "/model", "is required unless job is present; send one of the two");
        respond_faults(x, PROBLEM_INVALID, "pointer", r->faults);
    } else if (job != NULL) {
        answer_from_job(x, r, body);
    } else {
        if (cJSON_GetObjectItemCaseSensitive(body, "checkpoint") != NULL ||
            cJSON_GetObjectItemCaseSensitive(body, "layers") != NULL)
            api_faults_add(r->faults, "/model", "cannot be combined with checkpoint or layers; those need job");
        read_model(r, model);
        computations_answer(x, r, body);
    }
}

void computation_answer(struct exchange *x)
{
    const struct query_origin *origin = query_routes_origin(x->api->query_routes, x->match.route);
    cJSON *body = exchange_object(x);
    if (body == NULL)
        return;
    struct recovery *r = arena_zalloc(&x->arena, 1, sizeof *r);
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    struct inputs *arrays = arena_zalloc(&x->arena, 1, sizeof *arrays);
    struct query_run run;
    if (r == NULL || faults == NULL || arrays == NULL) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
    } else if (queries_enter(x, false, &run)) {
        r->computation = origin->computation;
        r->reading = (struct method){.kind = origin->computation->name, .config = *origin->computation->options};
        r->faults = faults;
        r->arrays = arrays;
        r->request.work = &x->work;
        r->run = &run;
        r->request.kernels = x->api->options.kernels;
        computations_compute(x, r, body);
        queries_leave(&run);
        inputs_close(arrays);
        free(r->code);
        free(r->options);
    }
    cJSON_Delete(body);
}
