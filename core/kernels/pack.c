/* Copies weights between PyTorch's shapes and the packed order that the kernels read, and merges moments. */
#include <string.h>

#include "core/kernels/kernels.h"

enum { TILE = MAP_LANES * MAP_LANES };

size_t conv_packed_size(int out_channels, int in_channels, int kernel_h, int kernel_w)
{
    return (size_t)map_padded(out_channels) * (size_t)map_padded(in_channels) * (size_t)(kernel_h * kernel_w);
}

static int lanes_from(int channels, int first)
{
    return channels - first < MAP_LANES ? channels - first : MAP_LANES;
}

/* Packs one matrix [16 in][16 out]. from: the weight of the first input channel and the first output channel; step_in,
 * step_out: distance in reals from one input channel, or output channel, to the next. */
static void pack_matrix(const real *from, size_t step_in, size_t step_out, int ins, int outs, real *to)
{
    memset(to, 0, TILE * sizeof *to);
    for (int i = 0; i < ins; i++)
        for (int o = 0; o < outs; o++)
            to[i * MAP_LANES + o] = from[(size_t)i * step_in + (size_t)o * step_out];
}

void conv_pack_blocks(const real *weights, int out_channels, int in_channels, int kernel_h, int kernel_w, int first,
                      int count, real *packed)
{
    size_t taps = (size_t)(kernel_h * kernel_w), row = (size_t)in_channels * taps;
    packed += (size_t)(first * map_blocks(in_channels)) * taps * TILE;
    for (int o = first * MAP_LANES; o < (first + count) * MAP_LANES; o += MAP_LANES)
        for (int i = 0; i < in_channels; i += MAP_LANES)
            for (size_t tap = 0; tap < taps; tap++, packed += TILE)
                pack_matrix(weights + (size_t)o * row + (size_t)i * taps + tap, taps, row, lanes_from(in_channels, i),
                            lanes_from(out_channels, o), packed);
}

void conv_pack_transposed_blocks(const real *weights, int out_channels, int in_channels, int kernel_h, int kernel_w,
                                 int first, int count, real *packed)
{
    size_t taps = (size_t)(kernel_h * kernel_w), row = (size_t)in_channels * taps;
    packed += (size_t)(first * map_blocks(out_channels)) * taps * TILE;
    for (int i = first * MAP_LANES; i < (first + count) * MAP_LANES; i += MAP_LANES)
        for (int o = 0; o < out_channels; o += MAP_LANES)
            for (size_t tap = taps; tap-- > 0; packed += TILE)
                pack_matrix(weights + (size_t)o * row + (size_t)i * taps + tap, row, taps, lanes_from(out_channels, o),
                            lanes_from(in_channels, i), packed);
}

/* conv_unpack_add_parts() works on parts: PART input channels of one pair of an output and an input block. */
enum { PART = 4, PARTS = MAP_LANES / PART };

int conv_unpack_parts(int out_channels, int in_channels)
{
    return map_blocks(out_channels) * map_blocks(in_channels) * PARTS;
}

void conv_unpack_add_parts(const real *partials, int count, size_t stride, int out_channels, int in_channels,
                           int kernel_h, int kernel_w, int first, int parts, real *weights)
{
    size_t taps = (size_t)(kernel_h * kernel_w);
    for (int part = first; part < first + parts; part++) {
        int pair = part / PARTS, in_blocks = map_blocks(in_channels);
        int o = pair / in_blocks * MAP_LANES, i = pair % in_blocks * MAP_LANES + part % PARTS * PART;
        int outs = lanes_from(out_channels, o), ins = lanes_from(in_channels, i);
        for (size_t tap = 0; tap < taps; tap++) {
            const real *from =
                partials + ((size_t)pair * taps + tap) * TILE + (size_t)(part % PARTS * PART * MAP_LANES);
            real sum[PART * MAP_LANES] = {0},
                            *to = weights + ((size_t)o * (size_t)in_channels + (size_t)i) * taps + tap;
            for (int n = 0; n < count; n++, from += stride)
                for (int k = 0; k < PART * MAP_LANES; k++)
                    sum[k] += from[k];
            for (int row = 0; row < outs; row++)
                for (int col = 0; col < PART && col < ins; col++)
                    to[((size_t)row * (size_t)in_channels + (size_t)col) * taps] += sum[col * MAP_LANES + row];
        }
    }
}

void planar_pack(const real *weights, int out_channels, int in_channels, real *packed)
{
    int padded = map_padded(out_channels);
    memset(packed, 0, (size_t)in_channels * (size_t)padded * sizeof *packed);
    for (int o = 0; o < out_channels; o++)
        for (int i = 0; i < in_channels; i++)
            packed[(size_t)i * (size_t)padded + (size_t)o] = *weights++;
}

void planar_unpack_add(const real *partials, int count, size_t stride, int out_channels, int in_channels, real *weights)
{
    int padded = map_padded(out_channels);
    for (int i = 0; i < in_channels; i++)
        for (int o = 0; o < out_channels; o += MAP_LANES) {
            const real *from = partials + (size_t)i * (size_t)padded + (size_t)o;
            real sum[MAP_LANES] = {0}, *to = weights + (size_t)o * (size_t)in_channels + (size_t)i;
            int outs = lanes_from(out_channels, o);
            for (int k = 0; k < outs; k++)
                sum[k] = to[(size_t)k * (size_t)in_channels];
            for (int n = 0; n < count; n++, from += stride)
                for (int k = 0; k < MAP_LANES; k++)
                    sum[k] += from[k];
            for (int k = 0; k < outs; k++)
                to[(size_t)k * (size_t)in_channels] = sum[k];
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
