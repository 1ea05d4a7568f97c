/* Embedding and max pooling of the motif map in one pass: the first stage of SPARLING's head. If the map has a list of
 * its active positions (tensor.active), windows without an active position are skipped. The token of such a window is
 * the bias. The map needs no gradient in such a window, because the threshold that made the map discards gradients at
 * inactive positions. */
#include <string.h>

#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

struct embed_node {
    struct node node;
    struct tensor *x;
    struct weight *w, *b;
    int ph, pw;
    real *packed;
    uint16_t *arg; /* [tokens][features] position of each maximum in its window */
    bool *active;  /* [tokens] whether each window has an active position; NULL: the map has no list of them */
};

struct embed_job {
    const struct kernels *kernels;
    const struct embed_node *node;
    struct map_split split; /* pieces of the token grid */
    struct map_shape grid;
    int features;
    bool part; /* backward: the gradient is needed at active positions only */
    real *tokens;
    const real *dtokens;
    /* NULL in the forward pass; dx: gradient of the map; partials: [chunks][features][padded channels + 1] gradients of
     * the weights and the bias */
    real *dx, *partials;
};

/* Processes some rows of tokens: calls the kernel once for each active window. */
static void active_windows(const struct embed_job *job, const struct embed_call *all, const bool *active)
{
    const struct embed_node *n = job->node;
    size_t features = (size_t)job->features;
    struct embed_call call = *all;
    call.rows = call.width = 1;
    call.din_rows = n->ph;
    call.din_width = n->pw;
    call.dbias = NULL;
    for (int window = 0; window < all->rows * all->width; window++) {
        size_t at = (size_t)window * features;
        ptrdiff_t row = (ptrdiff_t)(window / all->width) * n->ph,
                  col = (ptrdiff_t)(window % all->width) * n->pw * MAP_LANES;
        if (!active[window]) {
            if (job->partials == NULL)
                memcpy(all->tokens + at, all->bias, features * sizeof(real));
            continue;
        }
        call.arg = all->arg + at;
        call.in.at = all->in.at + row * all->in.row + col;
        if (job->partials == NULL) {
            call.tokens = all->tokens + at;
            job->kernels->embed_max_pool_forward(&call);
        } else {
            call.dtokens = all->dtokens + at;
            call.din.at = all->din.at + row * all->din.row + col;
            job->kernels->embed_max_pool_backward(&call);
        }
    }
    if (job->partials != NULL)
        job->kernels->column_sums(all->rows * all->width, job->features, all->dtokens, job->features, all->dbias);
}

static void embed_task(void *context, int chunk, int worker)
{
    const struct embed_job *job = context;
    const struct embed_node *n = job->node;
    const struct map_shape *in = &n->x->map;
    struct map_piece piece = map_piece(&job->split, &job->grid, chunk);
    size_t token = ((size_t)piece.image * (size_t)job->grid.height + (size_t)piece.row) * (size_t)job->grid.width;
    size_t at = token * (size_t)job->features, padded = (size_t)map_padded(in->channels);
    int row = piece.row * n->ph;
    struct embed_call call = {.blocks = map_blocks(in->channels),
                              .rows = piece.rows,
                              .width = job->grid.width,
                              .max_pool_h = n->ph,
                              .max_pool_w = n->pw,
                              .features = job->features,
                              .in = map_strip_at(in, n->x->data, piece.image, row),
                              .packed = n->packed,
                              .bias = n->b->value,
                              .ld_tokens = job->features,
                              .arg = n->arg + at};
    if (job->partials == NULL) {
        call.tokens = job->tokens + at;
        if (n->active != NULL)
            active_windows(job, &call, n->active + token);
        else
            job->kernels->embed_max_pool_forward(&call);
        return;
    }
    bool last = piece.row + piece.rows == job->grid.height;
    call.dtokens = job->dtokens + at;
    call.din = map_strip_at(in, job->dx, piece.image, row);
    call.din_rows = last ? in->height - row : piece.rows * n->ph;
    call.din_width = in->width;
    call.dweights = job->partials + (size_t)chunk * (size_t)job->features * (padded + 1);
    call.dbias = call.dweights + (size_t)job->features * padded;
    if (n->active != NULL && job->part)
        active_windows(job, &call, n->active + token);
    else
        job->kernels->embed_max_pool_backward(&call);
}

