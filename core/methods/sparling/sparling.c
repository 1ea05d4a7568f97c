/* The method table of SPARLING.
 *
 * A tour of this folder:
 *   config.c, fields.inc, presets.c   the configuration; estimate.c its costs
 *   domains/                          where samples come from (domain.h explains how to add a domain)
 *   model/network.c                   the motif model g, the sparse layer and the head h; decode.c reads labels
 *   heads/                            what depends on the kind of target: tokens, classes of positions, numbers
 *   training/plan.c                   the phases of a training, as rows; phases.c carries them out
 *   training/                         batch.c draws samples ahead, train.c does an update or a validation, annealer.c
 *                                     lowers the density, reinitialise.c restarts unused channels
 *   run.c, checkpoint.c, report.c     the creation of a run, what it saves, its time series
 *   evaluation/                       evaluate.c measures errors, artifacts.c draws the results
 *   result.c                          the fields of the result
 *   queries/                          query.c, compare.c and top_activations.c answer questions about a model */
#include "core/methods/registry.h"

#include "core/methods/sparling/config.h"
#include "core/methods/sparling/queries/query.h"
#include "core/methods/sparling/run.h"
#include "core/methods/sparling/training/plan.h"

static const struct method_chart charts[] = {
    {"Accuracy", {"accuracy", "target_accuracy"}, {"target_accuracy"}, "share", false, true},
    {"Density", {"achieved_density", "density"}, {"density"}, "power", true, true},
    {"Loss", {"loss", "validation_loss"}, {NULL}, "number", true, true},
    {"Motif errors", {"fpe", "fne", "ce"}, {NULL}, "share", false, true},
};

static const struct method_panel panels[] = {{"motifs", "Motifs", NULL}};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const dataset_fields[] = {"dataset_name", "audio_dataset", "splicing_dataset", "splicing_motifs",
                                             NULL};

static enum status sparling_resolve(void *config, const struct method_given *given, const char *data, struct error *err)
{
    const struct domain *domain = domain_of(config);
    return domain->resolve ? domain->resolve(config, given, data, err) : STATUS_OK;
}

static enum status sparling_adapt(void *config, const struct collection *data, struct error *err)
{
    return domain_of(config)->adapt(config, NULL, data, err);
}

static enum status sparling_division(const void *config, const char *data, const struct sink *out, struct error *err)
{
    const struct domain *domain = domain_of(config);
    struct domain_state *state = NULL;
    if (domain->division == NULL) {
        sink_null(out, "division");
        return STATUS_OK;
    }
    enum status status = domain->open(config, data, &state, err);
    if (status)
        return status;
    sink_begin_object(out, "division");
    status = domain->division(state, out, err);
    sink_end_object(out);
    domain->close(state);
    return status;
}

const struct method sparling_method = {
    .kind = "sparling",
    .title = "SPARLING: learning latent motifs from end-to-end labels",
    .summary =
        "A motif model marks positions in the input, and a head reads the label from these marks alone. A sparse layer "
        "between them lowers the share of marks as long as the accuracy holds, until only the motifs remain. Training "
        "needs labels, and no examples of motifs.",
    .paper = "K. Gupta, O. Bastani, A. Solar-Lezama. SPARLING: Learning Latent Representations with Extremely Sparse "
             "Activations. arXiv:2302.01976.",
    .config = CONFIG_TABLE(sparling_fields, struct sparling_config),
    .presets = sparling_presets,
    .preset_count = SPARLING_PRESETS,
    .metrics = sparling_metrics,
    .metric_count = SPARLING_METRICS,
    .charts = charts,
    .chart_count = COUNT(charts),
    .panels = panels,
    .panel_count = COUNT(panels),
    .queries = sparling_queries,
    .query_count = SPARLING_QUERIES,
    .input = &sparling_input,
    .outputs = sparling_outputs,
    .output_count = SPARLING_OUTPUTS,
    .schemas = sparling_schemas,
    .schema_count = SPARLING_SCHEMAS,
    .findings = sparling_findings,
    .finding_count = SPARLING_FINDINGS,
    .fold_field = "fold",
    .dataset_fields = dataset_fields,
    .resolve = sparling_resolve,
    .adapt = sparling_adapt,
    .check = sparling_check,
    .plan = sparling_plan,
    .division = sparling_division,
    .estimate = sparling_estimate,
    .create = sparling_create,
    .step = sparling_step,
    .progress = sparling_progress,
    .save = sparling_save,
    .load = sparling_load,
    .warm_start = sparling_warm_start,
    .begin_evaluation = sparling_begin_evaluation,
    .judge = sparling_judge,
    .result = sparling_result,
    .destroy = sparling_destroy,
    .open = sparling_open,
    .close = sparling_close,
    .infer = sparling_infer,
    .model_bytes = sparling_model_bytes,
    .warn = sparling_warn,
    .graph = sparling_graph,
    .convolutions = sparling_convolutions,
};
