/* Runs a batch in rounds over the thread pool. Shapes alone decide into which pieces a round is divided, so results do
 * not depend on the number of threads. The rounds, and what a piece of each round is:
 *
 * - draw, rows of samples: writes the samples (drawn or given), finds their non-zeros, and computes the hidden layer
 * - read, blocks of the table of outputs: multiplies the hidden layer by the decoder
 * - compare, rows: applies the activation, computes the errors, replaces the output by its gradient, and finds the
 *   non-zeros of the gradient
 * - back, rows: computes the gradient of the hidden layer
 * - gather, features: computes the gradients of encoder, decoder and bias from the samples in which the feature, or the
 *   gradient of its output, is not zero */
#include "core/superposed/batch.h"

#include <stdlib.h>
#include <string.h>

#include "core/superposed/data.h"

enum { ROWS = 32, FEATURES = 32, BLOCK_ROWS = 256, BLOCK_COLUMNS = 1024, DEEP_FEATURES = 512, LANES = 16 };

/* Positions of the non-zeros of a table [room][n_s]. Row b has count[b] non-zeros, which begin at index start[b] = b
 * n_s. at[b][k]: how many of them belong to features below 32 k. */
struct places {
    int32_t *index;
    float *value;
    int *at, *start, *count; /* at: [room][blocks + 1]; start, count: [room] */
};

struct batch {
    struct autoencoder *model;
    struct thread_pool *pool;
    const struct kernels *kernels;
    int room, blocks;
    /* whether the products with the samples x, and those with the gradient of the output z, are dense in this batch */
    bool dense_x, dense_z;
    bool dense;
    float *importance, *thresholds;
    float *x, *z;      /* [room][n_s] */
    float *h, *dh;     /* [room][n_d] */
    float *gate_parts; /* [row chunks][n_s] */
    struct places px, pz;
    double *losses;
    char *scratch; /* room for a list of FEATURES features, for each worker */
    size_t scratch_bytes;
    struct batch_samples now;
    float *memory;
    double active;
};

/* ---- memory ----------------------------------------------------------------------------------------- */

static size_t superposed_batch_padded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t list_bytes(const struct autoencoder_shape *s, int room)
{
    size_t lists = FEATURES * (size_t)room * (sizeof(int32_t) + sizeof(float));
    size_t row = (size_t)s->n_s * sizeof(float);
    return superposed_batch_padded(lists > row ? lists : row);
}

/* Returns the address at offset *at of `base`, and moves *at behind `bytes` bytes. If base is NULL, only adds up the
 * sizes. */
static void *superposed_batch_take(char *base, size_t *at, size_t bytes)
{
    void *here = base ? base + *at : NULL;
    *at += superposed_batch_padded(bytes);
    return here;
}

static size_t lay_out(struct batch *b, const struct autoencoder_shape *s, int room, int threads, char *base)
{
    size_t n = (size_t)s->n_s, rows = (size_t)room, wide = rows * n, deep = rows * (size_t)s->n_d, at = 0;
    size_t blocks = (n + FEATURES - 1) / FEATURES;
    b->importance = superposed_batch_take(base, &at, n * sizeof(float));
    b->thresholds = superposed_batch_take(base, &at, n * sizeof(float));
    b->x = superposed_batch_take(base, &at, wide * sizeof(float));
    b->z = superposed_batch_take(base, &at, wide * sizeof(float));
    b->h = superposed_batch_take(base, &at, deep * sizeof(float));
    b->dh = superposed_batch_take(base, &at, deep * sizeof(float));
    if (s->activation == ACTIVATION_GATED)
        b->gate_parts = superposed_batch_take(base, &at, (rows + ROWS - 1) / ROWS * n * sizeof(float));
    struct places *both[] = {&b->px, &b->pz};
    for (int i = 0; i < 2; i++) {
        both[i]->index = superposed_batch_take(base, &at, wide * sizeof(int32_t));
        both[i]->value = superposed_batch_take(base, &at, wide * sizeof(float));
        both[i]->at = superposed_batch_take(base, &at, rows * (blocks + 1) * sizeof(int));
        both[i]->start = superposed_batch_take(base, &at, rows * sizeof(int));
        both[i]->count = superposed_batch_take(base, &at, rows * sizeof(int));
    }
    b->losses = superposed_batch_take(base, &at, rows * sizeof(double));
    b->scratch_bytes = list_bytes(s, room);
    b->scratch = superposed_batch_take(base, &at, (size_t)threads * b->scratch_bytes);
    return at;
}

