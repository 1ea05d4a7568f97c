/* Bidirectional LSTM over many short sequences in one table of rows.
 *
 * One matrix product over all rows computes the inputs' part of the gates. Then each chunk runs all time steps of a
 * block of sequences in one direction, so threads synchronise only once. In the sequence-major table, the rows of
 * one time step are `length` rows apart; the kernels read them with a stride, so the table need not be transposed.
 * The backward pass works the same way; at its end, products over all rows compute the weights' gradients. */
#include <string.h>

#include "core/autodiff/tape_int.h"

enum { LSTM_BLOCK = 128 }; /* sequences in a chunk */

struct lstm_node {
    struct node node;
    struct tensor *x;
    struct lstm_weights direction[2];
    int sequences, length, hidden;
    real *gates[2]; /* for each direction: the gates i, f, tanh g and o, [rows][4 hidden] */
    real *cell[2];  /* for each direction: the cell state at each position, [length][sequences][hidden] */
};

struct lstm_task {
    const struct kernels *kernels;
    const struct lstm_node *node;
    int blocks;
    real *out;
    const real *dout;
    real *dgates[2]; /* for each direction: gradients of the gates, [rows][4 hidden] */
    real *scratch;   /* [2 * blocks][2][LSTM_BLOCK][hidden] */
};

/* Returns the position that a direction (0 forward, 1 backward) reads at time step t. */
static int bilstm_place(const struct lstm_node *n, int direction, int t)
{
    return direction == 0 ? t : n->length - 1 - t;
}

struct lstm_piece {
    int direction, first, count;
};

static struct lstm_piece lstm_piece(const struct lstm_task *task, int chunk)
{
    int first = chunk / 2 * LSTM_BLOCK, left = task->node->sequences - first;
    return (struct lstm_piece){chunk % 2, first, left < LSTM_BLOCK ? left : LSTM_BLOCK};
}

static real *cell_at(const struct lstm_node *n, const struct lstm_piece *p, int at)
{
    return n->cell[p->direction] + ((ptrdiff_t)at * n->sequences + p->first) * n->hidden;
}

static void lstm_forward_task(void *context, int chunk, int worker)
{
    const struct lstm_task *task = context;
    const struct lstm_node *n = task->node;
    struct lstm_piece p = lstm_piece(task, chunk);
    int h = n->hidden;
    for (int t = 0; t < n->length; t++) {
        int now = bilstm_place(n, p.direction, t), before = bilstm_place(n, p.direction, t - 1);
        ptrdiff_t row = (ptrdiff_t)p.first * n->length;
        struct lstm_call cell = {.rows = p.count,
                                 .hidden = h,
                                 .gates = n->gates[p.direction] + (row + now) * 4 * h,
                                 .ld_gates = (ptrdiff_t)n->length * 4 * h,
                                 .ld_h = (ptrdiff_t)n->length * 2 * h,
                                 .c = cell_at(n, &p, now),
                                 .h = task->out + (row + now) * 2 * h + p.direction * h};
        if (t > 0) {
            struct gemm_call recur = {.transpose_b = true,
                                      .m = p.count,
                                      .n = 4 * h,
                                      .k = h,
                                      .alpha = R(1.0),
                                      .beta = R(1.0),
                                      .a = task->out + (row + before) * 2 * h + p.direction * h,
                                      .lda = cell.ld_h,
                                      .b = n->direction[p.direction].w_hh->value,
                                      .ldb = h,
                                      .c = cell.gates,
                                      .ldc = cell.ld_gates};
            task->kernels->gemm(&recur);
            cell.c_prev = cell_at(n, &p, before);
        }
        task->kernels->lstm_forward(&cell);
    }
}

