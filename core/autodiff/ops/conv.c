/* Convolution over blocked maps.
 *
 * Forward: a chunk computes a strip of rows, and also the mean and squared deviations of its outputs, so that a batch
 * norm that follows needs no pass of its own over the map. Backward: a chunk processes some rows of an image in thin
 * strips. It computes the weights' partial gradient and the input's gradient while the strip of dy is in cache.
 *
 * The order of the sum in the gradient of the weights depends on the number of chunks. Therefore the number of chunks
 * does not depend on the number of threads. If whole chunks would leave threads idle, the weights' gradient of a chunk
 * and the input's gradient in each strip are separate tasks. The separate tasks add the same numbers in the same
 * order. */
#include "core/autodiff/region.h"

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

/* conv_backward_region() runs the backward pass of a convolution whose result has a gradient in the region out->where
 * only. If a pass over the whole map is predicted to be faster, the function computes nothing: it fills the gradient
 * with zeros outside the region, sets out->where to NULL, and returns false. */
struct conv_back_region {
    struct tensor *x, *out, *residual;
    struct weight *w, *b;
};

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

static bool conv_backward_region(struct exec *e, const struct conv_back_region *c)
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

struct conv_node {
    struct node node;
    struct tensor *x, *residual;
    struct weight *w, *b;
    int kh, kw;
};

struct conv_task {
    const struct kernels *kernels;
    struct map_split split;
    struct conv_call call;
    const struct tensor *x, *add;
    struct tensor *out;
    double *moments; /* [chunks][2][padded] moments of the result */
};

/* The strip that a convolution of x reads: x itself, or the input of a deferred batch norm. */
static struct map_strip input_strip(const struct tensor *x, const struct map_piece *piece, struct conv_norm *norm)
{
    *norm = (struct conv_norm){.above = piece->row > 0, .below = piece->row + piece->rows < x->map.height};
    if (x->data != NULL)
        return map_strip_at(&x->map, x->data, piece->image, piece->row);
    norm->scale = x->norm->call.scale;
    norm->shift = x->norm->call.shift;
    return map_strip_at(&x->map, x->norm->x->data, piece->image, piece->row);
}

static void conv_forward_task(void *context, int chunk, int worker)
{
    const struct conv_task *task = context;
    struct map_piece piece = map_piece(&task->split, &task->out->map, chunk);
    struct conv_call call = task->call;
    call.rows = piece.rows;
    call.in = input_strip(task->x, &piece, &call.norm);
    call.out = map_strip_at(&task->out->map, task->out->data, piece.image, piece.row);
    if (task->add != NULL)
        call.add = map_strip_at(&task->add->map, task->add->data, piece.image, piece.row);
    if (task->moments != NULL)
        call.moments = task->moments + (size_t)chunk * 2 * (size_t)map_padded(task->out->map.channels);
    task->kernels->conv_forward(&call);
}

struct conv_back {
    const struct kernels *kernels;
    struct map_split split;
    struct conv_gradient_call weights; /* weights.dweights NULL: the weights need no gradient */
    struct conv_call input;
    const struct tensor *x, *out;
    real *dx; /* NULL: the input needs no gradient */
    bool add;
    real *partials; /* [chunks][partial] gradients of the weights and the bias */
    size_t partial, packed;
    int strip, strips;      /* strip: number of rows of a strip; strips: number of strips in a chunk */
    struct norm_sums *norm; /* sums of the batch norm whose result is x, if this pass computes them; else NULL */
    double *norm_room;      /* [chunks][strips][2][padded channels] sums over one strip */
};

/* Computes the batch norm's sums over a strip of dx that was just written. number: index of the strip in the whole
 * batch. */
static void take_norm_sums(const struct conv_back *task, const struct map_piece *strip, int number)
{
    struct norm_call call = task->norm->call;
    call.rows = strip->rows;
    call.x = map_strip_at(&task->x->map, task->norm->x->data, strip->image, strip->row);
    call.dy = map_strip_at(&task->x->map, task->dx, strip->image, strip->row);
    call.sums = task->norm_room + (size_t)number * 2 * (size_t)map_padded(task->x->map.channels);
    task->kernels->norm_sums(&call);
}

/* Computes the sums of each chunk: adds the sums of its strips in the order of the strips. */
static void join_norm_sums(const struct conv_back *task)
{
    size_t count = 2 * (size_t)map_padded(task->x->map.channels);
    for (int chunk = 0; chunk < task->split.chunks; chunk++)
        for (int k = 0; k < task->strips; k++)
            for (size_t i = 0; i < count; i++)
                task->norm->sums[(size_t)chunk * count + i] +=
                    task->norm_room[(size_t)(chunk * task->strips + k) * count + i];
}

