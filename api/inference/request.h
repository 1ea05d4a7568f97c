/* A request for an inference (Open Inference Protocol): the model, its inputs, and the outputs that the client wants.
 */
#ifndef MOTIF_API_INFERENCE_REQUEST_H
#define MOTIF_API_INFERENCE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/http/exchange.h"
#include "api/queries/inputs.h"
#include "core/base/error.h"
#include "core/methods/method.h"
#include "protocol/json.h"
#include "storage/storage.h"

/* Tensors of the Open Inference Protocol: data types, and reading the tensor of a request.
 *
 * Pure functions; any thread. */

enum { TENSOR_DATATYPES = 12, TENSOR_RANK = 4 };

struct tensor_datatype {
    const char *name; /* "FP32" */
    size_t bytes;     /* bytes of an element */
    enum { TENSOR_BOOLEAN, TENSOR_UNSIGNED, TENSOR_SIGNED, TENSOR_FLOAT } family;
};

/* Returns the numeric data type of this name; NULL: there is none. */
const struct tensor_datatype *tensor_datatype(const char *name);

/* The forms in which a sparse output is offered: all values; or the values that are not zero, and where they are. */
enum inference_part { PART_DENSE, PART_COORDINATES, PART_VALUES, INFERENCE_PARTS };

#define INFERENCE_OUTPUTS ((size_t)METHOD_OUTPUTS * INFERENCE_PARTS)

struct inference_output {
    char name[64]; /* "motifs", "motifs_coordinates", "motifs_values" */
    size_t tensor; /* index in method->outputs */
    enum inference_part part;
    bool binary; /* send it as binary data */
};
/* Lists the outputs that models of a method offer; returns their number, at most INFERENCE_OUTPUTS. */
size_t inference_offers(const struct method *method, struct inference_output *out);
const char *inference_datatype(const struct method *method, const struct inference_output *output);

/* A model: a job that has a checkpoint, and whose method describes its inputs and outputs as tensors. */
struct inference_target {
    struct storage_job job;
    const struct method *method;
    struct storage_checkpoint checkpoint;
};
/* Finds the model of the job {id} and the checkpoint {seq} of the route; without {seq}, of the job's latest checkpoint.
 * Returns false after it has sent an error. */
bool inference_find(struct exchange *x, struct inference_target *target);

struct inference_request {
    struct inference_target target;
    const char *id; /* the client's id of the request, in the arena of the exchange; NULL: none */
    struct inputs inputs;
    struct inference_output outputs[INFERENCE_OUTPUTS];
    size_t output_count;
    bool listed; /* the client has listed the outputs; otherwise these are all outputs of the method */
};
/* Reads a request into `r`, which the caller zeroes. Returns false after it has sent an error. The caller calls
 * inference_close() in both cases. */
bool inference_read(struct exchange *x, struct inference_request *r);
void inference_close(struct inference_request *r);

#endif
