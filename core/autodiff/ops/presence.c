/* The presence objective: which names occur in a label, predicted from the motif map before its threshold.
 *
 * The map is pooled to one score for each image and channel, the log of the mean of exponentials, so that every
 * position gets a gradient and the largest values get most of it. Name k is then predicted from the score of channel
 * k alone. So each channel learns to mark its name from the first update on, when the untrained head gives it no
 * useful gradient yet. */
#include <math.h>
#include <string.h>

#include "core/autodiff/tape_int.h"
#include "core/base/logistic.h"

/* ---- log of the mean of exponentials ---------------------------------------------------------------------- */

struct pool_node {
    struct node node;
    struct tensor *x;
    double sharpness;
    real *share;  /* exp(sharpness (x - peak)) in the layout of x; peak is the largest value of the image's channel */
    double *sums; /* [images][padded channels] sums of `share` over positions */
};

struct pool_task {
    const struct kernels *kernels;
    struct pool_node *node;
    real *out; /* [images][channels] */
    const real *dout;
    real *dx;
    bool add;
};

/* Finds the largest value of each lane of a block. */
static void find_peaks(const struct map_shape *s, const real *at, real *peak)
{
    for (int lane = 0; lane < MAP_LANES; lane++)
        peak[lane] = at[lane];
    for (int row = 0; row < s->height; row++, at += map_row_stride(s))
        for (const real *x = at, *end = at + (ptrdiff_t)s->width * MAP_LANES; x < end; x += MAP_LANES)
            for (int lane = 0; lane < MAP_LANES; lane++)
                peak[lane] = x[lane] > peak[lane] ? x[lane] : peak[lane];
}

/* Adds the sum of a row, separately for each lane, to sums[lane]. Uses four partial sums, so that an addition need not
 * wait for the previous one. */
static void add_row(const real *x, int width, double *sums)
{
    real part[4][MAP_LANES] = {{0}};
    for (int col = 0; col < width; col++, x += MAP_LANES)
        for (int lane = 0; lane < MAP_LANES; lane++)
            part[col & 3][lane] += x[lane];
    for (int lane = 0; lane < MAP_LANES; lane++)
        sums[lane] += ((double)part[0][lane] + (double)part[1][lane]) + ((double)part[2][lane] + (double)part[3][lane]);
}

/* Pools one block of channels of one image. */
static void pool_forward_task(void *context, int chunk, int worker)
{
    const struct pool_task *t = context;
    const struct pool_node *n = t->node;
    const struct map_shape *s = &n->x->map;
    int block = chunk % map_blocks(s->channels), image = chunk / map_blocks(s->channels);
    ptrdiff_t first = map_offset(s, image, block, 0, 0);
    double *sums = n->sums + (ptrdiff_t)chunk * MAP_LANES;
    real peak[MAP_LANES], sharpness = (real)n->sharpness;
    find_peaks(s, n->x->data + first, peak);
    for (int row = 0; row < s->height; row++) {
        const real *x = n->x->data + first + row * map_row_stride(s);
        real *share = n->share + first + row * map_row_stride(s);
        for (int col = 0; col < s->width; col++)
            for (int lane = 0; lane < MAP_LANES; lane++)
                share[col * MAP_LANES + lane] = sharpness * (x[col * MAP_LANES + lane] - peak[lane]);
        t->kernels->vector_exp((size_t)s->width * MAP_LANES, share, share);
        add_row(share, s->width, sums);
    }
    double positions = (double)s->height * s->width;
    for (int lane = 0; lane < MAP_LANES && block * MAP_LANES + lane < s->channels; lane++)
        t->out[image * s->channels + block * MAP_LANES + lane] =
            (real)((double)peak[lane] + log(sums[lane] / positions) / n->sharpness);
}

