/* Writes the evidence into the result: the names of the channels, and the figures that the verdict compares, so that
 * the thresholds of the verdict can be checked on data sets with known motifs. */
#include <math.h>

#include "core/methods/sparling/run_state.h"
#include "core/metrics/interval.h"

static void write_channels(const struct method_run *run, const struct sink *out)
{
    const struct evidence *e = &run->evaluation.evidence;
    sink_begin_list(out, "channels");
    for (int64_t c = 0; c < run->config.channels_motif; c++) {
        const struct channel_name *name = &e->channels[c];
        sink_begin_object(out, NULL);
        sink_integer(out, "channel", c);
        channel_name_write(name, &run->domain, out);
        const struct channel_places places = extents_places(run);
        channel_places_describe(&places, (int)c, out);
        sink_integer(out, "active", name->active);
        if (name->same < 0)
            sink_null(out, "same_as");
        else
            sink_integer(out, "same_as", name->same);
        sink_number(out, "overlap", name->overlap);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static void write_tokens(const struct method_run *run, const struct sink *out)
{
    const struct evidence *e = &run->evaluation.evidence;
    sink_begin_list(out, "symbols");
    for (int t = 0; t < run->domain.shape.tokens; t++) {
        const struct evidence_token *token = &e->tokens[t];
        if (token->present == 0 && token->trained == 0)
            continue;
        sink_begin_object(out, NULL);
        sink_text(out, "name", run->domain.domain->token(run->domain.state, t));
        sink_integer(out, "present", token->present);
        sink_integer(out, "read", token->read);
        sink_integer(out, "both", token->both);
        sink_number(out, "reading", evidence_phi(e, t));
        sink_integer(out, "trained", token->trained);
        if (token->channel < 0)
            sink_null(out, "channel");
        else
            sink_integer(out, "channel", token->channel);
        sink_number(out, "strength", token->strength);
        sink_number(out, "explained", token->explained);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static void write_curve(const struct evidence *e, const struct sink *out)
{
    int64_t all = e->sums.validations, first = all > EVIDENCE_CURVE ? all - EVIDENCE_CURVE : 0;
    sink_begin_list(out, "validations");
    for (int64_t i = first; i < all; i++) {
        const struct evidence_point *point = &e->curve[i % EVIDENCE_CURVE];
        sink_begin_object(out, NULL);
        sink_integer(out, "samples", (int64_t)point->samples);
        sink_number(out, "density", point->density);
        sink_number(out, "accuracy", point->accuracy);
        sink_number(out, "loss", point->loss);
        sink_end_object(out);
    }
    sink_end_list(out);
}

enum status evidence_table(struct method_run *run, struct error *err)
{
    enum { BYTES = 1 << 22 };
    const struct evidence *e = &run->evaluation.evidence;
    struct buf text;
    enum status status = STATUS_OK;
    if (e->sums.trained == 0 || run->domain.shape.positions)
        return STATUS_OK;
    buf_init(&text, BYTES);
    buf_text(&text, "channel,name,strength,samples,same as,row0,row1,col0,col1\n");
    for (int64_t c = 0; c < run->config.channels_motif; c++) {
        const struct channel_name *of = &e->channels[c];
        char name[CHANNEL_NAME_TEXT];
        const struct channel_places places = extents_places(run);
        channel_name_text(of, &run->domain, name, sizeof name);
        buf_format(&text, "%lld,", (long long)c);
        publish_quoted(&text, name);
        buf_text(&text, ",");
        if (isfinite(of->whole))
            buf_format(&text, "%.4f", of->whole);
        buf_format(&text, ",%lld,", (long long)of->active);
        if (of->same >= 0)
            buf_format(&text, "%lld", (long long)of->same);
        struct box box;
        if (channel_places_relative(&places, (int)c, &box))
            buf_format(&text, ",%d,%d,%d,%d", box.row0, box.row1, box.col0, box.col1);
        else
            buf_text(&text, ",,,,");
        buf_text(&text, "\n");
    }
    if (text.failed)
        status = error_memory(err, "channels.csv");
    else
        run->env.artifact(run->env.context, "channels.csv", "text/csv", text.data, text.size);
    buf_close(&text);
    return status;
}

/* NaN: of nothing */
static double share_of(int64_t part, int64_t all)
{
    return all > 0 ? (double)part / (double)all : (double)NAN;
}

/* Writes what the intervals of the verdict are about: samples, or further groups (core/metrics/clusters.h). */
static void write_unit(const struct method_run *run, const struct sink *out)
{
    int64_t groups = domain_groups(&run->domain);
    sink_text(out, "by", groups > 1 ? "groups" : "samples");
    if (groups > 0)
        sink_integer(out, "groups", groups);
}

void evidence_result(const struct method_run *run, const struct sink *out)
{
    const struct evidence *e = &run->evaluation.evidence;
    const struct evidence_sums *s = &e->sums;
    const struct interval exact =
        interval_share(s->read > 0 ? (double)s->exact / (double)s->read : 0,
                       clusters_of_share(run->evaluation.tested_exact, run->evaluation.tested), 1.96);
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"read", (double)s->read},
                   {"exact", share_of(s->exact, s->read)},
                   {"exact_low", s->read > 0 ? exact.low : (double)NAN},
                   {"exact_high", s->read > 0 ? exact.high : (double)NAN},
                   {"unordered", share_of(s->unordered, s->read)},
                   {"trained", (double)s->trained},
                   {"trained_exact", share_of(s->trained_exact, s->trained)},
                   {"constant_exact", s->constant_exact},
                   {"constant_e2ee", s->constant_edit},
                   {"chance_exact", s->chance_exact},
                   {"chance_e2ee", s->chance_edit},
                   {"low", s->low},
                   {"high", s->high},
                   {"trained_low", s->trained_low},
                   {"trained_high", s->trained_high}};
    if (s->trained == 0)
        return;
    if (!run->domain.shape.positions)
        write_channels(run, out);
    sink_begin_object(out, "evidence");
    write_unit(run, out);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sink_number(out, numbers[i].name, numbers[i].value);
    write_tokens(run, out);
    write_curve(e, out);
    marked_evidence_result(run, out);
    sink_end_object(out);
}
