/* The decoder of features that depend on at most two latent variables, without a matrix product for each feature.
 *
 * Let s = (s_0, s_1) be the two latent variables of a sample, multiplied by the mask of a feature; each pair of a
 * sample and a feature is a row. The first layer has no bias, so the direction of s alone decides which of its units
 * are active. Each unit switches on at one angle of a circle and off at the opposite angle. These angles divide the
 * circle into arcs. On an arc, the input of the second layer is its bias plus s_0 p_0 + s_1 p_1. The vector p_t is a
 * sum over the active units: the unit's column of the second layer's matrix times the unit's weight for s_t.
 *
 * The rows are sorted by arc, and the code goes once around the circle. At each switching angle it adds the column of
 * the unit that switches to p_0 and p_1, or subtracts it. One turn computes all rows of a group: the features with the
 * same two latent variables. With H units in each hidden layer, a turn costs 4 H^2 additions per group and H per row; a
 * matrix product would cost H^2 per row. With one latent variable or none, s_1 is 0.
 *
 * The backward pass goes around the circle in the same way and sums the rows' gradients of p_t. A unit gets the
 * difference between the sums at the angles where it switches off and on. A fixed number of tasks computes the groups,
 * and the partial gradients are added in the order of the tasks. */
#include "core/autodiff/tape_int.h"

#include <stdlib.h>
#include <string.h>

enum { ARC_TASKS = 8 };

struct arc_node {
    struct node node;
    struct tensor *z;
    struct arc_layers layers;
    const int32_t *features;
    const struct arc_group *groups;
    int count, tasks, units, width;
    int most;             /* the largest number of rows in a group */
    real *columns;        /* the second layer's matrix by columns, [units][width] */
    int32_t *order;       /* [groups][units] the units sorted by switching point; the entry for unit u is 2 u, or 2 u
                           * + 1 if the unit is active at angle 0 */
    int *start;           /* [groups][2 units + 2] index of each arc's first row */
    struct arc_row *rows; /* [features of all groups][samples], sorted by arc within a group */
};

/* The scratch memory and partial gradients of one task. */
struct arc_scratch {
    uint64_t *keys, *spare; /* [units] sort keys */
    float *places;          /* [units] sorted switching points */
    int *arcs;              /* [most] arc of each row */
    /* members of struct arc_call for the rows of one arc; p: [width]; values: [most]; pulls: [most][2] */
    real *p[2], *values, *pulls;
    real *sums[2]; /* [width] sums of gradients */
    /* partial gradients */
    real *dcolumns, *dbias, *dfirst, *dz; /* [units][width], [width], [latents][units], [samples][latents] */
};

struct arc_task {
    const struct kernels *kernels;
    const struct arc_node *n;
    struct arc_scratch scratch[ARC_TASKS];
    real *y;
    const real *dy;
    real *dmask, *dhead, *dhead_bias; /* gradients of mask, head and head_bias; NULL: not needed */
};

/* A number in [0, 4] that grows with the angle of (x, y); half a turn is 2. */
static real turn_of(real x, real y)
{
    real size = real_fabs(x) + real_fabs(y);
    if (size == R(0.0))
        return R(0.0);
    return y >= R(0.0) ? R(1.0) - x / size : R(3.0) + x / size;
}

static real unit_weight(const struct arc_node *n, int unit, int latent)
{
    return latent < 0 ? R(0.0) : n->layers.first->value[(ptrdiff_t)unit * n->z->cols + latent];
}

/* ---- order -------------------------------------------------------------------------------------------- */

static void merge_sort(uint64_t *keys, uint64_t *spare, int count)
{
    for (int width = 1; width < count; width *= 2) {
        for (int from = 0; from < count; from += 2 * width) {
            int a = from, middle = from + width < count ? from + width : count;
            int b = middle, end = from + 2 * width < count ? from + 2 * width : count;
            for (int at = from; at < end; at++)
                spare[at] = b == end || (a < middle && keys[a] <= keys[b]) ? keys[a++] : keys[b++];
        }
        memcpy(keys, spare, (size_t)count * sizeof *keys);
    }
}

/* Sorts the units by switching point. A unit switches on a quarter turn before the direction of its weights, and off
 * half a turn later. The sort compares the bits of floats as integers, which gives the same order because the floats
 * are not negative. */