/* Strip k of a chunk; `rows` is 0 or less if the chunk has fewer strips. */
static struct map_piece strip_of(const struct conv_back *task, int chunk, int k)
{
    struct map_piece piece = map_piece(&task->split, &task->out->map, chunk);
    int from = k * task->strip, left = piece.rows - from;
    return (struct map_piece){piece.image, piece.row + from, left < task->strip ? left : task->strip};
}

static void weights_strip(const struct conv_back *task, int chunk, const struct map_piece *strip)
{
    struct conv_gradient_call call = task->weights;
    call.dweights = task->partials + (size_t)chunk * task->partial;
    call.dbias = call.dweights + task->packed;
    call.rows = strip->rows;
    call.dout = map_strip_at(&task->out->map, task->out->grad, strip->image, strip->row);
    call.in = input_strip(task->x, strip, &call.norm);
    task->kernels->conv_gradient(&call);
}

static void input_strip_gradient(const struct conv_back *task, int number, const struct map_piece *strip)
{
    struct conv_call call = task->input;
    call.rows = strip->rows;
    call.in = map_strip_at(&task->out->map, task->out->grad, strip->image, strip->row);
    call.out = map_strip_at(&task->x->map, task->dx, strip->image, strip->row);
    if (task->add)
        call.add = call.out;
    task->kernels->conv_forward(&call);
    if (task->norm != NULL)
        take_norm_sums(task, strip, number);
}

static void backward_strips(const struct conv_back *task, int chunk, bool weights, bool input)
{
    for (size_t i = 0; i < task->partial && weights; i++)
        task->partials[(size_t)chunk * task->partial + i] = R(0.0);
    for (int k = 0; k < task->strips; k++) {
        struct map_piece strip = strip_of(task, chunk, k);
        if (weights && strip.rows > 0)
            weights_strip(task, chunk, &strip);
        if (input && strip.rows > 0)
            input_strip_gradient(task, chunk * task->strips + k, &strip);
    }
}

static void conv_backward_task(void *context, int chunk, int worker)
{
    const struct conv_back *task = context;
    backward_strips(task, chunk, task->partials != NULL, task->dx != NULL);
}

/* The first tasks compute the weights' gradients, one chunk each; the other tasks compute the input's gradient, one
 * strip each. */
static void conv_apart_task(void *context, int part, int worker)
{
    const struct conv_back *task = context;
    int number = part - task->split.chunks;
    if (number < 0) {
        backward_strips(task, part, true, false);
        return;
    }
    struct map_piece strip = strip_of(task, number / task->strips, number % task->strips);
    if (strip.rows > 0)
        input_strip_gradient(task, number, &strip);
}

/* Whether the threads would be idle for more than a sixth of the time if each task were a whole chunk. */
static bool uneven(int chunks, int threads)
{
    int rounds = (chunks + threads - 1) / threads;
    return 5 * rounds * threads > 6 * chunks;
}

static void backward_run(struct exec *e, struct conv_back *task)
{
    int chunks = task->split.chunks;
    bool apart = task->partials != NULL && task->dx != NULL && uneven(chunks, thread_pool_threads(e->pool));
    if (apart)
        (void)op_run(e, conv_apart_task, task, chunks + chunks * task->strips);
    else
        (void)op_run(e, conv_backward_task, task, chunks);
    if (task->norm != NULL)
        join_norm_sums(task);
}

/* If x is the result of a batch norm, and no other operation has written the gradient of x, allocates the sums that the
 * batch norm's backward pass needs. */
static bool prepare_norm_sums(struct exec *e, struct conv_back *task)
{
    struct norm_sums *norm = task->x->norm;
    if (norm == NULL || task->add)
        return true;
    size_t count = 2 * (size_t)map_padded(task->x->map.channels);
    norm->sums = op_doubles(e, (size_t)task->split.chunks * count);
    norm->chunks = task->split.chunks;
    task->norm_room = op_doubles(e, (size_t)(task->split.chunks * task->strips) * count);
    task->norm = norm;
    return norm->sums != NULL && task->norm_room != NULL;
}

