/* Reads, applies and computes the extents of channels (channel_extents.h). */
#include "core/methods/sparling/model/channel_extents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Share of the evidence that may lie outside of the interval on each side. A smaller share takes more of the noise of
 * the measurement for evidence; a larger one relies more on evidence that is spread evenly. */
static const double EDGE = 0.1;

/* Share of the likeness inside of an extent that a row or column beside it must have. Chance and neighbours of motifs
 * stay below. */
static const double ALIKE = 0.2;

static bool sound_axis(double first, double last, int half)
{
    int most = CHANNEL_EXTENT_REACH * half;
    return first >= -most && first < last && last <= most + 1;
}

bool channel_extent_sound(const struct channel_extent *extent, int half)
{
    if (extent->motifs == 0)
        return true;
    return extent->motifs > 0 && extent->motifs <= 1e9 && sound_axis(extent->row0, extent->row1, half) &&
           sound_axis(extent->col0, extent->col1, half);
}

/* Whether the checkpoint has a table of extents for so many channels. */
static enum status has_extents(const struct snapshot_reader *from, int channels, bool *has, struct error *err)
{
    struct snapshot_entry *entries = NULL;
    size_t count = 0;
    *has = false;
    enum status status = snapshot_contents(from, &entries, &count, err);
    for (size_t i = 0; !status && i < count; i++)
        *has = *has || (strcmp(entries[i].name, CHANNEL_EXTENTS_ENTRY) == 0 && entries[i].rank == 2 &&
                        entries[i].dim[0] == (uint64_t)channels && entries[i].dim[1] == CHANNEL_EXTENT_COLUMNS);
    free(entries);
    return status;
}

enum status channel_extents_read(const struct snapshot_reader *from, int channels, int half,
                                 struct channel_extent **extents, struct error *err)
{
    const uint64_t shape[2] = {(uint64_t)channels, CHANNEL_EXTENT_COLUMNS};
    struct snapshot *snapshot = NULL;
    bool has, any = false;
    *extents = NULL;
    enum status status = has_extents(from, channels, &has, err);
    if (status || !has)
        return status;
    struct channel_extent *list = calloc((size_t)channels, sizeof *list);
    status = list ? snapshot_create(&snapshot, err)
                  : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the extents of channels");
    if (!status)
        status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, CHANNEL_EXTENTS_ENTRY, 2, shape, list, err);
    if (!status)
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_STATE, err);
    snapshot_destroy(snapshot);
    for (int i = 0; !status && i < channels; i++) {
        if (!channel_extent_sound(&list[i], half))
            status = error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's extents of channels are inconsistent");
        any = any || list[i].motifs > 0;
    }
    if (status || !any) {
        free(list);
        list = NULL;
    }
    *extents = list;
    return status;
}

/* The part [*from, *to) of [0, size) that begins at `first` and ends before `last`. At least one position. */
static void clip(double first, double last, int size, int *from, int *to)
{
    *from = (int)fmin(fmax(first, 0), size - 1);
    *to = (int)fmin(fmax(last, *from + 1), size);
}

bool channel_extent_box(const struct channel_extent *extent, int row, int col, int rows, int cols, struct box *box)
{
    if (!extent || extent->motifs == 0)
        return false;
    *box = (struct box){.symbol = -1, .row = row, .col = col};
    clip(row + extent->row0, row + extent->row1, rows, &box->row0, &box->row1);
    clip(col + extent->col0, col + extent->col1, cols, &box->col0, &box->col1);
    return true;
}

void channel_extent_write(const struct box *box, const struct sink *out)
{
    if (!box) {
        sink_null(out, "extent");
        return;
    }
    sink_begin_list(out, "extent");
    sink_integer(out, NULL, box->row0);
    sink_integer(out, NULL, box->row1);
    sink_integer(out, NULL, box->col0);
    sink_integer(out, NULL, box->col1);
    sink_end_list(out);
}

void channel_extent_describe(const struct channel_extent *extent, const struct sink *out)
{
    struct box box = {0};
    bool known = extent && extent->motifs > 0;
    if (known)
        box = (struct box){
            .row0 = (int)extent->row0, .row1 = (int)extent->row1, .col0 = (int)extent->col0, .col1 = (int)extent->col1};
    channel_extent_write(known ? &box : NULL, out);
}

/* Where a loss passes `most`, between cut j, where it is at most `most`, and cut k, where it is above. */
static double crossing(const double *loss, const int *at, int j, int k, double most)
{
    double share = (most - loss[j]) / (loss[k] - loss[j]);
    return at[j] + share * (at[k] - at[j]);
}

bool channel_extent_interval(const double *low, const double *high, const int *at, int cuts, double *first,
                             double *last)
{
    double all = low[cuts - 1], most = EDGE * all;
    if (!(all > 0) || !(high[0] > 0))
        return false;
    int j = cuts - 2, k = 1;
    while (j > 0 && low[j] > most) /* the innermost cut without loss, because the noise outside may pass the share */
        j--;
    while (k < cuts - 1 && high[k] > most)
        k++;
    double a = crossing(low, at, j, j + 1, most), b = crossing(high, at, k, k - 1, most);
    if (a > b) { /* the parts replace each other, so each side alone can be lost */
        double swap = a;
        a = b;
        b = swap;
    }
    double more = (b - a) * EDGE / (1 - 2 * EDGE);
    *first = fmax(at[0], floor(a - more + 0.5));
    *last = fmin(at[cuts - 1], fmax(*first + 1, floor(b + more + 0.5)));
    *first = fmin(*first, *last - 1);
    return true;
}

/* Mean of a part of the map. Positions outside of the map: 0. */
static double mean_of(const double *alike, int high, int wide, const struct box *part)
{
    double sum = 0;
    if (part->row0 < 0 || part->row1 > high || part->col0 < 0 || part->col1 > wide)
        return 0;
    for (int r = part->row0; r < part->row1; r++)
        for (int c = part->col0; c < part->col1; c++)
            sum += alike[(ptrdiff_t)r * wide + c];
    return sum / ((double)(part->row1 - part->row0) * (double)(part->col1 - part->col0));
}

void channel_extent_grow(struct channel_extent *extent, const double *alike, int rows, int cols)
{
    int high = 2 * rows + 1, wide = 2 * cols + 1;
    struct box box = {.row0 = (int)extent->row0 + rows,
                      .row1 = (int)extent->row1 + rows,
                      .col0 = (int)extent->col0 + cols,
                      .col1 = (int)extent->col1 + cols};
    for (bool grown = true; grown;) {
        double least = ALIKE * mean_of(alike, high, wide, &box);
        struct box above = box, below = box, left = box, right = box;
        above.row0 = box.row0 - 1, above.row1 = box.row0;
        below.row0 = box.row1, below.row1 = box.row1 + 1;
        left.col0 = box.col0 - 1, left.col1 = box.col0;
        right.col0 = box.col1, right.col1 = box.col1 + 1;
        bool up = mean_of(alike, high, wide, &above) > least, down = mean_of(alike, high, wide, &below) > least;
        bool back = mean_of(alike, high, wide, &left) > least, on = mean_of(alike, high, wide, &right) > least;
        grown = least > 0 && (up || down || back || on);
        if (grown) {
            box.row0 -= up;
            box.row1 += down;
            box.col0 -= back;
            box.col1 += on;
        }
    }
    extent->row0 = box.row0 - rows;
    extent->row1 = box.row1 - rows;
    extent->col0 = box.col0 - cols;
    extent->col1 = box.col1 - cols;
}
