/* Reads a pixel of a picture. */
#ifndef MOTIF_TESTS_SUPPORT_PIXEL_AT_H
#define MOTIF_TESTS_SUPPORT_PIXEL_AT_H

#include "core/draw/picture.h"

/* Returns black outside the picture. */
static inline struct colour pixel_at(const struct picture *picture, int row, int col)
{
    if (row < 0 || col < 0 || row >= picture->rows || col >= picture->cols)
        return (struct colour){0, 0, 0};
    const uint8_t *at = picture->pixels + ((size_t)row * (size_t)picture->cols + (size_t)col) * 3;
    return (struct colour){at[0], at[1], at[2]};
}

#endif
