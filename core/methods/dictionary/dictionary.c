/* The dictionary method as an entry of the registry.
 *
 * The files of this folder:
 *   config.c                      the fields of the configuration
 *   work.c                        opens the data and the dictionaries, and trains them
 *   data/                         uploaded rows, and hidden layers of toy models
 *   model/sae.c, model/step.c     autoencoders
 *   model/alternate.c             dictionary learning
 *   evaluation/                   figures, comparison with classical decoders, gallery of latents
 *   queries/                      queries of a trained model
 *   plots.c                       pictures and tables
 * Planted data come from core/planted, metrics from core/metrics/latents. */
#include "core/methods/registry.h"

#include "core/methods/dictionary/config.h"
#include "core/methods/dictionary/queries/model.h"
#include "core/methods/dictionary/run.h"
#include "core/methods/shared/model_run.h"

static const struct method_chart charts[] = {
    {"Loss", {"loss", "test_loss"}, {NULL}, "number", true, false},
    {"Active latents", {"active"}, {NULL}, "number", false, false},
    {"Recovery and agreement", {"mcc", "f1", "pw_mcc", "explained_variance"}, {NULL}, "number", false, false},
    {"Dead latents", {"dead"}, {NULL}, "share", false, false},
};

static const struct method_panel panels[] = {{"latents", "Latents", "latents"}};

static const char *const starts_from[] = {"superposition", NULL};
static const char *const dataset_fields[] = {"dataset_name", NULL};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static enum status divide_rows(const void *config, const char *data, const struct sink *out, struct error *err)
{
    const struct dictionary_config *c = config;
    if (c->source != SOURCE_DATASET) {
        sink_null(out, "division");
        return STATUS_OK;
    }
    const struct rows_request request = dictionary_rows(c, data);
    return rows_division_of(&request, out, err);
}

const struct method dictionary_method = {
    .kind = "dictionary",
    .title = "Dictionaries: sparse autoencoders, and whether to believe them",
    .summary =
        "Trains sparse autoencoders and classical dictionaries on samples whose true features are known, several "
        "seeds of each, and measures what they find: true features, agreement of seeds, agreement with pursuit. "
        "The verdict says how many latents are worth an interpretation.",
    .paper = "D. Chanin, A. Garriga-Alonso. SynthSAEBench: evaluating sparse autoencoders on scalable realistic "
             "synthetic data. arXiv:2602.14687.",
    .config = CONFIG_TABLE(dictionary_fields, struct dictionary_config),
    .presets = dictionary_presets,
    .preset_count = DICTIONARY_PRESETS,
    .metrics = dictionary_metrics,
    .metric_count = DICTIONARY_METRICS,
    .charts = charts,
    .chart_count = COUNT(charts),
    .panels = panels,
    .panel_count = COUNT(panels),
    .queries = dictionary_queries,
    .query_count = DICTIONARY_QUERIES,
    .input = &dictionary_input,
    .outputs = dictionary_outputs,
    .output_count = DICTIONARY_OUTPUTS,
    .schemas = dictionary_schemas,
    .schema_count = DICTIONARY_SCHEMAS,
    .findings = dictionary_findings,
    .finding_count = DICTIONARY_FINDINGS,
    .dataset_fields = dataset_fields,
    .resolve = dictionary_resolve,
    .check = dictionary_check,
    .division = divide_rows,
    .estimate = dictionary_estimate,
    .create = dictionary_create_run,
    .step = model_run_step,
    .progress = model_run_progress,
    .save = model_run_save,
    .load = model_run_load,
    .warm_start = dictionary_warm_start,
    .starts_from = starts_from,
    .begin_evaluation = model_run_begin_evaluation,
    .judge = dictionary_judge,
    .result = dictionary_result,
    .destroy = model_run_destroy,
    .adopts = "saelens",
    .adopt = dictionary_adopt,
    .open = dictionary_open_model,
    .close = dictionary_close_model,
    .warn = dictionary_warn,
    .infer = dictionary_infer,
    .model_bytes = dictionary_model_bytes,
    .convolutions = dictionary_convolutions,
};
