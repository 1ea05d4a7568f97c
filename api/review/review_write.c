/* Writes the estimate of the false share and the threshold that a review offers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/review/review_set.h"

static const double CONFIDENCE = 0.95;

static void write_members(const struct sink *out, const struct review_estimate *e)
{
    sink_integer(out, "marks", e->marks);
    sink_integer(out, "answers", e->answers);
    sink_integer(out, "yes", e->yes);
    sink_integer(out, "no", e->no);
    sink_integer(out, "unsure", e->unsure);
    sink_number(out, "share", e->share);
    sink_number(out, "low", e->interval.low);
    sink_number(out, "high", e->interval.high);
}

/* Writes the estimate of each name. The marks of a name follow each other. */
static void write_names(const struct sink *out, const struct review_set *set, bool *inside)
{
    const struct review review = review_set_review(set);
    sink_begin_list(out, "names");
    for (int64_t i = 0, end; i < set->count; i = end) {
        struct review_estimate e;
        memset(inside, 0, (size_t)set->count * sizeof *inside);
        for (end = i; end < set->count && strcmp(set->mark[end].name, set->mark[i].name) == 0; end++)
            inside[end] = true;
        review_estimate(&review, inside, 1 - CONFIDENCE, &e);
        sink_begin_object(out, NULL);
        sink_text(out, "name", set->mark[i].name);
        write_members(out, &e);
        sink_end_object(out);
    }
    sink_end_list(out);
}

/* Share of the marks of the same channel that are at least as strong as this one. */
static double rank_of(const struct review_set *set, int64_t mark)
{
    int64_t all = 0, stronger = 0;
    for (int64_t i = 0; i < set->count; i++) {
        if (set->mark[i].channel != set->mark[mark].channel)
            continue;
        all++;
        stronger += set->mark[i].value >= set->mark[mark].value;
    }
    return (double)stronger / (double)all;
}

/* Sets the keys of the marks: q, if most marks have it, or else the rank. Returns whether it is q. */
static bool make_keys(const struct review_set *set, double *key)
{
    int64_t known = 0;
    for (int64_t i = 0; i < set->count; i++)
        known += !isnan(set->mark[i].q);
    for (int64_t i = 0; i < set->count; i++)
        key[i] = 2 * known > set->count ? set->mark[i].q : rank_of(set, i);
    return 2 * known > set->count;
}

static void write_threshold(const struct sink *out, const struct review_set *set, double *key, bool *room)
{
    static const double of_q[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1}, of_rank[] = {0.1, 0.25, 0.5, 0.75, 0.9, 1};
    const struct review review = review_set_review(set);
    struct review_threshold found;
    bool by_q = make_keys(set, key);
    int count = by_q ? (int)(sizeof of_q / sizeof of_q[0]) : (int)(sizeof of_rank / sizeof of_rank[0]);
    if (!review_threshold(&review, key, by_q ? of_q : of_rank, count, set->wanted, 1 - CONFIDENCE, room, &found)) {
        sink_null(out, "threshold");
        sink_text(
            out, "threshold_why",
            "with no threshold is the estimated share of false marks as low as false_marks; ask for a larger one");
        return;
    }
    sink_begin_object(out, "threshold");
    sink_text(out, "by", by_q ? "q" : "rank");
    sink_number(out, "at_most", found.limit);
    sink_number(out, "false_marks", set->wanted);
    sink_integer(out, "of", set->count);
    write_members(out, &found.estimate);
    sink_end_object(out);
}

enum status review_write_estimate(struct exchange *x, const struct review_set *set, struct error *err)
{
    const struct review review = review_set_review(set);
    const struct sink *out = x->out;
    struct review_estimate all = {.share = NAN, .interval = {0, 1}};
    bool *room = arena_zalloc(&x->arena, (size_t)set->count + 1, sizeof *room);
    double *key = arena_zalloc(&x->arena, (size_t)set->count + 1, sizeof *key);
    if (room == NULL || key == NULL)
        return error_memory(err, "a review");
    if (set->count > 0)
        review_estimate(&review, NULL, 1 - CONFIDENCE, &all);
    sink_begin_object(out, "estimate");
    write_members(out, &all);
    sink_number(out, "confidence", CONFIDENCE);
    sink_boolean(out, "exact", all.exact);
    write_names(out, set, room);
    sink_end_object(out);
    if (all.yes + all.no >= REVIEW_BLOCK) {
        write_threshold(out, set, key, room);
    } else {
        sink_null(out, "threshold");
        sink_text(out, "threshold_why", "a threshold is offered after 20 answers yes or no");
    }
    return STATUS_OK;
}
