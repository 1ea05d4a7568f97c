/* Measures where in the window of g the evidence of each channel lies (PART_EXTENTS).
 *
 * The part first collects motifs of each channel from training samples. It takes only maximal motifs: those without a
 * stronger motif nearby (annotation.h). For the strongest motifs of each channel, it then cuts the window around the
 * motif out of the input. In this crop, it replaces everything before or after a cut by the same place of the next
 * training sample, whose values are as typical as those of the sample itself. The fall of the score at each cut is a
 * mean over the motifs. How this fall grows as the cut moves through the window shows on which positions the score
 * depends (channel_extent_interval()). The window of a position alone decides its score, so the crop gives the same
 * score as the whole input. Labels and true boxes are not used. */
#include "core/methods/sparling/evaluation/extents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/evaluation/extents_grow.h"
#include "core/methods/sparling/queries/annotation.h"
#include "core/methods/sparling/run_state.h"

enum {
    MEASURED = 32, /* upper limit of the motifs of a channel that are measured: the stronger half of those collected */
    MEASURED_LEAST = 8,  /* minimum number of motifs of a channel that are measured, however many channels there are */
    MEASURED_ALL = 1024, /* approximate upper limit of the measured motifs of all channels together */
    CUTS_PLANE = 24 + 1, /* upper limit of the cuts (struct axis) along an axis of a picture */
    CUTS_SEQUENCE = 64 + 1 /* upper limit of the cuts along a sequence */
};
_Static_assert((int)CUTS_SEQUENCE <= (int)EXTENT_CUTS, "the sums have room for all cuts");

/* The cuts along one axis. Cut j is just before the position at distance at[j] from the motif. No cuts: the axis has
 * one position. */
struct axis {
    int cuts;
    int at[EXTENT_CUTS];
    struct extent_falls *falls;
};

/* Memory for the measurement. */
struct extent_work {
    struct axis rows, cols;
    float *planes[2]; /* [channels][rows][cols] the sample and its replacement */
    float *crops;     /* [probes][channels][crop rows][crop cols] */
    double *scores;   /* [probes] */
};

/* A crop of the input around a motif, the motif's position in it, and the position of the motif's score. */
struct crop {
    int top, left, rows, cols, row, col, score_row, score_col;
};

/* ---- memory and checkpoints ------------------------------------------------------------------------- */

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to measure the extents of channels");
}

static int half_of(const struct method_run *run)
{
    return sparling_geometry(&run->config).reach / 2;
}

/* Number of motifs of a channel that are collected. */
static int candidates(const struct method_run *run)
{
    int64_t each = MEASURED_ALL / run->config.channels_motif;
    return 2 * (each > MEASURED ? MEASURED : each < MEASURED_LEAST ? MEASURED_LEAST : (int)each);
}

/* Number of motifs of a channel that are measured. */
static int measured(const struct method_run *run, int64_t channel)
{
    return (int)(run->evaluation.extents.count[channel] + 1) / 2;
}

static struct extent_candidate *found_of(const struct method_run *run, int64_t channel)
{
    return run->evaluation.extents.found + channel * candidates(run);
}

enum status extents_open(struct method_run *run, struct error *err)
{
    struct extents *e = &run->evaluation.extents;
    size_t channels = (size_t)run->config.channels_motif;
    e->channel = calloc(channels, sizeof *e->channel);
    e->found = calloc(channels * (size_t)candidates(run), sizeof *e->found);
    e->count = calloc(channels, sizeof *e->count);
    return e->channel && e->found && e->count ? STATUS_OK : no_memory(err);
}

static void extents_drop(struct extents *extents)
{
    struct extent_work *w = extents->work;
    extents->work = NULL;
    if (!w)
        return;
    free(w->planes[0]);
    free(w->planes[1]);
    free(w->crops);
    free(w->scores);
    free(w);
}

void extents_close(struct extents *extents)
{
    extents_drop(extents);
    free(extents->channel);
    free(extents->found);
    free(extents->count);
}

