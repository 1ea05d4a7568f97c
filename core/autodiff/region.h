/* Regions: sets of positions of a map, for gradients that are zero nearly everywhere. Private to autodiff/.
 *
 * The threshold of the sparse layer passes a gradient only at active positions. In the backward pass, each 3x3
 * convolution widens this set of positions by one position on every side. If tensor.where is not NULL, the tensor's
 * gradient is zero outside the region tensor.where, and its buffer is undefined there. An operation that does not
 * support regions (node.regions false) never receives such a gradient: before its backward pass, tape.c fills the
 * rest of the gradient with zeros.
 *
 * A region is stored in two forms. Spans are runs of columns, row by row; the functions that grow and unite regions
 * use spans. Boxes combine equal spans of consecutive rows; kernels run over boxes. Both depend on the positions
 * only, so results are the same for any number of threads. Regions are in the step arena and never change. */
#ifndef MOTIF_CORE_AUTODIFF_REGION_H
#define MOTIF_CORE_AUTODIFF_REGION_H

#include "core/autodiff/tape_int.h"

struct span {
    int from, to; /* the columns [from, to) */
};
struct box {
    int image, row, col, rows, cols;
};

enum { BOX_ROWS = 32 }; /* maximum height of a box; without a limit one thread could get most of the work */

struct region {
    int images, height, width;
    int spans, boxes;
    struct span *span; /* the spans, ordered by row and then by column; spans of one row do not touch */
    int *first;        /* [images * height + 1] index of the first span of each row of each image */
    struct box *box;   /* disjoint boxes, ordered by image and first row */
    int64_t positions;
    struct region *wider; /* cache of region_grow(): this region grown by one position; NULL until needed */
};

/* Makes a region from spans and computes its boxes. The region keeps the array. After a failure, the functions that
 * return a region store the error in exec.error and return NULL. */
struct region *region_make(struct exec *e, const struct map_shape *shape, struct span *span, int *first);
/* All positions at most `rows` rows and `cols` columns (0 or 1) away from the region. */
struct region *region_grow(struct exec *e, struct region *region, int rows, int cols);
/* region_unite() returns the union of two regions, region_image() the region of all positions of one image. */
struct region *region_unite(struct exec *e, struct region *a, struct region *b);
struct region *region_image(struct exec *e, const struct map_shape *shape, int image);

/* region_cut() divides the boxes into at most `most` groups of about equal size, each of at least `least` positions.
 * `pieces`: number of groups. Group i consists of boxes cut[i] to cut[i + 1] - 1. cut is NULL if there is no memory. */
struct region_cut {
    int pieces, *cut;
};
struct region_cut region_cut(struct exec *e, const struct region *region, int64_t least, int most);

/* The sites (windows of rows x cols positions) that contain a position of the region: [images][height / rows][width
 * / cols]. Positions at the lower and right edges that do not fill a window belong to no site. */
bool *region_sites(struct exec *e, const struct region *region, int rows, int cols);
/* Writes zeros at the positions of the region that belong to no site (see region_sites()). */
void region_clear_rest(const struct region *region, int rows, int cols, const struct map_shape *shape, real *data);

/* Writes zeros at the positions of `within` (NULL: all) that are not in `keep`; does not touch the halo. */
void region_clear(struct exec *e, const struct map_shape *shape, real *data, const struct region *within,
                  const struct region *keep);

/* Returns the strip of a map that begins at the first position of `box`. Kernels process box->rows rows and box->cols
 * columns from there on. */
static inline struct map_strip region_strip(const struct map_shape *s, const real *data, const struct box *box)
{
    struct map_strip strip = map_strip_at(s, data, box->image, box->row);
    strip.at += (ptrdiff_t)box->col * MAP_LANES;
    return strip;
}

/* ---- gradients --------------------------------------------------------------------------------- */

/* Like grad_open(), for an operation that writes or adds to positions inside `region` only. */
real *grad_open_region(struct exec *e, struct tensor *x, struct region *region, bool *add);
/* Like grad_give(), for a buffer that is defined inside `region` only. */
void grad_give_region(struct exec *e, struct tensor *x, real *buffer, struct region *region);
/* Makes the gradient of x defined everywhere: writes zeros outside its region and sets x->where to NULL. */
void grad_fill(struct exec *e, struct tensor *x);

#endif