size_t batch_bytes(const struct autoencoder_shape *shape, int room, int threads)
{
    struct batch unused = {0};
    return lay_out(&unused, shape, room, threads, NULL);
}

enum status batch_create(struct autoencoder *model, struct thread_pool *pool, const struct kernels *kernels, int room,
                         const float *importance, bool dense, struct batch **batch, struct error *err)
{
    const struct autoencoder_shape *s = &model->shape;
    struct batch *b = calloc(1, sizeof *b);
    size_t bytes = batch_bytes(s, room, thread_pool_threads(pool));
    if (b)
        b->memory = aligned_alloc(64, bytes);
    if (!b || !b->memory) {
        free(b);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a batch of %d samples of %d features",
                         room, s->n_s);
    }
    lay_out(b, s, room, thread_pool_threads(pool), (char *)b->memory);
    b->model = model;
    b->pool = pool;
    b->kernels = kernels;
    b->room = room;
    b->dense = dense;
    b->blocks = (s->n_s + FEATURES - 1) / FEATURES;
    for (int i = 0; i < s->n_s; i++)
        b->importance[i] = importance ? importance[i] : 1;
    *batch = b;
    return STATUS_OK;
}

void batch_destroy(struct batch *batch)
{
    if (!batch)
        return;
    free(batch->memory);
    free(batch);
}

/* ---- rows ------------------------------------------------------------------------------------------- */

struct piece {
    int row, rows;
};

static struct piece piece(int chunk, int size, int count)
{
    int row = chunk * size, left = count - row;
    return (struct piece){row, left < size ? left : size};
}

static int pieces(int count, int size)
{
    return (count + size - 1) / size;
}

/* Finds the non-zeros of row r. */
static void locate(const struct batch *b, struct places *p, int r, const float *row)
{
    int n = b->model->shape.n_s, found = 0, *at = p->at + (ptrdiff_t)r * (b->blocks + 1);
    ptrdiff_t start = (ptrdiff_t)r * n;
    for (int k = 0; k < b->blocks; k++) {
        struct piece f = piece(k, FEATURES, n);
        at[k] = found;
        found += b->kernels->nonzeros(f.rows, row + f.row, f.row, p->index + start + found, p->value + start + found);
    }
    at[b->blocks] = found;
    p->start[r] = (int)start;
    p->count[r] = found;
}

/* Multiplies the rows `rows` of the sparse table `p` by the dense table `table`, and writes the product to the same
 * rows of c. */
static void superposed_batch_spread(const struct batch *b, const struct places *p, struct piece rows,
                                    const float *table, float *c)
{
    int n_d = b->model->shape.n_d;
    struct sparse_call call = {.rows = rows.rows,
                               .columns = n_d,
                               .start = p->start + rows.row,
                               .count = p->count + rows.row,
                               .index = p->index,
                               .value = p->value,
                               .t = table,
                               .c = c + (ptrdiff_t)rows.row * n_d,
                               .ld_t = n_d,
                               .ld_c = n_d};
    b->kernels->sparse_gemm(&call);
}

/* c[rows] = x[rows] table, x: [room][n_s]. */
static void spread_dense(const struct batch *b, const float *x, struct piece rows, const float *table, float *c)
{
    int n_s = b->model->shape.n_s, n_d = b->model->shape.n_d;
    struct gemm_call call = {.m = rows.rows,
                             .n = n_d,
                             .k = n_s,
                             .alpha = 1,
                             .a = x + (ptrdiff_t)rows.row * n_s,
                             .b = table,
                             .c = c + (ptrdiff_t)rows.row * n_d,
                             .lda = n_s,
                             .ldb = n_d,
                             .ldc = n_d};
    b->kernels->gemm(&call);
}

