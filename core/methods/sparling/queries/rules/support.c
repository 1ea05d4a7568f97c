/* Counts how many samples of the data set contain the two motifs of a pair in each arrangement, for the query "rules".
 *
 * The head of a model has learned nothing about an arrangement that the data do not contain. Its answers about such an
 * arrangement say nothing about the data. If the data set is large, the query reads samples at equal distances. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/queries/rules/rules_int.h"
#include "core/methods/sparling/run_int.h"

/* MOST_SAMPLES, MOST_POSITIONS: limits for the samples that are read. MOST_PLACES: motifs of a channel in a sample;
 * further ones are not counted. */
enum { MOST_SAMPLES = 10000, MOST_POSITIONS = 4 << 20, MOST_PLACES = 64 };

struct places {
    int *centre; /* [channels][MOST_PLACES] centres of the motifs in the current sample */
    int *count;  /* [channels] */
};

/* Returns whether the data set has a sample `index`. Generators have no end. */
static bool exists(const struct open_domain *domain, int64_t index)
{
    const struct domain_request request = {.set = DOMAIN_RECORD, .index = index};
    struct domain_record record;
    return !domain->domain->record || domain->domain->record(domain->state, &request, &record);
}

/* Returns the number of samples of the data set, but not more than `most`. */
static int64_t count_samples(const struct open_domain *domain, int64_t most)
{
    int64_t low = 0, high = most; /* the number is in [low, high] */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (exists(domain, middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void find_places(const struct rules *r, int length, struct places *p)
{
    for (int c = 0; c < r->channels; c++) {
        p->count[c] = 0;
        for (int i = 0; i < length && p->count[c] < MOST_PLACES; i++)
            if (r->map[(size_t)c * (size_t)r->cols + (size_t)i] > 0)
                p->centre[c * MOST_PLACES + p->count[c]++] = i;
    }
}

static void count_pairs(const struct rules *r, const struct places *p)
{
    for (int i = 0; i < r->pairs; i++) {
        const struct rule_pair *pair = &r->pair[i];
        int a = pair->first.channel, b = pair->second.channel;
        unsigned found = rule_arrangements(&pair->first, p->centre + (ptrdiff_t)a * MOST_PLACES, p->count[a],
                                           &pair->second, p->centre + (ptrdiff_t)b * MOST_PLACES, p->count[b]);
        r->sets[(size_t)i * RULE_SETS + found]++;
    }
}

static enum status read_samples(struct rules *r, struct places *p, struct error *err)
{
    const struct method_model *model = r->question->model;
    const struct open_domain *domain = &model->domain;
    int64_t most = MOST_POSITIONS / r->cols < MOST_SAMPLES ? MOST_POSITIONS / r->cols : MOST_SAMPLES;
    int64_t all = domain->domain->record ? count_samples(domain, INT_MAX) : most,
            step = all > most ? (all + most - 1) / most : 1;
    enum status status = STATUS_OK;
    for (int64_t i = 0; !status && i < all; i += step) {
        struct domain_request request = {
            .set = domain->domain->record ? DOMAIN_RECORD : DOMAIN_SAMPLE, .seed = TEST_SEED, .index = i};
        struct domain_record record = {.length = r->cols};
        if (domain->domain->record)
            (void)domain->domain->record(domain->state, &request, &record);
        status = method_question_stopped(r->question, err);
        if (!status)
            status = domain_sample(domain, &request, r->inquiry.planes, NULL, err);
        if (!status)
            status = rules_map(r, err);
        if (!status)
            status = channel_places_move(&model->places, r->channels, 1, r->cols, r->map, err);
        if (status)
            break;
        find_places(r, record.length, p);
        count_pairs(r, p);
        r->searched++;
    }
    return status;
}

int rules_samples(const struct rules *r, int pair, const int marks[RULE_ORDERS][RULE_BINS])
{
    unsigned wanted = 0;
    int samples = 0;
    for (int o = 0; o < RULE_ORDERS; o++)
        for (int b = 0; b < RULE_BINS; b++)
            wanted |= marks[o][b] != 0 ? rule_bit(o, b) : 0;
    for (unsigned set = 0; set < RULE_SETS; set++)
        samples += (set & wanted) != 0 ? r->sets[(size_t)pair * RULE_SETS + set] : 0;
    return samples;
}

enum status rules_support(struct rules *r, struct error *err)
{
    size_t channels = (size_t)r->channels;
    struct places p = {malloc(channels * MOST_PLACES * sizeof *p.centre), calloc(channels, sizeof *p.count)};
    enum status status = p.centre && p.count ? read_samples(r, &p, err)
                                             : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for rules");
    for (int i = 0; !status && i < r->pairs; i++)
        for (int o = 0; o < RULE_ORDERS; o++)
            for (int b = 0; b < RULE_BINS; b++) {
                int one[RULE_ORDERS][RULE_BINS] = {{0}};
                struct rule_evidence *evidence = &r->pair[i].evidence;
                one[o][b] = 1;
                evidence->samples[o][b] = rules_samples(r, i, one);
                evidence->seen[o][b] = evidence->samples[o][b] >= r->asked->support;
            }
    free(p.centre);
    free(p.count);
    return status;
}
