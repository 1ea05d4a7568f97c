/* Multinomial logistic regression by L-BFGS, and its cross-validated accuracy. */
#include "core/metrics/logistic.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/mt19937.h"

enum { HISTORY = 10, ITERATIONS = 300, HALVINGS = 30 };
static const double SMALL = 1e-4; /* the fit ends when the norm of the gradient is at most this times sqrt(rows) */

struct problem {
    const float *x;
    const int *label, *which;
    int count, columns, classes;
    double ridge;
    double *scores; /* [classes] */
};

static double softmax(double *scores, int classes)
{
    double most = scores[0], sum = 0;
    for (int k = 1; k < classes; k++)
        most = fmax(most, scores[k]);
    for (int k = 0; k < classes; k++)
        sum += scores[k] = exp(scores[k] - most);
    for (int k = 0; k < classes; k++)
        scores[k] /= sum;
    return most + log(sum);
}

/* Returns the objective at w and computes its gradient. */
static double slope(const struct problem *p, const double *w, double *gradient)
{
    int wide = p->columns + 1;
    double sum = 0;
    memset(gradient, 0, (size_t)(p->classes * wide) * sizeof *gradient);
    for (int i = 0; i < p->count; i++) {
        int row = p->which ? p->which[i] : i, right = p->label[row];
        const float *x = p->x + (ptrdiff_t)row * p->columns;
        for (int k = 0; k < p->classes; k++) {
            const double *b = w + (ptrdiff_t)k * wide;
            p->scores[k] = b[p->columns];
            for (int j = 0; j < p->columns; j++)
                p->scores[k] += b[j] * (double)x[j];
        }
        double own = p->scores[right];
        sum += softmax(p->scores, p->classes) - own;
        for (int k = 0; k < p->classes; k++) {
            double d = p->scores[k] - (k == right);
            double *g = gradient + (ptrdiff_t)k * wide;
            for (int j = 0; j < p->columns; j++)
                g[j] += d * (double)x[j];
            g[p->columns] += d;
        }
    }
    for (int k = 0; k < p->classes; k++)
        for (int j = 0; j < p->columns; j++) {
            ptrdiff_t at = (ptrdiff_t)k * wide + j;
            sum += 0.5 * p->ridge * w[at] * w[at];
            gradient[at] += p->ridge * w[at];
        }
    return sum;
}

