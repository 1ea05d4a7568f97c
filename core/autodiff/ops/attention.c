/* Attention. One chunk is one head of one sample.
 *
 * A chunk computes, masks and normalises its scores, applies dropout and multiplies with the values while all is in
 * cache. Training stores the probabilities before dropout. The dropout mask is a pure function of (seed, stream, step,
 * index), so the backward pass computes it again instead of storing it. */
#include <math.h>

#include "core/autodiff/tape_int.h"

/* The layout of one operand. The columns of head h begin h * d reals after the beginning of a row. */
struct attention_side {
    const real *at;
    ptrdiff_t row, sample;
};

struct attention_node {
    struct node node;
    struct attention shape;
    struct tensor *q_tensor, *kv_tensor; /* the same tensor in self-attention */
    struct attention_side q, k, v;
    int d, cols;
    size_t stride; /* number of reals that hold the probabilities of one head */
    real *p;       /* training: the probabilities, [batch * heads][stride] */
    struct random_at at;
};

struct attention_task {
    const struct kernels *kernels;
    const struct attention_node *node;
    bool training;
    real *out; /* [batch * queries][cols] the result */
    const real *dout;
    real *dq, *dk, *dv;
    ptrdiff_t ld_dq, ld_dkv;
    real beta_q, beta_kv;
    real *scratch; /* forward: [workers][stride]; NULL in training without dropout; backward: [workers][2][stride] */
};

static int key_limit(const struct attention *shape, int sample)
{
    return shape->key_lengths == NULL ? shape->keys : shape->key_lengths[sample];
}

static const real *side_at(const struct attention_side *side, int sample, int head, int d)
{
    return side->at + sample * side->sample + head * d;
}

/* Writes the probabilities after dropout to `to`. If `also` is not NULL, applies the same dropout mask to the array
 * `also` in place. */
static void attention_drop(const struct attention_task *task, int chunk, const real *from, real *to, real *also)
{
    const struct attention_node *n = task->node;
    struct dropout_call call = {.count = (size_t)n->shape.queries * (size_t)n->shape.keys,
                                .p = n->shape.dropout,
                                .at = n->at,
                                .x = from,
                                .y = to,
                                .x2 = also,
                                .y2 = also};
    call.at.index += (uint64_t)chunk * n->stride;
    task->kernels->dropout(&call);
}

static void attention_forward_task(void *context, int chunk, int worker)
{
    const struct attention_task *task = context;
    const struct attention_node *n = task->node;
    const struct attention *s = &n->shape;
    int sample = chunk / s->heads, head = chunk % s->heads;
    real *room = task->scratch != NULL ? task->scratch + (size_t)worker * n->stride : NULL;
    real *p = task->training ? n->p + (size_t)chunk * n->stride : room;
    struct gemm_call scores = {.transpose_b = true,
                               .m = s->queries,
                               .n = s->keys,
                               .k = n->d,
                               .alpha = R(1.0),
                               .a = side_at(&n->q, sample, head, n->d),
                               .lda = n->q.row,
                               .b = side_at(&n->k, sample, head, n->d),
                               .ldb = n->k.row,
                               .c = p,
                               .ldc = s->keys};
    task->kernels->gemm(&scores);
    struct softmax_call softmax = {.rows = s->queries,
                                   .columns = s->keys,
                                   .limit = key_limit(s, sample),
                                   .causal = s->causal,
                                   .scale = (real)(1.0 / sqrt((double)n->d)),
                                   .x = p,
                                   .y = p,
                                   .ld_x = s->keys,
                                   .ld_y = s->keys};
    task->kernels->softmax_forward(&softmax);
    const real *used = p;
    if (s->dropout > 0.0) {
        attention_drop(task, chunk, p, room, NULL);
        used = room;
    }
    struct gemm_call values = {.m = s->queries,
                               .n = n->d,
                               .k = s->keys,
                               .alpha = R(1.0),
                               .a = used,
                               .lda = s->keys,
                               .b = side_at(&n->v, sample, head, n->d),
                               .ldb = n->v.row,
                               .c = task->out + (ptrdiff_t)sample * s->queries * n->cols + head * n->d,
                               .ldc = n->cols};
    task->kernels->gemm(&values);
}

/* The forward pass was P = softmax(S), P' = dropout(P), O = P' V for the scores S of Q and K. The gradients are dV =
 * P'^T dO, dP' = dO V^T, dP (dP' with the same dropout mask), dS (from dP by the backward pass of softmax), dQ = dS K
 * and dK = dS^T Q. */
