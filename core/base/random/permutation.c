/* A random order of [0, count), computed place by place (permutation.h). The round function is Philox. */
#include "core/base/random/permutation.h"

#include "core/base/random/philox.h"

enum { ROUNDS = 4 };

struct permutation permutation_make(int64_t count, uint64_t seed, uint32_t stream, uint64_t step)
{
    const struct philox from = philox_stream(seed, stream, step);
    struct permutation order = {.count = count, .half = 1};
    while (((int64_t)1 << (2 * order.half)) < count)
        order.half++;
    /* Takes the keys from the first two words of the stream, because the stream's own key is the same in every step. */
    order.key[0] = philox_u32(&from, 0);
    order.key[1] = philox_u32(&from, 1);
    return order;
}

int64_t permutation_at(const struct permutation *order, int64_t at)
{
    uint32_t mask = (uint32_t)(((int64_t)1 << order->half) - 1);
    do {
        uint32_t left = (uint32_t)(at >> order->half) & mask, right = (uint32_t)at & mask;
        for (uint32_t round = 0; round < ROUNDS; round++) {
            const uint32_t counter[4] = {right, round, 0, 0};
            uint32_t out[4];
            philox_block(counter, order->key, out);
            uint32_t mixed = left ^ (out[0] & mask);
            left = right;
            right = mixed;
        }
        at = (int64_t)left << order->half | right;
    } while (at >= order->count);
    return at;
}
