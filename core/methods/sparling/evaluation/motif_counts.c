/* Statistics of motifs that need no true boxes: how often each channel is used, whether the number of motifs equals the
 * number of tokens in the label, and whether footprints of motifs overlap. The Motif Identifiability Theorem requires
 * that the footprints of two motifs share no input position (NON-OVERLAPPING).
 *
 * The statistics count the maximal motifs (annotation.h) that the run's final model finds in the samples on which motif
 * errors are measured. */
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/evaluation/motif_counts.h"
#include "core/methods/sparling/queries/annotation.h"
#include "core/methods/sparling/run_state.h"

void motif_counts_clear(struct method_run *run)
{
    struct evaluation *e = &run->evaluation;
    e->motif_counts = (struct motif_counts){0};
    memset(e->channels, 0, (size_t)run->config.channels_motif * sizeof *e->channels);
}

static int tokens_of(const struct domain_shape *shape, const struct domain_truth *truth)
{
    int tokens = 0;
    for (int i = 0; i < truth->length; i++)
        tokens += !shape->positions || truth->label[i] > 0;
    return tokens;
}

/* Share of the footprint of motif `a` that the footprint of motif `b` covers. side: width of a footprint. */
static double share_covered(int side, bool line, const struct motif *a, const struct motif *b)
{
    int rows = line ? 0 : abs(a->row - b->row), cols = abs(a->col - b->col);
    if (rows >= side || cols >= side)
        return 0;
    double wide = (double)(side - cols) / side;
    return line ? wide : wide * (double)(side - rows) / side;
}

/* Adds up, over the motifs, the largest share of a motif's footprint that the footprint of one other motif covers. */
static void count_overlaps(struct method_run *run, const struct motif *motifs, int count)
{
    struct motif_counts *c = &run->evaluation.motif_counts;
    int side = sparling_geometry(&run->config).reach + 1;
    bool line = run->domain.shape.rows == 1, any = false;
    for (int i = 0; i < count; i++) {
        double most = 0;
        for (int j = 0; j < count; j++) {
            double share = j == i ? 0 : share_covered(side, line, &motifs[i], &motifs[j]);
            most = share > most ? share : most;
        }
        c->meeting += most > 0;
        c->overlap += most;
        any |= most > 0;
    }
    c->met += any;
}

static void count_channels(struct method_run *run, const struct motif *motifs, int count)
{
    struct motif_counts_channel *channels = run->evaluation.channels;
    for (int i = 0; i < count; i++) {
        bool before = i > 0 && motifs[i - 1].channel == motifs[i].channel; /* motifs are sorted by channel */
        channels[motifs[i].channel].motifs++;
        channels[motifs[i].channel].inputs += !before;
    }
}

enum status motif_counts_add(struct method_run *run, const float *planes, const struct domain_truth *truth,
                             int64_t sample, struct error *err)
{
    const struct domain_shape *shape = &run->domain.shape;
    struct motif_counts *c = &run->evaluation.motif_counts;
    struct arena *arena = run->exec.arena;
    int all = motif_scan(planes, (int)run->config.channels_motif, shape->rows, shape->cols, NULL, 0), count = 0;
    c->samples++;
    if (all > ANNOTATION_MOTIFS) {
        c->dense++;
        return STATUS_OK;
    }
    struct motif *found = arena_alloc(arena, ((size_t)all + 1) * sizeof *found);
    struct read_motif *motifs = arena_zalloc(arena, (size_t)all + 1, sizeof *motifs);
    if (!found || !motifs)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to evaluate");
    motif_scan(planes, (int)run->config.channels_motif, shape->rows, shape->cols, found, all);
    for (int i = 0; i < all; i++)
        motifs[i].at = found[i];
    annotation_mark(motifs, all);
    for (int i = 0; i < all; i++)
        if (motifs[i].maximal)
            found[count++] = motifs[i].at;
    int tokens = tokens_of(shape, truth);
    c->motifs += count;
    c->tokens += tokens;
    c->as_many += count == tokens;
    count_channels(run, found, count);
    count_overlaps(run, found, count);
    return STATUS_OK;
}

void motif_counts_result(const struct method_run *run, const struct sink *out)
{
    const struct evaluation *e = &run->evaluation;
    const struct motif_counts *c = &e->motif_counts;
    double counted = (double)(c->samples - c->dense), motifs = (double)c->motifs;
    int64_t unused = 0, least = -1;
    if (c->samples == 0)
        return;
    sink_begin_object(out, "motif_counts");
    sink_integer(out, "samples", c->samples - c->dense);
    sink_integer(out, "too_dense", c->dense);
    if (counted > 0) {
        sink_number(out, "motifs", motifs / counted);
        sink_number(out, "tokens", (double)c->tokens / counted);
        sink_number(out, "as_many", (double)c->as_many / counted);
        sink_number(out, "samples_overlapping", (double)c->met / counted);
        sink_number(out, "motifs_overlapping", motifs > 0 ? (double)c->meeting / motifs : 0);
        sink_number(out, "overlap", motifs > 0 ? c->overlap / motifs : 0);
    }
    sink_begin_list(out, "channels");
    for (int64_t i = 0; i < run->config.channels_motif; i++) {
        sink_begin_object(out, NULL);
        sink_integer(out, "channel", i);
        sink_integer(out, "motifs", e->channels[i].motifs);
        sink_integer(out, "inputs", e->channels[i].inputs);
        sink_end_object(out);
        unused += e->channels[i].motifs == 0;
        least = least < 0 || e->channels[i].motifs < least ? e->channels[i].motifs : least;
    }
    sink_end_list(out);
    sink_integer(out, "unused", unused);
    /* number of motifs of the least used channel, divided by the mean number of motifs of a channel */
    sink_number(out, "least_use", motifs > 0 ? (double)least * (double)run->config.channels_motif / motifs : 0);
    sink_end_object(out);
}
