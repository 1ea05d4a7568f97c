/* Lists the motifs of a map, reads the label from it, and draws both over the input (annotation.h).
 *
 * The evaluation decides by the same rules which motifs are maximal, that is, have no stronger motif nearby. */
#include "core/methods/sparling/queries/annotation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_place(const void *a, const void *b)
{
    const struct motif *x = a, *y = b;
    if (x->channel != y->channel)
        return x->channel - y->channel;
    return x->row != y->row ? x->row - y->row : x->col - y->col;
}

static int by_value(const void *a, const void *b)
{
    float x = ((const struct motif *)a)->value, y = ((const struct motif *)b)->value;
    return x != y ? (x < y) - (x > y) : by_place(a, b);
}

static bool near(const struct motif *a, const struct motif *b)
{
    return abs(a->row - b->row) <= ANNOTATION_REACH && abs(a->col - b->col) <= ANNOTATION_REACH;
}

int annotation_same(int reach)
{
    return reach / 2 > ANNOTATION_REACH ? reach / 2 : ANNOTATION_REACH;
}

void annotation_mark(struct read_motif *motifs, int count)
{
    for (int i = 0; i < count; i++) {
        bool hidden = false, neighbour = false;
        for (int j = 0; j < count && !hidden; j++) {
            if (j == i || !near(&motifs[i].at, &motifs[j].at))
                continue;
            float mine = motifs[i].at.value, other = motifs[j].at.value;
            hidden = other > mine || (other == mine && j < i);
            neighbour = true;
        }
        motifs[i].maximal = !hidden;
        motifs[i].starred = !hidden && neighbour;
    }
}

/* Lists the active elements of a planar map; only the strongest if there are too many. It scans one channel after
 * another, and after each drops the weakest motifs. A list of all elements of a dense map would need several times the
 * memory of the map. */
static enum status list_motifs(const float *planes, struct annotation *annotation, struct error *err)
{
    int rows = annotation->rows, cols = annotation->cols, count = 0, total = 0;
    size_t plane = (size_t)rows * (size_t)cols;
    struct motif *all = malloc((ANNOTATION_MOTIFS + plane) * sizeof *all);
    for (int c = 0; all && c < annotation->channels; c++) {
        int more = motif_scan(planes + (size_t)c * plane, 1, rows, cols, all + count, (int)plane);
        for (int i = count; i < count + more; i++)
            all[i].channel = c;
        total += more;
        count += more;
        if (count > ANNOTATION_MOTIFS) {
            qsort(all, (size_t)count, sizeof *all, by_value);
            count = ANNOTATION_MOTIFS;
        }
    }
    annotation->total = total;
    annotation->count = count;
    annotation->motifs = calloc((size_t)count + 1, sizeof *annotation->motifs);
    if (!all || !annotation->motifs) {
        free(all);
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to list motifs");
    }
    if (total > count)
        qsort(all, (size_t)count, sizeof *all, by_place);
    for (int i = 0; i < count; i++)
        annotation->motifs[i].at = all[i];
    free(all);
    annotation_mark(annotation->motifs, count);
    return STATUS_OK;
}

/* Lists the sites of a sequence with a label at every position. A site is a position at which a class other than 0, the
 * common class, has a probability above 1/2. */
static enum status list_sites(struct exec *e, const struct tensor *classes, struct annotation *annotation,
                              struct error *err)
{
    enum status status = exec_status(e, err);
    if (status)
        return status;
    annotation->sites = malloc((size_t)classes->rows * sizeof *annotation->sites);
    if (!annotation->sites)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to list sites");
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
                annotation->sites[annotation->site_count++] = (struct read_site){i, c, probability};
        }
    }
    return STATUS_OK;
}

/* Predicts the numbers. */
static enum status read_numbers(struct exec *e, struct network *network, struct tensor *motifs,
                                struct annotation *annotation, struct error *err)
{
    const struct tensor *numbers = network_numbers(e, network, motifs);
    enum status status = exec_status(e, err);
    if (status)
        return status;
    annotation->numbers = malloc((size_t)numbers->cols * sizeof *annotation->numbers);
    if (!annotation->numbers)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read numbers");
    for (int k = 0; k < numbers->cols; k++)
        annotation->numbers[k] = (float)network_number(network, k, (double)numbers->data[k]);
    return STATUS_OK;
}

enum status annotation_make(struct exec *e, struct network *network, const struct open_domain *domain,
                            const struct channel_report *report, const float *input, const struct domain_truth *truth,
                            struct annotation *annotation, struct error *err)
{
    exec_begin(e, false, 0);
    return annotation_of_map(e, network, domain, report, network_motifs(e, network, input, 1, 1), input, truth,
                             annotation, err);
}

