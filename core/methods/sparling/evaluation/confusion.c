/* The confusion matrix as a table and as pictures (Fig. 7 and Appendix G of the paper).
 *
 * In a picture each row adds up to 1; the last row shows false positives, the last column misses. Columns are in the
 * order of the rows in which they have their largest share. The left margin shows the share of all events that a row
 * has. If several channels mark one symbol most often, a second picture adds their columns up under a common name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/draw/picture.h"
#include "core/methods/shared/publish.h"
#include "core/methods/sparling/evaluation/artifacts.h"
#include "core/methods/sparling/run_state.h"

enum { LEGEND = CHANNEL_NAME_TEXT + 16 };
enum { CELL = 34, LABEL_ROWS = 4, CONFUSION_NAME = 64, CONFUSION_BYTES = 16 << 20 };

struct confusion_column {
    int symbol;     /* symbol whose row has the column's largest share; the number of symbols stands for none */
    double share;   /* the largest share */
    int64_t *count; /* [symbols + 1] counts of the rows */
    char name[CONFUSION_NAME]; /* for instance "#3" or "#19/#9" */
};

struct confusion {
    int rows, cols; /* rows: number of rows; cols: number of columns, the column of misses included */
    struct confusion_column *column;
    int64_t *counts, *sum; /* counts: one block for the `count` arrays of all columns; sum: sum of each row */
    int64_t all;
};

static const struct colour white = {255, 255, 255}, black = {0, 0, 0}, line = {200, 200, 200};

static const char *symbol_name(const struct method_run *run, int symbol)
{
    const struct open_domain *domain = &run->domain;
    return symbol < domain->shape.symbols ? domain->domain->symbol(domain->state, symbol) : "none";
}

static enum status publish_table(struct method_run *run, struct error *err)
{
    const struct motif_errors *errors = &run->evaluation.errors;
    struct buf text;
    buf_init(&text, CONFUSION_BYTES);
    buf_text(&text, "true");
    for (int j = 0; j < errors->channels; j++) {
        char name[CHANNEL_NAME_TEXT], title[CHANNEL_NAME_TEXT + 24];
        channel_name_text(&run->evaluation.evidence.channels[j], &run->domain, name, sizeof name);
        snprintf(title, sizeof title, name[0] ? "channel %d (%s)" : "channel %d", j, name);
        buf_text(&text, ",");
        publish_quoted(&text, title);
    }
    buf_text(&text, ",none\n");
    for (int i = 0; i <= errors->symbols; i++) {
        publish_quoted(&text, symbol_name(run, i));
        for (int j = 0; j <= errors->channels; j++)
            buf_format(&text, ",%lld", (long long)errors->boxes[i * (errors->channels + 1) + j]);
        buf_text(&text, "\n");
    }
    enum status status = STATUS_OK;
    if (text.failed)
        status = error_memory(err, "confusion.csv");
    else
        run->env.artifact(run->env.context, "confusion.csv", "text/csv", text.data, text.size);
    buf_close(&text);
    return status;
}

static int by_row(const void *a, const void *b)
{
    const struct confusion_column *x = a, *y = b;
    if (x->symbol != y->symbol)
        return x->symbol - y->symbol;
    return (x->share < y->share) - (x->share > y->share);
}

static void add_channel(struct confusion_column *column, const struct motif_errors *errors, int channel)
{
    size_t used = strlen(column->name);
    for (int i = 0; i <= errors->symbols; i++)
        column->count[i] += errors->boxes[i * (errors->channels + 1) + channel];
    snprintf(column->name + used, sizeof column->name - used, "%s#%d", used > 0 ? "/" : "", channel);
}

/* Assigns channels to columns. Without `merged`, each channel has a column of its own. With `merged`, all channels that
 * mark the same symbol most often share a column. */
static void fill_columns(struct confusion *c, const struct motif_errors *errors, bool merged, const int *symbol_of)
{
    for (int j = 0; j < errors->channels; j++) {
        int into = c->cols;
        for (int k = 0; merged && symbol_of[j] >= 0 && k < j; k++)
            if (symbol_of[k] == symbol_of[j]) {
                /* channel j shares the column of the first channel that marks this symbol */
                for (into = 0; c->column[into].symbol != symbol_of[j]; into++)
                    ;
                break;
            }
        struct confusion_column *column = &c->column[into];
        if (into == c->cols) {
            c->cols++;
            column->count = c->counts + (ptrdiff_t)into * c->rows;
            column->symbol = symbol_of[j] >= 0 ? symbol_of[j] : errors->symbols;
        }
        add_channel(column, errors, j);
    }
    for (int k = 0; k < c->cols; k++) {
        struct confusion_column *column = &c->column[k];
        column->symbol = errors->symbols;
        column->share = 0;
        for (int i = 0; i < errors->symbols; i++) {
            double share = c->sum[i] > 0 ? (double)column->count[i] / (double)c->sum[i] : 0;
            if (share > column->share) {
                column->share = share;
                column->symbol = i;
            }
        }
    }
    qsort(c->column, (size_t)c->cols, sizeof *c->column, by_row);
    struct confusion_column *none = &c->column[c->cols++];
    none->count = c->counts + (ptrdiff_t)errors->channels * c->rows;
    add_channel(none, errors, errors->channels);
    snprintf(none->name, sizeof none->name, "none");
}

