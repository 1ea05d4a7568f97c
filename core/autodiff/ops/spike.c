/* Variational sparse coding (Tonolini, Jensen, Murray-Smith, UAI 2020): latent variables that are exactly 0 with
 * probability 1 - gamma, and their KL divergence from a mixture of the encoder's outputs for pseudo-inputs. */
#include "core/autodiff/tape_int.h"

#include <math.h>
#include <string.h>

#include "core/base/random/philox.h"

static const double CLAMP = 1e-6; /* probabilities are limited to [CLAMP, 1 - CLAMP] before a logarithm */

/* ---- probabilities -------------------------------------------------------------------------------------- */

struct elementwise_node {
    struct node node;
    struct tensor *x;
    struct weight *w;
};

static void odds_backward(struct exec *e, struct node *node)
{
    struct tensor *x = ((struct elementwise_node *)node)->x, *out = node->out;
    bool add;
    real *dx = grad_open(e, x, &add);
    for (size_t i = 0; dx != NULL && i < x->count; i++)
        dx[i] = (add ? dx[i] : R(0.0)) + (x->data[i] < R(0.0) ? out->data[i] * out->grad[i] : R(0.0));
}

struct tensor *op_spike_odds(struct exec *e, struct tensor *x)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    struct tensor *out = op_out_like(e, x, x->wants_grad);
    struct elementwise_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    n->x = x;
    for (size_t i = 0; i < x->count; i++)
        out->data[i] = x->data[i] < R(0.0) ? real_exp(x->data[i]) : R(1.0);
    return op_done(e, &n->node, "spike_odds", odds_backward, out, since);
}

struct warm_node {
    struct node node;
    struct tensor *x;
    real warmth;
};

/* Returns the derivative of the warmed-up log variance 2 log s' with respect to x = 2 log s, where s' = warmth s + 1 -
 * warmth. The derivative is warmth s / s'. */
static real warm_share(const struct warm_node *n, real x)
{
    real own = n->warmth * real_exp(x / R(2.0));
    return own / (own + R(1.0) - n->warmth);
}

static void warm_backward(struct exec *e, struct node *node)
{
    const struct warm_node *n = (const struct warm_node *)node;
    bool add;
    real *dx = grad_open(e, n->x, &add);
    for (size_t i = 0; dx != NULL && i < n->x->count; i++)
        dx[i] = (add ? dx[i] : R(0.0)) + warm_share(n, n->x->data[i]) * node->out->grad[i];
}

struct tensor *op_spike_warm(struct exec *e, struct tensor *x, double warmth)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    struct tensor *out = op_out_like(e, x, x->wants_grad);
    struct warm_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    n->x = x;
    n->warmth = (real)warmth;
    for (size_t i = 0; i < x->count; i++)
        out->data[i] = R(2.0) * real_log(n->warmth * real_exp(x->data[i] / R(2.0)) + R(1.0) - n->warmth);
    return op_done(e, &n->node, "spike_warm", warm_backward, out, since);
}

static void softmax_backward(struct exec *e, struct node *node)
{
    struct tensor *x = ((struct elementwise_node *)node)->x, *out = node->out;
    bool add;
    real *dx = grad_open(e, x, &add);
    for (int r = 0; dx != NULL && r < x->rows; r++) {
        ptrdiff_t at = (ptrdiff_t)r * x->cols;
        real sum = R(0.0);
        for (int j = 0; j < x->cols; j++)
            sum += out->data[at + j] * out->grad[at + j];
        for (int j = 0; j < x->cols; j++)
            dx[at + j] = (add ? dx[at + j] : R(0.0)) + out->data[at + j] * (out->grad[at + j] - sum);
    }
}

struct tensor *op_softmax_rows(struct exec *e, struct tensor *x)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    struct tensor *out = op_out_like(e, x, x->wants_grad);
    struct elementwise_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    n->x = x;
    for (int r = 0; r < x->rows; r++) {
        const real *from = x->data + (ptrdiff_t)r * x->cols;
        real *to = out->data + (ptrdiff_t)r * x->cols, most = from[0];
        double sum = 0.0;
        for (int j = 1; j < x->cols; j++)
            most = from[j] > most ? from[j] : most;
        for (int j = 0; j < x->cols; j++) {
            to[j] = real_exp(from[j] - most);
            sum += (double)to[j];
        }
        for (int j = 0; j < x->cols; j++)
            to[j] = (real)((double)to[j] / sum);
    }
    return op_done(e, &n->node, "softmax_rows", softmax_backward, out, since);
}

static void weight_rows_backward(struct exec *e, struct node *node)
{
    struct elementwise_node *n = (struct elementwise_node *)node;
    bool add;
    e->kernels->add(n->w->count, node->out->grad, weight_open(n->w, true, &add));
}

struct tensor *op_weight_rows(struct exec *e, struct weight *w)
{
    double since = op_clock(e);
    if (e->error.code || w->rank != 2)
        return NULL;
    struct tensor *out = op_out_rows(e, w->dim[0], w->dim[1], weight_wants(e, w));
    struct elementwise_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    n->w = w;
    memcpy(out->data, w->value, w->count * sizeof *w->value);
    return op_done(e, &n->node, "weight_rows", weight_rows_backward, out, since);
}

