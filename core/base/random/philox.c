/* Philox4x32-10. The fill functions compute LANES blocks side by side, so that the compiler vectorises the inner
 * loops. Element i is always word (i mod 4) of block (i / 4), so the functions for one element and those for many
 * give the same values. */
#include "core/base/random/philox.h"

#include <math.h>

#define ROUNDS 10
#define MULTIPLIER_0 0xd2511f53U
#define MULTIPLIER_1 0xcd9e8d57U
#define WEYL_0 0x9e3779b9U
#define WEYL_1 0xbb67ae85U
#define LANES 16

void philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)MULTIPLIER_0 * c0, p1 = (uint64_t)MULTIPLIER_1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* Computes blocks first .. first+LANES-1, in element order. */
static void lanes(const struct philox *from, uint64_t first, uint32_t out[restrict 4 * LANES])
{
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
    uint32_t k0 = from->key[0], k1 = from->key[1];
    for (uint32_t lane = 0; lane < LANES; lane++) {
        c0[lane] = (uint32_t)(first + lane);
        c1[lane] = (uint32_t)((first + lane) >> 32);
        c2[lane] = from->step[0];
        c3[lane] = from->step[1];
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int lane = 0; lane < LANES; lane++) {
            uint64_t p0 = (uint64_t)MULTIPLIER_0 * c0[lane], p1 = (uint64_t)MULTIPLIER_1 * c2[lane];
            c0[lane] = (uint32_t)(p1 >> 32) ^ c1[lane] ^ k0;
            c1[lane] = (uint32_t)p1;
            c2[lane] = (uint32_t)(p0 >> 32) ^ c3[lane] ^ k1;
            c3[lane] = (uint32_t)p0;
        }
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    for (int lane = 0; lane < LANES; lane++) {
        out[4 * lane] = c0[lane];
        out[4 * lane + 1] = c1[lane];
        out[4 * lane + 2] = c2[lane];
        out[4 * lane + 3] = c3[lane];
    }
}

struct philox philox_stream(uint64_t seed, uint32_t stream, uint64_t step)
{
    const uint32_t name[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), stream, 0}, none[2] = {0, 0};
    uint32_t key[4];
    philox_block(name, none, key);
    return (struct philox){.key = {key[0], key[1]}, .step = {(uint32_t)step, (uint32_t)(step >> 32)}};
}

uint32_t philox_u32(const struct philox *from, uint64_t index)
{
    uint64_t block = index / 4;
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), from->step[0], from->step[1]}, out[4];
    philox_block(counter, from->key, out);
    return out[index % 4];
}

static inline float uniform_of(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* Returns a standard normal number by Box-Muller. Maps the radius word to (0, 1], because the logarithm of 0 is not
 * finite. */
static double normal_of(uint32_t radius_word, uint32_t angle_word, uint64_t index)
{
    double radius = sqrt(-2.0 * log(((double)radius_word + 1.0) * 0x1p-32));
    double angle = 6.28318530717958647692 * ((double)angle_word * 0x1p-32);
    return radius * (index % 2 == 0 ? cos(angle) : sin(angle));
}

float philox_uniform(const struct philox *from, uint64_t index)
{
    return uniform_of(philox_u32(from, index));
}

double philox_normal(const struct philox *from, uint64_t index)
{
    uint64_t even = index & ~(uint64_t)1;
    return normal_of(philox_u32(from, even), philox_u32(from, even + 1), index);
}

/* Computes LANES blocks, the first of which contains element *first. Sets *words to that element and returns how many
 * of the `count` wanted words are ready; advances *first by this number. */
static size_t next_words(const struct philox *from, uint64_t *first, size_t count, uint32_t space[4 * LANES],
                         const uint32_t **words)
{
    lanes(from, *first / 4, space);
    size_t skipped = (size_t)(*first % 4), ready = 4 * LANES - skipped;
    *words = space + skipped;
    ready = ready < count ? ready : count;
    *first += ready;
    return ready;
}

void philox_fill_u32(const struct philox *from, uint64_t first, uint32_t *out, size_t count)
{
    uint32_t space[4 * LANES];
    while (count > 0) {
        const uint32_t *words;
        size_t ready = next_words(from, &first, count, space, &words);
        for (size_t i = 0; i < ready; i++)
            out[i] = words[i];
        out += ready;
        count -= ready;
    }
}

void philox_fill_uniform(const struct philox *from, uint64_t first, float *out, size_t count)
{
    uint32_t space[4 * LANES];
    while (count > 0) {
        const uint32_t *words;
        size_t ready = next_words(from, &first, count, space, &words);
        for (size_t i = 0; i < ready; i++)
            out[i] = uniform_of(words[i]);
        out += ready;
        count -= ready;
    }
}

void philox_fill_normal(const struct philox *from, uint64_t first, double *out, size_t count)
{
    uint32_t space[4 * LANES];
    while (count > 0) {
        uint64_t start = first & ~(uint64_t)3; /* begin with the first element of a block, so that both words of a
                                                * pair are computed */
        lanes(from, start / 4, space);
        size_t skipped = (size_t)(first - start), ready = 4 * LANES - skipped;
        ready = ready < count ? ready : count;
        for (size_t i = 0; i < ready; i++) {
            size_t even = (skipped + i) & ~(size_t)1;
            out[i] = normal_of(space[even], space[even + 1], first + i);
        }
        first += ready;
        out += ready;
        count -= ready;
    }
}
