/* Batches that ranks share: sums over all ranks, the position of a rank's samples in the batch, and the marks of
 * exec_done_from(), at which the gradients of some weights are complete. */
#include "core/autodiff/tape_int.h"

void exec_set_share(struct exec *exec, int64_t first, int64_t count, int64_t total)
{
    exec->share = (struct exec_share){(int)first, (int)count, (int)total};
}

/* Returns whether a communication has succeeded. If not, stores its error in the exec. */
static bool succeeded(struct exec *e, enum status status, const struct error *err)
{
    if (status)
        op_fail(e, status, "%s", err->message);
    return !status;
}

bool op_ranks_sum(struct exec *e, double *values, size_t count)
{
    struct error err = {0};
    return !op_ranked(e) || succeeded(e, comm_sum(e->comm, values, count, &err), &err);
}

bool op_ranks_most(struct exec *e, double *values, size_t count)
{
    struct error err = {0};
    return !op_ranked(e) || succeeded(e, comm_max(e->comm, values, count, &err), &err);
}

uint64_t op_before(const struct exec *e, uint64_t here)
{
    const struct exec_share *s = &e->share;
    return s->count > 0 ? here / (uint64_t)s->count * (uint64_t)s->first : 0;
}

double op_total(const struct exec *e, double here)
{
    const struct exec_share *s = &e->share;
    return op_ranked(e) && s->count > 0 ? here / s->count * s->total : here;
}

struct random_at op_random(struct exec *e, uint64_t count, bool dropout)
{
    struct random_at at = {.seed = e->seed, .step = e->step, .stream = op_stream(e), .index = op_before(e, count)};
    if (dropout && at.index % 4 != 0)
        op_fail(e, STATUS_INVALID, "dropout on a batch shared by ranks requires a width that is a multiple of 4");
    return at;
}

/* ---- marks for the backward pass ----------------------------------------------------------------------- */

struct mark {
    struct node node;
    const struct weight *first;
};

static void mark_backward(struct exec *e, struct node *node)
{
    e->done_from(e->done_context, ((struct mark *)node)->first);
}

void exec_done_from(struct exec *e, const struct weight *first)
{
    if (e->done_from == NULL || !e->training || e->error.code)
        return;
    struct mark *mark = op_alloc(e, sizeof *mark);
    if (mark == NULL)
        return;
    *mark = (struct mark){{"mark", mark_backward, NULL, e->tape->last, true}, first};
    e->tape->last = &mark->node;
}
