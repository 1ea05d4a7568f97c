/* Greedy decoding of label sequences from the head, with cached keys and values. */
#ifndef MOTIF_CORE_METHODS_SPARLING_MODEL_DECODE_H
#define MOTIF_CORE_METHODS_SPARLING_MODEL_DECODE_H

#include "core/methods/sparling/model/network.h"

#define DECODE_TOKENS 128 /* most steps of a decode: DOMAIN_LABEL and 64 more */

struct decoded {
    int length;                       /* tokens before the first END, or all steps without one */
    bool ended;                       /* END came within the steps */
    int32_t tokens[DECODE_TOKENS];    /* as decoded, END included when `ended` */
    float probability[DECODE_TOKENS]; /* softmax of each */
};

/* memory: of `count` samples. `steps` tokens are decoded for each (at most
 * DECODE_TOKENS), the most probable every time, lowest index on a tie; what follows END is dropped.
 * START counts as an ordinary token. Evaluation only. out: [count]. */
enum status decode_greedy(struct exec *e, struct network *network, const struct network_memory *memory, int count,
                          int steps, struct decoded *out, struct error *err);

/* Whether the decoded tokens are exactly those of a label (which counts from 0, domain.h). */
bool decoded_equals(const struct decoded *decoded, const int32_t *label, int length);
/* Edit distance between the two as a share of the longer one. */
double decoded_edit_error(const struct decoded *decoded, const int32_t *label, int length);

#endif
