/* Calibrates g after training: running statistics of the batch norms, then the thresholds of named channels.
 *
 * In training, running statistics and thresholds follow small batches, so at the end they depend mostly on the last
 * few batches. Motifs are rare, so these values are noisy, and even a small error of a threshold causes many false
 * or missed motifs. First, the calibration sets the running statistics to the means over many training batches. Then
 * it sets the threshold of channel k with the validation samples. A false sample is one in which the channel is
 * active although the label does not contain name k; a missed sample is one in which it is not active although the
 * label contains name k. The threshold becomes as low as possible, as long as there are no more false than missed
 * samples. If labels state how often a name occurs, the calibration counts the largest peaks of a channel in a
 * sample instead of samples: peak j is right if the label contains the name at least j times. Trained weights do not
 * change. Each step of a calibration reads one batch. Checkpoints do not contain the scores of the second part, so
 * after a resume the second part begins again. */
#include <math.h>
#include <stdlib.h>

#include "core/methods/sparling/run_int.h"

enum {
    NORM_BATCHES = 128, /* batches whose statistics are averaged */
    SAMPLES = 2000, /* number of validation samples for the thresholds; if there are fewer, some count several times */
    PEAKS = 4       /* peaks of a sample that count if labels say how often a name occurs */
};

void calibration_drop(struct method_run *run)
{
    free(run->calibration.score);
    run->calibration.score = NULL;
}

bool calibration_loaded(struct method_run *run)
{
    struct calibration *c = &run->calibration;
    calibration_drop(run);
    if (c->position < 0 || c->position >= NORM_BATCHES + SAMPLES)
        return false;
    if (c->position > NORM_BATCHES)
        c->position = NORM_BATCHES;
    return true;
}

/* Channels whose thresholds are calibrated. */
static int names_of(const struct method_run *run)
{
    const struct sparling_config *c = &run->config;
    return c->sparsity == SPARSITY_PER_CHANNEL && !sparling_collects(c) ? run->presence.names : 0;
}

/* Returns how many peaks of a sample count for a name. */
static int peaks_of(const struct method_run *run)
{
    return run->config.tally_weight > 0 && run->presence.exact ? PEAKS : 1;
}

/* ---- running statistics -------------------------------------------------------------------------------------- */

/* Computes one training batch; the statistics become the mean over the batches so far. */
static enum status follow_norms(struct method_run *run, struct error *err)
{
    struct calibration *c = &run->calibration;
    network_average_norms(run->network, 1 / (double)(c->position + 1));
    enum status status = run_observe(run, run->samples + c->position * run->config.batch, err);
    network_average_norms(run->network, 0);
    c->position++;
    return status;
}

/* ---- thresholds ---------------------------------------------------------------------------------------------- */

static enum status open_scores(struct method_run *run, struct error *err)
{
    struct calibration *c = &run->calibration;
    size_t names = (size_t)names_of(run);
    c->score = calloc(names * (size_t)(SAMPLES * peaks_of(run)) + 1, sizeof *c->score);
    return c->score ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to calibrate a model");
}

/* Returns whether a position is so close to an earlier peak that both belong to one motif: closer than a quarter of
 * the window of g. */
static bool is_near(const struct method_run *run, const int (*peak)[2], int peaks, int row, int col)
{
    int least = run->network->map.reach / 4;
    for (int i = 0; i < peaks; i++)
        if (abs(row - peak[i][0]) <= least && abs(col - peak[i][1]) <= least)
            return true;
    return false;
}

/* Finds the largest values of a channel that are not near each other. -INFINITY: there are no more. */
static void find_peaks(const struct method_run *run, const struct tensor *map, int image, int channel, float *value)
{
    const struct map_shape *s = &map->map;
    int place[PEAKS][2] = {{0}};
    for (int i = 0; i < peaks_of(run); i++) {
        value[i] = -INFINITY;
        for (int row = 0; row < s->height; row++) {
            const real *at = map->data + map_offset(s, image, channel / MAP_LANES, row, 0) + channel % MAP_LANES;
            for (int col = 0; col < s->width; col++) {
                float here = (float)at[(ptrdiff_t)col * MAP_LANES];
                if (here > value[i] && !is_near(run, (const int(*)[2])place, i, row, col)) {
                    value[i] = here;
                    place[i][0] = row;
                    place[i][1] = col;
                }
            }
        }
    }
}

