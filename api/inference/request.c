/* Reads requests for inferences: JSON, or JSON followed by binary data (the binary tensor data extension). */
#include "api/inference/request.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/inference/inference.h"
#include "api/jobs/checkpoint_pick.h"
#include "api/jobs/job_document.h"
#include "protocol/faults.h"

static const struct tensor_datatype datatypes[TENSOR_DATATYPES] = {
    {"FP32", 4, TENSOR_FLOAT},      {"FP64", 8, TENSOR_FLOAT},      {"FP16", 2, TENSOR_FLOAT},
    {"INT8", 1, TENSOR_SIGNED},     {"INT16", 2, TENSOR_SIGNED},    {"INT32", 4, TENSOR_SIGNED},
    {"INT64", 8, TENSOR_SIGNED},    {"UINT8", 1, TENSOR_UNSIGNED},  {"UINT16", 2, TENSOR_UNSIGNED},
    {"UINT32", 4, TENSOR_UNSIGNED}, {"UINT64", 8, TENSOR_UNSIGNED}, {"BOOL", 1, TENSOR_BOOLEAN},
};

const struct tensor_datatype *tensor_datatype(const char *name)
{
    for (size_t i = 0; i < TENSOR_DATATYPES; i++)
        if (strcmp(datatypes[i].name, name) == 0)
            return &datatypes[i];
    return NULL;
}

/* Writes the names of the numeric data types with commas between them. */
static void tensor_datatype_names(char *out, size_t room)
{
    out[0] = '\0';
    for (size_t i = 0, used = 0; i < TENSOR_DATATYPES && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%s", i > 0 ? ", " : "", datatypes[i].name);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

struct flat {
    const struct tensor_datatype *type;
    const char *pointer;
    float *out;
    size_t count, room;
    struct error *err;
};

/* Checks a number of a client against its data type. JSON can carry only a part of the numbers of data types with 64
 * bits, because json_scan() refuses integers that a double cannot represent. */
static bool number_fits(const struct tensor_datatype *type, double value)
{
    double bits = (double)(8 * type->bytes);
    if (type->family == TENSOR_FLOAT)
        return fabs(value) <= 3.4028234e38;
    if (value != floor(value))
        return false;
    return type->family == TENSOR_UNSIGNED ? value >= 0 && value < ldexp(1, (int)bits)
                                           : value >= -ldexp(1, (int)bits - 1) && value < ldexp(1, (int)bits - 1);
}

static enum status flatten(struct flat *f, const cJSON *list)
{
    JSON_EACH (item, list) {
        bool boolean = f->type->family == TENSOR_BOOLEAN;
        if (cJSON_IsArray(item)) {
            enum status status = flatten(f, item);
            if (status)
                return status;
            continue;
        }
        if (f->count == f->room)
            return error_set(f->err, STATUS_INVALID, f->pointer, "has more elements than the shape (%zu)", f->room);
        if (boolean ? !cJSON_IsBool(item) : !cJSON_IsNumber(item) || !number_fits(f->type, item->valuedouble)) {
            return error_set(f->err, STATUS_INVALID, f->pointer, "element %zu is not a value of %s", f->count,
                             f->type->name);
        }
        f->out[f->count++] = boolean ? (float)cJSON_IsTrue(item) : (float)item->valuedouble;
    }
    return STATUS_OK;
}

/* Read `count` elements as float32: tensor_read_json() from a JSON list, flat or nested, tensor_read_bytes() from the
 * bytes of the binary extension. pointer: the JSON pointer of the data, for errors. STATUS_INVALID: another number of
 * elements, or an element that the data type cannot represent. */
static enum status tensor_read_json(const struct tensor_datatype *type, const cJSON *data, size_t count,
                                    const char *pointer, float *out, struct error *err)
{
    struct flat f = {.type = type, .pointer = pointer, .out = out, .room = count, .err = err};
    if (!cJSON_IsArray(data))
        return error_set(err, STATUS_INVALID, pointer, "must be a list of the elements, flat or nested; got %s",
                         json_type_name(data));
    if (type->family == TENSOR_FLOAT && type->bytes == 2)
        return error_set(err, STATUS_INVALID, pointer, "of FP16 can be sent only as binary data");
    enum status status = flatten(&f, data);
    if (status)
        return status;
    if (f.count != count)
        return error_set(err, STATUS_INVALID, pointer, "has %zu elements; the shape has %zu", f.count, count);
    return STATUS_OK;
}

/* ---- binary data --------------------------------------------------------------------------------------------- */

static float half(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value = exponent == 0    ? ldexpf((float)fraction, -24)
                  : exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                                   : ldexpf((float)(1024 + fraction), exponent - 25);
    return (bits & 0x8000) != 0 ? -value : value;
}

/* Converts one element, type->bytes little-endian bytes, to a float. */
static float element(const struct tensor_datatype *type, const unsigned char *bytes)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < type->bytes; i++)
        bits |= (uint64_t)bytes[i] << 8 * i;
    if (type->family == TENSOR_SIGNED) {
        int unused = 64 - 8 * (int)type->bytes;
        return (float)((int64_t)(bits << unused) >> unused);
    }
    if (type->family != TENSOR_FLOAT)
        return (float)bits;
    if (type->bytes == 2)
        return half((uint16_t)bits);
    float single;
    double wide;
    uint32_t low = (uint32_t)bits;
    memcpy(&single, &low, sizeof single);
    memcpy(&wide, &bits, sizeof wide);
    return type->bytes == 4 ? single : (float)wide;
}

