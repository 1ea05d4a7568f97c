/* Measures the motif errors of chance: those that the model's motifs have after their positions are shuffled
 * (core/metrics/shuffled.h). The samples are the first examples of a sequence domain.
 *
 * For comparison, the same samples give the errors of the model (with and without the symbols that are trivial to find)
 * and those of the true motifs. The true motifs have errors where boxes overlap, because the earlier box takes motifs
 * of the later one.
 *
 * After only a few samples of training, maps may be far denser than the thresholds should allow. Their motifs then need
 * more memory than the job's estimate, so fewer samples are used. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/evaluation/chance.h"
#include "core/methods/sparling/run_state.h"
#include "core/metrics/shuffled.h"

/* Samples are collected until their motifs exceed the expected number by this factor. */
static const double MORE = 1.25;

struct chance_samples {
    int count, room;
    bool full;                          /* the samples kept have as many motifs as sparling_estimate() allows */
    int64_t motifs;                     /* number of motifs in all samples kept */
    struct shuffled_sequence *sequence; /* this struct owns the motifs and boxes of each sequence */
    struct shuffling *shuffling;        /* the shuffles in progress; NULL: none */
    int shuffled;                       /* number of elements of `errors` that are ready */
    struct shuffled_errors errors[2];   /* errors of all symbols, and without the trivial symbols */
};

void chance_drop(struct evaluation *e)
{
    struct chance_samples *c = e->collected;
    for (int i = 0; c && i < c->count; i++) {
        free((void *)c->sequence[i].motifs);
        free((void *)c->sequence[i].boxes);
    }
    if (c) {
        shuffling_destroy(c->shuffling);
        free(c->sequence);
    }
    free(c);
    e->collected = NULL;
}

static enum status open_samples(struct method_run *run, struct error *err)
{
    struct chance_samples *c = calloc(1, sizeof *c);
    run->evaluation.collected = c;
    if (c) {
        c->room = (int)run->config.chance_samples;
        c->sequence = calloc((size_t)c->room, sizeof *c->sequence);
    }
    return c && c->sequence ? STATUS_OK : error_memory(err, "the errors of chance");
}

static bool is_inside(const struct domain_shape *shape, const struct motif *motif)
{
    return motif->col >= shape->margin && motif->col < shape->cols - shape->margin;
}

static enum status keep_sample(struct method_run *run, const float *map, const struct domain_truth *truth,
                               struct error *err)
{
    const struct domain_shape *shape = &run->domain.shape;
    struct chance_samples *c = run->evaluation.collected;
    int channels = (int)run->config.channels_motif, all = motif_scan(map, channels, 1, shape->cols, NULL, 0), kept = 0;
    struct motif *motifs = malloc(((size_t)all + 1) * sizeof *motifs);
    struct box *boxes = malloc(((size_t)truth->boxes + 1) * sizeof *boxes);
    if (!motifs || !boxes) {
        free(motifs);
        free(boxes);
        return error_memory(err, "the errors of chance");
    }
    (void)motif_scan(map, channels, 1, shape->cols, motifs, all);
    for (int i = 0; i < all; i++)
        if (is_inside(shape, &motifs[i]))
            motifs[kept++] = motifs[i];
    /* Most motifs may lie in the margin and are not kept, so the block may be far too large. */
    struct motif *fitted = realloc(motifs, ((size_t)kept + 1) * sizeof *motifs);
    motifs = fitted ? fitted : motifs;
    c->motifs += kept;
    c->full = (double)c->motifs > MORE * sparling_chance_motifs(&run->config);
    memcpy(boxes, truth->box, (size_t)truth->boxes * sizeof *boxes);
    c->sequence[c->count++] = (struct shuffled_sequence){motifs, kept, boxes, truth->boxes};
    return STATUS_OK;
}

