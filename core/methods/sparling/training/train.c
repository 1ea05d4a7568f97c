/* One optimiser update, and one piece of a validation. What depends on the kind of target is in run->head. */
#include <math.h>
#include <stdio.h>

#include "core/methods/sparling/evaluation/evaluation.h"
#include "core/methods/sparling/report.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/initialise.h"
#include "core/methods/sparling/training/phases/head_phase.h"
#include "core/methods/sparling/training/train.h"

double run_rate_share(const struct method_run *run)
{
    const struct phase *now = plan_now(run);
    double last = run->config.learning_rate_final;
    int64_t from, to;
    if (now->rate == RATE_FULL)
        return 1;
    now->rule->span(run, &from, &to);
    double at = fmin(1, ((double)run->samples - (double)from) / ((double)to - (double)from));
    at = fmax(0, (at - now->rate_start) / (1 - now->rate_start));
    return now->rate == RATE_COSINE ? last + (1 - last) * 0.5 * (1 + cos(3.14159265358979323846 * at))
                                    : 1 - (1 - last) * at;
}

/* Returns the learning rate of the next update. It warms up when a start begins, and again when the training of the
 * head begins. */
static double learning_rate(const struct method_run *run)
{
    double rate = run->config.learning_rate * run_rate_share(run);
    int64_t ended = run->presence.ended_updates, start = run->starts.updates, warm_up = run->config.warm_up,
            updates = run->updates - (ended > start ? ended : start);
    return updates < warm_up ? rate * ((double)(updates + 1) / (double)warm_up) : rate;
}

/* Names the first array that is not finite, or only the loss if all arrays are finite. */
static enum status not_finite(struct method_run *run, const char *what, struct error *err)
{
    struct error cause = {0};
    int64_t seq = run_last_checkpoint(run);
    char good[64] = "no checkpoint was saved before";
    if (seq > 0)
        snprintf(good, sizeof good, "the last good checkpoint is %lld", (long long)seq);
    if (!params_check(run->network->params, &cause))
        snprintf(cause.message, sizeof cause.message, "weights and gradients are finite");
    return error_set(err, STATUS_NUMERIC, NULL, "%s is not finite at step %lld (sample %lld): %.120s; %s", what,
                     (long long)run->updates, (long long)run->samples, cause.message, good);
}

/* Returns the request for a training batch. first: index of its first sample among all training samples of the run. The
 * request counts samples from the beginning of the present start (compare_starts.c). Once g is final, only the head
 * trains. It must learn from the same motif maps that it reads in queries, so no letters of these samples are
 * replaced. */
static struct batch_request training_request(const struct method_run *run, int64_t first)
{
    bool final = !(plan_now(run)->trains & TRAINS_G);
    struct comm_share own = comm_share(run->exec.comm, run->config.batch);
    return (struct batch_request){.seed = run->config.seed,
                                  .first = head_phase_first(run, first) - run->starts.samples + own.first,
                                  .count = (int)own.count,
                                  .seen = first - run->starts.samples,
                                  .set = final ? DOMAIN_SAMPLE : DOMAIN_LESSON,
                                  .turns = run->presence.turns == TURNS_YES ? TURN_HALF : TURN_NONE};
}

static enum status publish_update(struct method_run *run, const struct tensor *motifs, double rate, struct error *err)
{
    if (run->updates % METRIC_UPDATES != 0)
        return STATUS_OK;
    double count = (double)run->loss_count, density = network_density(motifs);
    if (run->exec.comm) {
        density *= (double)motifs->map.images / (double)run->config.batch;
        enum status status = comm_sum(run->exec.comm, &density, 1, err);
        if (status)
            return status;
    }
    run_metric(run, "loss", run->loss_sum / count);
    run_metric(run, "gradient_norm", run->norm_sum / count);
    run_metric(run, "learning_rate", rate);
    run_metric(run, "achieved_density", density);
    run_metric(run, "threshold_mean", network_threshold_mean(run->network));
    if (run->busy_seconds > 0)
        run_metric(run, "samples_per_second", (double)run->busy_samples / run->busy_seconds);
    run->loss_sum = run->norm_sum = 0;
    run->loss_count = 0;
    run->busy_seconds = 0;
    run->busy_samples = 0;
    return STATUS_OK;
}

/* At a low density the loss has a gradient at few positions. The statistics of the batch norms, however, pass a
 * gradient to every position of every sample. Below the density hold_below, one sample of the batch carries this
 * gradient for all samples, so that the backward pass of the others can be sparse. */
