/* Evaluation in pieces: motif errors over the examples, then end-to-end errors over the test set, for the run's own
 * model and for the last checkpoint of each earlier density.
 *
 * Each model is one row of the evaluation. Rows go from high to low density, and the run's own model is the last row.
 * The counts at the end are therefore the confusion matrix of this model. The weights of an earlier density are read
 * into a second network without gradients. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/error_rate/measure.h"
#include "core/methods/sparling/evaluation/analyses.h"
#include "core/methods/sparling/evaluation/chance.h"
#include "core/methods/sparling/evaluation/evaluation.h"
#include "core/methods/sparling/evaluation/motif_counts.h"
#include "core/methods/sparling/run_state.h"
#include "core/metrics/binning.h"

/* Maximum number of earlier densities, in addition to the run's own, that an evaluation includes. If there are more, it
 * takes the lowest. */
enum { EARLIER_DENSITIES = 10 };

static struct evaluation_row new_row(double density, int64_t checkpoint, int64_t motif_samples, int64_t test_samples)
{
    return (struct evaluation_row){.density = density,
                                   .achieved = NAN,
                                   .fpe = NAN,
                                   .fne = NAN,
                                   .ce = NAN,
                                   .ce_majority = NAN,
                                   .e2ee = NAN,
                                   .exact = NAN,
                                   .window_fpe = NAN,
                                   .window_fne = NAN,
                                   .window_ce = NAN,
                                   .checkpoint = checkpoint,
                                   .motif_samples = motif_samples,
                                   .test_samples = test_samples,
                                   .proof = NAN,
                                   .single = NAN,
                                   .perturbed = NAN,
                                   .binning = {NAN, NAN, NAN, NAN}};
}

/* Clears the counts at the start of a row of the evaluation, and selects its first part. With the objective
 * single-motifs, the single-motif error is the only part. */
static void clear_counts(struct method_run *run)
{
    struct evaluation *e = &run->evaluation;
    motif_errors_clear(&e->errors);
    motif_counts_clear(run);
    analysis_clear(run);
    e->edit_sum = 0;
    e->exact = 0;
    memset(e->tested, 0, sizeof e->tested);
    memset(e->tested_exact, 0, sizeof e->tested_exact);
    e->part = run->direct ? PART_SINGLE : PART_MOTIFS;
    e->position = 0;
}

/* Makes the extents of the run's own model the first part of the evaluation, because they decide where the motifs of
 * all rows are reported. */
static void begin_extents(struct method_run *run)
{
    if (evaluation_part_samples(run, PART_EXTENTS) > 0)
        run->evaluation.part = PART_EXTENTS;
}

/* Adds a row of the evaluation for the checkpoint of a stage. A later checkpoint of the same density replaces an
 * earlier one. A checkpoint at the run's own density gets no row here, but if it contains the run's own model, *own
 * becomes the checkpoint's number. */
static void list_stage(struct method_run *run, const struct method_checkpoint *stage, int64_t *own)
{
    struct evaluation *e = &run->evaluation;
    if (stage->density == run->annealer.density) {
        /* A calibrated model differs from the checkpoint of its stage, so that checkpoint is not the run's own
         * model. */
        if (!run->config.calibrate && stage->step == run->updates)
            *own = stage->seq;
        return;
    }
    for (int64_t i = 0; i < e->rows; i++)
        if (e->row[i].density == stage->density) {
            e->row[i].checkpoint = stage->seq;
            return;
        }
    if (e->rows == EARLIER_DENSITIES)
        memmove(&e->row[0], &e->row[1], (size_t)--e->rows * sizeof e->row[0]);
    e->row[e->rows++] = new_row(stage->density, stage->seq, run->config.stage_samples, run->config.stage_samples);
}

