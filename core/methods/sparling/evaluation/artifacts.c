/* Publishes the artifacts of a finished run: four inputs with their motifs, the confusion matrix (confusion.c) and
 * charts (plots.c). */
#include <stdio.h>
#include <stdlib.h>

#include "core/methods/shared/publish.h"
#include "core/methods/sparling/evaluation/artifacts.h"
#include "core/methods/sparling/queries/annotation.h"
#include "core/methods/sparling/run_state.h"

enum { EXAMPLES = 4 };

/* Publishes a picture of the first examples of the domain. With DigitCircle, two of them are in Fig. 2 of the paper. */
static enum status draw_examples(struct method_run *run, struct error *err)
{
    const struct open_domain *domain = &run->domain;
    size_t inputs = domain_inputs(&domain->shape);
    int columns = domain->shape.cols > 2 * domain->shape.picture_rows ? 1 : 2;
    float *planes = calloc(EXAMPLES * inputs, sizeof *planes);
    struct domain_truth *truths = NULL;
    struct annotation annotations[EXAMPLES] = {0};
    struct picture *picture = NULL;
    const struct channel_places places = extents_places(run);
    const struct channel_report report = {run->evaluation.evidence.channels, &places};
    if (!planes)
        return error_memory(err, "examples");
    enum status status = domain_truths_create(&domain->shape, EXAMPLES, &truths, err);
    for (int i = 0; !status && i < EXAMPLES; i++) {
        float *input = planes + (size_t)i * inputs;
        struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = i};
        status = domain_sample(domain, &request, input, &truths[i], err);
        if (!status)
            status =
                annotation_make(&run->exec, run->network, domain, &report, input, &truths[i], &annotations[i], err);
    }
    if (!status)
        status = annotation_draw(annotations, EXAMPLES, columns, &picture, err);
    if (!status)
        status = publish_picture(&run->env, "motifs", picture, err);
    picture_destroy(picture);
    for (int i = 0; i < EXAMPLES; i++)
        annotation_close(&annotations[i]);
    domain_truths_destroy(truths);
    free(planes);
    return status;
}

void run_artifacts(struct method_run *run)
{
    static const struct {
        const char *name;
        enum status (*make)(struct method_run *run, struct error *err);
    } artifacts[] = {{"motifs", draw_examples},
                     {"channels", evidence_table},
                     {"confusion", run_confusion},
                     {"error-by-density", run_plot_densities},
                     {"binning", run_plot_binning}};
    if (!run->env.artifact || run->direct)
        return;
    for (size_t i = 0; i < sizeof artifacts / sizeof artifacts[0]; i++) {
        struct error cause = {0};
        enum status status = artifacts[i].make(run, &cause);
        publish_attempted(&run->findings, &run->env, artifacts[i].name, status, &cause);
    }
}