static void lstm_backward_task(void *context, int chunk, int worker)
{
    const struct lstm_task *task = context;
    const struct lstm_node *n = task->node;
    struct lstm_piece p = lstm_piece(task, chunk);
    int h = n->hidden;
    real *dh = task->scratch + (ptrdiff_t)chunk * 2 * LSTM_BLOCK * h, *dc = dh + (ptrdiff_t)LSTM_BLOCK * h;
    memset(dc, 0, sizeof(real) * (size_t)p.count * (size_t)h);
    ptrdiff_t row = (ptrdiff_t)p.first * n->length, ld_gates = (ptrdiff_t)n->length * 4 * h;
    for (int t = n->length - 1; t >= 0; t--) {
        int now = bilstm_place(n, p.direction, t), after = bilstm_place(n, p.direction, t + 1);
        for (int s = 0; s < p.count; s++)
            memcpy(dh + (ptrdiff_t)s * h, task->dout + (row + (ptrdiff_t)s * n->length + now) * 2 * h + p.direction * h,
                   sizeof(real) * (size_t)h);
        if (t < n->length - 1) {
            struct gemm_call recur = {.m = p.count,
                                      .n = h,
                                      .k = 4 * h,
                                      .alpha = R(1.0),
                                      .beta = R(1.0),
                                      .a = task->dgates[p.direction] + (row + after) * 4 * h,
                                      .lda = ld_gates,
                                      .b = n->direction[p.direction].w_hh->value,
                                      .ldb = h,
                                      .c = dh,
                                      .ldc = h};
            task->kernels->gemm(&recur);
        }
        struct lstm_call cell = {.rows = p.count,
                                 .hidden = h,
                                 .gates = n->gates[p.direction] + (row + now) * 4 * h,
                                 .ld_gates = ld_gates,
                                 .ld_h = h,
                                 .ld_dgates = ld_gates,
                                 .c_prev = t > 0 ? cell_at(n, &p, bilstm_place(n, p.direction, t - 1)) : NULL,
                                 .c = cell_at(n, &p, now),
                                 .dh = dh,
                                 .dc = dc,
                                 .dgates = task->dgates[p.direction] + (row + now) * 4 * h};
        task->kernels->lstm_backward(&cell);
    }
}

/* Copies h of the previous time step for every row. The gradient of w_hh is the product of the gates' gradients with
 * these rows. */
static real *shifted(struct exec *e, const struct lstm_node *n, int direction)
{
    int h = n->hidden, rows = n->sequences * n->length;
    real *to = op_reals(e, (size_t)rows * (size_t)h);
    for (int r = 0; r < rows && to != NULL; r++) {
        int at = r % n->length, before = direction == 0 ? at - 1 : at + 1;
        real *row = to + (ptrdiff_t)r * h;
        if (before < 0 || before >= n->length)
            memset(row, 0, sizeof(real) * (size_t)h);
        else
            memcpy(row, n->node.out->data + (ptrdiff_t)(r - at + before) * 2 * h + direction * h,
                   sizeof(real) * (size_t)h);
    }
    return to;
}

static struct gemm_job weight_job(const real *dgates, int gates, int rows, const real *x, int cols, struct weight *w)
{
    bool add;
    real *dw = weight_open(w, false, &add);
    return (struct gemm_job){.call = {.transpose_a = true,
                                      .m = gates,
                                      .n = cols,
                                      .k = rows,
                                      .alpha = R(1.0),
                                      .beta = add ? R(1.0) : R(0.0),
                                      .a = dgates,
                                      .lda = gates,
                                      .b = x,
                                      .ldb = cols,
                                      .c = dw,
                                      .ldc = cols}};
}

static void bias_gradients(struct exec *e, const struct lstm_weights *w, int rows, int gates, const real *dgates)
{
    bool add;
    real *sums = op_reals(e, (size_t)gates);
    if (sums == NULL)
        return;
    column_sums(e, rows, gates, dgates, gates, sums);
    if (weight_wants(e, w->b_ih))
        e->kernels->add((size_t)gates, sums, weight_open(w->b_ih, true, &add));
    if (weight_wants(e, w->b_hh))
        e->kernels->add((size_t)gates, sums, weight_open(w->b_hh, true, &add));
}

/* Computes the gradients of the weights and of x from the gradients of the gates. */
static void lstm_products(struct exec *e, struct lstm_node *n, real *const dgates[2])
{
    int rows = n->sequences * n->length, gates = 4 * n->hidden;
    struct gemm_job jobs[5];
    int count = 0;
    for (int d = 0; d < 2; d++) {
        const struct lstm_weights *w = &n->direction[d];
        if (weight_wants(e, w->w_ih))
            jobs[count++] = weight_job(dgates[d], gates, rows, n->x->data, n->x->cols, w->w_ih);
        real *before = weight_wants(e, w->w_hh) ? shifted(e, n, d) : NULL;
        if (before != NULL)
            jobs[count++] = weight_job(dgates[d], gates, rows, before, n->hidden, w->w_hh);
        if (weight_wants(e, w->b_ih) || weight_wants(e, w->b_hh))
            bias_gradients(e, w, rows, gates, dgates[d]);
    }
    gemm_run(e, jobs, count);
    for (int d = 0; d < 2 && n->x->wants_grad; d++) {
        bool add;
        real *dx = grad_open(e, n->x, &add);
        if (dx == NULL)
            return;
        struct gemm_job job = {.call = {.m = rows,
                                        .n = n->x->cols,
                                        .k = gates,
                                        .alpha = R(1.0),
                                        .beta = add ? R(1.0) : R(0.0),
                                        .a = dgates[d],
                                        .lda = gates,
                                        .b = n->direction[d].w_ih->value,
                                        .ldb = n->x->cols,
                                        .c = dx,
                                        .ldc = n->x->cols}};
        gemm_run(e, &job, 1);
    }
}

