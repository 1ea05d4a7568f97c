/* Compares the extents of motifs with true boxes (PART_BOXES), in domains that know them.
 *
 * In each sample, motifs are paired one to one with true boxes of the symbol that their channel represents, the closest
 * pair first. A pair is possible only if the box has a position in the motif's window. Motifs and boxes without a
 * partner are false positives and misses; they are counted by motif_errors.h. */
#include <math.h>
#include <stdlib.h>

#include "core/methods/sparling/queries/annotation.h"
#include "core/methods/sparling/run_state.h"

enum { TRUTH_SAMPLES = 1000 }; /* upper limit of the samples */

int64_t extents_truth_samples(const struct method_run *run)
{
    const struct evaluation_row *own = &run->evaluation.row[run->evaluation.rows - 1];
    if (run->direct || run->domain.shape.boxes == 0)
        return 0;
    return own->motif_samples < TRUTH_SAMPLES ? own->motif_samples : TRUTH_SAMPLES;
}

static int measure_overlap(int a0, int a1, int b0, int b1)
{
    int low = a0 > b0 ? a0 : b0, high = a1 < b1 ? a1 : b1;
    return high > low ? high - low : 0;
}

static double measure_area(const struct box *box)
{
    return (double)(box->row1 - box->row0) * (double)(box->col1 - box->col0);
}

static double intersection_over_union(const struct box *a, const struct box *b)
{
    double both = (double)measure_overlap(a->row0, a->row1, b->row0, b->row1) *
                  (double)measure_overlap(a->col0, a->col1, b->col0, b->col1);
    return both / (measure_area(a) + measure_area(b) - both);
}

/* Whether a point is in a box. Position (0, 0) of a map covers the points between 0 and 1 along both axes. */
static bool holds_point(const struct box *box, double row, double col)
{
    return row >= box->row0 && row <= box->row1 && col >= box->col0 && col <= box->col1;
}

/* Squared distance of the centres; infinite if the true box has no position in the motif's window. */
static double measure_distance(const struct box *motif, const struct box *truth, int half)
{
    bool near = truth->row0 <= motif->row + half && truth->row1 > motif->row - half &&
                truth->col0 <= motif->col + half && truth->col1 > motif->col - half;
    double rows = (motif->row0 + motif->row1 - truth->row0 - truth->row1) / 2.0,
           cols = (motif->col0 + motif->col1 - truth->col0 - truth->col1) / 2.0;
    return near ? rows * rows + cols * cols : INFINITY;
}

static void add_pair(struct extent_truth *sums, const struct box *motif, const struct box *truth)
{
    double both = intersection_over_union(motif, truth);
    sums->pairs++;
    sums->position += holds_point(truth, motif->row + 0.5, motif->col + 0.5);
    sums->centre += holds_point(truth, (motif->row0 + motif->row1) / 2.0, (motif->col0 + motif->col1) / 2.0);
    sums->half += both >= 0.5;
    sums->overlap += both;
}

/* Pairs the motifs of a sample with its true boxes. A motif that has a partner gets the symbol -1. used: scratch
 * [truth->boxes]; whether each true box has a partner. */
static void pair_boxes(struct method_run *run, struct box *motifs, int count, const struct domain_truth *truth,
                       bool *used)
{
    int half = sparling_geometry(&run->config).reach / 2;
    for (;;) {
        double least = INFINITY;
        int motif = -1, box = -1;
        for (int i = 0; i < count; i++)
            for (int j = 0; j < truth->boxes; j++) {
                if (used[j] || motifs[i].symbol < 0 || motifs[i].symbol != truth->box[j].symbol)
                    continue;
                double d = measure_distance(&motifs[i], &truth->box[j], half);
                if (d < least) {
                    least = d;
                    motif = i;
                    box = j;
                }
            }
        if (motif < 0)
            return;
        add_pair(&run->evaluation.extents.truth, &motifs[motif], &truth->box[box]);
        motifs[motif].symbol = -1;
        used[box] = true;
    }
}

/* Adds one sample. planes: its motif map, [channels][rows][cols]; symbol_of: [channels]. */
static enum status add_sample(struct method_run *run, const float *planes, const struct domain_truth *truth,
                              const int *symbol_of, struct error *err)
{
    const struct domain_shape *shape = &run->domain.shape;
    const struct channel_places places = extents_places(run);
    struct arena *arena = run->exec.arena;
    int channels = (int)run->config.channels_motif, kept = 0,
        all = motif_scan(planes, channels, shape->rows, shape->cols, NULL, 0);
    if (all > ANNOTATION_MOTIFS)
        return STATUS_OK;
    struct motif *found = arena_alloc(arena, ((size_t)all + 1) * sizeof *found);
    struct read_motif *motifs = arena_zalloc(arena, (size_t)all + 1, sizeof *motifs);
    struct box *boxes = arena_zalloc(arena, (size_t)all + 1, sizeof *boxes);
    bool *used = arena_zalloc(arena, (size_t)truth->boxes + 1, sizeof *used);
    if (!found || !motifs || !boxes || !used)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to compare boxes");
    motif_scan(planes, channels, shape->rows, shape->cols, found, all);
    for (int i = 0; i < all; i++)
        motifs[i].at = found[i];
    annotation_mark(motifs, all);
    for (int i = 0; i < all; i++) {
        const struct motif *at = &motifs[i].at;
        if (motifs[i].maximal &&
            channel_places_box(&places, at->channel, at->row, at->col, shape->rows, shape->cols, &boxes[kept]))
            boxes[kept++].symbol = symbol_of[at->channel];
    }
    pair_boxes(run, boxes, kept, truth, used);
    return STATUS_OK;
}

enum status extents_truth_add(struct method_run *run, const struct tensor *motifs, const struct batch *batch,
                              struct error *err)
{
    struct arena *arena = run->exec.arena;
    enum status status = exec_status(&run->exec, err);
    if (status)
        return status;
    size_t map = (size_t)motifs->map.channels * domain_positions(&run->domain.shape);
    float *planes = arena_alloc(arena, (size_t)batch->request.count * map * sizeof *planes);
    int *symbol_of = arena_alloc(arena, (size_t)motifs->map.channels * sizeof *symbol_of);
    if (!planes || !symbol_of)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to compare boxes");
    if (batch->request.first == 0)
        run->evaluation.extents.truth = (struct extent_truth){0};
    motif_errors_majority(&run->evaluation.errors, MOTIF_BOXES, symbol_of);
    tensor_to_planes(motifs, planes);
    for (int i = 0; !status && i < batch->request.count; i++) {
        status = extents_move(run, planes + (size_t)i * map, err);
        if (!status)
            status = add_sample(run, planes + (size_t)i * map, &batch->truths[i], symbol_of, err);
    }
    return status;
}

void extents_result(const struct method_run *run, const struct sink *out)
{
    const struct extent_truth *t = &run->evaluation.extents.truth;
    if (t->pairs == 0)
        return;
    double pairs = (double)t->pairs;
    sink_begin_object(out, "boxes");
    sink_integer(out, "pairs", t->pairs);
    sink_number(out, "position_inside", (double)t->position / pairs);
    sink_number(out, "centre_inside", (double)t->centre / pairs);
    sink_number(out, "iou_half", (double)t->half / pairs);
    sink_number(out, "iou", t->overlap / pairs);
    sink_end_object(out);
}
