/* The memory of trials (trial_int.h): the arrays that a case needs, and how many bytes they take. */
#include "core/methods/pathways/trial_int.h"

#include <math.h>
#include <stdlib.h>

#include "core/coding/decode.h"

/* Which arrays a trial needs, and for what. A trial of one layer with the decoder top-k needs only few of them. */
struct space_needs {
    bool whole;   /* the trial runs the whole encoder and decoder, or draws pictures */
    bool signal;  /* for the generated signal */
    bool code;    /* for the correlations of one draw; trials that handle several draws at once store only a tile of the
                     correlations */
    bool sums;    /* for norms of the noise, or for the search for adversarial signs */
    bool noise;   /* for the noise and its analysis */
    bool scratch; /* for transforms and sorts */
};

static struct space_needs needs_of(const struct pathways_case *plan, bool pictures)
{
    bool hadamard = plan->family == PATHWAYS_HADAMARD, top_k = plan->rule.decoder == DECODER_TOP_K;
    bool pursuit = plan->rule.decoder == DECODER_PURSUIT;
    struct space_needs n = {.noise = plan->noise > 0};
    n.whole = pictures || plan->layers > 1 || !top_k;
    n.signal = pictures || pursuit || hadamard;
    n.code = n.whole || hadamard || plan->signs == SIGNS_ADVERSARIAL || plan->support == SUPPORT_WORST ||
             !dictionary_shape_bands(&plan->shape[0]);
    n.sums = n.noise || plan->signs == SIGNS_ADVERSARIAL;
    n.scratch = n.signal || n.noise || plan->support == SUPPORT_WORST || (n.whole && top_k);
    return n;
}

/* Allocates an array if it is needed; otherwise returns NULL. Sets *made to false if there is not enough memory. */
static void *array(bool needed, size_t count, size_t size, bool *made)
{
    void *at = needed ? calloc(count, size) : NULL;
    *made = *made && (!needed || at);
    return at;
}

static struct spikes spikes_of(bool needed, size_t count, bool *made)
{
    int32_t *at = array(needed, count, sizeof *at, made);
    float *value = array(needed, count, sizeof *value, made);
    return (struct spikes){0, at, value};
}

static void free_spikes(struct spikes *x)
{
    free(x->at);
    free(x->value);
    *x = (struct spikes){0};
}

/* Returns false without memory. */
static bool fill_space(const struct scenario *s, const struct space_needs *n, struct trial_space *t)
{
    size_t most = signal_size(s), scratch = 0;
    int layers = s->plan.layers;
    bool made = true;
    for (int l = 0; l < layers; l++) {
        const struct dictionary *d = &s->dictionary[l];
        size_t atoms = dictionary_code_size(d);
        size_t need = s->plan.rule.decoder == DECODER_PURSUIT ? decode_pursuit_scratch(d) : dictionary_scratch(d);
        most = atoms > most ? atoms : most;
        scratch = need > scratch ? need : scratch;
        t->map[l + 1] = array(true, atoms, sizeof(float), &made);
        t->truth[l] = spikes_of(l + 1 < layers, atoms, &made);
        t->signs[l] = array(true, atoms / 32 + 1, sizeof(uint32_t), &made);
    }
    t->map[0] = array(n->signal, signal_size(s), sizeof(float), &made);
    t->found = spikes_of(n->whole, most, &made);
    t->code = array(n->code, most, sizeof(float), &made);
    t->noise = array(n->noise, signal_size(s) + code_size(s, 0), sizeof(float), &made);
    t->scratch = array(n->scratch, scratch > most ? scratch : most, sizeof(float), &made);
    t->sums = array(n->sums, 2 * most, sizeof(double), &made);
    t->taken = array(true, most / 64 + 1, sizeof *t->taken, &made);
    return made;
}

enum status trial_space_create(const struct scenario *s, bool pictures, struct trial_space **space, struct error *err)
{
    struct trial_space *t = calloc(1, sizeof *t);
    struct space_needs needs = needs_of(&s->plan, pictures);
    if (t)
        t->whole = needs.whole;
    if (!t || !fill_space(s, &needs, t)) {
        trial_space_destroy(t);
        return error_memory(err, "a trial");
    }
    *space = t;
    return STATUS_OK;
}

