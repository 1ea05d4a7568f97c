/* The negative log-likelihood of counts: how often a motif occurs, predicted from a map before its threshold.
 *
 * The model: each position of a channel has a motif with probability p = logistic(x + offset), independently of the
 * others. The number of motifs then has a Poisson binomial distribution, and the loss is -log of the probability of the
 * true number. Its derivative with respect to x is p minus the probability that the position has a motif, given the
 * true number. So training raises x at as many positions as there are motifs, and lowers x at all others.
 *
 * Two passes over the positions compute the probabilities. The first pass computes the probability of n motifs at the
 * first i positions, the second pass the probability of the remaining motifs at the remaining positions. If the true
 * number is so improbable that the passes lose precision, all odds o = p / (1 - p) are multiplied by a factor t, chosen
 * so that the mean number becomes the true number. This is possible because the probability is product(1 / (1 + o))
 * times the elementary symmetric polynomial e_n(o), and e_n(o) = e_n(t o) / t^n for every t. */
#include <math.h>
#include <string.h>

#include "core/autodiff/tape_int.h"
#include "core/base/logistic.h"

struct tally_node {
    struct node node;
    struct tensor *x;
    int names;
    real *error; /* [images][names][positions] derivative of the loss with respect to each element */
};

struct tally_task {
    struct tally_node *node;
    const struct tally *call;
    double *loss; /* [images * names] */
    double *work; /* [threads][work_size()] */
    double scale;
};

static int positions_of(const struct tensor *x)
{
    return x->map.height * x->map.width;
}

/* Returns the number of doubles that one task needs: for the logits, the probabilities, and the tables of the two
 * passes. */
static size_t work_size(int positions, int most)
{
    return 2 * (size_t)positions + ((size_t)positions + 3) * ((size_t)most + 2);
}

