/* Counts hits, misses and false positives of motifs, by boxes and by windows (motif_errors.h), and computes the error
 * rates from the counts. */
#include "core/metrics/motif_errors.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/metrics/assignment.h"

#define MOST_LINES 4096
#define NOBODY (-1)

static size_t cells(const struct motif_errors *errors)
{
    return (size_t)(errors->symbols + 1) * (size_t)(errors->channels + 1);
}

/* The entry of a symbol and a channel in a confusion matrix. symbol == symbols and channel == channels stand for
 * "none". */
static size_t cell(const struct motif_errors *errors, int symbol, int channel)
{
    return (size_t)symbol * (size_t)(errors->channels + 1) + (size_t)channel;
}

enum status motif_errors_init(struct motif_errors *errors, int symbols, int channels, int reach, struct error *err)
{
    *errors = (struct motif_errors){.symbols = symbols, .channels = channels, .reach = reach};
    if (symbols < 1 || symbols > MOST_LINES || channels < 1 || channels > MOST_LINES || reach < 0) {
        *errors = (struct motif_errors){0};
        return error_set(err, STATUS_INVALID, NULL, "motif errors of %d symbols, %d channels, reach %d", symbols,
                         channels, reach);
    }
    errors->boxes = calloc(3 * cells(errors), sizeof *errors->boxes);
    if (errors->boxes == NULL)
        return error_memory(err, "a confusion matrix");
    errors->windows = errors->boxes + cells(errors);
    errors->lone = errors->windows + cells(errors);
    return STATUS_OK;
}

void motif_errors_close(struct motif_errors *errors)
{
    free(errors->boxes);
    free(errors->owner);
    *errors = (struct motif_errors){0};
}

void motif_errors_clear(struct motif_errors *errors)
{
    memset(errors->boxes, 0, 3 * cells(errors) * sizeof *errors->boxes);
    memset(errors->counts, 0, sizeof errors->counts);
    errors->samples = errors->motifs = errors->weaker = errors->taken = errors->most = errors->crowded = 0;
}

/* -- counting --------------------------------------------------------------------------------- */

static bool active(const struct motif *motif)
{
    return motif->value > 0.0F;
}

/* Whether a is the stronger of two active motifs. This is a total order, so the order of lists does not matter. */
static bool stronger(const struct motif *a, const struct motif *b)
{
    if (a->value != b->value)
        return a->value > b->value;
    if (a->channel != b->channel)
        return a->channel < b->channel;
    return a->row != b->row ? a->row < b->row : a->col < b->col;
}

/* The strongest of the active motifs that belong to `box`; NULL: there is none. */
static const struct motif *strongest(const struct motif *motifs, int count, const int *owner, int box)
{
    const struct motif *best = NULL;
    for (int i = 0; i < count; i++)
        if (owner[i] == box && active(&motifs[i]) && (best == NULL || stronger(&motifs[i], best)))
            best = &motifs[i];
    return best;
}

static int owned_by(const struct motif *motifs, int count, const int *owner, int box)
{
    int owned = 0;
    for (int i = 0; i < count; i++)
        owned += owner[i] == box && active(&motifs[i]);
    return owned;
}

static bool inside(const struct motif *motif, const struct box *box)
{
    return motif->row >= box->row0 && motif->row < box->row1 && motif->col >= box->col0 && motif->col < box->col1;
}

/* Returns the index of the first box that contains the motif; -1: no box does. */
static int owner_by_box(const struct motif *motif, const struct box *boxes, int count)
{
    for (int b = 0; b < count; b++)
        if (inside(motif, &boxes[b]))
            return b;
    return NOBODY;
}

static bool in_window(const struct motif *motif, const struct box *box, int reach)
{
    return abs(motif->row - box->row) <= reach && abs(motif->col - box->col) <= reach;
}

/* Of the boxes whose window contains the motif, returns the index of the one whose point is nearest; -1: there is
 * none. */
static int owner_by_window(const struct motif *motif, const struct box *boxes, int count, int reach)
{
    int best = NOBODY;
    int64_t least = 0;
    for (int b = 0; b < count; b++) {
        int64_t rows = motif->row - boxes[b].row, cols = motif->col - boxes[b].col;
        int64_t distance = rows * rows + cols * cols;
        if (in_window(motif, &boxes[b], reach) && (best == NOBODY || distance < least)) {
            best = b;
            least = distance;
        }
    }
    return best;
}

static bool any_in_window(const struct motif *motifs, int count, const struct box *box, int reach)
{
    for (int i = 0; i < count; i++)
        if (active(&motifs[i]) && in_window(&motifs[i], box, reach))
            return true;
    return false;
}

/* Counts all active motifs that belong to no box as false positives. Returns the number of the other active motifs. */
static int64_t count_strays(const struct motif_errors *errors, int64_t *matrix, const struct motif *motifs, int count)
{
    int64_t owned = 0;
    for (int i = 0; i < count; i++) {
        if (active(&motifs[i])) {
            owned += errors->owner[i] != NOBODY;
            matrix[cell(errors, errors->symbols, motifs[i].channel)] += errors->owner[i] == NOBODY;
        }
    }
    return owned;
}

