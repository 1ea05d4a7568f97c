/* Draws the top activations: crops of inputs around the strongest motifs, as large as the window of g. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/methods/sparling/queries/top_activations.h"

enum {
    GAP = 12,
    TILE = 112,
    CAPTION = 12,
    LINE = 2 * PICTURE_LINE,
    BAR = 24,
    BARS = 120,
    ROWS_MOST = 64,
    ROW_LABEL = 190,
    NAMES = 108,
    INK = 64
};

static const struct colour white = {255, 255, 255}, black = {0, 0, 0}, outside = {222, 230, 242}, frame = {40, 140, 40},
                           faint = {130, 130, 130};

/* The layout of a crop. */
struct cut {
    int rows, cols; /* size of a crop, in pixels of the grey picture of an input */
    int height;     /* rows of the grey picture of an input */
    int high;       /* rows of the grey picture that one row of the map covers */
    int tall, wide; /* pixels for each value */
    bool bright;    /* large values are bright, as in a photograph */
    float *planes, *grey;
    struct domain_truth *truth;
};

static void cut_close(struct cut *cut)
{
    free(cut->planes);
    free(cut->grey);
    domain_truths_destroy(cut->truth);
}

/* Returns how many pixels a value takes along one axis, if a crop has this many values along the axis. The two axes of
 * a sequence can have different scales. */
static int pixels(int values)
{
    return TILE / values > 1 ? TILE / values : 1;
}

static int crop_rows(const struct cut *cut)
{
    return cut->rows * cut->tall;
}
static int crop_cols(const struct cut *cut)
{
    return cut->cols * cut->wide;
}
static int pitch(const struct cut *cut)
{
    return (crop_cols(cut) > NAMES ? crop_cols(cut) : NAMES) + GAP;
}

static enum status cut_open(const struct top_activations *s, struct cut *cut, struct error *err)
{
    const struct domain_shape *shape = &s->model->domain.shape;
    int side = 2 * s->half + 1, height = shape->picture_rows > 0 ? shape->picture_rows : shape->rows;
    *cut = (struct cut){
        .rows = shape->rows > 1 ? side : height, .cols = side, .height = height, .high = height / shape->rows};
    cut->tall = pixels(cut->rows);
    cut->wide = pixels(cut->cols);
    cut->planes = malloc(domain_inputs(shape) * sizeof *cut->planes);
    cut->bright = shape->rows > 1 && !shape->ink;
    cut->grey = malloc((size_t)height * (size_t)shape->cols * sizeof *cut->grey);
    if (!cut->planes || !cut->grey)
        return error_memory(err, "a picture");
    return domain_truths_create(shape, 1, &cut->truth, err);
}

/* Sets *from and *length to the part of [0, size) that a crop of `count` values, beginning at `first`, shows. */
static void clip(int first, int count, int size, int *from, int *length)
{
    int end = first + count < size ? first + count : size;
    *from = first > 0 ? first : 0;
    *length = end - *from;
}

static void outline_boxes(struct picture *picture, const struct cut *cut, int row, int col, int first_row,
                          int first_col)
{
    for (int i = 0; i < cut->truth->boxes; i++) {
        const struct box *box = &cut->truth->box[i];
        int top, left, high, wide;
        clip(box->row0 * cut->high, (box->row1 - box->row0) * cut->high, first_row + cut->rows, &top, &high);
        clip(box->col0, box->col1 - box->col0, first_col + cut->cols, &left, &wide);
        high -= top < first_row ? first_row - top : 0;
        wide -= left < first_col ? first_col - left : 0;
        top = top < first_row ? first_row : top;
        left = left < first_col ? first_col : left;
        if (high > 0 && wide > 0)
            picture_outline(picture, row + (top - first_row) * cut->tall, col + (left - first_col) * cut->wide,
                            high * cut->tall, wide * cut->wide, 1, frame);
    }
}

static void draw_part(struct picture *picture, const struct cut *cut, int width, int row, int col, int first_row,
                      int first_col)
{
    int top, left, high, wide;
    clip(first_row, cut->rows, cut->height, &top, &high);
    clip(first_col, cut->cols, width, &left, &wide);
    for (int r = top; r < top + high; r++)
        for (int c = left; c < left + wide; c++) {
            double share = fmin(1, fmax(0, (double)cut->grey[r * width + c]));
            uint8_t level = (uint8_t)lround(cut->bright ? 255 * share : 255 - share * (255 - INK));
            picture_fill(picture, row + (r - first_row) * cut->tall, col + (c - first_col) * cut->wide, cut->tall,
                         cut->wide, (struct colour){level, level, level});
        }
}

