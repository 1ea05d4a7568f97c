/* MT19937, 624 words at a time, and numpy's legacy rules for uniform numbers, integers, shuffles and choices. */
#include "core/base/random/mt19937.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/hash.h"

#define WORDS 624
#define MIDDLE 397

void mt19937_init(struct mt19937 *rng, uint32_t seed)
{
    rng->state[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++) {
        uint32_t previous = rng->state[i - 1];
        rng->state[i] = 1812433253U * (previous ^ (previous >> 30)) + i;
    }
    rng->next = WORDS;
}

static inline uint32_t twisted(uint32_t upper, uint32_t lower)
{
    uint32_t both = (upper & 0x80000000U) | (lower & 0x7fffffffU);
    return (both >> 1) ^ ((0U - (both & 1U)) & 0x9908b0dfU);
}

/* Computes the next 624 words. The loops have no branches, so that the compiler vectorises them. */
static void refill(struct mt19937 *rng)
{
    uint32_t *s = rng->state;
    int i = 0;
    for (; i < WORDS - MIDDLE; i++)
        s[i] = s[i + MIDDLE] ^ twisted(s[i], s[i + 1]);
    for (; i < WORDS - 1; i++)
        s[i] = s[i + MIDDLE - WORDS] ^ twisted(s[i], s[i + 1]);
    s[WORDS - 1] = s[MIDDLE - 1] ^ twisted(s[WORDS - 1], s[0]);
    for (i = 0; i < WORDS; i++) {
        uint32_t word = s[i];
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c5680U;
        word ^= (word << 15) & 0xefc60000U;
        rng->words[i] = word ^ (word >> 18);
    }
    rng->next = 0;
}

static inline uint32_t next_word(struct mt19937 *rng)
{
    if (rng->next >= WORDS)
        refill(rng);
    return rng->words[rng->next++];
}

static inline double uniform_of(uint32_t high, uint32_t low)
{
    return ((double)(high >> 5) * 67108864.0 + (double)(low >> 6)) / 9007199254740992.0;
}

double mt19937_uniform(struct mt19937 *rng)
{
    uint32_t high = next_word(rng), low = next_word(rng);
    return uniform_of(high, low);
}

void mt19937_uniforms(struct mt19937 *rng, double *out, int count)
{
    for (int i = 0; i < count;) {
        int pairs = (WORDS - rng->next) / 2;
        pairs = pairs < count - i ? pairs : count - i;
        const uint32_t *words = rng->words + rng->next;
        for (int k = 0; k < pairs; k++)
            out[i + k] = uniform_of(words[2 * k], words[2 * k + 1]);
        rng->next += 2 * pairs;
        i += pairs;
        if (i < count) /* fewer than two words are left, so the pair needs a refill */
            out[i++] = mt19937_uniform(rng);
    }
}

int64_t mt19937_integer(struct mt19937 *rng, int64_t low, int64_t high)
{
    uint32_t range = (uint32_t)(high - 1 - low);
    if (range == 0)
        return low;
    uint32_t mask = range;
    for (int shift = 1; shift < 32; shift *= 2)
        mask |= mask >> shift;
    uint32_t value;
    do {
        value = next_word(rng) & mask;
    } while (value > range);
    return low + (int64_t)value;
}

void mt19937_shuffle(struct mt19937 *rng, int *values, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)mt19937_integer(rng, 0, (int64_t)i + 1);
        int kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}

void mt19937_permutation(struct mt19937 *rng, int *out, int count)
{
    for (int i = 0; i < count; i++)
        out[i] = i;
    mt19937_shuffle(rng, out, count);
}

int mt19937_choice(struct mt19937 *rng, int count)
{
    return (int)mt19937_integer(rng, 0, count);
}

int mt19937_weighted(struct mt19937 *rng, const double *weights, int count)
{
    double total = 0.0;
    for (int i = 0; i < count; i++)
        total += weights[i];
    double point = mt19937_uniform(rng);
    double sum = 0.0;
    int index = 0;
    for (; index < count - 1; index++) {
        sum += weights[index];
        if (sum / total > point)
            break;
    }
    return index;
}

uint32_t mt19937_sample_seed(int64_t seed, int64_t index)
{
    char text[64];
    int length = snprintf(text, sizeof text, "(%" PRId64 ", %" PRId64 ")", seed, index);
    unsigned char digest[HASH_BYTES];
    hash_bytes(text, (size_t)length, digest);
    return (uint32_t)digest[28] << 24 | (uint32_t)digest[29] << 16 | (uint32_t)digest[30] << 8 | digest[31];
}
