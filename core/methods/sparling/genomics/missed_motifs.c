/* Finds motifs of a name that g misses (motif_start_words).
 *
 * enriched_filters.c copies motifs that are enriched in the samples with a name into the first filters. In the first
 * phase, g may still not read the name: the motif is rare, or the samples have another motif that the filters do not
 * contain. This file then takes the samples with the name in which g does not read the name, and compares them with the
 * samples without the name. As in enriched_filters.c, the sites of each motif are erased before the next search.
 * prototype.c tries the features at the sites as weights of the name's channel.
 *
 * g does not read the name of a sample if the score of the name's channel predicts a probability below one half. The
 * search runs on one thread and depends only on the weights and the sample count, so a run gives the same weights for
 * any number of threads, and after an interruption. */
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/genomics/enriched_filters.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/label_counts.h"
#include "core/methods/sparling/training/phases/head_phase.h"
#include "core/methods/sparling/training/prototype.h"

enum { EACH = 1000 }; /* upper limit of the samples with the name, and of those without it */

/* The sequences of a search: the misread samples with the name, and samples without it. */
struct sequences {
    int count, chosen[2], cols;
    int *sample;    /* [2 EACH] index of each sequence among the samples of all PROBES batches */
    int64_t *first; /* [2 EACH + 1] */
    unsigned char *base;
    bool *with;
    struct enriched_site *site;
};

static bool make_room(struct sequences *s, struct misread *m)
{
    size_t sites = (size_t)MISREAD_MOTIFS * (size_t)m->samples;
    m->middle = malloc(sites * sizeof *m->middle);
    m->reverse = calloc(sites, sizeof *m->reverse);
    s->sample = calloc((size_t)2 * EACH, sizeof *s->sample);
    s->first = calloc((size_t)2 * EACH + 1, sizeof *s->first);
    s->base = malloc((size_t)2 * EACH * (size_t)s->cols);
    s->with = calloc((size_t)2 * EACH, sizeof *s->with);
    s->site = calloc((size_t)2 * EACH, sizeof *s->site);
    for (size_t i = 0; m->middle && i < sites; i++)
        m->middle[i] = -1;
    return m->middle && m->reverse && s->sample && s->first && s->base && s->with && s->site;
}

static void close_sequences(struct sequences *s)
{
    free(s->sample);
    free(s->first);
    free(s->base);
    free(s->with);
    free(s->site);
}

static void add_sequence(struct sequences *s, const float *planes, int sample, bool with)
{
    if (s->chosen[with] == EACH)
        return;
    s->chosen[with]++;
    s->sample[s->count] = sample;
    s->with[s->count] = with;
    s->first[s->count + 1] = s->first[s->count] + s->cols;
    words_bases(planes, s->cols, s->base + s->first[s->count]);
    s->count++;
}

/* Chooses the sequences. */
static enum status choose_sequences(struct method_run *run, int name, struct sequences *s, struct error *err)
{
    struct exec *e = &run->exec;
    const struct network *n = run->network;
    size_t inputs = domain_inputs(&run->domain.shape);
    head_phase_follow(run); /* also directly after a checkpoint was loaded */
    for (int i = 0; i < PROBES; i++) {
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
        for (int image = 0; image < batch->request.count; image++) {
            bool with = presence_true(run, &batch->truths[image], name);
            bool read =
                network_presence_logit(n, extras.scores->data + (ptrdiff_t)image * extras.scores->cols, name) >= 0;
            if (!with || !read)
                add_sequence(s, batch->images + (size_t)image * inputs, i * batch->request.count + image, with);
        }
    }
    return STATUS_OK;
}

/* Notes the sites of the motif that was found last. */
static void keep_sites(const struct sequences *s, int sites, int width, struct misread *m)
{
    for (int i = 0; i < sites; i++) {
        const struct enriched_site *site = &s->site[i];
        if (!s->with[site->sequence])
            continue;
        size_t at = (size_t)m->motifs * (size_t)m->samples + (size_t)s->sample[site->sequence];
        m->middle[at] = (int32_t)(site->at - s->first[site->sequence]) + width / 2;
        m->reverse[at] = site->reverse;
    }
    m->motifs++;
}

static enum status find_motifs(const struct method_run *run, struct sequences *s, struct misread *m, struct error *err)
{
    struct enriched_set set = {.sequences = s->count,
                               .first = s->first,
                               .base = s->base,
                               .with = s->with,
                               .both_strands = m->strands == 2,
                               .width = words_width(&run->config)};
    while (m->motifs < MISREAD_MOTIFS) {
        struct position_matrix matrix;
        int sites = 0;
        bool found;
        enum status status = words_search(&set, &matrix, s->site, &sites, &found, err);
        if (status || !found)
            return status;
        keep_sites(s, sites, matrix.width, m);
    }
    return STATUS_OK;
}

enum status misread_search(struct method_run *run, int name, struct misread *out, struct error *err)
{
    const struct alphabet *alphabet = domain_alphabet(&run->domain);
    struct sequences s = {.cols = run->domain.shape.cols};
    *out = (struct misread){.samples = PROBES * (int)run->config.batch, .strands = alphabet ? alphabet->strands : 0};
    if (!run->config.dataset.motif_start_words || !alphabet)
        return STATUS_OK;
    enum status status = make_room(&s, out)
                             ? choose_sequences(run, name, &s, err)
                             : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to search for motifs");
    if (!status)
        status = find_motifs(run, &s, out, err);
    close_sequences(&s);
    return status;
}
