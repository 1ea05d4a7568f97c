/* The configuration of the environments method: the table of its fields (names, ranges, defaults, meanings), and the
 * checks that concern several fields. */
#include "core/methods/environments/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/data/dataset.h"
#include "core/methods/shared/fields.h"
#include "core/methods/shared/multi_start.h"

static const char *const baseline_names[] = {"none",       "no-penalty", "independent", "pooled",
                                             "l1-weights", "l2-changes", "oracle",      NULL};
static const char *const data_names[] = {"simulated", "table", NULL};
static const char *const target_names[] = {"read", "planted", NULL};
static const char *const scale_wishes[] = {"auto", "none", "standard", "robust", "counts", "published", NULL};
static const char *const scale_facts[] = {"published", "none", "standard", "robust", "counts", NULL};
static const char *const shape_names[] = {"complete", "caterpillar", "random", NULL};
static const char *const psi_names[] = {"linear", "tanh", NULL};
static const char *const encoder_names[] = {"linear", "mlp", NULL};
enum { STREAM_START = 0x73747274 };

#define FIELD_STRUCT struct environments_config

const struct config_field environments_fields[] = {
#define FIELDS_FILE "core/methods/environments/fields.inc"
#include "core/methods/shared/field_rows.inc"
};

const struct config_table environments_config_table = CONFIG_TABLE(environments_fields, struct environments_config);

/* ---- the fit ------------------------------------------------------------------------------------------ */

/* Seed of the initial weights and batches. The first restart uses the seed of the data. */
static uint64_t start_seed(const struct environments_config *c, int restart)
{
    struct philox from = philox_stream((uint64_t)c->seed, STREAM_START, 0);
    return restart ? (uint64_t)philox_u32(&from, (uint64_t)restart) : (uint64_t)c->seed;
}

struct fit_setup environments_setup(const struct environments_config *c, int features, int restart)
{
    static const enum fit_penalty penalties[BASELINES] = {PENALTY_L1, PENALTY_NONE, PENALTY_NONE, PENALTY_NONE,
                                                          PENALTY_L1, PENALTY_L2,   PENALTY_L1};
    bool oracle = c->baseline == BASELINE_ORACLE;
    int64_t most = c->total_samples / c->batch;
    return (struct fit_setup){
        .encoder = oracle ? ENCODER_GIVEN : (enum fit_encoder)c->encoder,
        .features = features,
        .latent = (int)(oracle ? c->factors : c->latent),
        .hidden = (int)c->hidden,
        .unit_variance = c->unit_variance,
        .penalty = penalties[c->baseline],
        .weight = c->penalty,
        .sharpness = c->sharpness,
        .learning_rate = c->learning_rate,
        .batch = (int)c->batch,
        .updates = c->updates < most ? c->updates
                   : most < 1        ? 1
                                     : most,
        .seed = start_seed(c, restart),
    };
}

enum edge_shape environments_edge_shape(int baseline)
{
    if (baseline == BASELINE_POOLED)
        return EDGES_NONE;
    return baseline == BASELINE_INDEPENDENT || baseline == BASELINE_L1_WEIGHTS ? EDGES_STAR : EDGES_TREE;
}

bool environments_refits(const struct environments_config *c)
{
    return c->refit && c->baseline != BASELINE_NO_PENALTY && c->baseline != BASELINE_L2_CHANGES;
}

/* ---- the data set ------------------------------------------------------------------------------------- */

enum status environments_check_data(const struct environments_config *c, const char *data, bool *planted,
                                    struct environments_rows *rows, struct error *err)
{
    char folder[DATASET_PATH];
    struct error cause = {0};
    *rows = (struct environments_rows){0};
    enum status status = dataset_folder(data, c->dataset_name, folder, &cause);
    if (!status)
        status = environments_check_upload(folder, c->target == TARGET_PLANTED, c->test_share, c->unseen > 0, planted,
                                           rows, &cause);
    return status == STATUS_INVALID || status == STATUS_LIMIT
               ? error_set(err, STATUS_INVALID, "/config/dataset_name", "%s", cause.message)
               : STATUS_OK;
}

