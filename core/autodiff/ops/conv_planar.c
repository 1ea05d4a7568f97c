/* The first convolution of a network: from the planes of the data to the blocked layout.
 *
 * Letters and black-and-white pictures are mostly zero. If few values of every image are not zero, the kernels run over
 * these values (struct planar_sites) and leave out the products with zero. Otherwise the planes are copied once for
 * each tap of the kernel, moved by the offset of the tap, and a 1x1 convolution of the copies runs over all positions.
 * Both ways add the same products in the same order, so results do not depend on the choice. */
#include <string.h>

#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

/* The kernels run over the non-zero values (sites) alone if fewer than one in SHARE values are sites and the
 * convolution has at least TAPS products for each output. With fewer products, writing the output to memory takes most
 * of the time anyway. */
enum { SHARE = 4, TAPS = 8 };

/* The planes of a batch, and the arrays that the kernels make of them. */
struct planar_input {
    const real *planes;
    int images, in, height, width, kernel_h, kernel_w;
    const real *moved;          /* [images][in][kernel_h][kernel_w][height][width] the moved planes, or NULL */
    struct planar_sites *sites; /* [images], or NULL */
};

struct planar_node {
    struct node node;
    struct planar_input input;
    struct weight *w, *b;
};

static size_t plane_size(const struct planar_input *p)
{
    return (size_t)p->height * (size_t)p->width;
}

/* Returns the number of products for each output, which is the number of channels of the 1x1 convolution. */
static int products(const struct planar_input *p)
{
    return p->in * p->kernel_h * p->kernel_w;
}

/* ---- what the kernels read --------------------------------------------------------------------- */

struct collect_task {
    const struct planar_input *input;
    /* [images]; collect_image() sets the member `first` to NULL if the image has too many sites */
    struct planar_sites *sites;
    int *first, *col; /* the members `first` and `col` of all images' sites */
    real *value;
    size_t room; /* an image with this many sites or more has too many */
};

/* Collects the non-zero values (sites) of one image. */
static void collect_image(void *context, int image, int worker)
{
    (void)worker;
    const struct collect_task *t = context;
    const struct planar_input *p = t->input;
    size_t rows = (size_t)p->in * (size_t)p->height, width = (size_t)p->width, count = 0;
    const real *from = p->planes + (size_t)image * rows * width;
    /* an image has memory for `room` sites and one more row, because the loop checks the number of sites only after
     * each row */
    int *first = t->first + (size_t)image * (rows + 1), *col = t->col + (size_t)image * (t->room + width);
    real *value = t->value + (size_t)image * (t->room + width);
    for (size_t row = 0; row < rows; row++, from += width) {
        first[row] = (int)count;
        for (size_t x = 0; x < width; x++) {
            col[count] = (int)x;
            value[count] = from[x];
            count += from[x] != R(0.0);
        }
        if (count >= t->room) {
            t->sites[image].first = NULL;
            return;
        }
    }
    first[rows] = (int)count;
    t->sites[image] = (struct planar_sites){first, col, value};
}

/* Collects the non-zero values (sites) of all images. p->sites stays NULL if an image has too many of them, or the
 * convolution has less than TAPS products for each output. False after a failure. */
static bool conv_planar_collect(struct exec *e, struct planar_input *p)
{
    size_t images = (size_t)p->images, rows = (size_t)p->in * (size_t)p->height;
    struct collect_task t = {.input = p, .room = (size_t)p->in * plane_size(p) / SHARE};
    if (products(p) < TAPS)
        return true;
    t.sites = op_alloc(e, images * sizeof *t.sites);
    t.first = op_alloc(e, images * (rows + 1) * sizeof *t.first);
    t.col = op_alloc(e, images * (t.room + (size_t)p->width) * sizeof *t.col);
    t.value = op_reals(e, images * (t.room + (size_t)p->width));
    if (!t.sites || !t.first || !t.col || !t.value || !op_run(e, collect_image, &t, p->images))
        return false;
    for (size_t i = 0; i < images; i++)
        if (!t.sites[i].first)
            return true;
    p->sites = t.sites;
    return true;
}

