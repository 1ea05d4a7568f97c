/* Greedy decoding with a cache: each step computes one new position of the decoder (decode.h). */
#include "core/methods/sparling/model/decode.h"

#include <math.h>

#include "core/metrics/edit_distance.h"

/* Returns the most probable token of a row of logits and sets its probability. */
static int32_t best_token(const real *logits, int count, float *probability)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (logits[i] > logits[best])
            best = i;
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += exp((double)(logits[i] - logits[best]));
    *probability = (float)(1 / sum);
    return best;
}

static void model_decode_take(struct decoded *out, int step, int32_t token, float probability)
{
    if (out->ended)
        return;
    out->tokens[step] = token;
    out->probability[step] = probability;
    if (token == TOKEN_END)
        out->ended = true;
    else
        out->length = step + 1;
}

enum status decode_greedy(struct exec *e, struct network *n, const struct network_memory *memory, int count, int steps,
                          struct decoded *out, struct error *err)
{
    struct decode_cache cache;
    int vocabulary = sparling_vocabulary(&n->config), width = (int)n->config.channels;
    if (steps > n->longest || steps > DECODE_TOKENS)
        return error_set(err, STATUS_INTERNAL, NULL, "%d decoding steps were requested; the tables have %d", steps,
                         n->longest);
    int32_t *next = arena_zalloc(e->arena, (size_t)count, sizeof *next); /* every token is START, which is 0 */
    if (!next)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to decode");
    for (int i = 0; i < count; i++)
        out[i] = (struct decoded){0};
    if (!memory->rows ||
        !decode_begin(e, &cache, &n->decoder, memory->rows, count, memory->keys, steps, memory->lengths))
        return exec_status(e, err);
    int open = count;
    for (int step = 0; step < steps && open > 0; step++) {
        struct weight position = weight_constant(n->target_sines.value + (size_t)step * (size_t)width, 1, width);
        struct tensor *y = op_embedding(e, next, count, n->tokens);
        y = op_add_rows(e, y, &position, 1, 1, 0);
        y = linear_forward(e, &n->out, decode_step(e, &cache, y), false, 0);
        if (!y)
            return exec_status(e, err);
        open = 0;
        for (int i = 0; i < count; i++) {
            float probability;
            next[i] = best_token(y->data + (size_t)i * (size_t)vocabulary, vocabulary, &probability);
            model_decode_take(&out[i], step, next[i], probability);
            open += !out[i].ended;
        }
    }
    return exec_status(e, err);
}

bool decoded_equals(const struct decoded *decoded, const int32_t *label, int length)
{
    if (!decoded->ended || decoded->length != length)
        return false;
    for (int i = 0; i < length; i++)
        if (decoded->tokens[i] != TOKEN_FIRST + label[i])
            return false;
    return true;
}

double decoded_edit_error(const struct decoded *decoded, const int32_t *label, int length)
{
    int wanted[DOMAIN_LABEL], got[DECODE_TOKENS];
    for (int i = 0; i < length; i++)
        wanted[i] = TOKEN_FIRST + label[i];
    for (int i = 0; i < decoded->length; i++)
        got[i] = decoded->tokens[i];
    return edit_error(wanted, length, got, decoded->length);
}
