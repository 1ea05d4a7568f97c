/* Counts how many samples of the data set contain the two motifs of a pair in each arrangement, for the query "rules".
 *
 * The head of a model has learned nothing about an arrangement that the data do not contain. Its answers about such an
 * arrangement say nothing about the data. If the data set is large, the query reads samples at equal distances. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/queries/rules/rules_int.h"
#include "core/methods/sparling/run_state.h"

/* Limits for the samples that are read. */
enum { MOST_SAMPLES = 10000, MOST_POSITIONS = 4 << 20 };

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

static void find_places(const struct rules *r, int length, struct rule_found *found)
{
    for (int c = 0; c < r->channels; c++) {
        found->count[c] = 0;
        for (int i = 0; i < length && found->count[c] < RULE_PLACES; i++)
            if (r->map[(size_t)c * (size_t)r->cols + (size_t)i] > 0)
                found->centre[c * RULE_PLACES + found->count[c]++] = i;
    }
}

unsigned rules_found(const struct rules *r, int pair, const struct rule_found *found)
{
    const struct rule_pair *p = &r->pair[pair];
    int a = p->first.channel, b = p->second.channel;
    return rule_arrangements(&p->first, found->centre + (ptrdiff_t)a * RULE_PLACES, found->count[a], &p->second,
                             found->centre + (ptrdiff_t)b * RULE_PLACES, found->count[b]);
}

static void count_pairs(struct rules *r, const struct rule_found *found, const struct domain_truth *truth)
{
    (void)truth;
    for (int i = 0; i < r->pairs; i++)
        r->sets[(size_t)i * RULE_SETS + rules_found(r, i, found)]++;
    r->searched++;
}

static enum status read_samples(struct rules *r, struct rule_found *found, struct domain_truth *truth, rules_see see,
                                struct error *err)
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
        status = work_check(r->question->work, err);
        if (!status)
            status = domain_sample(domain, &request, r->inquiry.planes, truth, err);
        if (!status)
            status = rules_map(r, err);
        if (!status)
            status = channel_places_move(&model->places, r->channels, 1, r->cols, r->map, err);
        if (status)
            break;
        find_places(r, record.length, found);
        see(r, found, truth);
    }
    return status;
}

enum status rules_search(struct rules *r, bool labels, rules_see see, struct error *err)
{
    size_t channels = (size_t)r->channels;
    struct rule_found found = {malloc(channels * RULE_PLACES * sizeof *found.centre),
                               calloc(channels, sizeof *found.count)};
    struct domain_truth *truth = NULL;
    enum status status = found.centre && found.count ? STATUS_OK : error_memory(err, "rules");
    if (!status && labels)
        status = domain_truths_create(&r->question->model->domain.shape, 1, &truth, err);
    if (!status)
        status = read_samples(r, &found, truth, see, err);
    domain_truths_destroy(truth);
    free(found.centre);
    free(found.count);
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
    enum status status = rules_search(r, false, count_pairs, err);
    for (int i = 0; !status && i < r->pairs; i++)
        for (int o = 0; o < RULE_ORDERS; o++)
            for (int b = 0; b < RULE_BINS; b++) {
                int one[RULE_ORDERS][RULE_BINS] = {{0}};
                struct rule_evidence *evidence = &r->pair[i].evidence;
                one[o][b] = 1;
                evidence->samples[o][b] = rules_samples(r, i, one);
                evidence->seen[o][b] = evidence->samples[o][b] >= r->asked->support;
            }
    return status;
}
