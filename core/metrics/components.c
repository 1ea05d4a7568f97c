/* Counts principal components above noise: the eigenvalues of the correlation matrix C that exceed `edge`, the upper
 * edge of the Marchenko-Pastur distribution. By Sylvester's law of inertia, their number is the number of positive
 * pivots of the factorisation L D L' of C - edge I. So no eigenvalue has to be computed. */
#include "core/metrics/components.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Writes the columns with mean 0 and variance 1 to z, [columns][rows], and leaves constant columns out. Returns the
 * number of columns of z. */
static int standardise(const float *x, int rows, int columns, double *z)
{
    int used = 0;
    for (int j = 0; j < columns; j++) {
        double *to = z + (ptrdiff_t)used * rows, sum = 0, squares = 0;
        for (int i = 0; i < rows; i++)
            sum += (double)x[(ptrdiff_t)i * columns + j];
        for (int i = 0; i < rows; i++) {
            to[i] = (double)x[(ptrdiff_t)i * columns + j] - sum / rows;
            squares += to[i] * to[i];
        }
        double scale = sqrt(squares / rows);
        if (!(scale > 1e-12 * (1 + fabs(sum / rows))) || !isfinite(scale))
            continue;
        for (int i = 0; i < rows; i++)
            to[i] /= scale;
        used++;
    }
    return used;
}

/* Writes the smaller of z' z and z z', divided by `rows`, to c: [size][size]. Both products have the same non-zero
 * eigenvalues. */
static void correlate(const double *z, int rows, int columns, double *c, int size)
{
    for (int a = 0; a < size; a++) {
        for (int b = 0; b <= a; b++) {
            double sum = 0;
            if (size == columns)
                for (int i = 0; i < rows; i++)
                    sum += z[(ptrdiff_t)a * rows + i] * z[(ptrdiff_t)b * rows + i];
            else
                for (int j = 0; j < columns; j++)
                    sum += z[(ptrdiff_t)j * rows + a] * z[(ptrdiff_t)j * rows + b];
            c[(ptrdiff_t)a * size + b] = sum / rows;
        }
    }
}

/* Factorises c in place; reads only the lower triangle. Returns the number of positive pivots. */
static int positive_pivots(double *c, int size)
{
    int positive = 0;
    for (int k = 0; k < size; k++) {
        double *row = c + (ptrdiff_t)k * size, pivot = row[k];
        if (fabs(pivot) < DBL_EPSILON)
            pivot = DBL_EPSILON;
        positive += pivot > 0;
        for (int i = k + 1; i < size; i++) {
            double *other = c + (ptrdiff_t)i * size, factor = other[k] / pivot;
            for (int j = k + 1; j <= i; j++)
                other[j] -= factor * c[(ptrdiff_t)j * size + k];
        }
    }
    return positive;
}

enum status components_count(const float *x, int rows, int columns, int *count, struct error *err)
{
    double *z = calloc((size_t)rows * (size_t)columns, sizeof *z);
    int used = z ? standardise(x, rows, columns, z) : 0, size = used < rows ? used : rows;
    double *c = z ? calloc((size_t)size * (size_t)size + 1, sizeof *c) : NULL;
    *count = 0;
    if (c && rows > 1) {
        double edge = pow(1 + sqrt((double)used / rows), 2);
        correlate(z, rows, used, c, size);
        for (int k = 0; k < size; k++)
            c[(ptrdiff_t)k * size + k] -= edge;
        *count = positive_pivots(c, size);
    }
    free(z);
    if (!c)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to count components");
    free(c);
    return STATUS_OK;
}
