/* Computes the coefficients a, b and c of dx = a dy' + b (x - mean) + c, the gradient of a batch norm's input.
 * batch_norm.c uses them for a whole map, norm_region.c for a region. */
#include "core/autodiff/region.h"

bool norm_coefficients(struct exec *e, int channels, bool batch, double *sums, double positions, struct norm_call *call)
{
    size_t padded = (size_t)map_padded(channels);
    call->a = call->scale;
    call->b = call->c = NULL;
    if (!batch)
        return true;
    if (!op_ranks_sum(e, sums, 2 * padded))
        return false;
    real *b = op_zeros(e, 2 * padded);
    if (b == NULL)
        return false;
    real *c = b + padded;
    for (int i = 0; i < channels; i++) {
        double scale = (double)call->scale[i];
        b[i] = (real)(-scale * (double)call->inv_std[i] * sums[padded + (size_t)i] / positions);
        c[i] = (real)(-scale * sums[i] / positions);
    }
    call->b = b;
    call->c = c;
    return true;
}
