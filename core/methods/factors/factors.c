/* The factors method as an entry of the registry.
 *
 * The files of this folder:
 *   model/model.c                     the networks
 *   model/prior.c                     closed-form updates
 *   model/fit.c                       one model in training
 *   model/nmf.c                       non-negative matrix factorisation
 *   config.c                          the fields of the configuration
 *   run.c                             the table of the run, and what a checkpoint contains
 *   work.c                            opens the data and the model, and trains it
 *   evaluate.c                        measures the model
 *   result.c, plots.c                 report the results
 *   query.c                           queries of a trained model */
#include "core/methods/registry.h"

#include "core/methods/factors/config.h"
#include "core/methods/factors/run.h"
#include "core/methods/shared/table_source.h"
#include "core/methods/shared/model_run.h"

static const struct method_panel panels[] = {{"factors", "Factors", NULL}};

static const struct method_query queries[] = {
    {.name = "predict",
     .meaning =
         "The factors of a row of features, its reconstruction from them, and the factors that feed each feature",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .answer = factors_predict,
     .array = factors_predict_array},
    {.name = "encode",
     .meaning = "The factors of a row of features",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .answer = factors_encode,
     .array = factors_encode_array},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { LATENT_MOST = 64 }; /* upper limit of the number of factors that factors_resolve() derives from a data set */

static const char *const dataset_fields[] = {"dataset_name", NULL};

static enum status factors_resolve(void *config, const struct method_given *given, const char *data, struct error *err)
{
    struct factors_config *c = config;
    const char *name = c->data == DATA_SYNTHETIC ? "" : c->dataset_name;
    enum status status = c->data == DATA_SYNTHETIC ? STATUS_OK : source_named(name, err);
    if (!status)
        status = source_resolve(name, data, c->dataset_hash, err);
    bool counts = c->data != DATA_CELLS || c->likelihood != LIKELIHOOD_GAUSSIAN;
    const struct table_fit fit = {
        &c->features,
        &c->latent,
        LATENT_MOST,
        (enum collection_scale)c->scale,
        counts ? "ratings, abstracts and the likelihoods softmax and bernoulli need the counts themselves" : NULL,
        &c->scaling};
    if (status || c->data == DATA_SYNTHETIC)
        return status;
    status = source_fit(name, data, &fit, err);
    if (status || c->data == DATA_SHIFTED || !dataset_name_good(name)) /* check() reports an impossible name */
        return status;
    const struct table_request request = factors_division_request(c);
    return table_division_check(&request, data, err);
}

const struct method factors_method = {
    .kind = "factors",
    .title = "Factors: the Sparse VAE",
    .summary =
        "Explains many features of a table by few factors, and each feature by only some of them. A learned mask with "
        "a spike-and-slab prior selects the factors from which the decoder computes a feature. Other autoencoders and "
        "non-negative matrix factorisation are there for comparison.",
    .paper = "G. E. Moran, D. Sridhar, Y. Wang, D. M. Blei. Identifiable Deep Generative Models via Sparse Decoding. "
             "Transactions on Machine Learning Research, 2022.",
    .config = CONFIG_TABLE(factors_fields, struct factors_config),
    .presets = factors_presets,
    .preset_count = FACTORS_PRESETS,
    .metrics = factors_metrics,
    .metric_count = FACTORS_METRICS,
    .panels = panels,
    .panel_count = COUNT(panels),
    .queries = queries,
    .query_count = COUNT(queries),
    .input = &factors_input,
    .outputs = factors_outputs,
    .output_count = FACTORS_OUTPUTS,
    .findings = factors_findings,
    .finding_count = FACTORS_FINDINGS,
    .dataset_fields = dataset_fields,
    .resolve = factors_resolve,
    .check = factors_check,
    .division = factors_division,
    .estimate = factors_estimate,
    .create = factors_create,
    .step = model_run_step,
    .progress = model_run_progress,
    .save = model_run_save,
    .load = model_run_load,
    .warm_start = model_run_warm_start,
    .begin_evaluation = model_run_begin_evaluation,
    .judge = factors_judge,
    .result = factors_result,
    .destroy = model_run_destroy,
    .open = factors_open,
    .close = factors_close,
    .warn = factors_warn,
    .infer = factors_infer,
    .model_bytes = factors_model_bytes,
};
