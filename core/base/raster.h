/* A decoded picture: planes of values, usually 0 to 1. The readers of PNG, JPEG and TIFF files make it. Plain data; any
 * thread. */
#ifndef MOTIF_CORE_BASE_RASTER_H
#define MOTIF_CORE_BASE_RASTER_H

#include "core/base/error.h"

enum { RASTER_SIDE = 4096 }; /* upper limit of the rows and of the columns of a picture from a client */

struct raster {
    int channels; /* 1: grey; 3: red, green, blue */
    int rows, cols;
    float *values; /* [channels][rows][cols] */
};

/* Allocates the values. STATUS_NO_MEMORY. */
enum status raster_create(struct raster *raster, int channels, int rows, int cols, struct error *err);
void raster_close(struct raster *raster); /* a zeroed struct is allowed */
/* Turns a picture whose three planes are equal into a grey one with the same values. */
void raster_simplify(struct raster *raster);
/* Turns a colour picture into a grey one with the luma weights .2126 .7152 .0722. */
void raster_to_grey(struct raster *raster);

#endif