enum status annotation_of_map(struct exec *e, struct network *network, const struct open_domain *domain,
                              const struct channel_report *report, struct tensor *motifs, const float *input,
                              const struct domain_truth *truth, struct annotation *annotation, struct error *err)
{
    const struct sparling_config *c = &network->config;
    *annotation = (struct annotation){.domain = domain,
                                      .names = report->names,
                                      .places = report->places,
                                      .rows = network->map.rows,
                                      .cols = network->map.cols,
                                      .channels = (int)c->channels_motif,
                                      .input = input,
                                      .truth = truth};
    enum status status = exec_status(e, err);
    if (status)
        return status;
    size_t count = (size_t)annotation->channels * (size_t)annotation->rows * (size_t)annotation->cols;
    float *planes = arena_alloc(e->arena, count * sizeof *planes);
    if (!planes)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory to read an input");
    tensor_to_planes(motifs, planes);
    if (annotation->places)
        status = channel_places_move(annotation->places, annotation->channels, annotation->rows, annotation->cols,
                                     planes, err);
    if (!status)
        status = list_motifs(planes, annotation, err);
    if (!status && network->shape.positions) {
        status = list_sites(e, network_classes(e, network, motifs), annotation, err);
    } else if (!status && network->shape.numbers > 0) {
        status = read_numbers(e, network, motifs, annotation, err);
    } else if (!status) {
        struct network_memory memory = network_memory(e, network, motifs);
        status = decode_greedy(e, network, &memory, 1, sparling_decode_steps(c), &annotation->decoded, err);
    }
    if (status)
        annotation_close(annotation);
    return status;
}

void annotation_close(struct annotation *annotation)
{
    free(annotation->motifs);
    free(annotation->sites);
    free(annotation->numbers);
    annotation->numbers = NULL;
    annotation->motifs = NULL;
    annotation->sites = NULL;
    query_words_close(&annotation->words);
    annotation->count = annotation->site_count = 0;
}

bool annotation_extent(const struct annotation *annotation, const struct motif *motif, struct box *box)
{
    return annotation->places && channel_places_box(annotation->places, motif->channel, motif->row, motif->col,
                                                    annotation->rows, annotation->cols, box);
}

/* ---- pictures ---------------------------------------------------------------------------------- */

static const struct colour white = {255, 255, 255}, black = {0, 0, 0}, ink = {96, 96, 96}, frame = {40, 120, 40};

/* Appends a line to a text: a word, then the numbers. */
static void append_numbers(const char *word, const float *number, int count, char *out, size_t room)
{
    size_t at = strlen(out);
    at += (size_t)snprintf(out + at, room - at, "%s%s", at > 0 ? "\n" : "", word);
    for (int k = 0; k < count && at < room; k++)
        at += (size_t)snprintf(out + at, room - at, " %.4g", (double)number[k]);
}

/* Writes the true label and the label that was read, one line each, without START and END. */
static void label_of(const struct annotation *annotation, char *out, size_t room)
{
    int32_t symbols[DECODE_TOKENS];
    size_t at = 0;
    if (annotation->numbers) {
        out[0] = '\0';
        if (annotation->truth)
            append_numbers("true", annotation->truth->number, annotation->domain->shape.numbers, out, room / 2);
        append_numbers("read", annotation->numbers, annotation->domain->shape.numbers, out, room);
        return;
    }
    if (annotation->truth) {
        at += (size_t)snprintf(out, room, "true ");
        domain_label(annotation->domain, annotation->truth->label, annotation->truth->length, out + at, room - at);
        at += strlen(out + at);
        at += (size_t)snprintf(out + at, room - at, "\n");
    }
    for (int i = 0; i < annotation->decoded.length; i++)
        symbols[i] = annotation->decoded.tokens[i] - TOKEN_FIRST;
    if (at < room)
        at += (size_t)snprintf(out + at, room - at, "read ");
    if (at < room)
        domain_label(annotation->domain, symbols, annotation->decoded.length, out + at, room - at);
}

/* Draws ticks at the true labels under a tile and discs at the labels that were read, one colour for each class. */
static void mark_sites(struct picture *picture, int row, int col, int scale, const struct annotation *annotation)
{
    const struct domain_truth *truth = annotation->truth;
    for (int i = 0; truth && i < truth->length; i++)
        if (truth->label[i] > 0)
            picture_fill(picture, row, col + i * scale, 8, scale > 3 ? scale : 3, picture_palette(truth->label[i] - 1));
    for (int i = 0; i < annotation->site_count; i++) {
        const struct read_site *site = &annotation->sites[i];
        picture_disc(picture, row + 13, col + site->position * scale + scale / 2, 4, picture_palette(site->label - 1));
    }
}

struct tile {
    int row, col; /* upper left corner in the picture */
    int scale;    /* pixels for each column of the map */
    int high; /* a row of the map takes high * scale rows of the picture; a sequence has one row for the whole tile */
};

enum { PLATE_TEXT = 14 }; /* most characters of a channel's name on a plate */

/* Draws a channel's name, or else its number, on a plate of its colour. The lower left corner is at (row, col), or
 * beside it if the plate would leave the picture. */
