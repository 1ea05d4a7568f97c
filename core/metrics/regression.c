/* Sums and figures of predicted numbers, and ordinary least squares by Cholesky's method (regression.h). */
#include "core/metrics/regression.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/metrics/clusters.h"

static void add_squares(struct regression *s, double ee, double yy)
{
    s->n++;
    s->yy += yy;
    s->ee += ee;
    s->eeee += ee * ee;
    s->eeyy += ee * yy;
    s->yyyy += yy * yy;
}

void regression_add(struct regression *s, double y, double p)
{
    add_squares(s, (y - p) * (y - p), y * y);
    s->y += y;
    s->p += p;
    s->pp += p * p;
    s->yp += y * p;
}

void regression_add_all(struct regression *s, const double *y, const double *p, int count)
{
    double ee = 0, yy = 0;
    for (int k = 0; k < count; k++) {
        ee += (y[k] - p[k]) * (y[k] - p[k]);
        yy += y[k] * y[k];
    }
    add_squares(s, ee, yy);
}

double regression_r2(const struct regression *s)
{
    double all = s->n > 0 ? s->yy - s->y * s->y / (double)s->n : 0;
    return all > 0 ? 1 - s->ee / all : (double)NAN;
}

struct interval regression_r2_interval(const struct regression *s, const struct regression *cluster, double z)
{
    double r2 = regression_r2(s), n = (double)s->n, a = s->ee / n, b = s->yy / n, sum[CLUSTERS];
    int64_t samples[CLUSTERS];
    if (s->n < 3 || isnan(r2) || !(s->yy > 0))
        return (struct interval){-(double)INFINITY, 1};
    double errors = s->eeee / n - a * a, both = s->eeyy / n - a * b, squares = s->yyyy / n - b * b;
    double variance = fmax(0, (errors - 2 * a / b * both + a * a / (b * b) * squares) / (b * b));
    for (int g = 0; cluster && g < CLUSTERS; g++) {
        samples[g] = cluster[g].n;
        sum[g] = (a / b * (cluster[g].yy - b * (double)samples[g]) - (cluster[g].ee - a * (double)samples[g])) / b;
    }
    double half = z * sqrt(variance / (cluster ? clusters_effective(sum, samples, variance) : n));
    return (struct interval){r2 - half, fmin(1, r2 + half)};
}

double regression_pearson(const struct regression *s)
{
    double n = (double)s->n, own = s->yy * n - s->y * s->y, other = s->pp * n - s->p * s->p;
    return own > 0 && other > 0 ? (s->yp * n - s->y * s->p) / sqrt(own * other) : (double)NAN;
}

double regression_pearson_samples(const struct regression *s, const struct regression *cluster)
{
    double n = (double)s->n, y = s->y / n, p = s->p / n, yy = s->yy / n - y * y, pp = s->pp / n - p * p;
    double r = regression_pearson(s), sum[CLUSTERS];
    int64_t samples[CLUSTERS];
    if (!cluster || isnan(r))
        return n;
    for (int g = 0; g < CLUSTERS; g++) {
        const struct regression *c = &cluster[g];
        double of = (double)c->n;
        samples[g] = c->n;
        sum[g] = (c->yp - y * c->p - p * c->y + of * y * p) / sqrt(yy * pp) -
                 r / 2 * ((c->yy - 2 * y * c->y + of * y * y) / yy + (c->pp - 2 * p * c->p + of * p * p) / pp);
    }
    return clusters_effective(sum, samples, (1 - r * r) * (1 - r * r));
}

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
