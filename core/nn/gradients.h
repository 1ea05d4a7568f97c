/* Gradients of all ranks added up, while the backward pass goes on.
 *
 * Arrays that are declared late are used late, so they are done first: whenever the pass comes to one of
 * exec_done_from()'s marks, what is complete and was not sent yet goes on its way, if it is enough to be worth it. An
 * array that some rank has a gradient for has one on all ranks afterwards. */
#ifndef MOTIF_CORE_NN_GRADIENTS_H
#define MOTIF_CORE_NN_GRADIENTS_H

#include "core/nn/params.h"

struct gradients {
    struct params *params;
    struct comm *comm;
    size_t sent; /* reals of the block from here on are on their way */
    struct error error;
};

/* comm NULL, or alone: the calls below do nothing. Makes the exec tell of its marks. */
void gradients_init(struct gradients *gradients, struct params *params, struct comm *comm, struct exec *exec);
/* Before tape_backward(), and after it: weight.grad is the sum over ranks, the same bits on all. */
void gradients_begin(struct gradients *gradients);
enum status gradients_finish(struct gradients *gradients, struct error *err);

#endif