enum status trial_space_room(struct trial_space *t, int layers, int64_t count, struct error *err)
{
    struct spikes *deepest = &t->truth[layers - 1];
    bool made = true;
    if (count <= t->room)
        return STATUS_OK;
    size_t room = (size_t)count;
    t->room = 0;
    free_spikes(deepest);
    free(t->flips);
    free(t->terms);
    *deepest = spikes_of(true, room, &made);
    t->flips = array(true, room, 1, &made);
    t->terms = array(true, 2 * room, sizeof *t->terms, &made);
    if (!t->whole) {
        free_spikes(&t->found);
        t->found = spikes_of(true, room, &made);
    }
    if (!made)
        return error_memory(err, "the non-zeros of a trial");
    t->room = count;
    return STATUS_OK;
}

/* Sizes of arrays in bytes. allocated: whole arrays; touched: only the parts that trials write, for which the process
 * needs memory. touched is smaller, because the lists of non-zeros of hidden layers have room for all entries but hold
 * few. */
struct space_bytes {
    double allocated, touched;
};

static void add_bytes(struct space_bytes *to, double allocated, double touched)
{
    to->allocated += allocated;
    to->touched += touched;
}

/* Bytes of a space. bounds: whether trials compute guarantees, which read the maps of all codes. */
static struct space_bytes space_bytes(const struct pathways_case *plan, double nonzeros, bool bounds)
{
    struct space_needs needs = needs_of(plan, false);
    bool hadamard = plan->family == PATHWAYS_HADAMARD, pursuit = plan->rule.decoder == DECODER_PURSUIT;
    const struct dictionary_shape *first = &plan->shape[0];
    double signal = (double)first->height * first->width * first->inputs, most = signal, analysis = 1, dense = 0;
    double own = (double)first->height * first->width * first->filters;
    struct space_bytes b = {0, 0};
    for (int l = 0; l < plan->layers; l++) {
        const struct dictionary_shape *s = &plan->shape[l];
        double positions = (double)s->height * s->width, atoms = positions * s->filters;
        most = fmax(most, atoms);
        analysis = fmax(analysis, hadamard ? 1 : dictionary_shape_scratch(s));
        dense = fmax(dense, pursuit ? positions * s->inputs + 2 * atoms : 0);
        add_bytes(&b, 4 * atoms, bounds || pursuit || l + 1 < plan->layers ? 4 * atoms : 0);
        add_bytes(&b, (l + 1 < plan->layers ? 8 * atoms : 0) + atoms / 8, atoms / 8);
    }
    double scratch = needs.scratch ? 4 * fmax(analysis + dense, most) : 0, sparse = pursuit ? 8 * most : 0;
    double code = needs.code ? 4 * most : 0, list = nonzeros * (9 + 2 * (double)sizeof(struct banded_term));
    double others = most / 8 + (needs.signal ? 4 * signal : 0) + (needs.noise ? 4 * (signal + own) : 0);
    add_bytes(&b, code + list + others, code + list + others);
    add_bytes(&b, scratch + sparse, scratch);
    add_bytes(&b, needs.whole ? 8 * most : 8 * nonzeros, 8 * nonzeros);
    add_bytes(&b, needs.sums ? 16 * most : 0, plan->signs == SIGNS_ADVERSARIAL ? 8 * most : 0);
    return b;
}

double scenario_bytes(const struct pathways_case *plan, double nonzeros, bool bounds, int threads)
{
    /* A job may allocate 1.5 times its estimate (trainer/job_memory.h). */
    static const double HALF_AGAIN = 1.5;
    double bytes = 0, while_drawn = 0, largest = 0;
    for (int l = 0; l < plan->layers && plan->family != PATHWAYS_HADAMARD; l++) {
        const struct dictionary_shape *s = &plan->shape[l];
        while_drawn = fmax(while_drawn, bytes + dictionary_shape_bytes(s) + dictionary_draw_bytes(s));
        bytes += dictionary_shape_bytes(s);
        largest = fmax(largest, (double)s->height * s->width * s->filters);
    }
    struct space_bytes space = space_bytes(plan, nonzeros, bounds);
    double guarantee = bounds ? 8 * largest : 0; /* pathway_guarantee() needs a double for each entry of a code */
    double trials = fmax(space.touched + guarantee, (space.allocated + guarantee) / HALF_AGAIN);
    double charts = threads * space.touched + PATHWAYS_CHART_BYTES;
    return fmax(while_drawn, bytes + fmax(threads * trials, charts));
}

void trial_space_destroy(struct trial_space *t)
{
    if (!t)
        return;
    free(t->map[0]);
    for (int l = 0; l < PATHWAYS_DEPTH; l++) {
        free(t->map[l + 1]);
        free_spikes(&t->truth[l]);
        free(t->signs[l]);
    }
    free_spikes(&t->found);
    free(t->code);
    free(t->noise);
    free(t->scratch);
    free(t->sums);
    free(t->taken);
    free(t->flips);
    free(t->terms);
    free(t);
}
