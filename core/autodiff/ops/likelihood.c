/* Likelihoods of the data given the decoder's output, as losses: Gaussian, multinomial, Bernoulli. A chunk computes
 * the sum over one row; these sums are added in row order. */
#include "core/autodiff/tape_int.h"

#include <string.h>

struct likelihood_node {
    struct node node;
    struct tensor *y;
    const real *x;
    struct weight *log_sigma;
    double factor;
    real guard;
    real *p; /* the probabilities (multinomial, Bernoulli) */
};

struct likelihood_task {
    const struct kernels *kernels;
    const struct likelihood_node *n;
    struct row_split split;
    double *sums; /* [rows] sum over each row */
    real *dy, *dlog;
    bool add;
    real seed;
};

typedef double forward_row(const struct likelihood_task *t, int row);

static const real *row_of(const struct likelihood_task *t, const real *table, int row)
{
    return table + (ptrdiff_t)row * t->n->y->cols;
}

/* ---- common to all three ---------------------------------------------------------------------------- */

struct forward_frame {
    struct likelihood_task task;
    forward_row *row;
};

static void forward_task(void *context, int chunk, int worker)
{
    const struct forward_frame *frame = context;
    const struct likelihood_task *t = &frame->task;
    int first = chunk * t->split.rows, rows = row_split_count(&t->split, t->n->y->rows, chunk);
    for (int r = first; r < first + rows; r++)
        t->sums[r] = frame->row(t, r);
}

static struct tensor *likelihood(struct exec *e, const char *name, const struct likelihood_node *like, forward_row *row,
                                 void (*backward)(struct exec *, struct node *))
{
    double since = op_clock(e), sum = 0.0;
    struct tensor *y = like->y;
    if (y == NULL || e->error.code)
        return NULL;
    if (y->kind != TENSOR_ROWS || (like->log_sigma != NULL && like->log_sigma->count != (size_t)y->cols)) {
        op_fail(e, STATUS_INTERNAL, "%s: shapes do not fit", name);
        return NULL;
    }
    struct tensor *out = op_out_rows(e, 1, 1, y->wants_grad || weight_wants(e, like->log_sigma));
    struct likelihood_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    *n = *like;
    n->p = like->log_sigma == NULL ? op_reals(e, y->count) : NULL;
    struct forward_frame frame = {
        {.kernels = e->kernels, .n = n, .split = row_split(y->rows, y->cols), .sums = op_doubles(e, (size_t)y->rows)},
        row};
    if (e->error.code)
        return NULL;
    (void)op_run(e, forward_task, &frame, frame.task.split.chunks);
    for (int r = 0; r < y->rows; r++)
        sum += frame.task.sums[r];
    out->data[0] = (real)(like->factor * sum);
    return op_done(e, &n->node, name, backward, out, since);
}

static void run_gradient(struct exec *e, struct node *node, thread_pool_task *task)
{
    struct likelihood_node *n = (struct likelihood_node *)node;
    struct likelihood_task t = {.kernels = e->kernels,
                                .n = n,
                                .split = row_split(n->y->rows, n->y->cols),
                                .seed = (real)n->factor * node->out->grad[0]};
    if (!n->y->wants_grad)
        return;
    t.dy = grad_open(e, n->y, &t.add);
    if (t.dy == NULL)
        return;
    if (!t.add)
        memset(t.dy, 0, n->y->count * sizeof *t.dy);
    (void)op_run(e, task, &t, t.split.chunks);
}

/* ---- Gaussian --------------------------------------------------------------------------------------- */

enum { SIGMA_CHUNK = 64 };

static double gaussian_row(const struct likelihood_task *t, int row)
{
    const real *x = row_of(t, t->n->x, row), *y = row_of(t, t->n->y->data, row), *log_sigma = t->n->log_sigma->value;
    double sum = 0.0;
    for (int j = 0; j < t->n->y->cols; j++) {
        double error = (double)(x[j] - y[j]) * exp(-(double)log_sigma[j]);
        sum += 0.5 * error * error;
    }
    return sum;
}

static void gaussian_gradient(void *context, int chunk, int worker)
{
    const struct likelihood_task *t = context;
    int first = chunk * t->split.rows, rows = row_split_count(&t->split, t->n->y->rows, chunk), cols = t->n->y->cols;
    for (int j = 0; j < cols; j++) {
        real precision = t->seed * real_exp(R(-2.0) * t->n->log_sigma->value[j]);
        for (int r = first; r < first + rows; r++) {
            ptrdiff_t at = (ptrdiff_t)r * cols + j;
            t->dy[at] += precision * (t->n->y->data[at] - t->n->x[at]);
        }
    }
}

static void sigma_gradient(void *context, int chunk, int worker)
{
    const struct likelihood_task *t = context;
    int cols = t->n->y->cols, end = (chunk + 1) * SIGMA_CHUNK < cols ? (chunk + 1) * SIGMA_CHUNK : cols;
    for (int j = chunk * SIGMA_CHUNK; j < end; j++) {
        double sum = 0.0, precision = exp(-2.0 * (double)t->n->log_sigma->value[j]);
        for (int r = 0; r < t->n->y->rows; r++) {
            ptrdiff_t at = (ptrdiff_t)r * cols + j;
            double error = (double)(t->n->x[at] - t->n->y->data[at]);
            sum += error * error;
        }
        t->dlog[j] -= (real)((double)t->seed * precision * sum);
    }
}

