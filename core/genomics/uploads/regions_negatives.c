/* Adds a negative sample for each region (uploads.h), of one of two kinds. SHUFFLE: the region's bases in a random
 * order that keeps the counts of all pairs of neighbours. GC: another place of the genome with about the same number of
 * G and C. The negative of a region depends only on the region's index, and not on other negatives. */
#include <stdlib.h>

#include "core/base/grown.h"
#include "core/base/random/philox.h"
#include "core/data/splicing/splicing.h"
#include "core/genomics/uploads/dinucleotides.h"
#include "core/genomics/uploads/regions_int.h"

enum { TRIES = 2000, STREAM_MATCHED = 0x4743, STREAM_SHUFFLED_REGIONS = 0x5352 };
/* Limits for a window that serves as the negative of a region, as shares of the window's length. GC_BIN: by how much
 * the numbers of G and C of window and region may differ; UNKNOWN_MOST: how many bases of the window may be unknown. */
static const double GC_BIN = 0.02, UNKNOWN_MOST = 0.1;

/* ---- covered places ------------------------------------------------------------------------------------------ */

enum status regions_cover(struct regions *s, const struct region *window, int64_t start, int64_t end, struct error *err)
{
    if (s->covers >= s->b->limits.samples)
        return regions_full(s, err);
    struct place *more = grown(s->covered, (size_t)s->covers, sizeof *more);
    if (!more)
        return error_memory(err, "regions");
    s->covered = more;
    /* a window contains the summit or the middle of its region, so the two are one interval */
    s->covered[s->covers++] = (struct place){.chromosome = window->chromosome,
                                             .start = window->start < start ? window->start : start,
                                             .end = window->end > end ? window->end : end};
    return STATUS_OK;
}

static int by_start(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->chromosome != y->chromosome)
        return (x->chromosome > y->chromosome) - (x->chromosome < y->chromosome);
    return (x->start > y->start) - (x->start < y->start);
}

/* Sorts the covered places, and joins those that overlap. */
static void join_places(struct regions *s)
{
    int64_t kept = 0;
    if (s->covers > 0)
        qsort(s->covered, (size_t)s->covers, sizeof *s->covered, by_start);
    for (int64_t i = 0; i < s->covers; i++) {
        const struct place *now = &s->covered[i];
        struct place *last = kept > 0 ? &s->covered[kept - 1] : NULL;
        if (!last || last->chromosome != now->chromosome || last->end < now->start)
            s->covered[kept++] = *now;
        else if (last->end < now->end)
            last->end = now->end;
    }
    s->covers = kept;
}

/* Returns whether a window overlaps a covered place. join_places() has sorted the places, so their ends ascend too. */
static bool overlaps_place(const struct regions *s, const struct region *window)
{
    int64_t low = 0, high = s->covers; /* finds the first place that ends after the start of the window */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const struct place *p = &s->covered[middle];
        if (p->chromosome < window->chromosome || (p->chromosome == window->chromosome && p->end <= window->start))
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->covers && s->covered[low].chromosome == window->chromosome && s->covered[low].start < window->end;
}

/* ---- negatives ----------------------------------------------------------------------------------------------- */

/* Counts G and C, and unknown bases. */
static void count_bases(const uint8_t *bases, int64_t length, int64_t *gc, int64_t *unknown)
{
    *gc = *unknown = 0;
    for (int64_t i = 0; i < length; i++) {
        *gc += bases[i] == 1 || bases[i] == 2;
        *unknown += bases[i] >= SPLICING_BASES;
    }
}

/* Draws a window of `length` bases at a random place of the genome. Returns false if the window would cross the end of
 * a chromosome. */
static bool draw_window(const struct regions *s, int64_t length, const struct philox *from, uint64_t *at,
                        struct region *out)
{
    uint64_t bits = (uint64_t)philox_u32(from, *at) << 32 | philox_u32(from, *at + 1);
    int64_t place = (int64_t)(bits % (uint64_t)s->genome.length);
    *at += 2;
    for (int i = 0; i < s->genome.count; i++) {
        const struct faidx_sequence *one = &s->genome.sequence[i];
        if (place < one->length) {
            *out = (struct region){.chromosome = one, .start = place, .end = place + length};
            return place + length <= one->length;
        }
        place -= one->length;
    }
    return false;
}

/* Adds a negative sample for a region. Draws random windows of the genome until one fits: it overlaps no region and no
 * window of a region, and at most a tenth of its bases are unknown. Its number of G and C must be that of the region,
 * within 2 % of the length. If none of TRIES draws fits, the region gets no negative. */
static enum status add_matched(struct regions *s, int64_t number, struct error *err)
{
    const struct region *r = &s->region[number];
    struct philox from = philox_stream(0, STREAM_MATCHED, (uint64_t)number);
    int64_t length = r->end - r->start, gc, unknown, other_gc;
    uint64_t at = 0;
    enum status status = regions_bases(s, r, s->bases, err);
    count_bases(s->bases, length, &gc, &unknown);
    for (int i = 0; !status && i < TRIES; i++) {
        struct region drawn;
        if (!draw_window(s, length, &from, &at, &drawn) || overlaps_place(s, &drawn))
            continue;
        status = regions_bases(s, &drawn, s->other, err);
        count_bases(s->other, length, &other_gc, &unknown);
        if (!status && (double)llabs(other_gc - gc) <= GC_BIN * (double)length &&
            (double)unknown <= UNKNOWN_MOST * (double)length)
            return regions_sample(s, s->other, &drawn, "", err);
    }
    s->unmatched++;
    return status;
}

enum status regions_negatives(struct regions *s, struct error *err)
{
    enum status status = STATUS_OK;
    join_places(s);
    for (int64_t i = 0; !status && i < s->count; i++) {
        const struct region *r = &s->region[i];
        struct philox from = philox_stream(0, STREAM_SHUFFLED_REGIONS, (uint64_t)i);
        uint64_t at = 0;
        if (r->inner || r->label < 0)
            continue;
        if (s->options->negatives == NEGATIVES_GC) {
            status = add_matched(s, i, err);
            continue;
        }
        status = regions_bases(s, r, s->bases, err);
        if (status)
            break;
        dinucleotides_shuffle(s->bases, r->end - r->start, &from, &at, s->other);
        status = regions_sample(s, s->other, r, "_shuffled", err);
    }
    return status;
}
