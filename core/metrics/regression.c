/* Sums and figures of predicted numbers (regression.h). */
#include "core/metrics/regression.h"

#include <math.h>

_Static_assert(sizeof(struct regression) == REGRESSION_NUMBERS * sizeof(double), "a regression is a row of doubles");

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
    double all = s->n > 0 ? s->yy - s->y * s->y / s->n : 0;
    return all > 0 ? 1 - s->ee / all : (double)NAN;
}

struct interval regression_r2_interval(const struct regression *s, double z)
{
    double r2 = regression_r2(s);
    if (s->n < 3 || isnan(r2) || !(s->yy > 0))
        return (struct interval){-(double)INFINITY, 1};
    double a = s->ee / s->n, b = s->yy / s->n;
    double errors = s->eeee / s->n - a * a, both = s->eeyy / s->n - a * b, squares = s->yyyy / s->n - b * b;
    double variance = (errors - 2 * a / b * both + a * a / (b * b) * squares) / (b * b) / s->n;
    double half = z * sqrt(fmax(0, variance));
    return (struct interval){r2 - half, fmin(1, r2 + half)};
}

double regression_pearson(const struct regression *s)
{
    double own = s->yy * s->n - s->y * s->y, other = s->pp * s->n - s->p * s->p;
    return own > 0 && other > 0 ? (s->yp * s->n - s->y * s->p) / sqrt(own * other) : (double)NAN;
}