static void gaussian_backward(struct exec *e, struct node *node)
{
    struct likelihood_node *n = (struct likelihood_node *)node;
    bool add;
    if (weight_wants(e, n->log_sigma)) {
        struct likelihood_task t = {
            .n = n, .dlog = weight_open(n->log_sigma, true, &add), .seed = (real)n->factor * node->out->grad[0]};
        (void)op_run(e, sigma_gradient, &t, (n->y->cols + SIGMA_CHUNK - 1) / SIGMA_CHUNK);
    }
    run_gradient(e, node, gaussian_gradient);
}

struct tensor *op_gaussian_loss(struct exec *e, struct tensor *y, const real *x, struct weight *log_sigma,
                                double factor)
{
    struct likelihood_node like = {.y = y, .x = x, .log_sigma = log_sigma, .factor = factor};
    return likelihood(e, "gaussian_loss", &like, gaussian_row, gaussian_backward);
}

/* ---- multinomial ------------------------------------------------------------------------------------ */

static double multinomial_row(const struct likelihood_task *t, int row)
{
    int cols = t->n->y->cols;
    const real *x = row_of(t, t->n->x, row), *y = row_of(t, t->n->y->data, row);
    real *p = t->n->p + (ptrdiff_t)row * cols, most = y[0];
    double total = 0.0, sum = 0.0;
    for (int j = 1; j < cols; j++)
        most = y[j] > most ? y[j] : most;
    for (int j = 0; j < cols; j++)
        p[j] = y[j] - most;
    t->kernels->vector_exp((size_t)cols, p, p);
    for (int j = 0; j < cols; j++)
        total += (double)p[j];
    t->kernels->scale((size_t)cols, (real)(1.0 / total), p);
    for (int j = 0; j < cols; j++)
        if (x[j] != R(0.0))
            sum -= (double)x[j] * log((double)(p[j] + t->n->guard));
    return sum;
}

static void multinomial_gradient(void *context, int chunk, int worker)
{
    const struct likelihood_task *t = context;
    int first = chunk * t->split.rows, rows = row_split_count(&t->split, t->n->y->rows, chunk), cols = t->n->y->cols;
    for (int r = first; r < first + rows; r++) {
        const real *x = row_of(t, t->n->x, r), *p = row_of(t, t->n->p, r);
        real *dy = t->dy + (ptrdiff_t)r * cols;
        double all = 0.0;
        for (int j = 0; j < cols; j++)
            if (x[j] != R(0.0))
                all += (double)(x[j] / (p[j] + t->n->guard) * p[j]);
        for (int j = 0; j < cols; j++)
            dy[j] += t->seed * p[j] * ((real)all - x[j] / (p[j] + t->n->guard));
    }
}

static void multinomial_backward(struct exec *e, struct node *node)
{
    run_gradient(e, node, multinomial_gradient);
}

struct tensor *op_multinomial_loss(struct exec *e, struct tensor *y, const real *x, double guard, double factor)
{
    struct likelihood_node like = {.y = y, .x = x, .factor = factor, .guard = (real)guard};
    return likelihood(e, "multinomial_loss", &like, multinomial_row, multinomial_backward);
}

/* ---- Bernoulli -------------------------------------------------------------------------------------- */

static double bernoulli_row(const struct likelihood_task *t, int row)
{
    int cols = t->n->y->cols;
    const real *x = row_of(t, t->n->x, row);
    real *p = t->n->p + (ptrdiff_t)row * cols, guard = t->n->guard;
    double sum = 0.0;
    t->kernels->vector_sigmoid((size_t)cols, row_of(t, t->n->y->data, row), p);
    for (int j = 0; j < cols; j++)
        sum -=
            (double)x[j] * log((double)(p[j] + guard)) + (double)(R(1.0) - x[j]) * log((double)(R(1.0) - p[j] + guard));
    return sum;
}

static void bernoulli_gradient(void *context, int chunk, int worker)
{
    const struct likelihood_task *t = context;
    int first = chunk * t->split.rows, rows = row_split_count(&t->split, t->n->y->rows, chunk), cols = t->n->y->cols;
    real guard = t->n->guard;
    for (ptrdiff_t i = (ptrdiff_t)first * cols; i < (ptrdiff_t)(first + rows) * cols; i++) {
        real p = t->n->p[i], x = t->n->x[i];
        t->dy[i] += t->seed * p * (R(1.0) - p) * ((R(1.0) - x) / (R(1.0) - p + guard) - x / (p + guard));
    }
}

static void bernoulli_backward(struct exec *e, struct node *node)
{
    run_gradient(e, node, bernoulli_gradient);
}

struct tensor *op_bernoulli_loss(struct exec *e, struct tensor *y, const real *x, double guard, double factor)
{
    struct likelihood_node like = {.y = y, .x = x, .factor = factor, .guard = (real)guard};
    return likelihood(e, "bernoulli_loss", &like, bernoulli_row, bernoulli_backward);
}
