/* Collects the evidence for a verdict (evidence.h). One source is the test samples. The other is PART_EVIDENCE, a part
 * of the evaluation in which the final model reads training samples. This part finds out which channel predicts which
 * name. At its end, it reduces the bits and labels of its samples to a few numbers for each channel and each token. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/model/decode.h"
#include "core/methods/sparling/queries/annotation.h"
#include "core/methods/sparling/run_state.h"
#include "core/metrics/edit_distance.h"
#include "core/metrics/interval.h"

enum {
    PAIR_CHANNELS = 256, /* with more channels, their positions are not compared pair by pair */
    PAIR_MOTIFS =
        512 /* samples with more active positions are not compared, because the time grows with their square */
};

/* ---- memory ------------------------------------------------------------------------------------------ */

enum status evidence_open(struct method_run *run, struct error *err)
{
    struct evidence *e = &run->evaluation.evidence;
    size_t channels = (size_t)run->config.channels_motif;
    e->tokens = calloc((size_t)run->domain.shape.tokens, sizeof *e->tokens);
    e->channels = calloc(channels, sizeof *e->channels);
    e->total = calloc(channels, sizeof *e->total);
    e->label = calloc((size_t)EVIDENCE_SAMPLES * DOMAIN_LABEL, sizeof *e->label);
    e->length = calloc(EVIDENCE_SAMPLES, sizeof *e->length);
    e->number = calloc((size_t)EVIDENCE_SAMPLES * (size_t)run->domain.shape.numbers + 1, sizeof *e->number);
    e->cluster = calloc(EVIDENCE_SAMPLES, sizeof *e->cluster);
    bool grouped = domain_groups(&run->domain) > 0;
    if (grouped)
        e->clusters = calloc((size_t)run->domain.shape.tokens, sizeof *e->clusters);
    if (channels <= PAIR_CHANNELS)
        e->near = calloc(channels * channels, sizeof *e->near);
    if (!e->tokens || !e->channels || !e->total || !e->label || !e->length || !e->number || !e->cluster ||
        (grouped && !e->clusters) || (channels <= PAIR_CHANNELS && !e->near))
        return error_memory(err, "the verdict");
    enum status status = association_open(&e->pairs, (int)channels, run->domain.shape.tokens, EVIDENCE_SAMPLES, err);
    if (status)
        return status;
    e->pairs.cluster = grouped ? e->cluster : NULL;
    evidence_clear(run);
    return STATUS_OK;
}

void evidence_close(struct evidence *evidence)
{
    association_close(&evidence->pairs);
    free(evidence->tokens);
    free(evidence->clusters);
    free(evidence->cluster);
    free(evidence->channels);
    free(evidence->near);
    free(evidence->total);
    free(evidence->label);
    free(evidence->length);
    free(evidence->number);
}

void evidence_clear(struct method_run *run)
{
    struct evidence *e = &run->evaluation.evidence;
    size_t channels = (size_t)run->config.channels_motif;
    e->sums = (struct evidence_sums){.low = INFINITY,
                                     .high = -INFINITY,
                                     .trained_low = INFINITY,
                                     .trained_high = -INFINITY,
                                     .constant_exact = NAN,
                                     .constant_edit = NAN,
                                     .chance_exact = NAN,
                                     .chance_edit = NAN,
                                     .shortest = INT64_MAX,
                                     .validations = e->sums.validations};
    for (int t = 0; t < run->domain.shape.tokens; t++)
        e->tokens[t] = (struct evidence_token){.channel = -1, .strength = NAN, .explained = NAN};
    memset(e->unordered, 0, sizeof e->unordered);
    if (e->clusters)
        memset(e->clusters, 0, (size_t)run->domain.shape.tokens * sizeof *e->clusters);
    for (size_t c = 0; c < channels; c++)
        e->channels[c] = (struct channel_name){.whole = NAN, .same = -1};
    association_clear(&e->pairs);
    memset(e->total, 0, channels * sizeof *e->total);
    if (e->near)
        memset(e->near, 0, channels * channels * sizeof *e->near);
}

/* ---- checkpoints --------------------------------------------------------------------------------------- */

