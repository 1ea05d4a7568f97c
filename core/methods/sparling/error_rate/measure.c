/* Reads the inputs of the validation part, and computes from them the negatives of each channel (measure.h). */
#include "core/methods/sparling/error_rate/measure.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/methods/sparling/error_rate/separate.h"
#include "core/methods/sparling/queries/annotation.h"
#include "core/methods/sparling/run_state.h"

/* Generated inputs from this index on: validations read fewer. */
enum { FRESH = 1 << 24 };

/* A mark of one of the inputs. */
struct seen {
    int channel, input;
    float value;
    unsigned char rank;
};

/* What the part has read so far. */
struct measured {
    struct association pairs; /* which channels have a mark, and which names are in the label */
    unsigned char *marks;     /* [channels][MEASURE_SAMPLES] number of marks, at most 255 */
    float *score;             /* [channels][MEASURE_SAMPLES] largest score before the threshold */
    unsigned char *cluster;   /* [MEASURE_SAMPLES] */
    uint64_t *counted;        /* [words] labels that are counts: those above 0 */
    struct seen *seen;
    size_t count; /* number of elements in `seen` */
    bool dense;   /* a map had too many marks to list */
};

/* ---- which inputs -------------------------------------------------------------------------------------- */

/* Number of samples of the validation part; 0: any number, because samples are generated. The records of a part have
 * the indices from 0 on, so the number is found by bisection. */
static int64_t validation_part(const struct method_run *run)
{
    const struct open_domain *d = &run->domain;
    int64_t count = 0;
    for (int64_t step = (int64_t)1 << 32; d->domain->record && step > 0; step /= 2) {
        const struct domain_request last = {.set = DOMAIN_SAMPLE, .seed = VALIDATION_SEED, .index = count + step - 1};
        struct domain_record record;
        if (d->domain->record(d->state, &last, &record))
            count += step;
    }
    return count;
}

/* Number of samples of the validation part that a validation reads. */
static int64_t validated(const struct method_run *run)
{
    return run->config.validation_samples < validation_part(run) ? run->config.validation_samples
                                                                 : validation_part(run);
}

/* Index of the first sample of the part. */
static int64_t negatives_first(const struct method_run *run)
{
    enum { ENOUGH = 300 }; /* as many fresh inputs are enough; otherwise the part takes all inputs */
    int64_t all = validation_part(run), read = validated(run);
    if (all == 0)
        return FRESH;
    return all - read >= ENOUGH ? read : 0;
}

