/* Computes the predictions of theory.h.
 *
 * The functions G0..G3 give all losses of ReLU models. G_n is the derivative of G_{n+1}. For a standard normal g and a
 * deviation s, E ReLU(t + s g) = G1(t) and E ReLU(t + s g)^2 = 2 G2(t). An average of G_n over u in [0, 1] is therefore
 * a difference of two values of G_{n+1}.
 *
 * Integrals use the trapezoidal rule over a range at whose ends the integrand is practically 0. For such integrands,
 * the error falls faster than any power of the step. */
#include "core/superposed/theory.h"

#include <math.h>
#include <stdbool.h>

static const double INV_SQRT_TAU = 0.39894228040143267794;
static const double INV_SQRT_2 = 0.70710678118654752440;

static double density(double z)
{
    return INV_SQRT_TAU * exp(-0.5 * z * z);
}
double theory_normal_below(double z)
{
    return 0.5 * erfc(-z * INV_SQRT_2);
}

double theory_variance(double p)
{
    return p / 3 - p * p / 4;
}
double theory_sigma(double p, double r)
{
    return sqrt(theory_variance(p) * (1 / r - 1));
}

/* ---- ReLU ------------------------------------------------------------------------------------------- */

struct ladder {
    double g1, g2, g3;
};

static struct ladder ladder(double t, double s)
{
    if (s <= 0) {
        double up = fmax(t, 0);
        return (struct ladder){up, up * up / 2, up * up * up / 6};
    }
    double g0 = theory_normal_below(t / s), g1 = t * g0 + s * density(t / s);
    double g2 = (t * g1 + s * s * g0) / 2;
    return (struct ladder){g1, g2, (t * g2 + s * s * g1) / 3};
}

double theory_loss(double a, double m, double s, double p)
{
    struct ladder low = ladder(m, s), high = ladder(a + m, s);
    double rise = high.g3 - low.g3;
    double off = 2 * low.g2;
    double on = 1.0 / 3 - 2 / a * high.g2 + 2 / (a * a) * rise + 2 / a * rise;
    return (1 - p) * off + p * on;
}

/* Returns the smallest loss over all scales at an offset, and the scale that gives it. */
static double best_scaled(double p, double sigma, double offset, double *scale)
{
    struct ladder low = ladder(offset, sigma), high = ladder(1 + offset, sigma);
    double rise = high.g3 - low.g3;
    double cross = p * (high.g2 - rise);
    double square = (1 - p) * 2 * low.g2 + 2 * p * rise;
    *scale = square > 0 && cross > 0 ? cross / square : 0;
    return p / 3 - *scale * cross;
}

struct theory_optimum theory_optimum(double p, double sigma)
{
    enum { SCAN = 2000 };
    const double golden = 0.61803398874989484820;
    double from = -6 * sigma - 1, step = (14 * sigma + 2) / SCAN, scale;
    int best = 0;
    double least = best_scaled(p, sigma, from, &scale);
    for (int i = 1; i <= SCAN; i++) {
        double loss = best_scaled(p, sigma, from + i * step, &scale);
        if (loss < least) {
            least = loss;
            best = i;
        }
    }
    double low = from + (best - 1) * step, high = from + (best + 1) * step;
    double inner = high - golden * (high - low), outer = low + golden * (high - low);
    double at_inner = best_scaled(p, sigma, inner, &scale), at_outer = best_scaled(p, sigma, outer, &scale);
    for (int i = 0; i < 60; i++) {
        if (at_inner < at_outer) {
            high = outer;
            outer = inner;
            at_outer = at_inner;
            inner = high - golden * (high - low);
            at_inner = best_scaled(p, sigma, inner, &scale);
        } else {
            low = inner;
            inner = outer;
            at_inner = at_outer;
            outer = low + golden * (high - low);
            at_outer = best_scaled(p, sigma, outer, &scale);
        }
    }
    struct theory_optimum o = {.sigma = sigma, .offset = (low + high) / 2};
    o.loss = best_scaled(p, sigma, o.offset, &o.scale);
    return o;
}

/* ---- lines and constants ---------------------------------------------------------------------------- */

double theory_linear(double p, double r)
{
    return (1 - r) * theory_variance(p);
}

double theory_linear_printed(double p, int n_s, int n_d)
{
    return p / 3 * (double)(n_s - n_d - 1) / (double)n_s;
}

/* If both features of a pair are on, with the values u > v, their common dimension contains u - v. The model reads the
 * first feature as u - v, and the second as 0. Both errors are v, the smaller value, and the mean of min(u, v)^2 is
 * 1/6. */
double theory_pairs(double p, double r)
{
    return r >= 0.5 ? 2 * (1 - r) * p * p / 6 : NAN;
}

double theory_blind_printed(double p)
{
    return p / 3 - p * p / 9;
}

double theory_upper(double p, double sigma)
{
    return theory_loss(1, -sigma * sqrt(2 * log(1 / p)), sigma, p);
}

/* number of steps of a numerical integral. STEPS: the integrand is smooth; CUT_STEPS: the integrand jumps to 0 */
enum { STEPS = 24, CUT_STEPS = 600 };

