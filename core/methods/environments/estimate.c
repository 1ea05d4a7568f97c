/* What a configuration costs: operations, memory, checkpoints. The bytes follow the allocations of work.c, fit.c,
 * least.c and evaluate.c; tests/reproduce/memory_peaks compares them with runs. */
#include <math.h>
#include <stdlib.h>

#include "core/methods/environments/config.h"
#include "core/methods/environments/model/least.h"
#include "core/methods/shared/table_source.h"

static double encoder_weights(const struct environments_config *c, int features)
{
    double d = features, k = (double)c->latent, h = (double)c->hidden;
    return c->encoder == ENCODER_MLP ? d * h + h * h + h * k : d * k;
}

/* Operations of one training step for one row. */
static double flops_of(const struct environments_config *c, int features)
{
    /* 200: the operations for drawing and copying a row */
    return 6 * encoder_weights(c, features) + 12 * (double)c->latent + 200;
}

/* Speed of the products of matrices in GFLOPS. They are small, so they are slower than those of other methods. */
static double gflops_of(const struct environments_config *c)
{
    return c->encoder == ENCODER_LINEAR ? 3 : 10;
}

/* Cost of one row of test data, which the evaluation generates and then predicts, as the number of training
 * operations that take the same time. The coefficients were fitted to the processor times of eight runs with 10 to
 * 200,000 test samples. */
static double evaluation_flops(const struct environments_config *c, int features)
{
    double linear = 450 + 145.0 * features + 125 * (double)c->latent + 72 * (double)c->factors;
    return linear * gflops_of(c) / 3;
}

/* Number of rows and nodes assumed for a table whose size is unknown. */
enum { TABLE_ROWS = 5000, TABLE_NODES = 200 };

/* Number of updates of all restarts of a case. */
static double updates_of(const struct environments_config *c, const struct fit_setup *setup)
{
    double all = (double)setup->updates, together = fmin((double)c->screen_updates, all);
    return all + (double)(c->restarts - 1) * (together > 0 ? together : all);
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* Numbers of rows of a case. rows: training part; test: test part without the held-out environments; unseen:
 * held-out environments; all: all parts. */
struct rows {
    double features, nodes, rows, test, unseen, all, while_read;
};

static struct rows rows_of(const struct environments_config *c, const char *data)
{
    struct rows r = {.features = (double)c->inputs, .nodes = environments_nodes(c)};
    struct table_size size = {TABLE_ROWS, (int)c->features, 0};
    if (c->data != DATA_TABLE) {
        double leaves = environments_leaves(c);
        double seen = fmax(1, leaves - (double)c->unseen);
        r.rows = seen * (double)c->samples;
        r.test = seen * (double)c->test_samples;
        r.unseen = (leaves - seen) * (double)c->test_samples;
        r.all = r.rows + r.test + r.unseen;
        return r;
    }
    bool known = source_size(c->dataset_name, data, &size);
    r.features = fmin((double)c->features, size.columns);
    r.nodes = TABLE_NODES;
    r.rows = r.test = r.all = size.rows;
    r.while_read = known ? (double)size.bytes + 4.0 * size.rows * size.columns : 0;
    return r;
}

/* The fits of a case. After the restarts were compared, the best one is copied into a further fit. */
static double fits_bytes(const struct environments_config *c, const struct rows *r)
{
    double k = (double)c->latent, h = c->encoder == ENCODER_MLP ? (double)c->hidden : 0, batch = (double)c->batch;
    double weights = encoder_weights(c, (int)r->features) + r->nodes * k, wide = fmax(r->features, k);
    double rows = 4 * batch * (wide + 3 + 5 * h + 6 * k), fits = (double)c->restarts;
    return fits * (16 * weights + rows) + (fits > 1 ? 16 * weights : 0);
}

/* What the refit and the evaluation need beside the data and one fit. */
static double evaluation_bytes(const struct environments_config *c, const struct rows *r)
{
    double k = (double)c->latent, unknowns = r->nodes * k;
    bool refits = c->refit && c->baseline != BASELINE_NO_PENALTY && c->baseline != BASELINE_L2_CHANGES;
    double settle = 8 * r->nodes * k * (k + 1) + 4 * k * r->rows;
    settle += refits && unknowns <= LEAST_UNKNOWNS ? 8 * unknowns * unknowns : 0;
    /* The codes of the test part stay in memory while those of the held-out environments are computed. */
    double held_out = 4 * r->unseen * (k + (c->fit_samples > 0 ? k + 1 : 0));
    return fmax(settle, 4 * r->test * k + held_out);
}

enum status environments_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err)
{
    const struct environments_config *c = config;
    struct environments_case *cases = calloc(ENVIRONMENTS_CASES, sizeof *cases);
    if (!cases)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for cases");
    int count = environments_cases(c, cases);
    double flops = 0, samples = 0, weights = 0, bytes = 0;
    for (int i = 0; i < count && i < ENVIRONMENTS_CASES; i++) {
        struct environments_config own = environments_of_case(c, &cases[i]);
        own.latent += own.latent == 0;                       /* the number is known only when the data set is read */
        struct rows r = rows_of(&own, i == 0 ? data : NULL); /* all cases have the same table */
        int features = (int)(own.data == DATA_TABLE ? own.features : own.inputs);
        struct fit_setup setup = environments_setup(&own, features, 0);
        double seen = updates_of(&own, &setup) * setup.batch;
        double kept = 4 * r.all * (r.features + (double)own.factors + 2);
        flops += seen * flops_of(&own, features) + r.all * evaluation_flops(&own, features);
        samples += seen;
        weights = fmax(weights, encoder_weights(&own, features) + r.nodes * (double)own.latent);
        bytes = fmax(bytes, kept + fmax(fits_bytes(&own, &r), evaluation_bytes(&own, &r)));
        bytes = fmax(bytes, r.while_read);
    }
    free(cases);
    if (count < 1)
        return error_set(err, STATUS_INVALID, NULL, "the configuration describes no cases");
    *out = (struct method_estimate){
        .parameters = (int64_t)weights,
        .flops_per_sample = flops / samples,
        .memory_bytes = (int64_t)bytes + METHOD_BASE_BYTES,
        .checkpoint_bytes = (int64_t)(12 * weights * (double)c->restarts) + 8192 + 128 * (int64_t)count,
        .samples = (int64_t)samples,
        .gflops = gflops_of(c),
    };
    return STATUS_OK;
}
