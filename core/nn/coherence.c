/* Coherence of convolution filters. The table of inner products is symmetric, gram[f][d][g] = gram[g][-d][f], so only
 * half of it is computed. */
#include "core/nn/coherence.h"

#include <math.h>
#include <stdlib.h>

size_t filter_gram_size(const struct filter_bank *b)
{
    return (size_t)b->filters * (size_t)b->filters * (size_t)(2 * b->height - 1) * (size_t)(2 * b->width - 1);
}

static size_t gram_at(const struct filter_bank *b, int f, int row, int column, int g)
{
    return (((size_t)f * (size_t)(2 * b->height - 1) + (size_t)row) * (size_t)(2 * b->width - 1) + (size_t)column) *
               (size_t)b->filters +
           (size_t)g;
}

/* Uses four partial sums, so that an addition need not wait for the previous one. */
static double nn_coherence_dot(const real *a, const real *b, int count)
{
    double sum[4] = {0, 0, 0, 0};
    int i = 0;
    for (; i + 4 <= count; i += 4)
        for (int j = 0; j < 4; j++)
            sum[j] += (double)a[i + j] * (double)b[i + j];
    for (; i < count; i++)
        sum[0] += (double)a[i] * (double)b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Returns <w_f, w_g moved by (dy, dx)>: multiplies entry (y, x) of f by entry (y - dy, x - dx) of g. */
static double shifted_dot(const struct filter_bank *b, const real *f, const real *g, int dy, int dx)
{
    int top = dy > 0 ? dy : 0, bottom = dy < 0 ? b->height + dy : b->height;
    int left = dx > 0 ? dx : 0, count = b->width - abs(dx);
    double sum = 0;
    for (int c = 0; c < b->inputs; c++)
        for (int y = top; y < bottom; y++) {
            const real *row_f = f + ((size_t)c * (size_t)b->height + (size_t)y) * (size_t)b->width + left;
            const real *row_g = g + ((size_t)c * (size_t)b->height + (size_t)(y - dy)) * (size_t)b->width + (left - dx);
            sum += nn_coherence_dot(row_f, row_g, count);
        }
    return sum;
}

void filter_gram(const struct filter_bank *b, const real *w, struct thread_pool *pool, real *gram)
{
    size_t taps = (size_t)b->inputs * (size_t)b->height * (size_t)b->width;
    int rows = 2 * b->height - 1, columns = 2 * b->width - 1;
    for (int f = 0; f < b->filters; f++)
        for (int row = 0; row < rows; row++)
            for (int column = 0; column < columns && !thread_pool_stopped(pool); column++)
                for (int g = f; g < b->filters; g++) {
                    real value = (real)shifted_dot(b, w + (size_t)f * taps, w + (size_t)g * taps, row - b->height + 1,
                                                   column - b->width + 1);
                    gram[gram_at(b, f, row, column, g)] = value;
                    gram[gram_at(b, g, rows - 1 - row, columns - 1 - column, f)] = value;
                }
}

/* Returns 1 / |w_f|, or 0 for a zero filter. */
static double inverse_norm(const struct filter_bank *b, const real *gram, int f)
{
    double square = (double)gram[gram_at(b, f, b->height - 1, b->width - 1, f)];
    return square > 0 ? 1 / sqrt(square) : 0;
}

/* The largest normalised inner product of two shifted filters. `inverse` is memory for one number per filter. */
static double largest_product(const struct filter_bank *b, const real *gram, double *inverse)
{
    double largest = 0;
    for (int f = 0; f < b->filters; f++)
        inverse[f] = inverse_norm(b, gram, f);
    for (int f = 0; f < b->filters; f++)
        for (int row = 0; row < 2 * b->height - 1; row++)
            for (int column = 0; column < 2 * b->width - 1; column++)
                for (int g = 0; g < b->filters; g++) {
                    bool itself = f == g && row == b->height - 1 && column == b->width - 1;
                    double c = fabs((double)gram[gram_at(b, f, row, column, g)]) * inverse[f] * inverse[g];
                    if (!itself && c > largest)
                        largest = c;
                }
    return fmin(largest, 1);
}

double filter_coherence(const struct filter_bank *b, const real *w, struct thread_pool *pool)
{
    real *gram = malloc(filter_gram_size(b) * sizeof *gram);
    double *inverse = malloc((size_t)b->filters * sizeof *inverse), largest = NAN;
    if (gram && inverse) {
        filter_gram(b, w, pool, gram);
        largest = largest_product(b, gram, inverse);
    }
    free(gram);
    free(inverse);
    return largest;
}

double coherence_floor_welch(double dimension, double atoms)
{
    return atoms > dimension && dimension >= 1 ? sqrt((atoms - dimension) / (dimension * (atoms - 1))) : 0;
}

double coherence_floor_convolutional(double filters, double length)
{
    double stripe = filters * (2 * length - 1);
    return filters > 1 && length >= 1 ? sqrt((filters - 1) / (stripe - 1)) : 0;
}