void extents_clear(struct method_run *run)
{
    struct extents *e = &run->evaluation.extents;
    size_t channels = (size_t)run->config.channels_motif;
    extents_drop(e);
    memset(e->channel, 0, channels * sizeof *e->channel);
    memset(e->found, 0, channels * (size_t)candidates(run) * sizeof *e->found);
    memset(e->count, 0, channels * sizeof *e->count);
    memset(e->falls, 0, sizeof e->falls);
    e->at = e->next = e->fine_from = e->fine_to = 0;
    e->truth = (struct extent_truth){0};
}

enum status extents_declare(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct extents *e = &run->evaluation.extents;
    const int channels = (int)run->config.channels_motif;
    const int64_t found = channels * candidates(run);
    const struct snapshot_row rows[] = {
        SNAPSHOT_COLUMN("extents.found.sample", e->found, found, sample),
        SNAPSHOT_COLUMN("extents.found.row", e->found, found, row),
        SNAPSHOT_COLUMN("extents.found.col", e->found, found, col),
        SNAPSHOT_COLUMN("extents.found.value", e->found, found, value),
        SNAPSHOT_ARRAY("extents.count", e->count, (uint64_t)channels),
        SNAPSHOT_ARRAY("extents.falls", e->falls[0].low, 2, 2, EXTENT_CUTS),
        SNAPSHOT_NUMBER("extents.pairs", &e->truth.pairs),
        SNAPSHOT_NUMBER("extents.position", &e->truth.position),
        SNAPSHOT_NUMBER("extents.centre", &e->truth.centre),
        SNAPSHOT_NUMBER("extents.half", &e->truth.half),
        SNAPSHOT_NUMBER("extents.overlap", &e->truth.overlap),
        SNAPSHOT_NUMBER("extents.at", &e->at),
        SNAPSHOT_NUMBER("extents.next", &e->next),
        SNAPSHOT_NUMBER("extents.fine.from", &e->fine_from),
        SNAPSHOT_NUMBER("extents.fine.to", &e->fine_to),
    };
    enum status status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
    snapshot_optional(snapshot, "extents.fine."); /* absent from older checkpoints */
    struct channel_extent_list extents = {e->channel, channels};
    return status ? status : channel_extents_declare(&extents, snapshot, err);
}

static bool sound_candidates(const struct method_run *run, int64_t channel)
{
    const struct domain_shape *shape = &run->domain.shape;
    const struct extent_candidate *found = found_of(run, channel);
    int64_t count = run->evaluation.extents.count[channel];
    bool sound = count >= 0 && count <= candidates(run);
    for (int64_t i = 0; sound && i < count; i++)
        sound = found[i].sample >= 0 && found[i].sample < EVIDENCE_SAMPLES && found[i].row >= 0 &&
                found[i].row < shape->rows && found[i].col >= 0 && found[i].col < shape->cols;
    return sound;
}

/* Number of cuts of the second pass, with those at both ends of the window; 0 in the first pass. */
static int64_t fine_cuts(const struct extents *e)
{
    return e->fine_to > e->fine_from ? e->fine_to - e->fine_from + 3 : 0;
}

static bool is_within_window(const struct method_run *run, const struct extents *e)
{
    return run->domain.shape.rows == 1 && e->fine_from > -half_of(run) && e->fine_to < half_of(run) + 1;
}

enum status extents_loaded(struct method_run *run, struct error *err)
{
    struct extents *e = &run->evaluation.extents;
    const int64_t counts[] = {e->truth.pairs, e->truth.position, e->truth.centre, e->truth.half};
    bool sound = e->at >= 0 && e->at <= run->config.channels_motif && e->next >= 0 &&
                 snapshot_counts_sound(counts, sizeof counts / sizeof counts[0]);
    extents_drop(e);
    for (int64_t c = 0; sound && c < run->config.channels_motif; c++)
        sound = channel_extent_sound(&e->channel[c], half_of(run)) && sound_candidates(run, c);
    sound = sound && fine_cuts(e) <= EXTENT_CUTS && (fine_cuts(e) == 0 || is_within_window(run, e));
    if (sound && e->at < run->config.channels_motif)
        sound = e->next <= measured(run, e->at);
    return sound ? STATUS_OK
                 : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's extents of channels are inconsistent");
}

