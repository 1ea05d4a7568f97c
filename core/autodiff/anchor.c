/* Features that one latent variable feeds need no product of their own: a layer without bias under ReLU is linear in
 * s on either side of 0, so what the second layer sees is |s| times one of two vectors for each latent variable.
 *
 * Backward: a task takes one latent variable with all of its features; the bias is summed over tasks in order. */
#include "core/autodiff/tape_int.h"

#include <string.h>

/* ---- the two vectors ---------------------------------------------------------------------------------- */

struct signed_node {
    struct node node;
    struct weight *w;
};

static void signed_backward(struct exec *e, struct node *node)
{
    struct weight *w = ((struct signed_node *)node)->w;
    int hidden = w->dim[0], k = w->dim[1];
    bool add;
    real *dw = weight_open(w, true, &add);
    for (int c = 0; c < k; c++)
        for (int h = 0; h < hidden; h++) {
            ptrdiff_t at = (ptrdiff_t)h * k + c;
            if (w->value[at] > R(0.0))
                dw[at] += node->out->grad[(ptrdiff_t)2 * c * hidden + h];
            else if (w->value[at] < R(0.0))
                dw[at] -= node->out->grad[((ptrdiff_t)2 * c + 1) * hidden + h];
        }
}

struct tensor *op_signed_columns(struct exec *e, struct weight *w)
{
    double since = op_clock(e);
    if (e->error.code != STATUS_OK || w->rank != 2)
        return NULL;
    int hidden = w->dim[0], k = w->dim[1];
    struct tensor *out = op_out_rows(e, 2 * k, hidden, weight_wants(e, w));
    struct signed_node *n = op_alloc(e, sizeof *n);
    if (out == NULL || n == NULL)
        return NULL;
    n->w = w;
    for (int c = 0; c < k; c++)
        for (int h = 0; h < hidden; h++) {
            real value = w->value[(ptrdiff_t)h * k + c];
            out->data[(ptrdiff_t)2 * c * hidden + h] = value > R(0.0) ? value : R(0.0);
            out->data[((ptrdiff_t)2 * c + 1) * hidden + h] = value < R(0.0) ? -value : R(0.0);
        }
    return op_done(e, &n->node, "signed_columns", signed_backward, out, since);
}

/* ---- rows ------------------------------------------------------------------------------------------- */

struct anchor_node {
    struct node node;
    struct tensor *z, *columns;
    struct weight *w, *b;
    const int32_t *features, *latent;
    int count;
};

struct anchor_task {
    const struct anchor_node *n;
    const struct tensor *out;
    real *dz, *dw, *dcolumns, *db; /* db: [latents + 1][hidden] */
};

enum { ANCHOR_ROWS = 4 };

static real anchor_scale(const struct anchor_node *n, int i, int f)
{
    int k = n->latent[f], latents = n->z->cols;
    return k < 0 ? R(0.0)
                 : n->w->value[(ptrdiff_t)n->features[f] * latents + k] * n->z->data[(ptrdiff_t)i * latents + k];
}

static const real *anchor_column(const struct anchor_node *n, int f, real s)
{
    int k = n->latent[f] < 0 ? 0 : n->latent[f];
    return n->columns->data + ((ptrdiff_t)2 * k + (s < R(0.0))) * n->columns->cols;
}

static void anchor_task(void *context, int chunk, int worker)
{
    const struct anchor_task *t = context;
    const struct anchor_node *n = t->n;
    int hidden = n->columns->cols,
        end = (chunk + 1) * ANCHOR_ROWS < n->z->rows ? (chunk + 1) * ANCHOR_ROWS : n->z->rows;
    const real *b = n->b->value;
    for (int i = chunk * ANCHOR_ROWS; i < end; i++)
        for (int f = 0; f < n->count; f++) {
            real s = anchor_scale(n, i, f), size = real_fabs(s);
            const real *column = anchor_column(n, f, s);
            real *to = t->out->data + ((ptrdiff_t)i * n->count + f) * hidden;
            for (int h = 0; h < hidden; h++) {
                real value = size * column[h] + b[h];
                to[h] = value > R(0.0) ? value : R(0.0);
            }
        }
}

/* Of one row: dy under ReLU goes to the bias and, times |s|, to the column; returns the gradient of |s|. */
static real anchor_row(int hidden, const real *y, const real *dy, const real *column, real size, real *db,
                       real *dcolumn)
{
    real lanes[16] = {R(0.0)}, sum = R(0.0);
    int h = 0;
    for (; h + 16 <= hidden; h += 16)
        for (int l = 0; l < 16; l++) {
            real g = y[h + l] > R(0.0) ? dy[h + l] : R(0.0);
            db[h + l] += g;
            dcolumn[h + l] += size * g;
            lanes[l] += g * column[h + l];
        }
    for (int l = 0; l < 16; l++)
        sum += lanes[l];
    for (; h < hidden; h++) {
        real g = y[h] > R(0.0) ? dy[h] : R(0.0);
        db[h] += g;
        dcolumn[h] += size * g;
        sum += g * column[h];
    }
    return sum;
}

