#include "core/methods/sparling/reading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int reading_same(int reach)
{
    return reach / 2 > READING_REACH ? reach / 2 : READING_REACH;
}

void reading_mark(struct read_motif *motifs, int count)
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
    int rows = reading->rows, cols = reading->cols, channels = reading->channels;
    reading->total = motif_scan(planes, channels, rows, cols, NULL, 0);
    reading->count = reading->total < READING_MOTIFS ? reading->total : READING_MOTIFS;
    struct motif *all = calloc((size_t)reading->total + 1, sizeof *all);
    reading->motifs = calloc((size_t)reading->count + 1, sizeof *reading->motifs);
    if (!all || !reading->motifs) {
        free(all);
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory to list motifs");
    }
    motif_scan(planes, channels, rows, cols, all, reading->total);
    if (reading->total > reading->count) {
        qsort(all, (size_t)reading->total, sizeof *all, by_value);
        qsort(all, (size_t)reading->count, sizeof *all, by_place);
    }
    for (int i = 0; i < reading->count; i++)
        reading->motifs[i].at = all[i];
    free(all);
    reading_mark(reading->motifs, reading->count);
    return STATUS_OK;
}

/* Rows of classes, as a list of what is not the common one. */
static enum status list_sites(struct exec *e, const struct tensor *classes, struct reading *reading, struct error *err)
{
    enum status status = exec_status(e, err);
    if (status)
        return status;
    reading->sites = malloc((size_t)classes->rows * sizeof *reading->sites);
    if (!reading->sites)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory to list sites");
    for (int i = 0; i < classes->rows; i++) {
        const real *logit = classes->data + (size_t)i * (size_t)classes->cols;
        double most = (double)logit[0], sum = 0;
        for (int c = 1; c < classes->cols; c++)
            most = fmax(most, (double)logit[c]);
        for (int c = 0; c < classes->cols; c++)
            sum += exp((double)logit[c] - most);
        for (int c = 1; c < classes->cols; c++) {
            double probability = exp((double)logit[c] - most) / sum;
            if (probability > 0.5)
                reading->sites[reading->site_count++] = (struct read_site){i, c, probability};
        }
    }
    return STATUS_OK;
}

enum status reading_make(struct exec *e, struct network *network, const struct open_domain *domain, const float *input,
                         const struct domain_truth *truth, struct reading *reading, struct error *err)
{
    exec_begin(e, false, 0);
    return reading_of_map(e, network, domain, network_motifs(e, network, input, 1, 1), input, truth, reading, err);
}

enum status reading_of_map(struct exec *e, struct network *network, const struct open_domain *domain, struct tensor *motifs,
                           const float *input, const struct domain_truth *truth, struct reading *reading, struct error *err)
{
    const struct sparling_config *c = &network->config;
    *reading = (struct reading){.domain = domain, .rows = network->map.rows, .cols = network->map.cols,
                                .channels = (int)c->channels_motif, .input = input, .truth = truth};
    enum status status = exec_status(e, err);
    if (status)
        return status;
    size_t count = (size_t)reading->channels * (size_t)reading->rows * (size_t)reading->cols;
    float *planes = arena_alloc(e->arena, count * sizeof *planes);
    if (!planes)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory to read an input");
    tensor_to_planes(motifs, planes);
    status = list_motifs(planes, reading, err);
    if (!status && network->shape.positions) {
        status = list_sites(e, network_classes(e, network, motifs), reading, err);
    } else if (!status) {
        struct network_memory memory = network_memory(e, network, motifs);
        status = decode_greedy(e, network, &memory, 1, sparling_decode_steps(c), &reading->decoded, err);
    }
    if (status)
        reading_close(reading);
    return status;
}

void reading_close(struct reading *reading)
{
    free(reading->motifs);
    free(reading->sites);
    reading->motifs = NULL;
    reading->sites = NULL;
    reading->count = reading->site_count = 0;
}

/* ---- pictures ---------------------------------------------------------------------------------- */

static const struct colour white = {255, 255, 255}, black = {0, 0, 0}, ink = {96, 96, 96}, frame = {40, 120, 40};

/* What is true and what was read, a line each; START and END are no symbols of the domain. */
static void label_of(const struct reading *reading, char *out, size_t room)
{
    int32_t symbols[DECODE_TOKENS];
    size_t at = 0;
    if (reading->truth) {
        at += (size_t)snprintf(out, room, "true ");
        domain_label(reading->domain, reading->truth->label, reading->truth->length, out + at, room - at);
        at += strlen(out + at);
        at += (size_t)snprintf(out + at, room - at, "\n");
    }
    for (int i = 0; i < reading->decoded.length; i++)
        symbols[i] = reading->decoded.tokens[i] - TOKEN_FIRST;
    if (at < room)
        at += (size_t)snprintf(out + at, room - at, "read ");
    if (at < room)
        domain_label(reading->domain, symbols, reading->decoded.length, out + at, room - at);
}

