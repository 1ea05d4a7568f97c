/* The backward pass of a batch norm with held statistics (and ReLU) over a region: pointwise, so the gradient of the input
 * lies in the same positions. With held statistics the sums serve the gradients of gain and bias alone. */
#include "core/autodiff/region.h"

enum { PIECE = 512, PIECES = 8 };

struct norm_region_task {
    const struct kernels *kernels;
    const struct norm_back_region *norm;
    const struct region *region;
    struct region_cut cut;
    struct norm_call call;
    real *dx;
    bool add;
    double *sums, *room; /* [pieces][2][padded], NULL: not wanted; [workers][2][padded] */
};

static void piece_task(void *context, int piece, int worker)
{
    const struct norm_region_task *t = context;
    const struct tensor *x = t->norm->x, *out = t->norm->out;
    struct norm_call call = t->call;
    size_t count = 2 * (size_t)map_padded(x->map.channels);
    call.sums = t->sums == NULL ? NULL : t->room + (size_t)worker * count;
    for (int i = t->cut.cut[piece]; i < t->cut.cut[piece + 1]; i++) {
        const struct box *box = &t->region->box[i];
        call.rows = box->rows;
        call.width = box->cols;
        call.x = region_strip(&x->map, x->data, box);
        call.dy = region_strip(&x->map, out->grad, box);
        if (t->sums != NULL) {
            t->kernels->norm_sums(&call);
            for (size_t j = 0; j < count; j++)
                t->sums[(size_t)piece * count + j] += call.sums[j];
        }
        if (t->dx != NULL) {
            call.dx = region_strip(&x->map, t->dx, box);
            if (t->add)
                call.add = call.dx;
            t->kernels->norm_backward(&call);
        }
    }
}

static void collect(struct exec *e, const struct norm_region_task *t)
{
    const struct batch_norm *norm = t->norm->norm;
    int channels = t->norm->x->map.channels, padded = map_padded(channels);
    bool add;
    real *dgain = weight_wants(e, norm->gain) ? weight_open(norm->gain, true, &add) : NULL;
    real *dbias = weight_wants(e, norm->bias) ? weight_open(norm->bias, true, &add) : NULL;
    for (int c = 0; c < channels; c++) {
        double plain = 0, projected = 0;
        for (int piece = 0; piece < t->cut.pieces; piece++) {
            plain += t->sums[2 * piece * padded + c];
            projected += t->sums[(2 * piece + 1) * padded + c];
        }
        if (dgain != NULL)
            dgain[c] += (real)projected;
        if (dbias != NULL)
            dbias[c] += (real)plain;
    }
}

void norm_backward_region(struct exec *e, const struct norm_back_region *n)
{
    struct tensor *x = n->x, *out = n->out;
    struct norm_region_task task = {.kernels = e->kernels, .norm = n, .region = out->where, .call = *n->call};
    bool sums = weight_wants(e, n->norm->gain) || weight_wants(e, n->norm->bias), into = x->grad_ready;
    size_t count = 2 * (size_t)map_padded(x->map.channels);
    task.cut = region_cut(e, task.region, PIECE, PIECES);
    if (sums) {
        task.sums = op_doubles(e, (size_t)task.cut.pieces * count);
        task.room = op_doubles(e, (size_t)pool_threads(e->pool) * count);
    }
    if (task.cut.cut == NULL || (sums && (task.sums == NULL || task.room == NULL)))
        return;
    if (x->wants_grad) {
        task.dx = into ? grad_open_region(e, x, out->where, &task.add) : out->grad;
        if (task.dx == NULL)
            return;
    }
    task.call.a = n->call->scale;
    pool_run(e->pool, piece_task, &task, task.cut.pieces);
    if (sums)
        collect(e, &task);
    if (x->wants_grad && !into)
        grad_pass(e, out, x);
}
