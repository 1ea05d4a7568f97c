/* Reads, applies and computes the extents of channels (channel_extents.h). */
#include "core/methods/sparling/model/channel_extents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* channel_extent_interval() first cuts off this share of the evidence on each side. With a smaller share, noise of the
 * measurement would make the interval longer. With a larger share, the interval would depend more on the assumption
 * that the evidence is spread evenly. */
static const double EDGE = 0.1, HALF = 0.5;

/* channel_extent_grow() adds a row or column to the extent if the mean of `alike` over it is at least this share of the
 * mean over the extent. Chance and neighbouring motifs stay below this share. */
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
    double most = CHANNEL_EXTENT_REACH * half;
    return extent->motifs > 0 && extent->motifs <= 1000000000 && sound_axis(extent->row0, extent->row1, half) &&
           sound_axis(extent->col0, extent->col1, half) && fabs(extent->down) <= most && fabs(extent->right) <= most;
}

enum status channel_extents_declare(void *list, struct snapshot *snapshot, struct error *err)
{
    const struct channel_extent_list *l = list;
    const struct snapshot_row rows[] = {
        SNAPSHOT_COLUMN("extents.channel.motifs", l->extent, l->channels, motifs),
        SNAPSHOT_COLUMN("extents.channel.row0", l->extent, l->channels, row0),
        SNAPSHOT_COLUMN("extents.channel.row1", l->extent, l->channels, row1),
        SNAPSHOT_COLUMN("extents.channel.col0", l->extent, l->channels, col0),
        SNAPSHOT_COLUMN("extents.channel.col1", l->extent, l->channels, col1),
        SNAPSHOT_COLUMN("extents.middle.down", l->extent, l->channels, down),
        SNAPSHOT_COLUMN("extents.middle.right", l->extent, l->channels, right),
    };
    enum status status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
    snapshot_optional(snapshot, "extents.middle."); /* absent from older checkpoints, which mean the centre */
    return status;
}

/* Declares the extents as entries that a stream may lack. */
static enum status declare_optional(void *list, struct snapshot *snapshot, struct error *err)
{
    enum status status = channel_extents_declare(list, snapshot, err);
    snapshot_optional(snapshot, "");
    return status;
}

enum status channel_extents_read(const struct snapshot_reader *from, int channels, int half,
                                 struct channel_extent **extents, struct error *err)
{
    struct channel_extent *list = calloc((size_t)channels, sizeof *list);
    struct channel_extent_list all = {list, channels};
    bool any = false;
    *extents = NULL;
    enum status status = list ? snapshot_load(declare_optional, &all, from, 1u << SNAPSHOT_STATE, err)
                              : error_memory(err, "the extents of channels");
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

/* Sets [*from, *to) to the part of [0, size) that begins at `first` and ends before `last`, at least one position. */
static void clip(double first, double last, int size, int *from, int *to)
{
    *from = (int)fmin(fmax(first, 0), size - 1);
    *to = (int)fmin(fmax(last, *from + 1), size);
}

/* ---- reported positions ------------------------------------------------------------------------------ */

/* Two motifs of a channel mark the same part of an input if their distance is below this share of the extent's
 * length. */
static const double SAME = 0.7;
enum { CHAIN = 8 }; /* see channel_places_reach() */

/* How the motifs of a channel are reported. */
struct report {
    int down, right; /* offset from the maximum of the channel to the reported position */
    /* Two motifs are reported as one if they are less than `high` rows and less than `wide` columns apart. 0: all
     * motifs are reported. */
    double high, wide;
};

static struct report report_of(const struct channel_places *places, int channel)
{
    const struct channel_extent *e = places->extents ? &places->extents[channel] : NULL;
    if (!places->centred || !e || e->motifs == 0)
        return (struct report){.down = 0};
    return (struct report){.down = (int)floor((e->row0 + e->row1) / 2 + e->down),
                           .right = (int)floor((e->col0 + e->col1) / 2 + e->right),
                           .high = SAME * (e->row1 - e->row0),
                           .wide = SAME * (e->col1 - e->col0)};
}

static int within(int value, int size)
{
    return value < 0 ? 0 : value >= size ? size - 1 : value;
}

/* Whether two positions of a plane with `cols` columns belong to one motif. */
static bool same_motif(const struct report *report, int cols, int a, int b)
{
    return abs(a / cols - b / cols) < report->high && abs(a % cols - b % cols) < report->wide;
}

struct element {
    float value;
    int at;
};

/* Descending order of values; equal values in the order of their positions. */
static int by_value(const void *a, const void *b)
{
    const struct element *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return x->at - y->at;
}

/* Removes the elements of a plane that belong to the same motif as the element `at`, except this element. */
static void remove_others(const struct report *report, int rows, int cols, float *plane, int at)
{
    int row = at / cols, col = at % cols, high = (int)ceil(report->high) - 1, wide = (int)ceil(report->wide) - 1;
    float kept = plane[at];
    int to_row = within(row + high, rows), to_col = within(col + wide, cols);
    for (int r = within(row - high, rows); r <= to_row; r++)
        for (int c = within(col - wide, cols); c <= to_col; c++)
            plane[r * cols + c] = 0;
    plane[at] = kept;
}

/* Removes each active element that belongs to the same motif as a larger element. It visits the elements in
 * descending order, because an element that is removed itself must not remove others. list: scratch [rows][cols]. */
static void keep_strongest(const struct report *report, int rows, int cols, float *plane, struct element *list)
{
    size_t count = 0;
    for (int i = 0; i < rows * cols; i++)
        if (plane[i] > 0)
            list[count++] = (struct element){plane[i], i};
    qsort(list, count, sizeof *list, by_value);
    for (size_t i = 0; i < count; i++)
        if (plane[list[i].at] > 0)
            remove_others(report, rows, cols, plane, list[i].at);
}

/* Moves the active elements of one plane to the positions that are reported. moved, list: scratch for a plane. */
static void move_plane(const struct report *report, int rows, int cols, float *plane, float *moved,
                       struct element *list)
{
    size_t positions = (size_t)rows * (size_t)cols;
    memset(moved, 0, positions * sizeof *moved);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            float value = plane[r * cols + c];
            float *to = &moved[within(r + report->down, rows) * cols + within(c + report->right, cols)];
            if (value > *to)
                *to = value;
        }
    keep_strongest(report, rows, cols, moved, list);
    memcpy(plane, moved, positions * sizeof *moved);
}