static enum status draw_crop(struct picture *picture, const struct top_activations *s, struct cut *cut,
                             const struct top_activations_top *top, int row, int col, struct error *err)
{
    const struct open_domain *domain = &s->model->domain;
    int width = domain->shape.cols, first_col = top->at.col - s->half;
    int first_row = domain->shape.rows > 1 ? top->at.row - s->half : 0;
    enum status status = top_activations_sample(s, top->sample, cut->planes, cut->truth, err);
    if (status)
        return status;
    if (domain->domain->grey)
        domain->domain->grey(domain->state, cut->planes, cut->grey);
    for (int i = 0; !domain->domain->grey && i < domain->shape.rows * width; i++)
        cut->grey[i] = cut->planes[i];
    picture_fill(picture, row, col, crop_rows(cut), crop_cols(cut), outside);
    draw_part(picture, cut, width, row, col, first_row, first_col);
    outline_boxes(picture, cut, row, col, first_row, first_col);
    picture_outline(picture, row - 1, col - 1, crop_rows(cut) + 2, crop_cols(cut) + 2, 1, faint);
    return STATUS_OK;
}

static const char *name_of(const struct top_activations *s, int symbol)
{
    const struct open_domain *domain = &s->model->domain;
    const char *name = symbol >= 0 ? domain->domain->symbol(domain->state, symbol) : NULL;
    return name ? name : "";
}

static void describe(const struct top_activations *s, const struct top_activations_channel *c, char *out, size_t room)
{
    int64_t most;
    int symbol = top_activations_symbol(s, c, &most);
    if (c->active == 0)
        snprintf(out, room, "never active");
    else if (!s->sparse)
        snprintf(out, room, "%lld active", (long long)c->active);
    else if (symbol >= 0)
        snprintf(out, room, "%lld motifs,\n%.0f %% on %.20s", (long long)c->motifs,
                 100.0 * (double)most / (double)c->motifs, name_of(s, symbol));
    else
        snprintf(out, room, "%lld motifs", (long long)c->motifs);
}

static const char *const set_names[] = {"examples", "test samples", "validation samples", "training samples"};

/* ---- one channel ------------------------------------------------------------------------------------ */

static void draw_histogram(struct picture *picture, const struct top_activations_channel *c, int row, int col, int bar)
{
    char text[64];
    int64_t most = 1;
    for (int i = 0; i < TOP_ACTIVATIONS_BINS; i++)
        most = c->bin[i] > most ? c->bin[i] : most;
    for (int i = 0; i < TOP_ACTIVATIONS_BINS; i++) {
        int high = (int)lround((double)c->bin[i] / (double)most * BARS);
        high = c->bin[i] > 0 && high == 0 ? 1 : high;
        picture_fill(picture, row + BARS - high, col + i * bar + 1, high, bar - 2, picture_palette(0));
    }
    picture_fill(picture, row + BARS, col, 1, TOP_ACTIVATIONS_BINS * bar, black);
    for (int i = 0; i <= 4; i++) {
        snprintf(text, sizeof text, "%.4g", c->range * i / 4);
        int at = col + i * TOP_ACTIVATIONS_BINS / 4 * bar, wide = picture_text_width(text, 1);
        picture_fill(picture, row + BARS, at, 4, 1, black);
        picture_text(picture, row + BARS + 7, i == 0 ? at : i == 4 ? at - wide : at - wide / 2, text, 1, black);
    }
    snprintf(text, sizeof text, "%lld activations; the highest bar is %lld", (long long)c->active, (long long)most);
    picture_text(picture, row - 14, col, text, 1, faint);
}

/* Writes "3: ring or triangle", or "channel 3" if the channel has no name, cut to `room` bytes. */
static void title(const struct top_activations *s, int channel, char *out, size_t room)
{
    char name[CHANNEL_NAME_TEXT] = "";
    if (s->model->names)
        channel_name_text(&s->model->names[channel], &s->model->domain, name, sizeof name);
    if (name[0])
        snprintf(out, room, "%d: %s", channel, name);
    else
        snprintf(out, room, "channel %d", channel);
}