static void attention_backward_task(void *context, int chunk, int worker)
{
    const struct attention_task *task = context;
    const struct attention_node *n = task->node;
    const struct attention *s = &n->shape;
    int sample = chunk / s->heads, head = chunk % s->heads;
    const real *p = n->p + (size_t)chunk * n->stride, *used = p;
    real *dp = task->scratch + (size_t)worker * 2 * n->stride, *dropped = dp + n->stride;
    const real *dout = task->dout + (ptrdiff_t)sample * s->queries * n->cols + head * n->d;
    ptrdiff_t q_at = (ptrdiff_t)sample * s->queries * task->ld_dq + head * n->d;
    ptrdiff_t kv_at = (ptrdiff_t)sample * s->keys * task->ld_dkv + head * n->d;
    struct gemm_call scores = {.transpose_b = true,
                               .m = s->queries,
                               .n = s->keys,
                               .k = n->d,
                               .alpha = R(1.0),
                               .a = dout,
                               .lda = n->cols,
                               .b = side_at(&n->v, sample, head, n->d),
                               .ldb = n->v.row,
                               .c = dp,
                               .ldc = s->keys};
    task->kernels->gemm(&scores);
    if (s->dropout > 0.0) {
        attention_drop(task, chunk, p, dropped, dp);
        used = dropped;
    }
    struct gemm_call by_key = {.transpose_a = true,
                               .m = s->keys,
                               .n = n->d,
                               .k = s->queries,
                               .alpha = R(1.0),
                               .beta = task->beta_kv,
                               .a = used,
                               .lda = s->keys,
                               .b = dout,
                               .ldb = n->cols,
                               .c = task->dv != NULL ? task->dv + kv_at : NULL,
                               .ldc = task->ld_dkv};
    if (task->dv != NULL)
        task->kernels->gemm(&by_key);
    struct softmax_call softmax = {.rows = s->queries,
                                   .columns = s->keys,
                                   .limit = key_limit(s, sample),
                                   .causal = s->causal,
                                   .scale = (real)(1.0 / sqrt((double)n->d)),
                                   .y = (real *)p,
                                   .dy = dp,
                                   .dx = dp,
                                   .ld_y = s->keys,
                                   .ld_dy = s->keys,
                                   .ld_dx = s->keys};
    task->kernels->softmax_backward(&softmax);
    if (task->dk != NULL) {
        by_key.a = dp;
        by_key.b = side_at(&n->q, sample, head, n->d);
        by_key.ldb = n->q.row;
        by_key.c = task->dk + kv_at;
        task->kernels->gemm(&by_key);
    }
    struct gemm_call by_query = {.m = s->queries,
                                 .n = n->d,
                                 .k = s->keys,
                                 .alpha = R(1.0),
                                 .beta = task->beta_q,
                                 .a = dp,
                                 .lda = s->keys,
                                 .b = side_at(&n->k, sample, head, n->d),
                                 .ldb = n->k.row,
                                 .c = task->dq != NULL ? task->dq + q_at : NULL,
                                 .ldc = task->ld_dq};
    if (task->dq != NULL)
        task->kernels->gemm(&by_query);
}

static void attention_backward(struct exec *e, struct node *node)
{
    struct attention_node *n = (struct attention_node *)node;
    int chunks = n->shape.batch * n->shape.heads;
    struct attention_task task = {.kernels = e->kernels,
                                  .node = n,
                                  .training = true,
                                  .dout = node->out->grad,
                                  .scratch = op_scratch(e, 2 * n->stride, chunks)};
    struct tensor *q = n->q_tensor, *kv = n->kv_tensor;
    bool add;
    if (q->wants_grad) {
        task.dq = grad_open(e, q, &add);
        task.ld_dq = q->cols;
        task.beta_q = add ? R(1.0) : R(0.0);
        if (q == kv && task.dq != NULL) {
            task.beta_kv = task.beta_q;
            task.dk = task.dq + n->cols;
            task.dv = task.dk + n->cols;
            task.ld_dkv = task.ld_dq;
        }
    }
    if (kv != q && kv->wants_grad) {
        task.dk = grad_open(e, kv, &add);
        task.dv = task.dk == NULL ? NULL : task.dk + n->cols;
        task.ld_dkv = kv->cols;
        task.beta_kv = add ? R(1.0) : R(0.0);
    }
    if (e->error.code)
        return;
    (void)op_run(e, attention_backward_task, &task, chunks);
}

static bool attention_fits(struct exec *e, const struct attention *s, int rows, int cols)
{
    bool fits = s->batch > 0 && s->queries > 0 && s->keys > 0 && s->heads > 0 && cols % s->heads == 0 &&
                rows == s->batch * s->queries && (!s->causal || s->queries == s->keys);
    for (int b = 0; fits && s->key_lengths != NULL && b < s->batch; b++)
        fits = s->key_lengths[b] >= 1 && s->key_lengths[b] <= s->keys;
    if (!fits)
        op_fail(e, STATUS_INTERNAL, "attention: shapes do not fit");
    return fits;
}

