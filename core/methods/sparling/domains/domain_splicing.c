/* Splice sites as a domain of SPARLING (domain.h), in planted sequences or in windows of real genes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/dataset.h"
#include "core/data/splicing/splicing_genes.h"
#include "core/data/splicing/splicing_planted.h"
#include "core/genomics/genomics.h"
#include "core/methods/sparling/config.h"

/* Planted examples have a seed of their own, so that they differ from all training and test samples. */
enum { EXAMPLE_SEED = -5 };

struct domain_state {
    struct splicing_planted planted; /* generator; for real genes, only its affinity models and sizes are used */
    struct splicing_corpus *corpus;  /* corpus of real genes; NULL: planted sequences */
    int64_t seed, *order[2]; /* order: shuffled indices of the windows of the training set; [0]: for training; [1]: for
                                validation */
    int64_t curriculum;
    int boxes;
};

static const char *const classes[SPLICING_CLASSES] = {"-", "acceptor", "donor"};

static bool planted(const struct splicing_config *c)
{
    return strcmp(c->dataset, "planted") == 0;
}
static bool small_models(const struct splicing_config *c)
{
    return strcmp(c->motifs, "small") == 0;
}

static int whole_length(const struct splicing_config *c)
{
    return (int)(c->length + 2 * c->flank);
}

/* Returns the upper limit of the boxes of a sample. It leaves room for the planted motifs and for positions that
 * proteins bind by chance; further boxes are dropped. */
static int most_boxes(const struct splicing_config *c, int cols)
{
    double besides = small_models(c) ? cols / 64.0 : 8 * c->share * cols * (double)c->proteins;
    return (int)(besides + (planted(c) ? cols / c->spacing : 0)) + 64;
}

static void shape_of(const struct sparling_config *config, struct domain_shape *shape)
{
    const struct splicing_config *c = &config->splicing;
    int cols = whole_length(c);
    *shape = (struct domain_shape){
        .channels = SPLICING_BASES,
        .rows = 1,
        .cols = cols,
        .symbols = (int)c->proteins + (planted(c) ? 2 : 0),
        .tokens = SPLICING_CLASSES,
        .longest = cols,
        .positions = true,
        .margin = (int)c->flank,
        .trivial = planted(c) ? 2 : 0,
        .boxes = most_boxes(c, cols),
        .picture_rows = 48,
    };
}

static void check_name(const char *field, const char *name, const struct method_faults *faults)
{
    if (!dataset_name_good(name))
        method_fault(faults, field, "must be a name of small letters, digits, '.', '-' and '_'");
}

static void domain_splicing_check(const struct sparling_config *config, const struct method_faults *faults)
{
    const struct splicing_config *c = &config->splicing;
    check_name("splicing_dataset", c->dataset, faults);
    check_name("splicing_motifs", c->motifs, faults);
    if (whole_length(c) > 40000)
        method_fault(faults, "splicing_flank",
                     "must be small enough that the sequence with both flanks has at most 40000 bases; got %.0f",
                     (double)whole_length(c));
    if (small_models(c) && c->proteins > 8)
        method_fault(faults, "splicing_proteins", "must be at most 8 with the small models; got %.0f",
                     (double)c->proteins);
}

static enum status domain_splicing_resolve(struct sparling_config *config, const struct method_given *given,
                                           const char *data, struct error *err)
{
    const struct splicing_config *c = &config->splicing;
    char folder[DATASET_PATH];
    struct error cause = {0};
    if (!dataset_name_good(c->dataset) || !dataset_name_good(c->motifs))
        return STATUS_OK; /* domain_splicing_check() reports a name that is not possible */
    enum status status = planted(c) ? STATUS_OK : dataset_folder(data, c->dataset, folder, &cause);
    if (status)
        return error_set(err, status, "/config/splicing_dataset", "%s", cause.message);
    status = small_models(c) ? STATUS_OK : dataset_folder(data, c->motifs, folder, &cause);
    return status ? error_set(err, status, "/config/splicing_motifs", "%s", cause.message) : STATUS_OK;
}