static void mark_channel(struct picture *picture, int row, int col, const struct annotation *annotation, int channel,
                         int scale)
{
    struct colour colour = picture_palette(channel);
    char name[PLATE_TEXT + 1] = "";
    if (annotation->names)
        channel_name_text(&annotation->names[channel], annotation->domain, name, sizeof name);
    if (!name[0])
        snprintf(name, sizeof name, "%d", channel);
    int width = picture_text_width(name, scale) + 2 * scale, height = PICTURE_LINE * scale;
    row = row - height > 0 ? row - height : 0;
    col = col + width < picture->cols ? col : picture->cols - width;
    picture_fill(picture, row, col, height, width, colour);
    picture_text(picture, row + 2 * scale, col + scale, name, scale, picture_contrast(colour));
}

/* Outlines the extent of a motif; in a picture of a sequence, underlines it at the height `y` of the channel. */
static void mark_extent(struct picture *picture, const struct tile *tile, const struct annotation *annotation,
                        const struct motif *motif, int y)
{
    struct box box;
    int scale = tile->scale;
    struct colour colour = picture_palette(motif->channel);
    if (!annotation_extent(annotation, motif, &box))
        return;
    if (annotation->rows == 1)
        picture_fill(picture, y, tile->col + box.col0 * scale, 2, (box.col1 - box.col0) * scale, colour);
    else
        picture_outline(picture, tile->row + box.row0 * scale, tile->col + box.col0 * scale,
                        (box.row1 - box.row0) * scale, (box.col1 - box.col0) * scale, scale < 4 ? 1 : 2, colour);
}

static void mark_motif(struct picture *picture, const struct tile *tile, const struct annotation *annotation,
                       const struct motif *motif, bool starred)
{
    int scale = tile->scale, x = tile->col + motif->col * scale + scale / 2;
    int y = tile->row + motif->row * scale + scale / 2;
    struct colour colour = picture_palette(motif->channel);
    if (tile->high > 1)
        y = tile->row + (2 * motif->channel + 1) * tile->high * scale / (2 * annotation->channels);
    mark_extent(picture, tile, annotation, motif, y);
    picture_disc(picture, y, x, scale + 1, colour);
    if (starred)
        picture_cross(picture, y, x, 2 * scale, colour);
    mark_channel(picture, y - scale, x + scale + 1, annotation, motif->channel, scale < 5 ? 1 : 2);
}

/* Draws one input. Photographs keep their polarity; ink, sequences and spectrograms are dark on white. */
static void draw_tile(struct picture *picture, const struct tile *tile, const struct annotation *annotation,
                      const float *grey)
{
    int scale = tile->scale, high = tile->high * scale;
    bool bright = annotation->rows > 1 && !annotation->domain->shape.ink;
    picture_grey(picture, tile->row, tile->col, grey, annotation->rows * tile->high, annotation->cols, scale,
                 bright ? black : white, bright ? white : ink);
    for (int i = 0; annotation->truth && i < annotation->truth->boxes; i++) {
        const struct box *box = &annotation->truth->box[i];
        picture_outline(picture, tile->row + box->row0 * high, tile->col + box->col0 * scale,
                        (box->row1 - box->row0) * high, (box->col1 - box->col0) * scale, 1, frame);
    }
    for (int i = 0; i < annotation->count; i++)
        if (annotation->motifs[i].maximal)
            mark_motif(picture, tile, annotation, &annotation->motifs[i].at, annotation->motifs[i].starred);
    if (annotation->domain->shape.positions) {
        mark_sites(picture, tile->row + annotation->rows * high + 3, tile->col, scale, annotation);
        return;
    }
    char label[256];
    label_of(annotation, label, sizeof label);
    bool large = scale > 1 && picture_text_width(label, 2) <= annotation->cols * scale;
    picture_text(picture, tile->row + annotation->rows * high + 4, tile->col, label, large ? 2 : 1, black);
}

enum status annotation_draw(const struct annotation *annotations, int count, int columns, struct picture **out,
                            struct error *err)
{
    enum { GAP = 10, CAPTION = 42, SIDE = 360 };
    const struct open_domain *domain = annotations[0].domain;
    int width = annotations[0].cols, height = domain->shape.picture_rows,
        scale = width < SIDE ? (SIDE + width / 2) / width : 1;
    int rows = (count + columns - 1) / columns, across = width * scale + GAP, down = height * scale + CAPTION + GAP;
    float *grey = domain->domain->grey ? malloc((size_t)height * (size_t)width * sizeof *grey) : NULL;
    if (domain->domain->grey && !grey)
        return error_memory(err, "a picture");
    enum status status = picture_create(GAP + rows * down, GAP + columns * across, white, out, err);
    for (int i = 0; !status && i < count; i++) {
        struct tile tile = {GAP + i / columns * down, GAP + i % columns * across, scale, height / annotations[i].rows};
        if (grey)
            domain->domain->grey(domain->state, annotations[i].input, grey);
        draw_tile(*out, &tile, &annotations[i], grey ? grey : annotations[i].input);
    }
    free(grey);
    return status;
}
