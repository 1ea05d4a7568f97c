/* The error rate of the motifs in the inputs of one request (core/metrics/false_marks.h, error_rate/negatives.h).
 *
 * p depends on the motif alone; q and the bound depend on all inputs of the request, so all are read before the first
 * answer is written. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_RATED_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_RATED_H

#include "core/methods/sparling/queries/query_model.h"

struct rated; /* the inputs of a request */

/* Members of struct method_together. */
enum status rated_begin(const struct method_question *question, const struct method_input *inputs, size_t count,
                        void **state, size_t *at, struct error *err);
void rated_write(const struct method_question *question, const void *state, const struct sink *out);
void rated_close(void *state);

/* Returns the inquiry of an input, with p and q of its motifs; motifs above the limit of the request are gone. The
 * function computes it again into `own`, which the caller closes, if rated_begin() did not keep it; own->planes is NULL
 * otherwise. Errors: as inquiry_read(). */
enum status rated_inquiry(const struct method_question *question, struct inquiry *own, struct inquiry **inquiry,
                          struct error *err);

#endif
