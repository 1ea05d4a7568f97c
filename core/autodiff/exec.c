/* The state of a step: memory from the step arena, the first error, the clock and the profile.
 *
 * An operation that fails stores the error (op_fail()) and returns NULL. Every later operation then returns NULL too,
 * so a forward pass needs no checks. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

void exec_release(struct exec *exec, struct arena_mark mark)
{
    arena_release(exec->arena, mark);
    exec->tape->spares = 0;
    exec->tape->scratch = NULL;
    exec->tape->scratch_count = 0;
}

enum status exec_status(const struct exec *exec, struct error *err)
{
    if (!exec->error.code)
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

bool op_run(struct exec *e, thread_pool_task *task, void *context, int chunks)
{
    if (thread_pool_run(e->pool, task, context, chunks))
        return true;
    op_fail(e, STATUS_CANCELLED, "the computation was stopped");
    return false;
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

real *op_scratch(struct exec *e, size_t each, int chunks)
{
    size_t count = each * (size_t)thread_pool_workers(e->pool, chunks);
    if (e->error.code)
        return NULL;
    if (e->tape->scratch == NULL || e->tape->scratch_count < count) {
        e->tape->scratch = op_reals(e, count);
        e->tape->scratch_count = count;
    }
    return e->tape->scratch;
}

double *op_doubles(struct exec *e, size_t count)
{
    return op_alloc(e, count * sizeof(double));
}

double op_clock(const struct exec *e)
{
    if (e->profile == NULL)
        return 0.0;
    struct timespec now;
    clock_gettime(e->profile->processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct exec_profile_entry *op_profile_entry(struct exec_profile *profile, const char *name)
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
    struct exec_profile_entry *entry = op_profile_entry(exec->profile, name);
    entry->forward_seconds += op_clock(exec) - since;
    entry->calls++;
}
