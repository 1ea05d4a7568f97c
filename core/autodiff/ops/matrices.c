/* Replaces channels of a map by the scores of position matrices on the letters of the input.
 *
 * The score of a matrix is a sum over the letters around a position, on one strand or the larger one of both. Each
 * product of an entry with a plane of the input is added to a whole row of positions, so that the compiler can
 * vectorise the loop. */
#include <string.h>

#include "core/autodiff/tape_int.h"

enum { LETTERS = 4 };

struct matrices_task {
    const struct map_shape *shape;
    const struct matrices *m;
    const real *inputs;
    real *y;
    real *scratch; /* [images][2][columns] */
};

/* sum: [cols] the score of the matrix at each position. reverse: of the reverse complement of the matrix. */
static void score(const struct matrices *m, int channel, bool reverse, const real *planes, int cols, real *sum)
{
    const real *table = m->table + (ptrdiff_t)channel * m->width * LETTERS;
    memset(sum, 0, (size_t)cols * sizeof *sum);
    for (int j = 0; j < m->width; j++)
        for (int b = 0; b < LETTERS; b++) {
            real entry = reverse ? table[(m->width - 1 - j) * LETTERS + LETTERS - 1 - b] : table[j * LETTERS + b];
            int shift = j - m->width / 2, first = shift < 0 ? -shift : 0, end = shift > 0 ? cols - shift : cols;
            const real *x = planes + (ptrdiff_t)b * cols;
            if (entry == R(0.0))
                continue;
            for (int i = first; i < end; i++)
                sum[i] += entry * x[i + shift];
        }
}

static void matrices_task(void *context, int image, int worker)
{
    const struct matrices_task *t = context;
    const struct map_shape *s = t->shape;
    const real *planes = t->inputs + (ptrdiff_t)image * LETTERS * s->width;
    real *own = t->scratch + (ptrdiff_t)image * 2 * s->width, *other = own + s->width;
    (void)worker;
    for (int c = 0; c < s->channels; c++) {
        real scale = t->m->scale[c], offset = t->m->offset[c];
        if (scale == R(0.0))
            continue;
        score(t->m, c, false, planes, s->width, own);
        if (t->m->both_strands)
            score(t->m, c, true, planes, s->width, other);
        real *y = t->y + map_offset(s, image, c / MAP_LANES, 0, 0) + c % MAP_LANES;
        for (int i = 0; i < s->width; i++) {
            real most = t->m->both_strands && other[i] > own[i] ? other[i] : own[i];
            y[(ptrdiff_t)i * MAP_LANES] = offset + scale * most;
        }
    }
}

struct tensor *op_matrices(struct exec *e, struct tensor *x, const real *inputs, const struct matrices *m)
{
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_MAP || x->map.height != 1 || e->training) {
        op_fail(e, STATUS_INTERNAL, "matrices: the input is not a map of one row, or the step trains");
        return NULL;
    }
    struct tensor *y = op_out_like(e, x, false);
    real *scratch = arena_alloc(e->arena, (size_t)x->map.images * 2 * (size_t)x->map.width * sizeof *scratch);
    if (y == NULL || scratch == NULL) {
        op_fail(e, STATUS_NO_MEMORY, "not enough memory for the scores of matrices");
        return NULL;
    }
    memcpy(y->data, x->data, x->count * sizeof *y->data);
    struct matrices_task task = {&x->map, m, inputs, y->data, scratch};
    return op_run(e, matrices_task, &task, x->map.images) ? y : NULL;
}
