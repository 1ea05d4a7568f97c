/* The pathways method as an entry of the registry.
 *
 * A tour: core/coding/ has dictionary.c (products with circulant-banded dictionaries that are never formed),
 * transform.c (the same by FFT), bounds.c (stripes, patches and guarantees) and decode.c (thresholds and
 * pursuit). This folder has presets.c (cases of a sweep), trial.c (one code and its sign draws), run.c (the run),
 * curve.c (figures from curves), recover.c and query.c (queries). */
#include "core/methods/registry.h"

#include "core/methods/pathways/config.h"
#include "core/methods/pathways/query.h"
#include "core/methods/pathways/recover.h"
#include "core/methods/pathways/run.h"

static const struct method_metric metrics[] = {
    {"nonzeros", "", "non-zeros of the deepest code at a point of a curve"},
    {"stripe", "", "mean stripe sparsity of the first layer's codes at that point"},
    {"recovered", "", "share of the sign draws whose whole pathway was recovered"},
    {"coherence", "", "mutual coherence of the first layer's dictionary"},
};

static const struct method_panel panels[] = {{"layers", "Layers", "pathways"}};

static const struct method_query queries[] = {
    {.name = "pathways",
     .meaning = "The activation pathway of one of the job's own codes, with its guarantee",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_SAMPLE,
     .schema = "Recovery",
     .answer = pathways_query},
};

static const struct method_computation computations[] = {
    {.name = "recover",
     .meaning = "Recovers the activation pathway of a signal in given convolutions, with its guarantee",
     .options = &recover_options_table,
     .schema = "Recovery",
     .compute = pathways_recover},
};

static const struct method_schema schemas[] = {
    {"RecoveredLayer",
     "name text, filters integer, filter_length integer, coherence number, welch_floor number, "
     "convolutional_floor number?, nonzeros integer, stripe number, stripe_literal number?, patch number, "
     "smallest number, largest number, error_in number, error_out number, uniform_limit number?, "
     "probabilistic_limit number?, failure_bound number, instance_bound number?, uniform flag, agrees flag, "
     "support Spikes",
     NULL, false},
    {"Guarantee", NULL, "{'enum':['uniform','probabilistic','instance','none']}", false},
    {"Basis", NULL, "{'description':'the code was given, or fitted to the signal','enum':['code','fit']}", false},
    {"Recovery",
     "*job text, *checkpoint integer, guarantee Guarantee, basis Basis, recovered flag, error number, "
     "probability number, instance_probability number, layers [RecoveredLayer]",
     NULL, false},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct method pathways_method = {
    .kind = "pathways",
    .title = "Activation pathways: recovery in deep convolutional sparse coding",
    .summary = "Makes signals from sparse codes by convolutional dictionaries with random signs, and decodes them by a "
               "forward "
               "pass with thresholds. Measures how often the decoder finds the supports of all layers, depending on "
               "the stripe "
               "sparsity, and compares this with what the theory guarantees.",
    .paper = "M. Murray, J. Tanner. Analysing recovery of activation pathways in DCNNs via deep convolutional sparse "
             "coding. 2021.",
    .config = CONFIG_TABLE(pathways_fields, struct pathways_config),
    .presets = pathways_presets,
    .preset_count = PATHWAYS_PRESETS,
    .metrics = metrics,
    .metric_count = COUNT(metrics),
    .panels = panels,
    .panel_count = COUNT(panels),
    .queries = queries,
    .query_count = COUNT(queries),
    .computations = computations,
    .computation_count = COUNT(computations),
    .schemas = schemas,
    .schema_count = COUNT(schemas),
    .findings = pathways_findings,
    .finding_count = PATHWAYS_FINDINGS,
    .check = pathways_check,
    .estimate = pathways_estimate,
    .create = pathways_create,
    .step = pathways_step,
    .progress = pathways_progress,
    .save = pathways_save,
    .load = pathways_load,
    .warm_start = pathways_warm_start,
    .begin_evaluation = pathways_begin_evaluation,
    .judge = pathways_judge,
    .result = pathways_result,
    .destroy = pathways_destroy,
    .open = pathways_open,
    .close = pathways_close,
    .model_bytes = pathways_model_bytes,
    .convolutions = pathways_convolutions,
};