static enum status tensor_read_bytes(const struct tensor_datatype *type, const void *bytes, size_t size, size_t count,
                                     const char *pointer, float *out, struct error *err)
{
    const unsigned char *at = bytes;
    if (size != count * type->bytes)
        return error_set(err, STATUS_INVALID, pointer, "must be %zu: %zu elements of %s; got %zu", count * type->bytes,
                         count, type->name, size);
    for (size_t i = 0; i < count; i++) {
        out[i] = element(type, at + i * type->bytes);
        if (type->family == TENSOR_BOOLEAN && at[i] > 1)
            return error_set(err, STATUS_INVALID, pointer, "element %zu is not a value of BOOL: it is %d", i, at[i]);
        if (!isfinite(out[i]))
            return error_set(err, STATUS_INVALID, pointer, "element %zu is not a finite 32-bit float", i);
    }
    return STATUS_OK;
}

/* ---- the model ----------------------------------------------------------------------------------------------- */

size_t inference_offers(const struct method *method, struct inference_output *out)
{
    static const char *const suffixes[INFERENCE_PARTS] = {"", "_coordinates", "_values"};
    size_t count = 0;
    for (size_t i = 0; i < method->output_count; i++) {
        for (int part = 0; part < (method->outputs[i].sparse ? INFERENCE_PARTS : 1); part++) {
            struct inference_output *o = &out[count++];
            *o = (struct inference_output){.tensor = i, .part = (enum inference_part)part};
            (void)snprintf(o->name, sizeof o->name, "%s%s", method->outputs[i].name, suffixes[part]);
        }
    }
    return count;
}

const char *inference_datatype(const struct method *method, const struct inference_output *output)
{
    if (output->part == PART_COORDINATES)
        return "INT64";
    return method->outputs[output->tensor].datatype == METHOD_BYTES ? "BYTES" : "FP32";
}

bool inference_find(struct exchange *x, struct inference_target *target)
{
    struct error err;
    error_clear(&err);
    struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
    const char *version = exchange_param(x, "seq");
    if (!exchange_job(x, &target->job))
        return false;
    target->method = api_method(x->api, target->job.kind);
    if (target->method == NULL || target->method->infer == NULL || target->method->open == NULL) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Models of kind %s have no tensors for this protocol.", target->job.kind);
        return false;
    }
    if (version[0] != '\0')
        (void)checkpoint_pick_text(version, &pick); /* cannot fail: the route admits only numbers and `latest` */
    enum status status =
        storage_checkpoint_find(x->api->options.storage, target->job.id, pick, &target->checkpoint, &err);
    if (status == STATUS_NOT_FOUND && pick.by == STORAGE_LATEST)
        respond_problem(x, PROBLEM_CONFLICT, "Job %s has no checkpoint yet.", target->job.id);
    else if (status == STATUS_NOT_FOUND)
        respond_problem(x, PROBLEM_NOT_FOUND, "Job %s has no checkpoint %s.", target->job.id, version);
    else if (status)
        respond_error(x, &err);
    return !status;
}

