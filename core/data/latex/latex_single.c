/* Collects crops of characters in a hash table; crops that were seen twice are then sorted by class. */
#include "core/data/latex/latex_single.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/mt19937.h"

struct crop {
    uint64_t hash;
    uint8_t *grey; /* [rows][cols] */
    int class, rows, cols, seen;
};

struct latex_crops {
    int side;
    struct crop *crop; /* the crops, sorted by class */
    int count, room;
    int first[LATEX_SINGLE_CLASSES + 1];         /* index of each class's first crop */
    int present[LATEX_SINGLE_CLASSES], presents; /* present: the classes that have crops; presents: their number */
};

/* A hash table with open addressing. An entry is the index of a crop; -1: the entry is free. */
struct table {
    int *slot;
    int slots; /* a power of two, at least twice the number of crops */
};

static uint64_t hash_of(const struct crop *crop)
{
    uint64_t hash = 14695981039346656037U;
    const int sizes[3] = {crop->class, crop->rows, crop->cols};
    for (int i = 0; i < 3; i++)
        hash = (hash ^ (uint64_t)sizes[i]) * 1099511628211U;
    for (int i = 0; i < crop->rows * crop->cols; i++)
        hash = (hash ^ crop->grey[i]) * 1099511628211U;
    return hash;
}

static bool equal(const struct crop *a, const struct crop *b)
{
    return a->hash == b->hash && a->class == b->class && a->rows == b->rows && a->cols == b->cols &&
           memcmp(a->grey, b->grey, (size_t)a->rows * (size_t)a->cols) == 0;
}

static int *latex_single_find(const struct latex_crops *crops, const struct table *table, const struct crop *crop)
{
    size_t at = crop->hash & (size_t)(table->slots - 1);
    while (table->slot[at] >= 0 && !equal(&crops->crop[table->slot[at]], crop))
        at = (at + 1) & (size_t)(table->slots - 1);
    return &table->slot[at];
}

static bool latex_single_grow(struct latex_crops *crops, struct table *table)
{
    int room = crops->room ? 2 * crops->room : 1024;
    struct crop *crop = realloc(crops->crop, (size_t)room * sizeof *crop);
    if (crop)
        crops->crop = crop;
    int *slot = malloc(2 * (size_t)room * sizeof *slot);
    if (!crop || !slot) {
        free(slot);
        return false;
    }
    free(table->slot);
    *table = (struct table){slot, 2 * room};
    for (int i = 0; i < table->slots; i++)
        slot[i] = -1;
    for (int i = 0; i < crops->count; i++)
        *latex_single_find(crops, table, &crops->crop[i]) = i;
    crops->room = room;
    return true;
}

/* Adds a crop and takes over its memory. */
static enum status latex_single_add(struct latex_crops *crops, struct table *table, struct crop *crop,
                                    struct error *err)
{
    if (crops->count == crops->room && !latex_single_grow(crops, table)) {
        free(crop->grey);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d characters", crops->count);
    }
    crop->hash = hash_of(crop);
    int *slot = latex_single_find(crops, table, crop);
    if (*slot >= 0) {
        crops->crop[*slot].seen++;
        free(crop->grey);
        return STATUS_OK;
    }
    *slot = crops->count;
    crops->crop[crops->count++] = *crop;
    return STATUS_OK;
}

static enum status add_box(struct latex_crops *crops, struct table *table, const struct latex *domain,
                           const float *grey, const struct box *box, struct error *err)
{
    int rows = box->row1 - box->row0, cols = box->col1 - box->col0;
    if (box->symbol == LATEX_CLASS_BAR || rows > crops->side || cols > crops->side)
        return STATUS_OK;
    struct crop crop = {.class = box->symbol - (box->symbol > LATEX_CLASS_BAR), .rows = rows, .cols = cols, .seen = 1};
    crop.grey = malloc((size_t)rows * (size_t)cols);
    if (!crop.grey)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d characters", crops->count);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            float value = grey[(size_t)(box->row0 + r) * (size_t)domain->cols + (size_t)(box->col0 + c)];
            crop.grey[r * cols + c] = (uint8_t)(255 * value + 0.5F);
        }
    return latex_single_add(crops, table, &crop, err);
}

