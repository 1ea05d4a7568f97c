/* Adam. All arrays are cut into pieces of a fixed size, and one task on the thread pool updates all pieces.
 *
 * An array without a gradient in this step stays unchanged, and so do its moments. */
#include "core/nn/adam.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/zeroed.h"

enum { ADAM_CHUNK = 65536 };

struct adam_piece {
    struct weight *weight;
    /* at, count: range of elements of the array; moment: offset of the range in the moment blocks */
    size_t at, count, moment;
};

struct adam {
    struct params *params;
    struct adam_config config;
    int64_t updates;
    real *m, *v;
    void *memory[2]; /* the blocks that contain m and v */
    struct adam_piece *pieces;
    double *squares; /* [pieces] sums of squared gradients */
    int count;
};

static size_t adam_padded(size_t count)
{
    return (count + 15) / 16 * 16;
}

static void cut(struct adam *adam, size_t *reals, int *count)
{
    *reals = 0;
    *count = 0;
    for (size_t i = 0; i < params_arrays(adam->params); i++) {
        struct weight *w = params_array(adam->params, i);
        for (size_t at = 0; at < w->count; at += ADAM_CHUNK) {
            size_t left = w->count - at;
            if (adam->pieces != NULL)
                adam->pieces[*count] = (struct adam_piece){w, at, left < ADAM_CHUNK ? left : ADAM_CHUNK, *reals + at};
            (*count)++;
        }
        *reals += adam_padded(w->count);
    }
}

/* Returns false if memory is lacking; adam_destroy() frees what was allocated. */
static bool adam_allocate(struct adam *adam)
{
    size_t reals;
    cut(adam, &reals, &adam->count);
    adam->m = zeroed_alloc(adam_padded(reals) * sizeof(real), &adam->memory[0]);
    adam->v = zeroed_alloc(adam_padded(reals) * sizeof(real), &adam->memory[1]);
    adam->squares = calloc((size_t)adam->count + 1, sizeof(*adam->squares));
    adam->pieces = calloc((size_t)adam->count + 1, sizeof(*adam->pieces));
    if (adam->m == NULL || adam->v == NULL || adam->squares == NULL || adam->pieces == NULL)
        return false;
    cut(adam, &reals, &adam->count);
    return true;
}

enum status adam_create(struct params *params, const struct adam_config *config, struct adam **out, struct error *err)
{
    struct adam *adam = calloc(1, sizeof(*adam));
    if (adam != NULL)
        *adam = (struct adam){.params = params, .config = *config};
    if (adam == NULL || !adam_allocate(adam)) {
        adam_destroy(adam);
        return error_memory(err, "the optimiser");
    }
    *out = adam;
    return STATUS_OK;
}

void adam_destroy(struct adam *adam)
{
    if (adam == NULL)
        return;
    free(adam->memory[0]);
    free(adam->memory[1]);
    free(adam->squares);
    free(adam->pieces);
    free(adam);
}

struct adam_task {
    struct adam *adam;
    const struct kernels *kernels;
    struct adam_call call;
};

static bool active(const struct weight *w)
{
    return w->grad != NULL && w->grad_ready;
}

static void squares_task(void *context, int chunk, int worker)
{
    const struct adam_task *task = context;
    const struct adam_piece *p = &task->adam->pieces[chunk];
    task->adam->squares[chunk] =
        active(p->weight) ? task->kernels->sum_squares(p->count, p->weight->grad + p->at) : 0.0;
}

static void update_task(void *context, int chunk, int worker)
{
    const struct adam_task *task = context;
    const struct adam_piece *p = &task->adam->pieces[chunk];
    if (!active(p->weight))
        return;
    struct adam_call call = task->call;
    call.count = p->count;
    call.gradient = p->weight->grad + p->at;
    call.weight = p->weight->value + p->at;
    call.m = task->adam->m + p->moment;
    call.v = task->adam->v + p->moment;
    if (task->adam->config.decay > 0.0 && p->weight->rank > 1)
        task->kernels->scale(p->count, (real)(1.0 - call.rate * task->adam->config.decay), call.weight);
    task->kernels->adam(&call);
}