enum status channel_places_move(const struct channel_places *places, int channels, int rows, int cols, float *planes,
                                struct error *err)
{
    size_t positions = (size_t)rows * (size_t)cols;
    if (!places->centred || !places->extents)
        return STATUS_OK;
    float *moved = malloc(positions * sizeof *moved);
    struct element *list = malloc(positions * sizeof *list);
    enum status status = moved && list ? STATUS_OK : error_memory(err, "the positions of motifs");
    for (int c = 0; !status && c < channels; c++) {
        struct report report = report_of(places, c);
        if (report.high > 0)
            move_plane(&report, rows, cols, planes + (size_t)c * positions, moved, list);
    }
    free(moved);
    free(list);
    return status;
}

void channel_places_shift(const struct channel_places *places, int channels, int rows, int cols, float *planes,
                          float *moved)
{
    size_t positions = (size_t)rows * (size_t)cols;
    for (int c = 0; c < channels; c++) {
        struct report report = report_of(places, c);
        float *plane = planes + (size_t)c * positions, lowest = plane[0];
        for (size_t i = 1; i < positions; i++)
            lowest = fminf(lowest, plane[i]);
        for (int r = 0; r < rows; r++)
            for (int q = 0; q < cols; q++) {
                int row = r - report.down, col = q - report.right;
                bool inside = row >= 0 && row < rows && col >= 0 && col < cols;
                moved[r * cols + q] = inside ? plane[row * cols + col] : lowest;
            }
        memcpy(plane, moved, positions * sizeof *plane);
    }
}

int channel_places_reach(const struct channel_places *places, int channels)
{
    int most = 0;
    for (int c = 0; c < channels; c++) {
        struct report report = report_of(places, c);
        int reach = abs(report.right) + CHAIN * (int)ceil(report.wide);
        most = reach > most ? reach : most;
    }
    return most;
}

/* Whether the client changed the motif of an active element of the head's map, whose reported position is `at`. If no
 * motif is reported there, a stronger element stands for the same motif, and the function looks at the position of that
 * element. */
static bool changed(const struct report *report, int positions, int cols, const float *before, const float *after,
                    int at)
{
    if (before[at] != after[at])
        return true;
    for (int i = 0; before[at] == 0 && i < positions; i++)
        if (before[i] > 0 && before[i] != after[i] && same_motif(report, cols, at, i))
            return true;
    return false;
}

