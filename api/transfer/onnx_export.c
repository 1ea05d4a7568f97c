/* GET /v1/jobs/{id}/onnx: a job's model as an ONNX graph, for other runtimes. An export counts as a query: it shares
 * the limits and the deadline of queries. */
#include <onnx.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/jobs/job_document.h"
#include "api/models/model_cache.h"
#include "api/queries/queries.h"
#include "api/transfer/transfer.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/graph.h"
#include "core/base/hash.h"
#include "storage/storage.h"

/* Writes a graph (core/base/graph.h) as an ONNX model. protobuf-c encodes the model, according to the schema in
 * Debian's package libonnx-dev. Only one thread at a time may use a model. */

#define ONNX_OPSET 13

struct onnx;

#define IR_VERSION 7
#define LIST_MAX 4096 /* upper limits of the nodes, of the constants and of the notes of a model */

struct list {
    void **items;
    size_t count;
};

struct onnx {
    struct arena arena;
    struct graph_writer writer;
    struct list nodes, constants, inputs, outputs, notes;
    int failed;
};

static void *onnx_take(struct onnx *o, size_t bytes)
{
    void *memory = arena_zalloc(&o->arena, 1, bytes > 0 ? bytes : 1);
    o->failed |= memory == NULL;
    return memory;
}

static char *onnx_copy(struct onnx *o, const char *text)
{
    char *made = arena_strdup(&o->arena, text);
    o->failed |= made == NULL;
    return made;
}

static void onnx_add(struct onnx *o, struct list *list, void *item)
{
    o->failed |= list->count == LIST_MAX;
    if (!o->failed)
        list->items[list->count++] = item;
}

/* ---- the writer ----------------------------------------------------------------------------------------- */

static void fill_dimension(struct onnx *o, Onnx__TensorShapeProto__Dimension *to, int64_t size)
{
    onnx__tensor_shape_proto__dimension__init(to);
    if (size < 0) {
        to->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        to->dim_param = onnx_copy(o, "batch");
    } else {
        to->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        to->dim_value = size;
    }
}

static Onnx__TypeProto *tensor_type(struct onnx *o, int rank, const int64_t *dim)
{
    Onnx__TypeProto *type = onnx_take(o, sizeof *type);
    Onnx__TypeProto__Tensor *tensor = onnx_take(o, sizeof *tensor);
    Onnx__TensorShapeProto *shape = onnx_take(o, sizeof *shape);
    Onnx__TensorShapeProto__Dimension **dims = onnx_take(o, (size_t)rank * sizeof(Onnx__TensorShapeProto__Dimension *));
    if (o->failed)
        return NULL;
    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(tensor);
    onnx__tensor_shape_proto__init(shape);
    for (int d = 0; d < rank; d++) {
        dims[d] = onnx_take(o, sizeof *dims[d]);
        if (dims[d] != NULL)
            fill_dimension(o, dims[d], dim[d]);
    }
    shape->n_dim = (size_t)rank;
    shape->dim = dims;
    tensor->has_elem_type = 1;
    tensor->elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    tensor->shape = shape;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    return type;
}

static void add_value(struct onnx *o, struct list *list, const char *name, int rank, const int64_t *dim)
{
    Onnx__ValueInfoProto *value = onnx_take(o, sizeof *value);
    if (value == NULL)
        return;
    onnx__value_info_proto__init(value);
    value->name = onnx_copy(o, name);
    value->type = tensor_type(o, rank, dim);
    onnx_add(o, list, value);
}

static void on_input(void *context, const char *name, int rank, const int64_t *dim)
{
    struct onnx *o = context;
    add_value(o, &o->inputs, name, rank, dim);
}

static void on_output(void *context, const char *name, int rank, const int64_t *dim)
{
    struct onnx *o = context;
    add_value(o, &o->outputs, name, rank, dim);
}

static void on_constant(void *context, const char *name, int rank, const int64_t *dim, const float *values)
{
    struct onnx *o = context;
    size_t bytes = sizeof *values;
    Onnx__TensorProto *tensor = onnx_take(o, sizeof *tensor);
    int64_t *dims = onnx_take(o, (size_t)rank * sizeof *dims);
    for (int d = 0; d < rank; d++)
        bytes *= (size_t)dim[d];
    uint8_t *data = onnx_take(o, bytes);
    if (o->failed)
        return;
    memcpy(dims, dim, (size_t)rank * sizeof *dims);
    memcpy(data, values, bytes);
    onnx__tensor_proto__init(tensor);
    tensor->name = onnx_copy(o, name);
    tensor->n_dims = (size_t)rank;
    tensor->dims = dims;
    tensor->has_data_type = 1;
    tensor->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    tensor->has_raw_data = 1;
    tensor->raw_data = (ProtobufCBinaryData){bytes, data};
    onnx_add(o, &o->constants, tensor);
}