/* Copies the planes once for each tap, moved by the offset of the tap, with zeros outside. False after a failure. */
static bool conv_planar_move(struct exec *e, struct planar_input *p)
{
    int high = p->kernel_h, wide = p->kernel_w;
    size_t taps = (size_t)(high * wide), planes = (size_t)p->images * (size_t)p->in;
    p->moved = p->planes;
    if (taps == 1)
        return true;
    real *to = op_zeros(e, planes * taps * plane_size(p));
    if (!to)
        return false;
    p->moved = to;
    for (size_t n = 0; n < planes; n++)
        for (int k = 0; k < high * wide; k++, to += plane_size(p)) {
            const real *plane = p->planes + n * plane_size(p);
            int down = k / wide - high / 2, right = k % wide - wide / 2;
            int first = right < 0 ? -right : 0, last = right > 0 ? p->width - right : p->width;
            for (int row = 0; row < p->height; row++)
                if (row + down >= 0 && row + down < p->height && last > first)
                    memcpy(to + (ptrdiff_t)row * p->width + first,
                           plane + (ptrdiff_t)(row + down) * p->width + first + right,
                           (size_t)(last - first) * sizeof *to);
        }
    return true;
}

/* ---- passes ------------------------------------------------------------------------------------ */

struct planar_task {
    const struct kernels *kernels;
    const struct planar_input *input;
    struct map_split split;
    struct tensor *out;
    const real *weights, *bias; /* forward: packed weights, and the bias */
    double *moments;
    real *partials; /* backward: [chunks][products + 1][padded output channels] gradients of the weights and the bias */
    const struct region *region; /* backward: the region of the gradient, or NULL */
    struct region_cut cut;
};

/* Processes one box. The forward pass computes the result; the backward pass adds to the partial gradient with index
 * `chunk`. */
static void planar_box(const struct planar_task *task, const struct box *box, int chunk)
{
    const struct planar_input *p = task->input;
    const struct map_shape *shape = &task->out->map;
    size_t padded = (size_t)map_padded(shape->channels), in = (size_t)products(p);
    bool forward = task->partials == NULL;
    struct map_strip out = region_strip(shape, forward ? task->out->data : task->out->grad, box);
    double *moments = task->moments == NULL ? NULL : task->moments + (size_t)chunk * 2 * padded;
    real *dweights = forward ? NULL : task->partials + (size_t)chunk * padded * (in + 1);
    real *dbias = forward ? NULL : dweights + padded * in;
    if (p->sites) {
        struct sites_call call = {
            p->in,     p->kernel_h, p->kernel_w, map_blocks(shape->channels), p->height, p->width,      box->row,
            box->rows, box->col,    box->cols,   p->sites[box->image],        out,       task->weights, task->bias,
            moments,   dweights,    dbias};
        (forward ? task->kernels->sites_forward : task->kernels->sites_gradient)(&call);
        return;
    }
    const real *planes = p->moved + (size_t)box->image * in * plane_size(p) + (ptrdiff_t)box->row * p->width + box->col;
    struct planar_call call = {(int)in,       map_blocks(shape->channels),
                               box->rows,     box->cols,
                               planes,        (ptrdiff_t)plane_size(p),
                               p->width,      out,
                               task->weights, task->bias,
                               moments,       dweights,
                               dbias};
    (forward ? task->kernels->planar_forward : task->kernels->planar_gradient)(&call);
}

static void planar_task(void *context, int chunk, int worker)
{
    (void)worker;
    const struct planar_task *task = context;
    struct map_piece piece = map_piece(&task->split, &task->out->map, chunk);
    struct box box = {piece.image, piece.row, 0, piece.rows, task->out->map.width};
    planar_box(task, &box, chunk);
}

