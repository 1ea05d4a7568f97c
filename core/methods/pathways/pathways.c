/* The pathways method as an entry of the registry.
 *
 * A tour: dictionary.c (products with circulant-banded dictionaries that are never formed), transform.c (the same by
 * FFT), norms.c (stripes and patches), bounds.c (guarantees), decode.c (thresholds and pursuit), presets.c (cases of a
 * sweep), trial.c (one code and its sign draws), run.c (the run), curve.c (figures from curves), recover.c and query.c
 * (queries). */
#include "core/methods/pathways/pathways.h"

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

static const struct method_query queries[] = {
    {"pathways", "the pathway of a code that the job could have drawn, with its guarantee", false},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct method pathways_method = {
    .kind = "pathways",
    .title = "Activation pathways: recovery in deep convolutional sparse coding",
    .summary =
        "A signal is made from a sparse code by convolutional dictionaries with random signs; a forward pass of "
        "thresholds tries to find the supports of all layers again. Measures how often it does, against the stripe "
        "sparsity, beside what the theory guarantees.",
    .paper = "M. Murray, J. Tanner. Analysing recovery of activation pathways in DCNNs via deep convolutional sparse "
             "coding. 2021.",
    .config = CONFIG_TABLE(pathways_fields, struct pathways_config),
    .presets = pathways_presets,
    .preset_count = PATHWAYS_PRESETS,
    .metrics = metrics,
    .metric_count = COUNT(metrics),
    .queries = queries,
    .query_count = COUNT(queries),
    .check = pathways_check,
    .estimate = pathways_estimate,
    .create = pathways_create,
    .step = pathways_step,
    .progress = pathways_progress,
    .save = pathways_save,
    .load = pathways_load,
    .warm_start = pathways_warm_start,
    .begin_evaluation = pathways_begin_evaluation,
    .result = pathways_result,
    .destroy = pathways_destroy,
    .open = pathways_open,
    .close = pathways_close,
    .model_bytes = pathways_model_bytes,
    .query = pathways_query,
    .convolutions = pathways_convolutions,
    .recover_options = &recover_options_table,
    .recover = pathways_recover,
};