static void draw_task(void *context, int chunk, int worker)
{
    struct batch *b = context;
    int n = b->model->shape.n_s;
    struct piece rows = piece(chunk, b->dense_x ? BLOCK_ROWS : ROWS, b->now.count);
    for (int r = rows.row; r < rows.row + rows.rows; r++) {
        float *x = b->x + (ptrdiff_t)r * n;
        if (b->now.given)
            memcpy(x, b->now.given + (ptrdiff_t)r * n, (size_t)n * sizeof *x);
        else
            sample_draw(b->now.seed, b->now.stream, b->now.first + r, b->now.p, n, x);
        if (!b->dense_x)
            locate(b, &b->px, r, x);
    }
    if (b->dense_x)
        spread_dense(b, b->x, rows, b->model->encoder->value, b->h);
    else
        superposed_batch_spread(b, &b->px, rows, b->model->encoder->value, b->h);
}

static void read_task(void *context, int chunk, int worker)
{
    struct batch *b = context;
    int n_s = b->model->shape.n_s, n_d = b->model->shape.n_d, across = pieces(n_s, BLOCK_COLUMNS);
    struct piece rows = piece(chunk / across, BLOCK_ROWS, b->now.count),
                 cols = piece(chunk % across, BLOCK_COLUMNS, n_s);
    struct gemm_call call = {.transpose_b = true,
                             .m = rows.rows,
                             .n = cols.rows,
                             .k = n_d,
                             .alpha = 1,
                             .a = b->h + (ptrdiff_t)rows.row * n_d,
                             .b = b->model->decoder->value + (ptrdiff_t)cols.row * n_d,
                             .c = b->z + (ptrdiff_t)rows.row * n_s + cols.row,
                             .lda = n_d,
                             .ldb = n_d,
                             .ldc = n_s};
    b->kernels->gemm(&call);
}

/* Compares the outputs of a row with its inputs x. On entry, z contains the outputs before the activation; on return,
 * the gradient: factor x importance x error where the activation passes, else 0. Returns the sum of weighted squared
 * errors. Sums are kept in lanes, so that a compiler can hold them in registers. */
static double compare_row(int n, const float *x, const float *thresholds, const float *importance, float cut,
                          float factor, float *z)
{
    float lanes[LANES] = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++) {
            float v = z[i + l], limit = thresholds[i + l] > cut ? thresholds[i + l] : cut;
            float error = (v > limit ? v : 0) - x[i + l], weighted = importance[i + l] * error;
            lanes[l] += weighted * error;
            z[i + l] = v > limit ? factor * weighted : 0;
        }
    double sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += (double)lanes[l];
    for (; i < n; i++) {
        float v = z[i], limit = thresholds[i] > cut ? thresholds[i] : cut;
        float error = (v > limit ? v : 0) - x[i], weighted = importance[i] * error;
        sum += (double)(weighted * error);
        z[i] = v > limit ? factor * weighted : 0;
    }
    return sum;
}

/* The gate has a loss of its own: the weighted squared error of ReLU(z - bias + gate) against x. Adds one row's part of
 * the gradient of this loss to part[n_s]. */
static void gate_row(const struct batch *b, const float *x, const float *z, float factor, float *part)
{
    const float *bias = b->model->bias->value, *gate = b->model->gate->value;
    for (int i = 0; i < b->model->shape.n_s; i++) {
        float v = z[i] - bias[i] + gate[i];
        if (v > 0)
            part[i] += factor * b->importance[i] * (v - x[i]);
    }
}