enum status evidence_declare(struct method_run *run, struct snapshot *snapshot, struct error *err)
{
    struct evidence *e = &run->evaluation.evidence;
    struct evidence_sums *s = &e->sums;
    const uint64_t channels = (uint64_t)run->config.channels_motif;
    const int tokens = run->domain.shape.tokens;
    const struct snapshot_row rows[] = {
        SNAPSHOT_COLUMNS("evidence.figures", s, 1, low, read),
        SNAPSHOT_NUMBER("evidence.read", &s->read),
        SNAPSHOT_NUMBER("evidence.exact", &s->exact),
        SNAPSHOT_NUMBER("evidence.unordered", &s->unordered),
        SNAPSHOT_NUMBER("evidence.trained", &s->trained),
        SNAPSHOT_NUMBER("evidence.trained_exact", &s->trained_exact),
        SNAPSHOT_NUMBER("evidence.longest", &s->longest),
        SNAPSHOT_NUMBER("evidence.shortest", &s->shortest),
        SNAPSHOT_NUMBER("evidence.validations", &s->validations),
        SNAPSHOT_COLUMN("evidence.curve.samples", e->curve, EVIDENCE_CURVE, samples),
        SNAPSHOT_COLUMN("evidence.curve.density", e->curve, EVIDENCE_CURVE, density),
        SNAPSHOT_COLUMN("evidence.curve.accuracy", e->curve, EVIDENCE_CURVE, accuracy),
        SNAPSHOT_COLUMN("evidence.curve.loss", e->curve, EVIDENCE_CURVE, loss),
        SNAPSHOT_COLUMN("evidence.token.present", e->tokens, tokens, present),
        SNAPSHOT_COLUMN("evidence.token.read", e->tokens, tokens, read),
        SNAPSHOT_COLUMN("evidence.token.both", e->tokens, tokens, both),
        SNAPSHOT_COLUMN("evidence.token.trained", e->tokens, tokens, trained),
        SNAPSHOT_COLUMN("evidence.token.channel", e->tokens, tokens, channel),
        SNAPSHOT_COLUMN("evidence.token.strength", e->tokens, tokens, strength),
        SNAPSHOT_COLUMN("evidence.token.explained", e->tokens, tokens, explained),
        SNAPSHOT_COLUMN("evidence.token.strength_samples", e->tokens, tokens, strength_samples),
        SNAPSHOT_COLUMN("evidence.token.explained_samples", e->tokens, tokens, explained_samples),
        SNAPSHOT_ARRAY(e->clusters ? "evidence.token.clusters" : NULL, (int64_t *)e->clusters, (uint64_t)tokens, 3,
                       CLUSTERS),
        SNAPSHOT_ARRAY("evidence.unordered_clusters", e->unordered, CLUSTERS),
        SNAPSHOT_ARRAY("evidence.active", e->pairs.active, channels, e->pairs.words),
        SNAPSHOT_ARRAY("evidence.total", e->total, channels),
        SNAPSHOT_ARRAY(e->near ? "evidence.near" : NULL, e->near, channels, channels),
    };
    enum status status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
    struct channel_name_list names = {e->channels, (int)channels};
    return status ? status : channel_names_declare(&names, snapshot, err);
}

/* Whether counts to which the run adds are possible. */
static bool sound_counts(const struct evidence *e, int tokens)
{
    const struct evidence_sums *s = &e->sums;
    const int64_t sums[] = {s->read, s->exact, s->unordered, s->trained, s->trained_exact, s->validations};
    bool good = snapshot_counts_sound(sums, sizeof sums / sizeof sums[0]);
    good = good && snapshot_counts_sound(e->unordered, CLUSTERS) &&
           (!e->clusters || snapshot_counts_sound(e->clusters[0].present, (size_t)tokens * 3 * CLUSTERS));
    for (int t = 0; good && t < tokens; t++) {
        const struct evidence_token *token = &e->tokens[t];
        const int64_t counts[] = {token->present, token->read, token->both, token->trained};
        good = snapshot_counts_sound(counts, sizeof counts / sizeof counts[0]);
    }
    return good;
}