static enum status draw_one(const struct top_activations *s, struct cut *cut, struct picture **out, struct error *err)
{
    enum { HEAD = GAP + 2 * LINE, TEXT_MOST = 52 };
    const struct top_activations_channel *c = &s->channel[s->channel_asked];
    int across = pitch(cut), down = crop_rows(cut) + CAPTION + GAP, columns = (GAP + 8 * (TILE + GAP)) / across;
    columns = columns < 1 ? 1 : columns;
    int rows = (c->count + columns - 1) / columns, width = GAP + columns * across,
        bar = (width - 2 * GAP) / TOP_ACTIVATIONS_BINS;
    char text[CHANNEL_NAME_TEXT + 160], about[96], name[CHANNEL_NAME_TEXT + 24];
    bar = bar < 4 ? 4 : bar > BAR ? BAR : bar;
    width = width < 2 * GAP + TOP_ACTIVATIONS_BINS * bar ? 2 * GAP + TOP_ACTIVATIONS_BINS * bar : width;
    width = width < TEXT_MOST * 2 * PICTURE_ADVANCE ? TEXT_MOST * 2 * PICTURE_ADVANCE : width;
    describe(s, c, about, sizeof about);
    for (char *at = about; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    title(s, (int)s->channel_asked, name, sizeof name);
    snprintf(text, sizeof text, "%s: %s", name, about);
    int heading = picture_text_width(text, 2) + 2 * GAP;
    width = width < heading ? heading : width;
    enum status status = picture_create(HEAD + rows * down + 3 * GAP + BARS + 2 * GAP, width, white, out, err);
    if (status)
        return status;
    picture_text(*out, GAP, GAP, text, 2, black);
    snprintf(text, sizeof text, "in %lld of %lld %s", (long long)c->inputs, (long long)s->asked.samples,
             set_names[s->asked.set]);
    picture_text(*out, GAP + LINE, GAP, text, 2, faint);
    for (int i = 0; !status && i < c->count; i++) {
        int row = HEAD + i / columns * down, col = GAP + i % columns * across;
        status = draw_crop(*out, s, cut, &c->top[i], row, col, err);
        snprintf(text, sizeof text, "%.3g %.8s #%lld", (double)c->top[i].at.value, name_of(s, c->top[i].symbol),
                 (long long)c->top[i].sample);
        picture_text(*out, row + crop_rows(cut) + 4, col, text, 1, black);
    }
    draw_histogram(*out, c, HEAD + rows * down + 3 * GAP, GAP, bar);
    return status;
}

/* ---- all of them ------------------------------------------------------------------------------------ */

/* Returns the width of the texts left of the crops, which is that of the longest title. */
static int label_width(const struct top_activations *s, int shown)
{
    char text[CHANNEL_NAME_TEXT + 24];
    int widest = ROW_LABEL;
    for (int i = 0; i < shown; i++) {
        title(s, i, text, sizeof text);
        int wide = picture_text_width(text, 2) + GAP;
        widest = wide > widest ? wide : widest;
    }
    return widest;
}

static enum status draw_all(const struct top_activations *s, struct cut *cut, struct picture **out, struct error *err)
{
    int shown = s->channels < ROWS_MOST ? s->channels : ROWS_MOST, across = crop_cols(cut) + GAP;
    int down = crop_rows(cut) + GAP;
    int label = label_width(s, shown);
    char text[CHANNEL_NAME_TEXT + 24];
    down = down < 4 * LINE ? 4 * LINE : down;
    enum status status =
        picture_create(2 * GAP + LINE + shown * down, GAP + label + (int)s->asked.top * across, white, out, err);
    if (status)
        return status;
    snprintf(text, sizeof text, "%d of %d channels, %lld %s", shown, s->channels, (long long)s->asked.samples,
             set_names[s->asked.set]);
    picture_text(*out, GAP, GAP, text, 2, faint);
    for (int i = 0; !status && i < shown; i++) {
        const struct top_activations_channel *c = &s->channel[i];
        int row = GAP + LINE + GAP + i * down;
        title(s, i, text, sizeof text);
        picture_text(*out, row, GAP, text, 2, black);
        describe(s, c, text, sizeof text);
        picture_text(*out, row + LINE, GAP, text, 2, faint);
        for (int j = 0; !status && j < c->count; j++)
            status = draw_crop(*out, s, cut, &c->top[j], row, GAP + label + j * across, err);
    }
    return status;
}

static enum status top_activations_draw(const struct top_activations *statistics, struct picture **out,
                                        struct error *err)
{
    struct cut cut;
    *out = NULL;
    enum status status = cut_open(statistics, &cut, err);
    if (!status)
        status =
            statistics->channel_asked < 0 ? draw_all(statistics, &cut, out, err) : draw_one(statistics, &cut, out, err);
    cut_close(&cut);
    if (status) {
        picture_destroy(*out);
        *out = NULL;
    }
    return status;
}

enum status sparling_draw_channels(const struct method_question *question, struct picture **out, struct error *err)
{
    struct top_activations s;
    enum status status = top_activations_take(question, &s, err);
    if (!status)
        status = top_activations_draw(&s, out, err);
    top_activations_close(&s);
    return status;
}
