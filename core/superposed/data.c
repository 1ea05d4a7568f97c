/* Draws samples of the toy model (data.h). */
#include "core/superposed/data.h"

#include "core/base/random/philox.h"

void sample_draw(uint64_t seed, uint32_t stream, int64_t index, double p, int n, float *x)
{
    enum { PIECE = 256 };
    struct philox from = philox_stream(seed, stream, (uint64_t)index);
    uint32_t words[PIECE];
    double limit = p * 4294967296.0;
    uint32_t below = limit >= 4294967295.0 ? UINT32_MAX : (uint32_t)limit;
    float scale = (float)(1 / limit);
    for (int at = 0; at < n; at += PIECE) {
        int count = n - at < PIECE ? n - at : PIECE;
        philox_fill_u32(&from, (uint64_t)at, words, (size_t)count);
        for (int i = 0; i < count; i++) {
            float value = (float)(words[i] >> 8) * 256.0f * scale;
            x[at + i] = words[i] < below ? value : 0.0f;
        }
    }
}