static enum status gradient_norm(struct adam *adam, struct exec *exec, struct adam_task *task, double *norm,
                                 struct error *err)
{
    if (!thread_pool_run(exec->pool, squares_task, task, adam->count))
        return thread_pool_check(exec->pool, err);
    double sum = 0.0;
    for (int i = 0; i < adam->count; i++)
        sum += adam->squares[i];
    *norm = sqrt(sum);
    return STATUS_OK;
}

enum status adam_step(struct adam *adam, struct exec *exec, double learning_rate, double *grad_norm, struct error *err)
{
    const struct adam_config *config = &adam->config;
    struct adam_task task = {.adam = adam, .kernels = exec->kernels};
    double factor = 1.0;
    if (grad_norm != NULL || config->clip_norm > 0.0) {
        double norm = 0.0;
        enum status stopped = gradient_norm(adam, exec, &task, &norm, err);
        if (stopped)
            return stopped;
        if (grad_norm != NULL)
            *grad_norm = norm;
        if (!isfinite(norm)) {
            enum status status = params_check(adam->params, err);
            return status ? status : error_set(err, STATUS_NUMERIC, NULL, "the norm of the gradient is not finite");
        }
        if (config->clip_norm > 0.0 && norm > config->clip_norm)
            factor = config->clip_norm / norm;
    }
    adam->updates++;
    task.call = (struct adam_call){.t = adam->updates,
                                   .rate = learning_rate,
                                   .beta1 = config->beta1,
                                   .beta2 = config->beta2,
                                   .epsilon = config->epsilon,
                                   .gradient_scale = factor};
    return thread_pool_run(exec->pool, update_task, &task, adam->count) ? STATUS_OK
                                                                        : thread_pool_check(exec->pool, err);
}

void adam_copy(struct adam *to, const struct adam *from)
{
    size_t reals = 0;
    for (size_t i = 0; i < params_arrays(from->params); i++)
        reals += adam_padded(params_array(from->params, i)->count);
    memcpy(to->m, from->m, reals * sizeof(real));
    memcpy(to->v, from->v, reals * sizeof(real));
    to->updates = from->updates;
}

void adam_scales(const struct adam *adam, const struct weight *weight, double learning_rate, real *scales)
{
    double unbias = 1.0 / (1.0 - pow(adam->config.beta2, (double)adam->updates));
    for (int i = 0; i < adam->count; i++) {
        const struct adam_piece *p = &adam->pieces[i];
        for (size_t j = 0; p->weight == weight && j < p->count; j++)
            scales[p->at + j] =
                (real)(learning_rate / (sqrt((double)adam->v[p->moment + j] * unbias) + adam->config.epsilon));
    }
}

enum status adam_snapshot_as(struct adam *adam, const char *prefix, struct snapshot *snapshot, struct error *err)
{
    enum snapshot_type type = sizeof(real) == 4 ? SNAPSHOT_F32 : SNAPSHOT_F64;
    for (int which = 0; which < 2; which++) {
        size_t at = 0;
        for (size_t i = 0; i < params_arrays(adam->params); i++) {
            const struct weight *w = params_array(adam->params, i);
            char name[SNAPSHOT_NAME + 8];
            snprintf(name, sizeof(name), "adam.%c.%s", which == 0 ? 'm' : 'v', params_name(adam->params, i));
            uint64_t dim[4] = {0};
            for (int d = 0; d < w->rank; d++)
                dim[d] = (uint64_t)w->dim[d];
            enum status status = snapshot_add(snapshot, SNAPSHOT_OPTIMISER, type, name, w->rank, dim,
                                              (which == 0 ? adam->m : adam->v) + at, err);
            if (status)
                return status;
            at += adam_padded(w->count);
        }
    }
    uint64_t none[4] = {0};
    char count[SNAPSHOT_NAME];
    snprintf(count, sizeof(count), "%sadam.updates", prefix);
    return snapshot_add(snapshot, SNAPSHOT_OPTIMISER, SNAPSHOT_I64, count, 0, none, &adam->updates, err);
}

enum status adam_snapshot(struct adam *adam, struct snapshot *snapshot, struct error *err)
{
    return adam_snapshot_as(adam, "", snapshot, err);
}
