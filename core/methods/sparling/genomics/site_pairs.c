/* The query "pairs": how often two motifs are in the same sequence, how far from each other, in which order and on
 * which strands.
 *
 * Each sequence contributes its closest pair of sites. Pairs that overlap do not count, because a model seldom marks
 * two motifs at one place. The expected numbers of distance, order and strands come from a null model: it pairs the
 * sites of the first motif with the sites of the second motif in another sequence, the next one that has both. In
 * this null model, each motif still has its preferred places in a sequence, but the two motifs are independent. */
#include <math.h>
#include <stdlib.h>

#include "core/base/grown.h"
#include "core/methods/sparling/genomics/sites.h"

enum { LEAST_RECORDS = 5, NEAR = 30 };

struct kept_site {
    int32_t channel, start, end;
    char strand;
};

struct pairing {
    struct work *work;
    struct site_finder *finder;
    struct motif_site_list sites; /* sites of the current record */
    struct kept_site *site;       /* the sites of all records */
    size_t count, records;
    size_t *end; /* [records] index after the last site of each record */
    int channels;
};

/* Keeps the sites of a record when its last window has come. */
static enum status take_window(void *context, const struct scan_window *window, struct error *err)
{
    struct pairing *p = context;
    enum status status = site_finder_window(p->finder, window, -1, &p->sites, err);
    if (status || !window->last)
        return status;
    if (window->length > INT32_MAX)
        return error_set(err, STATUS_LIMIT, NULL, "a record of more than 2147483647 bases has no pairs");
    for (size_t i = 0; i < p->sites.count; i++) {
        const struct motif_site *s = &p->sites.site[i];
        status = work_take_growth(p->work, p->count, sizeof *p->site, err);
        if (status)
            return status;
        struct kept_site *more = grown(p->site, p->count, sizeof *more);
        if (!more)
            return error_memory(err, "pairs of motifs");
        p->site = more;
        p->site[p->count++] = (struct kept_site){s->channel, (int32_t)s->start, (int32_t)s->end, s->strand};
    }
    status = work_take_growth(p->work, p->records, sizeof *p->end, err);
    if (status)
        return status;
    size_t *more = grown(p->end, p->records, sizeof *more);
    if (!more)
        return error_memory(err, "pairs of motifs");
    p->end = more;
    p->end[p->records++] = p->count;
    p->sites.count = 0;
    return STATUS_OK;
}

/* Returns the index of the first site of a record. */
static size_t first_of(const struct pairing *p, size_t record)
{
    return record > 0 ? p->end[record - 1] : 0;
}

static bool has_site(const struct pairing *p, size_t record, int channel)
{
    for (size_t i = first_of(p, record); i < p->end[record]; i++)
        if (p->site[i].channel == channel)
            return true;
    return false;
}

/* Counts of the closest pairs of sites. The pairs of the null model are counted in a second struct. */
struct relation {
    int records, near, before, stranded, same;
};

/* Bases between two sites; below 0: they overlap. */
static int bases_between(const struct kept_site *a, const struct kept_site *b)
{
    return a->start <= b->start ? b->start - a->end : a->start - b->end;
}

/* Adds the closest pair of a site of channel a in record i and a site of channel b in record j. A long record has very
 * many pairs, so the search ends early when the budget has ended. */
static void add_closest(const struct pairing *p, size_t i, int a, size_t j, int b, struct relation *r)
{
    const struct kept_site *one = NULL, *two = NULL;
    for (size_t x = first_of(p, i); x < p->end[i]; x++) {
        const struct kept_site *s = &p->site[x];
        if (s->channel != a)
            continue;
        if (work_stopped(p->work))
            return;
        for (size_t y = first_of(p, j); y < p->end[j]; y++) {
            const struct kept_site *t = &p->site[y];
            if (t->channel != b || bases_between(s, t) < 0 || (one && bases_between(s, t) >= bases_between(one, two)))
                continue;
            one = s;
            two = t;
        }
    }
    if (!one)
        return;
    r->records++;
    r->near += bases_between(one, two) <= NEAR;
    r->before += one->start < two->start;
    r->stranded += one->strand != '.' && two->strand != '.';
    r->same += one->strand != '.' && one->strand == two->strand;
}

