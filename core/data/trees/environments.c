/* Simulates environments on a tree: weights that change along its edges, the map psi from inputs to latent variables,
 * and rows of inputs and outcomes. */
#include "core/data/trees/environments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/data/trees/environments_int.h"

enum {
    STREAM_PSI = 0x70736931,
    STREAM_BASE,
    STREAM_CHANGE,
    STREAM_ROW,
    STREAM_SCALE,
    PSI_UNITS = 32,
    SCALE_ROWS = 4096
};

enum status environments_no_memory(struct error *err)
{
    return error_memory(err, "a table");
}

enum status environments_table(int rows, int features, int latent, int nodes, struct environments **environments,
                               struct error *err)
{
    struct environments *e = calloc(1, sizeof *e);
    if (!e)
        return environments_no_memory(err);
    size_t n = (size_t)rows, k = (size_t)latent;
    *e = (struct environments){.rows = rows, .features = features, .latent = latent};
    e->x = calloc(n * (size_t)features + 1, sizeof *e->x);
    e->y = calloc(n + 1, sizeof *e->y);
    e->node = calloc(n + 1, sizeof *e->node);
    e->z = calloc(n * k + 1, sizeof *e->z);
    e->weights = calloc((size_t)nodes * k + 1, sizeof *e->weights);
    e->changes = calloc((size_t)nodes * k + 1, sizeof *e->changes);
    if (!e->x || !e->y || !e->node || !e->z || !e->weights || !e->changes) {
        environments_free(e);
        return environments_no_memory(err);
    }
    *environments = e;
    return STATUS_OK;
}

void environments_free(struct environments *e)
{
    if (!e)
        return;
    for (int j = 0; e->names && j < e->features; j++)
        free(e->names[j]);
    free(e->names);
    free(e->x);
    free(e->y);
    free(e->node);
    free(e->test);
    free(e->z);
    free(e->weights);
    free(e->changes);
    free(e);
}

/* ---- weights ------------------------------------------------------------------------------------------ */

/* Draws the changes on the edge above `node`. */
static void draw_change(const struct environments_outcome *o, int node, double *change)
{
    struct philox from = philox_stream(o->seed, STREAM_CHANGE, (uint64_t)node);
    int k = o->latent, left = o->changes < k ? o->changes : k;
    for (int c = 0; c < k; c++) {
        double at = (double)philox_uniform(&from, (uint64_t)c), size = philox_normal(&from, 1024 + (uint64_t)c);
        bool here = o->density > 0 ? at < o->density : at * (k - c) < left;
        left -= o->density > 0 ? 0 : here;
        change[c] = here ? size : 0;
    }
}

void environments_weights(const struct tree *tree, const struct environments_outcome *o, struct environments *e)
{
    struct philox from = philox_stream(o->seed, STREAM_BASE, 0);
    int k = o->latent;
    for (int c = 0; c < k; c++)
        e->weights[c] = philox_normal(&from, (uint64_t)c);
    for (int v = 1; v < tree->nodes; v++) {
        double *change = e->changes + (ptrdiff_t)v * k;
        draw_change(o, v, change);
        for (int c = 0; c < k; c++)
            e->weights[(ptrdiff_t)v * k + c] = e->weights[(ptrdiff_t)tree->parent[v] * k + c] + change[c];
    }
}

float environments_outcome_at(const struct environments *e, int node, const float *z, double noise)
{
    double sum = noise;
    for (int c = 0; c < e->latent; c++)
        sum += e->weights[(ptrdiff_t)node * e->latent + c] * (double)z[c];
    return (float)sum;
}

/* ---- psi ---------------------------------------------------------------------------------------------- */

struct psi {
    enum environments_psi kind;
    int features, latent;
    /* PSI_TANH: `first` is [units][features], `second` [latent][units]; PSI_LINEAR: `first` is [latent][features],
     * `second` is not used */
    double *first, *second;
    double *mean, *scale; /* [latent] each */
};

static void psi_raw(const struct psi *p, const double *x, double *z)
{
    double unit[PSI_UNITS];
    bool deep = p->kind == PSI_TANH;
    int rows = deep ? PSI_UNITS : p->latent;
    for (int u = 0; u < rows; u++) {
        double sum = 0;
        for (int j = 0; j < p->features; j++)
            sum += p->first[(ptrdiff_t)u * p->features + j] * x[j];
        if (deep)
            unit[u] = tanh(sum);
        else
            z[u] = sum;
    }
    for (int c = 0; deep && c < p->latent; c++) {
        z[c] = 0;
        for (int u = 0; u < PSI_UNITS; u++)
            z[c] += p->second[(ptrdiff_t)c * PSI_UNITS + u] * unit[u];
    }
}

/* Scales every latent variable to variance 1: exactly for the linear map, over a fixed sample of inputs for the tanh
 * map. */
static void settle_scale(struct psi *p, uint64_t seed, double *x, double *z, struct thread_pool *pool)
{
    double *squares = p->mean;
    for (int i = 0; i < SCALE_ROWS && !thread_pool_stopped(pool); i++) {
        struct philox from = philox_stream(seed, STREAM_SCALE, (uint64_t)i);
        philox_fill_normal(&from, 0, x, (size_t)p->features);
        psi_raw(p, x, z);
        for (int c = 0; c < p->latent; c++)
            /* z is an odd function of x, so its mean is 0 and the mean square is the variance */
            squares[c] += z[c] * z[c] / SCALE_ROWS;
    }
    for (int c = 0; c < p->latent; c++) {
        double norm = 0;
        for (int j = 0; p->kind == PSI_LINEAR && j < p->features; j++)
            norm += p->first[(ptrdiff_t)c * p->features + j] * p->first[(ptrdiff_t)c * p->features + j];
        p->scale[c] = 1 / sqrt(p->kind == PSI_LINEAR ? norm : squares[c]);
    }
}

