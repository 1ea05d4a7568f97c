#include "core/methods/sparling/reading.h"

#include <stdio.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    float x = ((const struct motif *)a)->value, y = ((const struct motif *)b)->value;
    return (x < y) - (x > y);
}

static int by_place(const void *a, const void *b)
{
    const struct motif *x = a, *y = b;
    if (x->channel != y->channel)
        return x->channel - y->channel;
    return x->row != y->row ? x->row - y->row : x->col - y->col;
}

static bool near(const struct motif *a, const struct motif *b)
{
    return abs(a->row - b->row) <= READING_REACH && abs(a->col - b->col) <= READING_REACH;
}

static void mark(struct read_motif *motifs, int count)
{
    for (int i = 0; i < count; i++) {
        bool hidden = false, company = false;
        for (int j = 0; j < count && !hidden; j++) {
            if (j == i || !near(&motifs[i].at, &motifs[j].at))
                continue;
            float mine = motifs[i].at.value, other = motifs[j].at.value;
            hidden = other > mine || (other == mine && j < i);
            company = true;
        }
        motifs[i].maximal = !hidden;
        motifs[i].starred = !hidden && company;
    }
}

/* The active elements of a planar map, the strongest if there are too many. */
static enum status list_motifs(const float *planes, struct reading *reading, struct error *err)
{
    int size = reading->size, channels = reading->channels;
    reading->total = motif_scan(planes, channels, size, size, NULL, 0);
    reading->count = reading->total < READING_MOTIFS ? reading->total : READING_MOTIFS;
    struct motif *all = calloc((size_t)reading->total + 1, sizeof *all);
    reading->motifs = calloc((size_t)reading->count + 1, sizeof *reading->motifs);
    if (!all || !reading->motifs) {
        free(all);
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory to list motifs");
    }
    motif_scan(planes, channels, size, size, all, reading->total);
    if (reading->total > reading->count) {
        qsort(all, (size_t)reading->total, sizeof *all, by_value);
        qsort(all, (size_t)reading->count, sizeof *all, by_place);
    }
    for (int i = 0; i < reading->count; i++)
        reading->motifs[i].at = all[i];
    free(all);
    mark(reading->motifs, reading->count);
    return STATUS_OK;
}

enum status reading_make(struct exec *e, struct network *network, const float *image,
                         const struct digitcircle_truth *truth, struct reading *reading, struct error *err)
{
    const struct sparling_config *c = &network->config;
    *reading = (struct reading){.size = (int)c->image_size, .channels = (int)c->channels_motif, .image = image,
                                .truth = truth};
    exec_begin(e, false, 0);
    struct tensor *motifs = network_motifs(e, network, image, 1, 1);
    enum status status = exec_status(e, err);
    if (status)
        return status;
    size_t count = (size_t)reading->channels * (size_t)reading->size * (size_t)reading->size;
    float *planes = arena_alloc(e->arena, count * sizeof *planes);
    if (!planes)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory to read a picture");
    tensor_to_planes(motifs, planes);
    status = list_motifs(planes, reading, err);
    if (!status) {
        struct network_memory memory = network_memory(e, network, motifs);
        status = decode_greedy(e, network, &memory, 1, (int)(c->max_symbols + c->decode_extra), &reading->decoded, err);
    }
    if (status)
        reading_close(reading);
    return status;
}

void reading_close(struct reading *reading)
{
    free(reading->motifs);
    reading->motifs = NULL;
    reading->count = 0;
}

/* ---- pictures ---------------------------------------------------------------------------------- */

static const struct colour white = {255, 255, 255}, black = {0, 0, 0}, ink = {96, 96, 96}, frame = {40, 120, 40};

static void label_of(const struct reading *reading, char *out, size_t room)
{
    char read[DECODE_TOKENS + 1] = "", true_label[DIGITCIRCLE_CLASSES + 1] = "";
    for (int i = 0; i < reading->decoded.length; i++) {
        int token = reading->decoded.tokens[i];
        read[i] = token >= TOKEN_FIRST ? (char)('0' + token - TOKEN_FIRST) : '?';
    }
    if (!reading->truth) {
        snprintf(out, room, "read %s", read);
        return;
    }
    for (int i = 0; i < reading->truth->count; i++)
        true_label[i] = (char)('0' + reading->truth->label[i]);
    snprintf(out, room, "true %s read %s", true_label, read);
}

static void draw_tile(struct picture *picture, int row, int col, int scale, const struct reading *reading)
{
    int size = reading->size;
    picture_grey(picture, row, col, reading->image, size, size, scale, white, ink);
    for (int i = 0; reading->truth && i < reading->truth->count; i++) {
        const struct box *box = &reading->truth->boxes[i];
        picture_outline(picture, row + box->row0 * scale, col + box->col0 * scale, (box->row1 - box->row0) * scale,
                        (box->col1 - box->col0) * scale, 1, frame);
    }
    for (int i = 0; i < reading->count; i++) {
        const struct read_motif *motif = &reading->motifs[i];
        struct colour colour = picture_palette(motif->at.channel);
        int y = row + motif->at.row * scale + scale / 2, x = col + motif->at.col * scale + scale / 2;
        if (!motif->maximal)
            continue;
        picture_disc(picture, y, x, scale + 1, colour);
        if (motif->starred)
            picture_cross(picture, y, x, 2 * scale, colour);
        char name[12];
        snprintf(name, sizeof name, "%d", motif->at.channel);
        picture_text(picture, y - scale - 4 - PICTURE_GLYPH_ROWS, x + scale + 2, name, 1, colour);
    }
    char label[160];
    label_of(reading, label, sizeof label);
    picture_text(picture, row + size * scale + 4, col, label, 2, black);
}

enum status reading_draw(const struct reading *readings, int count, int columns, struct picture **out,
                         struct error *err)
{
    enum { GAP = 10, CAPTION = 24, SIDE = 360 };
    int size = readings[0].size, scale = size < SIDE ? (SIDE + size / 2) / size : 1;
    int rows = (count + columns - 1) / columns, tile = size * scale;
    enum status status = picture_create(GAP + rows * (tile + CAPTION + GAP), GAP + columns * (tile + GAP), white, out,
                                        err);
    if (status)
        return status;
    for (int i = 0; i < count; i++)
        draw_tile(*out, GAP + i / columns * (tile + CAPTION + GAP), GAP + i % columns * (tile + GAP), scale,
                  &readings[i]);
    return STATUS_OK;
}
