/* The picture and the table of the latents of a finished dictionary run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/methods/dictionary/run_int.h"

enum { TABLE_BYTES = 16 << 20 };

/* Appends ",value", or only the comma for a value that is not finite. */
static void add_value(struct buf *out, double value)
{
    if (isfinite(value))
        buf_format(out, ",%.9g", value);
    else
        buf_format(out, ",");
}

static enum status write_latents(struct method_run *run, struct error *err)
{
    const struct method_env *env = &run->base.env;
    struct buf out;
    buf_init(&out, TABLE_BYTES);
    buf_format(&out, "latent,rate,feature,cosine,precision,recall,partner,agrees,worth\n");
    for (int j = 0; j < run->setup.width; j++) {
        buf_format(&out, "%d", j);
        for (int i = 0; i < LATENT_COLUMNS; i++)
            add_value(&out, run->latents[(ptrdiff_t)j * LATENT_COLUMNS + i]);
        buf_format(&out, "\n");
    }
    bool failed = out.failed;
    if (!failed)
        env->artifact(env->context, "latents.csv", "text/csv", out.data, out.size);
    buf_close(&out);
    return failed ? error_memory(err, "the table latents.csv") : STATUS_OK;
}

static enum status draw_latents(struct method_run *run, struct error *err)
{
    size_t m = (size_t)run->setup.width;
    double *memory = malloc(4 * m * sizeof *memory), tenth[RECOVERY_DECILES];
    const struct outcome *o = &run->outcome;
    if (!memory)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a picture of %zu latents", m);
    double *cosine = memory, *partner = memory + m, *rate = memory + 2 * m, *agrees = memory + 3 * m;
    for (size_t j = 0; j < m; j++) {
        const double *row = run->latents + j * LATENT_COLUMNS;
        cosine[j] = fabs(row[LATENT_COSINE]);
        partner[j] = row[LATENT_PARTNER];
        rate[j] = row[LATENT_RATE];
        agrees[j] = row[LATENT_AGREES];
    }
    for (int i = 0; i < RECOVERY_DECILES; i++)
        tenth[i] = i + 1;
    bool known = dictionary_known(&run->config), paired = run->seeds > 1;
    const struct chart_series recurs = {
        "a latent", CHART_POINTS, -1, known && paired ? partner : rate, known ? cosine : partner, NULL, NULL, m};
    const struct chart_series often = {"a latent", CHART_POINTS, -1, rate, agrees, NULL, NULL, m};
    const struct chart_series found = {"found", CHART_LINE_POINTS, -1, tenth, o->found, NULL, NULL, RECOVERY_DECILES};
    const struct chart_reference limit = {"recurs", known, RECURS, NAN, 6}, half = {"agrees", false, AGREES, NAN, 6};
    const struct chart_axis seeds = CHART_AXIS("smallest |cosine| with other seeds"),
                            often_axis = CHART_LOG_AXIS("share of samples in which it is active");
    struct chart_panel panels[] = {{!known   ? "Agreement of seeds"
                                    : paired ? "True feature and seeds"
                                             : "True feature",
                                    known && paired ? seeds : often_axis,
                                    {known ? "|cosine| with a true feature" : seeds.label, false, 0, 1, NULL},
                                    &recurs,
                                    1,
                                    &limit,
                                    paired,
                                    NULL},
                                   {"Agreement with pursuit",
                                    CHART_LOG_AXIS("share of samples in which it is active"),
                                    {"Jaccard index with OMP", false, 0, 1, NULL},
                                    &often,
                                    1,
                                    &half,
                                    1,
                                    NULL},
                                   {"True features found",
                                    CHART_AXIS("tenth of features, frequent first"),
                                    {"share with |cosine| of 0.9", false, 0, 1, NULL},
                                    &found,
                                    1,
                                    NULL,
                                    0,
                                    NULL}};
    char note[256], truth[64] = "", recur[96] = "", agree[64] = "";
    if (known)
        snprintf(truth, sizeof truth, ", MCC %.3f, F1 %.3f", o->mcc, o->f1);
    if (paired)
        snprintf(recur, sizeof recur, " %.0f of %zu latents recur in every seed.", o->recurring, m);
    if (isfinite(o->worth))
        snprintf(agree, sizeof agree, " %.0f of these agree with pursuit.", o->worth);
    snprintf(note, sizeof note, "%s, l0 %.1f: explained variance %.3f%s.%s%s", dictionary_learners[run->setup.learner],
             o->l0, o->explained, truth, recur, agree);
    struct chart chart = {.note = note, .panels = panels, .panel_count = chart_panels_with_numbers(panels, 3)};
    /* There are no panels if samples are uploaded rows, the configuration has one seed, and codes are not compared with
     * pursuit. Only the rates of the latents are known then, and latents.csv contains them. */
    enum status status =
        chart.panel_count > 0 ? publish_chart(&run->base.env, "latents-chart", &chart, err) : STATUS_OK;
    free(memory);
    return status;
}

enum status run_pictures(struct method_run *run, struct error *err)
{
    if (!run->base.env.artifact || run->base.alone)
        return STATUS_OK;
    enum status status = write_latents(run, err);
    return status ? status : draw_latents(run, err);
}
