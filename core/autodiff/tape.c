/* The tape: nodes in a chain, gradient buffers that go round.
 *
 * A tensor's gradient is needed from the moment its first consumer's backward pass writes it until its own
 * node has run. Then the buffer becomes a spare for the next tensor of exactly that size, so the backward
 * pass of a deep stack of equal layers works in a few buffers. Where a gradient is only passed on (the
 * skip of a residual unit), the buffer itself changes hands. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

void exec_init(struct exec *exec, const struct kernels *kernels, struct thread_pool *pool, struct arena *arena,
               uint64_t seed)
{
    *exec = (struct exec){.kernels = kernels, .pool = pool, .arena = arena, .seed = seed};
}

void exec_begin(struct exec *exec, bool training, uint64_t step)
{
    arena_reset(exec->arena);
    error_clear(&exec->error);
    exec->training = training;
    exec->step = step;
    exec->streams = 0;
    exec->share = (struct exec_share){0};
    exec->tape = op_alloc(exec, sizeof(*exec->tape));
}

enum status exec_status(const struct exec *exec, struct error *err)
{
    if (exec->error.code == STATUS_OK)
        return STATUS_OK;
    return error_set(err, exec->error.code, exec->error.pointer, "%s", exec->error.message);
}

void op_fail(struct exec *e, enum status code, const char *format, ...)
{
    char text[sizeof(e->error.message)];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    error_set(&e->error, code, NULL, "%s", text);
}

void *op_alloc(struct exec *e, size_t bytes)
{
    void *at = arena_zalloc(e->arena, 1, bytes);
    if (at == NULL)
        op_fail(e, STATUS_NO_MEMORY, "the step needs more memory than there is");
    return at;
}

real *op_reals(struct exec *e, size_t count)
{
    real *at = count > SIZE_MAX / sizeof(real) ? NULL : arena_alloc(e->arena, count * sizeof(real));
    if (at == NULL)
        op_fail(e, STATUS_NO_MEMORY, "the step needs more memory than there is");
    return at;
}

real *op_zeros(struct exec *e, size_t count)
{
    real *at = op_reals(e, count);
    if (at != NULL)
        memset(at, 0, count * sizeof(real));
    return at;
}

double *op_doubles(struct exec *e, size_t count)
{
    return op_alloc(e, count * sizeof(double));
}

/* --- profile ------------------------------------------------------------------------------------ */

