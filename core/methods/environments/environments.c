/* The environments method as an entry of the registry.
 *
 * The files of this folder:
 *   model/edges.c                     finds the edges whose changes of weights the data determine
 *   model/fit.c                       one model in training
 *   model/least.c                     fits heads by least squares
 *   config.c                          the fields of the configuration
 *   run.c                             the table of the run, and what a checkpoint contains
 *   work.c                            opens the data and the model, and trains it
 *   evaluate.c                        measures the model
 *   result.c, plots.c                 report the results
 *   query.c                           queries of a trained model */
#include "core/methods/registry.h"

#include "core/data/dataset.h"
#include "core/data/trees/environments.h"
#include "core/methods/environments/config.h"
#include "core/methods/environments/run.h"
#include "core/methods/shared/table_source.h"
#include "core/methods/shared/model_run.h"

static const struct method_panel panels[] = {{"tree", "Tree", NULL}};

static const struct method_query queries[] = {
    {.name = "predict",
     .meaning = "The latent variables of an input, and the outcome in every environment",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .answer = environments_predict,
     .array = environments_predict_array},
    {.name = "encode",
     .meaning = "The latent variables of an input",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .answer = environments_encode,
     .array = environments_encode_array},
};

enum {
    LATENT_MOST = 32
}; /* upper limit of the number of latent variables that environments_environments_resolve() derives from a data set */

static const char *const dataset_fields[] = {"dataset_name", NULL};

static enum status environments_environments_resolve(void *config, const struct method_given *given, const char *data,
                                                     struct error *err)
{
    struct environments_config *c = config;
    const char *name = c->data == DATA_TABLE ? c->dataset_name : "";
    struct environments_rows rows;
    bool planted = false;
    enum status status = c->data == DATA_TABLE ? source_named(name, err) : STATUS_OK;
    if (!status)
        status = source_resolve(name, data, c->dataset_hash, err);
    if (!status && c->data == DATA_TABLE)
        status = environments_check_data(c, data, &planted, &rows, err);
    bool published = planted || c->scale == SCALE_PUBLISHED;
    const struct table_fit fit = {&c->features, &c->latent,
                                  LATENT_MOST,  published ? SCALE_AUTO : (enum collection_scale)c->scale,
                                  NULL,         &c->scaling};
    if (status || c->data != DATA_TABLE)
        return status;
    status = source_fit(name, data, &fit, err);
    c->scaling = published ? SCALE_AUTO : c->scaling; /* the first fact, "published" */
    return status;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct method environments_method = {
    .kind = "environments",
    .title = "Environments: tree-based regularisation",
    .summary =
        "Outcomes depend linearly on latent variables of the input, and how they depend changes from environment to "
        "environment, sparsely along a known tree. Penalising these changes finds the latent variables themselves, "
        "not a mixture of them, and predicts in environments that were never seen.",
    .paper = "E. Layne, J. Hartford, S. Lachapelle, M. Blanchette, D. Sridhar. Sparsity regularization via "
             "tree-structured "
             "environments for disentangled representations. arXiv:2405.20482.",
    .config = CONFIG_TABLE(environments_fields, struct environments_config),
    .presets = environments_presets,
    .preset_count = ENVIRONMENTS_PRESETS,
    .metrics = environments_metrics,
    .metric_count = ENVIRONMENTS_METRICS,
    .panels = panels,
    .panel_count = COUNT(panels),
    .queries = queries,
    .query_count = COUNT(queries),
    .input = &environments_input,
    .outputs = environments_outputs,
    .output_count = ENVIRONMENTS_OUTPUTS,
    .findings = environments_findings,
    .finding_count = ENVIRONMENTS_FINDINGS,
    .dataset_fields = dataset_fields,
    .resolve = environments_environments_resolve,
    .check = environments_check,
    .division = environments_division,
    .estimate = environments_estimate,
    .create = environments_create,
    .step = model_run_step,
    .progress = model_run_progress,
    .save = model_run_save,
    .load = model_run_load,
    .warm_start = model_run_warm_start,
    .begin_evaluation = model_run_begin_evaluation,
    .judge = environments_judge,
    .result = environments_result,
    .destroy = model_run_destroy,
    .open = environments_open,
    .close = environments_close,
    .warn = environments_warn,
    .infer = environments_infer,
    .model_bytes = environments_model_bytes,
};