/* Two-sided p-value of the difference between the shares observed / of and null / of_null: twice the smaller of the two
 * one-sided p-values of Fisher's exact test, at most 1. */
static double p_of_difference(int observed, int of, int null, int of_null)
{
    int all = of + of_null, both = observed + null;
    double more = position_fisher(all, of, both, observed), less = position_fisher(all, of_null, both, null);
    double p = 2 * (more < less ? more : less);
    return p < 1 ? p : 1;
}

static void write_share(const struct sink *out, const char *name, int observed, int of, int null, int of_null)
{
    sink_begin_object(out, name);
    sink_number(out, "share", of > 0 ? (double)observed / of : 0);
    sink_number(out, "expected", of_null > 0 ? (double)null / of_null : 0);
    sink_number(out, "p", p_of_difference(observed, of, null, of_null));
    sink_end_object(out);
}

static void write_channel(const struct pairing *p, const char *key, int channel, const struct sink *out)
{
    char name[SITE_NAME];
    site_name(p->finder, channel, name);
    sink_begin_object(out, key);
    sink_integer(out, "channel", channel);
    sink_text(out, "name", name);
    sink_end_object(out);
}

/* Writes a pair if enough records have both motifs. with: [channels] number of records that have a motif of the
 * channel. */
static void write_pair(const struct pairing *p, int a, int b, const int *with, const struct sink *out)
{
    struct relation seen = {0}, chance = {0};
    int both = 0;
    size_t first = SIZE_MAX, last = SIZE_MAX;
    for (size_t i = 0; i < p->records && !work_stopped(p->work); i++) {
        if (!has_site(p, i, a) || !has_site(p, i, b))
            continue;
        both++;
        add_closest(p, i, a, i, b, &seen);
        if (last != SIZE_MAX)
            add_closest(p, last, a, i, b, &chance);
        first = first == SIZE_MAX ? i : first;
        last = i;
    }
    if (both < LEAST_RECORDS)
        return;
    add_closest(p, last, a, first, b, &chance);
    sink_begin_object(out, NULL);
    write_channel(p, "first", a, out);
    write_channel(p, "second", b, out);
    sink_integer(out, "records", both);
    sink_number(out, "expected", (double)with[a] * with[b] / (double)p->records);
    sink_number(out, "p", position_fisher((int)p->records, with[a], with[b], both));
    write_share(out, "near", seen.near, seen.records, chance.near, chance.records);
    write_share(out, "first_before_second", seen.before, seen.records, chance.before, chance.records);
    write_share(out, "same_strand", seen.same, seen.stranded, chance.same, chance.stranded);
    sink_end_object(out);
}

static enum status write_pairs(const struct method_question *question, const struct pairing *p, const struct sink *out,
                               struct error *err)
{
    enum status status = STATUS_OK;
    int *with = calloc((size_t)p->channels, sizeof *with);
    if (!with)
        return error_memory(err, "pairs of motifs");
    for (size_t i = 0; i < p->records && !work_stopped(question->work); i++)
        for (int c = 0; c < p->channels; c++)
            with[c] += has_site(p, i, c);
    sink_integer(out, "records", (int64_t)p->records);
    sink_integer(out, "near_bases", NEAR);
    sink_begin_list(out, "pairs");
    for (int a = 0; !status && a < p->channels; a++)
        for (int b = a + 1; !status && b < p->channels; b++) {
            status = work_yield(question->work, err);
            if (!status && with[a] >= LEAST_RECORDS && with[b] >= LEAST_RECORDS)
                write_pair(p, a, b, with, out);
        }
    sink_end_list(out);
    free(with);
    return status ? status : work_check(question->work, err);
}

enum status pairs_answer(const struct method_question *question, const struct sink *out, struct error *err)
{
    struct pairing p = {.channels = (int)question->model->network->config.channels_motif, .work = question->work};
    const struct scan_target to = {&p, take_window};
    enum status status = site_finder_create(question, &p.finder, err);
    if (!status)
        status = sites_scan(question, &to, err);
    if (!status && p.records > INT32_MAX)
        status = error_set(err, STATUS_LIMIT, NULL, "pairs are counted in at most 2147483647 records");
    if (!status)
        status = write_pairs(question, &p, out, err);
    site_finder_destroy(p.finder);
    free(p.sites.site);
    free(p.site);
    free(p.end);
    return status;
}
