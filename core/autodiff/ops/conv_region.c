/* The backward pass of a convolution whose output gradient is non-zero in a region only.
 *
 * The gradient of the input is non-zero only in that region, widened by the kernel's reach. The gradient of the
 * weights depends on the region itself. Both are computed box by box: large boxes as strips, for which the vector
 * kernels use Winograd's algorithm, and small boxes row by row, by a direct sum that needs no setup. The kernel
 * reads dy around a box too, so zeros are written around the region first.
 *
 * A cost model predicts the time of a box with either method, and the time of a pass over the whole map. Its unit is
 * the time of one position of a direct sum. Its constants come from counts of multiplications and were not fitted to
 * measurements (docs/lab/performance.md). All ways give the same result up to rounding. */
#include "core/autodiff/region.h"

/* Costs of a box. Computed by a direct sum, a box costs its number of positions plus `row` for each of its rows.
 * Computed in 4 x 4 tiles, it costs `setup` plus `tile` for each tile. */
struct box_cost {
    double row, tile, setup;
};
static const struct box_cost weights_cost = {3.0, 6.5, 40.0}, input_cost = {1.5, 6.5, 30.0};

enum { PIECE = 256, PIECES = 8 }; /* PIECE: minimum number of positions in a chunk; PIECES: maximum number of chunks */

struct region_task {
    const struct kernels *kernels;
    const struct conv_back_region *conv;
    const struct region *dy, *dx;
    struct region_cut weights_cut, input_cut;
    struct conv_gradient_call weights;
    struct conv_call input;
    const real *x; /* the convolution's input, normalised if it came from a deferred batch norm */
    /* partials: partial gradients of the weights; grad: the gradient of the input; NULL: not needed */
    real *partials, *grad;
    size_t partial, packed;
    bool add;
};

static double rows_cost(const struct box_cost *cost, const struct box *box)
{
    return box->rows * (box->cols + cost->row);
}

static double tiles_cost(const struct box_cost *cost, int rows, int cols)
{
    /* number of rows and of columns of the 4 x 4 tiles that cover the box; the last ones may extend beyond it */
    int high = (rows + 3) / 4, wide = (cols + 3) / 4;
    return cost->setup + cost->tile * high * wide;
}

static bool in_tiles(const struct box_cost *cost, const struct box *box)
{
    return box->rows > 3 && box->cols > 3 && tiles_cost(cost, box->rows, box->cols) < rows_cost(cost, box);
}

static double region_cost(const struct box_cost *cost, const struct region *region)
{
    double sum = 0;
    for (int i = 0; i < region->boxes; i++) {
        const struct box *box = &region->box[i];
        sum += in_tiles(cost, box) ? tiles_cost(cost, box->rows, box->cols) : rows_cost(cost, box);
    }
    return sum;
}

static void weights_piece(const struct region_task *t, int piece)
{
    const struct conv_back_region *c = t->conv;
    struct conv_gradient_call call = t->weights;
    call.dweights = t->partials + (size_t)piece * t->partial;
    call.dbias = call.dweights + t->packed;
    for (size_t i = 0; i < t->partial; i++)
        call.dweights[i] = R(0.0);
    for (int i = t->weights_cut.cut[piece]; i < t->weights_cut.cut[piece + 1]; i++) {
        struct box box = t->dy->box[i];
        int end = box.row + box.rows, step = call.kernel_h == 1 || in_tiles(&weights_cost, &box) ? box.rows : 1;
        call.width = box.cols;
        call.rows = step;
        for (; box.row < end; box.row += step) {
            call.in = region_strip(&c->x->map, t->x, &box);
            call.dout = region_strip(&c->out->map, c->out->grad, &box);
            t->kernels->conv_gradient(&call);
        }
    }
}

static void input_piece(const struct region_task *t, int piece)
{
    const struct conv_back_region *c = t->conv;
    struct conv_call call = t->input;
    for (int i = t->input_cut.cut[piece]; i < t->input_cut.cut[piece + 1]; i++) {
        struct box box = t->dx->box[i];
        int end = box.row + box.rows, step = call.kernel_h == 1 || in_tiles(&input_cost, &box) ? box.rows : 1;
        call.width = box.cols;
        call.rows = step;
        for (; box.row < end; box.row += step) {
            call.in = region_strip(&c->out->map, c->out->grad, &box);
            call.out = region_strip(&c->x->map, t->grad, &box);
            if (t->add)
                call.add = call.out;
            t->kernels->conv_forward(&call);
        }
    }
}

static void piece_task(void *context, int chunk, int worker)
{
    const struct region_task *t = context;
    if (chunk < t->input_cut.pieces)
        input_piece(t, chunk);
    else
        weights_piece(t, chunk - t->input_cut.pieces);
}

/* ---- an input from a deferred batch norm ---------------------------------------------------------- */