/* ---- reading ------------------------------------------------------------------------------------------------- */

/* A request while it is read. */
struct reading {
    struct exchange *x;
    struct inference_request *r;
    struct api_faults *faults;
    const char *binary; /* the bytes behind the JSON */
    size_t binary_bytes;
    bool binary_output; /* default for outputs without the parameter binary_data */
};

/* The member `name` of the member `parameters`, or NULL. */
static const cJSON *parameter(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(object, "parameters"), name);
}

/* Adds a fault for each member that is not in the list `known`, which ends with NULL. */
static void check_members(const struct reading *g, const cJSON *object, const char *at, const char *const *known)
{
    JSON_EACH (item, object) {
        struct name_guess guess = {.given = item->string};
        bool found = false;
        for (size_t i = 0; known[i] != NULL; i++) {
            found = found || strcmp(item->string, known[i]) == 0;
            name_guess_offer(&guess, known[i]);
        }
        char pointer[128];
        fault_pointer(pointer, at, item->string);
        if (!found)
            name_guess_fault(&guess, "a member of this object", pointer, g->faults);
        else if (strcmp(item->string, "parameters") == 0 && !cJSON_IsObject(item))
            api_faults_add(g->faults, pointer, "must be an object; got %s", json_type_name(item));
    }
}

/* Reads a shape. Returns the number of elements, 0 after a fault. */
static size_t read_shape(const struct reading *g, const cJSON *shape, int *rank, int64_t dim[TENSOR_RANK])
{
    size_t count = 1;
    *rank = 0;
    if (!cJSON_IsArray(shape)) {
        api_faults_add(g->faults, "/inputs/0/shape", "must be a list of sizes; got %s", json_type_name(shape));
        return 0;
    }
    JSON_EACH (item, shape) {
        if (*rank == TENSOR_RANK || !cJSON_IsNumber(item) || item->valuedouble < 1 ||
            item->valuedouble > INPUT_NUMBERS_MAX || item->valuedouble != (double)(int64_t)item->valuedouble) {
            api_faults_add(g->faults, "/inputs/0/shape", "must have at most %d sizes, each an integer in [1, %u]",
                           TENSOR_RANK, INPUT_NUMBERS_MAX);
            return 0;
        }
        dim[*rank] = (int64_t)item->valuedouble;
        count *= (size_t)dim[(*rank)++];
        if (count > INPUT_NUMBERS_MAX) {
            api_faults_add(g->faults, "/inputs/0/shape", "has more than %u elements; send fewer inputs",
                           INPUT_NUMBERS_MAX);
            return 0;
        }
    }
    if (*rank < 2 || dim[0] > BATCH_MAX) {
        api_faults_add(g->faults, "/inputs/0/shape",
                       "must begin with the number of inputs, in [1, %d], and go on with the shape of an input",
                       BATCH_MAX);
        return 0;
    }
    return count;
}

static enum status read_elements(const struct reading *g, const cJSON *tensor, const struct tensor_datatype *type,
                                 size_t count, float *values, struct error *err)
{
    const cJSON *size = parameter(tensor, "binary_data_size"), *data = cJSON_GetObjectItemCaseSensitive(tensor, "data");
    const char *at = "/inputs/0/parameters/binary_data_size";
    if (size == NULL)
        return tensor_read_json(type, data, count, "/inputs/0/data", values, err);
    if (data != NULL)
        return error_set(err, STATUS_INVALID, "/inputs/0/data", "must be missing when binary data follow the JSON");
    if (!cJSON_IsNumber(size) || size->valuedouble != (double)g->binary_bytes)
        return error_set(err, STATUS_INVALID, at, "must be the number of bytes behind the JSON, which is %zu",
                         g->binary_bytes);
    return tensor_read_bytes(type, g->binary, g->binary_bytes, count, at, values, err);
}

