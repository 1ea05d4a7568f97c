/* The extents of a model's channels: which part of the input around a motif the motif model reads.
 *
 * The maximum of a channel may lie anywhere in the window that shows its motif. The evaluation measures for each
 * channel where in the window the evidence lies (evaluation/extents.c), and the last checkpoint contains the result.
 * Queries and pictures show the extent around the position of each motif. With centre_motifs, the middle of the
 * evidence is the position of the motif in all figures, answers and pictures; the head still reads the map as g
 * computes it. The middle of the evidence has as much evidence on one side as on the other. It lies in the part on
 * which the score depends most, also if the extent is long on one side, as that of an onset after silence. */
#ifndef MOTIF_CORE_METHODS_SPARLING_MODEL_CHANNEL_EXTENTS_H
#define MOTIF_CORE_METHODS_SPARLING_MODEL_CHANNEL_EXTENTS_H

#include <stdbool.h>

#include "core/base/sink.h"
#include "core/base/snapshot.h"
#include "core/data/box.h"

/* One channel: a motif at (row, col) covers rows [row + row0, row + row1) and columns [col + col0, col + col1). */
struct channel_extent {
    int64_t motifs; /* number of motifs that were measured; 0: the extent is unknown */
    double row0, row1, col0, col1;
    /* from the centre of the extent to the place in it before and after which there is as much evidence */
    double down, right;
};

/* An extent reaches at most CHANNEL_EXTENT_REACH times as far from the motif as the window of g does. */
enum { CHANNEL_EXTENT_REACH = 3 };

/* The extents of a model's channels, and a function for snapshot_save() and snapshot_load() that declares them. */
struct channel_extent_list {
    struct channel_extent *extent; /* [channels] */
    int channels;
};
enum status channel_extents_declare(void *list, struct snapshot *snapshot, struct error *err);

/* Returns whether the numbers of an extent are possible; a damaged checkpoint may contain others. half: distance from a
 * motif to the edge of the window of g. */
bool channel_extent_sound(const struct channel_extent *extent, int half);
/* Reads the extents from a checkpoint: [channels], which the caller frees. *extents is NULL if the checkpoint has none,
 * as before the first evaluation and after an import. Errors: STATUS_CORRUPT, STATUS_NO_MEMORY. */
enum status channel_extents_read(const struct snapshot_reader *from, int channels, int half,
                                 struct channel_extent **extents, struct error *err);

/* How the motifs of a model are reported. A reported motif never leaves the map. */
struct channel_places {
    const struct channel_extent *extents; /* [channels]; NULL: unknown */
    /* true: motifs are reported in the middle of their evidence (centre_motifs); false: at the maxima of channels */
    bool centred;
};
/* Moves the active elements of a motif map to the positions at which they are reported. If the extents of two elements
 * of a channel overlap by more than 30 % along each axis, both elements mark the same part of the input, and only the
 * larger one stays (of two equal ones, the first). planes: [channels][rows][cols]. Error: STATUS_NO_MEMORY. */
enum status channel_places_move(const struct channel_places *places, int channels, int rows, int cols, float *planes,
                                struct error *err);
/* Moves whole planes of scores, [channels][rows][cols], to the positions at which motifs are reported. A position to
 * which no score is moved gets the lowest score of its plane. moved: scratch for a plane. */
void channel_places_shift(const struct channel_places *places, int channels, int rows, int cols, float *planes,
                          float *moved);
/* Returns how far, in columns, the report of a motif depends on the map. Values that are farther away change neither
 * whether nor where the motif is reported. Two things count: the shift of a motif to the middle of its evidence, and
 * stronger motifs nearby. A stronger motif removes a motif, unless a still stronger one removes the stronger one, and
 * so on. The distance is enough for chains of CHAIN such motifs; longer chains are too rare to matter. */
int channel_places_reach(const struct channel_places *places, int channels);
/* Applies a client's changes of motifs to the map that the head reads. The client changes motifs at their reported
 * positions; in the head's map, the same motifs are at other positions. before, after: the map of reported motifs
 * before and after the changes. planes: the head's map, which the function changes. All [channels][rows][cols]. */
void channel_places_change(const struct channel_places *places, int channels, int rows, int cols, const float *before,
                           const float *after, float *planes);
/* Converts a reported position to the position of the channel's maximum. */
void channel_places_source(const struct channel_places *places, int channel, int rows, int cols, int *row, int *col);
/* Finds the part of a map of rows x cols positions that is covered by a motif reported at (row, col). Returns false if
 * the extent is unknown. */
bool channel_places_box(const struct channel_places *places, int channel, int row, int col, int rows, int cols,
                        struct box *box);
/* Writes the member "extent", [row0, row1, col0, col1], or null. box: NULL for null. */
void channel_extent_write(const struct box *box, const struct sink *out);

/* Finds the extent of a channel relative to the reported position of a motif. Returns false if it is unknown. */
bool channel_places_relative(const struct channel_places *places, int channel, struct box *box);
/* Writes the box of channel_places_relative() as the member "extent", [row0, row1, col0, col1], or null. */
void channel_places_describe(const struct channel_places *places, int channel, const struct sink *out);

/* The offsets before which, and after which, half of the evidence lies. They are equal if the score is a sum over the
 * positions. */
struct evidence_middle {
    double before, after;
};

/* Finds the interval that contains the evidence along one axis. The caller has replaced parts of the window by other
 * input and measured how much the score of the channel falls.
 *
 * Cut j lies just before offset at[j]. The offsets rise, and all positions lie between the first cut and the last one.
 * low[j]: the fall if everything before cut j is replaced; it rises from 0. high[j]: the fall if everything after cut j
 * is replaced; it falls to 0.
 *
 * The function first cuts off a fixed share of the evidence on each side. To the interval that is left, it adds the
 * length that the two shares would take if the evidence were as dense outside as inside. Returns false if there is no
 * evidence: the score does not fall even when everything is replaced. */
bool channel_extent_interval(const double *low, const double *high, const int *at, int cuts, double *first,
                             double *last, struct evidence_middle *middle);
/* Makes the columns of an extent symmetric about the motif. Their number stays the same or grows by one. A motif on the
 * other strand has its evidence on its other side, so a model of both strands needs an extent that fits both. */
void channel_extent_mirror(struct channel_extent *extent);
/* Grows an extent, a row or column at a time, over positions at which the inputs around all motifs of the channel
 * resemble each other. alike: [2 * rows + 1][2 * cols + 1], with the motif in the middle: how similar the inputs are at
 * each position; 0: not at all. The extent grows as long as the mean of `alike` over the next row or column is at least
 * a fixed share of the mean over the extent so far. */
void channel_extent_grow(struct channel_extent *extent, const double *alike, int rows, int cols);

#endif