static void order_units(const struct arc_node *n, int group, const struct arc_scratch *s)
{
    const struct arc_group *g = &n->groups[group];
    int32_t *order = n->order + (ptrdiff_t)group * n->units;
    for (int u = 0; u < n->units; u++) {
        real on = turn_of(unit_weight(n, u, g->latent[1]), -unit_weight(n, u, g->latent[0]));
        bool starts = on >= R(2.0);
        float place = (float)(starts ? on - R(2.0) : on);
        uint32_t bits;
        memcpy(&bits, &place, sizeof bits);
        s->keys[u] = (uint64_t)bits << 32 | (uint32_t)(2 * u + starts);
    }
    merge_sort(s->keys, s->spare, n->units);
    for (int u = 0; u < n->units; u++) {
        uint32_t bits = (uint32_t)(s->keys[u] >> 32);
        order[u] = (int32_t)(s->keys[u] & 0xffffffff);
        memcpy(&s->places[u], &bits, sizeof bits);
    }
}

/* Returns how many of the `count` switching points in `places`, which are ascending, are at most `at`. */
static int switched(const float *places, int count, real at)
{
    int low = 0;
    while (count > 0) {
        int half = count / 2;
        bool right = places[low + half] <= (float)at;
        low = right ? low + half + 1 : low;
        count = right ? count - half - 1 : half;
    }
    return low;
}

static int arc_of(const struct arc_node *n, const float *places, real s0, real s1)
{
    real at = turn_of(s0, s1);
    return at < R(2.0) ? switched(places, n->units, at) : n->units + switched(places, n->units, at - R(2.0));
}

static struct arc_row make_row(const struct arc_node *n, const struct arc_group *g, int f, int sample)
{
    int latents = n->z->cols, feature = n->features[f];
    struct arc_row row = {.sample = sample, .feature = feature};
    for (int t = 0; t < 2 && g->latent[t] >= 0; t++)
        row.s[t] = n->layers.mask->value[(ptrdiff_t)feature * latents + g->latent[t]] *
                   n->z->data[(ptrdiff_t)sample * latents + g->latent[t]];
    return row;
}

static void sort_rows(const struct arc_node *n, int group, const struct arc_scratch *s)
{
    const struct arc_group *g = &n->groups[group];
    int samples = n->z->rows, arcs = 2 * n->units + 1, *start = n->start + (ptrdiff_t)group * (arcs + 1);
    int ends[2] = {arc_of(n, s->places, R(0.0), R(0.0)), arc_of(n, s->places, R(-1.0), R(0.0))};
    struct arc_row *rows = n->rows + (ptrdiff_t)g->first * samples;
    memset(start, 0, (size_t)(arcs + 1) * sizeof *start);
    for (int f = 0, r = 0; f < g->count; f++)
        for (int i = 0; i < samples; i++, r++) {
            struct arc_row row = make_row(n, g, g->first + f, i);
            s->arcs[r] = g->latent[1] < 0 ? ends[row.s[0] < R(0.0)] : arc_of(n, s->places, row.s[0], row.s[1]);
            start[s->arcs[r] + 1]++;
        }
    for (int a = 0; a < arcs; a++)
        start[a + 1] += start[a];
    for (int f = 0, r = 0; f < g->count; f++)
        for (int i = 0; i < samples; i++, r++)
            rows[start[s->arcs[r]]++] = make_row(n, g, g->first + f, i);
    memmove(start + 1, start, (size_t)arcs * sizeof *start);
    start[0] = 0;
}

/* ---- turns -------------------------------------------------------------------------------------------- */

static void step_sums(const struct kernels *k, const struct arc_node *n, const struct arc_group *g,
                      const struct arc_scratch *s, int unit, real sign)
{
    const real *column = n->columns + (ptrdiff_t)unit * n->width;
    for (int t = 0; t < 2 && g->latent[t] >= 0; t++)
        k->axpy((size_t)n->width, sign * unit_weight(n, unit, g->latent[t]), column, s->p[t]);
}

static void start_turn(const struct kernels *k, const struct arc_node *n, int group, const struct arc_scratch *s)
{
    const int32_t *order = n->order + (ptrdiff_t)group * n->units;
    for (int t = 0; t < 2; t++)
        memset(s->p[t], 0, (size_t)n->width * sizeof *s->p[t]);
    for (int u = 0; u < n->units; u++)
        if (order[u] & 1)
            step_sums(k, n, &n->groups[group], s, order[u] >> 1, R(1.0));
}

/* Finds the unit whose switching point is the end of the arc with index `a`. *on: true: the unit switches on there;
 * false: it switches off. */
