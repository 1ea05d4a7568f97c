/* Greedy decoding of label sequences from the head, with cached keys and values. */
#ifndef MOTIF_CORE_METHODS_SPARLING_MODEL_DECODE_H
#define MOTIF_CORE_METHODS_SPARLING_MODEL_DECODE_H

#include "core/methods/sparling/model/network.h"

#define DECODE_TOKENS 128 /* upper limit of the steps of a decode: DOMAIN_LABEL + 64 */

struct decoded {
    int length;                       /* number of tokens before the first END, or of all steps if there is no END */
    bool ended;                       /* whether END was decoded */
    int32_t tokens[DECODE_TOKENS];    /* the decoded tokens; END is among them if `ended` */
    float probability[DECODE_TOKENS]; /* softmax probability of each token */
};

/* Decodes up to `steps` tokens (at most DECODE_TOKENS) for each of `count` samples: always the most probable token, the
 * lowest index on a tie. Tokens after END are dropped; START counts as an ordinary token. memory: what the decoder
 * attends to for these samples. out: [count]. The exec must be in evaluation. Errors: STATUS_INTERNAL if `steps` is too
 * large, STATUS_NO_MEMORY. */
enum status decode_greedy(struct exec *e, struct network *network, const struct network_memory *memory, int count,
                          int steps, struct decoded *out, struct error *err);

/* Whether the decoded tokens are a label, followed by END. The tokens of a label are numbered from 0 (domain.h),
 * decoded tokens from TOKEN_FIRST. */
bool decoded_equals(const struct decoded *decoded, const int32_t *label, int length);
/* Edit distance between the decoded tokens and a label, divided by the length of the longer one. */
double decoded_edit_error(const struct decoded *decoded, const int32_t *label, int length);

#endif
