/* Reads a pixel of a picture. */
#ifndef MOTIF_TESTS_SUPPORT_PIXEL_AT_H
#define MOTIF_TESTS_SUPPORT_PIXEL_AT_H

#include "core/draw/picture.h"

/* Returns black outside the picture. */
static inline struct colour pixel_at(const struct picture *picture, int row, int col)
{
    if (row < 0 || col < 0 || row >= picture->rows || col >= picture->cols)
        return (struct colour){0, 0, 0};
    uint32_t pixel = picture->pixels[(size_t)row * (size_t)picture->cols + (size_t)col];
    return (struct colour){(uint8_t)(pixel >> 16), (uint8_t)(pixel >> 8), (uint8_t)pixel};
}

#endif