static void conv_backward(struct exec *e, struct node *node)
{
    struct conv_node *c = (struct conv_node *)node;
    const struct map_shape *in = &c->x->map, *out = &node->out->map;
    struct conv_back_region part = {c->x, node->out, c->residual, c->w, c->b};
    if (node->out->where != NULL && conv_backward_region(e, &part))
        return;
    int in_blocks = map_blocks(in->channels), out_blocks = map_blocks(out->channels);
    struct conv_back task = {.kernels = e->kernels, .x = c->x, .out = node->out, .split = map_split(out, 8)};
    /* A strip has about 65536 reals of dy (256 KiB). */
    task.strip = ((int)(65536 / (map_row_stride(out) * out_blocks)) + 4) / 4 * 4; /* a multiple of 4, because the
                                                                                   * kernels work in tiles of 4 rows */
    task.strips = (task.split.rows + task.strip - 1) / task.strip;
    if (weight_wants(e, c->w) || weight_wants(e, c->b)) {
        task.packed = conv_packed_size(out->channels, in->channels, c->kh, c->kw);
        task.partial = task.packed + (size_t)map_padded(out->channels);
        task.partials = op_reals(e, task.partial * (size_t)task.split.chunks);
        if (task.partials == NULL)
            return;
        task.weights = (struct conv_gradient_call){.in_blocks = in_blocks,
                                                   .out_blocks = out_blocks,
                                                   .kernel_h = c->kh,
                                                   .kernel_w = c->kw,
                                                   .width = out->width,
                                                   .in_lanes = map_lanes(in->channels),
                                                   .out_lanes = map_lanes(out->channels)};
    }
    if (c->x->wants_grad) {
        task.dx = grad_open(e, c->x, &task.add);
        task.input.width = in->width;
        if (task.dx == NULL || !prepare_norm_sums(e, &task) || !conv_weights_prepare(e, c->w, true, &task.input))
            return;
    }
    backward_run(e, &task);
    if (task.partials != NULL)
        conv_weights_collect(e, task.partials, task.split.chunks, task.partial, c->w, c->b);
    grad_pass(e, node->out, c->residual);
}

static bool conv_fits(struct exec *e, const struct tensor *x, const struct weight *w, const struct weight *b,
                      const struct tensor *residual, const struct map_shape *shape)
{
    bool kernel = w->rank == 4 && (w->dim[2] == 1 || w->dim[2] == 3) && (w->dim[3] == 1 || w->dim[3] == 3) &&
                  (w->dim[2] == 1 || w->dim[3] == 3);
    bool fits = x->kind == TENSOR_MAP && kernel && w->dim[1] == x->map.channels &&
                (w->dim[2] == 1 || x->map.halo_h == 1) && (b == NULL || b->count == (size_t)w->dim[0]);
    if (fits && residual != NULL) {
        struct tensor like = {.kind = TENSOR_MAP, .map = *shape};
        fits = tensor_same(residual, &like);
    }
    if (!fits)
        op_fail(e, STATUS_INTERNAL, "convolution: shapes do not fit");
    return fits;
}

struct tensor *op_conv(struct exec *e, struct tensor *x, struct weight *w, struct weight *b, struct tensor *residual)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code)
        return NULL;
    struct map_shape shape = x->map;
    shape.channels = w->dim[0];
    if (!conv_fits(e, x, w, b, residual, &shape))
        return NULL;
    int kh = w->dim[2], kw = w->dim[3], padded = map_padded(shape.channels);
    bool wants =
        x->wants_grad || weight_wants(e, w) || weight_wants(e, b) || (residual != NULL && residual->wants_grad);
    struct tensor *out = op_out_map(e, &shape, wants);
    struct conv_node *c = op_alloc(e, sizeof(*c));
    real *bias = op_zeros(e, (size_t)padded);
    if (out == NULL || c == NULL || bias == NULL)
        return NULL;
    if (b != NULL)
        pad_rows(b->value, 1, shape.channels, bias, 1, padded);
    struct conv_task task = {
        .kernels = e->kernels, .split = map_split(&shape, 16), .x = x, .add = residual, .out = out};
    task.call = (struct conv_call){.width = shape.width, .bias = bias};
    if (!conv_weights_prepare(e, w, false, &task.call))
        return NULL;
    if (e->training)
        task.moments = op_doubles(e, (size_t)task.split.chunks * 2 * (size_t)padded);
    (void)op_run(e, conv_forward_task, &task, task.split.chunks);
    out->moments = task.moments;
    out->moment_pieces = 16;
    *c = (struct conv_node){.node.regions = true, .x = x, .residual = residual, .w = w, .b = b, .kh = kh, .kw = kw};
    return op_done(e, &c->node, "conv", conv_backward, out, since);
}

/* Whether the kernels that normalise their input support this convolution. */
static bool norm_fits(const struct tensor *x, const struct weight *w)
{
    return x->kind == TENSOR_MAP && w->rank == 4 && w->dim[2] == 3 && w->dim[3] == 3;
}

struct tensor *op_norm_conv(struct exec *e, struct tensor *x, struct batch_norm *norm, struct weight *w,
                            struct weight *b, struct tensor *residual)
{
    bool deferred = x != NULL && norm_fits(x, w);
    return op_conv(e, deferred ? norm_deferred(e, x, norm) : op_batch_norm(e, x, norm, true), w, b, residual);
}