static enum status latex_single_collect(struct latex_crops *crops, struct table *table, const struct latex *domain,
                                        const struct latex_font *font, int64_t seed, int formulas, struct error *err)
{
    float *grey = malloc((size_t)domain->rows * (size_t)domain->cols * sizeof *grey);
    enum status status = grey ? STATUS_OK : error_memory(err, "a page");
    for (int i = 0; !status && i < formulas; i++) {
        int tokens[LATEX_MAX_TOKENS];
        struct latex_truth truth;
        int length = latex_formula(seed, i, domain->min_tokens, domain->max_tokens, domain->symbols, tokens);
        status = latex_render(domain, font, tokens, length, grey, &truth, err);
        for (int j = 0; !status && j < truth.count; j++)
            status = add_box(crops, table, domain, grey, &truth.boxes[j], err);
    }
    free(grey);
    return status;
}

/* Keeps the crops that were seen twice, sorted by class, then in the order in which they were first seen. */
static enum status put_in_order(struct latex_crops *crops, struct error *err)
{
    struct crop *ordered = malloc(((size_t)crops->count + 1) * sizeof *ordered);
    if (!ordered)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d characters", crops->count);
    int kept = 0;
    for (int class = 0; class < LATEX_SINGLE_CLASSES; class ++) {
        crops->first[class] = kept;
        for (int i = 0; i < crops->count; i++)
            if (crops->crop[i].class == class && crops->crop[i].seen > 1) {
                ordered[kept++] = crops->crop[i];
                crops->crop[i].grey = NULL; /* now owned by the sorted array */
            }
        if (kept > crops->first[class])
            crops->present[crops->presents++] = class;
    }
    crops->first[LATEX_SINGLE_CLASSES] = kept;
    for (int i = 0; i < crops->count; i++)
        free(crops->crop[i].grey);
    free(crops->crop);
    crops->crop = ordered;
    crops->count = kept;
    if (kept == 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "no crop of a character occurs twice in these formulas; use more formulas");
    return STATUS_OK;
}

enum status latex_crops_create(const struct latex *domain, const struct latex_font *font, int64_t seed, int formulas,
                               struct latex_crops **crops, struct error *err)
{
    struct table table = {NULL, 0};
    struct latex_crops *c = calloc(1, sizeof *c);
    if (!c)
        return error_memory(err, "characters");
    c->side = latex_single_side(domain->dpi);
    enum status status = latex_single_collect(c, &table, domain, font, seed, formulas, err);
    if (!status)
        status = put_in_order(c, err);
    free(table.slot);
    if (status) {
        latex_crops_destroy(c);
        return status;
    }
    *crops = c;
    return STATUS_OK;
}

void latex_crops_destroy(struct latex_crops *crops)
{
    if (!crops)
        return;
    for (int i = 0; i < crops->count; i++)
        free(crops->crop[i].grey);
    free(crops->crop);
    free(crops);
}

int latex_crops_count(const struct latex_crops *crops, int class)
{
    return crops->first[class + 1] - crops->first[class];
}

int latex_single_side(double dpi)
{
    return (int)ceil(dpi / 5);
}

int latex_single_symbol(int class)
{
    return class + (class >= LATEX_CLASS_BAR);
}

int latex_single(const struct latex *domain, const struct latex_crops *crops, int64_t seed, int64_t index, float *image)
{
    struct mt19937 rng;
    mt19937_init(&rng, (uint32_t)index);
    int class = crops->present[mt19937_choice(&rng, crops->presents)], side = crops->side;
    const struct crop *crop = &crops->crop[crops->first[class] + mt19937_choice(&rng, latex_crops_count(crops, class))];
    int row = (side - crop->rows) / 2, col = (side - crop->cols) / 2;
    for (int i = 0; i < side * side; i++)
        image[i] = 1;
    for (int r = 0; r < crop->rows; r++)
        for (int c = 0; c < crop->cols; c++)
            image[(row + r) * side + col + c] = (float)crop->grey[r * crop->cols + c] / 255;
    struct latex square = *domain;
    square.rows = square.cols = side;
    latex_add_noise(&square, seed, index, image);
    return class;
}
