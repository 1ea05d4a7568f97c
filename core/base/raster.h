/* A decoded picture: planes of values, usually 0 to 1. The readers of PNG, JPEG and TIFF files make it. Plain data; any
 * thread. */
#ifndef MOTIF_CORE_BASE_RASTER_H
#define MOTIF_CORE_BASE_RASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum {
    RASTER_SIDE = 4096, /* upper limit of the rows and of the columns of a picture from a client */
    RASTER_PLANES = 16  /* upper limit of the planes */
};

struct raster {
    int channels; /* 1: grey; 3: red, green, blue; TIFF files may have others */
    int rows, cols;
    float *values; /* [channels][rows][cols] */
    /* what the reader did with what the file stores */
    int orientation;  /* the tag that it followed: 2 to 8; 0 or 1: the picture lies as stored (EXIF 2.3, tag 274) */
    bool transparent; /* some pixels were not opaque, so they were laid on white */
    bool rounded;     /* whole numbers beyond 2^24 lost digits */
    bool stray;       /* bytes that belong to no part of the picture were skipped */
};

/* Allocates the values. STATUS_NO_MEMORY. */
enum status raster_create(struct raster *raster, int channels, int rows, int cols, struct error *err);
void raster_close(struct raster *raster); /* a zeroed struct is allowed */
/* Turns a picture whose three planes are equal into a grey one with the same values. */
void raster_simplify(struct raster *raster);
/* Turns a colour picture into a grey one with the luma weights .2126 .7152 .0722. */
void raster_to_grey(struct raster *raster);

/* Lays a picture with values 0 to 1 on white, and sets `transparent` if a pixel is not opaque. alpha: [rows][cols], 1
 * where opaque. multiplied: the values have been multiplied by alpha. */
void raster_lay_on_white(struct raster *raster, const float *alpha, bool multiplied);

/* Mirrors and turns the picture so that it lies as the orientation tag 1 to 8 says; other numbers change nothing.
 * STATUS_NO_MEMORY: the picture is unchanged. */
enum status raster_turn(struct raster *raster, int orientation, struct error *err);
/* The same for the rectangle [row0, row1) x [col0, col1) of a turned picture, given in pixels of the picture as stored:
 * place = {row0, row1, col0, col1}. */
void raster_turn_place(const struct raster *turned, int32_t place[4]);
/* Returns the orientation tag in EXIF data, which begin like a TIFF file; 1: there is none, or the data are damaged. */
int raster_exif_orientation(const void *bytes, size_t count);

#endif
