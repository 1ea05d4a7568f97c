/* Replaces letters of training samples by random letters (replace_letters).
 *
 * A model with few training samples learns them by heart. If a sample has other letters each time it is drawn, the
 * model must rely on motifs, which survive a few wrong letters, as they do in the data. */
#include "core/methods/sparling/domains/dataset_letters.h"

#include "core/base/random/philox.h"

enum { STREAM_REPLACE = 0x7265706C };

bool dataset_has_letters(const struct collection *c, const struct collection_moments *m)
{
    const double least = 0.9; /* share of positions with a letter */
    double positions = (double)m->count / c->channels;
    return c->rows == 1 && c->channels > 1 && m->min >= 0 && m->max <= 1 && m->sum == m->squares &&
           m->sum <= positions && m->sum >= least * positions;
}

void dataset_replace_letters(float *planes, int channels, int cols, int64_t length, double share, int64_t seed,
                             int64_t index)
{
    struct philox from = philox_stream((uint64_t)seed, STREAM_REPLACE, (uint64_t)index);
    for (int64_t i = 0; i < length; i++) {
        if ((double)philox_u32(&from, (uint64_t)(2 * i)) >= share * 4294967296.0)
            continue;
        int letter = (int)(philox_u32(&from, (uint64_t)(2 * i + 1)) % (uint32_t)channels);
        for (int c = 0; c < channels; c++)
            planes[(ptrdiff_t)c * cols + i] = c == letter ? 1 : 0;
    }
}
