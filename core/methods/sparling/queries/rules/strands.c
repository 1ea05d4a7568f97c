/* Measures how the strands of two motifs change the answer. A motif map does not show strands, so this file changes
 * the input: it replaces the bases of a motif's site by their reverse complement, and lets the model read the
 * changed input. */
#include <stdlib.h>

#include "core/methods/sparling/genomics/hooks.h"
#include "core/methods/sparling/queries/rules/rules_int.h"

struct turning {
    struct rules *rules;
    struct site_finder *finder;
    struct strand_site *strongest; /* [channels] strongest site of each channel in the current sample; strand '.': the
                                     sample has none */
    bool *has; /* [1 + channels][names] whether the model answers a name: first for the unchanged sample, then for each
                  channel with its site turned to the other strand */
};

static enum status find_sites(struct turning *t, int length, struct error *err)
{
    struct rules *r = t->rules;
    enum status status = channel_places_move(&r->question->model->places, r->channels, 1, r->cols, r->map, err);
    return status
               ? status
               : sparling_genomics.strongest(t->finder, r->inquiry.planes, r->map, r->cols, length, t->strongest, err);
}

/* Lets the model answer the sample in inquiry.planes. has: [names] whether the answer contains each name. */
static enum status rules_strands_answer(struct rules *r, bool *has, struct error *err)
{
    const struct rule_places places = {{0, 0}};
    enum status status = rules_map(r, err);
    return status ? status : rules_read(r, r->map, 1, &places, has, err);
}

/* Returns whether a channel is the second one of a pair that the query asks for. Only second motifs are turned. */
static bool in_pair(const struct rules *r, int channel)
{
    for (int i = 0; i < r->pairs; i++)
        if (r->pair[i].second.channel == channel)
            return true;
    return false;
}

static void count_pairs(struct turning *t)
{
    const struct rules *r = t->rules;
    size_t names = (size_t)r->names;
    for (int i = 0; i < r->pairs; i++) {
        const struct rule_pair *pair = &r->pair[i];
        const struct strand_site *a = &t->strongest[pair->first.channel], *b = &t->strongest[pair->second.channel];
        if (a->strand == '.' || b->strand == '.' || (a->start < b->end && b->start < a->end))
            continue;
        const bool *now = t->has, *turned = t->has + names * (size_t)(1 + pair->second.channel);
        for (size_t k = 0; k < names; k++)
            rule_counts_strand(&pair->counts[k], a->strand == b->strand ? now[k] : turned[k],
                               a->strand == b->strand ? turned[k] : now[k]);
    }
}

static enum status turn_sample(struct turning *t, int length, struct error *err)
{
    struct rules *r = t->rules;
    enum status status = rules_strands_answer(r, t->has, err);
    if (!status)
        status = find_sites(t, length, err);
    for (int c = 0; !status && c < r->channels; c++) {
        const struct strand_site site = t->strongest[c];
        if (site.strand == '.' || !in_pair(r, c))
            continue;
        genomics.turn(r->inquiry.planes, r->cols, site.start, site.end);
        status = rules_strands_answer(r, t->has + (size_t)r->names * (size_t)(1 + c), err);
        genomics.turn(r->inquiry.planes, r->cols, site.start, site.end);
    }
    if (!status)
        count_pairs(t);
    return status;
}

enum status rules_strands(struct rules *r, struct error *err)
{
    struct turning t = {.rules = r,
                        .strongest = calloc((size_t)r->channels, sizeof *t.strongest),
                        .has = calloc((size_t)(1 + r->channels) * (size_t)r->names, sizeof *t.has)};
    enum status status = sparling_genomics.finder_create(r->question, &t.finder, err);
    if (!status && (!t.strongest || !t.has))
        status = error_memory(err, "rules");
    for (int64_t i = 0; !status && i < r->samples; i++) {
        int length;
        bool end;
        status = work_check(r->question->work, err);
        if (!status)
            status = rules_sample(r, i, &length, &end, err);
        if (!status)
            status = turn_sample(&t, length, err);
    }
    sparling_genomics.finder_destroy(t.finder);
    free(t.strongest);
    free(t.has);
    return status;
}
