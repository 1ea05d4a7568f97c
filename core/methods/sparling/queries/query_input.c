/* Reads the inputs of queries as planes, and warns about them (query_input.h). */
#include "core/methods/sparling/queries/query_input.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/formats/audio_wave.h"
#include "core/methods/sparling/queries/query_model.h"

static int model_rate(const struct open_domain *domain)
{
    return domain->domain->rate ? domain->domain->rate(domain->state) : 0;
}

/* Whether the input is a recording at another rate than that of the model. */
static bool resampled(const struct open_domain *domain, const struct method_input *input)
{
    int rate = model_rate(domain);
    return input->rate > 0 && input->rank == 1 && rate > 0 && input->rate != rate;
}

static enum status prepare_resampled(const struct open_domain *domain, const struct method_input *input, float *planes,
                                     struct error *err)
{
    struct audio_resampler *resampler;
    struct error cause = {0};
    enum status status = audio_resampler_create(input->rate, model_rate(domain), &resampler, &cause);
    if (status)
        return error_set(err, status == STATUS_LIMIT ? STATUS_INVALID : status, "/array", "%s", cause.message);
    struct method_input made = *input;
    made.rate = model_rate(domain);
    made.dim[0] = audio_resampler_length(resampler, (int)input->dim[0]);
    float *values = made.dim[0] <= AUDIO_WAVE_FRAMES ? malloc((size_t)(made.dim[0] + 1) * sizeof *values) : NULL;
    made.values = values;
    if (values) {
        audio_resample(resampler, input->values, (int)input->dim[0], values);
        status = domain->domain->prepare(domain->state, &made, planes, err);
    } else {
        status = made.dim[0] <= AUDIO_WAVE_FRAMES
                     ? error_memory(err, "a recording")
                     : error_set(err, STATUS_INVALID, "/array",
                                 "has %lld samples at the rate of the model; at most %d are allowed",
                                 (long long)made.dim[0], (int)AUDIO_WAVE_FRAMES);
    }
    audio_resampler_destroy(resampler);
    free(values);
    return status;
}

enum status query_input_read(const struct open_domain *domain, const struct method_input *input, float *planes,
                             struct domain_truth *truth, struct error *err)
{
    if (input->text && domain->shape.words == 0)
        return error_set(err, STATUS_INVALID, "", "is a text, but the samples of the model are no texts");
    if (input->kind == METHOD_INPUT_ARRAY && resampled(domain, input))
        return prepare_resampled(domain, input, planes, err);
    if (input->kind == METHOD_INPUT_ARRAY)
        return domain->domain->prepare(domain->state, input, planes, err);
    if (input->seed < 0 || input->seed > UINT32_MAX)
        return error_set(err, STATUS_INVALID, "/sample/seed", "must be in [0, 4294967295]; got %lld",
                         (long long)input->seed);
    struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = input->seed};
    return domain_sample(domain, &request, planes, truth, err);
}

void sparling_warn(const struct method_model *model, const struct method_input *input, const struct sink *out)
{
    const struct domain *domain = model->domain.domain;
    if (input->kind == METHOD_INPUT_ARRAY && resampled(&model->domain, input)) {
        char text[160];
        int rate = model_rate(&model->domain);
        snprintf(text, sizeof text, "the recording has %d Hz and was resampled to %d Hz, the rate of the model%s",
                 input->rate, rate, rate < input->rate ? "; sounds above half of this rate are gone" : "");
        sink_begin_object(out, NULL);
        sink_text(out, "code", "resampled");
        sink_text(out, "text", text);
        sink_end_object(out);
    }
    if (input->kind == METHOD_INPUT_ARRAY && domain->warn)
        domain->warn(model->domain.state, input, out);
}