static int switch_at(const struct arc_node *n, int group, int a, bool *on)
{
    int32_t unit = n->order[(ptrdiff_t)group * n->units + a % n->units];
    *on = (a < n->units) != (unit & 1);
    return unit >> 1;
}

static struct arc_call call_of(const struct arc_node *n, const struct arc_scratch *s)
{
    return (struct arc_call){.width = n->width,
                             .p = {s->p[0], s->p[1]},
                             .bias = n->layers.bias->value,
                             .heads = n->layers.head->value,
                             .values = s->values};
}

static void forward_group(const struct arc_task *t, const struct arc_scratch *s, int group)
{
    const struct arc_node *n = t->n;
    const struct arc_group *g = &n->groups[group];
    const int *start = n->start + (ptrdiff_t)group * (2 * n->units + 2);
    const struct arc_row *rows = n->rows + (ptrdiff_t)g->first * n->z->rows;
    int total = g->count * n->z->rows, cols = n->layers.head->dim[0];
    struct arc_call call = call_of(n, s);
    order_units(n, group, s);
    sort_rows(n, group, s);
    start_turn(t->kernels, n, group, s);
    for (int a = 0; start[a] < total; a++) {
        call.count = start[a + 1] - start[a];
        call.rows = rows + start[a];
        if (call.count > 0)
            t->kernels->arc_forward(&call);
        for (int r = 0; r < call.count; r++)
            t->y[(ptrdiff_t)call.rows[r].sample * cols + call.rows[r].feature] =
                call.values[r] + n->layers.head_bias->value[call.rows[r].feature];
        if (start[a + 1] == total)
            break;
        bool on;
        int unit = switch_at(n, group, a, &on);
        step_sums(t->kernels, n, g, s, unit, on ? R(1.0) : R(-1.0));
    }
}

static void forward_task(void *context, int chunk, int worker)
{
    const struct arc_task *t = context;
    for (int group = chunk; group < t->n->count; group += t->n->tasks)
        forward_group(t, &t->scratch[chunk], group);
}

/* ---- backward ----------------------------------------------------------------------------------------- */

/* Called where a unit switches. From s->sums, the gradients of p_t summed over the arcs so far, computes gradients of
 * the unit's weights, and adds them, times `sign`, to the partial gradients of the task. */
static void give_unit(const struct arc_task *t, const struct arc_group *g, const struct arc_scratch *s, int unit,
                      real sign)
{
    const struct arc_node *n = t->n;
    ptrdiff_t at = (ptrdiff_t)unit * n->width;
    size_t width = (size_t)n->width;
    for (int i = 0; i < 2 && g->latent[i] >= 0; i++) {
        t->kernels->axpy(width, sign * unit_weight(n, unit, g->latent[i]), s->sums[i], s->dcolumns + at);
        s->dfirst[(ptrdiff_t)g->latent[i] * n->units + unit] +=
            sign * t->kernels->dot(width, n->columns + at, s->sums[i]);
    }
}

/* Adds the gradients that the kernel has computed for the rows of an arc. call->pulls leads to the gradients of z (by
 * sample) and of the mask (by feature), call->values to that of the heads' bias. */
static void give_rows(const struct arc_task *t, const struct arc_group *g, const struct arc_scratch *s,
                      const struct arc_call *call)
{
    const struct arc_node *n = t->n;
    int latents = n->z->cols;
    for (int r = 0; r < call->count; r++) {
        const struct arc_row *row = &call->rows[r];
        for (int i = 0; i < 2 && g->latent[i] >= 0; i++) {
            ptrdiff_t w = (ptrdiff_t)row->feature * latents + g->latent[i],
                      z = (ptrdiff_t)row->sample * latents + g->latent[i];
            real pull = call->pulls[2 * r + i];
            s->dz[z] += pull * n->layers.mask->value[w];
            if (t->dmask != NULL)
                t->dmask[w] += pull * n->z->data[z];
        }
        if (t->dhead_bias != NULL)
            t->dhead_bias[row->feature] += call->values[r];
    }
}

