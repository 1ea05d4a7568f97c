/* Adds a negative sample for each region (regions.h), of one of two kinds. SHUFFLE: the region's bases in a random
 * order that keeps the counts of all pairs of neighbours. GC: another place of the genome with about the same number of
 * G and C. The negative of a region depends only on the region's index, and not on other negatives. */
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/data/splicing/splicing.h"
#include "core/data/uploads/sequences/dinucleotides.h"
#include "core/data/uploads/sequences/regions_int.h"

enum { TRIES = 2000, STREAM_MATCHED = 0x4743, STREAM_SHUFFLED_REGIONS = 0x5352 };
/* Limits for a window that serves as the negative of a region, as shares of the window's length. GC_BIN: by how much
 * the numbers of G and C of window and region may differ; UNKNOWN_MOST: how many bases of the window may be unknown. */
static const double GC_BIN = 0.02, UNKNOWN_MOST = 0.1;

/* Returns whether window `r` overlaps any region. sorted: the regions, sorted by place. */
static bool overlaps(const struct regions *s, const struct region *sorted, const struct region *r)
{
    struct region key = {.chromosome = r->chromosome, .start = r->start - s->longest + 1};
    int64_t low = 0, high = s->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (regions_by_place(&sorted[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->count && sorted[low].chromosome == r->chromosome && sorted[low].start < r->end; low++)
        if (sorted[low].end > r->start)
            return true;
    return false;
}

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

/* Adds a negative sample for a region. Draws random windows of the genome until one fits: it overlaps no region, and at
 * most a tenth of its bases are unknown. Its number of G and C must be that of the region, within 2 % of the length. If
 * none of TRIES draws fits, the region gets no negative. */
static enum status add_matched(struct regions *s, const struct region *sorted, int64_t number, struct error *err)
{
    const struct region *r = &s->region[number];
    struct philox from = philox_stream(0, STREAM_MATCHED, (uint64_t)number);
    int64_t length = r->end - r->start, gc, unknown, other_gc;
    uint64_t at = 0;
    enum status status = regions_bases(s, r, s->bases, err);
    count_bases(s->bases, length, &gc, &unknown);
    for (int i = 0; !status && i < TRIES; i++) {
        struct region drawn;
        if (!draw_window(s, length, &from, &at, &drawn) || overlaps(s, sorted, &drawn))
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
    struct region *sorted = malloc((size_t)s->count * sizeof *sorted + 1);
    if (!sorted)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for regions");
    memcpy(sorted, s->region, (size_t)s->count * sizeof *sorted);
    qsort(sorted, (size_t)s->count, sizeof *sorted, regions_by_place);
    for (int64_t i = 0; !status && i < s->count; i++) {
        const struct region *r = &s->region[i];
        struct philox from = philox_stream(0, STREAM_SHUFFLED_REGIONS, (uint64_t)i);
        uint64_t at = 0;
        if (r->inner || r->label < 0)
            continue;
        if (s->options->negatives == NEGATIVES_GC) {
            status = add_matched(s, sorted, i, err);
            continue;
        }
        status = regions_bases(s, r, s->bases, err);
        if (status)
            break;
        dinucleotides_shuffle(s->bases, r->end - r->start, &from, &at, s->other);
        status = regions_sample(s, s->other, r, "_shuffled", err);
    }
    free(sorted);
    return status;
}