enum status evaluation_begin(struct method_run *run, int64_t seed, int64_t motif_samples, int64_t test_samples,
                             bool stages, struct error *err)
{
    struct evaluation *e = &run->evaluation;
    const struct method_checkpoints *list = &run->env.checkpoints;
    int64_t own = -1;
    size_t count = 0;
    e->rows = e->at = 0;
    e->seed = seed;
    arena_close(run->exec.arena); /* frees the memory of training: no backward pass follows */
    clear_counts(run);
    run->head->clear(run);
    e->chance = (struct chance){0};
    e->reference.samples = 0;
    evidence_clear(run);
    extents_clear(run);
    negatives_begin(run);
    marked_evidence_clear(run);
    if (stages && list->count) {
        enum status status = list->count(list->context, &count, err);
        if (status)
            return status;
    }
    for (size_t i = 0; i < count; i++) {
        struct method_checkpoint stage;
        enum status status = list->describe(list->context, i, &stage, err);
        if (status)
            return status;
        if (stage.stage_end && (run->config.stage_samples > 0 || stage.density == run->annealer.density))
            list_stage(run, &stage, &own);
    }
    e->row[e->rows] = new_row(run->annealer.density, own, motif_samples, test_samples);
    e->rows++;
    begin_extents(run);
    return STATUS_OK;
}

enum status evaluation_begin_final(struct method_run *run, struct error *err)
{
    run->network->limits = run->network->matrices = true;
    return evaluation_begin(run, TEST_SEED, run->config.motif_samples, run->config.test_samples, true, err);
}

/* Reads a checkpoint into the second network. */
static enum status load_stage(struct method_run *run, int64_t seq, struct error *err)
{
    struct evaluation *e = &run->evaluation;
    const struct method_checkpoints *list = &run->env.checkpoints;
    struct snapshot *snapshot = NULL;
    struct snapshot_reader reader;
    struct method_checkpoint stage;
    size_t count = 0, at = 0;
    enum status status = STATUS_OK;
    if (!e->other)
        status = network_create(&run->config, false, run->env.pool, &e->other, err);
    if (!status)
        status = list->count(list->context, &count, err);
    for (; !status && at < count; at++) {
        status = list->describe(list->context, at, &stage, err);
        if (!status && stage.seq == seq)
            break;
    }
    if (!status && at == count)
        status = error_set(err, STATUS_NOT_FOUND, NULL, "checkpoint %lld no longer exists", (long long)seq);
    if (!status)
        status = list->open(list->context, at, &reader, err);
    if (!status)
        status = snapshot_create(&snapshot, err);
    if (!status)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): made above */
        status = params_snapshot(e->other->params, snapshot, err);
    if (!status)
        status = snapshot_read(snapshot, &reader, 1u << SNAPSHOT_WEIGHT, err);
    snapshot_destroy(snapshot);
    if (!status)
        e->loaded = seq;
    return status;
}

static enum status pick_network(struct method_run *run, struct network **network, struct error *err)
{
    struct evaluation *e = &run->evaluation;
    const struct evaluation_row *row = &e->row[e->at];
    *network = run->network;
    if (e->at == e->rows - 1 || e->part == PART_EXTENTS)
        return STATUS_OK;
    enum status status = STATUS_OK;
    if (e->loaded != row->checkpoint)
        status = load_stage(run, row->checkpoint, err);
    *network = e->other;
    return status;
}