static struct tensor *attention_run(struct exec *e, struct attention_node *n, double since)
{
    const struct attention *s = &n->shape;
    bool keep = e->training;
    int chunks = s->batch * s->heads;
    if (!e->training || n->shape.dropout < 0.0)
        n->shape.dropout = 0.0;
    n->stride = ((size_t)s->queries * (size_t)s->keys + 15) / 16 * 16;
    n->at = op_random(e, n->stride * (uint64_t)chunks, false);
    n->p = keep ? op_reals(e, n->stride * (size_t)chunks) : NULL;
    bool wants = n->q_tensor->wants_grad || (n->kv_tensor != NULL && n->kv_tensor->wants_grad);
    struct tensor *out = op_out_rows(e, s->batch * s->queries, n->cols, wants);
    /* The forward pass needs one scratch array of `stride` reals per worker. A training step allocates two, because its
     * backward pass uses the same memory and needs two. */
    real *room = !keep || n->shape.dropout > 0.0 ? op_scratch(e, (keep ? 2 : 1) * n->stride, chunks) : NULL;
    if (out == NULL || e->error.code)
        return NULL;
    struct attention_task task = {
        .kernels = e->kernels, .node = n, .training = keep, .out = out->data, .scratch = room};
    (void)op_run(e, attention_forward_task, &task, chunks);
    return op_done(e, &n->node, "attention", attention_backward, out, since);
}

static struct attention_side rows_side(const real *at, ptrdiff_t row, int rows)
{
    return (struct attention_side){at, row, row * rows};
}

struct tensor *op_self_attention(struct exec *e, struct tensor *qkv, const struct attention *shape)
{
    double since = op_clock(e);
    if (qkv == NULL || e->error.code)
        return NULL;
    int cols = qkv->cols / 3;
    if (qkv->cols != 3 * cols || shape->queries != shape->keys || !attention_fits(e, shape, qkv->rows, cols)) {
        op_fail(e, STATUS_INTERNAL, "self-attention: shapes do not fit");
        return NULL;
    }
    struct attention_node *n = op_alloc(e, sizeof(*n));
    if (n == NULL)
        return NULL;
    *n = (struct attention_node){
        .shape = *shape, .q_tensor = qkv, .kv_tensor = qkv, .cols = cols, .d = cols / shape->heads};
    n->q = rows_side(qkv->data, qkv->cols, shape->queries);
    n->k = rows_side(qkv->data + cols, qkv->cols, shape->keys);
    n->v = rows_side(qkv->data + 2 * cols, qkv->cols, shape->keys);
    return attention_run(e, n, since);
}

struct tensor *op_cross_attention(struct exec *e, struct tensor *q, struct tensor *kv, const struct attention *shape)
{
    double since = op_clock(e);
    if (q == NULL || kv == NULL || e->error.code)
        return NULL;
    if (kv->cols != 2 * q->cols || kv->rows != shape->batch * shape->keys ||
        !attention_fits(e, shape, q->rows, q->cols)) {
        op_fail(e, STATUS_INTERNAL, "cross-attention: shapes do not fit");
        return NULL;
    }
    struct attention_node *n = op_alloc(e, sizeof(*n));
    if (n == NULL)
        return NULL;
    *n = (struct attention_node){
        .shape = *shape, .q_tensor = q, .kv_tensor = kv, .cols = q->cols, .d = q->cols / shape->heads};
    n->q = rows_side(q->data, q->cols, shape->queries);
    n->k = rows_side(kv->data, kv->cols, shape->keys);
    n->v = rows_side(kv->data + q->cols, kv->cols, shape->keys);
    return attention_run(e, n, since);
}

struct tensor *op_cached_attention(struct exec *e, struct tensor *q, int cols, const real *kv, ptrdiff_t kv_sample,
                                   const struct attention *shape)
{
    double since = op_clock(e);
    if (q == NULL || e->error.code)
        return NULL;
    if (e->training || q->cols < cols || !attention_fits(e, shape, q->rows, cols)) {
        op_fail(e, STATUS_INTERNAL, "cached attention: shapes do not fit");
        return NULL;
    }
    struct attention_node *n = op_alloc(e, sizeof(*n));
    if (n == NULL)
        return NULL;
    *n = (struct attention_node){.shape = *shape, .q_tensor = q, .cols = cols, .d = cols / shape->heads};
    n->q = rows_side(q->data, q->cols, shape->queries);
    n->k = (struct attention_side){kv, 2 * (ptrdiff_t)cols, kv_sample};
    n->v = (struct attention_side){kv + cols, 2 * (ptrdiff_t)cols, kv_sample};
    return attention_run(e, n, since);
}
