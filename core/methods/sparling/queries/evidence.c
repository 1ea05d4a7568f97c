/* Answers the query "evidence": whether the marked extents of a name are what the model reads it from
 * (error_rate/sufficiency.h). Only the model judges, because a checkpoint does not contain the reference. */
#include <stdlib.h>

#include "core/methods/sparling/error_rate/sufficiency.h"
#include "core/methods/sparling/queries/query_model.h"

static enum status measure(const struct method_question *question, const struct sufficiency_request *request,
                           struct sufficiency_name *name, int64_t *samples, struct error *err)
{
    struct inquiry inquiry = {.question = question};
    struct sufficiency *sufficiency = NULL;
    enum status status = sufficiency_open(request, name, &sufficiency, samples, err);
    if (!status)
        status = inquiry_ready(question->model, &inquiry, err);
    for (int64_t i = 0; !status && i < *samples; i++) {
        status = i > 0 ? work_yield(question->work, err) : STATUS_OK;
        if (!status)
            status = sufficiency_add(sufficiency, i, &inquiry.exec, question->work, err);
    }
    sufficiency_close(sufficiency);
    inquiry_close(&inquiry);
    return status;
}

enum status sparling_evidence(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct method_model *model = question->model;
    const struct evidence_parameters *asked = question->parameters;
    const struct sufficiency_request request = {.domain = &model->domain,
                                                .network = model->network,
                                                .report = {model->names, &model->places},
                                                .samples = asked->samples,
                                                .per_name = asked->per_name,
                                                .seed = asked->seed};
    const char *why = sufficiency_refuse(&model->domain);
    int64_t samples = 0;
    if (!why && !model->names)
        why = "this checkpoint has no names of channels, because no evaluation of the job had ended";
    struct sufficiency_name *name = calloc((size_t)model->domain.shape.tokens + 1, sizeof *name);
    enum status status = name ? STATUS_OK : error_memory(err, "the evidence of names");
    if (!status && !why)
        status = measure(question, &request, name, &samples, err);
    if (!status) {
        sink_integer(out, "samples", samples);
        sink_integer(out, "seed", asked->seed);
        sink_text(out, "judge", "model");
        if (why) {
            sink_null(out, "names");
            sink_text(out, "why", why);
        } else {
            sufficiency_write(&model->domain, name, out);
        }
    }
    free(name);
    return status;
}