/* ---- y = x + sigma g -------------------------------------------------------------------------------- */

/* The values of three functions at one y. u: value of a feature that is on. */
struct mixture {
    double off, on; /* off: density of y if the feature is off; on: density of y if it is on */
    double mass;    /* on * E[u | y, on] */
};

static struct mixture mixture(double y, double sigma)
{
    double low = y / sigma, high = (y - 1) / sigma;
    struct mixture m = {.off = density(low) / sigma};
    /* computes differences of the smaller tails, because subtracting nearly equal large tails would lose precision */
    m.on = y < 0.5 ? theory_normal_below(low) - theory_normal_below(high)
                   : theory_normal_below(-high) - theory_normal_below(-low);
    m.mass = y * m.on + sigma * (density(low) - density(high));
    m.mass = fmin(fmax(m.mass, 0), m.on);
    return m;
}

/* A grid over [-8 sigma, 1 + 8 sigma] with `fine` steps per sigma. */
struct grid {
    double from, step;
    int count;
};

static struct grid grid(double sigma, double fine)
{
    double range = 1 + 16 * sigma, points = ceil(fine * range / sigma);
    struct grid g = {.from = -8 * sigma, .count = (int)fmin(points, 2e6)};
    g.step = range / g.count;
    return g;
}

double theory_bayes(double p, double sigma)
{
    if (sigma <= 0)
        return 0;
    struct grid g = grid(sigma, STEPS);
    double known = 0;
    for (int i = 0; i <= g.count; i++) {
        struct mixture m = mixture(g.from + i * g.step, sigma);
        double all = (1 - p) * m.off + p * m.on;
        if (all > 0)
            known += p * m.mass * p * m.mass / all;
    }
    return p / 3 - known * g.step;
}

double theory_oracle(double p, double sigma)
{
    if (sigma <= 0)
        return 0;
    struct grid g = grid(sigma, STEPS);
    double known = 0;
    for (int i = 0; i <= g.count; i++) {
        struct mixture m = mixture(g.from + i * g.step, sigma);
        if (m.on > 0)
            known += m.mass * m.mass / m.on;
    }
    return p * (1.0 / 3 - known * g.step);
}

double theory_oracle_printed(double p, double sigma)
{
    if (sigma > 0.25)
        return NAN;
    double within = erf(INV_SQRT_2), constant = within * (1 - 2 * density(1) / within);
    /* P(y in [sigma, 1 - sigma] | on) is the integral of the density of y over this interval. The density is
     * G0(y) - G0(y - 1) with G0(t) = Phi(t / sigma), and ladder(t, sigma).g1 is the integral of G0 up to t. */
    double high = 1 - sigma, low = sigma;
    double share =
        (ladder(high, sigma).g1 - ladder(high - 1, sigma).g1) - (ladder(low, sigma).g1 - ladder(low - 1, sigma).g1);
    return p * constant * share * sigma * sigma;
}

/* ---- a line above a threshold ----------------------------------------------------------------------- */

/* Integrals over y > cut, weighted with the density of y. The integrand of each member:
 * one: 1; y: y; yy: y^2; x: E[x | y]; xy: y E[x | y]. */
struct above {
    double one, y, yy, x, xy;
};

static struct theory_cut line_above(const struct above *s, double p, double cut)
{
    struct theory_cut c = {.cut = cut, .share = s->one};
    double determinant = s->one * s->yy - s->y * s->y;
    if (determinant > 1e-14 * s->one * s->yy) {
        c.slope = (s->one * s->xy - s->y * s->x) / determinant;
        c.intercept = (s->x - c.slope * s->y) / s->one;
    } else if (s->one > 0) {
        c.intercept = s->x / s->one;
    }
    c.loss = p / 3 - c.slope * s->xy - c.intercept * s->x;
    return c;
}

/* Searches for the best threshold from the top downwards. */
struct theory_cut theory_cut(double p, double sigma)
{
    if (sigma <= 0)
        return (struct theory_cut){0, 1, 0, p, 0};
    struct grid g = grid(sigma, CUT_STEPS);
    struct above s = {0};
    struct theory_cut best = {.cut = 1 + 8 * sigma, .loss = p / 3};
    for (int i = g.count; i >= 0; i--) {
        double y = g.from + i * g.step;
        struct mixture m = mixture(y, sigma);
        double all = ((1 - p) * m.off + p * m.on) * g.step, x = p * m.mass * g.step;
        s.one += all;
        s.y += y * all;
        s.yy += y * y * all;
        s.x += x;
        s.xy += y * x;
        struct theory_cut now = line_above(&s, p, y - g.step / 2);
        if (now.loss < best.loss)
            best = now;
    }
    return best;
}

double theory_kolmogorov(double d, int n)
{
    double root = sqrt((double)n), z = (root + 0.12 + 0.11 / root) * d, sum = 0;
    if (z < 0.2)
        return 1;
    for (int k = 1; k <= 100; k++) {
        double term = exp(-2.0 * k * k * z * z);
        sum += k % 2 ? term : -term;
        if (term < 1e-16)
            break;
    }
    return fmin(fmax(2 * sum, 0), 1);
}
