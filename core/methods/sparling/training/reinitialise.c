/* Channels that nobody needs begin anew.
 *
 * While a digit's channel is sought, two digits may come to share one, told apart by strength or company, and another
 * channel marks what a third already marks, or nothing. That costs nothing as long as a channel may fire for both;
 * when the density falls to one motif a digit, one of the two is lost, and where nothing is active no gradient leads
 * back.
 *
 * What a channel is worth is how much the loss rises on the next samples of training when its motifs are taken out of
 * the map. One that is twice in a row worth less than WORTHLESS of the mean gets new weights in g's last layer and in
 * h's embedding, and a larger density for a while, in which it can meet what the others do not mark. One channel at a
 * time, and each is left alone for a while: what it then becomes takes a few thousand samples to show. */
#include <math.h>

#include "core/base/philox.h"
#include "core/methods/sparling/run_int.h"

enum { PROBES = 16, STREAM = 0x7265 }; /* batches; of the random numbers */
static const double WORTHLESS = 0.1;
static const double DENSITY_FACTOR = 8; /* of a reinitialised channel at first, against the others */

/* Takes the channel's motifs out of the map into `kept`, or puts them back. */
static void exchange(struct tensor *motifs, int channel, real *kept, bool back)
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
    struct tensor *loss = op_cross_entropy(&run->exec, run_logits(run, motifs, batch), batch->targets);
    return loss ? (double)loss->data[0] : NAN;
}

/* Adds what each channel is worth on one batch. */
static enum status probe(struct method_run *run, const struct batch *batch, double *worth, struct error *err)
{
    struct exec *e = &run->exec;
    int channels = (int)run->config.channels_motif;
    exec_begin(e, false, (uint64_t)run->updates);
    struct tensor *motifs = network_motifs(e, run->network, batch->images, batch->request.count, run->annealer.density);
    double whole = head_loss(run, motifs, batch);
    enum status status = exec_status(e, err);
    if (status)
        return status;
    const struct map_shape *s = &motifs->map;
    real *kept = arena_alloc(e->arena, (size_t)s->images * (size_t)s->height * (size_t)s->width * sizeof *kept);
    if (!kept)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory to try a map without a channel");
    for (int c = 0; c < channels && !status; c++) {
        exchange(motifs, c, kept, false);
        worth[c] += head_loss(run, motifs, batch) - whole;
        exchange(motifs, c, kept, true);
        status = exec_status(e, err);
    }
    return status;
}

static void begin_anew(struct method_run *run, int channel)
{
    const struct sparling_config *c = &run->config;
    struct network *n = run->network;
    struct philox from = philox_stream((uint64_t)c->seed, STREAM, (uint64_t)run->updates);
    size_t inputs = n->last.w->count / (size_t)c->channels_motif, motifs = (size_t)c->channels_motif;
    size_t outputs = n->embed.w->count / motifs;
    double g = 1 / sqrt((double)inputs), h = 1 / sqrt((double)motifs);
    for (size_t i = 0; i < inputs; i++)
        n->last.w->value[(size_t)channel * inputs + i] = (real)(g * (2 * (double)philox_uniform(&from, i) - 1));
    for (size_t i = 0; i < outputs; i++)
        n->embed.w->value[i * motifs + (size_t)channel] =
            (real)(h * (2 * (double)philox_uniform(&from, inputs + i) - 1));
    sparse_reinitialise(n->sparse, channel, DENSITY_FACTOR, c->reinitialise_samples / c->batch);
}

enum status run_reinitialise(struct method_run *run, struct error *err)
{
    struct revival *r = &run->revival;
    int channels = (int)run->config.channels_motif, least = -1;
    double worth[REVIVAL_CHANNELS] = {0}, mean = 0;
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
            status = probe(run, batch, worth, err);
    }
    if (status)
        return status;
    for (int c = 0; c < channels; c++)
        mean += worth[c] / channels;
    for (int c = 0; c < channels; c++) {
        bool worthless = mean > 0 && worth[c] < WORTHLESS * mean, rested = (double)run->samples >= r->rests[c];
        if (worthless && r->worthless[c] > 0 && rested && (least < 0 || worth[c] < worth[least]))
            least = c;
        r->worthless[c] = worthless;
    }
    if (least >= 0) {
        begin_anew(run, least);
        int64_t rest = run->config.reinitialise_samples + run->config.reinitialise_samples / 2;
        r->rests[least] = (double)(run->samples + rest);
        r->worthless[least] = 0;
        r->count++;
    }
    run_metric(run, "reinitialised", r->count);
    return STATUS_OK;
}