/* ---- gates ------------------------------------------------------------------------------------------ */

struct gate_node {
    struct node node;
    struct tensor *x, *odds;
    real sharpness;
    real *gate;
};

static void gate_backward(struct exec *e, struct node *node)
{
    struct gate_node *n = (struct gate_node *)node;
    const struct tensor *out = node->out;
    bool add;
    real *dx = n->x->wants_grad ? grad_open(e, n->x, &add) : NULL;
    for (size_t i = 0; dx != NULL && i < out->count; i++)
        dx[i] = (add ? dx[i] : R(0.0)) + n->gate[i] * out->grad[i];
    real *dodds = n->odds->wants_grad ? grad_open(e, n->odds, &add) : NULL;
    for (size_t i = 0; dodds != NULL && i < out->count; i++)
        dodds[i] = (add ? dodds[i] : R(0.0)) +
                   n->sharpness * n->gate[i] * (R(1.0) - n->gate[i]) * n->x->data[i] * out->grad[i];
}

struct tensor *op_spike_gate(struct exec *e, struct tensor *x, struct tensor *odds, double sharpness, int64_t first)
{
    double since = op_clock(e);
    if (x == NULL || odds == NULL || e->error.code)
        return NULL;
    if (!tensor_same(x, odds)) {
        op_fail(e, STATUS_INTERNAL, "gates: shapes do not fit");
        return NULL;
    }
    uint32_t stream = op_stream(e);
    struct tensor *out = op_out_like(e, x, x->wants_grad || odds->wants_grad);
    struct gate_node *n = op_alloc(e, sizeof *n);
    real *gate = op_reals(e, x->count);
    if (out == NULL || n == NULL || gate == NULL)
        return NULL;
    *n = (struct gate_node){.x = x, .odds = odds, .sharpness = (real)sharpness, .gate = gate};
    struct philox noise = philox_stream(e->seed, stream, e->step);
    for (size_t i = 0; i < x->count; i++) {
        real u = (real)philox_uniform(&noise, (uint64_t)first * (uint64_t)x->cols + i);
        gate[i] = R(1.0) / (R(1.0) + real_exp(-n->sharpness * (u - R(1.0) + odds->data[i])));
        out->data[i] = gate[i] * x->data[i];
    }
    return op_done(e, &n->node, "spike_gate", gate_backward, out, since);
}

/* ---- divergence ------------------------------------------------------------------------------------- */

struct spike_node {
    struct node node;
    struct spike_code of, prior;
    struct tensor *selector;
    bool printed;
    double factor;
};

/* The divergence of one latent variable (`value`) and its derivatives. The encoder's distribution has the mean m, the
 * log variance l and the odds g; that of the pseudo-input has pm, pl and pg. dm is the derivative with respect to m,
 * and so on. */
struct spike_term {
    double value, dm, dl, dg, dpm, dpl, dpg;
};

static struct spike_term spike_term(double m, double l, double g, double pm, double pl, double pg, bool printed)
{
    double half = printed ? 0.5 : 1.0, spread = exp(half * l), scale = exp(-half * pl), off = m - pm;
    double quadratic = printed ? scale * (spread + off * off) : 0.5 * scale * (spread + off * off);
    double each = printed ? 1.0 : g, part = printed ? 1.0 : 0.5;
    double inner = 0.5 * (pl - l) - 0.5;
    struct spike_term t = {.value = g * inner + each * quadratic};
    t.dm = each * part * scale * 2.0 * off;
    t.dpm = -t.dm;
    t.dl = -0.5 * g + each * part * scale * half * spread;
    t.dpl = 0.5 * g - each * half * quadratic;
    t.dg = inner + (printed ? 0.0 : quadratic);
    bool inside = g > CLAMP && g < 1.0 - CLAMP;
    bool prior_inside = pg > CLAMP && pg < 1.0 - CLAMP;
    double a = fmin(fmax(g, CLAMP), 1.0 - CLAMP), b = fmin(fmax(pg, CLAMP), 1.0 - CLAMP);
    t.value += (1.0 - a) * log((1.0 - a) / (1.0 - b)) + a * log(a / b);
    t.dg += inside ? log(a / b) - log((1.0 - a) / (1.0 - b)) : 0.0;
    t.dpg = prior_inside ? (1.0 - a) / (1.0 - b) - a / b : 0.0;
    return t;
}

static struct spike_term term_at(const struct spike_node *n, int i, int u, int c)
{
    int k = n->of.mean->cols;
    ptrdiff_t at = (ptrdiff_t)i * k + c, prior = (ptrdiff_t)u * k + c;
    return spike_term((double)n->of.mean->data[at], (double)n->of.log_variance->data[at], (double)n->of.odds->data[at],
                      (double)n->prior.mean->data[prior], (double)n->prior.log_variance->data[prior],
                      (double)n->prior.odds->data[prior], n->printed);
}

