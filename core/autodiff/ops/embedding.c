/* Embedding: the rows of a table by index. */
#include "core/autodiff/tape_int.h"

struct embedding_node {
    struct node node;
    const int32_t *ids;
    struct weight *w;
};

/* One task adds all rows, because several rows may have the same token and the order of sums must be fixed. */
static void embedding_backward(struct exec *e, struct node *node)
{
    struct embedding_node *n = (struct embedding_node *)node;
    bool add;
    e->kernels->scatter_add(node->out->rows, node->out->cols, n->ids, node->out->grad, node->out->cols,
                            weight_open(n->w, true, &add));
}

struct tensor *op_embedding(struct exec *e, const int32_t *ids, int count, struct weight *w)
{
    double since = op_clock(e);
    if (e->error.code)
        return NULL;
    for (int i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= w->dim[0]) {
            op_fail(e, STATUS_INTERNAL, "embedding: token %d is not in [0, %d)", (int)ids[i], w->dim[0]);
            return NULL;
        }
    }
    struct tensor *out = op_out_rows(e, count, w->dim[1], weight_wants(e, w));
    struct embedding_node *n = op_alloc(e, sizeof(*n));
    if (out == NULL || n == NULL)
        return NULL;
    n->ids = ids;
    n->w = w;
    e->kernels->gather(count, out->cols, ids, w->value, out->data, out->cols);
    return op_done(e, &n->node, "embedding", embedding_backward, out, since);
}