static bool sound(const struct method_run *run)
{
    const struct evidence *e = &run->evaluation.evidence;
    bool good = sound_counts(e, run->domain.shape.tokens);
    for (int64_t c = 0; good && c < run->config.channels_motif; c++)
        good = channel_name_sound(&e->channels[c], run->domain.shape.tokens, (int)run->config.channels_motif);
    for (int t = 0; good && t < run->domain.shape.tokens; t++)
        good = e->tokens[t].channel >= -1 && e->tokens[t].channel < run->config.channels_motif;
    return good;
}

static struct domain_request training_sample(const struct method_run *run, int64_t index)
{
    return (struct domain_request){.set = DOMAIN_SAMPLE, .seed = run->config.seed, .index = index, .seen = index};
}

/* Stores the label, or the numbers, of the next sample. */
static void add_label(struct method_run *run, const struct domain_truth *truth)
{
    struct evidence *e = &run->evaluation.evidence;
    int numbers = run->domain.shape.numbers;
    int length = truth->length < DOMAIN_LABEL ? truth->length : DOMAIN_LABEL;
    int64_t at = e->pairs.samples;
    const struct domain_request request = training_sample(run, at);
    e->length[at] = length;
    e->cluster[at] = (unsigned char)domain_cluster(&run->domain, &request);
    for (int i = 0; i < length; i++)
        e->label[at * DOMAIN_LABEL + i] = truth->label[i];
    for (int k = 0; k < numbers; k++)
        e->number[at * numbers + k] = truth->number[k];
}

enum status evidence_loaded(struct method_run *run, struct error *err)
{
    struct evidence *e = &run->evaluation.evidence;
    bool inside = run->activity == ACTIVITY_EVALUATE && run->evaluation.part == PART_EVIDENCE;
    int64_t samples = inside && !run->domain.shape.positions ? run->evaluation.position : 0;
    if (!sound(run) || samples > EVIDENCE_SAMPLES)
        return error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's evidence is inconsistent");
    if (run->presence.channels > run->presence.names)
        channel_names_number(e->channels, e->pairs.channels);
    struct domain_truth *truth = NULL;
    float *planes = samples > 0 ? malloc(domain_inputs(&run->domain.shape) * sizeof *planes) : NULL;
    enum status status = samples > 0 && !planes ? error_memory(err, "the verdict") : STATUS_OK;
    if (!status)
        status = domain_truths_create(&run->domain.shape, 1, &truth, err);
    e->pairs.samples = 0;
    memset(e->pairs.present, 0, (size_t)e->pairs.tokens * e->pairs.words * sizeof *e->pairs.present);
    for (int64_t i = 0; !status && i < samples; i++) {
        struct domain_request request = training_sample(run, i);
        status = domain_sample(&run->domain, &request, planes, truth, err);
        if (!status) {
            add_label(run, truth);
            association_add(&e->pairs, NULL, truth->label, truth->length);
        }
    }
    domain_truths_destroy(truth);
    free(planes);
    return status;
}

/* ---- validations and test samples ----------------------------------------------------------------------- */

void evidence_validated(struct method_run *run, double loss)
{
    struct evidence *e = &run->evaluation.evidence;
    e->curve[e->sums.validations++ % EVIDENCE_CURVE] =
        (struct evidence_point){run->samples, run->annealer.density, run->accuracy, loss};
}

/* Widens the range from *low to *high until it contains all input values of a batch. */
static void evidence_widen(const struct method_run *run, const struct batch *batch, double *low, double *high)
{
    size_t count = (size_t)batch->request.count * domain_inputs(&run->domain.shape);
    for (size_t i = 0; i < count; i++) {
        *low = fmin(*low, (double)batch->images[i]);
        *high = fmax(*high, (double)batch->images[i]);
    }
}

static int count_in(const int32_t *list, int length, int32_t token)
{
    int count = 0;
    for (int i = 0; i < length; i++)
        count += list[i] == token;
    return count;
}