/* Under a tile: ticks where labels truly are, and below them what was read, each class in a colour. */
static void mark_sites(struct picture *picture, int row, int col, int scale, const struct reading *reading)
{
    const struct domain_truth *truth = reading->truth;
    for (int i = 0; truth && i < truth->length; i++)
        if (truth->label[i] > 0)
            picture_fill(picture, row, col + i * scale, 8, scale > 3 ? scale : 3, picture_palette(truth->label[i] - 1));
    for (int i = 0; i < reading->site_count; i++) {
        const struct read_site *site = &reading->sites[i];
        picture_disc(picture, row + 13, col + site->position * scale + scale / 2, 4, picture_palette(site->label - 1));
    }
}

/* A tile: its scale, and how many picture rows a row of the map has (a sequence: all of them). */
struct tile {
    int row, col, scale, high;
};

/* A channel's number on a plate of its colour, which is read on any ground; its lower left corner is at (row, col), moved
 * where it would leave the picture. */
static void mark_channel(struct picture *picture, int row, int col, int channel, int scale)
{
    struct colour colour = picture_palette(channel);
    char name[12];
    snprintf(name, sizeof name, "%d", channel);
    int width = picture_text_width(name, scale) + 2 * scale, height = (PICTURE_GLYPH_ROWS + 2) * scale;
    row = row - height > 0 ? row - height : 0;
    col = col + width < picture->cols ? col : picture->cols - width;
    picture_fill(picture, row, col, height, width, colour);
    picture_text(picture, row + scale, col + scale, name, scale, picture_contrast(colour));
}

static void mark_motif(struct picture *picture, const struct tile *tile, const struct reading *reading,
                       const struct motif *motif, bool starred)
{
    int scale = tile->scale, x = tile->col + motif->col * scale + scale / 2;
    int y = tile->row + motif->row * scale + scale / 2;
    struct colour colour = picture_palette(motif->channel);
    if (tile->high > 1)
        y = tile->row + (2 * motif->channel + 1) * tile->high * scale / (2 * reading->channels);
    picture_disc(picture, y, x, scale + 1, colour);
    if (starred)
        picture_cross(picture, y, x, 2 * scale, colour);
    mark_channel(picture, y - scale, x + scale + 1, motif->channel, scale < 5 ? 1 : 2);
}

static void draw_tile(struct picture *picture, const struct tile *tile, const struct reading *reading, const float *grey)
{
    int scale = tile->scale, high = tile->high * scale;
    picture_grey(picture, tile->row, tile->col, grey, reading->rows * tile->high, reading->cols, scale, white, ink);
    for (int i = 0; reading->truth && i < reading->truth->boxes; i++) {
        const struct box *box = &reading->truth->box[i];
        picture_outline(picture, tile->row + box->row0 * high, tile->col + box->col0 * scale, (box->row1 - box->row0) * high,
                        (box->col1 - box->col0) * scale, 1, frame);
    }
    for (int i = 0; i < reading->count; i++)
        if (reading->motifs[i].maximal)
            mark_motif(picture, tile, reading, &reading->motifs[i].at, reading->motifs[i].starred);
    if (reading->domain->shape.positions) {
        mark_sites(picture, tile->row + reading->rows * high + 3, tile->col, scale, reading);
        return;
    }
    char label[256];
    label_of(reading, label, sizeof label);
    bool large = scale > 1 && picture_text_width(label, 2) <= reading->cols * scale;
    picture_text(picture, tile->row + reading->rows * high + 4, tile->col, label, large ? 2 : 1, black);
}

enum status reading_draw(const struct reading *readings, int count, int columns, struct picture **out,
                         struct error *err)
{
    enum { GAP = 10, CAPTION = 42, SIDE = 360 };
    const struct open_domain *domain = readings[0].domain;
    int width = readings[0].cols, height = domain->shape.picture_rows, scale = width < SIDE ? (SIDE + width / 2) / width : 1;
    int rows = (count + columns - 1) / columns, across = width * scale + GAP, down = height * scale + CAPTION + GAP;
    float *grey = domain->domain->grey ? malloc((size_t)height * (size_t)width * sizeof *grey) : NULL;
    if (domain->domain->grey && !grey)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a picture");
    enum status status = picture_create(GAP + rows * down, GAP + columns * across, white, out, err);
    for (int i = 0; !status && i < count; i++) {
        struct tile tile = {GAP + i / columns * down, GAP + i % columns * across, scale, height / readings[i].rows};
        if (grey)
            domain->domain->grey(domain->state, readings[i].input, grey);
        draw_tile(*out, &tile, &readings[i], grey ? grey : readings[i].input);
    }
    free(grey);
    return status;
}
