/* Reinitialises channels that do not lower the loss.
 *
 * Early in training one channel may mark two digits, while another channel marks nothing or repeats a third one. The
 * head then distinguishes the two digits by the strength or the neighbours of their motifs. This does no harm while the
 * density lets the channel be active for both digits. Once the density has fallen to one motif for each digit, the
 * channel can mark only one of them. The unused channel cannot take over the other, because a channel that is never
 * active receives no gradient.
 *
 * The worth of a channel is the rise of the loss on the next training samples when its motifs are removed from the map.
 * A channel is reinitialised if its worth is below WORTHLESS times the mean worth at two checks in a row: it gets new
 * weights in g's last layer and in h's first layer. For a while it also gets a larger density, so that it can find what
 * the other channels do not mark. One channel is reinitialised at a time, and then left alone, because the effect takes
 * a few thousand samples to show. If `reinitialise_wait` is set and the loss has risen since the previous density, the
 * density does not fall meanwhile (annealer.h). */
#include <math.h>

#include "core/base/random/philox.h"
#include "core/methods/sparling/report.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/phases/head_phase.h"
#include "core/methods/sparling/training/reinitialise.h"

enum { PROBES = 16, STREAM = 0x7265 }; /* PROBES: number of batches of a check; STREAM: stream of the random numbers */
static const double WORTHLESS = 0.1;
/* factor by which the density of a reinitialised channel is at first larger than that of the others */
static const double DENSITY_FACTOR = 8;

/* Moves the channel's motifs out of the map into `kept`, or back. */
static void exchange_channel(struct tensor *motifs, int channel, real *kept, bool back)
{
    const struct map_shape *s = &motifs->map;
    for (int image = 0; image < s->images; image++)
        for (int row = 0; row < s->height; row++)
            for (int col = 0; col < s->width; col++, kept++) {
                real *at = motifs->data + map_offset(s, image, channel / MAP_LANES, row, col) + channel % MAP_LANES;
                if (!back)
                    *kept = *at;
                *at = back ? *kept : R(0.0);
            }
}

static double head_loss(struct method_run *run, struct tensor *motifs, const struct batch *batch)
{
    struct tensor *loss = run->head->loss(run, run->head->outputs(run, motifs, batch), batch);
    return loss ? (double)loss->data[0] : NAN;
}

/* Adds the worth of each channel on one batch. */
static enum status probe_batch_worth(struct method_run *run, const struct batch *batch, double *worth,
                                     struct error *err)
{
    struct exec *e = &run->exec;
    int channels = (int)run->config.channels_motif;
    exec_begin(e, false, (uint64_t)run->updates);
    head_phase_follow(run); /* also directly after a checkpoint was loaded */
    struct tensor *motifs = network_motifs(e, run->network, batch->images, batch->request.count, run->annealer.density);
    double whole = head_loss(run, motifs, batch);
    enum status status = exec_status(e, err);
    if (status)
        return status;
    const struct map_shape *s = &motifs->map;
    real *kept = arena_alloc(e->arena, (size_t)s->images * (size_t)s->height * (size_t)s->width * sizeof *kept);
    if (!kept)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to check the channels");
    struct arena_mark mark = arena_mark(e->arena);
    for (int c = 0; c < channels && !status; c++) {
        exchange_channel(motifs, c, kept, false);
        worth[c] += head_loss(run, motifs, batch) - whole;
        exchange_channel(motifs, c, kept, true);
        status = exec_status(e, err);
        exec_release(e, mark);
    }
    return status;
}

static void reinitialise_channel(struct method_run *run, int channel)
{
    const struct sparling_config *c = &run->config;
    struct network *n = run->network;
    struct philox from = philox_stream((uint64_t)c->seed, STREAM, (uint64_t)run->updates);
    struct weight *reader = run->domain.shape.positions ? n->dilated.first.w : n->embed.w;
    size_t inputs = n->last.w->count / (size_t)c->channels_motif, motifs = (size_t)c->channels_motif;
    size_t outputs = reader->count / motifs;
    double g = 1 / sqrt((double)inputs), h = 1 / sqrt((double)motifs);
    for (size_t i = 0; i < inputs; i++)
        n->last.w->value[(size_t)channel * inputs + i] = (real)(g * (2 * (double)philox_uniform(&from, i) - 1));
    for (size_t i = 0; i < outputs; i++)
        reader->value[i * motifs + (size_t)channel] = (real)(h * (2 * (double)philox_uniform(&from, inputs + i) - 1));
    sparse_reinitialise(n->sparse, channel, DENSITY_FACTOR, c->reinitialise_samples / c->batch);
}

bool run_spare(const struct method_run *run)
{
    const struct reinitialisation *r = &run->reinitialisation;
    bool spare = false;
    for (int c = run->presence.channels; c < (int)run->config.channels_motif; c++)
        spare = spare || r->worthless[c] > 0 || run->samples < r->rests[c];
    return spare;
}

enum status run_reinitialise(struct method_run *run, struct error *err)
{
    struct reinitialisation *r = &run->reinitialisation;
    int channels = (int)run->config.channels_motif, least = -1;
    double worth[REINITIALISED_CHANNELS] = {0}, mean = 0;
    enum status status = STATUS_OK;
    for (int i = 0; i < PROBES && !status; i++) {
        struct batch_request request = {.seed = run->config.seed,
                                        .first = run->samples + i * run->config.batch,
                                        .seen = run->samples + i * run->config.batch,
                                        .count = (int)run->config.batch,
                                        .set = DOMAIN_LESSON};
        const struct batch *batch;
        status = batch_source_take(run->source, &request, NULL, &batch, err);
        if (!status)
            status = probe_batch_worth(run, batch, worth, err);
    }
    if (status)
        return status;
    for (int c = 0; c < channels; c++)
        mean += worth[c] / channels;
    for (int c = 0; c < channels; c++) {
        bool worthless = mean > 0 && worth[c] < WORTHLESS * mean, rested = run->samples >= r->rests[c];
        bool free = c >= run->presence.channels; /* the channels before this one belong to names (presence.c) */
        if (free && worthless && r->worthless[c] > 0 && rested && (least < 0 || worth[c] < worth[least]))
            least = c;
        r->worthless[c] = worthless;
    }
    if (least >= 0) {
        reinitialise_channel(run, least);
        int64_t rest = run->config.reinitialise_samples + run->config.reinitialise_samples / 2;
        r->rests[least] = run->samples + rest;
        r->worthless[least] = 0;
        r->count++;
    }
    run_metric(run, "reinitialised", (double)r->count);
    return STATUS_OK;
}
