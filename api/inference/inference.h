/* Handlers of the Open Inference Protocol (version 2): health, metadata and inferences of trained models, with the
 * binary tensor data extension.
 *
 * The name of a model is the id or name of its job, or `latest`; a version is the number of a checkpoint. Inferences
 * are queries: they share the limits, places and deadline of queries. routes.c has one row for each handler, and each
 * handler sends a response. */
#ifndef MOTIF_API_INFERENCE_INFERENCE_H
#define MOTIF_API_INFERENCE_INFERENCE_H

#include "api/http/route.h"

struct exchange;

/* Number of bytes of the JSON that begins a body with binary data. */
#define INFERENCE_HEADER "Inference-Header-Content-Length"

extern const struct api_dialect inference_dialect;

void inference_server(struct exchange *x);
void inference_live(struct exchange *x);
void inference_ready(struct exchange *x);
void inference_model(struct exchange *x);
void inference_model_ready(struct exchange *x);
void inference_infer(struct exchange *x);

#endif