static void write_part(const char *name, int64_t rows, double all, double requested, const struct sink *out)
{
    sink_begin_object(out, name);
    sink_integer(out, "samples", rows);
    sink_number(out, "share", (double)rows / all);
    sink_number(out, "requested", requested);
    sink_end_object(out);
}

enum status environments_division(const void *config, const char *data, const struct sink *out, struct error *err)
{
    const struct environments_config *c = config;
    struct environments_rows rows = {0};
    char text[160], more[80] = "";
    bool planted;
    enum status status = c->data == DATA_TABLE ? environments_check_data(c, data, &planted, &rows, err) : STATUS_OK;
    if (status)
        return status;
    if (rows.environments == 0) {
        sink_null(out, "division");
        return STATUS_OK;
    }
    if (c->unseen > 0)
        (void)snprintf(more, sizeof more, "; up to %lld whole environments are tested besides", (long long)c->unseen);
    (void)snprintf(text, sizeof text, "by %s, within each of %d environments%s",
                   rows.stated ? "the parts that the file states" : "row", rows.environments, more);
    double all = (double)(rows.training + rows.test), share = rows.stated ? (double)NAN : c->test_share;
    sink_begin_object(out, "division");
    sink_text(out, "by", rows.stated ? "part" : "sample");
    sink_text(out, "text", text);
    sink_begin_object(out, "parts");
    write_part("training", rows.training, all, 1 - share, out);
    write_part("test", rows.test, all, share, out);
    sink_end_object(out);
    sink_begin_list(out, "warnings");
    sink_end_list(out);
    sink_end_object(out);
    return STATUS_OK;
}

/* ---- faults ------------------------------------------------------------------------------------------- */

double environments_nodes(const struct environments_config *c)
{
    double nodes = 1, row = 1;
    for (int64_t d = 0; d < c->depth; d++)
        nodes += row *= (double)c->children;
    return c->shape == SHAPE_COMPLETE ? nodes : 2 * (double)c->leaves - 1;
}

double environments_leaves(const struct environments_config *c)
{
    return c->shape == SHAPE_COMPLETE ? pow((double)c->children, (double)c->depth) : (double)c->leaves;
}

static void check_tree(const struct environments_config *c, const struct method_faults *faults)
{
    if (environments_nodes(c) > TREE_NODES_MOST)
        method_fault(faults, "depth", "makes a tree of %.0f nodes; at most %d are allowed", environments_nodes(c),
                     TREE_NODES_MOST);
    if ((double)c->unseen > environments_leaves(c) - 2)
        method_fault(faults, "unseen", "must leave two of the %.0f environments; got %.0f", environments_leaves(c),
                     (double)c->unseen);
    if (c->fit_samples >= c->test_samples)
        method_fault(faults, "fit_samples", "must be below test_samples (%.0f); got %.0f", (double)c->test_samples,
                     (double)c->fit_samples);
    if (environments_leaves(c) * (double)(c->samples + c->test_samples) * (double)c->inputs > 4e8)
        faults->add(faults->context, "samples", "makes a simulation of more than 400 million numbers");
    if (c->changes > c->factors)
        method_fault(faults, "changes", "must be at most factors (%.0f); got %.0f", (double)c->factors,
                     (double)c->changes);
}

void environments_check(const void *config, const struct method_faults *faults)
{
    const struct environments_config *c = config;
    bool table = c->data == DATA_TABLE;
    if (table && c->dataset_name[0] != '\0' && !dataset_name_good(c->dataset_name)) /* resolve() refuses "" */
        faults->add(faults->context, "dataset_name",
                    "must be the name of a data set: small letters, digits, '.', '-' and '_'");
    if (c->latent == 0 && !table)
        faults->add(faults->context, "latent", "must be at least 1 for a simulation");
    if (!table)
        check_tree(c, faults);
}