/* Whether two lists have the same tokens in any order. */
static bool same_tokens(const int32_t *a, int a_length, const int32_t *b, int b_length)
{
    bool same = a_length == b_length;
    for (int i = 0; same && i < a_length; i++)
        same = count_in(a, a_length, a[i]) == count_in(b, b_length, a[i]);
    return same;
}

/* For labels that are counts: returns whether the label is at least the count `least`; if `least` is 0, whether the
 * label is 0. */
static bool reaches(const struct method_run *run, const int32_t *label, int length, int32_t least)
{
    const struct open_domain *d = &run->domain;
    if (length == 0 || label[0] < 0 || label[0] >= d->shape.tokens)
        return false;
    int64_t says = d->domain->counts(d->state, label[0]), needs = d->domain->counts(d->state, least);
    return needs > 0 ? says >= needs : says == needs;
}

static void add_reading(struct evidence *e, int32_t name, int cluster, bool present, bool read)
{
    struct evidence_token *token = &e->tokens[name];
    token->present += present;
    token->read += read;
    token->both += present && read;
    if (!e->clusters)
        return;
    e->clusters[name].present[cluster] += present;
    e->clusters[name].read[cluster] += read;
    e->clusters[name].both[cluster] += present && read;
}

/* Adds a sample to three numbers for each count c: the samples whose label is at least c, those whose answer is at
 * least c, and those for which both hold. An answer that is wrong by one is still right for most c. */
static void read_count(struct method_run *run, const struct domain_truth *truth, const int32_t *answer, int length,
                       int cluster)
{
    for (int32_t t = 0; t < run->domain.shape.tokens; t++) {
        bool present = reaches(run, truth->label, truth->length, t), read = reaches(run, answer, length, t);
        add_reading(&run->evaluation.evidence, t, cluster, present, read);
    }
}

static void read_names(struct evidence *e, int tokens, const struct domain_truth *truth, const int32_t *answer,
                       int length, int cluster)
{
    for (int i = 0; i < truth->length; i++)
        if (count_in(truth->label, i, truth->label[i]) == 0)
            add_reading(e, truth->label[i], cluster, true, count_in(answer, length, truth->label[i]) > 0);
    for (int i = 0; i < length; i++)
        if (answer[i] >= 0 && answer[i] < tokens && count_in(answer, i, answer[i]) == 0 &&
            count_in(truth->label, truth->length, answer[i]) == 0)
            add_reading(e, answer[i], cluster, false, true);
}

static void read_sample(struct method_run *run, const struct domain_truth *truth, const int32_t *answer, int length,
                        int cluster)
{
    struct evidence *e = &run->evaluation.evidence;
    bool equal = truth->length == length;
    for (int i = 0; equal && i < length; i++)
        equal = truth->label[i] == answer[i];
    e->sums.read++;
    e->sums.exact += equal;
    bool same = same_tokens(truth->label, truth->length, answer, length);
    e->sums.unordered += same;
    e->unordered[cluster] += same;
    if (run->presence.counted >= 0)
        read_count(run, truth, answer, length, cluster);
    else
        read_names(e, run->domain.shape.tokens, truth, answer, length, cluster);
}

void evidence_read(struct method_run *run, const struct batch *batch, const struct decoded *decoded)
{
    struct evidence *e = &run->evaluation.evidence;
    int32_t answer[DECODE_TOKENS];
    evidence_widen(run, batch, &e->sums.low, &e->sums.high);
    for (int i = 0; decoded && i < batch->request.count; i++) {
        for (int k = 0; k < decoded[i].length; k++)
            answer[k] = decoded[i].tokens[k] - TOKEN_FIRST;
        read_sample(run, &batch->truths[i], answer, decoded[i].length, batch_cluster(&run->domain, batch, i));
    }
}

/* ---- training samples ------------------------------------------------------------------------------------- */

int64_t evidence_samples(const struct method_run *run)
{
    const struct evaluation_row *own = &run->evaluation.row[run->evaluation.rows - 1];
    int64_t most = own->motif_samples + own->test_samples;
    return run->direct ? 0 : most < EVIDENCE_SAMPLES ? (int64_t)most : EVIDENCE_SAMPLES;
}