/* Chunk k + 1 has the features of latent variable k; chunk 0 those of none. */
static void anchor_gradient_task(void *context, int chunk, int worker)
{
    const struct anchor_task *t = context;
    const struct anchor_node *n = t->n;
    int hidden = n->columns->cols, latents = n->z->cols, k = chunk - 1, from = 0, to;
    real *db = t->db + (ptrdiff_t)chunk * hidden;
    while (from < n->count && n->latent[from] < k)
        from++;
    for (to = from; to < n->count && n->latent[to] == k; to++)
        ;
    for (int i = 0; i < n->z->rows; i++)
        for (int f = from; f < to; f++) {
            real s = anchor_scale(n, i, f);
            ptrdiff_t row = ((ptrdiff_t)i * n->count + f) * hidden;
            const real *y = t->out->data + row, *dy = t->out->grad + row;
            if (k < 0) {
                for (int h = 0; h < hidden; h++)
                    db[h] += y[h] > R(0.0) ? dy[h] : R(0.0);
                continue;
            }
            ptrdiff_t at = ((ptrdiff_t)2 * k + (s < R(0.0))) * hidden, w = (ptrdiff_t)n->features[f] * latents + k,
                      z = (ptrdiff_t)i * latents + k;
            real ds = anchor_row(hidden, y, dy, n->columns->data + at, real_fabs(s), db, t->dcolumns + at);
            ds = s < R(0.0) ? -ds : ds;
            if (t->dw != NULL)
                t->dw[w] += ds * n->z->data[z];
            if (t->dz != NULL)
                t->dz[z] += ds * n->w->value[w];
        }
}

static void anchor_backward(struct exec *e, struct node *node)
{
    struct anchor_node *n = (struct anchor_node *)node;
    struct anchor_task t = {.n = n, .out = node->out};
    int latents = n->z->cols, hidden = n->columns->cols;
    bool add;
    t.db = op_zeros(e, (size_t)(latents + 1) * (size_t)hidden);
    t.dcolumns = grad_buffer(e, n->columns);
    t.dz = n->z->wants_grad ? grad_buffer(e, n->z) : NULL;
    if (e->error.code != STATUS_OK)
        return;
    memset(t.dcolumns, 0, n->columns->count * sizeof *t.dcolumns);
    if (t.dz != NULL)
        memset(t.dz, 0, n->z->count * sizeof *t.dz);
    t.dw = weight_wants(e, n->w) ? weight_open(n->w, true, &add) : NULL;
    pool_run(e->pool, anchor_gradient_task, &t, latents + 1);
    if (weight_wants(e, n->b)) {
        real *db = weight_open(n->b, true, &add);
        for (int k = 0; k <= latents; k++)
            e->kernels->add((size_t)hidden, t.db + (ptrdiff_t)k * hidden, db);
    }
    if (t.dz != NULL)
        grad_give(e, n->z, t.dz);
    if (n->columns->wants_grad)
        grad_give(e, n->columns, t.dcolumns);
    else
        grad_release(e, t.dcolumns, n->columns->count);
}

static bool anchor_fits(const struct anchor_node *n)
{
    bool fits = n->z->kind == TENSOR_ROWS && n->w->rank == 2 && n->w->dim[1] == n->z->cols &&
                n->columns->rows == 2 * n->z->cols && n->b->count == (size_t)n->columns->cols;
    for (int f = 0; fits && f < n->count; f++)
        fits = n->latent[f] >= -1 && n->latent[f] < n->z->cols && n->features[f] >= 0 &&
               n->features[f] < n->w->dim[0] && (f == 0 || n->latent[f - 1] <= n->latent[f]);
    return fits;
}

struct tensor *op_anchor_rows(struct exec *e, struct tensor *z, struct weight *w, struct tensor *columns,
                              struct weight *b, const int32_t *features, const int32_t *latent, int count)
{
    double since = op_clock(e);
    if (z == NULL || columns == NULL || e->error.code != STATUS_OK)
        return NULL;
    struct anchor_node *n = op_alloc(e, sizeof *n);
    if (n == NULL)
        return NULL;
    *n = (struct anchor_node){
        .z = z, .columns = columns, .w = w, .b = b, .features = features, .latent = latent, .count = count};
    if (!anchor_fits(n)) {
        op_fail(e, STATUS_INTERNAL, "anchors: shapes do not fit");
        return NULL;
    }
    bool wants = z->wants_grad || columns->wants_grad || weight_wants(e, w) || weight_wants(e, b);
    struct tensor *out = op_out_rows(e, z->rows * count, columns->cols, wants);
    if (out == NULL)
        return NULL;
    struct anchor_task t = {.n = n, .out = out};
    pool_run(e->pool, anchor_task, &t, (z->rows + ANCHOR_ROWS - 1) / ANCHOR_ROWS);
    return op_done(e, &n->node, "anchor_rows", anchor_backward, out, since);
}
