/* Sends complete parts of the gradient block to the other ranks during the backward pass, and adds up the rest at its
 * end. */
#include "core/nn/gradients.h"

#include <string.h>

/* LEAST: minimum number of reals in a message; FLAGS: maximum number of arrays whose flags share a message */
enum { LEAST = 16384, FLAGS = 1024 };

static const enum comm_type TYPE = sizeof(real) == 4 ? COMM_F32 : COMM_F64;

static void done_from(void *context, const struct weight *first)
{
    struct gradients *g = context;
    size_t from;
    real *block = params_gradients(g->params, first, g->sent, &from);
    if (!g->error.code && g->sent >= from + LEAST) {
        comm_start(g->comm, block + from, g->sent - from, TYPE, &g->error);
        g->sent = from;
    }
    comm_progress(g->comm);
}

void gradients_init(struct gradients *gradients, struct params *params, struct comm *comm, struct exec *exec)
{
    *gradients = (struct gradients){.params = params, .comm = comm_others(comm)};
    exec->comm = gradients->comm;
    exec->done_from = gradients->comm ? done_from : NULL;
    exec->done_context = gradients;
}

void gradients_begin(struct gradients *gradients)
{
    if (gradients->comm)
        gradients->sent = params_gradient_reals(gradients->params);
}

/* Marks an array as written if any rank has written its gradient. */
static enum status share_flags(struct gradients *g, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t at = 0, count = params_arrays(g->params); !status && at < count; at += FLAGS) {
        double flags[FLAGS];
        size_t n = count - at < FLAGS ? count - at : FLAGS;
        for (size_t i = 0; i < n; i++)
            flags[i] = params_array(g->params, at + i)->grad_ready ? 1 : 0;
        status = comm_max(g->comm, flags, n, err);
        for (size_t i = 0; !status && i < n; i++)
            params_array(g->params, at + i)->grad_ready = flags[i] > 0;
    }
    return status;
}

enum status gradients_finish(struct gradients *gradients, struct error *err)
{
    struct gradients *g = gradients;
    size_t from;
    if (!g->comm)
        return STATUS_OK;
    real *block = params_gradients(g->params, NULL, g->sent, &from);
    enum status status = g->error.code ? error_set(err, g->error.code, NULL, "%s", g->error.message)
                                       : comm_start(g->comm, block, g->sent, TYPE, err);
    g->sent = 0;
    if (!status)
        status = share_flags(g, err);
    return status ? status : comm_wait(g->comm, err);
}
