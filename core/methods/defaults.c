/* Supplies the default for each member that a method's table leaves NULL (method.h says which members are the minimum).
 *
 * Callers use these functions instead of the members. Each default is therefore written once, and a small method needs
 * few functions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/findings.h"
#include "core/methods/method.h"

#define MODEL_BYTES_DEFAULT ((uint64_t)1 << 20)

enum status method_resolve(const struct method *method, void *config, const struct method_given *given,
                           const char *data, struct error *err)
{
    return method->resolve != NULL ? method->resolve(config, given, data, err) : STATUS_OK;
}

void method_check(const struct method *method, const void *config, const struct method_faults *faults)
{
    if (method->check != NULL)
        method->check(config, faults);
}

enum status method_estimate(const struct method *method, const void *config, const char *data,
                            struct method_estimate *out, struct error *err)
{
    *out = (struct method_estimate){.parameters = 0};
    return method->estimate != NULL ? method->estimate(config, data, out, err) : STATUS_OK;
}

static void write_phase(const struct method_phase *phase, const struct sink *out)
{
    sink_begin_object(out, NULL);
    sink_text(out, "name", phase->name);
    sink_text(out, "trains", phase->trains);
    sink_begin_list(out, "objectives");
    for (int i = 0; i < METHOD_OBJECTIVES && phase->objectives[i] != NULL; i++)
        sink_text(out, NULL, phase->objectives[i]);
    sink_end_list(out);
    sink_number(out, "samples", phase->samples);
    if (phase->curve == NULL) {
        sink_null(out, "learning_rate");
    } else {
        sink_begin_object(out, "learning_rate");
        sink_number(out, "from", phase->rate_from);
        sink_number(out, "to", phase->rate_to);
        sink_text(out, "curve", phase->curve);
        sink_end_object(out);
    }
    sink_text(out, "until", phase->until[0] != '\0' ? phase->until : NULL);
    sink_text(out, "then", phase->then[0] != '\0' ? phase->then : NULL);
    sink_end_object(out);
}

void method_plan(const struct method *method, const void *config, const struct sink *out)
{
    struct method_phase phases[METHOD_PHASES];
    size_t count = method->plan != NULL ? method->plan(config, phases) : 0;
    sink_begin_list(out, "plan");
    for (size_t i = 0; i < count; i++)
        write_phase(&phases[i], out);
    sink_end_list(out);
}

void method_progress(const struct method *method, const struct method_run *run, struct method_progress *out)
{
    *out = (struct method_progress){.fraction = NAN,
                                    .density = NAN,
                                    .target_accuracy = NAN,
                                    .accuracy = NAN,
                                    .eta_samples = NAN,
                                    .stage = "running"};
    if (method->progress != NULL)
        method->progress(run, out);
}

enum status method_warm_start(const struct method *method, struct method_run *run, const struct snapshot_reader *from,
                              struct error *err)
{
    if (method->warm_start == NULL)
        return error_set(err, STATUS_CONFLICT, NULL, "jobs of kind %s cannot start from another job's model",
                         method->kind);
    return method->warm_start(run, from, err);
}

bool method_has_metric(const struct method *method, const char *name)
{
    for (size_t i = 0; i < method->metric_count; i++)
        if (strcmp(method->metrics[i].name, name) == 0)
            return true;
    return false;
}

bool method_starts_from(const struct method *method, const char *kind)
{
    for (const char *const *other = method->starts_from; other && *other; other++)
        if (strcmp(*other, kind) == 0)
            return true;
    return strcmp(method->kind, kind) == 0;
}

enum status method_begin_evaluation(const struct method *method, struct method_run *run,
                                    const struct method_evaluation *what, struct error *err)
{
    if (method->begin_evaluation == NULL)
        return error_set(err, STATUS_CONFLICT, NULL, "jobs of kind %s cannot be evaluated", method->kind);
    return method->begin_evaluation(run, what, err);
}

enum status method_division(const struct method *method, const void *config, const char *data, const struct sink *out,
                            struct error *err)
{
    if (method->division == NULL || data == NULL) {
        sink_null(out, "division");
        return STATUS_OK;
    }
    return method->division(config, data, out, err);
}

/* Writes the members "verdict" and "findings". */
static enum status write_verdict(const struct method *method, struct method_run *run, const struct sink *out,
                                 struct error *err)
{
    if (method->judge == NULL)
        return STATUS_OK;
    struct findings *findings = calloc(1, sizeof *findings);
    if (findings == NULL)
        return error_memory(err, "the verdict");
    enum status status = method->judge(run, findings, err);
    if (!status)
        findings_write(findings, out);
    free(findings);
    return status;
}

enum status method_result(const struct method *method, struct method_run *run, const struct sink *out,
                          struct error *err)
{
    enum status status = write_verdict(method, run, out, err);
    return !status && method->result != NULL ? method->result(run, out, err) : status;
}

uint64_t method_model_bytes(const struct method *method, const struct method_model *model)
{
    return method->model_bytes != NULL ? method->model_bytes(model) : MODEL_BYTES_DEFAULT;
}

const struct method_query *method_comparison(const struct method *method)
{
    for (size_t i = 0; i < method->query_count; i++)
        if (method->queries[i].takes == METHOD_TAKES_MODEL)
            return &method->queries[i];
    return NULL;
}
