/* Queries of a checkpoint: recovers the pathway of a drawn code or of a signal with the job's dictionaries. */
#include "core/methods/pathways/query.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/pathways/recover.h"
#include "core/methods/pathways/trial.h"

struct method_model {
    struct pathways_config config;
    struct pathways_case plan;
    const struct kernels *kernels;
    struct scenario scenario;
    bool opened;
    float *weights[PATHWAYS_DEPTH]; /* [filters][inputs][1][extent], the layout of convolutions */
};

/* Declares the filters of all layers as entries of a snapshot. filters: if the pointers are NULL, only shapes are
 * declared. */
static enum status declare_filters(const struct pathways_case *plan, float *const *filters, struct snapshot *snapshot,
                                   struct error *err)
{
    enum status status = STATUS_OK;
    for (int l = 0; !status && l < plan->layers; l++) {
        const struct dictionary_shape *s = &plan->shape[l];
        const uint64_t dim[4] = {(uint64_t)s->filters, (uint64_t)s->extent_h, (uint64_t)s->extent_w,
                                 (uint64_t)s->inputs};
        char name[32];
        snprintf(name, sizeof name, "layer.%d.filters", l + 1);
        status = snapshot_add(snapshot, SNAPSHOT_WEIGHT, SNAPSHOT_F32, name, 4, dim, filters[l], err);
    }
    return status;
}

static enum status make_filters(struct method_model *m, float **filters, struct error *err)
{
    for (int l = 0; l < m->plan.layers; l++) {
        size_t bytes = (size_t)dictionary_taps(&m->plan.shape[l]) * sizeof(float);
        filters[l] = malloc(bytes);
        m->weights[l] = malloc(bytes);
        if (!filters[l] || !m->weights[l])
            return error_memory(err, "filters");
    }
    return STATUS_OK;
}

/* Reads the filters. First compares all shapes, so that a checkpoint of another model allocates nothing. */
static enum status read_filters(struct method_model *m, const struct snapshot_reader *from,
                                float *filters[PATHWAYS_DEPTH], struct error *err)
{
    struct snapshot *shapes = NULL, *snapshot = NULL;
    enum status status = snapshot_create(&shapes, err);
    if (!status)
        status = snapshot_create(&snapshot, err);
    if (!status)
        status = declare_filters(&m->plan, filters, shapes, err);
    if (!status)
        status = snapshot_fits(shapes, from, 1u << SNAPSHOT_WEIGHT, err);
    if (!status)
        status = make_filters(m, filters, err);
    if (!status)
        status = declare_filters(&m->plan, filters, snapshot, err);
    if (!status)
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_WEIGHT, err);
    snapshot_destroy(shapes);
    snapshot_destroy(snapshot);
    return status;
}

static void to_planes(const struct dictionary_shape *s, const float *from, float *to)
{
    size_t window = (size_t)s->extent_h * (size_t)s->extent_w, inputs = (size_t)s->inputs;
    for (size_t f = 0; f < (size_t)s->filters; f++)
        for (size_t t = 0; t < window; t++)
            for (size_t c = 0; c < inputs; c++)
                /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a layer has filters when the snapshot was read
                 */
                to[(f * inputs + c) * window + t] = from[(f * window + t) * inputs + c];
}

enum status pathways_open(const void *config, const struct kernels *kernels, const char *data,
                          const struct snapshot_reader *from, struct method_model **model, struct error *err)
{
    struct method_model *m = calloc(1, sizeof *m);
    struct pathways_case *plans = calloc(PATHWAYS_CASES, sizeof *plans);
    float *filters[PATHWAYS_DEPTH] = {NULL};
    enum status status = STATUS_OK;
    if (!m || !plans) {
        free(m);
        free(plans);
        return error_memory(err, "a model");
    }
    m->config = *(const struct pathways_config *)config;
    (void)pathways_cases(&m->config, plans);
    m->plan = plans[0];
    free(plans);
    m->kernels = kernels;
    if (m->plan.family != PATHWAYS_HADAMARD)
        status = read_filters(m, from, filters, err);
    if (!status)
        status = scenario_open(&m->plan, (uint64_t)m->config.seed,
                               m->plan.family == PATHWAYS_HADAMARD ? NULL : (const float *const *)filters, kernels,
                               NULL, &m->scenario, err);
    m->opened = !status;
    for (int l = 0; !status && m->plan.family != PATHWAYS_HADAMARD && l < m->plan.layers; l++)
        to_planes(&m->plan.shape[l], filters[l], m->weights[l]);
    for (int l = 0; l < PATHWAYS_DEPTH; l++)
        free(filters[l]);
    if (status)
        pathways_close(m);
    else
        *model = m;
    return status;
}

