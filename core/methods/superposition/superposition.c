/* The superposition method as an entry of the registry.
 *
 * A tour: core/superposed/ has theory.c (predictions in the limit of many features), rug.c (artificial weights),
 * model.c and batch.c (trained weights) and statistics.c (statistics of weights). This folder has config.c (fields),
 * features.c (uploaded features), run.c (the table of the run, and what is saved), work.c (opening and training a
 * model), plots.c (pictures), query.c (queries of a model). */
#include "core/methods/registry.h"

#include "core/methods/superposition/config.h"
#include "core/methods/superposition/run.h"
#include "core/methods/shared/model_run.h"

static const struct method_chart charts[] = {
    {"Loss", {"loss", "test_loss", "analytic_loss"}, {NULL}, "number", true, false},
};

static const struct method_panel panels[] = {{"rug", "Rug", NULL}};

static const struct method_query queries[] = {
    {.name = "predict",
     .meaning = "The features that the autoencoder returns for a sample, and which of them are false",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .answer = superposition_predict,
     .array = superposition_predict_array},
};

static const char *const dataset_fields[] = {"dataset_name", NULL};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static enum status divide_rows(const void *config, const char *data, const struct sink *out, struct error *err)
{
    const struct superposition_config *c = config;
    if (!superposition_uploaded(c)) {
        sink_null(out, "division");
        return STATUS_OK;
    }
    const struct rows_request request = superposition_rows(c, data);
    return rows_division_of(&request, out, err);
}

const struct method superposition_method = {
    .kind = "superposition",
    .title = "Superposition: the Persian Rug",
    .summary =
        "Measures how many sparse features fit into few dimensions. Compares trained autoencoders, artificial weights "
        "made from a Hadamard matrix, the closed form that both approach as the number of features grows, and "
        "bounds on the loss of any model.",
    .paper = "A. Cowsik, K. Dolev, A. Infanger. The Persian Rug: solving toy models of superposition using large-scale "
             "symmetries. arXiv:2410.12101.",
    .config = CONFIG_TABLE(superposition_fields, struct superposition_config),
    .presets = superposition_presets,
    .preset_count = SUPERPOSITION_PRESETS,
    .metrics = superposition_metrics,
    .metric_count = SUPERPOSITION_METRICS,
    .charts = charts,
    .chart_count = COUNT(charts),
    .panels = panels,
    .panel_count = COUNT(panels),
    .queries = queries,
    .query_count = COUNT(queries),
    .input = &superposition_input,
    .outputs = superposition_outputs,
    .output_count = SUPERPOSITION_OUTPUTS,
    .findings = superposition_findings,
    .finding_count = SUPERPOSITION_FINDINGS,
    .dataset_fields = dataset_fields,
    .resolve = superposition_resolve,
    .check = superposition_check,
    .division = divide_rows,
    .estimate = superposition_estimate,
    .create = superposition_create,
    .step = model_run_step,
    .progress = model_run_progress,
    .save = model_run_save,
    .load = model_run_load,
    .warm_start = model_run_warm_start,
    .begin_evaluation = model_run_begin_evaluation,
    .judge = superposition_judge,
    .result = superposition_result,
    .destroy = model_run_destroy,
    .open = superposition_open,
    .close = superposition_close,
    .warn = superposition_warn,
    .infer = superposition_infer,
    .model_bytes = superposition_model_bytes,
};
