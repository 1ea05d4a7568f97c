/* Collects what a gallery shows of each latent (gallery.h). Samples are added in the order of their indices, and of
 * two samples with equal activations the earlier one stays. So the tables depend only on the codes. */
#include "core/methods/dictionary/evaluation/gallery.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A latent p can be the parent of latent q only if P(p active | q active) exceeds P(p active) by more than this number.
 * Both probabilities are shares of samples. */
static const double PARENT_EXCESS = 0.2;
/* Upper limit of the number of pairs of active latents that are counted, for all kept samples together. */
static const double PAIRS_MOST = 1 << 29;
enum { ENTRIES_LEAST = 1 << 16 };

struct gallery_codes {
    struct gallery *gallery;
    int64_t room, entries, rows, row_room; /* entries, rows: number of kept entries, and of kept samples; room,
                                              row_room: number of entries, and of samples, that fit into the memory */
    double pairs;
    int32_t *latent;    /* [room] */
    int64_t *start;     /* [row_room + 1] */
    int64_t *fired;     /* [width] number of kept samples in which the latent is active */
    int64_t *first;     /* [width + 1] place of each latent's first sample in `of_latent` */
    int32_t *of_latent; /* [room] indices of the kept samples in which a latent is active, sorted by latent */
    int64_t *both;      /* [width] */
};

double gallery_bin_from(int bin)
{
    return exp2(0.5 * (bin - GALLERY_BINS / 2));
}

enum status gallery_create(int width, struct gallery *out, struct error *err)
{
    out->width = width;
    out->counts = calloc((size_t)width, sizeof *out->counts);
    out->values = calloc((size_t)width, sizeof *out->values);
    return out->counts && out->values
               ? STATUS_OK
               : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the gallery of %d latents", width);
}

void gallery_close(struct gallery *g)
{
    free(g->counts);
    free(g->values);
    *g = (struct gallery){0};
}

enum status gallery_snapshot(const struct gallery *g, struct snapshot *snapshot, struct error *err)
{
    const uint64_t width = (uint64_t)g->width;
    const struct snapshot_row rows[] = {SNAPSHOT_ARRAY("gallery.counts", (int64_t *)g->counts, width, GALLERY_COUNTS),
                                        SNAPSHOT_ARRAY("gallery.values", (float *)g->values, width, GALLERY_VALUES)};
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}

int64_t gallery_bytes(int width)
{
    return (int64_t)width * (int64_t)(sizeof(struct gallery_counts) + sizeof(struct gallery_values));
}

/* ---- codes --------------------------------------------------------------------------------------------------- */

static int64_t entries_room(int64_t samples, double active)
{
    double room = 2 * active * (double)samples;
    return room < ENTRIES_LEAST ? ENTRIES_LEAST : room > 1 << 28 ? 1 << 28 : (int64_t)room;
}

int64_t gallery_codes_bytes(int width, int64_t samples, double active)
{
    /* The arrays have room for entries_room() entries of 8 bytes, twice as many as expected. About half of this memory
     * is used: 4 bytes for each entry. */
    return 4 * entries_room(samples, active) + 8 * samples + 24 * (int64_t)width;
}

enum status gallery_codes_create(struct gallery *g, int64_t samples, double active, struct gallery_codes **out,
                                 struct error *err)
{
    struct gallery_codes *c = calloc(1, sizeof *c);
    size_t m = (size_t)g->width;
    *out = c;
    if (!c)
        return error_memory(err, "a gallery");
    c->gallery = g;
    c->room = entries_room(samples, active);
    c->row_room = samples;
    c->latent = malloc((size_t)c->room * sizeof *c->latent);
    c->of_latent = malloc((size_t)c->room * sizeof *c->of_latent);
    c->start = malloc(((size_t)samples + 1) * sizeof *c->start);
    c->fired = calloc(m, sizeof *c->fired);
    c->first = calloc(m + 1, sizeof *c->first);
    c->both = calloc(m, sizeof *c->both);
    if (!c->latent || !c->of_latent || !c->start || !c->fired || !c->first || !c->both)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a gallery of %lld samples",
                         (long long)samples);
    c->start[0] = 0;
    for (int j = 0; j < g->width; j++) {
        g->counts[j] = (struct gallery_counts){.parent = -1};
        g->values[j] = (struct gallery_values){{0}, {0}, 0};
        for (int i = 0; i < GALLERY_TOP; i++)
            g->counts[j].input[i] = -1;
        for (int i = 0; i < GALLERY_NEAR; i++)
            g->counts[j].together[i] = -1;
    }
    return STATUS_OK;
}