static enum status arrange_columns(const struct motif_errors *errors, bool merged, struct confusion *c,
                                   struct error *err)
{
    size_t rows = (size_t)errors->symbols + 1, cols = (size_t)errors->channels + 1;
    *c = (struct confusion){.rows = (int)rows};
    c->column = calloc(cols, sizeof *c->column);
    c->counts = calloc(cols * rows, sizeof *c->counts);
    c->sum = calloc(rows, sizeof *c->sum);
    int *symbol_of = calloc(cols, sizeof *symbol_of);
    if (!c->column || !c->counts || !c->sum || !symbol_of) {
        free(symbol_of);
        return error_memory(err, "a confusion matrix");
    }
    for (size_t i = 0; i < rows * cols; i++)
        c->sum[i / cols] += errors->boxes[i];
    for (size_t i = 0; i < rows; i++)
        c->all += c->sum[i];
    motif_errors_majority(errors, MOTIF_BOXES, symbol_of);
    fill_columns(c, errors, merged, symbol_of);
    free(symbol_of);
    return STATUS_OK;
}

static void confusion_close(struct confusion *c)
{
    free(c->column);
    free(c->counts);
    free(c->sum);
}

static void draw_cell(struct picture *picture, int row, int col, int64_t count, double share)
{
    uint8_t level = (uint8_t)(255 - 220 * share);
    struct colour shade = {level, level, 255};
    char text[12] = "";
    picture_fill(picture, row, col, CELL, CELL, shade);
    picture_outline(picture, row, col, CELL, CELL, 1, line);
    if (count > 0)
        snprintf(text, sizeof text,
                 share >= 0.9995                  ? "%.0f"
                 : share >= 0.0995 && share < 0.9 ? "%.0f"
                                                  : "%.1f",
                 100 * share);
    picture_text(picture, row + (CELL - PICTURE_GLYPH_ROWS) / 2, col + (CELL - picture_text_width(text, 1)) / 2, text,
                 1, picture_contrast(shade));
}

/* Writes the name of a merged column with one channel on a line, up to LABEL_ROWS lines. Returns the number of
 * lines. */
static int write_stacked_name(const char *name, char text[CONFUSION_NAME])
{
    int lines = 1;
    for (size_t i = 0;; i++) {
        text[i] = name[i] == '/' ? '\n' : name[i];
        if (name[i] == '/' && ++lines > LABEL_ROWS)
            text[i] = 0;
        if (!text[i])
            break;
    }
    return lines < LABEL_ROWS ? lines : LABEL_ROWS;
}

/* Layout: symbols and shares at the left, the heading and the channels at the top, then the matrix and a footer. */
enum { EDGE = 8, LINE = PICTURE_LINE, SHARES = 48, FOOT_LINES = 2 };
static const char *const headings[] = {"true", "events", "channels that marked it, % of the row"};
static const char *const feet[FOOT_LINES] = {"row none: false positives; column none: misses",
                                             "channels of one symbol are added up"};

struct sheet {
    struct picture *picture;
    int labels, left, right, top, feet; /* column `right` and row `top`: upper left corner of the first matrix cell */
    int named;                          /* number of channels with a name; each has a line below the footer */
};

/* Writes "#3: ring or triangle". Returns false if the channel has no name. */
static bool write_legend_line(const struct method_run *run, int channel, char out[LEGEND])
{
    char name[CHANNEL_NAME_TEXT];
    channel_name_text(&run->evaluation.evidence.channels[channel], &run->domain, name, sizeof name);
    snprintf(out, LEGEND, "#%d: %s", channel, name);
    return name[0] != '\0';
}

