/* Draws samples. First it draws all bases. Then it draws for each planted motif: the model, the position, a matrix with
 * probability proportional to its weight, and a base for each column with probability proportional to the base's entry.
 * The word is drawn again until it binds. */
#include "core/data/splicing/splicing_planted.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/mt19937.h"

enum { TRIES = 16, SCAN = 256, SMALL = 8 };

/* ---- built-in models ------------------------------------------------------------------------------- */

struct small_model {
    const char *name, *words[2];
    struct splicing_effect effect;
};

/* Built-in models of proteins: name, words, effects. No word resembles a shifted copy of another word or of a core word
 * (core_words). The proteins form four pairs with opposite effects. */
static const struct small_model small[SMALL] = {
    {"GAAGR", {"tGAAGACg", "cGAAGCAa"}, {1, -1, -1, 1}},  {"TAGGG", {"aTAGGGTa", "gTAGGGCt"}, {-1, 1, 1, -1}},
    {"TGCATG", {"tTGCATGa", "cTGCATGc"}, {1, 1, -1, -1}}, {"CACACC", {"aCACACCg", "gCACACCt"}, {-1, -1, 1, 1}},
    {"TGTAAA", {"cTGTAAAt", "aTGTATAc"}, {1, 1, 1, 1}},   {"CCGGAT", {"gCCGGATc", "aCCGGTTc"}, {-1, -1, -1, -1}},
    {"ACTAAC", {"tACTAACt", "gACTAACa"}, {1, -1, 1, -1}}, {"GCGTCG", {"aGCGTCGg", "tGCGACGa"}, {-1, 1, -1, 1}},
};

/* The cores: the motif at an acceptor (3P) and at a donor (5P). The splice site is the G of AG in 3P and the G of GT in
 * 5P. */
static const char *const core_names[2] = {"3P", "5P"};
static const char *const core_words[2][2] = {{"tCTTTCAGg", "tTCTTCAGa"}, {"cAGGTAAGt", "aAGGTGAGt"}};
/* distance from the middle of the word (column 4 of the columns 0 to 8) to the site, in bases */
static const int core_sites[2] = {3, -1};

static enum status add_cores(struct splicing_planted *domain, double threshold, struct error *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; !status && i < 2; i++) {
        domain->core_site[i] = core_sites[i];
        domain->cores++;
        status = affinity_add_words(&domain->motifs, core_names[i], core_words[i], 2, threshold, err);
    }
    return status;
}

static const double SMALL_THRESHOLD =
    /* Threshold of the affinity. A model's first word has the affinity 5, its second word 3, and each of the two soft
     * bases of a word that is replaced by its partner (A-G, C-T) multiplies this by 0.6. So in the first word both may
     * be replaced (1.8), in the second word only one (1.8). */
    1.7;

enum status splicing_planted_small(struct splicing_planted *domain, int proteins, struct error *err)
{
    *domain = (struct splicing_planted){.length = 1000, .spacing = 40, .reach = 80};
    if (proteins < 2 || proteins > SMALL)
        return error_set(err, STATUS_INVALID, NULL, "there are 2 to %d small models; got %d", SMALL, proteins);
    enum status status = STATUS_OK;
    domain->effect = calloc((size_t)proteins, sizeof *domain->effect);
    if (domain->effect == NULL)
        status = error_memory(err, "the models");
    for (int i = 0; !status && i < proteins; i++) {
        domain->effect[i] = small[i].effect;
        status = affinity_add_words(&domain->motifs, small[i].name, small[i].words, 2, SMALL_THRESHOLD, err);
    }
    if (!status)
        status = add_cores(domain, SMALL_THRESHOLD, err);
    if (status)
        splicing_planted_close(domain);
    return status;
}

void splicing_planted_close(struct splicing_planted *domain)
{
    affinity_close(&domain->motifs);
    free(domain->effect);
    domain->effect = NULL;
}

/* ---- models of a folder ----------------------------------------------------------------------------- */

static void random_bases(struct mt19937 *rng, uint8_t *bases, int length)
{
    for (int i = 0; i < length; i++)
        bases[i] = (uint8_t)mt19937_integer(rng, 0, SPLICING_BASES);
}