void pathways_close(struct method_model *m)
{
    if (!m)
        return;
    if (m->opened)
        scenario_close(&m->scenario);
    for (int l = 0; l < PATHWAYS_DEPTH; l++)
        free(m->weights[l]);
    free(m);
}

uint64_t pathways_model_bytes(const struct method_model *m)
{
    uint64_t bytes = sizeof *m;
    for (int l = 0; l < m->plan.layers; l++)
        bytes += dictionary_bytes(&m->scenario.dictionary[l]) +
                 (m->weights[l] ? (uint64_t)(4 * dictionary_taps(&m->plan.shape[l])) : 0);
    return bytes;
}

size_t pathways_convolutions(const struct method_model *m, struct method_convolution *out, size_t room)
{
    if (m->plan.family == PATHWAYS_HADAMARD)
        return 0;
    for (int l = 0; l < m->plan.layers && (size_t)l < room; l++) {
        const struct dictionary_shape *s = &m->plan.shape[l];
        out[l] = (struct method_convolution){"", s->filters, s->inputs, s->extent_h, s->extent_w, m->weights[l]};
        snprintf(out[l].name, sizeof out[l].name, "layer.%d", l + 1);
    }
    return (size_t)m->plan.layers;
}

/* A number of non-zeros at which recovery is likely: the first of the configured list or, if that is empty, a third of
 * the predicted middle of the curve. */
static int64_t modest_nonzeros(const struct method_model *m)
{
    int64_t list[PATHWAYS_POINTS];
    const struct dictionary_shape *s = &m->plan.shape[0];
    double mu = m->scenario.dictionary[0].coherence, stripe = 2.0 * s->extent_w - 1;
    if (pathways_nonzeros(&m->config, list) > 0)
        return list[0];
    if (m->plan.layers > 1)
        return 1;
    return (int64_t)fmax(1, floor(0.2 / (mu * mu) * fmax(1, s->width / stripe)));
}

/* Draws code `number` in the same way as the job's trials, and recovers it like a signal that a client sends. */
static enum status recover_sample(const struct method_question *question, int64_t number, const struct sink *out,
                                  struct error *err)
{
    const struct method_model *m = question->model;
    struct method_convolution layers[PATHWAYS_DEPTH];
    struct trial_space *space = NULL;
    struct trial_picture picture;
    struct recover_options options;
    const struct dictionary_shape *deep = &m->plan.shape[m->plan.layers - 1];
    struct trial_request request = {.seed = (uint64_t)m->config.seed,
                                    .nonzeros = modest_nonzeros(m),
                                    .number = number & 0xffffff,
                                    .draws = 1,
                                    .delta = m->config.delta};
    struct method_spike *code = calloc((size_t)request.nonzeros, sizeof *code);
    size_t count = 0;
    enum status status = code ? trial_space_create(&m->scenario, true, &space, err) : error_memory(err, "a code");
    if (!status)
        status = trial_draw(&m->scenario, space, &request, &picture, err);
    if (!status)
        status = config_defaults(&recover_options_table, &options, err);
    for (size_t i = 0; !status && i < dictionary_code_size(&m->scenario.dictionary[m->plan.layers - 1]); i++)
        if (picture.codes[m->plan.layers - 1][i] != 0 && count < (size_t)request.nonzeros)
            code[count++] = (struct method_spike){(int64_t)i / deep->filters / deep->width,
                                                  (int64_t)i / deep->filters % deep->width, (int64_t)i % deep->filters,
                                                  (double)picture.codes[m->plan.layers - 1][i]};
    if (!status) {
        options.signs = m->plan.signs == SIGNS_RANDOM;
        options.seed = number & 0xffffff;
        options.delta = m->config.delta;
        struct method_recovery recovery = {.options = &options,
                                           .kernels = m->kernels,
                                           .layers = layers,
                                           .rank = 1,
                                           .dim = {deep->width},
                                           .layer_count = pathways_convolutions(m, layers, PATHWAYS_DEPTH),
                                           .code = code,
                                           .code_count = count,
                                           .work = question->work};
        sink_integer(out, "sample", number);
        status = pathways_recover(&recovery, out, err);
    }
    trial_space_destroy(space);
    free(code);
    return status;
}

/* The query "pathways". */
enum status pathways_query(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct method_model *m = question->model;
    const struct method_input *input = question->input;
    if (m->plan.family == PATHWAYS_HADAMARD)
        return error_set(err, STATUS_CONFLICT, NULL, "dirac-hadamard has no convolutions to recover a pathway in");
    if (input->kind != METHOD_INPUT_SAMPLE || input->seed < 0)
        return error_set(err, STATUS_INVALID, "",
                         "must be {\"sample\":{\"seed\":N}} with N of at least 0; other signals go to "
                         "POST /v1/pathways/recover");
    return recover_sample(question, input->seed, out, err);
}
