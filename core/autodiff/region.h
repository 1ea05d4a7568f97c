/* Parts of a map, for gradients that are zero nearly everywhere. Private to autodiff/.
 *
 * Behind the sparse layer only the active positions carry gradient, and each 3x3 convolution on the way back widens
 * them by one position on every side. A tensor whose gradient is zero outside a region says so (tensor.where); what
 * its buffer holds outside is undefined. An operation that knows nothing of regions never sees one: tape.c
 * fills the rest with zeros before it runs (node.regions).
 *
 * A region is kept twice: as spans, runs of columns row by row, from which it grows; and as boxes, spans that are alike
 * in rows below one another put together, over which kernels run. Both are functions of the positions alone, so that
 * results stay the same for any number of threads. Regions live in the step arena; nothing here changes one. */
#ifndef MOTIF_CORE_AUTODIFF_REGION_H
#define MOTIF_CORE_AUTODIFF_REGION_H

#include "core/autodiff/tape_int.h"

struct span {
    int from, to; /* columns [from, to) */
};
struct box {
    int image, row, col, rows, cols;
};

enum { BOX_ROWS = 32 }; /* at most, so that work can be shared out */

struct region {
    int images, height, width;
    int spans, boxes;
    struct span *span; /* row after row, left to right; no two touch */
    int *first;        /* [images * height + 1] the first span of each row of each image */
    struct box *box;   /* disjoint; by image and first row */
    int64_t positions;
    struct region *wider; /* grown by one position, once somebody asked */
};

/* Takes spans that the caller has put together; the boxes are made here. NULL after a failure, as everywhere below. */
struct region *region_make(struct exec *e, const struct map_shape *shape, struct span *span, int *first);
/* All positions at most `rows` and `cols` (0 or 1) away. */
struct region *region_grow(struct exec *e, struct region *region, int rows, int cols);
struct region *region_unite(struct exec *e, struct region *a, struct region *b);
/* All positions of one image. */
struct region *region_image(struct exec *e, const struct map_shape *shape, int image);

/* Boxes in `pieces` groups of about equal size: group i is [cut[i], cut[i + 1]). */
struct region_cut {
    int pieces, *cut;
};
struct region_cut region_cut(struct exec *e, const struct region *region, int64_t least, int most);

/* Which sites of rows x cols positions hold some of the region: [images][height / rows][width / cols]. What does not
 * fill a site at the lower and right edges belongs to none. */
bool *region_sites(struct exec *e, const struct region *region, int rows, int cols);
/* Zeros at those positions of the region that belong to no site. */
void region_clear_rest(const struct region *region, int rows, int cols, const struct map_shape *shape, real *data);

/* Zeros outside the region in planes [image][channel][height][width]. */
void region_clear_planes(const struct region *region, int channels, real *planes);
/* Zeros at the positions of `within` (NULL: all) that are not in `keep`. Halo and padding are left alone. */
void region_clear(struct exec *e, const struct map_shape *shape, real *data, const struct region *within,
                  const struct region *keep);

/* The strip of a map that a box covers; kernels then run over box->rows and box->cols. */
static inline struct map_strip region_strip(const struct map_shape *s, const real *data, const struct box *box)
{
    struct map_strip strip = map_strip_at(s, data, box->image, box->row);
    strip.at += (ptrdiff_t)box->col * MAP_LANES;
    return strip;
}

/* ---- gradients --------------------------------------------------------------------------------- */

/* As grad_open(), for a writer that writes, or adds to, no position outside `region`. What is there already is kept. */
real *grad_open_region(struct exec *e, struct tensor *x, struct region *region, bool *add);
/* As grad_give(), of a buffer that is defined in `region` only. */
void grad_give_region(struct exec *e, struct tensor *x, real *buffer, struct region *region);
/* The gradient of x everywhere: zeros outside its region, which is forgotten. */
void grad_fill(struct exec *e, struct tensor *x);

/* Backward passes of results whose gradient lies in out->where. False when the whole map is to be gone through instead
 * (where is NULL then). */
struct conv_back_region {
    struct tensor *x, *out, *residual;
    struct weight *w, *b;
};
bool conv_backward_region(struct exec *e, const struct conv_back_region *conv);

/* In place of an image to which the gradient of the statistics goes: to all of them; to one that another rank has. */
enum { NORM_ALL = -1, NORM_ELSEWHERE = -2 };

/* The gradient lies where it lay, and (batch) in the image `only`, to which the gradient of the batch's statistics goes
 * as if there were no other. call: scale, shift, mean, inv_std, blocks, relu. */
struct norm_back_region {
    struct tensor *x, *out;
    const struct batch_norm *norm;
    const struct norm_call *call;
    bool batch;
    int only;
};
void norm_backward_region(struct exec *e, const struct norm_back_region *norm);

/* Coefficients of dx = a dy' + b (x - mean) + c from `sums` of dy' and dy' x^, [2][padded], over `positions`; b and c
 * NULL where the statistics are not the batch's. The sums come as this rank's and leave as those of all. False after a
 * failure. */
bool norm_coefficients(struct exec *e, int channels, bool batch, double *sums, double positions,
                       struct norm_call *call);

#endif