static enum status calibrate(struct affinity_set *set, double background, struct error *err)
{
    enum { BASES = 200000 };
    uint8_t *bases = malloc(BASES);
    struct mt19937 rng;
    if (bases == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to calibrate");
    mt19937_init(&rng, 0);
    random_bases(&rng, bases, BASES);
    struct splicing_sequence sequence = {bases, BASES};
    enum status status = affinity_calibrate(set, &sequence, 1, 64, background, err);
    free(bases);
    return status;
}

enum status splicing_planted_folder(struct splicing_planted *domain, const char *folder, int proteins,
                                    double background, struct error *err)
{
    *domain = (struct splicing_planted){.length = 1000, .spacing = 40, .reach = 80};
    enum status status = affinity_add_folder(&domain->motifs, folder, err);
    if (!status && domain->motifs.proteins < proteins)
        status = error_set(err, STATUS_NOT_FOUND, NULL, "there are %d affinity files; %d are wanted",
                           domain->motifs.proteins, proteins);
    if (!status) {
        affinity_keep(&domain->motifs, proteins);
        status = calibrate(&domain->motifs, background, err);
    }
    if (!status && (domain->effect = calloc((size_t)proteins, sizeof *domain->effect)) == NULL)
        status = error_memory(err, "the effects");
    struct mt19937 rng;
    mt19937_init(&rng, 1);
    for (int i = 0; !status && i < proteins; i++) {
        int8_t *effect[4] = {&domain->effect[i].donor_upstream, &domain->effect[i].donor_downstream,
                             &domain->effect[i].acceptor_upstream, &domain->effect[i].acceptor_downstream};
        for (int j = 0; j < 4; j++)
            *effect[j] = mt19937_integer(&rng, 0, 2) ? 1 : -1;
    }
    if (!status)
        status = add_cores(domain, SMALL_THRESHOLD, err);
    if (status)
        splicing_planted_close(domain);
    return status;
}

void splicing_planted_proteins_only(struct splicing_planted *domain)
{
    affinity_keep(&domain->motifs, splicing_planted_proteins(domain));
    domain->cores = 0;
}

/* ---- planting ---------------------------------------------------------------------------------------- */

static void draw_word(struct mt19937 *rng, const struct affinity_protein *protein, uint8_t *word)
{
    double weights[AFFINITY_MATRICES];
    for (int m = 0; m < protein->matrices; m++)
        weights[m] = protein->matrix[m].weight;
    const struct affinity_matrix *matrix = &protein->matrix[mt19937_weighted(rng, weights, protein->matrices)];
    for (int c = 0; c < protein->columns; c++)
        word[c] = (uint8_t)mt19937_weighted(rng, matrix->entry[c], SPLICING_BASES);
}

static void plant(struct mt19937 *rng, const struct splicing_planted *domain, uint8_t *bases)
{
    const struct affinity_protein *protein = &domain->motifs.protein[mt19937_choice(rng, domain->motifs.proteins)];
    uint8_t word[AFFINITY_COLUMNS];
    double affinity = -INFINITY;
    int at = (int)mt19937_integer(rng, 0, domain->length - protein->columns + 1);
    for (int i = 0; i < TRIES && affinity <= protein->threshold; i++) {
        draw_word(rng, protein, word);
        affinity_score(protein, word, protein->columns, (protein->columns - 1) / 2, 1, &affinity);
    }
    memcpy(bases + at, word, (size_t)protein->columns);
}

/* ---- reading ----------------------------------------------------------------------------------------- */

struct reader {
    const struct splicing_planted *domain;
    struct affinity_hit *hit;
    int hits;
};

/* Hit `i` is a core. Returns the sum of the effects of all proteins that are bound within d->reach of this core. */
static int effects(const struct reader *r, int i, bool donor)
{
    const struct splicing_planted *d = r->domain;
    int sum = 0, at = r->hit[i].position, proteins = splicing_planted_proteins(d);
    for (int step = -1; step <= 1; step += 2)
        for (int j = i + step; j >= 0 && j < r->hits && abs(r->hit[j].position - at) <= d->reach; j += step) {
            if (r->hit[j].protein >= proteins || r->hit[j].position == at)
                continue;
            const struct splicing_effect *e = &d->effect[r->hit[j].protein];
            bool upstream = r->hit[j].position < at;
            sum += donor ? (upstream ? e->donor_upstream : e->donor_downstream)
                         : (upstream ? e->acceptor_upstream : e->acceptor_downstream);
        }
    return sum;
}

static void add_box(const struct splicing_planted *d, const struct affinity_hit *hit, struct splicing_truth *truth)
{
    if (hit->position < d->flank || hit->position >= d->length - d->flank)
        return;
    int from = hit->position - SPLICING_REACH, to = hit->position + SPLICING_REACH + 1;
    if (truth->count < truth->room)
        truth->boxes[truth->count] = (struct box){.symbol = hit->protein,
                                                  .row0 = 0,
                                                  .row1 = 1,
                                                  .col0 = from > 0 ? from : 0,
                                                  .col1 = to < d->length ? to : d->length,
                                                  .row = 0,
                                                  .col = hit->position};
    truth->count++;
}

static void read_hits(const struct reader *r, uint8_t *classes, struct splicing_truth *truth)
{
    const struct splicing_planted *d = r->domain;
    int proteins = splicing_planted_proteins(d);
    for (int i = 0; i < r->hits; i++) {
        if (truth != NULL)
            add_box(d, &r->hit[i], truth);
        int core = d->cores > 0 ? r->hit[i].protein - proteins : -1,
            at = core >= 0 ? r->hit[i].position + d->core_site[core] : -1;
        if (classes != NULL && at >= d->flank && at < d->length - d->flank && effects(r, i, core == 1) > 0)
            classes[at] = core == 1 ? SITE_DONOR : SITE_ACCEPTOR;
    }
}

enum status splicing_planted_read(const struct splicing_planted *domain, const uint8_t *bases, uint8_t *classes,
                                  struct splicing_truth *truth, struct error *err)
{
    const int length = domain->length;
    struct affinity_hit few[SCAN], *more = NULL;
    if (truth != NULL)
        truth->count = 0;
    if (classes != NULL)
        memset(classes, SITE_NONE, (size_t)length);
    struct reader r = {domain, few, affinity_scan(&domain->motifs, bases, length, 0, length, few, SCAN)};
    if (r.hits > SCAN) {
        more = malloc((size_t)r.hits * sizeof *more);
        if (more == NULL)
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d motifs", r.hits);
        (void)affinity_scan(&domain->motifs, bases, length, 0, length, more, r.hits);
        r.hit = more;
    }
    read_hits(&r, classes, truth);
    free(more);
    return STATUS_OK;
}

enum status splicing_planted_sample(const struct splicing_planted *domain, int64_t seed, int64_t index, uint8_t *bases,
                                    uint8_t *classes, struct splicing_truth *truth, struct error *err)
{
    struct mt19937 rng;
    mt19937_init(&rng, mt19937_sample_seed(seed, index));
    random_bases(&rng, bases, domain->length);
    int count = (int)floor(domain->length / domain->spacing + 0.5);
    for (int i = 0; i < count; i++)
        plant(&rng, domain, bases);
    return splicing_planted_read(domain, bases, classes, truth, err);
}
