/* Gaussian latent variables: the reparametrised sample, and the KL divergence from the prior. */
#include "core/autodiff/tape_int.h"

#include "core/base/random/philox.h"

struct latent_node {
    struct node node;
    struct tensor *mean, *log_variance;
    double factor;
};

struct latent_task {
    struct latent_node *n;
    struct tensor *out;
    struct philox noise;
    uint64_t first;
    real *dmean, *dlog;
    bool add_mean, add_log;
    double *sums; /* [chunks] partial sums */
    real seed;
};

static bool latent_fits(struct exec *e, const char *name, const struct tensor *mean, const struct tensor *log_variance)
{
    if (mean == NULL || log_variance == NULL || e->error.code)
        return false;
    if (mean->kind == TENSOR_ROWS && tensor_same(mean, log_variance))
        return true;
    op_fail(e, STATUS_INTERNAL, "%s: shapes do not fit", name);
    return false;
}

/* ---- sample ----------------------------------------------------------------------------------------- */

static void sample_task(void *context, int chunk, int worker)
{
    enum { PIECE = 256 };
    const struct latent_task *t = context;
    const real *mean = t->n->mean->data, *log_variance = t->n->log_variance->data;
    size_t at = (size_t)chunk * FLAT_CHUNK, end = at + flat_count(t->out->count, chunk);
    double noise[PIECE];
    for (; at < end; at += PIECE) {
        size_t count = end - at < PIECE ? end - at : PIECE;
        philox_fill_normal(&t->noise, t->first + at, noise, count);
        for (size_t i = 0; i < count; i++)
            t->out->data[at + i] = mean[at + i] + real_exp(R(0.5) * log_variance[at + i]) * (real)noise[i];
    }
}

static void sample_gradient_task(void *context, int chunk, int worker)
{
    const struct latent_task *t = context;
    const real *mean = t->n->mean->data, *z = t->out->data, *dz = t->out->grad;
    size_t at = (size_t)chunk * FLAT_CHUNK, end = at + flat_count(t->out->count, chunk);
    for (size_t i = at; i < end && t->dmean != NULL; i++)
        t->dmean[i] = (t->add_mean ? t->dmean[i] : R(0.0)) + dz[i];
    for (size_t i = at; i < end && t->dlog != NULL; i++)
        t->dlog[i] = (t->add_log ? t->dlog[i] : R(0.0)) + R(0.5) * (z[i] - mean[i]) * dz[i];
}

static void open_both(struct exec *e, struct latent_task *t)
{
    if (t->n->mean->wants_grad)
        t->dmean = grad_open(e, t->n->mean, &t->add_mean);
    if (t->n->log_variance->wants_grad)
        t->dlog = grad_open(e, t->n->log_variance, &t->add_log);
}

static void sample_backward(struct exec *e, struct node *node)
{
    struct latent_task t = {.n = (struct latent_node *)node, .out = node->out};
    open_both(e, &t);
    if (!e->error.code)
        (void)op_run(e, sample_gradient_task, &t, flat_chunks(node->out->count));
}

struct tensor *op_gaussian_sample(struct exec *e, struct tensor *mean, struct tensor *log_variance, int64_t first)
{
    double since = op_clock(e);
    if (!latent_fits(e, "sample", mean, log_variance))
        return NULL;
    uint32_t stream = op_stream(e);
    struct tensor *out = op_out_like(e, mean, mean->wants_grad || log_variance->wants_grad);
    struct latent_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    n->mean = mean;
    n->log_variance = log_variance;
    struct latent_task t = {.n = n,
                            .out = out,
                            .noise = philox_stream(e->seed, stream, e->step),
                            .first = (uint64_t)first * (uint64_t)mean->cols};
    (void)op_run(e, sample_task, &t, flat_chunks(out->count));
    return op_done(e, &n->node, "gaussian_sample", sample_backward, out, since);
}

/* ---- divergence ------------------------------------------------------------------------------------- */

static void kl_task(void *context, int chunk, int worker)
{
    const struct latent_task *t = context;
    const real *mean = t->n->mean->data, *log_variance = t->n->log_variance->data;
    size_t at = (size_t)chunk * FLAT_CHUNK, end = at + flat_count(t->n->mean->count, chunk);
    double sum = 0.0;
    for (size_t i = at; i < end; i++) {
        double m = (double)mean[i], l = (double)log_variance[i];
        sum += 0.5 * (m * m + exp(l) - 1.0 - l);
    }
    t->sums[chunk] = sum;
}

static void kl_gradient_task(void *context, int chunk, int worker)
{
    const struct latent_task *t = context;
    const real *mean = t->n->mean->data, *log_variance = t->n->log_variance->data;
    size_t at = (size_t)chunk * FLAT_CHUNK, end = at + flat_count(t->n->mean->count, chunk);
    for (size_t i = at; i < end && t->dmean != NULL; i++)
        t->dmean[i] = (t->add_mean ? t->dmean[i] : R(0.0)) + t->seed * mean[i];
    for (size_t i = at; i < end && t->dlog != NULL; i++)
        t->dlog[i] = (t->add_log ? t->dlog[i] : R(0.0)) + R(0.5) * t->seed * (real_exp(log_variance[i]) - R(1.0));
}

static void kl_backward(struct exec *e, struct node *node)
{
    struct latent_task t = {.n = (struct latent_node *)node};
    t.seed = (real)t.n->factor * node->out->grad[0];
    open_both(e, &t);
    if (!e->error.code)
        (void)op_run(e, kl_gradient_task, &t, flat_chunks(t.n->mean->count));
}

struct tensor *op_gaussian_kl(struct exec *e, struct tensor *mean, struct tensor *log_variance, double factor)
{
    double since = op_clock(e), sum = 0.0;
    if (!latent_fits(e, "divergence", mean, log_variance))
        return NULL;
    int chunks = flat_chunks(mean->count);
    struct tensor *out = op_out_rows(e, 1, 1, mean->wants_grad || log_variance->wants_grad);
    struct latent_node *n = op_alloc(e, sizeof *n);
    struct latent_task t = {.n = n, .sums = op_doubles(e, (size_t)chunks)};
    if (out == NULL || n == NULL || t.sums == NULL)
        return NULL;
    *n = (struct latent_node){.mean = mean, .log_variance = log_variance, .factor = factor};
    (void)op_run(e, kl_task, &t, chunks);
    for (int i = 0; i < chunks; i++)
        sum += t.sums[i];
    out->data[0] = (real)(factor * sum);
    return op_done(e, &n->node, "gaussian_kl", kl_backward, out, since);
}