/* Counts the positions of each channel that have an active position of another channel within ANNOTATION_REACH. */
static void count_pairs(struct evidence *e, const struct motif *motifs, int count)
{
    if (!e->near || count > PAIR_MOTIFS)
        return;
    for (int i = 0; i < count; i++) {
        int last = -1; /* motifs are sorted by channel; each other channel counts once */
        e->total[motifs[i].channel]++;
        for (int j = 0; j < count; j++) {
            int other = motifs[j].channel;
            if (other == motifs[i].channel || other == last || abs(motifs[i].row - motifs[j].row) > ANNOTATION_REACH ||
                abs(motifs[i].col - motifs[j].col) > ANNOTATION_REACH)
                continue;
            e->near[(ptrdiff_t)motifs[i].channel * e->pairs.channels + other]++;
            last = other;
        }
    }
}

/* Sets active[c] for each channel c that has an active position. Leaves the other elements as they are. */
static void find_active(const float *planes, int channels, size_t positions, bool *active)
{
    for (int c = 0; c < channels; c++)
        for (size_t i = 0; i < positions && !active[c]; i++)
            active[c] = planes[(size_t)c * positions + i] > 0;
}

/* Adds one sample. planes: its motif map, [channels][rows][cols]. It makes no list of the motifs of a
 * dense map, because such a list takes several times the memory of the map. */
static enum status add_sample(struct method_run *run, const float *planes, const struct domain_truth *truth,
                              struct error *err)
{
    struct evidence *e = &run->evaluation.evidence;
    const struct domain_shape *shape = &run->domain.shape;
    struct arena *arena = run->exec.arena;
    int channels = e->pairs.channels, all = motif_scan(planes, channels, shape->rows, shape->cols, NULL, 0);
    bool dense = all > ANNOTATION_MOTIFS;
    int listed = dense ? 0 : all;
    struct motif *found = arena_alloc(arena, ((size_t)listed + 1) * sizeof *found);
    struct read_motif *motifs = arena_zalloc(arena, (size_t)listed + 1, sizeof *motifs);
    bool *active = arena_zalloc(arena, (size_t)channels, sizeof *active);
    if (!found || !motifs || !active)
        return error_memory(err, "the verdict");
    motif_scan(planes, channels, shape->rows, shape->cols, found, listed);
    for (int i = 0; i < listed; i++)
        motifs[i].at = found[i];
    annotation_mark(motifs, listed);
    for (int i = 0; i < listed; i++)
        if (motifs[i].maximal)
            active[motifs[i].at.channel] = true;
    if (dense)
        find_active(planes, channels, domain_positions(shape), active);
    count_pairs(e, found, listed);
    add_label(run, truth);
    association_add(&e->pairs, active, truth->label, truth->length);
    return STATUS_OK;
}

/* For labels at every position: counts for each class the positions of a batch that have this class. */
enum status evidence_classes(struct method_run *run, struct tensor *motifs, const struct batch *batch,
                             struct error *err)
{
    struct evidence *e = &run->evaluation.evidence;
    (void)motifs, (void)err;
    for (int i = 0; i < batch->request.count; i++)
        for (int k = 0; k < batch->truths[i].length; k++)
            if (batch->truths[i].label[k] >= 0)
                e->tokens[batch->truths[i].label[k]].trained++;
    return STATUS_OK;
}

enum status evidence_answers(struct method_run *run, struct tensor *motifs, const struct batch *batch,
                             struct error *err)
{
    struct evidence *e = &run->evaluation.evidence;
    int count = batch->request.count;
    struct network_memory memory = network_memory(&run->exec, run->network, motifs);
    struct decoded *decoded = calloc((size_t)count, sizeof *decoded);
    if (!decoded)
        return error_memory(err, "the verdict");
    enum status status =
        decode_greedy(&run->exec, run->network, &memory, count, sparling_decode_steps(&run->config), decoded, err);
    for (int i = 0; !status && i < count; i++) {
        const struct domain_truth *truth = &batch->truths[i];
        e->sums.trained_exact += decoded_equals(&decoded[i], truth->label, truth->length);
        e->sums.longest = truth->length > e->sums.longest ? truth->length : e->sums.longest;
        e->sums.shortest = truth->length < e->sums.shortest ? truth->length : e->sums.shortest;
    }
    free(decoded);
    return status;
}

