/* What a configuration costs: operations, memory, checkpoints. The bytes follow the allocations of work.c, fit.c,
 * least.c and evaluate.c; tests/reproduce/memory_peaks compares them with runs. */
#include <math.h>

#include "core/data/trees/tree_plot.h"
#include "core/methods/environments/config.h"
#include "core/methods/environments/model/least.h"
#include "core/methods/shared/table_source.h"

static double encoder_weights(const struct environments_config *c, int features)
{
    double d = features, k = (double)c->latent, h = (double)c->hidden;
    if (c->baseline == BASELINE_ORACLE) /* the oracle knows the latent variables and has no encoder */
        return 0;
    return c->encoder == ENCODER_MLP ? d * h + h * h + h * k : d * k;
}

/* Measured speeds in GFLOPS. SMALL: small products and other work; NETWORK: the products of a network. */
static const double SMALL = 3, NETWORK = 60;

static double gflops_of(const struct environments_config *c)
{
    return c->encoder == ENCODER_LINEAR ? SMALL : NETWORK;
}

/* Operations of one training step for one row. */
static double flops_of(const struct environments_config *c, int features)
{
    /* 200: the operations for drawing and copying a row; 10: those for the activation of a hidden unit */
    double hidden = c->encoder == ENCODER_MLP ? 10 * (double)c->hidden : 0;
    return 6 * encoder_weights(c, features) + (12 * (double)c->latent + hidden + 200) * gflops_of(c) / SMALL;
}

/* Cost of one row of test data: the evaluation generates the row and predicts its outcome. The result is the number of
 * training operations that take as long. The coefficients were fitted to the processor times of 17 runs with 10 to
 * 320,000 test samples. */
static double evaluation_flops(const struct environments_config *c, int features)
{
    double linear = 450 + 145.0 * features + 125 * (double)c->latent + 72 * (double)c->factors;
    double tanh =
        c->data == DATA_SIMULATED && c->psi == PSI_TANH ? 3900 + 75.0 * features + 36 * (double)c->factors : 0;
    double encoded = c->encoder == ENCODER_MLP ? 2 * encoder_weights(c, features) : 0;
    return (linear + tanh) * gflops_of(c) / SMALL + encoded;
}

/* Number of rows and nodes assumed for a table whose size is unknown. */
enum { TABLE_ROWS = 5000, TABLE_NODES = 200 };