static void compare_task(void *context, int chunk, int worker)
{
    struct batch *b = context;
    const struct autoencoder_shape *s = &b->model->shape;
    struct piece rows = piece(chunk, ROWS, b->now.count);
    float factor = 2.0f / ((float)s->n_s * (float)(b->now.total ? b->now.total : b->now.count)), cut = 0;
    float *scratch = (float *)(void *)(b->scratch + (size_t)worker * b->scratch_bytes);
    if (b->gate_parts)
        memset(b->gate_parts + (ptrdiff_t)chunk * s->n_s, 0, (size_t)s->n_s * sizeof(float));
    for (int r = rows.row; r < rows.row + rows.rows; r++) {
        const float *x = b->x + (ptrdiff_t)r * s->n_s;
        float *z = b->z + (ptrdiff_t)r * s->n_s;
        b->kernels->add((size_t)s->n_s, b->model->bias->value, z);
        if (s->activation == ACTIVATION_KEEP)
            cut = autoencoder_cut(z, s->n_s, s->kept, scratch);
        if (b->gate_parts)
            gate_row(b, x, z, factor, b->gate_parts + (ptrdiff_t)chunk * s->n_s);
        b->losses[r] = compare_row(s->n_s, x, b->thresholds, b->importance, cut, factor, z) / s->n_s;
        locate(b, &b->pz, r, z);
    }
}

static void back_task(void *context, int chunk, int worker)
{
    struct batch *b = context;
    struct piece rows = piece(chunk, b->dense_z ? BLOCK_ROWS : ROWS, b->now.count);
    if (b->dense_z)
        spread_dense(b, b->z, rows, b->model->decoder->value, b->dh);
    else
        superposed_batch_spread(b, &b->pz, rows, b->model->decoder->value, b->dh);
}

/* ---- features --------------------------------------------------------------------------------------- */

/* Computes the gradient of the features `f`: takes the columns of these features from the sparse table, transposes
 * them, and multiplies them by table: [room][n_d]. Adds it to `gradient` if `add` is true, else overwrites. sums: the
 * sum of each column's values. */
static void superposed_batch_gather(const struct batch *b, const struct places *p, int chunk, struct piece f,
                                    const float *table, float *gradient, bool add, char *scratch, double sums[FEATURES])
{
    int n_d = b->model->shape.n_d, room = b->room, start[FEATURES], count[FEATURES] = {0};
    int32_t *index = (int32_t *)(void *)scratch;
    float *value = (float *)(void *)(index + (ptrdiff_t)FEATURES * room);
    for (int i = 0; i < f.rows; i++) {
        start[i] = i * room;
        sums[i] = 0;
    }
    for (int r = 0; r < b->now.count; r++) {
        const int *at = p->at + (ptrdiff_t)r * (b->blocks + 1) + chunk;
        for (int k = p->start[r] + at[0]; k < p->start[r] + at[1]; k++) {
            int i = p->index[k] - f.row, place = start[i] + count[i]++;
            index[place] = r;
            value[place] = p->value[k];
            sums[i] += (double)p->value[k];
        }
    }
    struct sparse_call call = {.rows = f.rows,
                               .columns = n_d,
                               .add = add,
                               .start = start,
                               .count = count,
                               .index = index,
                               .value = value,
                               .t = table,
                               .c = gradient + (ptrdiff_t)f.row * n_d,
                               .ld_t = n_d,
                               .ld_c = n_d};
    b->kernels->sparse_gemm(&call);
}

static void gather_task(void *context, int chunk, int worker)
{
    struct batch *b = context;
    struct autoencoder *m = b->model;
    struct piece f = piece(chunk, FEATURES, m->shape.n_s);
    char *scratch = b->scratch + (size_t)worker * b->scratch_bytes;
    double sums[FEATURES];
    if (!b->dense_z) {
        superposed_batch_gather(b, &b->pz, chunk, f, b->h, m->decoder->grad, false, scratch, sums);
        for (int i = 0; i < f.rows; i++)
            m->bias->grad[f.row + i] = (float)sums[i];
    }
    if (!b->dense_x)
        superposed_batch_gather(b, &b->px, chunk, f, b->dh, m->encoder->grad, m->shape.tied && !b->dense_z, scratch,
                                sums);
}