/* Computes the partial gradient of some boxes of the region. */
static void planar_region_task(void *context, int piece, int worker)
{
    (void)worker;
    const struct planar_task *task = context;
    for (int i = task->cut.cut[piece]; i < task->cut.cut[piece + 1]; i++)
        planar_box(task, &task->region->box[i], piece);
}

static struct planar_task planar_prepare(struct exec *e, const struct planar_input *input, struct tensor *out)
{
    return (struct planar_task){.kernels = e->kernels, .input = input, .split = map_split(&out->map, 16), .out = out};
}

static void planar_backward(struct exec *e, struct node *node)
{
    struct planar_node *p = (struct planar_node *)node;
    struct tensor *out = node->out;
    size_t padded = (size_t)map_padded(out->map.channels), in = (size_t)products(&p->input), stride = padded * (in + 1);
    struct planar_task task = planar_prepare(e, &p->input, out);
    int chunks = task.split.chunks;
    task.region = out->where;
    if (task.region != NULL) {
        task.cut = region_cut(e, task.region, 1024, task.split.chunks);
        chunks = task.cut.pieces;
    }
    task.partials = op_zeros(e, (size_t)chunks * stride);
    if (task.partials == NULL || (task.region != NULL && task.cut.cut == NULL))
        return;
    (void)op_run(e, task.region != NULL ? planar_region_task : planar_task, &task, chunks);
    bool add;
    if (weight_wants(e, p->w))
        planar_unpack_add(task.partials, chunks, stride, out->map.channels, (int)in, weight_open(p->w, true, &add));
    if (weight_wants(e, p->b))
        planar_unpack_add(task.partials + padded * in, chunks, stride, out->map.channels, 1,
                          weight_open(p->b, true, &add));
}

struct tensor *op_conv_planar(struct exec *e, const real *planes, int images, int in, int height, int width, int halo_h,
                              struct weight *w, struct weight *b)
{
    double since = op_clock(e);
    if (e->error.code)
        return NULL;
    int channels = w->dim[0], padded = map_padded(channels);
    if (w->rank != 4 || w->dim[1] != in || b->count != (size_t)channels) {
        op_fail(e, STATUS_INTERNAL, "first convolution: shapes do not fit");
        return NULL;
    }
    struct map_shape shape = {images, channels, height, width, halo_h, 1};
    struct planar_node *p = op_alloc(e, sizeof(*p));
    if (p == NULL)
        return NULL;
    *p = (struct planar_node){.node.regions = true, .w = w, .b = b};
    p->input = (struct planar_input){.planes = planes,
                                     .images = images,
                                     .in = in,
                                     .height = height,
                                     .width = width,
                                     .kernel_h = w->dim[2],
                                     .kernel_w = w->dim[3]};
    if (!conv_planar_collect(e, &p->input) || (!p->input.sites && !conv_planar_move(e, &p->input)))
        return NULL;
    struct tensor *out = op_out_map(e, &shape, weight_wants(e, w) || weight_wants(e, b));
    real *weights = op_reals(e, (size_t)padded * (size_t)products(&p->input)), *bias = op_zeros(e, (size_t)padded);
    if (out == NULL || weights == NULL || bias == NULL)
        return NULL;
    planar_pack(w->value, channels, products(&p->input), weights);
    pad_rows(b->value, 1, channels, bias, 1, padded);
    struct planar_task task = planar_prepare(e, &p->input, out);
    task.weights = weights;
    task.bias = bias;
    if (e->training)
        task.moments = op_doubles(e, (size_t)task.split.chunks * 2 * (size_t)padded);
    (void)op_run(e, planar_task, &task, task.split.chunks);
    out->moments = task.moments;
    out->moment_pieces = 16;
    return op_done(e, &p->node, "conv_planar", planar_backward, out, since);
}
