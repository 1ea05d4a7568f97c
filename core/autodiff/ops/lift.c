/* If no value of an image exceeds the threshold of its channel, raises one value above its threshold: the value that is
 * closest to its threshold.
 *
 * If every label of the training data contains a name, every input has a motif. An image without an active position
 * then has a motif that its threshold missed, and the value closest to its threshold is most likely that motif. */
#include <math.h>
#include <string.h>

#include "core/autodiff/tape_int.h"

struct lift_task {
    const struct map_shape *shape;
    const real *threshold; /* [channels] */
    real *y;
    real rise;
};

/* Returns the largest difference between a value of an image and the threshold of its channel. *at: the index of the
 * value; of equal differences the first one by channel, row and column. The search ends at the first difference above
 * 0, because the image then needs no change, and the function returns this difference. */
static real find_strongest(const struct lift_task *t, int image, ptrdiff_t *at)
{
    const struct map_shape *s = t->shape;
    real most = -(real)INFINITY;
    for (int c = 0; c < s->channels; c++)
        for (int row = 0; row < s->height; row++) {
            ptrdiff_t here = map_offset(s, image, c / MAP_LANES, row, 0) + c % MAP_LANES;
            for (int col = 0; col < s->width; col++, here += MAP_LANES) {
                real above = t->y[here] - t->threshold[c];
                if (above > most) {
                    most = above;
                    *at = here;
                }
                if (above > R(0.0))
                    return above;
            }
        }
    return most;
}

static void lift_task(void *context, int image, int worker)
{
    const struct lift_task *t = context;
    ptrdiff_t at = -1;
    real most = find_strongest(t, image, &at);
    if (at >= 0 && most <= R(0.0))
        t->y[at] += t->rise - most;
}

struct tensor *op_lift(struct exec *e, struct tensor *x, const real *threshold, double rise)
{
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_MAP || e->training) {
        op_fail(e, STATUS_INTERNAL, "lift: the input is not a map, or the step trains");
        return NULL;
    }
    struct tensor *y = op_out_like(e, x, false);
    if (y == NULL)
        return NULL;
    memcpy(y->data, x->data, x->count * sizeof *y->data);
    struct lift_task task = {&x->map, threshold, y->data, (real)rise};
    return op_run(e, lift_task, &task, x->map.images) ? y : NULL;
}