int64_t evaluation_part_samples(const struct method_run *run, int64_t part)
{
    const struct evaluation_row *row = &run->evaluation.row[run->evaluation.at];
    switch ((enum evaluation_part)part) {
    case PART_MOTIFS:
        return row->motif_samples;
    case PART_TEST:
        return row->test_samples;
    case PART_SINGLE:
        return run->single.domain ? run->config.single_samples : 0;
    case PART_BINNING:
        return run->direct ? 0 : 2 * run->config.binning_samples;
    case PART_PERTURB:
        return run->direct ? 0 : 4 * run->config.perturb_samples; /* maximum number of samples that are tried */
    case PART_EVIDENCE: /* this part and those after it are measured only for the run's own model */
        return run->evaluation.at == run->evaluation.rows - 1 ? evidence_samples(run) : 0;
    case PART_CHANCE:
        return run->config.chance_shuffles > 0 && run->evaluation.at == run->evaluation.rows - 1
                   ? run->config.chance_samples
                   : 0;
    case PART_EXTENTS:
        return run->evaluation.at == 0 ? extents_samples(run) : 0;
    case PART_BOXES:
        return run->evaluation.at == run->evaluation.rows - 1 ? extents_truth_samples(run) : 0;
    case PART_REFERENCE:
        return reference_pass_samples(run);
    case PART_MARKED:
        return marked_evidence_samples(run);
    case PART_NEGATIVES:
        return run->evaluation.at == run->evaluation.rows - 1 ? negatives_samples(run) : 0;
    case PARTS:
        break;
    }
    return 0;
}

/* Returns the request for the next piece of samples, which begins at sample `first` of the part. A piece of
 * PART_BINNING contains either samples for the calibration or samples to decode, never both. */
static struct batch_request request_at(const struct method_run *run, int64_t first)
{
    const struct evaluation *e = &run->evaluation;
    if (e->part == PART_REFERENCE)
        return reference_pass_request(run, first);
    bool calibrating = e->part == PART_BINNING && first < run->config.binning_samples;
    bool true_boxes = e->part == PART_MOTIFS || e->part == PART_CHANCE || e->part == PART_BOXES;
    int64_t end = calibrating ? run->config.binning_samples : evaluation_part_samples(run, e->part), left = end - first;
    struct batch_request request = {
        .seed = e->seed, .first = first, .count = (int)(left < run->piece ? left : run->piece), .set = DOMAIN_SAMPLE};
    /* The examples of the domain are used for the motif errors of the test set and to calibrate the bins. */
    if (calibrating || (true_boxes && e->seed == TEST_SEED))
        request.set = DOMAIN_EXAMPLE;
    if (e->part == PART_BINNING && !calibrating) {
        request.seed = BINNING_SEED;
        request.first -= run->config.binning_samples;
    }
    if (e->part == PART_EVIDENCE || e->part == PART_EXTENTS)
        request.seed = run->config.seed;
    request.seen = request.first;
    return request;
}

/* Clears the activations in the margins, where no box can be. */
static void clear_margins(const struct domain_shape *shape, float *planes, size_t count)
{
    size_t margin = (size_t)shape->margin, cols = (size_t)shape->cols;
    for (size_t line = 0; margin > 0 && line < count * (size_t)shape->rows; line++) {
        memset(planes + line * cols, 0, margin * sizeof *planes);
        memset(planes + (line + 1) * cols - margin, 0, margin * sizeof *planes);
    }
}

/* Returns whether the run evaluates its final model now, and not a validation or the model of an earlier density. */
static bool own_row(const struct method_run *run)
{
    return run->activity == ACTIVITY_EVALUATE && run->evaluation.at == run->evaluation.rows - 1;
}

enum status evaluation_count(struct method_run *run, const struct tensor *motifs, const struct batch *batch,
                             struct error *err)
{
    struct exec *e = &run->exec;
    enum status status = exec_status(e, err);
    if (status)
        return status;
    const struct map_shape *shape = &motifs->map;
    size_t map = (size_t)shape->channels * (size_t)shape->height * (size_t)shape->width;
    float *planes = arena_alloc(e->arena, (size_t)shape->images * map * sizeof *planes);
    if (!planes)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to evaluate");
    tensor_to_planes(motifs, planes);
    for (int i = 0; !status && i < shape->images; i++)
        status = extents_move(run, planes + (size_t)i * map, err);
    clear_margins(&run->domain.shape, planes, (size_t)shape->images * (size_t)shape->channels);
    for (int i = 0; !status && i < shape->images; i++) {
        const struct domain_truth *truth = &batch->truths[i];
        status = motif_errors_add_map(&run->evaluation.errors, planes + (size_t)i * map, shape->height, shape->width,
                                      truth->box, truth->boxes, err);
        if (!status && own_row(run))
            status = motif_counts_add(run, planes + (size_t)i * map, truth, batch->request.first + i, err);
    }
    return status;
}