/* Spreads cuts over the window, at most one for each position. */
static void place_cuts(struct axis *axis, int half, int most)
{
    int side = 2 * half + 1, steps = side < most - 1 ? side : most - 1;
    axis->cuts = steps + 1;
    for (int j = 0; j <= steps; j++)
        axis->at[j] = -half + j * side / steps;
}

/* Sets the cuts of the present pass along a sequence. */
static void place_columns(const struct method_run *run, struct axis *axis)
{
    const struct extents *e = &run->evaluation.extents;
    if (fine_cuts(e) == 0) {
        place_cuts(axis, half_of(run), run->domain.shape.rows == 1 ? CUTS_SEQUENCE : CUTS_PLANE);
        return;
    }
    axis->cuts = (int)fine_cuts(e);
    axis->at[0] = -half_of(run);
    for (int j = 1; j < axis->cuts - 1; j++)
        axis->at[j] = (int)e->fine_from + j - 1;
    axis->at[axis->cuts - 1] = half_of(run) + 1;
}

/* Number of probes of a crop. They are the crop itself, the replacement, and two probes for each inner cut of each
 * axis. */
static int probes_of(const struct extent_work *w)
{
    int inner = (w->rows.cuts > 2 ? w->rows.cuts - 2 : 0) + (w->cols.cuts > 2 ? w->cols.cuts - 2 : 0);
    return 2 + 2 * inner;
}

static enum status extents_begin(struct method_run *run, struct error *err)
{
    const struct domain_shape *shape = &run->domain.shape;
    struct extents *e = &run->evaluation.extents;
    size_t inputs = domain_inputs(shape);
    int half = half_of(run), side = 2 * half + 2 * (int)run->config.stride - 1;
    bool flat = shape->rows == 1;
    struct extent_work *w = calloc(1, sizeof *w);
    e->work = w;
    if (!w)
        return no_memory(err);
    w->rows.falls = &e->falls[0];
    w->cols.falls = &e->falls[1];
    if (!flat)
        place_cuts(&w->rows, half, CUTS_PLANE);
    place_cuts(&w->cols, half, flat ? CUTS_SEQUENCE : CUTS_PLANE); /* the most probes */
    size_t crop = (size_t)shape->channels * (size_t)(side < shape->rows ? side : shape->rows) *
                  (size_t)(side < shape->cols ? side : shape->cols);
    w->planes[0] = calloc(inputs, sizeof *w->planes[0]);
    w->planes[1] = calloc(inputs, sizeof *w->planes[1]);
    w->crops = calloc((size_t)probes_of(w) * crop, sizeof *w->crops);
    w->scores = calloc((size_t)probes_of(w), sizeof *w->scores);
    place_columns(run, &w->cols);
    return w->planes[0] && w->planes[1] && w->crops && w->scores ? STATUS_OK : no_memory(err);
}

/* ---- motifs ----------------------------------------------------------------------------------------- */

int64_t extents_samples(const struct method_run *run)
{
    return evidence_samples(run);
}

/* Collects the motifs of one sample that have no stronger motif nearby. planes: its motif map,
 * [channels][rows][cols]. */
static enum status extents_collect(struct method_run *run, const float *planes, int64_t sample, struct error *err)
{
    const struct domain_shape *shape = &run->domain.shape;
    struct extents *e = &run->evaluation.extents;
    struct arena *arena = run->exec.arena;
    int channels = (int)run->config.channels_motif,
        all = motif_scan(planes, channels, shape->rows, shape->cols, NULL, 0);
    if (all > ANNOTATION_MOTIFS)
        return STATUS_OK;
    struct motif *found = arena_alloc(arena, ((size_t)all + 1) * sizeof *found);
    struct read_motif *motifs = arena_zalloc(arena, (size_t)all + 1, sizeof *motifs);
    if (!found || !motifs)
        return no_memory(err);
    motif_scan(planes, channels, shape->rows, shape->cols, found, all);
    for (int i = 0; i < all; i++)
        motifs[i].at = found[i];
    annotation_mark(motifs, all);
    for (int i = 0; i < all; i++) {
        const struct motif *at = &motifs[i].at;
        int64_t *count = &e->count[at->channel];
        if (motifs[i].maximal && *count < candidates(run))
            found_of(run, at->channel)[(*count)++] =
                (struct extent_candidate){sample, at->row, at->col, (double)at->value};
    }
    return STATUS_OK;
}

