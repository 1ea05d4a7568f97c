/* Answers queries about many rows: body and answer are .npy arrays of the shape [rows][numbers]. */
#ifndef MOTIF_API_QUERIES_QUERY_ROWS_H
#define MOTIF_API_QUERIES_QUERY_ROWS_H

#include "api/queries/queries.h"
#include "api/queries/query_request.h"

#define QUERY_ROWS_MAX 100000                /* maximum number of rows */
#define QUERY_ROWS_BYTES ((uint64_t)4 << 30) /* upper limit of the bytes of an answer */

/* Answers the question for every row of the request's body and responds. A file without a name receives the answer, and
 * the response reads from it, so memory grows neither with the body nor with the answer. */
void query_rows_answer(struct exchange *x, const struct query_request *a, const struct method_question *question);

#endif
