/* The input and the output of a decoder that runs once for each feature. Its input for a feature is z times the
 * feature's mask; its output is one number. Between input and output, all (sample, feature) pairs are rows of the
 * same large matrix products.
 *
 * Backward: for the gradient of a sample, one task adds up the features in their order; for the gradient of a feature,
 * one task adds up the samples in their order. */
#include "core/autodiff/tape_int.h"

#include <string.h>

enum { SAMPLE_CHUNK = 4, FEATURE_CHUNK = 8 };

static int chunks_of(int count, int size)
{
    return (count + size - 1) / size;
}
static int chunk_end(int chunk, int size, int count)
{
    return (chunk + 1) * size < count ? (chunk + 1) * size : count;
}
static int feature_at(const int32_t *features, int f)
{
    return features == NULL ? f : features[f];
}

static bool features_fit(const int32_t *features, int count, int limit)
{
    if (features == NULL)
        return count <= limit;
    for (int f = 0; f < count; f++)
        if (features[f] < 0 || features[f] >= limit)
            return false;
    return true;
}

/* ---- masks ------------------------------------------------------------------------------------------ */

struct mask_node {
    struct node node;
    struct tensor *z;
    struct weight *w;
    const int32_t *features;
    int count;
};

struct mask_task {
    const struct mask_node *n;
    const struct tensor *out;
    real *dz, *dw;
    bool add_z;
};

static void mask_task(void *context, int chunk, int worker)
{
    const struct mask_task *t = context;
    int k = t->n->z->cols, count = t->n->count;
    for (int i = chunk * SAMPLE_CHUNK; i < chunk_end(chunk, SAMPLE_CHUNK, t->n->z->rows); i++) {
        const real *z = t->n->z->data + (ptrdiff_t)i * k;
        real *to = t->out->data + (ptrdiff_t)i * count * k;
        for (int f = 0; f < count; f++, to += k) {
            const real *w = t->n->w->value + (ptrdiff_t)feature_at(t->n->features, f) * k;
            for (int c = 0; c < k; c++)
                to[c] = w[c] * z[c];
        }
    }
}

static void mask_sample_task(void *context, int chunk, int worker)
{
    const struct mask_task *t = context;
    int k = t->n->z->cols, count = t->n->count;
    for (int i = chunk * SAMPLE_CHUNK; i < chunk_end(chunk, SAMPLE_CHUNK, t->n->z->rows); i++) {
        const real *from = t->out->grad + (ptrdiff_t)i * count * k;
        real *dz = t->dz + (ptrdiff_t)i * k;
        if (!t->add_z)
            memset(dz, 0, (size_t)k * sizeof *dz);
        for (int f = 0; f < count; f++, from += k) {
            const real *w = t->n->w->value + (ptrdiff_t)feature_at(t->n->features, f) * k;
            for (int c = 0; c < k; c++)
                dz[c] += w[c] * from[c];
        }
    }
}

static void mask_feature_task(void *context, int chunk, int worker)
{
    const struct mask_task *t = context;
    int k = t->n->z->cols, count = t->n->count;
    for (int f = chunk * FEATURE_CHUNK; f < chunk_end(chunk, FEATURE_CHUNK, count); f++) {
        real *dw = t->dw + (ptrdiff_t)feature_at(t->n->features, f) * k;
        for (int i = 0; i < t->n->z->rows; i++) {
            const real *z = t->n->z->data + (ptrdiff_t)i * k, *from = t->out->grad + ((ptrdiff_t)i * count + f) * k;
            for (int c = 0; c < k; c++)
                dw[c] += z[c] * from[c];
        }
    }
}

static void mask_backward(struct exec *e, struct node *node)
{
    struct mask_node *n = (struct mask_node *)node;
    struct mask_task t = {.n = n, .out = node->out};
    bool add;
    if (n->z->wants_grad) {
        t.dz = grad_open(e, n->z, &t.add_z);
        if (t.dz == NULL)
            return;
        (void)op_run(e, mask_sample_task, &t, chunks_of(n->z->rows, SAMPLE_CHUNK));
    }
    if (weight_wants(e, n->w)) {
        t.dw = weight_open(n->w, true, &add);
        (void)op_run(e, mask_feature_task, &t, chunks_of(n->count, FEATURE_CHUNK));
    }
}

struct tensor *op_mask_rows(struct exec *e, struct tensor *z, struct weight *w, const int32_t *features, int count)
{
    double since = op_clock(e);
    if (z == NULL || e->error.code)
        return NULL;
    if (z->kind != TENSOR_ROWS || w->rank != 2 || w->dim[1] != z->cols || !features_fit(features, count, w->dim[0])) {
        op_fail(e, STATUS_INTERNAL, "masks: shapes do not fit");
        return NULL;
    }
    struct tensor *out = op_out_rows(e, z->rows * count, z->cols, z->wants_grad || weight_wants(e, w));
    struct mask_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    *n = (struct mask_node){.z = z, .w = w, .features = features, .count = count};
    struct mask_task t = {.n = n, .out = out};
    (void)op_run(e, mask_task, &t, chunks_of(z->rows, SAMPLE_CHUNK));
    return op_done(e, &n->node, "mask_rows", mask_backward, out, since);
}