static bool enough_found(const struct method_run *run)
{
    for (int64_t c = 0; c < run->config.channels_motif; c++)
        if (run->evaluation.extents.count[c] < candidates(run))
            return false;
    return true;
}

enum status extents_add(struct method_run *run, const struct tensor *motifs, const struct batch *batch, bool *enough,
                        struct error *err)
{
    enum status status = exec_status(&run->exec, err);
    if (status)
        return status;
    size_t map = (size_t)motifs->map.channels * domain_positions(&run->domain.shape);
    float *planes = arena_alloc(run->exec.arena, (size_t)batch->request.count * map * sizeof *planes);
    if (!planes)
        return no_memory(err);
    tensor_to_planes(motifs, planes);
    for (int i = 0; !status && i < batch->request.count; i++)
        status = extents_collect(run, planes + (size_t)i * map, batch->request.first + i, err);
    *enough = enough_found(run);
    return status;
}

/* Sorts the strongest motif first; equally strong motifs stay in the order of the samples. */
static int by_value(const void *a, const void *b)
{
    const struct extent_candidate *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    if (x->sample != y->sample)
        return x->sample < y->sample ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->col > y->col) - (x->col < y->col);
}

/* ---- the measurement -------------------------------------------------------------------------------- */

static int clipped(int value, int most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* With a stride, a crop consists of whole blocks, those of the sample. Its size may decide otherwise than that of the
 * sample which pixel of a block has the block's score. */
static struct crop crop_of(const struct method_run *run, const struct extent_candidate *at)
{
    const struct domain_shape *shape = &run->domain.shape;
    int half = half_of(run), rows = shape->rows > 1 ? half : 0, block = (int)run->config.stride;
    int row = (int)at->row, col = (int)at->col;
    struct crop crop = {.top = clipped(row - rows, shape->rows) / block * block,
                        .left = clipped(col - half, shape->cols) / block * block};
    crop.rows = clipped(blocks_of(row + rows + 1, block) * block, shape->rows) - crop.top;
    crop.cols = clipped(blocks_of(col + half + 1, block) * block, shape->cols) - crop.left;
    crop.row = row - crop.top;
    crop.col = col - crop.left;
    crop.score_row = crop.row / block * block + block_pixel(crop.rows, block);
    crop.score_col = crop.col / block * block + block_pixel(crop.cols, block);
    return crop;
}

/* Writes a probe: the crop of the sample, in which the crop rows [row0, row1) and columns [col0, col1) are those of the
 * replacement. */
static void extents_fill(const struct method_run *run, const struct crop *crop, const struct box *replaced, float *out)
{
    const struct domain_shape *shape = &run->domain.shape;
    const struct extent_work *w = run->evaluation.extents.work;
    for (int c = 0; c < shape->channels; c++)
        for (int r = 0; r < crop->rows; r++)
            for (int q = 0; q < crop->cols; q++) {
                bool other = r >= replaced->row0 && r < replaced->row1 && q >= replaced->col0 && q < replaced->col1;
                size_t from = ((size_t)c * (size_t)shape->rows + (size_t)(crop->top + r)) * (size_t)shape->cols +
                              (size_t)(crop->left + q);
                *out++ = w->planes[other][from];
            }
}

/* The region that probe `probe` replaces. Probe 0 replaces nothing, and probe 1 everything. Then each inner cut has two
 * probes: the first replaces the part before the cut, the second the part from the cut on. The cuts of the rows come
 * before those of the columns. */
static struct box region_of(const struct extent_work *w, const struct crop *crop, int probe)
{
    struct box all = {.row1 = crop->rows, .col1 = crop->cols};
    if (probe < 2)
        return probe == 1 ? all : (struct box){0};
    int cut = (probe - 2) / 2 + 1, inner = w->rows.cuts > 2 ? w->rows.cuts - 2 : 0;
    bool before = probe % 2 == 0;
    if (cut <= inner) {
        int row = clipped(crop->row + w->rows.at[cut], crop->rows);
        *(before ? &all.row1 : &all.row0) = row;
    } else {
        int col = clipped(crop->col + w->cols.at[cut - inner], crop->cols);
        *(before ? &all.col1 : &all.col0) = col;
    }
    return all;
}

/* Computes the score of the motif's channel at the motif's position for all probes. Each pass of the network takes
 * several probes; together they have no more positions than one piece of a validation. */
static enum status score(struct method_run *run, const struct crop *crop, int64_t channel, struct error *err)
{
    struct extent_work *w = run->evaluation.extents.work;
    struct domain_shape shape = run->domain.shape;
    size_t positions = (size_t)crop->rows * (size_t)crop->cols, inputs = (size_t)shape.channels * positions;
    size_t room = (size_t)run->piece * domain_positions(&shape) / positions;
    int probes = probes_of(w), channels = (int)run->config.channels_motif, most = room > 0 ? (int)room : 1;
    shape.rows = crop->rows;
    shape.cols = crop->cols;
    for (int i = 0; i < probes; i++) {
        struct box region = region_of(w, crop, i);
        extents_fill(run, crop, &region, w->crops + (size_t)i * inputs);
    }
    for (int first = 0; first < probes; first += most) {
        int count = probes - first < most ? probes - first : most;
        exec_begin(&run->exec, false, 0);
        struct tensor *map = network_scores(&run->exec, run->network, w->crops + (size_t)first * inputs, count, &shape);
        enum status status = exec_status(&run->exec, err);
        if (status)
            return status;
        float *planes = arena_alloc(run->exec.arena, (size_t)count * (size_t)channels * positions * sizeof *planes);
        if (!planes)
            return no_memory(err);
        tensor_to_planes(map, planes);
        for (int i = 0; i < count; i++)
            w->scores[first + i] =
                (double)planes[((size_t)i * (size_t)channels + (size_t)channel) * positions +
                               (size_t)crop->score_row * (size_t)crop->cols + (size_t)crop->score_col];
    }
    return STATUS_OK;
}

/* Adds the falls of the score at the cuts of one axis. scores: the scores at the inner cuts of this axis. */
static const double *add_axis(const double *all, const double *scores, struct axis *axis)
{
    int last = axis->cuts - 1;
    if (axis->cuts < 3)
        return scores;
    axis->falls->low[last] += all[0] - all[1];
    axis->falls->high[0] += all[0] - all[1];
    for (int j = 1; j < last; j++, scores += 2) {
        axis->falls->low[j] += all[0] - scores[0];
        axis->falls->high[j] += all[0] - scores[1];
    }
    return scores;
}

static enum status measure_motif(struct method_run *run, const struct extent_candidate *at, struct error *err)
{
    struct extents *e = &run->evaluation.extents;
    struct crop crop = crop_of(run, at);
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < 2; i++) {
        int64_t index = (int64_t)at->sample + i;
        struct domain_request request = {.set = DOMAIN_SAMPLE, .seed = run->config.seed, .index = index, .seen = index};
        status = domain_sample(&run->domain, &request, e->work->planes[i], NULL, err);
    }
    if (!status)
        status = score(run, &crop, e->at, err);
    if (status)
        return status;
    const double *scores = e->work->scores;
    (void)add_axis(scores, add_axis(scores, scores + 2, &e->work->rows), &e->work->cols);
    return STATUS_OK;
}

