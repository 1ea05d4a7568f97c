/* Chooses the head by the kind of target (head.h). */
#include "core/methods/sparling/heads/head.h"

const struct head *head_of(const struct domain_shape *shape)
{
    return shape->numbers > 0 ? &numbers_head : shape->positions ? &positions_head : &tokens_head;
}