static void choose_backward(const struct method_run *run, struct exec *e)
{
    const struct sparling_config *c = &run->config;
    e->hold = run->annealer.density < c->hold_below;
    e->sparse = c->backward == BACKWARD_AUTO                ? EXEC_SPARSE_AUTO
                : c->backward == BACKWARD_SPARSE && e->hold ? EXEC_SPARSE
                                                            : EXEC_DENSE;
}

struct forward {
    struct tensor *motifs, *loss;
    struct tensor *logits;   /* outputs of the head; NULL while g trains alone */
    struct tensor *presence; /* the loss of g's own objective, NULL without one */
    struct tensor *scores;   /* the scores from which `presence` is computed */
    struct tensor *total;    /* what the backward pass minimises: loss, presence loss and penalty of the bottleneck */
};

static struct forward compute_losses(struct method_run *run, const struct batch *batch)
{
    struct exec *e = &run->exec;
    struct network *n = run->network;
    struct forward f = {0};
    int count = batch->request.count;
    int objectives = plan_now(run)->objectives;
    bool final = !(plan_now(run)->trains & TRAINS_G);
    head_phase_follow(run);
    if (!final && matrix_scores_used(&n->matrix))
        matrix_scores_clear(&n->matrix); /* they came from the job `from` and scored the motifs of its g */
    if (objectives & OBJECTIVE_OF_ONE_MOTIF) {
        const struct domain_shape *shape = &run->single.shape;
        f.motifs = network_scores(e, n, batch->images, count, shape);
        f.logits = op_max_pool_rows(e, f.motifs, shape->rows, shape->cols);
        f.total = f.loss = op_cross_entropy(e, f.logits, batch->symbols);
        return f;
    }
    if (final) {
        f.motifs = head_phase_motifs(run, batch);
        f.logits = run->head->outputs(run, f.motifs, batch);
        f.loss = f.total = run->head->loss(run, f.logits, batch);
        return f;
    }
    struct network_extras extras;
    f.motifs = network_motifs_extras(e, n, batch->images, count, run->annealer.density, &extras);
    f.scores = extras.scores;
    f.presence = f.scores && (objectives & OBJECTIVE_OF_G) ? run->head->guide(run, batch, f.scores) : NULL;
    if (objectives & OBJECTIVE_OF_LABELS) {
        f.logits = run->head->outputs(run, f.motifs, batch);
        f.loss = f.total = run->head->loss(run, f.logits, batch);
        if (f.presence)
            f.total = op_add(e, f.total, op_scale(e, f.presence, run->config.presence_weight));
    } else { /* g trains alone, so the head's answers are not needed */
        if (e->training)
            network_follow_scale(e, n, f.motifs);
        f.loss = f.total = f.presence;
    }
    if (f.presence && (objectives & OBJECTIVE_OF_COUNTS) && e->training)
        f.total =
            op_add(e, f.total, op_scale(e, run->head->tally(run, batch, extras.before), run->config.tally_weight));
    if (extras.penalty)
        f.total = op_add(e, f.total, extras.penalty);
    return f;
}

/* Makes the ranks agree on the parts of a batch before the forward pass: which samples each one has, and the length of
 * the longest label. */
static enum status begin_batch(struct method_run *run, const struct batch *batch, struct error *err)
{
    struct exec *e = &run->exec;
    struct comm_share own = comm_share(e->comm, run->config.batch);
    double length = batch->length;
    exec_begin(e, true, (uint64_t)(run->updates - run->starts.updates));
    if (!e->comm)
        return STATUS_OK;
    exec_set_share(e, own.first, own.count, run->config.batch);
    if (run->domain.shape.positions)
        return STATUS_OK;
    enum status status = comm_max(e->comm, &length, 1, err);
    if (!status)
        batch_source_widen(run->source, (int)length);
    return status;
}

enum status run_observe(struct method_run *run, int64_t first, struct error *err)
{
    struct batch_request now = training_request(run, first);
    const struct batch *batch;
    enum status status = batch_source_take(run->source, &now, NULL, &batch, err);
    if (status)
        return status;
    status = begin_batch(run, batch, err);
    if (status)
        return status;
    struct tensor *motifs =
        network_motifs(&run->exec, run->network, batch->images, batch->request.count, run->annealer.density);
    network_follow_scale(&run->exec, run->network, motifs);
    return exec_status(&run->exec, err);
}