struct normal_task {
    const struct kernels *kernels;
    const struct tensor *x;
    const struct region *region;
    struct region_cut cut;
    real *y;
};

static void normal_task(void *context, int piece, int worker)
{
    const struct normal_task *t = context;
    const struct norm_call *norm = &t->x->norm->call;
    struct affine_call call = {.blocks = norm->blocks, .relu = norm->relu, .scale = norm->scale, .shift = norm->shift};
    for (int i = t->cut.cut[piece]; i < t->cut.cut[piece + 1]; i++) {
        const struct box *box = &t->region->box[i];
        call.rows = box->rows;
        call.width = box->cols;
        call.x = region_strip(&t->x->map, t->x->norm->x->data, box);
        call.y = region_strip(&t->x->map, t->y, box);
        t->kernels->map_affine(&call);
    }
}

/* Computes the normalised values in the region `around`, in a buffer as large as a gradient. */
static real *normalise(struct exec *e, const struct tensor *x, const struct region *around)
{
    if (around == NULL)
        return NULL;
    struct normal_task task = {e->kernels, x, around, region_cut(e, around, PIECE, PIECES), grad_buffer(e, x)};
    if (task.y == NULL || task.cut.cut == NULL)
        return NULL;
    (void)op_run(e, normal_task, &task, task.cut.pieces);
    return task.y;
}

static bool prepare_weights(struct exec *e, struct region_task *t)
{
    const struct conv_back_region *c = t->conv;
    int channels = c->out->map.channels, in = c->x->map.channels, kh = c->w->dim[2], kw = c->w->dim[3];
    t->packed = conv_packed_size(channels, in, kh, kw);
    t->partial = t->packed + (size_t)map_padded(channels);
    t->weights_cut = region_cut(e, t->dy, PIECE, PIECES);
    t->partials = op_reals(e, t->partial * (size_t)t->weights_cut.pieces);
    t->weights = (struct conv_gradient_call){
        .in_blocks = map_blocks(in), .out_blocks = map_blocks(channels), .kernel_h = kh, .kernel_w = kw};
    t->x = c->x->data != NULL ? c->x->data : normalise(e, c->x, region_grow(e, c->out->where, kh / 2, kw / 2));
    return t->partials != NULL && t->weights_cut.cut != NULL && t->x != NULL;
}

static bool prepare_input(struct exec *e, struct region_task *t)
{
    const struct conv_back_region *c = t->conv;
    const struct map_shape *out = &c->out->map;
    int kh = c->w->dim[2], kw = c->w->dim[3];
    struct region *dx = region_grow(e, c->out->where, kh / 2, kw / 2), *around = region_grow(e, dx, kh / 2, kw / 2);
    if (around == NULL)
        return false;
    t->dx = dx;
    t->input_cut = region_cut(e, dx, PIECE, PIECES);
    t->grad = grad_open_region(e, c->x, dx, &t->add);
    if (t->input_cut.cut == NULL || t->grad == NULL)
        return false;
    if (!conv_weights_prepare(e, c->w, true, &t->input))
        return false;
    region_clear(e, out, c->out->grad, around, c->out->where);
    return true;
}

/* Whether the boxes are predicted to take less time than the whole map. */
static bool pays(struct exec *e, const struct conv_back_region *c, bool weights)
{
    const struct map_shape *s = &c->out->map;
    int kh = c->w->dim[2], kw = c->w->dim[3];
    struct region *dy = c->out->where, *dx = c->x->wants_grad ? region_grow(e, dy, kh / 2, kw / 2) : NULL;
    double whole =
        kh == 3 ? s->images * tiles_cost(&input_cost, s->height, s->width) : (double)s->images * s->height * s->width;
    double boxes = (weights ? region_cost(&weights_cost, dy) : 0) + (dx != NULL ? region_cost(&input_cost, dx) : 0);
    return boxes < whole * (weights + (dx != NULL));
}

bool conv_backward_region(struct exec *e, const struct conv_back_region *c)
{
    struct region_task task = {.kernels = e->kernels, .conv = c, .dy = c->out->where};
    bool weights = weight_wants(e, c->w) || weight_wants(e, c->b);
    if (e->sparse == EXEC_SPARSE_AUTO && !pays(e, c, weights)) {
        grad_fill(e, c->out);
        return false;
    }
    if (weights && !prepare_weights(e, &task))
        return true;
    if (c->x->wants_grad && !prepare_input(e, &task))
        return true;
    (void)op_run(e, piece_task, &task, task.input_cut.pieces + task.weights_cut.pieces);
    if (weights)
        conv_weights_collect(e, task.partials, task.weights_cut.pieces, task.partial, c->w, c->b);
    if (weights && c->x->data == NULL)
        grad_release(e, (real *)task.x, c->x->count);
    grad_pass(e, c->out, c->residual);
    return true;
}