enum status chance_add(struct method_run *run, const struct tensor *motifs, const struct batch *batch, bool *enough,
                       struct error *err)
{
    struct exec *e = &run->exec;
    enum status status = exec_status(e, err);
    if (status)
        return status;
    if (!run->evaluation.collected)
        status = open_samples(run, err);
    if (status)
        return status;
    const struct map_shape *shape = &motifs->map;
    size_t map = (size_t)shape->channels * (size_t)shape->width;
    float *planes = arena_alloc(e->arena, (size_t)shape->images * map * sizeof *planes);
    if (!planes)
        return error_memory(err, "the errors of chance");
    tensor_to_planes(motifs, planes);
    for (int i = 0; !status && i < shape->images; i++) {
        status = extents_move(run, planes + (size_t)i * map, err);
        if (!status)
            status = keep_sample(run, planes + (size_t)i * map, &batch->truths[i], err);
    }
    *enough = run->evaluation.collected->full;
    return status;
}

static struct chance_row row_of(const struct shuffled_errors *errors)
{
    const struct bootstrap *of[3] = {&errors->fpe, &errors->fne, &errors->ce};
    struct chance_row row;
    for (int i = 0; i < 3; i++) {
        row.mean[i] = of[i]->mean;
        row.low[i] = of[i]->low;
        row.high[i] = of[i]->high;
    }
    return row;
}

/* Computes the errors of the collected motifs or, with `perfect`, of motifs at the centres of the true boxes. The
 * symbols from index `folded` on do not count (motif_errors_fold()). */
static enum status count_errors(const struct method_run *run, int folded, bool perfect, struct motif_report *report,
                                struct error *err)
{
    const struct chance_samples *c = run->evaluation.collected;
    int symbols = run->domain.shape.symbols, channels = perfect ? symbols : (int)run->config.channels_motif;
    struct motif_errors errors;
    enum status status = motif_errors_init(&errors, symbols, channels, 0, err);
    for (int i = 0; !status && i < c->count; i++) {
        const struct shuffled_sequence *s = &c->sequence[i];
        struct motif *points = malloc(((size_t)s->box_count + 1) * sizeof *points);
        if (!points)
            status = error_memory(err, "the errors of chance");
        for (int j = 0; !status && j < s->box_count; j++)
            points[j] = (struct motif){.col = s->boxes[j].col, .channel = s->boxes[j].symbol, .value = 1};
        if (!status)
            status = motif_errors_add(&errors, perfect ? points : s->motifs, perfect ? s->box_count : s->motif_count,
                                      s->boxes, s->box_count, err);
        free(points);
    }
    for (int symbol = folded; !status && symbol < symbols; symbol++)
        motif_errors_fold(&errors, symbol);
    if (!status)
        status = motif_errors_report(&errors, MOTIF_BOXES, report, err);
    motif_errors_close(&errors);
    return status;
}

/* Counts the errors that need no shuffles, and stores everything. */
static enum status finish_chance(struct method_run *run, struct error *err)
{
    const struct domain_shape *shape = &run->domain.shape;
    const struct chance_samples *c = run->evaluation.collected;
    struct motif_report own, perfect;
    enum status status = count_errors(run, shape->symbols - shape->trivial, false, &own, err);
    if (!status)
        status = count_errors(run, shape->symbols, true, &perfect, err);
    if (!status)
        run->evaluation.chance = (struct chance){.all = row_of(&c->errors[0]),
                                                 .without = row_of(&c->errors[1]),
                                                 .fpe = own.fpe,
                                                 .fne = own.fne,
                                                 .ce = own.ce_assignment,
                                                 .perfect = {perfect.fpe, perfect.fne, perfect.ce_assignment},
                                                 .samples = c->count};
    chance_drop(&run->evaluation);
    return status;
}

enum status chance_shuffle(struct method_run *run, bool *done, struct error *err)
{
    const struct domain_shape *shape = &run->domain.shape;
    struct chance_samples *c = run->evaluation.collected;
    int folded = c->shuffled == 0 ? shape->symbols : shape->symbols - shape->trivial;
    bool last = false;
    *done = c->shuffled == 2;
    if (*done)
        return finish_chance(run, err);
    if (!c->shuffling)
        return shuffling_create(c->sequence, c->count, shape->margin, shape->cols - 2 * shape->margin, shape->symbols,
                                folded, (int)run->config.channels_motif, (int)run->config.chance_shuffles,
                                &c->shuffling, err);
    enum status status = shuffling_next(c->shuffling, &last, err);
    if (status || !last)
        return status;
    status = shuffling_finish(c->shuffling, &c->errors[c->shuffled++], err);
    shuffling_destroy(c->shuffling);
    c->shuffling = NULL;
    return status;
}