static bool interval(const struct axis *axis, double *first, double *last, struct evidence_middle *middle)
{
    if (axis->cuts < 3) { /* the axis has one position */
        *first = 0;
        *last = 1;
        *middle = (struct evidence_middle){0.5, 0.5};
        return true;
    }
    return channel_extent_interval(axis->falls->low, axis->falls->high, axis->at, axis->cuts, first, last, middle);
}

/* Returns the position of the middle of the evidence, in the extent [first, last), relative to the centre of the
 * extent. Evidence at one position has its middle at .5, and even evidence at two positions has it at the border
 * between them, where noise must not decide. */
static double from_centre(const struct evidence_middle *middle, double first, double last)
{
    double at = floor((middle->before + middle->after) / 2 + 0.25);
    return fmin(fmax(at, first), last - 1) - floor((first + last) / 2);
}

/* Goes on to the next channel. */
static void end_channel(struct extents *e)
{
    e->fine_from = e->fine_to = 0;
    e->at++;
}

/* Begins the second pass, which finds the middle of the evidence to a position, if the cuts of a sequence were several
 * positions apart and most of the evidence lies between few of them. Otherwise goes on to the next channel. */
static void begin_second_pass(const struct method_run *run, struct extents *e, const struct evidence_middle *middle)
{
    const struct axis *cols = &e->work->cols;
    int side = 2 * half_of(run) + 1, apart = (side + cols->cuts - 2) / (cols->cuts - 1),
        from = (int)floor(fmin(middle->before, middle->after)) - apart,
        to = (int)ceil(fmax(middle->before, middle->after)) + apart;
    if (run->domain.shape.rows > 1 || apart == 1 || to - from > 4 * apart) {
        end_channel(e);
        return;
    }
    e->fine_from = from > cols->at[0] ? from : cols->at[0] + 1;
    e->fine_to = to < cols->at[cols->cuts - 1] ? to : cols->at[cols->cuts - 1] - 1;
}

