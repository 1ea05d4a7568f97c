/* How the numbers of a table are scaled before a model trains on them, and how answers get back the units of the file.
 *
 *   scaled = (v - shift) / unit      one shift and one unit for each column
 *
 * v is the value itself or, for counts, log(1 + value * size / total): `total` is the sum of the row's values, and
 * `size` is the median total of the training rows. Planes (signals, pictures) have one scale for all values or, for
 * signals of several channels, one for each channel. All statistics are those of the rows that scale_fit() gets, in
 * double precision and in the order of the rows. */
#ifndef MOTIF_CORE_DATA_SCALE_H
#define MOTIF_CORE_DATA_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"
#include "core/base/error.h"
#include "core/base/sink.h"
#include "core/base/snapshot.h"

/* AUTO: to be chosen from the data. NONE: unchanged. STANDARD: mean and deviation. ROBUST: median and interquartile
 * range / 1.349, which is the deviation of normal numbers; the deviation if the range is 0. COUNTS: mean and deviation
 * of the logarithms. A column with one value has unit 1. */
enum collection_scale { SCALE_AUTO, SCALE_NONE, SCALE_STANDARD, SCALE_ROBUST, SCALE_COUNTS };
extern const char *const collection_scales[]; /* "auto", "none", ...; NULL-terminated */

struct scale {
    enum collection_scale kind;
    int columns; /* 0: the scale is unknown, as in models of former versions; all functions then change nothing */
    double size; /* COUNTS: the median total of a row; 0: rows keep their totals */
    /* [columns] each; low, high: the range of the scaled training values */
    double *shift, *unit, *low, *high;
};
/* Creates a scale that changes nothing. STATUS_NO_MEMORY. The caller closes it. */
enum status scale_create(enum collection_scale kind, int columns, struct scale *scale, struct error *err);
void scale_close(struct scale *scale); /* a zeroed struct is allowed */

/* Measures rows of x, [][columns], with at least one column. rows: [count] their indices; NULL: the first `count` rows.
 * centred: whether columns are shifted; a model of non-negative numbers needs shifts of 0. The units are then
 * deviations from 0: the root of the mean square, and twice the median / 1.349. STATUS_INVALID with `pointer`: no rows,
 * or counts with a negative value; the message names its column by names[columns] (NULL: by its index). The caller
 * closes *out, after an error too. */
enum status scale_fit(enum collection_scale kind, bool centred, const float *x, const int *rows, int count, int columns,
                      char *const *names, const char *pointer, struct scale *out, struct error *err);
/* Scales a row in place: x: [columns]. STATUS_INVALID with the pointer /array: a count is negative. */
enum status scale_row(const struct scale *scale, float *x, struct error *err);
/* Scales planes, [channels][count], in place: a scale with one column serves all channels, another one has a column for
 * each channel. Not for COUNTS. */
void scale_planes(const struct scale *scale, float *planes, int channels, int64_t count);
/* Writes a scaled row in the units of the data: y and out: [columns], which may be the same. row: the unscaled row
 * whose total `out` gets for counts; NULL: the median total. */
void scale_undo(const struct scale *scale, const float *row, const float *y, float *out);
/* Declares the scale for a checkpoint; entries that a stream lacks stay as they are. scale_load() reads the scale of
 * `columns` columns from a checkpoint. Without one there, the scale is unknown (columns 0). STATUS_CORRUPT: it is
 * impossible. STATUS_NO_MEMORY. The caller closes it, after an error too. */
enum status scale_snapshot(struct scale *scale, const char *prefix, struct snapshot *snapshot, struct error *err);
enum status scale_load(const struct snapshot_reader *from, const char *prefix, enum collection_scale kind, int columns,
                       struct scale *out, struct error *err);
/* Writes the member `name` of a result: the kind and, of up to 64 columns, what was subtracted and divided. names: as
 * for scale_fit(). Writes nothing if the scale is unknown. */
void scale_write(const struct scale *scale, const char *name, char *const *names, const struct sink *out);
/* Writes the warning "outside-range" if a value of an unscaled row is further from the training data than these are
 * wide. names: as for scale_fit(). */
void scale_warn(const struct scale *scale, const float *row, char *const *names, const struct sink *out);

#endif
