/* Priors on weights, as losses. The subgradient of the absolute value at 0 is 0. */
#include "core/autodiff/tape_int.h"

struct penalty_node {
    struct node node;
    struct weight *w;
    const real *coefficient;
    int power;
    double factor, squares;
};

static struct tensor *penalty(struct exec *e, const char *name, const struct penalty_node *like, double value,
                              void (*backward)(struct exec *, struct node *), double since)
{
    struct tensor *out = op_out_rows(e, 1, 1, weight_wants(e, like->w));
    struct penalty_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    *n = *like;
    out->data[0] = (real)value;
    return op_done(e, &n->node, name, backward, out, since);
}

static void penalty_backward(struct exec *e, struct node *node)
{
    struct penalty_node *n = (struct penalty_node *)node;
    bool add;
    real *dw = weight_open(n->w, true, &add), seed = (real)n->factor * node->out->grad[0];
    for (size_t i = 0; i < n->w->count; i++) {
        real w = n->w->value[i], slope = n->coefficient == NULL ? seed : seed * n->coefficient[i];
        if (n->power == 2)
            dw[i] += R(2.0) * slope * w;
        else if (w != R(0.0))
            dw[i] += w > R(0.0) ? slope : -slope;
    }
}

struct tensor *op_weight_penalty(struct exec *e, struct weight *w, const real *coefficient, int power, double factor)
{
    double since = op_clock(e), sum = 0.0;
    if (e->error.code)
        return NULL;
    for (size_t i = 0; i < w->count; i++) {
        double size = fabs((double)w->value[i]);
        sum += (coefficient == NULL ? 1.0 : (double)coefficient[i]) * (power == 2 ? size * size : size);
    }
    struct penalty_node like = {.w = w, .coefficient = coefficient, .power = power, .factor = factor};
    return penalty(e, "weight_penalty", &like, factor * sum, penalty_backward, since);
}

static void sigma_backward(struct exec *e, struct node *node)
{
    struct penalty_node *n = (struct penalty_node *)node;
    bool add;
    real *dw = weight_open(n->w, true, &add);
    double seed = (double)node->out->grad[0];
    for (size_t i = 0; i < n->w->count; i++)
        dw[i] += (real)(seed * (n->factor - 2.0 * n->squares * exp(-2.0 * (double)n->w->value[i])));
}

struct tensor *op_sigma_prior(struct exec *e, struct weight *log_sigma, double logs, double squares)
{
    double since = op_clock(e), sum = 0.0;
    if (e->error.code)
        return NULL;
    for (size_t i = 0; i < log_sigma->count; i++) {
        double log_value = (double)log_sigma->value[i];
        sum += logs * log_value + squares * exp(-2.0 * log_value);
    }
    struct penalty_node like = {.w = log_sigma, .factor = logs, .squares = squares};
    return penalty(e, "sigma_prior", &like, sum, sigma_backward, since);
}