static double logistic_dot(const double *x, const double *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

struct memory {
    double *s, *y, rho[HISTORY]; /* s, y, rho: a ring of the last HISTORY updates; the newest is at (count - 1) mod
                                  * HISTORY. s, y: [HISTORY][n] */
    int count;
};

/* The two-loop recursion of L-BFGS (Nocedal 1980): d = -H g. */
static void direction(const struct memory *m, const double *g, double *d, int n)
{
    double alpha[HISTORY];
    int have = m->count < HISTORY ? m->count : HISTORY;
    for (int i = 0; i < n; i++)
        d[i] = -g[i];
    for (int b = 1; b <= have; b++) {
        int at = (m->count - b) % HISTORY;
        alpha[at] = m->rho[at] * logistic_dot(m->s + (ptrdiff_t)at * n, d, n);
        for (int i = 0; i < n; i++)
            d[i] -= alpha[at] * m->y[(ptrdiff_t)at * n + i];
    }
    if (have) {
        int at = (m->count - 1) % HISTORY;
        const double *y = m->y + (ptrdiff_t)at * n;
        double scale = 1 / (m->rho[at] * logistic_dot(y, y, n));
        for (int i = 0; i < n; i++)
            d[i] *= scale;
    }
    for (int b = have; b >= 1; b--) {
        int at = (m->count - b) % HISTORY;
        double beta = m->rho[at] * logistic_dot(m->y + (ptrdiff_t)at * n, d, n);
        for (int i = 0; i < n; i++)
            d[i] += (alpha[at] - beta) * m->s[(ptrdiff_t)at * n + i];
    }
}

static void logistic_remember(struct memory *m, const double *w, const double *w0, const double *g, const double *g0,
                              int n)
{
    int at = m->count % HISTORY;
    double *s = m->s + (ptrdiff_t)at * n, *y = m->y + (ptrdiff_t)at * n;
    for (int i = 0; i < n; i++) {
        s[i] = w[i] - w0[i];
        y[i] = g[i] - g0[i];
    }
    double curvature = logistic_dot(s, y, n);
    if (curvature > 1e-12) {
        m->rho[at] = 1 / curvature;
        m->count++;
    }
}

/* Minimises the objective from w on, in place. work: [4 + 2 HISTORY][n], followed by the scores. */
static void minimise(struct problem *p, struct thread_pool *pool, double *w, double *work, struct logistic *out)
{
    int n = p->classes * (p->columns + 1);
    double *g = work, *next = g + n, *next_g = next + n, *d = next_g + n;
    struct memory m = {.s = d + n, .y = d + n + (ptrdiff_t)HISTORY * n};
    p->scores = m.y + (ptrdiff_t)HISTORY * n;
    double value = slope(p, w, g);
    for (out->iterations = 0; out->iterations < ITERATIONS && sqrt(logistic_dot(g, g, n)) > SMALL * sqrt(p->count);
         out->iterations++) {
        direction(&m, g, d, n);
        double down = logistic_dot(g, d, n), step = out->iterations ? 1 : fmin(1, 1 / sqrt(logistic_dot(g, g, n))),
               try = HUGE_VAL;
        for (int half = 0; half < HALVINGS && !thread_pool_stopped(pool); half++) {
            for (int i = 0; i < n; i++)
                next[i] = w[i] + step * d[i];
            try = slope(p, next, next_g);
            if (try <= value + 1e-4 * step * down)
                break;
            step /= 2;
        }
        if (!(try < value))
            break;
        logistic_remember(&m, next, w, next_g, g, n);
        memcpy(w, next, (size_t)n * sizeof *w);
        memcpy(g, next_g, (size_t)n * sizeof *g);
        value = try;
    }
    out->objective = value;
}

enum status logistic_fit(const float *x, const int *label, const int *which, int count, int columns, int classes,
                         double c, struct thread_pool *pool, struct logistic *out, struct error *err)
{
    size_t n = (size_t)classes * (size_t)(columns + 1);
    *out = (struct logistic){.columns = columns, .classes = classes};
    struct problem p = {x, label, which, count, columns, classes, 1 / c, NULL};
    double *work = malloc(((4 + 2 * HISTORY) * n + (size_t)classes) * sizeof *work);
    out->weights = calloc(n, sizeof *out->weights);
    if (!work || !out->weights) {
        free(work);
        logistic_close(out);
        return error_memory(err, "a regression");
    }
    minimise(&p, pool, out->weights, work, out);
    free(work);
    enum status status = thread_pool_check(pool, err);
    if (status)
        logistic_close(out);
    return status;
}

void logistic_close(struct logistic *logistic)
{
    free(logistic->weights);
    logistic->weights = NULL;
}

static int class_of(const struct logistic *logistic, const float *x)
{
    int best = 0, wide = logistic->columns + 1;
    double most = -HUGE_VAL;
    for (int k = 0; k < logistic->classes; k++) {
        const double *b = logistic->weights + (ptrdiff_t)k * wide;
        double score = b[logistic->columns];
        for (int j = 0; j < logistic->columns; j++)
            score += b[j] * (double)x[j];
        if (score > most) {
            most = score;
            best = k;
        }
    }
    return best;
}

enum status logistic_accuracy(const float *x, const int *label, int rows, int columns, int classes, int folds,
                              struct thread_pool *pool, double *accuracy, struct error *err)
{
    int *order = malloc(2 * (size_t)rows * sizeof *order), right = 0;
    struct mt19937 rng;
    if (!order)
        return error_memory(err, "folds");
    int *train = order + rows;
    mt19937_init(&rng, 42);
    mt19937_permutation(&rng, order, rows);
    enum status status = STATUS_OK;
    for (int f = 0; !status && f < folds; f++) {
        struct logistic fit;
        int count = 0;
        for (int i = 0; i < rows; i++)
            if (i % folds != f)
                train[count++] = order[i];
        status = logistic_fit(x, label, train, count, columns, classes, 1, pool, &fit, err);
        for (int i = f; !status && i < rows; i += folds)
            right += class_of(&fit, x + (ptrdiff_t)order[i] * columns) == label[order[i]];
        if (!status)
            logistic_close(&fit);
    }
    *accuracy = (double)right / rows;
    free(order);
    return status;
}
