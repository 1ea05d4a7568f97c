/* Reads the inputs of queries. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_INPUT_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_INPUT_H

#include "core/methods/method.h"
#include "core/methods/sparling/domains/domain.h"

/* Reads an input as planes, [channels][rows][cols]: draws a sample with its truth, or converts an array, a text or a
 * recording, which has no truth. A recording at another rate is resampled. Errors: STATUS_INVALID with the pointer of
 * the wrong part of the input, STATUS_NO_MEMORY, and those of the domain. */
enum status query_input_read(const struct open_domain *domain, const struct method_input *input, float *planes,
                             struct domain_truth *truth, struct error *err);

#endif
