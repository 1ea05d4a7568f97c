/* Lists the convolutions of g and computes their coherence, for metrics, results and the pathways method. */
#include "core/methods/sparling/model/coherence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/nn/coherence.h"

static void model_coherence_add(const struct weight *w, const char *name, struct method_convolution *out, size_t room,
                                size_t *count)
{
    if (*count < room) {
        struct method_convolution *c = &out[*count];
        *c = (struct method_convolution){"", w->dim[0], w->dim[1], w->dim[2], w->dim[3], w->value};
        snprintf(c->name, sizeof c->name, "%s", name);
    }
    ++*count;
}

size_t network_convolutions(const struct network *n, struct method_convolution *out, size_t room)
{
    size_t count = 0;
    char name[40];
    model_coherence_add(n->first.w, "g.first", out, room, &count);
    for (int i = 0; i < (int)n->config.units; i++) {
        snprintf(name, sizeof name, "g.units.%d.conv1", i);
        model_coherence_add(n->unit[i].conv1.w, name, out, room, &count);
        snprintf(name, sizeof name, "g.units.%d.conv2", i);
        model_coherence_add(n->unit[i].conv2.w, name, out, room, &count);
    }
    for (int i = 0; i < (int)n->config.narrow_units; i++) {
        const struct residual_unit *unit = &n->unit[n->config.units + i];
        snprintf(name, sizeof name, "g.narrow.%d.conv1", i);
        model_coherence_add(unit->conv1.w, name, out, room, &count);
        snprintf(name, sizeof name, "g.narrow.%d.conv2", i);
        model_coherence_add(unit->conv2.w, name, out, room, &count);
    }
    model_coherence_add(n->last.w, "g.last", out, room, &count);
    return count;
}

static struct filter_bank bank_of(const struct method_convolution *c)
{
    return (struct filter_bank){c->filters, c->inputs, c->height, c->width};
}

double convolution_coherence(const struct method_convolution *c, struct thread_pool *pool)
{
    struct filter_bank bank = bank_of(c);
    return filter_coherence(&bank, c->weights, pool);
}

void network_coherence(const struct network *n, struct thread_pool *pool, double *mean, double *largest)
{
    struct method_convolution all[COHERENCE_LAYERS];
    size_t count = network_convolutions(n, all, COHERENCE_LAYERS);
    *mean = *largest = 0;
    for (size_t i = 1; i + 1 < count; i++) {
        double mu = convolution_coherence(&all[i], pool);
        *mean += mu / (double)(count - 2);
        *largest = mu > *largest ? mu : *largest;
    }
}