static void pool_backward_task(void *context, int chunk, int worker)
{
    const struct pool_task *t = context;
    const struct pool_node *n = t->node;
    const struct map_shape *s = &n->x->map;
    int block = chunk % map_blocks(s->channels), image = chunk / map_blocks(s->channels);
    ptrdiff_t first = map_offset(s, image, block, 0, 0);
    const double *sums = n->sums + (ptrdiff_t)chunk * MAP_LANES;
    real factor[MAP_LANES] = {0}; /* stays 0 for padding channels */
    for (int lane = 0; lane < MAP_LANES && block * MAP_LANES + lane < s->channels; lane++)
        factor[lane] = (real)((double)t->dout[image * s->channels + block * MAP_LANES + lane] / sums[lane]);
    for (int row = 0; row < s->height; row++) {
        const real *share = n->share + first + row * map_row_stride(s);
        real *dx = t->dx + first + row * map_row_stride(s);
        for (int col = 0; col < s->width; col++)
            for (int lane = 0; lane < MAP_LANES; lane++) {
                int i = col * MAP_LANES + lane;
                dx[i] = (t->add ? dx[i] : R(0.0)) + factor[lane] * share[i];
            }
    }
}

static void pool_backward(struct exec *e, struct node *node)
{
    struct pool_node *n = (struct pool_node *)node;
    struct pool_task task = {.kernels = e->kernels, .node = n, .dout = node->out->grad};
    task.dx = grad_open(e, n->x, &task.add);
    if (task.dx == NULL)
        return;
    (void)op_run(e, pool_backward_task, &task, n->x->map.images * map_blocks(n->x->map.channels));
}

struct tensor *op_log_mean_exp(struct exec *e, struct tensor *x, double sharpness)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_MAP || !(sharpness > 0)) {
        op_fail(e, STATUS_INTERNAL, "log-mean-exp: the input is not a map, or the sharpness %g is not positive",
                sharpness);
        return NULL;
    }
    const struct map_shape *s = &x->map;
    int chunks = s->images * map_blocks(s->channels);
    struct pool_node *n = op_alloc(e, sizeof *n);
    struct tensor *out = op_out_rows(e, s->images, s->channels, x->wants_grad);
    if (n == NULL || out == NULL)
        return NULL;
    n->x = x;
    n->sharpness = sharpness;
    n->share = op_reals(e, x->count);
    n->sums = op_doubles(e, (size_t)chunks * MAP_LANES);
    if (n->share == NULL || n->sums == NULL)
        return NULL;
    struct pool_task task = {.kernels = e->kernels, .node = n, .out = out->data};
    (void)op_run(e, pool_forward_task, &task, chunks);
    return op_done(e, &n->node, "log_mean_exp", pool_backward, out, since);
}

/* ---- the loss ----------------------------------------------------------------------------------------------- */

struct presence_node {
    struct node node;
    struct tensor *scores;
    struct presence call;
    real *error; /* [images][names] derivative of the loss with respect to each logit */
};

/* Number of channels of a name that count; rounded, because averages of weights are not exact. */
static int used_parts(const struct presence *p, int name)
{
    return p->parts ? (int)(p->parts->used->value[name] + R(0.5)) : 1;
}

static bool has_parts(const struct presence *p, int name)
{
    return used_parts(p, name) > 1;
}

/* Probability that a channel has a motif. */
static double part_of(const struct presence *p, const real *scores, int channel)
{
    return 1 /
           (1 + exp(-((double)p->gain->value[channel] * (double)scores[channel] + (double)p->bias->value[channel])));
}

double presence_logit(const struct presence *p, const real *scores, int name)
{
    if (!has_parts(p, name))
        return (double)p->bias->value[name] + (double)p->gain->value[name] * (double)scores[name];
    double logit = (double)p->parts->base->value[name];
    for (int i = 0; i < used_parts(p, name); i++)
        logit += (double)p->parts->effect->value[i * p->names + name] * part_of(p, scores, i * p->names + name);
    return logit;
}

/* Gradients of the presence loss. NULL: not wanted. */
struct presence_gradients {
    real *gain, *bias, *effect, *base, *scores;
};

/* Adds the gradients of a name with several channels in one image. d: derivative with respect to the logit; dscores:
 * [channels] of the image, or NULL. */
static void add_parts(const struct presence *p, const real *scores, int name, double d,
                      const struct presence_gradients *to, real *dscores)
{
    if (to->base != NULL)
        to->base[name] += (real)d;
    for (int i = 0; i < used_parts(p, name); i++) {
        int c = i * p->names + name;
        double share = part_of(p, scores, c), inner = d * (double)p->parts->effect->value[c] * share * (1 - share);
        if (to->effect != NULL)
            to->effect[c] += (real)(d * share);
        if (to->gain != NULL)
            to->gain[c] += (real)(inner * (double)scores[c]);
        if (to->bias != NULL)
            to->bias[c] += (real)inner;
        if (dscores != NULL)
            dscores[c] += (real)(inner * (double)p->gain->value[c]);
    }
}