double op_clock(const struct exec *e)
{
    if (e->profile == NULL)
        return 0.0;
    struct timespec now;
    clock_gettime(e->profile->processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct exec_profile_entry *profile_entry(struct exec_profile *profile, const char *name)
{
    for (int i = 0; i < profile->count; i++)
        if (strcmp(profile->entries[i].name, name) == 0)
            return &profile->entries[i];
    int room = (int)(sizeof(profile->entries) / sizeof(profile->entries[0]));
    if (profile->count == room)
        return &profile->entries[room - 1];
    struct exec_profile_entry *entry = &profile->entries[profile->count++];
    *entry = (struct exec_profile_entry){.name = name};
    return entry;
}

double exec_clock(const struct exec *exec)
{
    return op_clock(exec);
}

void exec_profiled(struct exec *exec, const char *name, double since)
{
    if (exec->profile == NULL)
        return;
    struct exec_profile_entry *entry = profile_entry(exec->profile, name);
    entry->forward_seconds += op_clock(exec) - since;
    entry->calls++;
}

/* --- nodes -------------------------------------------------------------------------------------- */

struct tensor *op_done(struct exec *e, struct node *node, const char *name,
                       void (*backward)(struct exec *e, struct node *node), struct tensor *out, double since)
{
    if (e->profile != NULL) {
        struct exec_profile_entry *entry = profile_entry(e->profile, name);
        entry->forward_seconds += op_clock(e) - since;
        entry->calls++;
    }
    if (e->error.code != STATUS_OK)
        return NULL;
    if (e->training && out->wants_grad) {
        node->name = name;
        node->backward = backward;
        node->out = out;
        node->before = e->tape->last;
        e->tape->last = node;
    }
    return out;
}

static void backward_node(struct exec *e, struct node *node)
{
    struct tensor *out = node->out;
    if (out == NULL) /* no operation: somebody wants to know that the pass has come here */
        node->backward(e, node);
    if (out == NULL || !out->grad_ready)
        return;
    double since = op_clock(e);
    if (!node->regions)
        grad_fill(e, out);
    node->backward(e, node);
    if (out->grad != NULL)
        grad_release(e, out->grad, out->count);
    out->grad = NULL;
    out->grad_ready = false;
    out->where = NULL;
    if (e->profile != NULL)
        profile_entry(e->profile, node->name)->backward_seconds += op_clock(e) - since;
}

static void seed_root(struct exec *e, struct tensor *root, const real *seed)
{
    bool add;
    real *grad = grad_open(e, root, &add);
    if (grad == NULL)
        return;
    for (size_t i = 0; i < root->count && seed == NULL; i++)
        grad[i] = R(1.0);
    if (seed != NULL)
        memcpy(grad, seed, root->count * sizeof(real));
}

enum status tape_backward(struct exec *exec, struct tensor *root, const real *seed, struct error *err)
{
    if (exec->error.code == STATUS_OK && (root == NULL || !exec->training))
        op_fail(exec, STATUS_INTERNAL, "backward pass without a recorded result");
    if (exec->error.code == STATUS_OK && root != NULL && root->wants_grad)
        seed_root(exec, root, seed);
    for (struct node *node = exec->tape == NULL ? NULL : exec->tape->last;
         node != NULL && exec->error.code == STATUS_OK; node = node->before)
        backward_node(exec, node);
    if (exec->tape != NULL)
        exec->tape->last = NULL;
    return exec_status(exec, err);
}

/* --- gradient buffers --------------------------------------------------------------------------- */

real *grad_buffer(struct exec *e, const struct tensor *x)
{
    struct tape *tape = e->tape;
    real *at = NULL;
    for (int i = tape->spares; i-- > 0 && at == NULL;) {
        if (tape->spare[i].count == x->count) {
            at = tape->spare[i].at;
            tape->spare[i] = tape->spare[--tape->spares];
        }
    }
    if (at == NULL)
        at = op_reals(e, x->count);
    if (at != NULL && x->kind == TENSOR_MAP)
        for (int image = 0; image < x->map.images; image++)
            map_clear_halo(&x->map, at, image);
    return at;
}

void grad_release(struct exec *e, real *at, size_t count)
{
    struct tape *tape = e->tape;
    if (tape->spares < TAPE_SPARES) {
        tape->spare[tape->spares].at = at;
        tape->spare[tape->spares++].count = count;
    }
}

real *grad_open(struct exec *e, struct tensor *x, bool *add)
{
    *add = x->grad_ready;
    if (x->norm != NULL)
        x->norm->writers++;
    if (x->grad == NULL)
        x->grad = grad_buffer(e, x);
    grad_fill(e, x);
    x->grad_ready = x->grad != NULL;
    return x->grad;
}

void grad_give(struct exec *e, struct tensor *x, real *buffer)
{
    if (x->norm != NULL)
        x->norm->writers++;
    if (!x->grad_ready) {
        x->grad = buffer;
        x->grad_ready = true;
        return;
    }
    grad_fill(e, x);
    flat_add(e, x->count, buffer, x->grad);
    grad_release(e, buffer, x->count);
}

void grad_pass(struct exec *e, struct tensor *from, struct tensor *to)
{
    if (to == NULL || !to->wants_grad)
        return;
    if (to->grad_ready)
        grad_fill(e, from);
    to->where = to->grad_ready ? to->where : from->where;
    real *buffer = from->grad;
    from->grad = NULL;
    grad_give(e, to, buffer);
}

real *weight_open(struct weight *w, bool zero, bool *add)
{
    *add = w->grad_ready;
    if (zero && !w->grad_ready)
        memset(w->grad, 0, w->count * sizeof(real));
    w->grad_ready = true;
    return w->grad;
}