static void psi_close(struct psi *p)
{
    free(p->first);
    free(p->second);
    free(p->mean);
}

static enum status psi_open(struct psi *p, enum environments_psi kind, uint64_t seed, int features, int latent,
                            struct thread_pool *pool, struct error *err)
{
    struct philox from = philox_stream(seed, STREAM_PSI, (uint64_t)kind);
    size_t rows = kind == PSI_TANH ? PSI_UNITS : (size_t)latent, first = rows * (size_t)features;
    double *x = malloc(((size_t)features + (size_t)latent + 2) * sizeof *x);
    *p = (struct psi){.kind = kind, .features = features, .latent = latent};
    p->first = malloc(first * sizeof *p->first);
    p->second = malloc((size_t)latent * PSI_UNITS * sizeof *p->second);
    p->mean = calloc(2 * (size_t)latent, sizeof *p->mean);
    if (!x || !p->first || !p->second || !p->mean) {
        free(x);
        psi_close(p);
        return environments_no_memory(err);
    }
    p->scale = p->mean + latent;
    for (size_t i = 0; i < first; i++)
        p->first[i] = philox_normal(&from, i) / sqrt(features);
    for (size_t i = 0; i < (size_t)latent * PSI_UNITS; i++)
        p->second[i] = philox_normal(&from, first + i) / sqrt(PSI_UNITS);
    settle_scale(p, seed, x, x + features, pool);
    free(x);
    return STATUS_OK;
}

/* ---- simulation --------------------------------------------------------------------------------------- */

static void simulate_rows(const struct psi *psi, const struct environments_outcome *o, const int *nodes, int node_count,
                          int per_node, uint32_t set, struct environments *e, double *draw, struct thread_pool *pool)
{
    int d = e->features, k = e->latent;
    double *z = draw + d + 1;
    for (int v = 0; v < node_count; v++)
        for (int i = 0; i < per_node && !thread_pool_stopped(pool); i++) {
            struct philox from =
                philox_stream(o->seed, STREAM_ROW + set, (uint64_t)nodes[v] << 32 | (uint64_t)(uint32_t)i);
            ptrdiff_t row = (ptrdiff_t)v * per_node + i;
            philox_fill_normal(&from, 0, draw, (size_t)d + 1);
            psi_raw(psi, draw, z);
            for (int j = 0; j < d; j++)
                e->x[row * d + j] = (float)draw[j];
            for (int c = 0; c < k; c++)
                e->z[row * k + c] = (float)(z[c] * psi->scale[c]);
            e->node[row] = nodes[v];
            e->y[row] = environments_outcome_at(e, nodes[v], e->z + row * k, o->noise * draw[d]);
        }
}

enum status environments_simulate(const struct tree *tree, const struct environments_outcome *outcome,
                                  enum environments_psi psi, int features, const int *nodes, int node_count,
                                  int per_node, uint32_t set, struct thread_pool *pool,
                                  struct environments **environments, struct error *err)
{
    struct psi p;
    struct environments *e = NULL;
    double *draw = malloc(((size_t)features + (size_t)outcome->latent + 2) * sizeof *draw);
    enum status status =
        draw ? psi_open(&p, psi, outcome->seed, features, outcome->latent, pool, err) : environments_no_memory(err);
    if (status) {
        free(draw);
        return status;
    }
    status = environments_table(node_count * per_node, features, outcome->latent, tree->nodes, &e, err);
    if (!status) {
        environments_weights(tree, outcome, e);
        simulate_rows(&p, outcome, nodes, node_count, per_node, set, e, draw, pool);
        status = thread_pool_check(pool, err);
        if (status)
            environments_free(e);
        else
            *environments = e;
    }
    psi_close(&p);
    free(draw);
    return status;
}

/* ---- choosing rows ------------------------------------------------------------------------------------ */

enum status environments_filter(const struct environments *from, int nodes, const bool *keep_row,
                                struct environments **environments, struct error *err)
{
    int rows = 0, at = 0, d = from->features, k = from->latent;
    for (int i = 0; i < from->rows; i++)
        rows += keep_row[i];
    enum status status = environments_table(rows, d, k, nodes, environments, err);
    if (status)
        return status;
    struct environments *e = *environments;
    e->labels = from->labels;
    memcpy(e->weights, from->weights, (size_t)nodes * (size_t)k * sizeof *e->weights);
    memcpy(e->changes, from->changes, (size_t)nodes * (size_t)k * sizeof *e->changes);
    for (int i = 0; i < from->rows; i++) {
        if (!keep_row[i])
            continue;
        memcpy(e->x + (ptrdiff_t)at * d, from->x + (ptrdiff_t)i * d, (size_t)d * sizeof *e->x);
        memcpy(e->z + (ptrdiff_t)at * k, from->z + (ptrdiff_t)i * k, (size_t)k * sizeof *e->z);
        e->y[at] = from->y[i];
        e->node[at++] = from->node[i];
    }
    return STATUS_OK;
}