enum status run_update(struct method_run *run, struct error *err)
{
    double began = run_clock();
    struct batch_request now = training_request(run, run->samples);
    struct batch_request next = training_request(run, run->samples + run->config.batch);
    struct exec *e = &run->exec;
    const struct batch *batch;
    enum status status = batch_source_take(run->source, &now, &next, &batch, err);
    if (status)
        return status;
    average_hide(run);
    params_begin_step(run->network->params);
    gradients_begin(&run->gradients);
    choose_backward(run, e);
    status = begin_batch(run, batch, err);
    if (status)
        return status;
    struct forward f = compute_losses(run, batch);
    status = exec_status(e, err);
    if (status)
        return status;
    double value = (double)f.loss->data[0], norm, rate = learning_rate(run);
    if (!isfinite(value))
        return not_finite(run, "loss", err);
    status = tape_backward(e, f.total, NULL, err);
    if (status)
        return status;
    status = gradients_finish(&run->gradients, err);
    if (status)
        return status;
    filters_hold(run);
    struct error cause = {0};
    status = adam_step(run->adam, e, rate, &norm, &cause);
    if (status == STATUS_NUMERIC)
        return not_finite(run, "gradient", err);
    if (status)
        return error_set(err, status, NULL, "%s", cause.message);

    average_update(run);
    run->samples += run->config.batch;
    run->updates++;
    run->stage_updates++;
    run->loss_sum += value;
    run->norm_sum += norm;
    run->loss_count++;
    run->busy_samples += run->config.batch;
    run->busy_seconds += run_clock() - began;
    return publish_update(run, f.motifs, rate, err);
}

/* Number of single-motif samples whose class has the largest score. */
static int count_classes(const struct batch *batch, const struct tensor *scores)
{
    int right = 0;
    for (int i = 0; i < batch->request.count; i++) {
        const real *score = scores->data + (size_t)i * (size_t)scores->cols;
        int best = 0;
        for (int c = 1; c < scores->cols; c++)
            best = score[c] > score[best] ? c : best;
        right += best == batch->symbols[i];
    }
    return right;
}

/* Number of samples that a validation reads; a sample that it also reads from the other strand counts twice. */
static int64_t validation_length(const struct method_run *run)
{
    bool again = (plan_now(run)->objectives & OBJECTIVE_OF_G) && run->head->guide_turning(run);
    return run->config.validation_samples * (again ? 2 : 1);
}

static struct batch_request validation_request(const struct method_run *run, int64_t position)
{
    bool again = position >= run->config.validation_samples;
    int64_t first = again ? position - run->config.validation_samples : position,
            left = run->config.validation_samples - first;
    return (struct batch_request){.seed = VALIDATION_SEED,
                                  .first = first,
                                  .seen = first,
                                  .count = (int)(left < run->piece ? left : run->piece),
                                  .turns = again ? TURN_ALL : TURN_NONE};
}

/* Adds the counts of one batch of a validation. */
static enum status count_piece(struct method_run *run, const struct forward *f, const struct batch *batch,
                               struct error *err)
{
    bool direct = plan_now(run)->objectives & OBJECTIVE_OF_ONE_MOTIF, boxes = !direct && run->domain.shape.boxes > 0;
    enum status status = boxes ? evaluation_count(run, f->motifs, batch, err) : STATUS_OK;
    if (status)
        return status;
    int counted = direct ? batch->request.count : run->head->targets(batch);
    if (direct)
        run->validation_correct += count_classes(batch, f->logits);
    else if (f->logits)
        run->head->count(run, batch, f->logits);
    if (f->presence)
        run->head->guide_count(run, batch, f->scores, f->motifs);
    run->validation_loss += (double)f->loss->data[0] * counted;
    run->validation_counted += counted;
    return STATUS_OK;
}

enum status run_validate(struct method_run *run, bool *done, struct error *err)
{
    struct batch_request now = validation_request(run, run->validation_position);
    int64_t after = run->validation_position + now.count;
    /* Whether this piece is the last one. The answer is only likely, because the counts of this piece may still change
     * the length. */
    bool likely = after >= validation_length(run);
    struct batch_request next = likely ? training_request(run, run->samples) : validation_request(run, after);
    struct exec *e = &run->exec;
    const struct batch *batch;
    enum status status = batch_source_take(run->source, &now, &next, &batch, err);
    if (status)
        return status;
    average_show(run);
    exec_begin(e, false, (uint64_t)run->validation_position);
    struct forward f = compute_losses(run, batch);
    status = exec_status(e, err);
    if (status)
        return status;
    double value = (double)f.loss->data[0];
    if (!isfinite(value))
        return not_finite(run, "validation loss", err);
    if (now.turns == TURN_ALL)
        run->head->guide_turned(run, batch, f.scores);
    else
        status = count_piece(run, &f, batch, err);
    if (status)
        return status;
    run->validation_position = after;
    *done = after >= validation_length(run);
    return STATUS_OK;
}
