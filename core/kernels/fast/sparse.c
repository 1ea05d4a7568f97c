/* The product C = S T with a sparse left factor S (sparse_call in kernels.h). Up to SLAB registers of a row of C stay
 * in registers while the rows of T that the row's indices select are added. All rows of C are computed for one slab of
 * columns before the next, so that this slab of T stays in the second-level cache. */
#include "core/kernels/fast/fast.h"

enum { SLAB = V_WIDE ? 8 : 6 };

/* Computes one slab of `wide` registers; the last register has `part` valid columns. */
INLINE void slab(const struct sparse_call *call, int column, int wide, int part)
{
    const float *t = call->t + column;
    for (int r = 0; r < call->rows; r++) {
        float *c = call->c + r * call->ld_c + column;
        vf sum[SLAB];
        UNROLL for (int s = 0; s < wide; s++) sum[s] = !call->add     ? v_zero()
                                                       : s < wide - 1 ? v_load(c + s * V)
                                                                      : v_load_part(c + s * V, part);
        for (int i = call->start[r]; i < call->start[r] + call->count[r]; i++) {
            const float *row = t + call->index[i] * call->ld_t;
            vf value = v_all(call->value[i]);
            UNROLL for (int s = 0; s < wide - 1; s++) sum[s] = v_fma(value, v_load(row + s * V), sum[s]);
            vf last = part == V ? v_load(row + (wide - 1) * V) : v_load_part(row + (wide - 1) * V, part);
            sum[wide - 1] = v_fma(value, last, sum[wide - 1]);
        }
        UNROLL for (int s = 0; s < wide - 1; s++) v_store(c + s * V, sum[s]);
        v_store_part(c + (wide - 1) * V, part, sum[wide - 1]);
    }
}

void FAST(sparse_gemm)(const struct sparse_call *call)
{
    for (int column = 0; column < call->columns; column += SLAB * V) {
        int left = call->columns - column, wide = (left + V - 1) / V, part = left - (wide - 1) * V;
        if (left >= SLAB * V) {
            slab(call, column, SLAB, V);
            continue;
        }
        switch (wide) {
        case 1:
            slab(call, column, 1, part);
            break;
        case 2:
            slab(call, column, 2, part);
            break;
        case 3:
            slab(call, column, 3, part);
            break;
        case 4:
            slab(call, column, 4, part);
            break;
        case 5:
            slab(call, column, 5, part);
            break;
        case 6:
            slab(call, column, 6, part);
            break;
#if V_WIDE
        case 7:
            slab(call, column, 7, part);
            break;
        default:
            slab(call, column, 8, part);
            break;
#endif
        }
    }
}

int FAST(nonzeros)(int count, const real *x, int32_t first, int32_t *index, real *value)
{
    int found = 0;
    for (int i = 0; i < count; i += V) {
        int part = count - i < V ? count - i : V;
        unsigned bits = v_bits(v_ne(LOAD(x + i), v_zero()));
        for (; bits; bits &= bits - 1) {
            int at = i + __builtin_ctz(bits);
            index[found] = first + at;
            value[found++] = x[at];
        }
    }
    return found;
}
