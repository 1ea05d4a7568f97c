/* Chooses the pairs of motifs that the query "rules" tries. */
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/queries/rules/rules_int.h"

/* PAIRS: largest number of pairs that the query counts in the data set. COUNTS: limit for the entries of the table
 * [pairs][names] of the counts. */
enum { PAIRS = 2048, COUNTS = 1 << 16 };

/* Returns whether the query asks for a pair, and both its motifs occur in enough samples. */
static bool wanted(const struct rules *r, int a, int b)
{
    int64_t one = r->asked->channel, other = r->asked->other;
    bool named = (one < 0 || one == a || one == b) && (other < 0 || other == a || other == b);
    return named && (one < 0 || one != other) && r->with[a] >= RULE_LEAST && r->with[b] >= RULE_LEAST;
}

enum status rules_make_pairs(struct rules *r, struct error *err)
{
    int64_t count = 0;
    for (int a = 0; a < r->channels; a++)
        for (int b = a + 1; b < r->channels; b++)
            count += wanted(r, a, b);
    if (count > PAIRS)
        return error_set(err, STATUS_INVALID, "/channel",
                         "must name a channel, because the %lld pairs of this model are too many for one answer",
                         (long long)count);
    r->pair = calloc((size_t)count + 1, sizeof *r->pair);
    r->sets = calloc((size_t)count * RULE_SETS + 1, sizeof *r->sets);
    r->left = calloc((size_t)count + 1, sizeof *r->left);
    if (!r->pair || !r->sets || !r->left)
        return error_memory(err, "rules");
    for (int a = 0; a < r->channels; a++)
        for (int b = a + 1; b < r->channels; b++) {
            if (!wanted(r, a, b))
                continue;
            r->pair[r->pairs++] = (struct rule_pair){.first = r->motif[a],
                                                     .second = r->motif[b],
                                                     .number = (uint64_t)a << 32 | (uint64_t)b,
                                                     .all = r->asked->channel >= 0 && r->asked->other >= 0};
        }
    return STATUS_OK;
}

int rules_seen_samples(const struct rules *r, int pair)
{
    int seen[RULE_ORDERS][RULE_BINS];
    for (int o = 0; o < RULE_ORDERS; o++)
        for (int b = 0; b < RULE_BINS; b++)
            seen[o][b] = r->pair[pair].evidence.seen[o][b];
    return rules_samples(r, pair, seen);
}

static int by_samples(const void *a, const void *b)
{
    const struct rule_ranked *x = a, *y = b;
    return x->samples != y->samples ? (x->samples < y->samples) - (x->samples > y->samples)
                                    : (x->index > y->index) - (x->index < y->index);
}

void rules_rank(struct rule_ranked *list, int count)
{
    qsort(list, (size_t)count, sizeof *list, by_samples);
}

void rules_drop_pairs(struct rules *r, const bool *stays)
{
    int kept = 0;
    for (int i = 0; i < r->pairs; i++) {
        if (!stays[i])
            continue;
        r->pair[kept] = r->pair[i];
        memmove(r->sets + (size_t)kept * RULE_SETS, r->sets + (size_t)i * RULE_SETS, RULE_SETS * sizeof *r->sets);
        kept++;
    }
    r->pairs = kept;
}

static enum status make_counts(struct rules *r, struct error *err)
{
    r->counts = calloc((size_t)r->pairs * (size_t)r->names + 1, sizeof *r->counts);
    if (!r->counts)
        return error_memory(err, "rules");
    for (int i = 0; i < r->pairs; i++)
        r->pair[i].counts = r->counts + (size_t)i * (size_t)r->names;
    return STATUS_OK;
}

void rules_leave_out(struct rules *r, int pair)
{
    r->left[r->lefts++] = (struct rule_left){r->pair[pair].first.channel, r->pair[pair].second.channel};
}

int rules_limit(const struct rules *r)
{
    int64_t most = r->samples > 0 ? r->asked->trials / r->samples : 1;
    return most > 1 ? (int)most : 1;
}

enum status rules_keep_pairs(struct rules *r, struct error *err)
{
    int most = rules_limit(r), all = r->pairs;
    struct rule_ranked *ranked = calloc((size_t)r->pairs + 1, sizeof *ranked);
    bool *stays = calloc((size_t)r->pairs + 1, sizeof *stays);
    most = most < COUNTS / r->names ? most : COUNTS / r->names;
    if (!ranked || !stays) {
        free(ranked);
        free(stays);
        return error_memory(err, "rules");
    }
    for (int i = 0; i < all; i++)
        ranked[i] = (struct rule_ranked){i, rules_seen_samples(r, i)};
    rules_rank(ranked, all);
    for (int i = 0; i < all; i++) {
        bool named = r->pair[ranked[i].index].all;
        stays[ranked[i].index] = named || (i < most && ranked[i].samples > 0);
        if (!named && i >= most && ranked[i].samples > 0)
            rules_leave_out(r, ranked[i].index);
    }
    rules_drop_pairs(r, stays);
    r->unseen = all - r->pairs - r->lefts;
    free(ranked);
    free(stays);
    return make_counts(r, err);
}
