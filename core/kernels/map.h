/* The layout of image and sequence maps in the motif network, from its first convolution to the motif map.
 *
 *     [image][channel block of 16][halo_h + height + halo_h][halo_w + width + halo_w][16]
 *
 * Channels are padded to a multiple of 16, so that a pixel of a block is one AVX-512 register. Padding channels and the
 * halo are zero, and every operation keeps them zero; a 3x3 convolution therefore needs no special case at the edges.
 * Images have halo_h = halo_w = 1. Sequences have height 1, halo_h 0 and halo_w 1. All functions are pure; any thread
 * may call them. */
#ifndef MOTIF_CORE_KERNELS_MAP_H
#define MOTIF_CORE_KERNELS_MAP_H

#include <stddef.h>

#include "core/base/real.h"

enum { MAP_LANES = 16 };

struct map_shape {
    int images, channels, height, width;
    int halo_h, halo_w;
};

/* Part of one image: some rows of all its channel blocks. `at` points at the first pixel inside the halo of the first
 * row of block 0. The strides `block` and `row` are in reals; neighbouring pixels are MAP_LANES reals apart. Kernels
 * take strips, so that they work on scratch rows and on whole maps alike. They write only through output strips. An
 * optional strip is absent if `at` is NULL. */
struct map_strip {
    real *at;
    ptrdiff_t block, row;
};

static inline int map_blocks(int channels)
{
    return (channels + MAP_LANES - 1) / MAP_LANES;
}
static inline int map_padded(int channels)
{
    return map_blocks(channels) * MAP_LANES;
}

/* The number of channels of the last block. */
static inline int map_lanes(int channels)
{
    return channels - (map_blocks(channels) - 1) * MAP_LANES;
}

static inline ptrdiff_t map_row_stride(const struct map_shape *s)
{
    return (ptrdiff_t)(s->width + 2 * s->halo_w) * MAP_LANES;
}

static inline ptrdiff_t map_block_stride(const struct map_shape *s)
{
    return (ptrdiff_t)(s->height + 2 * s->halo_h) * map_row_stride(s);
}

static inline ptrdiff_t map_image_stride(const struct map_shape *s)
{
    return (ptrdiff_t)map_blocks(s->channels) * map_block_stride(s);
}

/* The number of reals in the whole map, halo and padding included. */
static inline size_t map_size(const struct map_shape *s)
{
    return (size_t)s->images * (size_t)map_image_stride(s);
}

/* Offset in reals of lane 0 of a pixel; row y and column x are counted inside the halo. */
static inline ptrdiff_t map_offset(const struct map_shape *s, int image, int block, int y, int x)
{
    return image * map_image_stride(s) + block * map_block_stride(s) + (y + s->halo_h) * map_row_stride(s) +
           (ptrdiff_t)(x + s->halo_w) * MAP_LANES;
}

/* The strip of `image` that begins at row `row`. */
static inline struct map_strip map_strip_at(const struct map_shape *s, const real *data, int image, int row)
{
    struct map_strip strip = {(real *)data + map_offset(s, image, 0, row, 0), map_block_stride(s), map_row_stride(s)};
    return strip;
}

/* Writes zeros to the halo of one image, because arena memory is uninitialised. */
void map_clear_halo(const struct map_shape *shape, real *data, int image);

/* Copy an image between the blocked layout and planes [channel][height][width]. map_from_planar() zeroes the padding
 * channels; neither touches the halo. */
void map_from_planar(const struct map_shape *shape, const real *planar, real *data, int image);
void map_to_planar(const struct map_shape *shape, const real *data, real *planar, int image);

/* Copy an image between the blocked layout and rows [height * width][channels], `stride` reals from row to row. */
void map_from_rows(const struct map_shape *shape, const real *rows, ptrdiff_t stride, real *data, int image);
void map_to_rows(const struct map_shape *shape, const real *data, real *rows, ptrdiff_t stride, int image);

#endif
