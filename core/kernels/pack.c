/* Copies weights between PyTorch's shapes and the packed order that the kernels read, and merges moments. Weights are
 * packed once per step, so this code is not optimised. */
#include <string.h>

#include "core/kernels/kernels.h"

size_t conv_packed_size(int out_channels, int in_channels, int kernel_h, int kernel_w)
{
    return (size_t)map_padded(out_channels) * (size_t)map_padded(in_channels) * (size_t)(kernel_h * kernel_w);
}

/* Index of weight (o, i, tap) in the packed order. */
static size_t packed_at(int o, int i, int tap, int in_blocks, int taps)
{
    size_t block = (size_t)(o / MAP_LANES) * (size_t)in_blocks + (size_t)(i / MAP_LANES);
    return ((block * (size_t)taps + (size_t)tap) * MAP_LANES + (size_t)(i % MAP_LANES)) * MAP_LANES +
           (size_t)(o % MAP_LANES);
}

void conv_pack(const real *weights, int out_channels, int in_channels, int kernel_h, int kernel_w, real *packed)
{
    int taps = kernel_h * kernel_w;
    memset(packed, 0, conv_packed_size(out_channels, in_channels, kernel_h, kernel_w) * sizeof(real));
    for (int o = 0; o < out_channels; o++)
        for (int i = 0; i < in_channels; i++)
            for (int tap = 0; tap < taps; tap++)
                packed[packed_at(o, i, tap, map_blocks(in_channels), taps)] = *weights++;
}

void conv_pack_transposed(const real *weights, int out_channels, int in_channels, int kernel_h, int kernel_w,
                          real *packed)
{
    int taps = kernel_h * kernel_w;
    memset(packed, 0, conv_packed_size(in_channels, out_channels, kernel_h, kernel_w) * sizeof(real));
    for (int o = 0; o < out_channels; o++)
        for (int i = 0; i < in_channels; i++)
            for (int tap = 0; tap < taps; tap++)
                packed[packed_at(i, o, taps - 1 - tap, map_blocks(out_channels), taps)] = *weights++;
}

void conv_unpack_add(const real *partials, int count, size_t stride, int out_channels, int in_channels, int kernel_h,
                     int kernel_w, real *weights)
{
    int taps = kernel_h * kernel_w;
    for (int o = 0; o < out_channels; o++) {
        for (int i = 0; i < in_channels; i++) {
            for (int tap = 0; tap < taps; tap++, weights++) {
                const real *from = partials + packed_at(o, i, tap, map_blocks(in_channels), taps);
                real sum = 0;
                for (int n = 0; n < count; n++)
                    sum += from[(size_t)n * stride];
                *weights += sum;
            }
        }
    }
}

size_t embed_packed_size(int features, int channels)
{
    return 2 * (size_t)features * (size_t)map_padded(channels);
}

void embed_pack(const real *weights, int features, int channels, real *packed)
{
    int padded = map_padded(channels);
    real *by_feature = packed + (size_t)features * (size_t)padded;
    memset(packed, 0, embed_packed_size(features, channels) * sizeof(real));
    for (int d = 0; d < features; d++) {
        for (int c = 0; c < channels; c++) {
            packed[(size_t)c * (size_t)features + (size_t)d] = *weights;
            by_feature[(size_t)d * (size_t)padded + (size_t)c] = *weights++;
        }
    }
}

void pad_rows(const real *from, int rows, int columns, real *to, int to_rows, int to_columns)
{
    memset(to, 0, (size_t)to_rows * (size_t)to_columns * sizeof(real));
    for (int r = 0; r < rows; r++)
        memcpy(to + (size_t)r * (size_t)to_columns, from + (size_t)r * (size_t)columns, (size_t)columns * sizeof(real));
}

void unpad_rows_add(const real *from, int from_columns, real *to, int rows, int columns)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            to[(size_t)r * (size_t)columns + (size_t)c] += from[(size_t)r * (size_t)from_columns + (size_t)c];
}

void moments_merge(double *into, int64_t count_into, const double *from, int64_t count_from, int channels)
{
    double n = (double)(count_into + count_from);
    if (n <= 0)
        return;
    double share = (double)count_from / n;
    for (int c = 0; c < channels; c++) {
        double delta = from[c] - into[c];
        into[c] += delta * share;
        into[channels + c] += from[channels + c] + delta * delta * (double)count_into * share;
    }
}
