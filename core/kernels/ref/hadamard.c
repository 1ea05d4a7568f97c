/* Reference Walsh-Hadamard transform in Sylvester's order, and the element-wise product. */
#include "core/kernels/ref/ref.h"

void ref_multiply(size_t count, const real *x, real *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] *= x[i];
}

void ref_hadamard_rows(int rows, int n, real *x, ptrdiff_t ld)
{
    for (int r = 0; r < rows; r++)
        ref_hadamard_columns(n, 1, x + r * ld, 1);
}

void ref_hadamard_columns(int n, int columns, real *x, ptrdiff_t ld)
{
    for (int h = 1; h < n; h *= 2)
        for (int i = 0; i < n; i++)
            for (int c = 0; !(i & h) && c < columns; c++) {
                real *low = x + i * ld + c, *high = low + h * ld, sum = *low + *high;
                *high = *low - *high;
                *low = sum;
            }
}
