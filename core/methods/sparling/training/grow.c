/* Adds channels to names that one channel does not read (channels_per_name).
 *
 * A label may need two motifs, have alternatives, or be prevented by a motif. One channel that predicts the name by its
 * largest value cannot express this. So when g no longer reads a name better, although it does not read it well, the
 * name gets a further channel on trial. The samples of the next training batches show what is left: those in which the
 * name is there although it is predicted with a low probability, and the opposite. The channel begins with weights that
 * separate these two groups (prototype_add()). A logistic regression of the label on the presences of the name's
 * channels then sets how they combine (struct presence_parts); training refines it.
 *
 * A trial ends when the name's level no longer falls. If the level fell by GAIN on the validation set, the channel
 * stays, and the next one may come; otherwise it is removed. Channels whose evidence is for the name come first. Only
 * if no further one helps may a channel have evidence against the name. With both at once, a model would explain
 * positive samples by the absence of something that all other training samples happen to contain. */
#include "core/methods/sparling/training/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/label_counts.h"
#include "core/methods/sparling/training/phases/head_phase.h"
#include "core/methods/sparling/training/prototype.h"

/* GAIN: fall of a name's level that keeps a channel. READ: a name with a lower level needs no further channel. UNKNOWN:
 * g has learned nothing about a name with a higher level, so there is nothing to add to. */
static const double GAIN = 0.05, READ = 0.1, UNKNOWN = 0.95;
/* WAIT: number of validations without a lower level after which a channel is added or judged. */
enum { WAIT = 3, NEWTON = 30, MOST_PARTS = 8 };
/* Penalty on the squares of the weights of the regression. */
static const double RIDGE = 0.02;

/* The training samples of a trial. */
struct growth {
    int name, samples;
    bool *with;  /* [samples] whether the label has the name */
    float *rest; /* [samples] label minus predicted probability */
    float *part; /* [samples][MOST_PARTS] presences of the name's channels; of one channel, its score */
};

static enum status open_growth(const struct method_run *run, int name, struct growth *g, struct error *err)
{
    size_t samples = (size_t)PROBES * (size_t)run->config.batch;
    *g = (struct growth){.name = name, .samples = (int)samples};
    g->with = calloc(samples, sizeof *g->with);
    g->rest = calloc(samples, sizeof *g->rest);
    g->part = calloc(samples * MOST_PARTS, sizeof *g->part);
    return g->with && g->rest && g->part ? STATUS_OK : error_memory(err, "a further channel of a name");
}

static void close_growth(struct growth *g)
{
    free(g->with);
    free(g->rest);
    free(g->part);
}

/* Reads the next training samples with the present network. */
static enum status read_growth(struct method_run *run, struct growth *g, struct error *err)
{
    struct exec *e = &run->exec;
    const struct network *n = run->network;
    const int used = network_parts_used(n, g->name), names = run->presence.names;
    head_phase_follow(run); /* also directly after a checkpoint was loaded */
    for (int i = 0, at = 0; i < PROBES; i++) {
        const struct batch *batch;
        struct network_extras extras;
        enum status status = probe_batch(run, i, &batch, err);
        if (status)
            return status;
        exec_begin(e, false, (uint64_t)run->updates);
        (void)network_motifs_extras(e, run->network, batch->images, batch->request.count, run->annealer.density,
                                    &extras);
        status = exec_status(e, err);
        if (status)
            return status;
        for (int image = 0; image < batch->request.count; image++, at++) {
            const real *scores = extras.scores->data + (ptrdiff_t)image * extras.scores->cols;
            double logit = network_presence_logit(n, scores, g->name);
            g->with[at] = presence_true(run, &batch->truths[image], g->name);
            g->rest[at] = (float)(g->with[at] - 1 / (1 + exp(-logit)));
            for (int k = 0; k < used; k++) {
                int c = k * names + g->name;
                double x = (double)n->presence_gain->value[c] * (double)scores[c] + (double)n->presence_bias->value[c];
                g->part[at * MOST_PARTS + k] = used == 1 ? (float)scores[c] : (float)(1 / (1 + exp(-x)));
            }
        }
    }
    return STATUS_OK;
}

/* ---- how the channels combine --------------------------------------------------------------------------------- */

/* Solves a symmetric positive definite system in place; n: at most MOST_PARTS + 1. */
static void solve(int n, double a[MOST_PARTS + 1][MOST_PARTS + 1], double *b)
{
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++) {
            double factor = a[k][i] / a[i][i];
            for (int j = i; j < n; j++)
                a[k][j] -= factor * a[i][j];
            b[k] -= factor * b[i];
        }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            b[i] -= a[i][j] * b[j];
        b[i] /= a[i][i];
    }
}

/* Fits a logistic regression of the label on `used` presences with Newton's method. w: [used + 1] weights; the last one
 * is the constant. */
static void fit_regression(const struct method_run *run, const struct growth *g, int used, double *w)
{
    double weight = (double)run->presence.weight[g->name];
    memset(w, 0, (size_t)(used + 1) * sizeof *w);
    for (int round = 0; round < NEWTON; round++) {
        double a[MOST_PARTS + 1][MOST_PARTS + 1] = {{0}}, step[MOST_PARTS + 1] = {0};
        for (int i = 0; i < g->samples; i++) {
            double x[MOST_PARTS + 1], logit = 0, each = g->with[i] ? weight : 1;
            for (int k = 0; k <= used; k++) {
                x[k] = k == used ? 1 : (double)g->part[i * MOST_PARTS + k];
                logit += w[k] * x[k];
            }
            double p = 1 / (1 + exp(-logit));
            for (int k = 0; k <= used; k++) {
                step[k] += each * (g->with[i] - p) * x[k];
                for (int j = 0; j <= used; j++)
                    a[k][j] += each * p * (1 - p) * x[k] * x[j];
            }
        }
        for (int k = 0; k <= used; k++) {
            step[k] -= RIDGE * w[k];
            a[k][k] += RIDGE;
        }
        solve(used + 1, a, step);
        for (int k = 0; k <= used; k++)
            w[k] += step[k];
    }
}