static Onnx__AttributeProto *attribute(struct onnx *o, const struct graph_attribute *from)
{
    Onnx__AttributeProto *made = onnx_take(o, sizeof *made);
    bool list = from->count > 0 && from->count != GRAPH_ONE;
    int64_t *ints = onnx_take(o, list ? from->count * sizeof *ints : 0);
    if (o->failed)
        return NULL;
    onnx__attribute_proto__init(made);
    made->name = onnx_copy(o, from->name);
    made->has_type = 1;
    if (from->count == 0) {
        made->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        made->has_f = 1;
        made->f = (float)from->number;
    } else if (!list) {
        made->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        made->has_i = 1;
        made->i = from->ints[0];
    } else {
        made->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        memcpy(ints, from->ints, from->count * sizeof *ints);
        made->n_ints = from->count;
        made->ints = ints;
    }
    return made;
}

static void on_node(void *context, const char *op, const char *const *inputs, size_t input_count, const char *output,
                    const struct graph_attribute *attributes, size_t attribute_count)
{
    struct onnx *o = context;
    Onnx__NodeProto *made = onnx_take(o, sizeof *made);
    char **from = onnx_take(o, input_count * sizeof *from), **to = onnx_take(o, sizeof *to);
    Onnx__AttributeProto **list = onnx_take(o, attribute_count * sizeof(Onnx__AttributeProto *));
    if (o->failed)
        return;
    onnx__node_proto__init(made);
    for (size_t i = 0; i < input_count; i++)
        from[i] = onnx_copy(o, inputs[i]);
    for (size_t i = 0; i < attribute_count; i++)
        list[i] = attribute(o, &attributes[i]);
    to[0] = onnx_copy(o, output);
    made->op_type = onnx_copy(o, op);
    made->name = to[0];
    made->n_input = input_count;
    made->input = from;
    made->n_output = 1;
    made->output = to;
    made->n_attribute = attribute_count;
    made->attribute = list;
    onnx_add(o, &o->nodes, made);
}

/* ---- the model -------------------------------------------------------------------------------------------- */

static enum status onnx_create(struct onnx **out, struct error *err)
{
    struct onnx *o = calloc(1, sizeof *o);
    *out = o;
    if (o == NULL)
        return error_memory(err, "a model");
    arena_init(&o->arena, (size_t)1 << 20, (size_t)512 << 20);
    struct list *lists[] = {&o->nodes, &o->constants, &o->inputs, &o->outputs, &o->notes};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        lists[i]->items = onnx_take(o, LIST_MAX * sizeof(void *));
    o->writer = (struct graph_writer){o, on_input, on_output, on_constant, on_node};
    return STATUS_OK;
}

/* NULL is fine */
static void onnx_destroy(struct onnx *onnx)
{
    if (onnx != NULL) {
        arena_close(&onnx->arena);
        free(onnx);
    }
}

/* Returns the writer to which a method passes its graph; it belongs to the model. Its functions report no failures:
 * onnx_encode() reports the first one. */
static const struct graph_writer *onnx_writer(struct onnx *onnx)
{
    return &onnx->writer;
}

/* Adds an entry to the metadata of the model. */
static void onnx_note(struct onnx *o, const char *key, const char *value)
{
    Onnx__StringStringEntryProto *note = onnx_take(o, sizeof *note);
    if (note == NULL)
        return;
    onnx__string_string_entry_proto__init(note);
    note->key = onnx_copy(o, key);
    note->value = onnx_copy(o, value);
    onnx_add(o, &o->notes, note);
}

