/* Adds up the gradients of all ranks while the backward pass still runs.
 *
 * Arrays that are declared late are used late in the forward pass, so their gradients are complete first. At each
 * mark of exec_done_from(), the gradients that became complete since the last message are sent, if they are large
 * enough for a message. If an array has a gradient on some rank, it has one on all ranks afterwards. */
#ifndef MOTIF_CORE_NN_GRADIENTS_H
#define MOTIF_CORE_NN_GRADIENTS_H

#include "core/nn/params.h"

struct gradients {
    struct params *params;
    struct comm *comm;
    size_t sent; /* the part of the gradient block from this offset on has been sent */
    struct error error;
};

/* Sets exec->done_from. If `comm` is NULL or has one rank, the calls below do nothing. The arguments must outlive
 * `gradients`. */
void gradients_init(struct gradients *gradients, struct params *params, struct comm *comm, struct exec *exec);
/* Call gradients_begin() before tape_backward() and gradients_finish() after it. Then weight.grad is the sum over
 * ranks, with the same bits on all ranks. Errors: those of comm.h. */
void gradients_begin(struct gradients *gradients);
enum status gradients_finish(struct gradients *gradients, struct error *err);

#endif
