/* Reference product of a sparse and a dense matrix, and the list of non-zero values. */
#include "core/kernels/ref/ref.h"

void ref_sparse_gemm(const struct sparse_call *call)
{
    for (int r = 0; r < call->rows; r++)
        for (int j = 0; j < call->columns; j++) {
            real *c = call->c + r * call->ld_c + j, sum = call->add ? *c : 0;
            for (int i = call->start[r]; i < call->start[r] + call->count[r]; i++)
                sum += call->value[i] * call->t[call->index[i] * call->ld_t + j];
            *c = sum;
        }
}

int ref_nonzeros(int count, const real *x, int32_t first, int32_t *index, real *value)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        if (x[i] != 0) {
            index[found] = first + i;
            value[found++] = x[i];
        }
    return found;
}