static real *open_gradient(struct exec *e, struct weight *w)
{
    bool add;
    return w != NULL && weight_wants(e, w) ? weight_open(w, true, &add) : NULL;
}

static void presence_backward(struct exec *e, struct node *node)
{
    struct presence_node *n = (struct presence_node *)node;
    const struct presence *p = &n->call;
    struct tensor *scores = n->scores;
    int names = p->names, channels = scores->cols;
    real seed = node->out->grad[0];
    struct presence_gradients to = {.gain = open_gradient(e, p->gain), .bias = open_gradient(e, p->bias)};
    if (p->parts != NULL) {
        to.effect = open_gradient(e, p->parts->effect);
        to.base = open_gradient(e, p->parts->base);
    }
    if (scores->wants_grad) {
        bool add;
        to.scores = grad_open(e, scores, &add);
        if (to.scores == NULL)
            return;
        if (!add)
            memset(to.scores, 0, scores->count * sizeof *to.scores);
    }
    for (int i = 0; i < scores->rows; i++)
        for (int k = 0; k < names; k++) {
            real d = seed * n->error[i * names + k], *dscores = to.scores ? to.scores + (ptrdiff_t)i * channels : NULL;
            if (has_parts(p, k)) {
                add_parts(p, scores->data + (ptrdiff_t)i * channels, k, (double)d, &to, dscores);
                continue;
            }
            if (to.gain != NULL)
                to.gain[k] += d * scores->data[i * channels + k];
            if (to.bias != NULL)
                to.bias[k] += d;
            if (dscores != NULL)
                dscores[k] += d * p->gain->value[k];
        }
}

/* Whether the arrays have the sizes that the number of names and the scores demand. */
static bool presence_fits(const struct presence *p, const struct tensor *scores)
{
    size_t names = (size_t)p->names, channels = names * (size_t)(p->parts ? p->parts->most : 1);
    bool fits = scores->kind == TENSOR_ROWS && p->names >= 1 && channels <= (size_t)scores->cols &&
                p->gain->count == channels && p->bias->count == channels;
    return fits && (!p->parts || (p->parts->effect->count == channels && p->parts->base->count == names &&
                                  p->parts->used->count == names));
}

struct tensor *op_presence(struct exec *e, struct tensor *scores, const struct presence *p)
{
    double since = op_clock(e);
    if (scores == NULL || e->error.code)
        return NULL;
    if (!presence_fits(p, scores)) {
        op_fail(e, STATUS_INTERNAL, "presence: %d names do not fit the scores", p->names);
        return NULL;
    }
    int images = scores->rows, names = p->names;
    double scale = 1 / op_total(e, images), sum = 0;
    struct tensor *out =
        op_out_rows(e, 1, 1, scores->wants_grad || weight_wants(e, p->gain) || weight_wants(e, p->bias));
    struct presence_node *n = op_alloc(e, sizeof *n);
    real *error = op_reals(e, (size_t)images * (size_t)names);
    if (out == NULL || n == NULL || error == NULL)
        return NULL;
    for (int i = 0; i < images; i++)
        for (int k = 0; k < names; k++) {
            double logit = presence_logit(p, scores->data + (ptrdiff_t)i * scores->cols, k);
            double weight = p->weight == NULL ? 1 : (double)p->weight[k];
            double factor = p->scale == NULL ? 1 : (double)p->scale[k];
            bool occurs = p->occurs[i * names + k];
            double share = 1 / (1 + exp(-logit)); /* predicted probability */
            sum += factor * (occurs ? weight * soft_plus(-logit) : soft_plus(logit));
            error[i * names + k] = (real)(scale * factor * (occurs ? weight * (share - 1) : share));
        }
    if (!op_ranks_sum(e, &sum, 1))
        return NULL;
    out->data[0] = (real)(scale * sum);
    *n = (struct presence_node){.scores = scores, .call = *p, .error = error};
    return op_done(e, &n->node, "presence", presence_backward, out, since);
}