static struct embed_job embed_prepare(struct exec *e, const struct embed_node *n, int features)
{
    struct embed_job job = {.kernels = e->kernels, .node = n, .grid = n->x->map, .features = features};
    job.grid.height /= n->ph;
    job.grid.width /= n->pw;
    job.split = map_split(&job.grid, 16);
    return job;
}

static void embed_backward(struct exec *e, struct node *node)
{
    struct embed_node *n = (struct embed_node *)node;
    struct tensor *x = n->x;
    int features = node->out->cols, padded = map_padded(x->map.channels);
    struct embed_job job = embed_prepare(e, n, features);
    size_t partial = (size_t)features * ((size_t)padded + 1);
    job.dtokens = node->out->grad;
    job.partials = op_zeros(e, partial * (size_t)job.split.chunks);
    job.dx = grad_buffer(e, x);
    job.part = x->active != NULL && e->sparse != EXEC_DENSE;
    if (job.partials == NULL || job.dx == NULL)
        return;
    (void)op_run(e, embed_task, &job, job.split.chunks);
    bool add;
    real *dw = weight_wants(e, n->w) ? weight_open(n->w, true, &add) : NULL;
    real *db = weight_wants(e, n->b) ? weight_open(n->b, true, &add) : NULL;
    for (int chunk = 0; chunk < job.split.chunks; chunk++) {
        const real *from = job.partials + (size_t)chunk * partial;
        if (dw != NULL)
            unpad_rows_add(from, padded, dw, features, x->map.channels);
        if (db != NULL)
            unpad_rows_add(from + (size_t)features * (size_t)padded, features, db, 1, features);
    }
    if (job.part)
        region_clear_rest(x->active, n->ph, n->pw, &x->map, job.dx);
    if (!x->wants_grad)
        grad_release(e, job.dx, x->count);
    else if (job.part)
        grad_give_region(e, x, job.dx, x->active);
    else
        grad_give(e, x, job.dx);
}

struct tensor *op_embed_max_pool(struct exec *e, struct tensor *x, struct weight *w, struct weight *b, int ph, int pw)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    int features = w->dim[0];
    if (x->kind != TENSOR_MAP || w->count != (size_t)features * (size_t)x->map.channels ||
        b->count != (size_t)features || x->map.height < ph || x->map.width < pw || ph * pw > UINT16_MAX) {
        op_fail(e, STATUS_INTERNAL, "embedding of a map: shapes do not fit");
        return NULL;
    }
    bool wants = x->wants_grad || weight_wants(e, w) || weight_wants(e, b);
    int tokens = x->map.images * (x->map.height / ph) * (x->map.width / pw);
    struct embed_node *n = op_alloc(e, sizeof(*n));
    struct tensor *out = op_out_rows(e, tokens, features, wants);
    real *packed = op_reals(e, embed_packed_size(features, x->map.channels));
    uint16_t *arg = op_alloc(e, sizeof(*arg) * (size_t)tokens * (size_t)features);
    if (n == NULL || out == NULL || packed == NULL || arg == NULL)
        return NULL;
    embed_pack(w->value, features, x->map.channels, packed);
    *n = (struct embed_node){.x = x, .w = w, .b = b, .ph = ph, .pw = pw, .packed = packed, .arg = arg};
    if (x->active != NULL)
        n->active = region_sites(e, x->active, ph, pw);
    struct embed_job job = embed_prepare(e, n, features);
    job.tokens = out->data;
    (void)op_run(e, embed_task, &job, job.split.chunks);
    return op_done(e, &n->node, "embed_max_pool", embed_backward, out, since);
}
