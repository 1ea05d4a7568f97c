/* Gives a run its initial weights, optimiser and annealing. Each start (compare_starts.c) begins in this way. */
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/filters.h"
#include "core/methods/sparling/training/initialise.h"
#include "core/methods/sparling/training/presence.h"

/* Distance between the seeds of the initial weights of two starts. */
enum { SEED_STEP = 1000003 };

enum status run_initialise(struct method_run *r, struct error *err)
{
    const struct sparling_config *c = &r->config;
    struct sparling_config start = *c;
    struct adam_config adam = ADAM_DEFAULT;
    adam.clip_norm = c->clip_norm;
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
        status = numbers_begin(r, err);
    }
    if (!status)
        status = filters_begin(r, err);
    if (!status) {
        gradients_init(&r->gradients, r->network->params, r->env.comm, &r->exec);
        presence_begin(r);
    }
    return status ? status : adam_create(r->network->params, &adam, &r->adam, err);
}