static void backward_group(const struct arc_task *t, const struct arc_scratch *s, int group)
{
    const struct arc_node *n = t->n;
    const struct arc_group *g = &n->groups[group];
    const int *start = n->start + (ptrdiff_t)group * (2 * n->units + 2);
    const struct arc_row *rows = n->rows + (ptrdiff_t)g->first * n->z->rows;
    int cols = n->layers.head->dim[0];
    struct arc_call call = call_of(n, s);
    call.pulls = s->pulls;
    call.dheads = t->dhead;
    call.dbias = s->dbias;
    for (int i = 0; i < 2; i++) {
        call.dp[i] = s->sums[i];
        memset(s->sums[i], 0, (size_t)n->width * sizeof *s->sums[i]);
    }
    start_turn(t->kernels, n, group, s);
    for (int a = 0; a <= 2 * n->units; a++) {
        call.count = start[a + 1] - start[a];
        call.rows = rows + start[a];
        for (int r = 0; r < call.count; r++)
            call.values[r] = t->dy[(ptrdiff_t)call.rows[r].sample * cols + call.rows[r].feature];
        if (call.count > 0) {
            t->kernels->arc_backward(&call);
            give_rows(t, g, s, &call);
        }
        if (a == 2 * n->units)
            break;
        bool on;
        int unit = switch_at(n, group, a, &on);
        step_sums(t->kernels, n, g, s, unit, on ? R(1.0) : R(-1.0));
        if (start[a + 1] > 0)
            give_unit(t, g, s, unit, on ? R(-1.0) : R(1.0));
    }
    for (int u = 0; u < n->units; u++) {
        int32_t unit = n->order[(ptrdiff_t)group * n->units + u];
        if (unit & 1)
            give_unit(t, g, s, unit >> 1, R(1.0));
    }
}

static void backward_task(void *context, int chunk, int worker)
{
    const struct arc_task *t = context;
    for (int group = chunk; group < t->n->count; group += t->n->tasks)
        backward_group(t, &t->scratch[chunk], group);
}

/* to[c][r] += from[r][c] */
static void add_turned(const real *from, int rows, int cols, real *to)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++)
            to[(ptrdiff_t)c * rows + r] += from[(ptrdiff_t)r * cols + c];
}

/* Adds the partial gradients of all other tasks to the partial gradients of the first task. */
static void arc_heads_join(struct exec *e, const struct arc_task *t)
{
    const struct arc_node *n = t->n;
    const struct arc_scratch *to = &t->scratch[0];
    for (int c = 1; c < n->tasks; c++) {
        const struct arc_scratch *from = &t->scratch[c];
        flat_add(e, (size_t)n->units * (size_t)n->width, from->dcolumns, to->dcolumns);
        flat_add(e, (size_t)n->width, from->dbias, to->dbias);
        flat_add(e, (size_t)n->z->cols * (size_t)n->units, from->dfirst, to->dfirst);
        flat_add(e, n->z->count, from->dz, to->dz);
    }
}

static bool open_scratch(struct exec *e, const struct arc_node *n, bool gradients, struct arc_scratch *s)
{
    size_t units = (size_t)n->units, width = (size_t)n->width, most = (size_t)n->most;
    if (!gradients) {
        s->keys = op_alloc(e, 2 * units * sizeof *s->keys);
        s->places = op_alloc(e, units * sizeof *s->places);
        s->arcs = op_alloc(e, most * sizeof *s->arcs);
        s->spare = s->keys + units;
    }
    s->p[0] = op_reals(e, (gradients ? 4 : 2) * width);
    s->values = op_reals(e, (gradients ? 3 : 1) * most);
    if (e->error.code)
        return false;
    s->p[1] = s->p[0] + width;
    if (!gradients)
        return true;
    s->sums[0] = s->p[1] + width;
    s->sums[1] = s->sums[0] + width;
    s->pulls = s->values + most;
    s->dcolumns = op_zeros(e, units * width);
    s->dbias = op_zeros(e, width);
    s->dfirst = op_zeros(e, (size_t)n->z->cols * units);
    s->dz = op_zeros(e, n->z->count);
    return !e->error.code;
}

