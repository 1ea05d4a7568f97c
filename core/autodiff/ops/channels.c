/* Selects channels of a map, and joins maps by their channels. Channels need not begin at a block of 16, so elements
 * are copied one by one. */
#include <string.h>

#include "core/autodiff/tape_int.h"

enum { JOIN_MOST = 16 };

struct channels_node {
    struct node node;
    int first, count; /* in op_channels, the selected channels; in op_join_channels, count is the number of maps */
    struct tensor *part[JOIN_MOST];
};

struct channels_side {
    const struct map_shape *shape;
    int first;
};

/* Adds `count` channels of one map to those of another. */
static void add_channels(const struct channels_side *to, real *y, const struct channels_side *from, const real *x,
                         int count)
{
    const struct map_shape *s = from->shape;
    for (int image = 0; image < s->images; image++)
        for (int c = 0; c < count; c++)
            for (int row = 0; row < s->height; row++) {
                int in = from->first + c, out = to->first + c;
                const real *a = x + map_offset(s, image, in / MAP_LANES, row, 0) + in % MAP_LANES;
                real *b = y + map_offset(to->shape, image, out / MAP_LANES, row, 0) + out % MAP_LANES;
                for (int col = 0; col < s->width; col++)
                    b[(ptrdiff_t)col * MAP_LANES] += a[(ptrdiff_t)col * MAP_LANES];
            }
}

/* Returns the gradient buffer of a map to add to: set to zero if no operation has written it yet. */
static real *opened(struct exec *e, struct tensor *x)
{
    bool add;
    real *grad = x->wants_grad ? grad_open(e, x, &add) : NULL;
    if (grad != NULL && !add)
        memset(grad, 0, x->count * sizeof(real));
    return grad;
}

static void channels_backward(struct exec *e, struct node *node)
{
    struct channels_node *n = (struct channels_node *)node;
    struct tensor *x = n->part[0];
    real *dx = opened(e, x);
    if (dx != NULL)
        add_channels(&(struct channels_side){&x->map, n->first}, dx, &(struct channels_side){&node->out->map, 0},
                     node->out->grad, n->count);
}

struct tensor *op_channels(struct exec *e, struct tensor *x, int first, int count)
{
    double since = op_clock(e);
    if (x == NULL || e->error.code != STATUS_OK)
        return NULL;
    if (x->kind != TENSOR_MAP || first < 0 || count < 1 || first + count > x->map.channels) {
        op_fail(e, STATUS_INTERNAL, "channels: the map does not have %d channels from %d on", count, first);
        return NULL;
    }
    struct map_shape shape = x->map;
    shape.channels = count;
    struct tensor *out = op_out_map(e, &shape, x->wants_grad);
    struct channels_node *n = op_alloc(e, sizeof(*n));
    if (out == NULL || n == NULL)
        return NULL;
    *n = (struct channels_node){.first = first, .count = count, .part = {x}};
    memset(out->data, 0, out->count * sizeof(real));
    add_channels(&(struct channels_side){&out->map, 0}, out->data, &(struct channels_side){&x->map, first}, x->data,
                 count);
    return op_done(e, &n->node, "channels", channels_backward, out, since);
}

static void join_backward(struct exec *e, struct node *node)
{
    struct channels_node *n = (struct channels_node *)node;
    int first = 0;
    for (int i = 0; i < n->count; i++) {
        struct tensor *x = n->part[i];
        real *dx = opened(e, x);
        if (dx != NULL)
            add_channels(&(struct channels_side){&x->map, 0}, dx, &(struct channels_side){&node->out->map, first},
                         node->out->grad, x->map.channels);
        first += x->map.channels;
    }
}

/* The number of channels of all maps together; 0 if their sizes differ. */
static int joined(struct tensor *const *parts, int count)
{
    int channels = 0;
    for (int i = 0; i < count; i++) {
        if (parts[i]->kind != TENSOR_MAP)
            return 0;
        struct map_shape shape = parts[i]->map, first = parts[0]->map;
        channels += shape.channels;
        shape.channels = first.channels;
        if (memcmp(&shape, &first, sizeof(shape)) != 0)
            return 0;
    }
    return channels;
}

struct tensor *op_join_channels(struct exec *e, struct tensor *const *parts, int count)
{
    double since = op_clock(e);
    bool wants = false;
    for (int i = 0; i < count; i++) {
        if (parts[i] == NULL || e->error.code != STATUS_OK)
            return NULL;
        wants |= parts[i]->wants_grad;
    }
    int channels = count >= 1 && count <= JOIN_MOST ? joined(parts, count) : 0;
    if (channels == 0) {
        op_fail(e, STATUS_INTERNAL, "join: the %d maps have different sizes", count);
        return NULL;
    }
    struct map_shape shape = parts[0]->map;
    shape.channels = channels;
    struct tensor *out = op_out_map(e, &shape, wants);
    struct channels_node *n = op_alloc(e, sizeof(*n));
    if (out == NULL || n == NULL)
        return NULL;
    *n = (struct channels_node){.count = count};
    memset(out->data, 0, out->count * sizeof(real));
    int first = 0;
    for (int i = 0; i < count; i++) {
        n->part[i] = parts[i];
        add_channels(&(struct channels_side){&out->map, first}, out->data, &(struct channels_side){&parts[i]->map, 0},
                     parts[i]->data, parts[i]->map.channels);
        first += parts[i]->map.channels;
    }
    return op_done(e, &n->node, "join_channels", join_backward, out, since);
}