enum status evidence_add(struct method_run *run, const struct batch *batch, struct error *err)
{
    struct evidence *e = &run->evaluation.evidence;
    struct exec *x = &run->exec;
    evidence_widen(run, batch, &e->sums.trained_low, &e->sums.trained_high);
    e->sums.trained += batch->request.count;
    if (run->domain.shape.positions) /* with a label at every position, channels get no names */
        return run->head->trained(run, NULL, batch, err);
    struct tensor *motifs = network_motifs(x, run->network, batch->images, batch->request.count, 1);
    enum status status = exec_status(x, err);
    if (status)
        return status;
    size_t map = (size_t)motifs->map.channels * (size_t)motifs->map.height * (size_t)motifs->map.width;
    float *planes = arena_alloc(x->arena, (size_t)batch->request.count * map * sizeof *planes);
    if (!planes)
        return error_memory(err, "the verdict");
    tensor_to_planes(motifs, planes);
    for (int i = 0; !status && i < batch->request.count; i++) {
        status = extents_move(run, planes + (size_t)i * map, err);
        if (!status)
            status = add_sample(run, planes + (size_t)i * map, &batch->truths[i], err);
    }
    return status ? status : run->head->trained(run, motifs, batch, err);
}

/* ---- the end of the part ---------------------------------------------------------------------------------- */

static bool same_label(const struct evidence *e, int64_t a, int64_t b)
{
    return e->length[a] == e->length[b] && memcmp(e->label + a * DOMAIN_LABEL, e->label + b * DOMAIN_LABEL,
                                                  (size_t)e->length[a] * sizeof *e->label) == 0;
}

static double label_error(const struct evidence *e, int64_t a, int64_t b)
{
    return edit_error(e->label + a * DOMAIN_LABEL, e->length[a], e->label + b * DOMAIN_LABEL, e->length[b]);
}

/* Measures two answers that need no model: the most frequent label, and the label of another sample. */
static void measure_constants(const struct evidence *e, struct evidence_sums *sums)
{
    int64_t n = e->pairs.samples, best = 0, most = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t equal = 0;
        for (int64_t k = 0; k < n && (k >= i || !same_label(e, i, k));
             k++) /* ends early if an earlier sample k has this label, because the label was counted at i = k */
            equal += k >= i && same_label(e, i, k);
        if (equal > most) {
            most = equal;
            best = i;
        }
    }
    sums->constant_exact = (double)most / (double)n;
    sums->constant_edit = sums->chance_exact = sums->chance_edit = 0;
    for (int64_t i = 0; i < n; i++) {
        sums->constant_edit += label_error(e, best, i) / (double)n;
        sums->chance_exact += (double)same_label(e, i, (i + 1) % n) / (double)n;
        sums->chance_edit += label_error(e, i, (i + 1) % n) / (double)n;
    }
}

double evidence_phi(const struct evidence *evidence, int token)
{
    const struct evidence_token *t = &evidence->tokens[token];
    return association_phi((double)evidence->sums.read, (double)t->present, (double)t->read, (double)t->both);
}

double evidence_phi_samples(const struct method_run *run, int token)
{
    const struct evidence *e = &run->evaluation.evidence;
    const struct evidence_clusters *c = e->clusters ? &e->clusters[token] : NULL;
    return c ? clusters_of_phi(run->evaluation.tested, c->present, c->read, c->both) : (double)e->sums.read;
}

/* With a label at every position, the answer that ignores the input orders the positions at random. This function
 * computes its accuracy for each class: the share of the positions that have the class. */
enum status evidence_prevalence(struct method_run *run, struct error *err)
{
    struct evidence *e = &run->evaluation.evidence;
    struct evidence_sums *sums = &e->sums;
    int tokens = run->domain.shape.tokens;
    double all = 0, share = 0;
    for (int t = 0; t < tokens; t++)
        all += (double)e->tokens[t].trained;
    for (int t = 1; t < tokens && all > 0; t++)
        share += (double)e->tokens[t].trained / all / (tokens - 1);
    sums->constant_exact = sums->chance_exact = share;
    sums->constant_edit = sums->chance_edit = 1 - share;
    return STATUS_OK;
}