int64_t negatives_samples(const struct method_run *run)
{
    int64_t all = validation_part(run), left = all - negatives_first(run), few = evidence_samples(run);
    if (run->direct || run->domain.shape.positions || run->domain.shape.numbers > 0)
        return 0;
    if (all == 0)
        return few < MEASURE_SAMPLES ? few : MEASURE_SAMPLES;
    return left < MEASURE_SAMPLES ? left : MEASURE_SAMPLES;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

void negatives_drop(struct method_run *run)
{
    struct measured *m = run->evaluation.measured;
    if (!m)
        return;
    association_close(&m->pairs);
    free(m->marks);
    free(m->score);
    free(m->cluster);
    free(m->counted);
    free(m->seen);
    free(m);
    run->evaluation.measured = NULL;
}

/* Writes why no channel has an error rate, if the kind of the target decides it. */
void negatives_begin(struct method_run *run)
{
    struct negatives *n = &run->evaluation.negatives;
    negatives_drop(run);
    negatives_clear(n);
    for (int c = 0; c < n->channels; c++)
        if (run->domain.shape.numbers > 0)
            n->channel[c].why = NEGATIVES_NUMBERS;
        else if (run->domain.shape.positions)
            n->channel[c].why = NEGATIVES_POSITIONS;
}

static enum status begin_measure(struct method_run *run, struct error *err)
{
    size_t channels = (size_t)run->config.channels_motif;
    struct measured *m = calloc(1, sizeof *m);
    run->evaluation.measured = m;
    if (!m)
        return error_memory(err, "the error rates of channels");
    m->marks = calloc(channels, MEASURE_SAMPLES);
    m->score = calloc(channels * MEASURE_SAMPLES, sizeof *m->score);
    m->cluster = calloc(MEASURE_SAMPLES, 1);
    m->counted = calloc((MEASURE_SAMPLES + 63) / 64, sizeof *m->counted);
    if (!m->marks || !m->score || !m->cluster || !m->counted)
        return error_memory(err, "the error rates of channels");
    return association_open(&m->pairs, (int)channels, run->domain.shape.tokens, MEASURE_SAMPLES, err);
}

/* Adds the marks of one input: the motifs that have no stronger motif nearby. */
static enum status add_marks(struct method_run *run, const float *planes, int input, bool *active, struct error *err)
{
    const struct domain_shape *shape = &run->domain.shape;
    struct measured *m = run->evaluation.measured;
    struct arena *arena = run->exec.arena;
    int channels = (int)run->config.channels_motif,
        all = motif_scan(planes, channels, shape->rows, shape->cols, NULL, 0);
    m->dense = m->dense || all > ANNOTATION_MOTIFS;
    if (m->dense)
        return STATUS_OK;
    struct motif *found = arena_alloc(arena, ((size_t)all + 1) * sizeof *found);
    struct read_motif *motifs = arena_zalloc(arena, (size_t)all + 1, sizeof *motifs);
    if (!found || !motifs)
        return error_memory(err, "the error rates of channels");
    motif_scan(planes, channels, shape->rows, shape->cols, found, all);
    for (int i = 0; i < all; i++)
        motifs[i].at = found[i];
    annotation_mark(motifs, all);
    for (int i = 0; i < all; i++) {
        int channel = motifs[i].at.channel;
        unsigned char *marks = &m->marks[(ptrdiff_t)channel * MEASURE_SAMPLES + input];
        if (!motifs[i].maximal)
            continue;
        struct seen *more = grown(m->seen, m->count, sizeof *more);
        if (!more)
            return error_memory(err, "the error rates of channels");
        m->seen = more;
        m->seen[m->count++] = (struct seen){channel, input, motifs[i].at.value, 0};
        *marks = (unsigned char)(*marks + (*marks < 255));
        active[channel] = true;
    }
    return STATUS_OK;
}

/* Stores the largest score of each channel. planes: the scores before the threshold, [channels][rows][cols]. */
static void add_scores(const struct method_run *run, const float *planes, int64_t input)
{
    size_t positions = domain_positions(&run->domain.shape);
    for (int64_t c = 0; c < run->config.channels_motif; c++) {
        float most = planes[(size_t)c * positions];
        for (size_t i = 1; i < positions; i++)
            most = planes[(size_t)c * positions + i] > most ? planes[(size_t)c * positions + i] : most;
        run->evaluation.measured->score[c * MEASURE_SAMPLES + input] = most;
    }
}

/* Adds the label of one input. */
static void add_truth(struct method_run *run, const struct domain_truth *truth, const bool *active, int cluster)
{
    const struct open_domain *d = &run->domain;
    struct measured *m = run->evaluation.measured;
    int64_t at = m->pairs.samples;
    m->cluster[at] = (unsigned char)cluster;
    if (run->presence.counted >= 0 && truth->length > 0 && truth->label[0] >= 0 &&
        d->domain->counts(d->state, truth->label[0]) > 0)
        m->counted[at / 64] |= (uint64_t)1 << (at % 64);
    association_add(&m->pairs, active, truth->label, truth->length);
}

/* Adds a batch of inputs behind those that were read. */
static enum status add_batch(struct method_run *run, const struct batch *batch, struct error *err)
{
    struct exec *x = &run->exec;
    int count = batch->request.count;
    int64_t first = run->evaluation.measured->pairs.samples;
    size_t channels = (size_t)run->config.channels_motif, map = channels * domain_positions(&run->domain.shape);
    exec_begin(x, false, (uint64_t)first);
    struct tensor *motifs = network_motifs(x, run->network, batch->images, count, 1),
                  *scores = network_window(x, run->network, batch->images, count, &run->domain.shape);
    enum status status = exec_status(x, err);
    if (status)
        return status;
    float *planes = arena_alloc(x->arena, (size_t)count * map * sizeof *planes);
    bool *active = arena_alloc(x->arena, channels * sizeof *active);
    if (!planes || !active)
        return error_memory(err, "the error rates of channels");
    tensor_to_planes(scores, planes);
    for (int i = 0; i < count; i++)
        add_scores(run, planes + (size_t)i * map, first + i);
    tensor_to_planes(motifs, planes);
    for (int i = 0; !status && i < count; i++) {
        memset(active, 0, channels * sizeof *active);
        status = extents_move(run, planes + (size_t)i * map, err);
        if (!status)
            status = add_marks(run, planes + (size_t)i * map, (int)first + i, active, err);
        if (!status)
            add_truth(run, &batch->truths[i], active, batch_cluster(&run->domain, batch, i));
    }
    return status;
}

static struct batch_request negatives_request(const struct method_run *run, int64_t position)
{
    int64_t left = negatives_samples(run) - position, first = negatives_first(run) + position;
    return (struct batch_request){.seed = VALIDATION_SEED,
                                  .first = first,
                                  .count = (int)(left < run->piece ? left : run->piece),
                                  .seen = first,
                                  .set = DOMAIN_SAMPLE};
}

enum status negatives_piece(struct method_run *run, int64_t *position, struct error *err)
{
    struct evaluation *e = &run->evaluation;
    int64_t end = e->position + 1;
    enum status status = e->measured ? STATUS_OK : begin_measure(run, err);
    while (!status && e->measured->pairs.samples < end) {
        struct batch_request now = negatives_request(run, e->measured->pairs.samples);
        const struct batch *batch;
        status = batch_source_take(run->source, &now, NULL, &batch, err);
        if (!status)
            status = add_batch(run, batch, err);
    }
    *position = status ? e->position : e->measured->pairs.samples;
    return status;
}

/* ---- the negatives of a channel ---------------------------------------------------------------------- */

static bool bit(const uint64_t *row, int64_t i)
{
    return row[i / 64] >> (i % 64) & 1;
}

/* The bits of a word that belong to inputs. */
static uint64_t bits_of_word(const struct association *pairs, size_t word)
{
    int64_t left = pairs->samples - (int64_t)word * 64;
    return left <= 0 ? 0 : left >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << left) - 1;
}