/* Appends the encoded model to `out`. STATUS_INVALID: the graph uses something that ONNX lacks; STATUS_NO_MEMORY. */
static enum status onnx_encode(struct onnx *o, const char *name, struct buf *out, struct error *err)
{
    Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets[] = {&opset};
    Onnx__GraphProto graph = ONNX__GRAPH_PROTO__INIT;
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    char *producer = onnx_copy(o, "motifd");
    graph.name = onnx_copy(o, name);
    opset.domain = onnx_copy(o, "");
    if (o->failed)
        return error_memory(err, "a model");
    opset.has_version = 1;
    opset.version = ONNX_OPSET;
    graph.n_node = o->nodes.count;
    graph.node = (Onnx__NodeProto **)o->nodes.items;
    graph.n_initializer = o->constants.count;
    graph.initializer = (Onnx__TensorProto **)o->constants.items;
    graph.n_input = o->inputs.count;
    graph.input = (Onnx__ValueInfoProto **)o->inputs.items;
    graph.n_output = o->outputs.count;
    graph.output = (Onnx__ValueInfoProto **)o->outputs.items;
    model.has_ir_version = 1;
    model.ir_version = IR_VERSION;
    model.n_opset_import = 1;
    model.opset_import = opsets;
    model.producer_name = producer;
    model.graph = &graph;
    model.n_metadata_props = o->notes.count;
    model.metadata_props = (Onnx__StringStringEntryProto **)o->notes.items;
    size_t bytes = onnx__model_proto__get_packed_size(&model);
    uint8_t *packed = malloc(bytes);
    if (packed == NULL)
        return error_memory(err, "a model");
    (void)onnx__model_proto__pack(&model, packed);
    buf_append(out, packed, bytes);
    free(packed);
    return out->failed ? error_memory(err, "a model") : STATUS_OK;
}

/* Copies the model into a graph, and then encodes the graph as a second copy. A copy has at most 512 MB and takes
 * little time, so the query's deadline is checked only before each copy. */
static enum status onnx_export_encode(struct exchange *x, struct query_run *run, const struct storage_job *job,
                                      const struct storage_checkpoint *checkpoint, const struct method *method,
                                      struct error *err)
{
    struct model_lease lease;
    struct onnx *onnx = NULL;
    char seq[24];
    enum status status = model_cache_get(x->api->models, method, job, checkpoint->seq, &lease, err);
    if (status)
        return status;
    status = work_check(&x->work, err);
    if (!status)
        status = onnx_create(&onnx, err);
    if (!status)
        status = method->graph(lease.model, onnx_writer(onnx), err);
    model_cache_release(x->api->models, &lease);
    if (!status)
        status = work_check(&x->work, err);
    (void)snprintf(seq, sizeof seq, "%lld", (long long)checkpoint->seq);
    if (!status) {
        onnx_note(onnx, "kind", job->kind);
        onnx_note(onnx, "job", job->id);
        onnx_note(onnx, "checkpoint", seq);
        onnx_note(onnx, "config", job->config);
        status = onnx_encode(onnx, job->kind, &x->response->body, err);
    }
    onnx_destroy(onnx);
    return status;
}

static void respond_model(struct exchange *x, const struct storage_job *job,
                          const struct storage_checkpoint *checkpoint, const struct method *method)
{
    struct error err;
    char hex[HASH_TEXT], etag[HASH_TEXT + 8];
    error_clear(&err);
    hash_hex(checkpoint->sha256, hex);
    (void)snprintf(etag, sizeof etag, "\"%s\"", hex);
    if (respond_not_modified(x, etag))
        return;
    struct query_run run;
    if (!queries_enter(x, false, &run))
        return;
    enum status status = onnx_export_encode(x, &run, job, checkpoint, method, &err);
    queries_leave(&run);
    if (status) {
        buf_clear(&x->response->body);
        if (status == STATUS_CANCELLED)
            queries_respond_stopped(&run);
        else
            respond_error(x, &err);
        return;
    }
    response_header(x->response, "X-Checkpoint", "%lld", (long long)checkpoint->seq);
    response_header(x->response, "Content-Disposition", "attachment; filename=\"%s-%lld.onnx\"", job->id,
                    (long long)checkpoint->seq);
    respond_body(x, 200, "application/octet-stream");
}

void onnx_show(struct exchange *x)
{
    struct storage_job job;
    struct storage_checkpoint checkpoint;
    if (!exchange_job(x, &job))
        return;
    const struct method *method = api_method(x->api, job.kind);
    if (method == NULL || method->graph == NULL || method->open == NULL) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Models of kind %s cannot be exported as ONNX.", job.kind);
        return;
    }
    if (exchange_checkpoint(x, &job, &checkpoint))
        respond_model(x, &job, &checkpoint, method);
}