static void count_boxes(struct motif_errors *errors, const struct motif *motifs, int motif_count,
                        const struct box *boxes, int box_count)
{
    for (int i = 0; i < motif_count; i++)
        errors->owner[i] = owner_by_box(&motifs[i], boxes, box_count);
    for (int b = 0; b < box_count; b++) {
        const struct motif *best = strongest(motifs, motif_count, errors->owner, b);
        errors->boxes[cell(errors, boxes[b].symbol, best != NULL ? best->channel : errors->channels)]++;
        if (best != NULL && owned_by(motifs, motif_count, errors->owner, b) == 1)
            errors->lone[cell(errors, boxes[b].symbol, best->channel)]++;
    }
    (void)count_strays(errors, errors->boxes, motifs, motif_count);
}

static void count_windows(struct motif_errors *errors, const struct motif *motifs, int motif_count,
                          const struct box *boxes, int box_count)
{
    int64_t hits = 0;
    for (int i = 0; i < motif_count; i++)
        errors->owner[i] = owner_by_window(&motifs[i], boxes, box_count, errors->reach);
    for (int b = 0; b < box_count; b++) {
        const struct motif *best = strongest(motifs, motif_count, errors->owner, b);
        if (best != NULL) {
            errors->windows[cell(errors, boxes[b].symbol, best->channel)]++;
            hits++;
        } else if (any_in_window(motifs, motif_count, &boxes[b], errors->reach)) {
            errors->taken++;
        } else {
            errors->windows[cell(errors, boxes[b].symbol, errors->channels)]++;
        }
    }
    errors->weaker += count_strays(errors, errors->windows, motifs, motif_count) - hits;
}

/* Whether the windows of any two boxes share a position. A window has 2 * reach + 1 positions along each axis. */
static bool windows_meet(const struct box *boxes, int count, int reach)
{
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < i; j++)
            if (abs(boxes[i].row - boxes[j].row) <= 2 * reach && abs(boxes[i].col - boxes[j].col) <= 2 * reach)
                return true;
    }
    return false;
}

static void count_truths(struct motif_errors *errors, const struct box *boxes, int box_count)
{
    errors->counts[box_count < MOTIF_COUNTS ? box_count : MOTIF_COUNTS]++;
    errors->most = box_count > errors->most ? box_count : errors->most;
    errors->crowded += windows_meet(boxes, box_count, errors->reach);
}

static enum status check_input(const struct motif_errors *errors, const struct motif *motifs, int motif_count,
                               const struct box *boxes, int box_count, struct error *err)
{
    for (int i = 0; i < motif_count; i++)
        if (motifs[i].channel < 0 || motifs[i].channel >= errors->channels)
            return error_set(err, STATUS_INVALID, NULL, "motif channel %d of %d", motifs[i].channel, errors->channels);
    for (int b = 0; b < box_count; b++)
        if (boxes[b].symbol < 0 || boxes[b].symbol >= errors->symbols)
            return error_set(err, STATUS_INVALID, NULL, "symbol %d of %d", boxes[b].symbol, errors->symbols);
    return STATUS_OK;
}

enum status motif_errors_add(struct motif_errors *errors, const struct motif *motifs, int motif_count,
                             const struct box *boxes, int box_count, struct error *err)
{
    enum status status = check_input(errors, motifs, motif_count, boxes, box_count, err);
    if (status)
        return status;
    if (motif_count > errors->owner_room) {
        int *owner = realloc(errors->owner, (size_t)motif_count * sizeof *owner);
        if (owner == NULL)
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d motifs", motif_count);
        errors->owner = owner;
        errors->owner_room = motif_count;
    }
    count_boxes(errors, motifs, motif_count, boxes, box_count);
    count_windows(errors, motifs, motif_count, boxes, box_count);
    count_truths(errors, boxes, box_count);
    for (int i = 0; i < motif_count; i++)
        errors->motifs += active(&motifs[i]);
    errors->samples++;
    return STATUS_OK;
}

int motif_scan(const float *map, int channels, int rows, int cols, struct motif *out, int room)
{
    int found = 0;
    for (int channel = 0; channel < channels; channel++) {
        for (int row = 0; row < rows; row++) {
            for (int col = 0; col < cols; col++) {
                float value = *map++;
                if (value > 0.0F) {
                    if (found < room)
                        out[found] = (struct motif){.row = row, .col = col, .channel = channel, .value = value};
                    found++;
                }
            }
        }
    }
    return found;
}