static void gather_dense(const struct batch *b, struct piece f, const float *x, const float *table, float *gradient,
                         bool add)
{
    int n_s = b->model->shape.n_s, n_d = b->model->shape.n_d;
    struct gemm_call call = {.transpose_a = true,
                             .m = f.rows,
                             .n = n_d,
                             .k = b->now.count,
                             .alpha = 1,
                             .beta = add ? 1 : 0,
                             .a = x + f.row,
                             .b = table,
                             .c = gradient + (ptrdiff_t)f.row * n_d,
                             .lda = n_s,
                             .ldb = n_d,
                             .ldc = n_d};
    b->kernels->gemm(&call);
}

/* Computes the gradients that need dense products. A tied model has one matrix, and the sparse products have already
 * written a part of its gradient. So this task runs after them and adds to their result. */
static void gather_dense_task(void *context, int chunk, int worker)
{
    struct batch *b = context;
    struct autoencoder *m = b->model;
    struct piece f = piece(chunk, DEEP_FEATURES, m->shape.n_s);
    bool written = m->shape.tied && !b->dense_x;
    if (b->dense_z) {
        gather_dense(b, f, b->z, b->h, m->decoder->grad, written);
        memset(m->bias->grad + f.row, 0, (size_t)f.rows * sizeof(float));
        b->kernels->column_sums(b->now.count, f.rows, b->z + f.row, m->shape.n_s, m->bias->grad + f.row);
    }
    if (b->dense_x)
        gather_dense(b, f, b->x, b->dh, m->encoder->grad, m->shape.tied);
}

static void gate_gradient(struct batch *b)
{
    struct weight *gate = b->model->gate;
    size_t n = (size_t)b->model->shape.n_s;
    memset(gate->grad, 0, n * sizeof(float));
    for (int c = 0; c < pieces(b->now.count, ROWS); c++)
        b->kernels->add(n, b->gate_parts + (size_t)c * n, gate->grad);
    gate->grad_ready = true;
}

/* ---- a run ------------------------------------------------------------------------------------------ */

/* Computes the gradients. Returns false if the pool was stopped. */
static bool backward(struct batch *b)
{
    struct autoencoder *m = b->model;
    bool sparse = !b->dense_x || !b->dense_z, dense = b->dense_x || b->dense_z;
    if (!thread_pool_run(b->pool, back_task, b, pieces(b->now.count, b->dense_z ? BLOCK_ROWS : ROWS)) ||
        (sparse && !thread_pool_run(b->pool, gather_task, b, b->blocks)) ||
        (dense && !thread_pool_run(b->pool, gather_dense_task, b, pieces(m->shape.n_s, DEEP_FEATURES))))
        return false;
    if (m->gate)
        gate_gradient(b);
    m->encoder->grad_ready = m->decoder->grad_ready = m->bias->grad_ready = true;
    return true;
}

double batch_run(struct batch *batch, const struct batch_samples *samples, bool gradients)
{
    struct batch *b = batch;
    int n_s = b->model->shape.n_s;
    b->now = *samples;
    b->dense_x = b->dense || samples->p > BATCH_SPARSE;
    autoencoder_thresholds(b->model, b->thresholds);
    if (!thread_pool_run(b->pool, draw_task, b, pieces(samples->count, b->dense_x ? BLOCK_ROWS : ROWS)) ||
        !thread_pool_run(b->pool, read_task, b, pieces(samples->count, BLOCK_ROWS) * pieces(n_s, BLOCK_COLUMNS)) ||
        !thread_pool_run(b->pool, compare_task, b, pieces(samples->count, ROWS)))
        return NAN;
    double loss = 0;
    int64_t active = 0;
    for (int r = 0; r < samples->count; r++) {
        loss += b->losses[r];
        active += b->pz.count[r];
    }
    b->active = (double)active / ((double)samples->count * n_s);
    b->dense_z = b->dense || b->active > BATCH_SPARSE;
    if (gradients && !backward(b))
        return NAN;
    return loss / samples->count;
}

const double *batch_losses(const struct batch *batch)
{
    return batch->losses;
}
double batch_active(const struct batch *batch)
{
    return batch->active;
}
void batch_set_active(struct batch *batch, double active)
{
    batch->active = active;
}