static void add_to(struct tensor *x, real *buffer, ptrdiff_t at, double value)
{
    if (x->wants_grad)
        buffer[at] += (real)value;
}

static void spike_backward(struct exec *e, struct node *node)
{
    struct spike_node *n = (struct spike_node *)node;
    struct tensor *all[] = {n->of.mean,    n->of.log_variance, n->of.odds, n->prior.mean, n->prior.log_variance,
                            n->prior.odds, n->selector};
    real *buffers[7] = {NULL};
    int k = n->of.mean->cols, pseudo = n->prior.mean->rows;
    for (int b = 0; b < 7; b++) {
        if (!all[b]->wants_grad)
            continue;
        buffers[b] = grad_buffer(e, all[b]);
        if (buffers[b] == NULL)
            return;
        memset(buffers[b], 0, all[b]->count * sizeof *buffers[b]);
    }
    double seed = n->factor * (double)node->out->grad[0];
    for (int i = 0; i < n->of.mean->rows; i++)
        for (int u = 0; u < pseudo; u++) {
            double share = seed * (double)n->selector->data[(ptrdiff_t)i * pseudo + u], sum = 0.0;
            for (int c = 0; c < k; c++) {
                struct spike_term t = term_at(n, i, u, c);
                ptrdiff_t at = (ptrdiff_t)i * k + c, prior = (ptrdiff_t)u * k + c;
                add_to(all[0], buffers[0], at, share * t.dm);
                add_to(all[1], buffers[1], at, share * t.dl);
                add_to(all[2], buffers[2], at, share * t.dg);
                add_to(all[3], buffers[3], prior, share * t.dpm);
                add_to(all[4], buffers[4], prior, share * t.dpl);
                add_to(all[5], buffers[5], prior, share * t.dpg);
                sum += t.value;
            }
            add_to(all[6], buffers[6], (ptrdiff_t)i * pseudo + u, seed * sum);
        }
    for (int b = 0; b < 7; b++)
        if (buffers[b] != NULL)
            grad_give(e, all[b], buffers[b]);
}

static bool code_fits(const struct spike_code *code)
{
    return code->mean != NULL && code->log_variance != NULL && code->odds != NULL &&
           tensor_same(code->mean, code->log_variance) && tensor_same(code->mean, code->odds);
}

struct tensor *op_spike_kl(struct exec *e, const struct spike_code *of, const struct spike_code *prior,
                           struct tensor *selector, bool printed, double factor)
{
    double since = op_clock(e), sum = 0.0;
    if (e->error.code || selector == NULL)
        return NULL;
    if (!code_fits(of) || !code_fits(prior) || of->mean->cols != prior->mean->cols ||
        selector->rows != of->mean->rows || selector->cols != prior->mean->rows) {
        op_fail(e, STATUS_INTERNAL, "spikes: shapes do not fit");
        return NULL;
    }
    struct tensor *out = op_out_rows(e, 1, 1, of->mean->wants_grad || prior->mean->wants_grad || selector->wants_grad);
    struct spike_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    *n = (struct spike_node){.of = *of, .prior = *prior, .selector = selector, .printed = printed, .factor = factor};
    for (int i = 0; i < of->mean->rows; i++)
        for (int u = 0; u < prior->mean->rows; u++) {
            double terms = 0.0;
            for (int c = 0; c < of->mean->cols; c++)
                terms += term_at(n, i, u, c).value;
            sum += terms * (double)selector->data[(ptrdiff_t)i * selector->cols + u];
        }
    out->data[0] = (real)(factor * sum);
    return op_done(e, &n->node, "spike_kl", spike_backward, out, since);
}

/* ---- rate ------------------------------------------------------------------------------------------- */

struct rate_node {
    struct node node;
    struct tensor *odds;
    double slope; /* derivative of the loss with respect to each element */
};

static void rate_backward(struct exec *e, struct node *node)
{
    struct rate_node *n = (struct rate_node *)node;
    bool add;
    real *d = grad_open(e, n->odds, &add), slope = (real)n->slope * node->out->grad[0];
    for (size_t i = 0; d != NULL && i < n->odds->count; i++)
        d[i] = (add ? d[i] : R(0.0)) + slope;
}

struct tensor *op_rate_kl(struct exec *e, struct tensor *odds, double rate, double factor)
{
    double since = op_clock(e), mean = 0.0;
    if (odds == NULL || e->error.code)
        return NULL;
    struct tensor *out = op_out_rows(e, 1, 1, odds->wants_grad);
    struct rate_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    for (size_t i = 0; i < odds->count; i++)
        mean += (double)odds->data[i] / (double)odds->count;
    double a = fmin(fmax(mean, CLAMP), 1.0 - CLAMP);
    out->data[0] = (real)(factor * (a * log(a / rate) + (1.0 - a) * log((1.0 - a) / (1.0 - rate))));
    *n = (struct rate_node){.odds = odds};
    if (mean > CLAMP && mean < 1.0 - CLAMP)
        n->slope = factor * (log(a / rate) - log((1.0 - a) / (1.0 - rate))) / (double)odds->count;
    return op_done(e, &n->node, "rate_kl", rate_backward, out, since);
}