static enum status add_scores(struct method_run *run, struct error *err)
{
    struct calibration *c = &run->calibration;
    int64_t first = c->position - NORM_BATCHES, left = SAMPLES - first;
    struct batch_request request = {
        .seed = VALIDATION_SEED, .first = first, .seen = first, .count = (int)(left < run->piece ? left : run->piece)};
    const struct batch *batch;
    enum status status = batch_source_take(run->source, &request, NULL, &batch, err);
    if (status)
        return status;
    exec_begin(&run->exec, false, 0);
    struct tensor *scores = network_scores(&run->exec, run->network, batch->images, request.count, &run->domain.shape);
    status = exec_status(&run->exec, err);
    for (int i = 0; !status && i < request.count; i++)
        for (int k = 0; k < names_of(run); k++) {
            int peaks = peaks_of(run), count = tally_of(run, &batch->truths[i], k);
            float value[PEAKS];
            struct calibration_score *to = c->score + ((ptrdiff_t)k * SAMPLES + first + i) * peaks;
            find_peaks(run, scores, i, k, value);
            for (int j = 0; j < peaks; j++)
                to[j] = (struct calibration_score){value[j], count == TALLY_SOME || count > j};
        }
    c->position += request.count;
    return status;
}

/* Sorts by falling score. Of equal scores, samples without the name come first, so that they count against the
 * threshold. */
static int falling(const void *a, const void *b)
{
    const struct calibration_score *x = a, *y = b;
    if (x->peak != y->peak)
        return x->peak < y->peak ? 1 : -1;
    return x->has - y->has;
}

/* Returns how many peaks will be active. It takes the largest peaks first, as long as there are no more false than
 * missed peaks. with: number of peaks with the name. */
static int active_samples(const struct calibration_score *score, int peaks, int with)
{
    int count = 0, wrong = 0, right = 0;
    for (int i = 0; i < peaks; i++) {
        right += score[i].has;
        wrong += !score[i].has;
        if (wrong > with - right)
            break;
        count = i + 1;
    }
    return count;
}

/* Sets the threshold of each channel. A threshold stays as it is if no peak or every peak has the name, because such
 * peaks do not determine it. If labels are counts, one channel marks all motifs, and the others become silent. */
static void set_thresholds(struct method_run *run)
{
    struct calibration *c = &run->calibration;
    real *thresholds = sparse_edit_thresholds(run->network->sparse);
    int peaks = SAMPLES * peaks_of(run);
    for (int k = 0; k < names_of(run); k++) {
        struct calibration_score *score = c->score + (ptrdiff_t)k * peaks;
        int with = 0;
        for (int i = 0; i < peaks; i++)
            with += score[i].has;
        if (with == peaks || (with == 0 && run->presence.counted < 0))
            continue;
        qsort(score, (size_t)peaks, sizeof *score, falling);
        if (with == 0)
            thresholds[k] += (real)score[0].peak;
        int active = active_samples(score, peaks, with);
        if (active > 0 && active < peaks && score[active].peak > -INFINITY)
            thresholds[k] += (real)((score[active - 1].peak + score[active].peak) / 2);
    }
}

enum status calibration_piece(struct method_run *run, bool *done, struct error *err)
{
    struct calibration *c = &run->calibration;
    enum status status = STATUS_OK;
    *done = false;
    if (c->position < NORM_BATCHES)
        return follow_norms(run, err);
    if (names_of(run) > 0 && c->position < NORM_BATCHES + SAMPLES) {
        if (!c->score)
            status = open_scores(run, err);
        if (!status)
            status = add_scores(run, err);
        if (status || c->position < NORM_BATCHES + SAMPLES)
            return status;
        set_thresholds(run);
    }
    calibration_drop(run);
    c->position = 0;
    *done = true;
    return STATUS_OK;
}