static enum status open_models(struct domain_state *s, const struct splicing_config *c, const char *data,
                               struct error *err)
{
    char folder[DATASET_PATH];
    struct error cause = {0};
    if (small_models(c))
        return splicing_planted_small(&s->planted, (int)c->proteins, err);
    enum status status = dataset_folder(data, c->motifs, folder, &cause);
    if (!status)
        status = splicing_planted_folder(&s->planted, folder, (int)c->proteins, c->share, &cause);
    return status ? error_set(err, status, "/config/splicing_motifs", "%s", cause.message) : STATUS_OK;
}

/* Sets each protein's threshold so that the protein binds at a share `splicing_share` of the positions in the test set.
 */
static enum status calibrate(struct domain_state *s, const struct splicing_config *c, struct error *err)
{
    enum { MOST = 1000 }; /* upper limit of the windows that are read */
    int64_t windows = splicing_corpus_windows(s->corpus, true), count = windows < MOST ? windows : MOST;
    size_t whole = (size_t)whole_length(c);
    uint8_t *bases = malloc(((size_t)count + 1) * whole);
    struct splicing_sequence *sequence = malloc((size_t)count * sizeof *sequence);
    enum status status = STATUS_OK;
    if (!bases || !sequence)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to calibrate");
    for (int64_t i = 0; !status && i < count; i++) {
        sequence[i] = (struct splicing_sequence){bases + (size_t)i * whole, (int)whole};
        splicing_corpus_read(s->corpus, true, i, bases + (size_t)i * whole, bases + (size_t)count * whole);
    }
    if (!status)
        status = affinity_calibrate(&s->planted.motifs, sequence, (int)count, (int)c->flank, c->share, err);
    free(bases);
    free(sequence);
    return status;
}

static enum status open_corpus(struct domain_state *s, const struct sparling_config *config, const char *data,
                               struct error *err)
{
    const struct splicing_config *c = &config->splicing;
    char folder[DATASET_PATH];
    struct error cause = {0};
    enum status status = dataset_folder(data, c->dataset, folder, &cause);
    if (!status)
        status = splicing_corpus_open(folder, strcmp(c->source, "any") == 0 ? NULL : c->source, (int)c->length,
                                      (int)c->flank, &s->corpus, &cause);
    if (status)
        return error_set(err, status, "/config/splicing_dataset", "%s", cause.message);
    splicing_planted_proteins_only(&s->planted);
    s->seed = config->seed;
    size_t windows = (size_t)splicing_corpus_windows(s->corpus, false);
    for (int i = 0; !status && i < 2; i++) {
        s->order[i] = malloc(windows * sizeof *s->order[i]);
        if (!s->order[i])
            return error_memory(err, "the order of the windows");
        status = splicing_corpus_order(s->corpus, i == 0 ? s->seed : -1, s->order[i], err);
    }
    return status ? status : calibrate(s, c, err);
}

static void close_splicing(struct domain_state *state)
{
    if (!state)
        return;
    splicing_planted_close(&state->planted);
    splicing_corpus_close(state->corpus);
    free(state->order[0]);
    free(state->order[1]);
    free(state);
}

static void add_models(const struct affinity_set *set, struct hash *hash)
{
    for (int i = 0; i < set->proteins; i++) {
        const struct affinity_protein *p = &set->protein[i];
        hash_add(hash, p->name, strlen(p->name) + 1);
        hash_add(hash, &p->columns, sizeof p->columns);
        hash_add(hash, &p->threshold, sizeof p->threshold);
        for (int m = 0; m < p->matrices; m++) {
            hash_add(hash, &p->matrix[m].weight, sizeof p->matrix[m].weight);
            hash_add(hash, p->matrix[m].entry, (size_t)p->columns * sizeof p->matrix[m].entry[0]);
        }
    }
}