/* Sets the bits of the inputs whose label has a name of the channel, or lacks the name that the channel is evidence
 * against. Labels that are counts have one name, which the label lacks if it is 0. */
static void find_named(const struct method_run *run, int channel, uint64_t *named)
{
    const struct measured *m = run->evaluation.measured;
    const struct association *pairs = &m->pairs;
    const struct channel_name *name = &run->evaluation.evidence.channels[channel];
    memset(named, 0, pairs->words * sizeof *named);
    for (size_t i = 0; run->presence.counted >= 0 && i < pairs->words; i++)
        named[i] = m->counted[i];
    for (int64_t k = 0; run->presence.counted < 0 && k < name->names; k++)
        for (size_t i = 0; i < pairs->words; i++)
            named[i] |= pairs->present[(size_t)name->token[k] * pairs->words + i] ^
                        (name->strength[k] < 0 ? bits_of_word(pairs, i) : 0);
}

/* Looks for names that the labels do not tell from the channel's name, and for one with which the negatives must be.
 * Sets `why` to NEGATIVES_TOGETHER or leaves it. */
static void separate(const struct method_run *run, int channel, const uint64_t *named, struct channel_negatives *out)
{
    const struct measured *m = run->evaluation.measured;
    const struct association *pairs = &m->pairs;
    const struct channel_name *name = &run->evaluation.evidence.channels[channel];
    const struct separation_inputs inputs = {pairs->samples, named, pairs->active + (size_t)channel * pairs->words,
                                             m->marks + (ptrdiff_t)channel * MEASURE_SAMPLES};
    double most = -1;
    for (int t = 0; run->presence.counted < 0 && t < pairs->tokens; t++) {
        double share = 0;
        if (channel_name_sign(name, t) != 0)
            continue;
        switch (separation_of(&inputs, pairs->present + (size_t)t * pairs->words, NEGATIVES_LEAST, &share)) {
        case SEPARATION_TOGETHER:
            out->why = NEGATIVES_TOGETHER;
            out->companion = t;
            return;
        case SEPARATION_STRATUM:
            out->companion = share > most ? t : out->companion;
            most = share > most ? share : most;
            break;
        case SEPARATION_FREE:
            break;
        }
    }
}

