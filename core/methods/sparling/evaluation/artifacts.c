/* Publishes the artifacts of a finished run: four inputs with their motifs, the confusion matrix (confusion.c) and
 * charts. */
#include "core/methods/sparling/evaluation/artifacts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/methods/shared/publish.h"
#include "core/methods/sparling/evaluation/evaluation.h"
#include "core/methods/sparling/queries/annotation.h"
#include "core/methods/sparling/run_state.h"

/* The axis of densities, from high to low as in training. It includes `minimum`, the lowest useful density, if this is
 * more than half of the last density. */
static struct chart_axis density_axis(const struct evaluation *e, double minimum)
{
    const double most = e->row[0].density, last = e->row[e->rows - 1].density, margin = 1.1;
    const double least = minimum > 0.5 * last ? fmin(last, minimum) : last;
    return (struct chart_axis){"density in percent", true, 100 * most * margin, 100 * least / margin, NULL};
}

/* Whether motif errors were measured; without true places there are none. */
static bool knows_places(const struct evaluation *e)
{
    const struct evaluation_row *last = &e->row[e->rows - 1];
    return !isnan(last->fpe) || !isnan(last->fne) || !isnan(last->ce) || !isnan(last->ce_majority);
}

static enum status draw_confusion(struct method_run *run, struct error *err)
{
    return knows_places(&run->evaluation) ? run_confusion(run, err) : STATUS_OK;
}

/* Draws the error against the density (Fig. 4 of the paper): a point for each stage whose checkpoint exists, with the
 * highest density at the left. */
static enum status run_plot_densities(struct method_run *run, struct error *err)
{
    const struct evaluation *e = &run->evaluation;
    double density[EVALUATION_MAX], value[4][EVALUATION_MAX];
    if (e->rows < 2)
        return STATUS_OK;
    for (int64_t i = 0; i < e->rows; i++) {
        const struct evaluation_row *row = &e->row[i];
        density[i] = 100 * row->density;
        value[0][i] = 100 * row->fpe;
        value[1][i] = 100 * row->fne;
        value[2][i] = 100 * (run->domain.domain->majority ? row->ce_majority : row->ce);
        value[3][i] = 100 * row->e2ee;
    }
    const char *const names[] = {"FPE", "FNE", "CE", "E2EE"};
    struct chart_series series[4];
    for (int i = 0; i < 4; i++)
        series[i] = (struct chart_series){.name = names[i],
                                          .mark = CHART_LINE_POINTS,
                                          .colour = -1,
                                          .x = density,
                                          .y = value[i],
                                          .count = (size_t)e->rows};
    double minimum;
    enum status status = run_minimal_density(run, &minimum, err);
    if (status)
        return status;
    minimum *= 100;
    const struct chart_reference reference = {"one position for each symbol", true, minimum, NAN, -1};
    const struct chart_axis falling = density_axis(e, minimum / 100), percent = {"percent", false, 0, NAN, NULL};
    const struct chart_panel panels[] = {
        {"motif errors", falling, {"percent", false, 0, 100, NULL}, series, 3, &reference, 1, NULL},
        {"end-to-end error", falling, percent, series + 3, 1, &reference, 1, NULL}};
    bool places = knows_places(e);
    const struct chart chart = {
        .title = "Error against density", .panels = places ? panels : panels + 1, .panel_count = places ? 2 : 1};
    return publish_chart(&run->env, "error-by-density", &chart, err);
}

/* Draws by how much the edit error rises when activations are replaced by the means of 16, 8, 4 or 2 bins (Appendix H,
 * Fig. 8). */
static enum status run_plot_binning(struct method_run *run, struct error *err)
{
    static const char *const names[BINNINGS] = {"16 bins", "8 bins", "4 bins", "2 bins"};
    const struct evaluation *e = &run->evaluation;
    double density[EVALUATION_MAX], rise[BINNINGS][EVALUATION_MAX];
    struct chart_series series[BINNINGS];
    if (isnan(e->row[e->rows - 1].binning[0]))
        return STATUS_OK;
    for (int i = 0; i < BINNINGS; i++) {
        for (int64_t j = 0; j < e->rows; j++) {
            density[j] = 100 * e->row[j].density;
            rise[i][j] = 100 * e->row[j].binning[i];
        }
        series[i] = (struct chart_series){.name = names[i],
                                          .mark = CHART_LINE_POINTS,
                                          .colour = -1,
                                          .x = density,
                                          .y = rise[i],
                                          .count = (size_t)e->rows};
    }
    const struct chart_reference bound = {"0.1 %", false, 0.1, NAN, -1};
    const struct chart_panel panel = {
        NULL, density_axis(e, NAN), CHART_AXIS("rise of the edit error, percent"), series, BINNINGS, &bound, 1, NULL};
    const struct chart chart = {.title = "Activations in bins", .panels = &panel, .panel_count = 1};
    return publish_chart(&run->env, "binning", &chart, err);
}

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
                     {"confusion", draw_confusion},
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