/* ---- heads ------------------------------------------------------------------------------------------ */

struct head_node {
    struct node node;
    struct tensor *h;
    const int32_t *features;
    int count;
    struct weight *v, *c;
};

struct head_task {
    const struct kernels *kernels;
    const struct head_node *n;
    const struct tensor *out;
    real *dh, *dv, *dc;
    bool add_h;
};

static void head_task(void *context, int chunk, int worker)
{
    const struct head_task *t = context;
    const struct head_node *n = t->n;
    int hidden = n->v->dim[1], cols = t->out->cols;
    for (int i = chunk * SAMPLE_CHUNK; i < chunk_end(chunk, SAMPLE_CHUNK, t->out->rows); i++)
        for (int f = 0; f < n->count; f++) {
            int j = feature_at(n->features, f);
            const real *h = n->h->data + ((ptrdiff_t)i * n->count + f) * hidden;
            t->out->data[(ptrdiff_t)i * cols + j] =
                t->kernels->dot((size_t)hidden, n->v->value + (ptrdiff_t)j * hidden, h) + n->c->value[j];
        }
}

static void head_sample_task(void *context, int chunk, int worker)
{
    const struct head_task *t = context;
    const struct head_node *n = t->n;
    int hidden = n->v->dim[1], cols = t->out->cols;
    for (int i = chunk * SAMPLE_CHUNK; i < chunk_end(chunk, SAMPLE_CHUNK, t->out->rows); i++)
        for (int f = 0; f < n->count; f++) {
            int j = feature_at(n->features, f);
            const real *v = n->v->value + (ptrdiff_t)j * hidden, g = t->out->grad[(ptrdiff_t)i * cols + j];
            real *dh = t->dh + ((ptrdiff_t)i * n->count + f) * hidden;
            if (!t->add_h)
                memset(dh, 0, (size_t)hidden * sizeof *dh);
            t->kernels->axpy((size_t)hidden, g, v, dh);
        }
}

static void head_feature_task(void *context, int chunk, int worker)
{
    const struct head_task *t = context;
    const struct head_node *n = t->n;
    int hidden = n->v->dim[1], cols = t->out->cols;
    for (int f = chunk * FEATURE_CHUNK; f < chunk_end(chunk, FEATURE_CHUNK, n->count); f++) {
        int j = feature_at(n->features, f);
        for (int i = 0; i < t->out->rows; i++) {
            const real *h = n->h->data + ((ptrdiff_t)i * n->count + f) * hidden,
                       g = t->out->grad[(ptrdiff_t)i * cols + j];
            if (t->dv != NULL)
                t->kernels->axpy((size_t)hidden, g, h, t->dv + (ptrdiff_t)j * hidden);
            if (t->dc != NULL)
                t->dc[j] += g;
        }
    }
}

static void head_backward(struct exec *e, struct node *node)
{
    struct head_node *n = (struct head_node *)node;
    struct head_task t = {.kernels = e->kernels, .n = n, .out = node->out};
    bool add;
    if (weight_wants(e, n->v))
        t.dv = weight_open(n->v, true, &add);
    if (weight_wants(e, n->c))
        t.dc = weight_open(n->c, true, &add);
    if (t.dv != NULL || t.dc != NULL)
        (void)op_run(e, head_feature_task, &t, chunks_of(n->count, FEATURE_CHUNK));
    if (n->h->wants_grad && (t.dh = grad_open(e, n->h, &t.add_h)) != NULL)
        (void)op_run(e, head_sample_task, &t, chunks_of(node->out->rows, SAMPLE_CHUNK));
}

struct tensor *op_feature_head(struct exec *e, struct tensor *h, int rows, const int32_t *features, int count,
                               struct weight *v, struct weight *c)
{
    double since = op_clock(e);
    struct head_node *n = h != NULL && !e->error.code ? op_alloc(e, sizeof *n) : NULL;
    if (n == NULL)
        return NULL;
    n->h = h;
    n->features = features;
    n->count = count;
    n->v = v;
    n->c = c;
    if (v->rank != 2 || c->count != (size_t)v->dim[0] || !features_fit(features, count, v->dim[0]) ||
        h->count != (size_t)rows * (size_t)count * (size_t)v->dim[1]) {
        op_fail(e, STATUS_INTERNAL, "heads: shapes do not fit");
        return NULL;
    }
    bool wants = weight_wants(e, v) || weight_wants(e, c) || h->wants_grad;
    struct tensor *out = op_out_rows(e, rows, v->dim[0], wants);
    if (out == NULL)
        return NULL;
    struct head_task t = {.kernels = e->kernels, .n = n, .out = out};
    if (count < v->dim[0])
        memset(out->data, 0, out->count * sizeof *out->data);
    (void)op_run(e, head_task, &t, chunks_of(rows, SAMPLE_CHUNK));
    return op_done(e, &n->node, "feature_head", head_backward, out, since);
}