/* Number of updates of all restarts. */
static double updates_of(const struct environments_config *c, const struct fit_setup *setup)
{
    double all = (double)setup->updates, together = fmin((double)c->screen_updates, all);
    return all + (double)(c->restarts - 1) * (together > 0 ? together : all);
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* The sizes of the data. rows, test, unseen: number of training rows, test rows and rows of unseen environments;
 * while_read: bytes in use while a table is read. */
struct rows {
    double features, nodes, rows, test, unseen, while_read;
};

static struct rows rows_of(const struct environments_config *c, const char *data)
{
    struct rows r = {.features = (double)c->inputs, .nodes = environments_nodes(c)};
    struct table_size size = {.rows = TABLE_ROWS, .columns = (int)c->features};
    if (c->data != DATA_TABLE) {
        double seen = fmax(1, environments_leaves(c) - (double)c->unseen);
        r.rows = seen * (double)c->samples;
        r.test = seen * (double)c->test_samples;
        r.unseen = (double)c->unseen * (double)c->test_samples;
        return r;
    }
    bool known = source_size(c->dataset_name, data, &size);
    r.features = fmin((double)c->features, size.columns);
    r.nodes = TABLE_NODES;
    r.test = size.rows * c->test_share;
    r.rows = size.rows - r.test;
    /* Reading needs the file and one array of all values. Then the rows are copied from that array into the training
     * and test sets. */
    double read = (double)size.bytes + 4.0 * size.rows * size.columns;
    r.while_read = fmax(known ? read : 0, 8 * size.rows * (r.features + (double)c->factors + 2));
    return r;
}

/* Number of edges whose changes the model learns (model/edges.h). In a binary tree, each unseen leaf lowers the number
 * by two: its own edge has no data, and the edge of its sibling is joined with the edge above their parent. */
static double edges_of(const struct environments_config *c, const struct rows *r)
{
    double leaves = c->data == DATA_TABLE ? r->nodes / 2 : environments_leaves(c), unseen = (double)c->unseen;
    bool binary = c->data != DATA_TABLE && (c->shape != SHAPE_COMPLETE || c->children == 2);
    if (environments_edge_shape(c->baseline) == EDGES_NONE)
        return 0;
    if (environments_edge_shape(c->baseline) == EDGES_STAR)
        return fmax(1, leaves - unseen);
    return fmax(1, r->nodes - 1 - (binary ? 2 : 1) * unseen - (c->merge_root ? 1 : 0));
}

/* Number of weights that a fit learns: encoder, w_0 and the changes of all edges. */
static double weights_of(const struct environments_config *c, const struct rows *r)
{
    double k = (double)c->latent, based = environments_edge_shape(c->baseline) == EDGES_STAR ? 0 : k;
    return encoder_weights(c, (int)r->features) + based + edges_of(c, r) * k;
}

/* Memory that every run needs: pages of libraries, and the first block of an arena. */
enum { BASE_BYTES = 3 << 19 };

/* Bytes of the picture of the tree, with its fonts and its table. Only models with a tree draw it. The two coefficients
 * were fitted to the resident memory of runs with trees of 7 to 255 nodes. */
static double picture_bytes(const struct environments_config *c, const struct rows *r)
{
    bool drawn = environments_edge_shape(c->baseline) == EDGES_TREE;
    return drawn ? 6.5e6 + 34e3 * fmin(r->nodes, 2 * TREE_PLOT_LEAVES) : 0;
}

/* Bytes of one fit. The fit also encodes the rows of the evaluation, in pieces and without gradients, in the memory of
 * its training steps. */
static double fit_bytes(const struct environments_config *c, const struct rows *r)
{
    double k = (double)c->latent, batch = (double)c->batch, wide = c->baseline == BASELINE_ORACLE ? k : r->features;
    double h = c->encoder == ENCODER_MLP && c->baseline != BASELINE_ORACLE ? (double)c->hidden : 0;
    double step = batch * (5 * h + 5 * k + 2), piece = fmin(TREE_PIECE_ROWS, fmax(r->rows, r->test)) * (4 * h + 2 * k);
    return 16 * weights_of(c, r) + 4 * batch * (wide + 3) + 4 * fmax(step, piece);
}

/* Bytes that the refit needs in addition to the data and one fit: first the codes of all rows, then the lower triangle
 * of the normal equations. Training sets an unknown number of changes to zero. If a model has more unknowns than
 * LEAST_UNKNOWNS, the estimate assumes that exactly LEAST_UNKNOWNS are left, because more are not refitted. */
static double refit_bytes(const struct environments_config *c, const struct rows *r)
{
    double k = (double)c->latent, codes = 4 * k * r->rows;
    double unknowns = (edges_of(c, r) + 1) * k, sums = 8 * r->nodes * k * (k + 1);
    if (!environments_refits(c))
        return codes;
    unknowns = fmin(unknowns, LEAST_UNKNOWNS);
    return sums + fmax(codes, 4 * unknowns * (unknowns + 3));
}

/* Bytes of a run: its data, and what its largest phase allocates. Four phases follow each other: comparison of
 * restarts, refit, evaluation, drawing. */
static double run_bytes(const struct environments_config *c, const struct rows *r)
{
    double k = (double)c->latent, fit = fit_bytes(c, r), codes = 4 * k * r->rows;
    double kept = 4 * (r->rows + r->test + r->unseen) * (r->features + (double)c->factors + 2);
    double all = (double)c->restarts * fit + fmax(codes, 16 * weights_of(c, r)), restarts = c->restarts > 1 ? all : 0;
    double evaluation = 4 * (k * r->test + r->unseen * (2 * k + 1));
    return kept + fmax(restarts, fit + fmax(refit_bytes(c, r), fmax(evaluation, picture_bytes(c, r))));
}

enum status environments_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err)
{
    struct environments_config own = *(const struct environments_config *)config;
    (void)err;
    own.latent += own.latent == 0; /* 0: assume 1 until resolve() knows the data set */
    if (own.baseline == BASELINE_ORACLE)
        own.latent = own.factors;
    struct rows r = rows_of(&own, data);
    int features = (int)(own.data == DATA_TABLE ? own.features : own.inputs);
    struct fit_setup setup = environments_setup(&own, features, 0);
    double seen = updates_of(&own, &setup) * setup.batch, weights = weights_of(&own, &r);
    double tested = (r.rows + r.test + r.unseen) * evaluation_flops(&own, features);
    *out = (struct method_estimate){
        .parameters = (int64_t)weights,
        .flops_per_sample = (seen * flops_of(&own, features) + tested) / seen,
        .memory_bytes = (int64_t)fmax(run_bytes(&own, &r), r.while_read) + BASE_BYTES,
        .checkpoint_bytes = (int64_t)(12 * weights * (double)own.restarts) + 8192 + 128,
        .samples = (int64_t)seen,
        .gflops = gflops_of(&own),
    };
    return STATUS_OK;
}