void gallery_codes_destroy(struct gallery_codes *c)
{
    if (!c)
        return;
    free(c->latent);
    free(c->of_latent);
    free(c->start);
    free(c->fired);
    free(c->first);
    free(c->both);
    free(c);
}

static int bin_of(float value)
{
    double place = floor(2 * log2((double)value)) + GALLERY_BINS / 2;
    return place < 0 ? 0 : place > GALLERY_BINS - 1 ? GALLERY_BINS - 1 : (int)place;
}

/* Inserts a value into a list of the largest values, which is sorted in descending order. */
static void gallery_insert(int64_t *numbers, float *values, int room, int64_t number, float value)
{
    if (numbers[room - 1] >= 0 && !(value > values[room - 1]))
        return;
    int at = room - 1;
    for (; at > 0 && (numbers[at - 1] < 0 || value > values[at - 1]); at--) {
        numbers[at] = numbers[at - 1];
        values[at] = values[at - 1];
    }
    numbers[at] = number;
    values[at] = value;
}

void gallery_add(struct gallery_codes *c, int64_t input, const int32_t *latent, const float *value, int count)
{
    for (int i = 0; i < count; i++) {
        struct gallery_counts *counts = &c->gallery->counts[latent[i]];
        gallery_insert(counts->input, c->gallery->values[latent[i]].value, GALLERY_TOP, input, value[i]);
        counts->bins[bin_of(value[i])]++;
    }
    double pairs = (double)count * count;
    if (c->rows == c->row_room || c->entries + count > c->room || c->pairs + pairs > PAIRS_MOST)
        return;
    memcpy(c->latent + c->entries, latent, (size_t)count * sizeof *latent);
    for (int i = 0; i < count; i++)
        c->fired[latent[i]]++;
    c->entries += count;
    c->pairs += pairs;
    c->start[++c->rows] = c->entries;
}

/* ---- pairs --------------------------------------------------------------------------------------------------- */

static void list_samples(struct gallery_codes *c)
{
    int width = c->gallery->width;
    c->first[0] = 0;
    for (int j = 0; j < width; j++) {
        c->first[j + 1] = c->first[j] + c->fired[j];
        c->both[j] = 0;
    }
    for (int64_t r = 0; r < c->rows; r++)
        for (int64_t i = c->start[r]; i < c->start[r + 1]; i++) {
            int j = c->latent[i];
            c->of_latent[c->first[j] + c->both[j]++] = (int32_t)r;
        }
    memset(c->both, 0, (size_t)width * sizeof *c->both);
}

static int level_of(const struct sae_shape *shape, int j)
{
    int level = 0;
    while (j >= shape->level_end[level])
        level++;
    return level;
}

static void relate(struct gallery_codes *c, const struct sae_shape *shape, int j)
{
    struct gallery_counts *counts = &c->gallery->counts[j];
    struct gallery_values *values = &c->gallery->values[j];
    int level = level_of(shape, j), earlier = level > 0 ? shape->level_end[level - 1] : 0;
    double own = (double)c->fired[j], best = PARENT_EXCESS;
    for (int64_t i = c->first[j]; i < c->first[j + 1]; i++)
        for (int64_t at = c->start[c->of_latent[i]]; at < c->start[c->of_latent[i] + 1]; at++)
            c->both[c->latent[at]]++;
    for (int i = 0; i < c->gallery->width; i++) {
        double both = (double)c->both[i];
        c->both[i] = 0;
        if (i == j || !(both > 0))
            continue;
        gallery_insert(counts->together, values->share, GALLERY_NEAR, i,
                       (float)(both / (own + (double)c->fired[i] - both)));
        double excess = both / own - (double)c->fired[i] / (double)c->rows;
        if (i < earlier && excess > best) {
            best = excess;
            counts->parent = i;
            values->parent_share = (float)(both / own);
        }
    }
}

void gallery_finish(struct gallery_codes *c, const struct sae_shape *shape)
{
    list_samples(c);
    for (int j = 0; j < c->gallery->width; j++)
        relate(c, shape, j);
}