static enum status finish_motifs(struct method_run *run, struct error *err)
{
    struct evaluation *e = &run->evaluation;
    struct evaluation_row *row = &e->row[e->at];
    struct motif_report boxes, windows;
    enum status status = motif_errors_report(&e->errors, MOTIF_BOXES, &boxes, err);
    if (status)
        return status;
    status = motif_errors_report(&e->errors, MOTIF_WINDOWS, &windows, err);
    if (status)
        return status;
    const struct domain_shape *shape = &run->domain.shape;
    double positions = (double)shape->rows * (shape->cols - 2 * shape->margin),
           channels = (double)run->config.channels_motif;
    double elements = positions * channels * (double)e->errors.samples;
    row->achieved = (double)e->errors.motifs / elements;
    if (shape->boxes == 0) /* the positions of the symbols are unknown */
        return STATUS_OK;
    row->fpe = boxes.fpe;
    row->proof = motif_errors_proof(&e->errors);
    row->fne = boxes.fne;
    row->ce = boxes.ce_assignment;
    row->ce_majority = boxes.ce_majority;
    row->window_fpe = windows.fpe;
    row->window_fne = windows.fne;
    row->window_ce = run->domain.domain->majority ? windows.ce_majority : windows.ce_assignment;
    return STATUS_OK;
}

/* Ends a part: goes on to the next part that has samples, to the next row, or to the end. */
static enum status finish_part(struct method_run *run, bool *done, struct error *err)
{
    struct evaluation *e = &run->evaluation;
    enum status status = STATUS_OK;
    if (e->part == PART_MOTIFS)
        status = finish_motifs(run, err);
    else if (e->part == PART_TEST)
        run->head->tested(run, &e->row[e->at]);
    else if (e->part == PART_EVIDENCE)
        status = evidence_finish(run, err);
    else if (e->part == PART_NEGATIVES)
        status = negatives_finish(run, err);
    else if (e->part > PART_TEST && e->part < PART_EVIDENCE)
        analysis_finish(run);
    if (status)
        return status;
    e->position = 0;
    arena_close(run->exec.arena); /* frees the blocks, because the next part of the evaluation needs other sizes */
    do
        e->part++;
    while (e->part < PARTS && evaluation_part_samples(run, e->part) == 0);
    if (e->part < PARTS)
        return STATUS_OK;
    reference_pass_drop(e);
    marked_evidence_drop(run);
    e->part = PART_TEST;
    if (e->at + 1 < e->rows) {
        e->at++;
        clear_counts(run);
        return STATUS_OK;
    }
    *done = true;
    network_destroy(e->other);
    e->other = NULL;
    e->loaded = -1;
    return STATUS_OK;
}

bool evaluation_collects(int64_t part)
{
    return part == PART_CHANCE || part == PART_EXTENTS || part == PART_REFERENCE;
}

/* Processes one batch for the part in progress. *enough becomes true when the part needs no more samples. */
static enum status with_batch(struct method_run *run, struct network *network, const struct batch *batch, bool *enough,
                              struct error *err)
{
    struct evaluation *e = &run->evaluation;
    exec_begin(&run->exec, false, (uint64_t)e->position);
    if (e->part == PART_BINNING)
        return analysis_binning(run, network, batch, e->position, err);
    if (e->part == PART_EVIDENCE)
        return evidence_add(run, batch, err);
    if (e->part == PART_REFERENCE)
        return reference_pass_add(run, batch, err);
    if (e->part == PART_TEST)
        return run->head->test(run, network, batch, own_row(run), err);
    struct tensor *motifs = network_motifs(&run->exec, network, batch->images, batch->request.count, 1);
    if (e->part == PART_CHANCE)
        return chance_add(run, motifs, batch, enough, err);
    if (e->part == PART_EXTENTS)
        return extents_add(run, motifs, batch, enough, err);
    return e->part == PART_BOXES ? extents_truth_add(run, motifs, batch, err)
                                 : evaluation_count(run, motifs, batch, err);
}