/* Adds the number of windows and an even selection of windows to the hash. A file may have gigabytes, so the hash does
 * not cover all windows. */
static enum status add_windows(const struct splicing_corpus *corpus, bool test, size_t whole, struct hash *hash,
                               struct error *err)
{
    enum { SOME = 256 };
    int64_t windows = splicing_corpus_windows(corpus, test), count = windows < SOME ? windows : SOME;
    uint8_t *bases = malloc(2 * whole);
    enum status status = bases ? STATUS_OK : error_memory(err, "a window");
    hash_add(hash, &windows, sizeof windows);
    for (int64_t i = 0; !status && i < count; i++) {
        splicing_corpus_read(corpus, test, i * windows / count, bases, bases + whole);
        hash_add(hash, bases, 2 * whole);
    }
    free(bases);
    return status;
}

static enum status digest_of(const struct domain_state *s, unsigned char digest[HASH_BYTES], struct error *err)
{
    struct hash hash;
    enum status status = STATUS_OK;
    hash_init(&hash);
    add_models(&s->planted.motifs, &hash);
    for (int test = 0; s->corpus && !status && test < 2; test++)
        status = add_windows(s->corpus, test, (size_t)s->planted.length, &hash, err);
    hash_finish(&hash, digest);
    return status;
}

static enum status open_splicing(const struct sparling_config *config, const char *data, struct domain_state **state,
                                 struct error *err)
{
    const struct splicing_config *c = &config->splicing;
    struct domain_shape shape;
    struct domain_state *s = calloc(1, sizeof *s);
    if (!s)
        return error_memory(err, "a domain");
    enum status status = open_models(s, c, data, err);
    shape_of(config, &shape);
    s->planted.length = shape.cols;
    s->planted.flank = shape.margin;
    s->planted.spacing = c->spacing;
    s->planted.reach = (int)c->reach;
    s->boxes = shape.boxes;
    s->curriculum = config->curriculum;
    if (!status && !planted(c))
        status = open_corpus(s, config, data, err);
    if (status) {
        close_splicing(s);
        return status;
    }
    *state = s;
    return STATUS_OK;
}

/* Writes a class for each base; the flanks have no label (-1). */
static void set_labels(const struct splicing_planted *p, const uint8_t *site, struct domain_truth *truth)
{
    truth->length = p->length;
    for (int i = 0; i < p->length; i++)
        truth->label[i] = i < p->flank || i >= p->length - p->flank ? -1 : site[i];
}

/* The curriculum begins with motifs far apart, so that one protein alone decides about a site. */
static struct splicing_planted domain_splicing_lesson(const struct domain_state *state,
                                                      const struct domain_request *request)
{
    const double widest = 4;
    struct splicing_planted planted = state->planted;
    if (request->set == DOMAIN_LESSON && request->seen < state->curriculum)
        planted.spacing *= widest - (widest - 1) * (double)request->seen / (double)state->curriculum;
    return planted;
}

/* Reads a window of real genes and the motifs in it. */
static enum status read_window(const struct domain_state *s, const struct domain_request *request, uint8_t *bases,
                               uint8_t *site, struct splicing_truth *motifs, struct error *err)
{
    bool ordered = request->set != DOMAIN_EXAMPLE && (request->seed == s->seed || request->seed == -1);
    int64_t at = request->index % splicing_corpus_windows(s->corpus, !ordered);
    if (ordered)
        at = s->order[request->seed != s->seed][at];
    enum status status = STATUS_OK;
    splicing_corpus_read(s->corpus, !ordered, at, bases, site);
    /* Training samples get no motifs: training does not use them, and finding them takes long, because it computes the
     * affinities of all proteins. */
    if (motifs && request->set == DOMAIN_LESSON)
        motifs->count = 0;
    else if (motifs)
        status = splicing_planted_read(&s->planted, bases, NULL, motifs, err);
    return status;
}