/* Stores the extent of the channel whose motifs are measured. */
static enum status finish_first_pass(struct method_run *run, struct error *err)
{
    struct extents *e = &run->evaluation.extents;
    struct channel_extent extent = {.motifs = e->next};
    struct evidence_middle row, col;
    if (e->next == 0 || !interval(&e->work->rows, &extent.row0, &extent.row1, &row) ||
        !interval(&e->work->cols, &extent.col0, &extent.col1, &col)) {
        end_channel(e);
        return STATUS_OK;
    }
    enum status status = extents_grow(run, found_of(run, e->at), e->count[e->at], &extent, err);
    extent.down = from_centre(&row, extent.row0, extent.row1);
    extent.right = from_centre(&col, extent.col0, extent.col1);
    if (run->config.strands == STRANDS_BOTH)
        channel_extent_mirror(&extent);
    e->channel[e->at] = extent;
    begin_second_pass(run, e, &col);
    return status;
}

/* Finishes one pass over the motifs of a channel. */
static enum status finish_pass(struct method_run *run, struct error *err)
{
    enum status status = STATUS_OK;
    struct extents *e = &run->evaluation.extents;
    struct channel_extent *extent = &e->channel[e->at];
    struct evidence_middle col;
    double first, last;
    if (fine_cuts(e) == 0) {
        status = finish_first_pass(run, err);
    } else {
        if (run->config.strands != STRANDS_BOTH && interval(&e->work->cols, &first, &last, &col))
            extent->right = from_centre(&col, extent->col0, extent->col1);
        end_channel(e);
    }
    memset(e->falls, 0, sizeof e->falls);
    e->next = 0;
    place_columns(run, &e->work->cols);
    return status;
}

enum status extents_measure(struct method_run *run, bool *done, struct error *err)
{
    struct extents *e = &run->evaluation.extents;
    *done = false;
    if (!e->work) {
        enum status status = extents_begin(run, err);
        if (status)
            return status;
    }
    while (e->at < run->config.channels_motif && e->next == measured(run, e->at)) {
        enum status status = finish_pass(run, err);
        if (status)
            return status;
    }
    if (e->at == run->config.channels_motif) {
        extents_drop(e);
        *done = true;
        return STATUS_OK;
    }
    struct extent_candidate *found = found_of(run, e->at);
    if (e->next == 0)
        qsort(found, (size_t)e->count[e->at], sizeof *found, by_value);
    return measure_motif(run, &found[e->next++], err);
}
