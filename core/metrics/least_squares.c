/* Ordinary least squares (least_squares.h): inverts the sums of products by Cholesky's method. */
#include "core/metrics/least_squares.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* RIDGE times the number of samples is added to each diagonal entry. */
static const double RIDGE = 1e-9;

/* Replaces the lower triangle of a symmetric matrix by its Cholesky factor. Returns false if the matrix is not positive
 * definite. */
static bool factorise(double *g, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = g[i * n + j];
            for (int k = 0; k < j; k++)
                sum -= g[i * n + k] * g[j * n + k];
            if (i == j && !(sum > 0))
                return false;
            g[i * n + j] = i == j ? sqrt(sum) : sum / g[j * n + j];
        }
    return true;
}

/* Replaces the Cholesky factor L by the inverse of L L'. */
static void invert(double *g, int n)
{
    for (int i = 0; i < n; i++) { /* L becomes its inverse */
        g[i * n + i] = 1 / g[i * n + i];
        for (int j = 0; j < i; j++) {
            double sum = 0;
            for (int k = j; k < i; k++)
                sum -= g[i * n + k] * g[k * n + j];
            g[i * n + j] = sum * g[i * n + i];
        }
    }
    /* Computes inverse(L)' inverse(L). Row i of the product replaces column i of the lower triangle. The rows after i
     * do not read this column. */
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            double sum = 0;
            for (int k = j; k < n; k++)
                sum += g[k * n + i] * g[k * n + j];
            g[j * n + i] = sum;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            g[j * n + i] = g[i * n + j];
}

bool least_squares_solve(struct least_squares *s, double *coefficient, double *t)
{
    int n = s->terms, m = s->numbers;
    memset(coefficient, 0, (size_t)n * (size_t)m * sizeof *coefficient);
    memset(t, 0, (size_t)n * (size_t)m * sizeof *t);
    for (int i = 0; i < n; i++)
        s->gram[i * n + i] += RIDGE * s->samples;
    if (!(s->samples > n) || !factorise(s->gram, n))
        return false;
    invert(s->gram, n);
    for (int k = 0; k < m; k++) {
        double left = s->squares[k];
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < n; j++)
                sum += s->gram[i * n + j] * s->products[j * m + k];
            coefficient[i * m + k] = sum;
            left -= sum * s->products[i * m + k];
        }
        double variance = fmax(0, left) / (s->samples - n);
        for (int i = 0; i < n; i++) {
            double deviation = sqrt(variance * s->gram[i * n + i]);
            t[i * m + k] = deviation > 0 ? coefficient[i * m + k] / deviation : 0;
        }
    }
    return true;
}