static enum status domain_splicing_sample(const struct domain_state *state, const struct domain_request *request,
                                          float *planes, struct domain_truth *truth, struct error *err)
{
    const struct splicing_planted drawn = domain_splicing_lesson(state, request), *p = &drawn;
    uint8_t *bases = malloc(2 * (size_t)p->length), *site = bases ? bases + p->length : NULL;
    if (!bases)
        return error_memory(err, "a sequence");
    struct splicing_truth motifs = {.room = state->boxes, .boxes = truth ? truth->box : NULL};
    struct splicing_truth *wanted = truth ? &motifs : NULL;
    int64_t seed = request->set == DOMAIN_EXAMPLE ? EXAMPLE_SEED : request->seed;
    enum status status = state->corpus ? read_window(state, request, bases, site, wanted, err)
                                       : splicing_planted_sample(p, seed, request->index, bases, site, wanted, err);
    if (!status)
        splicing_planes(bases, p->length, planes);
    if (!status && truth) {
        set_labels(p, site, truth);
        truth->boxes = motifs.count < motifs.room ? motifs.count : motifs.room;
    }
    free(bases);
    return status;
}

/* Returns the mean number of motifs of some examples. It counts planted motifs and positions that bind by chance. The
 * flanks have no boxes, so the mean is scaled up from the other positions to the whole map. */
static double mean_symbols(const struct domain_state *state)
{
    enum { SEQUENCES = 100 };
    const struct splicing_planted *p = &state->planted;
    uint8_t *bases = malloc(2 * (size_t)p->length);
    int64_t motifs = 0;
    bool sound = bases != NULL;
    for (int i = 0; sound && i < SEQUENCES; i++) {
        struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = i};
        struct splicing_truth truth = {0};
        sound = !(state->corpus ? read_window(state, &request, bases, bases + p->length, &truth, NULL)
                                : splicing_planted_sample(p, EXAMPLE_SEED, i, bases, NULL, &truth, NULL));
        motifs += truth.count;
    }
    free(bases);
    return sound ? (double)motifs / SEQUENCES * p->length / (p->length - 2 * p->flank) : NAN;
}

static const char *symbol(const struct domain_state *state, int symbol)
{
    const struct affinity_set *set = &state->planted.motifs;
    return symbol >= 0 && symbol < set->proteins ? set->protein[symbol].name : NULL;
}

static const char *class_name(const struct domain_state *state, int token)
{
    (void)state;
    return token >= 0 && token < SPLICING_CLASSES ? classes[token] : NULL;
}

static enum status domain_splicing_prepare(const struct domain_state *state, const struct method_input *input,
                                           float *planes, struct error *err)
{
    struct domain_shape shape = {.channels = SPLICING_BASES, .rows = 1, .cols = state->planted.length};
    return domain_planes(&shape, input, 0, 1, "one-hot A, C, G, T", planes, err);
}

/* Draws four stripes, from A at the top to T at the bottom. */
static void domain_splicing_grey(const struct domain_state *state, const float *planes, float *out)
{
    enum { ROWS = 48 };
    size_t length = (size_t)state->planted.length;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < length; i++)
            out[row * length + i] = 0.35F * planes[row * SPLICING_BASES / ROWS * length + i];
}

static const struct alphabet *alphabet(const struct domain_state *state)
{
    (void)state;
    return genomics.rna;
}

const struct domain splicing_domain = {
    .name = "splicing",
    .meaning = "RNA with planted motifs or of real genes, labelled at every base as donor, acceptor or neither.",
    DOMAIN_PART(splicing),
    .shape = shape_of,
    .resolve = domain_splicing_resolve,
    .check = domain_splicing_check,
    .open = open_splicing,
    .close = close_splicing,
    .digest = digest_of,
    .sample = domain_splicing_sample,
    .mean_symbols = mean_symbols,
    .symbol = symbol,
    .token = class_name,
    .alphabet = alphabet,
    .prepare = domain_splicing_prepare,
    .grey = domain_splicing_grey,
};