static void lstm_backward(struct exec *e, struct node *node)
{
    struct lstm_node *n = (struct lstm_node *)node;
    size_t rows = (size_t)n->sequences * (size_t)n->length, h = (size_t)n->hidden;
    struct lstm_task task = {.kernels = e->kernels,
                             .node = n,
                             .dout = node->out->grad,
                             .blocks = (n->sequences + LSTM_BLOCK - 1) / LSTM_BLOCK};
    task.dgates[0] = op_reals(e, rows * 4 * h);
    task.dgates[1] = op_reals(e, rows * 4 * h);
    task.scratch = op_reals(e, (size_t)task.blocks * 2 * 2 * LSTM_BLOCK * h);
    if (e->error.code)
        return;
    (void)op_run(e, lstm_backward_task, &task, 2 * task.blocks);
    lstm_products(e, n, task.dgates);
}

static bool lstm_fits(struct exec *e, const struct tensor *x, int sequences, int length,
                      const struct lstm_weights direction[2])
{
    int hidden = direction[0].w_hh->dim[1];
    bool fits = x->kind == TENSOR_ROWS && sequences > 0 && length > 0 && x->rows == sequences * length;
    for (int d = 0; d < 2; d++) {
        const struct lstm_weights *w = &direction[d];
        fits = fits && w->w_ih->dim[0] == 4 * hidden && w->w_ih->dim[1] == x->cols && w->w_hh->dim[0] == 4 * hidden &&
               w->w_hh->dim[1] == hidden && w->b_ih->dim[0] == 4 * hidden && w->b_hh->dim[0] == 4 * hidden;
    }
    if (!fits)
        op_fail(e, STATUS_INTERNAL, "LSTM: shapes do not fit");
    return fits;
}

/* gates = x w_ih' + b_ih + b_hh for both directions. */
static bool input_gates(struct exec *e, struct lstm_node *n)
{
    int gates = 4 * n->hidden, rows = n->x->rows;
    struct gemm_job jobs[2];
    for (int d = 0; d < 2; d++) {
        const struct lstm_weights *w = &n->direction[d];
        real *bias = op_reals(e, (size_t)gates);
        n->gates[d] = op_reals(e, (size_t)rows * (size_t)gates);
        n->cell[d] = op_reals(e, (size_t)rows * (size_t)n->hidden);
        if (e->error.code)
            return false;
        for (int j = 0; j < gates; j++)
            bias[j] = w->b_ih->value[j] + w->b_hh->value[j];
        jobs[d] = (struct gemm_job){.call = {.transpose_b = true,
                                             .m = rows,
                                             .n = gates,
                                             .k = n->x->cols,
                                             .alpha = R(1.0),
                                             .a = n->x->data,
                                             .lda = n->x->cols,
                                             .b = w->w_ih->value,
                                             .ldb = n->x->cols,
                                             .c = n->gates[d],
                                             .ldc = gates},
                                    .bias = bias};
    }
    gemm_run(e, jobs, 2);
    return true;
}

struct tensor *op_bilstm(struct exec *e, struct tensor *x, int sequences, int length,
                         const struct lstm_weights direction[2])
{
    double since = op_clock(e);
    if (x == NULL || e->error.code || !lstm_fits(e, x, sequences, length, direction))
        return NULL;
    int hidden = direction[0].w_hh->dim[1];
    bool wants = x->wants_grad;
    for (int d = 0; d < 2; d++)
        wants = wants || weight_wants(e, direction[d].w_ih) || weight_wants(e, direction[d].w_hh) ||
                weight_wants(e, direction[d].b_ih) || weight_wants(e, direction[d].b_hh);
    struct tensor *out = op_out_rows(e, x->rows, 2 * hidden, wants);
    struct lstm_node *n = op_alloc(e, sizeof(*n));
    if (out == NULL || n == NULL)
        return NULL;
    *n = (struct lstm_node){
        .x = x, .direction = {direction[0], direction[1]}, .sequences = sequences, .length = length, .hidden = hidden};
    if (!input_gates(e, n))
        return NULL;
    struct lstm_task task = {
        .kernels = e->kernels, .node = n, .out = out->data, .blocks = (sequences + LSTM_BLOCK - 1) / LSTM_BLOCK};
    (void)op_run(e, lstm_forward_task, &task, 2 * task.blocks);
    return op_done(e, &n->node, "bilstm", lstm_backward, out, since);
}
