/* Gives a run its initial weights, optimiser and annealing. Each start (compare_starts.c) begins in this way. */
#include "core/methods/sparling/training/initialise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/genomics/hooks.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/presence.h"

/* Begins a training with motifs as filters of the first convolution (motif_start, motif_start_words), and keeps these
 * filters unchanged if motif_start_frozen is set.
 *
 * Each filter is scaled to the norm of the random filter that it replaces, so that all motifs have equal weight and
 * activations have the usual size. */

static double length_of(const real *filter, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)filter[i] * (double)filter[i];
    return sqrt(sum);
}

/* Replaces the first `count` filters of the convolution `first`. Each new filter is scaled to the norm of the filter
 * that it replaces, and its bias is 0. */
static void replace(const float *filter, int count, struct conv *first)
{
    size_t size = first->w->count / (size_t)first->w->dim[0];
    for (int f = 0; f < count; f++) {
        real *to = first->w->value + (size_t)f * size;
        const float *from = filter + (size_t)f * size;
        double own = length_of(to, size), other = 0;
        for (size_t i = 0; i < size; i++)
            other += (double)from[i] * (double)from[i];
        double scale = other > 0 ? own / sqrt(other) : 0;
        for (size_t i = 0; i < size; i++)
            to[i] = (real)((double)from[i] * scale);
        first->b->value[f] = R(0.0);
    }
}

/* Filters_begin() copies the motifs of motif_start into the filters of a new model; errors are
 * those of motif_start_filters(). filters_hold() sets the gradients of frozen filters to 0. */
static enum status filters_begin(struct method_run *run, struct error *err)
{
    const struct sparling_config *c = &run->config;
    const struct alphabet *alphabet = domain_alphabet(&run->domain);
    run->frozen_filters = 0;
    if ((c->dataset.motif_start[0] == '\0' && !c->dataset.motif_start_words) || !alphabet)
        return STATUS_OK;
    const struct motif_start start = motif_start_of(c, run->env.data);
    float *filter = malloc(run->network->first.w->count * sizeof *filter);
    int count = 0;
    if (!filter)
        return error_memory(err, "the filters of motifs");
    enum status status = c->dataset.motif_start_words
                             ? sparling_genomics.enriched_filters(run, filter, &count, err)
                             : genomics.start_filters(&start, alphabet->strands, filter, &count, err);
    if (!status)
        replace(filter, count, &run->network->first);
    run->frozen_filters = c->dataset.motif_start_frozen ? count : 0;
    free(filter);
    return status;
}

void filters_hold(struct method_run *run)
{
    struct conv *first = &run->network->first;
    size_t size = first->w->count / (size_t)first->w->dim[0];
    if (run->frozen_filters == 0 || !first->w->grad)
        return;
    memset(first->w->grad, 0, (size_t)run->frozen_filters * size * sizeof(real));
    memset(first->b->grad, 0, (size_t)run->frozen_filters * sizeof(real));
}

/* Distance between the seeds of the initial weights of two starts. */
enum { SEED_STEP = 1000003 };

void run_scale_inputs(struct method_run *r)
{
    const struct open_domain *d = &r->domain;
    if (d->domain->scale)
        network_scale(r->network, d->domain->scale(d->state));
}

enum status run_initialise(struct method_run *r, struct error *err)
{
    const struct sparling_config *c = &r->config;
    struct sparling_config start = *c;
    struct adam_config adam = ADAM_DEFAULT;
    adam.clip_norm = c->clip_norm;
    adam.decay = c->weight_decay;
    adam_destroy(r->adam);
    network_destroy(r->network);
    r->adam = NULL;
    r->network = NULL;
    r->stage_updates = 0;
    start.seed = c->seed + SEED_STEP * r->starts.now;
    annealer_init(&r->annealer, c->density_start, c->target_start, r->samples);
    enum status status = network_create(&start, true, r->env.pool, &r->network, err);
    if (!status) {
        r->network->config.seed = c->seed;
        run_scale_inputs(r);
        status = numbers_begin(r, err);
    }
    if (!status)
        status = filters_begin(r, err);
    if (!status) {
        gradients_init(&r->gradients, r->network->params, r->env.comm, &r->exec);
        presence_begin(r);
    }
    if (!status)
        status = average_open(r, err);
    return status ? status : adam_create(r->network->params, &adam, &r->adam, err);
}