/* Returns the number to be added to all logits so that the mean number of motifs is `count`. 0 < count < positions. */
static double tilt_of(const double *logit, int positions, int count)
{
    double low = 0, high = 0, share = (double)count / positions, even = log(share / (1 - share));
    for (int i = 0; i < positions; i++) {
        low = fmin(low, even - logit[i]);
        high = fmax(high, even - logit[i]);
    }
    for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2, mean = 0;
        for (int i = 0; i < positions; i++)
            mean += logistic(logit[i] + middle);
        *(mean < count ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

/* First pass: sets ahead[i][n] to the probability of n motifs at the first i positions, n <= count. Returns the
 * probability of `count` motifs at all positions. */
static double pass_ahead(const double *share, int positions, int count, double *ahead)
{
    size_t wide = (size_t)count + 1;
    memset(ahead, 0, wide * sizeof *ahead);
    ahead[0] = 1;
    for (int i = 0; i < positions; i++, ahead += wide) {
        ahead[wide] = ahead[0] * (1 - share[i]);
        for (int n = 1; n <= count; n++)
            ahead[wide + (size_t)n] = ahead[n] * (1 - share[i]) + ahead[n - 1] * share[i];
    }
    return ahead[count];
}

/* Second pass: replaces share[i] by the probability that position i has a motif, given that `count` positions have
 * one. rest: scratch, two rows of count + 2. */
static void pass_back(double *share, int positions, int count, double all, const double *ahead, double *rest)
{
    size_t wide = (size_t)count + 1;
    double *now = rest, *then = rest + wide + 1; /* now[n]: the probability of n motifs at the positions after i */
    memset(now, 0, 2 * (wide + 1) * sizeof *now);
    now[0] = 1;
    for (int i = positions - 1; i >= 0; i--) {
        const double *before = ahead + (size_t)i * wide;
        double p = share[i], with = 0;
        for (int n = 0; n < count; n++)
            with += before[n] * now[count - 1 - n];
        then[0] = now[0] * (1 - p);
        for (int n = 1; n <= count; n++)
            then[n] = now[n] * (1 - p) + now[n - 1] * p;
        share[i] = with * p / all;
        double *old = now;
        now = then;
        then = old;
    }
}

/* Returns -log P(exactly count) and sets held[i] to the probability that position i has a motif, given the count. */
static double exactly(const double *logit, int positions, int count, double *held, double *rest)
{
    static const double precise = 1e-60; /* pass_ahead() is precise if P(exactly count) is above this */
    double *ahead = rest + 2 * ((size_t)count + 2), none = 0, tilt = 0, chance = 0;
    for (int i = 0; i < positions; i++) {
        none += soft_plus(logit[i]);
        held[i] = count == 0 ? 0 : 1;
    }
    if (count == 0)
        return none;
    if (count == positions) {
        for (int i = 0; i < positions; i++)
            none -= logit[i];
        return none;
    }
    for (int attempt = 0; attempt < 2 && chance <= precise; attempt++) {
        tilt = attempt == 0 ? 0 : tilt_of(logit, positions, count);
        for (int i = 0; i < positions; i++)
            held[i] = logistic(logit[i] + tilt);
        chance = pass_ahead(held, positions, count, ahead);
    }
    double loss = none + count * tilt - log(chance);
    for (int i = 0; i < positions; i++)
        loss -= soft_plus(logit[i] + tilt);
    pass_back(held, positions, count, chance, ahead, rest);
    return loss;
}

/* Returns -log P(at least one) and sets held[i] as exactly() does. */
static double at_least_one(const double *logit, int positions, double *held)
{
    double none = 0;
    for (int i = 0; i < positions; i++)
        none += soft_plus(logit[i]);
    double chance = fmax(-expm1(-none), 1e-300);
    for (int i = 0; i < positions; i++)
        held[i] = fmin(1, logistic(logit[i]) / chance);
    return -log(chance);
}

/* Computes the loss and the derivative for one name of one image. */
static void tally_task(void *context, int chunk, int worker)
{
    const struct tally_task *t = context;
    const struct tensor *x = t->node->x;
    const struct map_shape *s = &x->map;
    int names = t->node->names, image = chunk / names, name = chunk % names, positions = positions_of(x), at = 0;
    double *logit = t->work + (size_t)worker * work_size(positions, t->call->most), *held = logit + positions;
    for (int row = 0; row < s->height; row++) {
        const real *from = x->data + map_offset(s, image, name / MAP_LANES, row, 0) + name % MAP_LANES;
        for (int col = 0; col < s->width; col++)
            logit[at++] = (double)from[(ptrdiff_t)col * MAP_LANES] + (double)t->call->offset[name];
    }
    int count = t->call->counts[chunk];
    if (count > t->call->most)
        count = t->call->most;
    if (count > positions)
        count = positions;
    double factor = t->scale * (t->call->scale ? (double)t->call->scale[name] : 1);
    t->loss[chunk] = factor * (count == TALLY_SOME ? at_least_one(logit, positions, held)
                                                   : exactly(logit, positions, count, held, held + positions));
    real *error = t->node->error + (size_t)chunk * (size_t)positions;
    for (int i = 0; i < positions; i++)
        error[i] = (real)(factor * (logistic(logit[i]) - held[i]));
}

static void tally_backward(struct exec *e, struct node *node)
{
    struct tally_node *n = (struct tally_node *)node;
    const struct map_shape *s = &n->x->map;
    real seed = node->out->grad[0];
    const real *error = n->error;
    bool add;
    real *dx = grad_open(e, n->x, &add);
    if (dx == NULL)
        return;
    if (!add)
        memset(dx, 0, n->x->count * sizeof *dx);
    for (int image = 0; image < s->images; image++)
        for (int name = 0; name < n->names; name++)
            for (int row = 0; row < s->height; row++) {
                real *to = dx + map_offset(s, image, name / MAP_LANES, row, 0) + name % MAP_LANES;
                for (int col = 0; col < s->width; col++)
                    to[(ptrdiff_t)col * MAP_LANES] += seed * *error++;
            }
}

struct tensor *op_tally(struct exec *e, struct tensor *x, const struct tally *call)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    if (x->kind != TENSOR_MAP || call->names < 1 || call->names > x->map.channels || call->most < 1) {
        op_fail(e, STATUS_INTERNAL, "tally: %d names do not fit the map", call->names);
        return NULL;
    }
    int images = x->map.images, pairs = images * call->names, positions = positions_of(x);
    struct tensor *out = op_out_rows(e, 1, 1, x->wants_grad);
    struct tally_node *n = op_alloc(e, sizeof *n);
    struct tally_task task = {.node = n, .call = call, .scale = 1 / op_total(e, images)};
    real *error = op_reals(e, (size_t)pairs * (size_t)positions);
    task.loss = op_doubles(e, (size_t)pairs);
    task.work = op_doubles(e, (size_t)thread_pool_threads(e->pool) * work_size(positions, call->most));
    if (out == NULL || n == NULL || error == NULL || task.loss == NULL || task.work == NULL)
        return NULL;
    n->x = x;
    n->names = call->names;
    n->error = error;
    double sum = 0;
    if (!op_run(e, tally_task, &task, pairs))
        return NULL;
    for (int i = 0; i < pairs; i++)
        sum += task.loss[i];
    if (!op_ranks_sum(e, &sum, 1))
        return NULL;
    out->data[0] = (real)sum;
    return op_done(e, &n->node, "tally", tally_backward, out, since);
}