static void arc_backward(struct exec *e, struct node *node)
{
    struct arc_node *n = (struct arc_node *)node;
    const struct arc_layers *l = &n->layers;
    struct arc_task t = {.kernels = e->kernels, .n = n, .dy = node->out->grad};
    bool add;
    for (int c = 0; c < n->tasks; c++)
        if (!open_scratch(e, n, true, &t.scratch[c]))
            return;
    t.dmask = weight_wants(e, l->mask) ? weight_open(l->mask, true, &add) : NULL;
    t.dhead = weight_wants(e, l->head) ? weight_open(l->head, true, &add) : NULL;
    t.dhead_bias = weight_wants(e, l->head_bias) ? weight_open(l->head_bias, true, &add) : NULL;
    (void)op_run(e, backward_task, &t, n->tasks);
    arc_heads_join(e, &t);
    const struct arc_scratch *sum = &t.scratch[0];
    if (weight_wants(e, l->second))
        add_turned(sum->dcolumns, n->units, n->width, weight_open(l->second, true, &add));
    if (weight_wants(e, l->first))
        add_turned(sum->dfirst, n->z->cols, n->units, weight_open(l->first, true, &add));
    if (weight_wants(e, l->bias))
        e->kernels->add((size_t)n->width, sum->dbias, weight_open(l->bias, true, &add));
    if (!n->z->wants_grad)
        return;
    real *dz = grad_open(e, n->z, &add);
    if (dz != NULL && add)
        e->kernels->add(n->z->count, sum->dz, dz);
    else if (dz != NULL)
        memcpy(dz, sum->dz, n->z->count * sizeof *dz);
}

/* ---- operation ---------------------------------------------------------------------------------------- */

static bool arcs_fit(const struct arc_node *n)
{
    const struct arc_layers *l = &n->layers;
    int latents = n->z->cols, at = 0;
    bool fits = n->z->kind == TENSOR_ROWS && l->mask->rank == 2 && l->mask->dim[1] == latents && l->first->rank == 2 &&
                l->first->dim[1] == latents && l->second->rank == 2 && l->second->dim[1] == l->first->dim[0] &&
                l->bias->count == (size_t)n->width && l->head->rank == 2 && l->head->dim[1] == n->width &&
                l->head->dim[0] == l->mask->dim[0] && l->head_bias->count == (size_t)l->head->dim[0];
    for (int i = 0; fits && i < n->count; i++) {
        const struct arc_group *g = &n->groups[i];
        fits = g->first == at && g->count > 0 && g->latent[0] < latents && g->latent[1] < latents &&
               (g->latent[1] < 0 || (g->latent[0] >= 0 && g->latent[0] != g->latent[1]));
        for (int f = 0; fits && f < g->count; f++, at++)
            fits = n->features[at] >= 0 && n->features[at] < l->head->dim[0];
    }
    return fits;
}

static bool make_tables(struct exec *e, struct arc_node *n)
{
    size_t groups = (size_t)n->count, units = (size_t)n->units, rows = 0;
    for (int i = 0; i < n->count; i++) {
        int count = n->groups[i].count * n->z->rows;
        rows += (size_t)count;
        n->most = count > n->most ? count : n->most;
    }
    n->columns = op_zeros(e, units * (size_t)n->width);
    n->order = op_alloc(e, groups * units * sizeof *n->order);
    n->start = op_alloc(e, groups * (2 * units + 2) * sizeof *n->start);
    n->rows = op_alloc(e, rows * sizeof *n->rows);
    if (e->error.code)
        return false;
    add_turned(n->layers.second->value, n->width, n->units, n->columns);
    return true;
}

struct tensor *op_arc_head(struct exec *e, struct tensor *z, const struct arc_layers *layers, const int32_t *features,
                           const struct arc_group *groups, int count)
{
    double since = op_clock(e);
    if (z == NULL || e->error.code)
        return NULL;
    struct arc_node *n = op_alloc(e, sizeof *n);
    if (n == NULL)
        return NULL;
    n->z = z;
    n->layers = *layers;
    n->features = features;
    n->groups = groups;
    n->count = count;
    n->tasks = count < ARC_TASKS ? count : ARC_TASKS;
    n->units = layers->first->dim[0];
    n->width = layers->second->dim[0];
    if (!arcs_fit(n)) {
        op_fail(e, STATUS_INTERNAL, "arcs: shapes do not fit");
        return NULL;
    }
    const struct weight *all[] = {layers->mask, layers->first, layers->second,
                                  layers->bias, layers->head,  layers->head_bias};
    bool wants = z->wants_grad;
    for (int i = 0; i < 6; i++)
        wants = wants || weight_wants(e, all[i]);
    struct tensor *out = op_out_rows(e, z->rows, layers->head->dim[0], wants);
    if (out == NULL || !make_tables(e, n))
        return NULL;
    memset(out->data, 0, out->count * sizeof *out->data);
    struct arc_task t = {.kernels = e->kernels, .n = n, .y = out->data};
    for (int c = 0; c < n->tasks; c++)
        if (!open_scratch(e, n, false, &t.scratch[c]))
            return NULL;
    (void)op_run(e, forward_task, &t, n->tasks);
    return op_done(e, &n->node, "arc_head", arc_backward, out, since);
}