static int falling(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

static int strongest_first(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    if (x->channel != y->channel)
        return x->channel - y->channel;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return x->input - y->input;
}

/* Ranks the marks of each channel in each input. seen: sorted. */
static void rank_marks(struct measured *m)
{
    unsigned char ranks[MEASURE_SAMPLES];
    for (size_t i = 0; i < m->count; i++) {
        if (i == 0 || m->seen[i].channel != m->seen[i - 1].channel)
            memset(ranks, 0, sizeof ranks);
        unsigned char *rank = &ranks[m->seen[i].input];
        *rank = (unsigned char)(*rank + (*rank < 255));
        m->seen[i].rank = *rank;
    }
}

/* Effective number of negatives, from the shares of the groups' inputs in which the channel has a mark. */
static double effective(const struct method_run *run, int channel, const bool *negative)
{
    const struct measured *m = run->evaluation.measured;
    const uint64_t *active = m->pairs.active + (size_t)channel * m->pairs.words;
    int64_t with[CLUSTERS] = {0}, of[CLUSTERS] = {0}, all = 0;
    for (int64_t i = 0; i < m->pairs.samples; i++) {
        of[m->cluster[i]] += negative[i];
        with[m->cluster[i]] += negative[i] && bit(active, i);
        all += negative[i];
    }
    return domain_groups(&run->domain) > 0 ? clusters_of_share(with, of) : (double)all;
}

/* Keeps the strongest marks and the largest scores of the negatives. seen: the marks of the channel. */
static void keep(struct method_run *run, int channel, const bool *negative, const struct seen *seen, size_t count)
{
    struct negatives *n = &run->evaluation.negatives;
    const struct measured *m = run->evaluation.measured;
    struct channel_negatives *out = &n->channel[channel];
    const ptrdiff_t at = (ptrdiff_t)channel * NEGATIVES_MARKS;
    float score[MEASURE_SAMPLES] = {0};
    for (int64_t i = 0; i < m->pairs.samples; i++)
        if (negative[i])
            score[out->inputs++] = m->score[(ptrdiff_t)channel * MEASURE_SAMPLES + i];
    qsort(score, (size_t)out->inputs, sizeof *score, falling);
    out->scores = out->inputs < NEGATIVES_MARKS ? out->inputs : NEGATIVES_MARKS;
    memcpy(n->score + at, score, (size_t)out->scores * sizeof *score);
    for (size_t i = 0; i < count; i++) {
        if (!negative[seen[i].input])
            continue;
        if (out->marks == NEGATIVES_MARKS) {
            out->cut = 1;
            break;
        }
        n->mark[at + out->marks] = seen[i].value;
        n->rank[at + out->marks++] = seen[i].rank;
    }
    out->effective = effective(run, channel, negative);
    if (out->effective < NEGATIVES_LEAST)
        *out = (struct channel_negatives){.why = NEGATIVES_FEW, .companion = -1};
}

static void finish_channel(struct method_run *run, int channel, const struct seen *seen, size_t count)
{
    const struct measured *m = run->evaluation.measured;
    struct channel_negatives *out = &run->evaluation.negatives.channel[channel];
    uint64_t named[(MEASURE_SAMPLES + 63) / 64];
    bool negative[MEASURE_SAMPLES];
    *out = (struct channel_negatives){.why = NEGATIVES_KNOWN, .companion = -1};
    if (m->dense)
        out->why = NEGATIVES_DENSE;
    else if (run->evaluation.evidence.channels[channel].names == 0 && run->presence.counted < 0)
        out->why = NEGATIVES_UNNAMED;
    if (out->why != NEGATIVES_KNOWN)
        return;
    find_named(run, channel, named);
    separate(run, channel, named, out);
    if (out->why != NEGATIVES_KNOWN)
        return;
    const uint64_t *with = out->companion >= 0 ? m->pairs.present + (size_t)out->companion * m->pairs.words : NULL;
    for (int64_t i = 0; i < m->pairs.samples; i++)
        negative[i] = !bit(named, i) && (!with || bit(with, i));
    keep(run, channel, negative, seen, count);
}

enum status negatives_finish(struct method_run *run, struct error *err)
{
    struct measured *m = run->evaluation.measured;
    size_t first = 0, end = 0;
    (void)err;
    if (m->count > 0) /* m->seen is NULL otherwise */
        qsort(m->seen, m->count, sizeof *m->seen, strongest_first);
    rank_marks(m);
    for (int c = 0; c < run->config.channels_motif; c++, first = end) {
        while (end < m->count && m->seen[end].channel == c)
            end++;
        finish_channel(run, c, end > first ? m->seen + first : NULL, end - first);
    }
    negatives_drop(run);
    return STATUS_OK;
}