static struct sheet lay_out(const struct method_run *run, const struct confusion *c, bool merged)
{
    struct sheet sheet = {.left = 40, .feet = 1 + merged};
    char text[CONFUSION_NAME], names[LEGEND];
    for (int i = 0; i < c->rows; i++) {
        int wide = picture_text_width(symbol_name(run, i), 1) + 2 * EDGE;
        sheet.left = wide > sheet.left ? wide : sheet.left;
    }
    for (int j = 0; j < c->cols; j++) {
        int lines = write_stacked_name(c->column[j].name, text);
        sheet.labels = lines > sheet.labels ? lines : sheet.labels;
    }
    for (int j = 0; j < run->evaluation.errors.channels; j++)
        sheet.named += write_legend_line(run, j, names);
    sheet.right = sheet.left + SHARES;
    sheet.top = EDGE + 2 * LINE + sheet.labels * LINE;
    return sheet;
}

static int width_of(const struct method_run *run, const struct sheet *sheet, const struct confusion *c)
{
    char text[LEGEND];
    int width = sheet->right + c->cols * CELL, heading = sheet->right + picture_text_width(headings[2], 1);
    width = heading > width ? heading : width;
    for (int i = 0; i < sheet->feet; i++) {
        int foot = EDGE + picture_text_width(feet[i], 1);
        width = foot > width ? foot : width;
    }
    for (int j = 0; sheet->named > 0 && j < run->evaluation.errors.channels; j++) {
        (void)write_legend_line(run, j, text);
        int wide = EDGE + picture_text_width(text, 1);
        width = wide > width ? wide : width;
    }
    return width + EDGE;
}

static void draw_words(const struct method_run *run, const struct confusion *c, const struct sheet *sheet)
{
    char text[CONFUSION_NAME], names[LEGEND];
    picture_text(sheet->picture, sheet->top - LINE, EDGE, headings[0], 1, black);
    picture_text(sheet->picture, sheet->top - LINE, sheet->left, headings[1], 1, black);
    picture_text(sheet->picture, EDGE, sheet->right, headings[2], 1, black);
    for (int i = 0; i < c->rows; i++) {
        int row = sheet->top + i * CELL + (CELL - PICTURE_GLYPH_ROWS) / 2;
        snprintf(text, sizeof text, "%.1f%%", c->all > 0 ? 100 * (double)c->sum[i] / (double)c->all : 0);
        picture_text(sheet->picture, row, EDGE, symbol_name(run, i), 1, black);
        picture_text(sheet->picture, row, sheet->left, text, 1, black);
    }
    for (int j = 0; j < c->cols; j++) {
        int lines = write_stacked_name(c->column[j].name, text);
        picture_text(sheet->picture, sheet->top - lines * LINE,
                     sheet->right + j * CELL + (CELL - picture_text_width(text, 1)) / 2, text, 1, black);
    }
    for (int i = 0; i < sheet->feet; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): two lines at most */
        picture_text(sheet->picture, sheet->top + c->rows * CELL + EDGE + i * LINE, EDGE, feet[i], 1, black);
    for (int j = 0, at = sheet->feet; j < run->evaluation.errors.channels; j++)
        if (write_legend_line(run, j, names))
            picture_text(sheet->picture, sheet->top + c->rows * CELL + EDGE + at++ * LINE, EDGE, names, 1, black);
}

static enum status draw_confusion(struct method_run *run, const struct confusion *c, bool merged, struct error *err)
{
    struct sheet sheet = lay_out(run, c, merged);
    int height = sheet.top + c->rows * CELL + 2 * EDGE + (sheet.feet + sheet.named) * LINE;
    enum status status = picture_create(height, width_of(run, &sheet, c), white, &sheet.picture, err);
    if (status)
        return status;
    for (int i = 0; i < c->rows; i++)
        for (int j = 0; j < c->cols; j++) {
            int64_t count = c->column[j].count[i];
            draw_cell(sheet.picture, sheet.top + i * CELL, sheet.right + j * CELL, count,
                      c->sum[i] > 0 ? (double)count / (double)c->sum[i] : 0);
        }
    draw_words(run, c, &sheet);
    status = publish_picture(&run->env, merged ? "confusion-merged" : "confusion", sheet.picture, err);
    picture_destroy(sheet.picture);
    return status;
}

enum status run_confusion(struct method_run *run, struct error *err)
{
    struct confusion c;
    int columns = run->evaluation.errors.channels + 1;
    enum status status = publish_table(run, err);
    for (int merged = 0; !status && merged < 2; merged++) {
        status = arrange_columns(&run->evaluation.errors, merged, &c, err);
        if (!status && (!merged || c.cols < columns))
            status = draw_confusion(run, &c, merged, err);
        confusion_close(&c);
    }
    return status;
}
