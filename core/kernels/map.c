/* Clears the halo of a map, and copies images between the blocked layout and planes or rows. */
#include "core/kernels/map.h"

#include <string.h>

void map_clear_halo(const struct map_shape *s, real *data, int image)
{
    size_t row = (size_t)map_row_stride(s) * sizeof(real);
    size_t side = (size_t)s->halo_w * MAP_LANES * sizeof(real);
    for (int block = 0; block < map_blocks(s->channels); block++) {
        for (int y = -s->halo_h; y < s->height + s->halo_h; y++) {
            real *left = data + map_offset(s, image, block, y, -s->halo_w);
            if (y < 0 || y >= s->height) {
                memset(left, 0, row);
            } else {
                memset(left, 0, side);
                memset(data + map_offset(s, image, block, y, s->width), 0, side);
            }
        }
    }
}

/* Strides, in reals, of an image outside the blocked layout: planes or rows. */
struct foreign {
    ptrdiff_t channel, row, pixel;
};

static struct foreign planar_layout(const struct map_shape *s)
{
    struct foreign f = {(ptrdiff_t)s->height * s->width, s->width, 1};
    return f;
}

static struct foreign rows_layout(const struct map_shape *s, ptrdiff_t stride)
{
    struct foreign f = {1, s->width * stride, stride};
    return f;
}

static void to_map(const struct map_shape *s, const real *from, struct foreign f, real *data, int image)
{
    map_clear_halo(s, data, image);
    for (int block = 0; block < map_blocks(s->channels); block++) {
        int first = block * MAP_LANES;
        int lanes = s->channels - first < MAP_LANES ? s->channels - first : MAP_LANES;
        for (int y = 0; y < s->height; y++) {
            real *to = data + map_offset(s, image, block, y, 0);
            const real *row = from + first * f.channel + y * f.row;
            for (int x = 0; x < s->width; x++, to += MAP_LANES, row += f.pixel) {
                for (int lane = 0; lane < lanes; lane++)
                    to[lane] = row[lane * f.channel];
                for (int lane = lanes; lane < MAP_LANES; lane++)
                    to[lane] = 0;
            }
        }
    }
}

static void from_map(const struct map_shape *s, const real *data, real *to, struct foreign f, int image)
{
    for (int channel = 0; channel < s->channels; channel++) {
        for (int y = 0; y < s->height; y++) {
            const real *from = data + map_offset(s, image, channel / MAP_LANES, y, 0) + channel % MAP_LANES;
            for (int x = 0; x < s->width; x++)
                to[channel * f.channel + y * f.row + x * f.pixel] = from[(ptrdiff_t)x * MAP_LANES];
        }
    }
}

void map_from_planar(const struct map_shape *s, const real *planar, real *data, int image)
{
    to_map(s, planar, planar_layout(s), data, image);
}

void map_to_planar(const struct map_shape *s, const real *data, real *planar, int image)
{
    from_map(s, data, planar, planar_layout(s), image);
}

void map_from_rows(const struct map_shape *s, const real *rows, ptrdiff_t stride, real *data, int image)
{
    to_map(s, rows, rows_layout(s, stride), data, image);
}

void map_to_rows(const struct map_shape *s, const real *data, real *rows, ptrdiff_t stride, int image)
{
    from_map(s, data, rows, rows_layout(s, stride), image);
}