enum status evaluation_piece(struct method_run *run, bool *done, struct error *err)
{
    struct evaluation *e = &run->evaluation;
    struct network *network;
    *done = false;
    enum status status = pick_network(run, &network, err);
    if (status)
        return status;
    int64_t samples = evaluation_part_samples(run, e->part);
    if (evaluation_collects(e->part) && e->position == samples) {
        bool finished;
        status = e->part == PART_CHANCE    ? chance_shuffle(run, &finished, err)
                 : e->part == PART_EXTENTS ? extents_measure(run, &finished, err)
                                           : reference_pass_train(run, &finished, err);
        return !status && finished ? finish_part(run, done, err) : status;
    }
    struct batch_request now = request_at(run, e->position);
    int64_t after = e->position + now.count;
    bool last = after >= samples, enough = false;
    if (e->part == PART_SINGLE) {
        status = analysis_single(run, network, e->position, now.count, err);
    } else if (e->part == PART_NEGATIVES) {
        status = negatives_piece(run, &after, err);
    } else if (e->part == PART_MARKED) {
        status = marked_evidence_piece(run, &after, &last, err);
    } else if (e->part == PART_PERTURB) {
        status = analysis_perturb(run, network, e->position, now.count, err);
        last |= e->analysis.tried == run->config.perturb_samples;
    } else {
        struct batch_request next = last ? now : request_at(run, after);
        const struct batch *batch;
        status = batch_source_take(run->source, &now, last ? NULL : &next, &batch, err);
        if (!status)
            status = with_batch(run, network, batch, &enough, err);
    }
    if (status)
        return status;
    e->position = enough ? samples : after;
    return last && !evaluation_collects(e->part) ? finish_part(run, done, err) : STATUS_OK;
}

/* Number of samples in the parts before `part` of the row in progress. */
static double samples_before(const struct method_run *run, int64_t part)
{
    double sum = 0;
    for (int64_t i = run->direct ? PART_SINGLE : PART_MOTIFS; i < part; i++)
        sum += (double)evaluation_part_samples(run, i);
    return sum;
}

double evaluation_fraction(const struct method_run *run)
{
    const struct evaluation *e = &run->evaluation;
    double total = 0, finished = 0, more = samples_before(run, PART_EVIDENCE) - samples_before(run, PART_SINGLE);
    for (int64_t i = 0; i < e->rows; i++) {
        double row = (double)(run->direct ? 0 : e->row[i].motif_samples + e->row[i].test_samples) + more;
        row += i == e->rows - 1 ? (double)evidence_samples(run) : 0;
        total += row;
        if (i < e->at)
            finished += row;
    }
    /* PART_EXTENTS and the parts from PART_CHANCE on take little time and are not counted. */
    if (e->at < e->rows && e->part >= PART_CHANCE)
        finished = total;
    else if (e->at < e->rows && e->part != PART_EXTENTS)
        finished += (double)e->position + samples_before(run, e->part);
    return total > 0 ? finished / total : 0;
}

enum status run_minimal_density(const struct method_run *run, double *density, struct error *err)
{
    double elements = (double)domain_positions(&run->domain.shape) * (double)run->config.channels_motif;
    *density = run->domain.domain->mean_symbols(run->domain.state) / elements;
    return isnan(*density) ? error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to compute the lowest density")
                           : STATUS_OK;
}
