/* A request for one query of a job: which query, with which inputs, parameters and checkpoints. */
#ifndef MOTIF_API_QUERIES_QUERY_REQUEST_H
#define MOTIF_API_QUERIES_QUERY_REQUEST_H

#include "api/http/exchange.h"
#include "protocol/faults.h"
#include "api/queries/inputs.h"
#include "core/methods/method.h"
#include "storage/storage.h"

/* The representation of the answer. */
enum query_form { FORM_DOCUMENT, FORM_PICTURE, FORM_ARRAY, FORM_TEXT };

/* A request for one query while it is read and answered. */
struct query_request {
    struct storage_job job, with;
    const struct method *method;
    const struct method_query *query;
    struct storage_checkpoint_pick pick;
    struct storage_checkpoint checkpoint, with_checkpoint;
    struct inputs *inputs; /* the inputs, for a query that takes samples or inputs; else NULL */
    bool rows;             /* the body is an array of many rows (query_rows.h); `inputs` is empty */
    const char *absent;    /* the name that the empty label stands for; NULL or "": none */
    void *parameters;      /* a struct of query->parameters, or NULL */
    struct api_faults *faults;
    int64_t item;
    enum query_form form;
    const struct method_text *text; /* with FORM_TEXT; else NULL */
    struct query_run *run;          /* of the caller; valid between queries_enter() and queries_leave() */
};

/* Reads a request into `a`, which the caller zeroes except for `run`. The route of the request must come from a
 * method's table (query_routes.h). Returns false after it has sent an error. The caller must call query_request_close()
 * in both cases. */
bool query_request_read(struct exchange *x, struct query_request *a);
void query_request_close(struct query_request *a);

/* Returns the media type of the body, from ?format= or else from the Content-Type; NULL: the request has neither. */
const char *query_request_type(const struct exchange *x);
/* True if the body is JSON; otherwise it is a file. */
bool query_request_is_json(const struct exchange *x);

#endif