/* Sets how the channels of a name combine. */
static enum status combine(struct method_run *run, struct growth *g, struct error *err)
{
    struct network *n = run->network;
    const int used = network_parts_used(n, g->name), names = run->presence.names;
    double w[MOST_PARTS + 1];
    enum status status = read_growth(run, g, err);
    if (status)
        return status;
    fit_regression(run, g, used, w);
    if (used == 1) {
        n->presence_gain->value[g->name] = (real)w[0];
        n->presence_bias->value[g->name] = (real)w[1];
        return STATUS_OK;
    }
    for (int k = 0; k < used; k++)
        n->presence_effect->value[k * names + g->name] = (real)w[k];
    n->presence_base->value[g->name] = (real)w[used];
    return STATUS_OK;
}

/* ---- trials --------------------------------------------------------------------------------------------------- */

/* Puts a further channel on trial. *found: whether there is one that separates what is left. */
static enum status add_channel(struct method_run *run, int name, int sign, bool *found, struct error *err)
{
    struct growth g;
    struct weight *used = run->network->presence_used;
    double mean = 0;
    enum status status = open_growth(run, name, &g, err);
    if (!status)
        status = read_growth(run, &g, err);
    for (int i = 0; !status && i < g.samples; i++)
        mean += fabs((double)g.rest[i]) / g.samples;
    const struct prototype_groups groups = {sign, mean / 2, g.rest};
    if (!status)
        status = prototype_add(run, network_parts_used(run->network, name) * run->presence.names + name, &groups, found,
                               err);
    if (!status && *found) {
        used->value[name] += R(1.0);
        status = combine(run, &g, err);
    }
    close_growth(&g);
    return status;
}

/* Removes the channel on trial. */
static enum status drop_channel(struct method_run *run, int name, struct error *err)
{
    struct growth g;
    run->network->presence_used->value[name] -= R(1.0);
    enum status status = open_growth(run, name, &g, err);
    if (!status)
        status = combine(run, &g, err);
    close_growth(&g);
    return status;
}

static int wait_of(const struct method_run *run)
{
    int64_t before_end = run->config.presence_validations > 0 ? run->config.presence_validations - 1 : WAIT;
    return before_end < 1 ? 1 : before_end < WAIT ? (int)before_end : WAIT;
}

/* Judges the channel on trial. */
static enum status judge_channel(struct method_run *run, int name, struct error *err)
{
    struct presence_phase *p = &run->presence;
    double *growth = presence_cell(p, PRESENCE_GROWTH, name);
    bool against = *growth == GROWTH_AGAINST,
         helps = *presence_cell(p, PRESENCE_LEVEL, name) <= *presence_cell(p, PRESENCE_BEFORE, name) - GAIN;
    *growth = helps ? (against ? GROWTH_AGAINST_OPEN : GROWTH_OPEN) : against ? GROWTH_ENDED : GROWTH_AGAINST_OPEN;
    return helps ? STATUS_OK : drop_channel(run, name, err);
}

/* Adds a channel to a name; first one for it and, if there is none, one against it. Without any, the name waits for
 * the next attempt. */
static enum status try_channel(struct method_run *run, int name, struct error *err)
{
    struct presence_phase *p = &run->presence;
    double *growth = presence_cell(p, PRESENCE_GROWTH, name), level = *presence_cell(p, PRESENCE_LEVEL, name);
    bool found = false, against = *growth == GROWTH_AGAINST_OPEN;
    enum status status = against ? STATUS_OK : add_channel(run, name, 1, &found, err);
    if (!status && !found) {
        against = true;
        status = add_channel(run, name, -1, &found, err);
    }
    *presence_cell(p, PRESENCE_STILL, name) = 0;
    if (!status && found) {
        *growth = against ? GROWTH_AGAINST : GROWTH_FOR;
        *presence_cell(p, PRESENCE_BEFORE, name) = *presence_cell(p, PRESENCE_BEST, name) = level;
        p->flat = 0;
    }
    return status;
}

bool grow_on_trial(const struct method_run *run)
{
    const struct presence_phase *p = &run->presence;
    for (int k = 0; p->channels > p->names && k < p->names; k++) {
        double growth = *presence_cell(p, PRESENCE_GROWTH, k);
        if (growth == GROWTH_FOR || growth == GROWTH_AGAINST)
            return true;
    }
    return false;
}

enum status grow_names(struct method_run *run, struct error *err)
{
    struct presence_phase *p = &run->presence;
    enum status status = STATUS_OK;
    bool changed = false;
    for (int k = 0; !status && k < p->names; k++) {
        double growth = *presence_cell(p, PRESENCE_GROWTH, k), level = *presence_cell(p, PRESENCE_LEVEL, k);
        if (*presence_cell(p, PRESENCE_STILL, k) < wait_of(run) || *presence_cell(p, PRESENCE_WITH, k) == 0)
            continue;
        if (growth == GROWTH_FOR || growth == GROWTH_AGAINST) {
            status = judge_channel(run, k, err);
            changed = true;
        }
        growth = *presence_cell(p, PRESENCE_GROWTH, k);
        if (!status && growth != GROWTH_ENDED && level > READ && level < UNKNOWN &&
            network_parts_used(run->network, k) < p->channels / p->names) {
            status = try_channel(run, k, err);
            changed = true;
        }
    }
    if (changed) {
        presence_densities(run);
        average_restart(run);
    }
    return status;
}