void channel_places_change(const struct channel_places *places, int channels, int rows, int cols, const float *before,
                           const float *after, float *planes)
{
    int positions = rows * cols;
    for (int c = 0; c < channels; c++, before += positions, after += positions, planes += positions) {
        struct report report = report_of(places, c);
        for (int r = 0; r < rows; r++)
            for (int q = 0; q < cols; q++) {
                int at = within(r + report.down, rows) * cols + within(q + report.right, cols);
                if (planes[r * cols + q] > 0 && changed(&report, positions, cols, before, after, at))
                    planes[r * cols + q] = 0;
            }
        for (int r = 0; r < rows; r++)
            for (int q = 0; q < cols; q++) {
                float *to = &planes[within(r - report.down, rows) * cols + within(q - report.right, cols)];
                if (before[r * cols + q] != after[r * cols + q] && after[r * cols + q] > *to)
                    *to = after[r * cols + q];
            }
    }
}

void channel_places_source(const struct channel_places *places, int channel, int rows, int cols, int *row, int *col)
{
    struct report report = report_of(places, channel);
    *row = within(*row - report.down, rows);
    *col = within(*col - report.right, cols);
}

bool channel_places_box(const struct channel_places *places, int channel, int row, int col, int rows, int cols,
                        struct box *box)
{
    const struct channel_extent *extent = places->extents ? &places->extents[channel] : NULL;
    struct report report = report_of(places, channel);
    if (!extent || extent->motifs == 0)
        return false;
    *box = (struct box){.symbol = -1, .row = row, .col = col};
    clip(row - report.down + extent->row0, row - report.down + extent->row1, rows, &box->row0, &box->row1);
    clip(col - report.right + extent->col0, col - report.right + extent->col1, cols, &box->col0, &box->col1);
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

bool channel_places_relative(const struct channel_places *places, int channel, struct box *box)
{
    const struct channel_extent *e = places->extents ? &places->extents[channel] : NULL;
    struct report report = report_of(places, channel);
    if (!e || e->motifs == 0)
        return false;
    *box = (struct box){.row0 = (int)e->row0 - report.down,
                        .row1 = (int)e->row1 - report.down,
                        .col0 = (int)e->col0 - report.right,
                        .col1 = (int)e->col1 - report.right};
    return true;
}

void channel_places_describe(const struct channel_places *places, int channel, const struct sink *out)
{
    struct box box;
    channel_extent_write(channel_places_relative(places, channel, &box) ? &box : NULL, out);
}

/* Returns the offset at which the fall of the score reaches `most`. The fall is at most `most` at cut j, and above it
 * at the neighbouring cut k; the function interpolates between the two. loss: [cuts] fall at each cut
 * (channel_extent_interval()). at: [cuts] offset of each cut. */
static double crossing(const double *loss, const int *at, int j, int k, double most)
{
    double share = (most - loss[j]) / (loss[k] - loss[j]);
    return at[j] + share * (at[k] - at[j]);
}

/* Finds the offsets before which, and after which, the part `share` of the evidence lies. Each loop stops at the first
 * small fall of the score: noise can make the falls at later cuts large again. */
static void find_share(const double *low, const double *high, const int *at, int cuts, double share, double *before,
                       double *after)
{
    double most = share * low[cuts - 1];
    int j = cuts - 2, k = 1;
    while (j > 0 && low[j] > most)
        j--;
    while (k < cuts - 1 && high[k] > most)
        k++;
    *before = crossing(low, at, j, j + 1, most);
    *after = crossing(high, at, k, k - 1, most);
}

bool channel_extent_interval(const double *low, const double *high, const int *at, int cuts, double *first,
                             double *last, struct evidence_middle *middle)
{
    double a, b;
    if (!(low[cuts - 1] > 0) || !(high[0] > 0))
        return false;
    find_share(low, high, at, cuts, HALF, &middle->before, &middle->after);
    find_share(low, high, at, cuts, EDGE, &a, &b);
    if (a > b) { /* a and b are exchanged if either side of the motif is enough evidence, because the loss of the other
                    side then costs little */
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

void channel_extent_mirror(struct channel_extent *extent)
{
    double half = ceil((extent->col1 - extent->col0 - 1) / 2);
    extent->col0 = -half;
    extent->col1 = half + 1;
    extent->right = 0;
}

/* Mean over a part of the map; 0 if the part is not completely inside the map. */
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
