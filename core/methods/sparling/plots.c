/* Charts of what an evaluation found. */
#include "core/methods/hand_over.h"
#include "core/methods/sparling/run_int.h"

/* Error against density (SPARLING, Fig. 4): a point a stage whose checkpoint was kept, densest left. */
enum status run_plot_densities(struct method_run *run, struct error *err)
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
        series[i] = (struct chart_series){.name = names[i], .mark = CHART_LINE_POINTS, .colour = -1, .x = density,
                                          .y = value[i], .count = (size_t)e->rows};
    double minimum = 100 * run_minimal_density(run);
    const struct chart_reference reference = {"one position a symbol", true, minimum, NAN, -1};
    const struct chart_panel panels[] = {
        {"motif errors", CHART_LOG_AXIS("density in percent"), {"percent", false, 0, 100}, series, 3, &reference, 1, NULL},
        {"end-to-end error", CHART_LOG_AXIS("density in percent"), CHART_AXIS("percent"), series + 3, 1, &reference, 1, NULL}};
    const struct chart chart = {.title = "Error against density", .panels = panels, .panel_count = 2};
    return hand_over_chart(&run->env, "error-by-density", &chart, err);
}
