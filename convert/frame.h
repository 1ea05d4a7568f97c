/* Finds columns of `obs` (about cells) or `var` (about features) in AnnData files of any version.
 *
 * - Since AnnData 0.7: a group with an array or a group for each column. Categories are a group with codes and
 *   categories (0.8), or codes with the names in the group __categories (0.7). Columns with missing values are a group
 *   with values and mask.
 * - Before 0.7: one array of compounds. The names of categories are in the list uns/COLUMN_categories. */
#ifndef MOTIF_CONVERT_FRAME_H
#define MOTIF_CONVERT_FRAME_H

#include "convert/column.h"

struct frame {
    const char *what; /* "obs"; for messages */
    hid_t file, group;
    struct hdf5_array table; /* the array of compounds of an old file; in newer files, table.set is 0 or negative */
    char index[TABLE_TEXT];  /* name of the column with the names of the rows */
};

/* Opens the table `name` ("obs" or "var") in a group. file: the HDF5 file, because files before AnnData 0.7 store the
 * names of categories outside the table. The caller calls frame_close(), also after an error. */
enum status frame_open(hid_t file, hid_t group, const char *name, struct frame *frame, struct error *err);
/* Writes the name of the column that is called `wanted` or, if there is none, of the only column whose name differs
 * just in the case of ASCII letters. Returns false if there is none. */
bool frame_find(const struct frame *frame, const char *wanted, char name[TABLE_TEXT]);
void frame_close(struct frame *frame);

/* Opens a column. STATUS_INVALID: there is no such column, or it is neither text, number, boolean nor category. The
 * frame must outlive the column. The caller calls column_close(), also after an error. */
enum status column_open(const struct frame *frame, const char *name, struct column *column, struct error *err);

#endif