/* Reads the tensor. Each index of its first axis becomes one input. */
static enum status read_tensor(const struct reading *g, const cJSON *tensor, struct error *err)
{
    static const char *const members[] = {"name", "shape", "datatype", "parameters", "data", NULL};
    const char *expected = g->r->target.method->input->name;
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(tensor, "name"),
                *datatype = cJSON_GetObjectItemCaseSensitive(tensor, "datatype");
    int64_t dim[TENSOR_RANK];
    int rank;
    check_members(g, tensor, "/inputs/0", members);
    if (!cJSON_IsString(name) || strcmp(name->valuestring, expected) != 0)
        api_faults_add(g->faults, "/inputs/0/name", "must be \"%s\"", expected);
    const struct tensor_datatype *type = cJSON_IsString(datatype) ? tensor_datatype(datatype->valuestring) : NULL;
    if (type == NULL) {
        char names[120];
        tensor_datatype_names(names, sizeof names);
        api_faults_add(g->faults, "/inputs/0/datatype", "must be one of %s", names);
    }
    size_t count = read_shape(g, cJSON_GetObjectItemCaseSensitive(tensor, "shape"), &rank, dim);
    if (g->faults->count > 0)
        return STATUS_OK;
    float *values = malloc(count * sizeof *values);
    if (values == NULL)
        return error_memory(err, "an input");
    struct error fault;
    error_clear(&fault);
    enum status status = read_elements(g, tensor, type, count, values, &fault);
    if (status) {
        free(values);
        api_faults_add(g->faults, fault.pointer, "%s", fault.message);
        return STATUS_OK;
    }
    status = inputs_add(&g->r->inputs, rank, dim, values, err);
    return !status ? inputs_split(&g->r->inputs, err) : status;
}

static enum status read_inputs(const struct reading *g, const cJSON *inputs, struct error *err)
{
    if (!cJSON_IsArray(inputs) || cJSON_GetArraySize(inputs) != 1 || !cJSON_IsObject(inputs->child)) {
        api_faults_add(g->faults, "/inputs", "must be a list of one tensor, \"%s\"", g->r->target.method->input->name);
        return STATUS_OK;
    }
    return read_tensor(g, inputs->child, err);
}

/* Adds an output that the client requests. */
static void read_output(const struct reading *g, const cJSON *item, int index, const struct inference_output *offers,
                        size_t offer_count)
{
    static const char *const members[] = {"name", "parameters", NULL};
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name"), *binary = parameter(item, "binary_data");
    char at[48], pointer[128];
    (void)snprintf(at, sizeof at, "/outputs/%d", index);
    check_members(g, item, at, members);
    fault_pointer(pointer, at, "name");
    if (!cJSON_IsString(name)) {
        api_faults_add(g->faults, pointer, "must be the name of an output");
        return;
    }
    struct name_guess guess = {.given = name->valuestring};
    const struct inference_output *found = NULL;
    for (size_t i = 0; i < offer_count; i++) {
        name_guess_offer(&guess, offers[i].name);
        found = strcmp(offers[i].name, name->valuestring) == 0 ? &offers[i] : found;
    }
    for (size_t i = 0; i < g->r->output_count; i++) {
        if (strcmp(g->r->outputs[i].name, name->valuestring) == 0) {
            api_faults_add(g->faults, pointer, "occurs twice");
            return;
        }
    }
    if (found == NULL)
        name_guess_fault(&guess, "an output of this model", pointer, g->faults);
    if (parameter(item, "classification") != NULL)
        api_faults_add(g->faults, at, "must not ask for a classification, which this server does not offer");
    if (binary != NULL && !cJSON_IsBool(binary))
        api_faults_add(g->faults, at, "must have true or false as parameter binary_data");
    if (found == NULL)
        return;
    struct inference_output *output = &g->r->outputs[g->r->output_count++];
    *output = *found;
    output->binary = binary != NULL ? cJSON_IsTrue(binary) : g->binary_output;
}

