/* The roles of the columns of a table: which of them contain labels, groups and names of rows, and which are features.
 * The same rules apply to uploads and to inputs of queries. Names are compared without case where no column has
 * exactly the name. */
#ifndef MOTIF_CORE_FORMATS_TABLE_TABLE_COLUMNS_H
#define MOTIF_CORE_FORMATS_TABLE_TABLE_COLUMNS_H

#include "core/formats/csv.h"

enum table_role {
    TABLE_FEATURE,
    TABLE_LABEL,
    TABLE_GROUP,
    TABLE_ID,
    TABLE_IGNORED,    /* the user has said so */
    TABLE_IDENTIFIER, /* a text, different in all rows */
    TABLE_PART,       /* states the parts of a division; this and the next ones only in uploads */
    TABLE_TEXTS,      /* the samples are its texts */
    TABLE_LEFT_OUT,   /* the samples are texts, and this column has no role */
    TABLE_TIME        /* of an event */
};

/* The columns that the user has named; NULL or "" for the usual rules. label and ignore may be lists with commas
 * between the names; a text that is the name of a column is no list. */
struct table_wanted {
    const char *label, *group, *id, *ignore;
    bool optional; /* the table need not have these columns, as in a query */
};

struct table_columns {
    int label, group, id;      /* index of the column with labels, with groups, with names of rows; -1: there is none */
    int labels, *label_column; /* [labels] the columns with labels, in the order in which the user names them */
    int count;
    unsigned char *role; /* [count] enum table_role */
};

/* Finds the columns by the names. Every column is a feature, except:
 * - columns of labels: as `label` says, or the first that is called label, labels, class or target;
 * - a column of groups for splits: as `group` says, or called group or split;
 * - a column of names of rows: as `id` says, or called id or "Unnamed: 0", or the first column, if it has no name or is
 *   called name, sample, index, row names, sample_id, barcode or the like;
 * - the columns that `ignore` names.
 * STATUS_INVALID: no column has one of the wanted names, or a column has two roles. The caller calls
 * table_columns_close(), after an error too. */
enum status table_columns_find(const struct csv *csv, const struct table_wanted *wanted, struct table_columns *columns,
                               struct error *err);
/* Gives the features that have a text in the first record, which csv_next() has read, the role TABLE_IDENTIFIER; the
 * caller checks that their texts differ in all rows. */
void table_columns_first(const struct csv *csv, struct table_columns *columns);
static inline bool table_columns_feature(const struct table_columns *columns, int column)
{
    return columns->role[column] == TABLE_FEATURE;
}
void table_columns_close(struct table_columns *columns); /* a zeroed struct is allowed */
/* Copies the next name of a list with commas between names, without blanks around it, and moves *list behind it. whole:
 * the list is one name. Returns false at the end. */
bool table_list_next(const char **list, bool whole, char *name, size_t room);
/* The index of the column with this name or, for "file" and "label", with another usual name for it, such as filename
 * and class; -1: there is none. */
int table_column_called(const struct csv *csv, const char *name);
/* Whether a column with this name usually contains labels. */
bool table_label_name(const char *name);

#endif
