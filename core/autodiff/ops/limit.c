/* Limits the number of motifs of an image.
 *
 * The height of a value is its excess over the threshold of its channel. A peak is the largest value of its channel
 * within `near` rows and columns. If more than `most` peaks of an image have a height above 0, let h be the height of
 * the (most + 1)-th highest peak: every value with a height above 0 and at most h is lowered to its threshold. If no
 * label of the training data has more than `most` names, the lowered peaks are most likely chance matches.
 *
 * op_peaks() finds the same peaks. It lowers all other values of some channels to their thresholds. */
#include <math.h>
#include <string.h>

#include "core/autodiff/tape_int.h"

enum { MOST = OP_LIMIT_MOST };

struct limit_task {
    const struct map_shape *shape;
    const real *threshold; /* [channels] */
    real *y;
    int most, near;
    const real *marked; /* [channels] and the result, for op_peaks() */
    real *out;
};

/* Returns whether no value of the same channel within `near` rows and columns is larger. */
static bool is_peak(const struct limit_task *t, int image, int channel, int row, int col, real value)
{
    const struct map_shape *s = t->shape;
    int row0 = row > t->near ? row - t->near : 0, row1 = row < s->height - t->near ? row + t->near + 1 : s->height;
    int col0 = col > t->near ? col - t->near : 0, col1 = col < s->width - t->near ? col + t->near + 1 : s->width;
    for (int r = row0; r < row1; r++) {
        const real *at = t->y + map_offset(s, image, channel / MAP_LANES, r, 0) + channel % MAP_LANES;
        for (int c = col0; c < col1; c++)
            if (at[(ptrdiff_t)c * MAP_LANES] > value)
                return false;
    }
    return true;
}

/* Inserts `height` into highest[count], the greatest heights so far in descending order, if it is among them. */
static void limit_insert(real *highest, int count, real height)
{
    int i = count - 1;
    if (height <= highest[i])
        return;
    for (; i > 0 && highest[i - 1] < height; i--)
        highest[i] = highest[i - 1];
    highest[i] = height;
}

/* Returns the height of the (most + 1)-th highest peak; 0: the image has no more than `most` peaks above a
 * threshold. */
static real find_cut(const struct limit_task *t, int image)
{
    const struct map_shape *s = t->shape;
    real highest[MOST + 1] = {0};
    for (int c = 0; c < s->channels; c++)
        for (int row = 0; row < s->height; row++) {
            const real *at = t->y + map_offset(s, image, c / MAP_LANES, row, 0) + c % MAP_LANES;
            for (int col = 0; col < s->width; col++) {
                real value = at[(ptrdiff_t)col * MAP_LANES], height = value - t->threshold[c];
                if (height > highest[t->most] && is_peak(t, image, c, row, col, value))
                    limit_insert(highest, t->most + 1, height);
            }
        }
    return highest[t->most];
}

static void limit_task(void *context, int image, int worker)
{
    const struct limit_task *t = context;
    const struct map_shape *s = t->shape;
    real cut = find_cut(t, image);
    (void)worker;
    for (int c = 0; cut > 0 && c < s->channels; c++)
        for (int row = 0; row < s->height; row++) {
            real *at = t->y + map_offset(s, image, c / MAP_LANES, row, 0) + c % MAP_LANES;
            for (int col = 0; col < s->width; col++) {
                real height = at[(ptrdiff_t)col * MAP_LANES] - t->threshold[c];
                if (height > 0 && height <= cut)
                    at[(ptrdiff_t)col * MAP_LANES] = t->threshold[c];
            }
        }
}

/* Copies an image from t->y to t->out without the values that are no peaks. */
static void peaks_task(void *context, int image, int worker)
{
    const struct limit_task *t = context;
    const struct map_shape *s = t->shape;
    (void)worker;
    for (int c = 0; c < s->channels; c++)
        for (int row = 0; row < s->height && t->marked[c] > R(0.0); row++) {
            ptrdiff_t at = map_offset(s, image, c / MAP_LANES, row, 0) + c % MAP_LANES;
            for (int col = 0; col < s->width; col++, at += MAP_LANES)
                if (t->y[at] > t->threshold[c] && !is_peak(t, image, c, row, col, t->y[at]))
                    t->out[at] = t->threshold[c];
        }
}

struct tensor *op_peaks(struct exec *e, struct tensor *x, const real *threshold, const real *marked, int near)
{
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_MAP || e->training || near < 0) {
        op_fail(e, STATUS_INTERNAL, "peaks: the input is not a map, or the step trains");
        return NULL;
    }
    struct tensor *y = op_out_like(e, x, false);
    if (y == NULL)
        return NULL;
    memcpy(y->data, x->data, x->count * sizeof *y->data);
    struct limit_task task = {&x->map, threshold, x->data, 0, near, marked, y->data};
    return op_run(e, peaks_task, &task, x->map.images) ? y : NULL;
}

struct tensor *op_limit(struct exec *e, struct tensor *x, const real *threshold, int most, int near)
{
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_MAP || e->training || most < 1 || most > MOST || near < 0) {
        op_fail(e, STATUS_INTERNAL, "limit: the input is not a map, the limit is impossible, or the step trains");
        return NULL;
    }
    struct tensor *y = op_out_like(e, x, false);
    if (y == NULL)
        return NULL;
    memcpy(y->data, x->data, x->count * sizeof *y->data);
    struct limit_task task = {.shape = &x->map, .threshold = threshold, .y = y->data, .most = most, .near = near};
    return op_run(e, limit_task, &task, x->map.images) ? y : NULL;
}
