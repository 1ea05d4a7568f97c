/* The layer with position matrices (matrix_scores.h). */
#include "core/methods/sparling/model/matrix_scores.h"

#include <string.h>

#include "core/autodiff/ops.h"

enum { WIDEST = 31, LETTERS = 4 };

/* A crop of g's window determines the value at its centre, also with a matrix, so matrices are not wider. */
int matrix_scores_width(int reach)
{
    int width = reach < WIDEST ? reach : WIDEST;
    return width - (width % 2 == 0);
}

void matrix_scores_build(struct matrix_scores *m, struct params *params, int channels, int reach)
{
    m->width = matrix_scores_width(reach);
    m->table = params_add_state(params, "g.matrix.table", channels * m->width * LETTERS, 0);
    m->scale = params_add_state(params, "g.matrix.scale", channels, 0);
    m->offset = params_add_state(params, "g.matrix.offset", channels, 0);
    m->strands = params_add_state(params, "g.matrix.strands", 1, 0);
}

void matrix_scores_clear(struct matrix_scores *m)
{
    struct weight *const arrays[] = {m->table, m->scale, m->offset, m->strands};
    for (size_t i = 0; m->table && i < sizeof arrays / sizeof arrays[0]; i++)
        memset(arrays[i]->value, 0, arrays[i]->count * sizeof *arrays[i]->value);
}

bool matrix_scores_used(const struct matrix_scores *m)
{
    bool any = false;
    for (int c = 0; m->table && c < m->scale->dim[0]; c++)
        any |= m->scale->value[c] > 0;
    return any;
}

struct tensor *matrix_scores_forward(struct exec *e, const struct matrix_scores *m, struct tensor *x,
                                     const real *inputs)
{
    const struct matrices matrices = {.width = m->width,
                                      .both_strands = m->strands->value[0] > 0,
                                      .table = m->table->value,
                                      .scale = m->scale->value,
                                      .offset = m->offset->value};
    return op_matrices(e, x, inputs, &matrices);
}