/* Without a list, the client gets all outputs. */
static void read_outputs(const struct reading *g, const cJSON *outputs)
{
    struct inference_output offers[INFERENCE_OUTPUTS];
    size_t count = inference_offers(g->r->target.method, offers);
    if (outputs == NULL || (cJSON_IsArray(outputs) && outputs->child == NULL)) {
        memcpy(g->r->outputs, offers, count * sizeof *offers);
        g->r->output_count = count;
        for (size_t i = 0; i < count; i++)
            g->r->outputs[i].binary = g->binary_output;
        return;
    }
    if (!cJSON_IsArray(outputs)) {
        api_faults_add(g->faults, "/outputs", "must be a list; got %s", json_type_name(outputs));
        return;
    }
    int index = 0;
    g->r->listed = true;
    JSON_EACH (item, outputs) {
        char at[48];
        (void)snprintf(at, sizeof at, "/outputs/%d", index);
        if (cJSON_IsObject(item))
            read_output(g, item, index, offers, count);
        else
            api_faults_add(g->faults, at, "must be an object; got %s", json_type_name(item));
        index++;
    }
}

static enum status read_document(struct reading *g, const cJSON *body, struct error *err)
{
    static const char *const members[] = {"id", "inputs", "outputs", "parameters", "model_name", "model_version", NULL};
    check_members(g, body, "", members);
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(body, "id"), *binary = parameter(body, "binary_data_output");
    if (cJSON_IsString(id)) {
        size_t bytes = strlen(id->valuestring) + 1;
        char *copy = arena_alloc(&g->x->arena, bytes);
        if (copy == NULL)
            return error_memory(err, "a request");
        memcpy(copy, id->valuestring, bytes);
        g->r->id = copy;
    } else if (id != NULL) {
        api_faults_add(g->faults, "/id", "must be text; got %s", json_type_name(id));
    }
    if (binary != NULL && !cJSON_IsBool(binary))
        api_faults_add(g->faults, "/parameters/binary_data_output", "must be true or false");
    g->binary_output = cJSON_IsTrue(binary);
    read_outputs(g, cJSON_GetObjectItemCaseSensitive(body, "outputs"));
    return read_inputs(g, cJSON_GetObjectItemCaseSensitive(body, "inputs"), err);
}

/* Finds the end of the JSON. Returns false after it has sent an error. */
static bool split_body(struct exchange *x, struct reading *g, size_t *json_bytes)
{
    const char *header = exchange_header(x, INFERENCE_HEADER);
    int64_t length = (int64_t)x->request->body_bytes;
    if (header != NULL && (!text_integer(header, &length) || length < 0 || length > (int64_t)x->request->body_bytes)) {
        respond_problem(x, PROBLEM_BAD_REQUEST, INFERENCE_HEADER " must be a number of bytes within the body.");
        return false;
    }
    *json_bytes = (size_t)length;
    g->binary = (const char *)x->request->body + length;
    g->binary_bytes = x->request->body_bytes - (size_t)length;
    return true;
}

bool inference_read(struct exchange *x, struct inference_request *r)
{
    struct reading g = {.x = x, .r = r, .faults = arena_zalloc(&x->arena, 1, sizeof *g.faults)};
    size_t json_bytes;
    if (g.faults == NULL) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        return false;
    }
    if (!inference_find(x, &r->target) || !split_body(x, &g, &json_bytes))
        return false;
    cJSON *body = exchange_object_in(x, json_bytes);
    if (body == NULL)
        return false;
    struct error err;
    error_clear(&err);
    enum status status = read_document(&g, body, &err);
    cJSON_Delete(body);
    if (g.faults->count > 0)
        respond_faults(x, PROBLEM_INVALID, "pointer", g.faults);
    else if (status)
        respond_error(x, &err);
    return g.faults->count == 0 && !status;
}

void inference_close(struct inference_request *r)
{
    inputs_close(&r->inputs);
}
