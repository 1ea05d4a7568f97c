/* Greedy decoding of label sequences from the head, with cached keys and values. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DECODE_H
#define MOTIF_CORE_METHODS_SPARLING_DECODE_H

#include "core/methods/sparling/network.h"

#define DECODE_TOKENS 80 /* most steps of a decode: 10 symbols and 64 more, rounded up */

struct decoded {
    int length;                           /* tokens before the first END, or all steps without one */
    bool ended;                           /* END came within the steps */
    int32_t tokens[DECODE_TOKENS];        /* as decoded, END included when `ended` */
    float probability[DECODE_TOKENS];     /* softmax of each */
};

/* memory: of `count` samples. `steps` tokens are decoded for each (at most
 * DECODE_TOKENS), the most probable every time, lowest index on a tie; what follows END is dropped.
 * START counts as an ordinary token. Evaluation only. out: [count]. */
enum status decode_greedy(struct exec *e, struct network *network, const struct network_memory *memory, int count,
                          int steps, struct decoded *out, struct error *err);

/* Whether the decoded tokens are exactly the `length` symbols (0-based digits) of a label. */
bool decoded_equals(const struct decoded *decoded, const int *symbols, int length);

#endif