enum status motif_errors_add_map(struct motif_errors *errors, const float *map, int rows, int cols,
                                 const struct box *boxes, int box_count, struct error *err)
{
    int count = motif_scan(map, errors->channels, rows, cols, NULL, 0);
    struct motif *motifs = malloc(((size_t)count + 1) * sizeof *motifs);
    if (motifs == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %d motifs", count);
    (void)motif_scan(map, errors->channels, rows, cols, motifs, count);
    enum status status = motif_errors_add(errors, motifs, count, boxes, box_count, err);
    free(motifs);
    return status;
}

void motif_errors_fold(struct motif_errors *errors, int symbol)
{
    int64_t *matrices[2] = {errors->boxes, errors->windows};
    for (int m = 0; m < 2; m++) {
        for (int channel = 0; channel <= errors->channels; channel++) {
            int64_t *from = &matrices[m][cell(errors, symbol, channel)];
            if (channel < errors->channels)
                matrices[m][cell(errors, errors->symbols, channel)] += *from;
            *from = 0;
        }
    }
}

/* -- reporting -------------------------------------------------------------------------------- */

static const int64_t *matrix_of(const struct motif_errors *errors, enum motif_form form)
{
    return form == MOTIF_BOXES ? errors->boxes : errors->windows;
}

static double motif_errors_share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : NAN;
}

/* Matches channels to symbols one to one. The score matrix is the transposed confusion matrix without "none", so its
 * rows are the channels. */
static enum status assign(const struct motif_errors *errors, const int64_t *matrix, int *symbol_of, double *matched,
                          struct error *err)
{
    double *score = malloc((size_t)errors->symbols * (size_t)errors->channels * sizeof *score);
    if (score == NULL)
        return error_memory(err, "an assignment");
    for (int channel = 0; channel < errors->channels; channel++) {
        for (int symbol = 0; symbol < errors->symbols; symbol++) {
            score[(size_t)channel * (size_t)errors->symbols + (size_t)symbol] =
                (double)matrix[cell(errors, symbol, channel)];
        }
    }
    enum status status = assignment_best(score, errors->channels, errors->symbols, symbol_of, matched, NULL, err);
    free(score);
    return status;
}

/* Returns the symbol that a channel marks most often, and writes how often; -1: the channel marks no symbol. */
static int majority(const struct motif_errors *errors, const int64_t *matrix, int channel, int64_t *count)
{
    int best = -1;
    *count = 0;
    for (int symbol = 0; symbol < errors->symbols; symbol++) {
        if (matrix[cell(errors, symbol, channel)] > *count) {
            best = symbol;
            *count = matrix[cell(errors, symbol, channel)];
        }
    }
    return best;
}

void motif_errors_majority(const struct motif_errors *errors, enum motif_form form, int *symbol_of)
{
    for (int channel = 0; channel < errors->channels; channel++) {
        int64_t count;
        symbol_of[channel] = majority(errors, matrix_of(errors, form), channel, &count);
    }
}

double motif_errors_proof(const struct motif_errors *errors)
{
    int64_t right = 0, truths = 0;
    for (int channel = 0; channel < errors->channels; channel++) {
        int64_t count;
        (void)majority(errors, errors->lone, channel, &count);
        right += count;
    }
    for (int symbol = 0; symbol < errors->symbols; symbol++)
        for (int channel = 0; channel <= errors->channels; channel++)
            truths += errors->boxes[cell(errors, symbol, channel)];
    int64_t most = errors->motifs > truths ? errors->motifs : truths;
    return most > 0 ? 1 - (double)right / (double)most : NAN;
}

enum status motif_errors_report(const struct motif_errors *errors, enum motif_form form, struct motif_report *out,
                                struct error *err)
{
    const int64_t *matrix = matrix_of(errors, form);
    int64_t by_majority = 0;
    *out = (struct motif_report){0};
    for (int channel = 0; channel < errors->channels; channel++) {
        int64_t count;
        (void)majority(errors, matrix, channel, &count);
        by_majority += count;
        out->false_positives += matrix[cell(errors, errors->symbols, channel)];
        for (int symbol = 0; symbol < errors->symbols; symbol++)
            out->hits += matrix[cell(errors, symbol, channel)];
    }
    for (int symbol = 0; symbol < errors->symbols; symbol++)
        out->misses += matrix[cell(errors, symbol, errors->channels)];
    bool windows = form == MOTIF_WINDOWS;
    out->truths = out->hits + out->misses + (windows ? errors->taken : 0);
    out->predictions = windows ? errors->motifs : out->hits + out->false_positives;
    out->fne = motif_errors_share(out->misses, out->truths);
    out->fpe = motif_errors_share(out->false_positives, out->predictions);
    out->ce_majority = motif_errors_share(out->hits - by_majority, out->hits);

    int *symbol_of = malloc((size_t)errors->channels * sizeof *symbol_of);
    if (symbol_of == NULL)
        return error_memory(err, "an assignment");
    double matched = 0.0;
    enum status status = assign(errors, matrix, symbol_of, &matched, err);
    out->ce_assignment = motif_errors_share(out->hits - (int64_t)matched, out->hits);
    free(symbol_of);
    return status;
}