/* Finds the other channel that is most often at the positions of `c`. Two channels mark the same positions if most
 * positions of each channel have a position of the other channel nearby. */
static void find_same(const struct evidence *e, int c, struct channel_name *out)
{
    static const double sure = 1.96, most = 0.5;
    int n = e->pairs.channels;
    for (int other = 0; e->near && other < n; other++) {
        double mine = (double)e->near[(ptrdiff_t)c * n + other], theirs = (double)e->near[(ptrdiff_t)other * n + c];
        double all = (double)e->total[c], others = (double)e->total[other];
        if (other == c || all == 0 || others == 0 || mine / all <= out->overlap)
            continue;
        if (interval_share(mine / all, all, sure).low > most &&
            interval_share(theirs / others, others, sure).low > most) {
            out->same = other;
            out->overlap = mine / all;
        }
    }
}

void evidence_alike(struct method_run *run)
{
    struct evidence *e = &run->evaluation.evidence;
    const struct association *a = &e->pairs;
    for (int c = 0; c < a->channels; c++) {
        int64_t active = 0;
        for (size_t i = 0; i < a->words; i++)
            active += __builtin_popcountll(a->active[(size_t)c * a->words + i]);
        e->channels[c] = (struct channel_name){.active = active, .whole = NAN, .same = -1};
        find_same(e, c, &e->channels[c]);
    }
}

/* Names a channel that predicts no name alone, but is one of several channels of a name: a half of the evidence, or
 * evidence against the name. */
static void name_part(const struct method_run *run, int channel, struct channel_name *out)
{
    const struct presence_phase *p = &run->presence;
    const struct network *n = run->network;
    const struct association *a = &run->evaluation.evidence.pairs;
    if (out->names > 0 || channel >= p->channels || presence_spare(run, channel))
        return;
    int token = channel % p->names, first = 0, second = 0, both = 0;
    if (network_parts_used(n, token) < 2)
        return;
    const uint64_t *x = a->active + (size_t)channel * a->words, *y = a->present + (size_t)token * a->words;
    for (size_t i = 0; i < a->words; i++) {
        first += __builtin_popcountll(x[i]);
        second += __builtin_popcountll(y[i]);
        both += __builtin_popcountll(x[i] & y[i]);
    }
    double r = association_phi((double)a->samples, first, second, both), size = isfinite(r) ? fabs(r) : 0;
    bool against = n->presence_effect->value[channel] < 0;
    out->names = 1;
    out->token[0] = token;
    out->strength[0] = out->whole = against ? -fmax(size, 1e-6) : size;
}

enum status evidence_names(struct method_run *run, struct error *err)
{
    struct evidence *e = &run->evaluation.evidence;
    const struct association *a = &e->pairs;
    uint64_t scratch[(EVIDENCE_SAMPLES + 63) / 64];
    measure_constants(e, &e->sums);
    evidence_alike(run);
    for (int c = 0; c < a->channels; c++) {
        struct association_channel of = association_of_channel(a, c);
        struct channel_name *out = &e->channels[c];
        out->whole = of.whole;
        out->names = of.names;
        for (int i = 0; i < of.names; i++) {
            out->token[i] = of.token[i];
            out->strength[i] = of.strength[i];
        }
        name_part(run, c, out);
    }
    if (run->presence.channels > run->presence.names)
        channel_names_number(e->channels, a->channels);
    for (int t = 0; t < a->tokens; t++) {
        struct association_token of = association_of_token(a, t, scratch);
        e->tokens[t].trained = of.present;
        e->tokens[t].channel = of.channel;
        e->tokens[t].strength = of.strength;
        e->tokens[t].explained = of.explained;
        e->tokens[t].strength_samples = of.strength_samples;
        e->tokens[t].explained_samples = of.explained_samples;
    }
    return STATUS_OK;
}

enum status evidence_finish(struct method_run *run, struct error *err)
{
    return run->head->named(run, err);
}
