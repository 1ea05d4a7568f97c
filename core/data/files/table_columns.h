/* Finds the columns of a table that contain labels, groups and names of rows; all other columns are features. The
 * same rules apply to uploads and to inputs of queries. Functions keep no state; any thread. */
#ifndef MOTIF_CORE_DATA_FILES_TABLE_COLUMNS_H
#define MOTIF_CORE_DATA_FILES_TABLE_COLUMNS_H

#include "core/formats/csv.h"

struct table_columns {
    int label, group, id; /* index of the column with labels, with groups, with names of rows; -1: there is none */
};

/* Finds the columns by the header, between csv_open() and csv_next(). Every column is a feature, except:
 * - a column of labels: called label, labels, class or target, or as `label` says;
 * - a column of groups for splits: called group or split, or as `group` says;
 * - the first column, if it contains names of rows: it has no name, or is called id, name or sample.
 * label, group: the name of the column; NULL or "" for the usual names. STATUS_INVALID: no column has this name. */
enum status table_columns_find(const struct csv *csv, const char *label, const char *group,
                               struct table_columns *columns, struct error *err);
bool table_columns_feature(const struct table_columns *columns, int column);

#endif
