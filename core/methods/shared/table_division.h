/* How a method that selects nothing on a validation part divides the rows of an uploaded table: by the parts that the
 * file states, by group, or by row (core/data/division/division.h), or in the folds of published figures. */
#ifndef MOTIF_CORE_METHODS_SHARED_TABLE_DIVISION_H
#define MOTIF_CORE_METHODS_SHARED_TABLE_DIVISION_H

#include "core/base/sink.h"
#include "core/data/division/division.h"

/* As enum division_split. PUBLISHED: rows go to folds as in the published splits (features_folds()). */
enum table_split { SPLIT_ROWS, SPLIT_GROUPS, SPLIT_AUTO, SPLIT_PARTS, SPLIT_PUBLISHED };
extern const char *const table_splits[]; /* "samples", "groups", "auto", "part", "published"; NULL-terminated */

enum { TABLE_FOLDS = 5 }; /* the usual number of folds, as the field `folds` of factors has */
struct table_request {
    const char *source, *hash; /* name of the data set, and its hash as for source_folder() */
    enum table_split split;
    const char *test_group;
    int64_t folds, fold;    /* fold: which of them is the test part; without effect for parts and named groups */
    const char *fold_field; /* pointer of the field that gives `fold` */
};

/* Divides the rows. `c` becomes the data set, which division_write() needs. The caller calls division_close() and
 * collection_close(), after an error too, on structs that were zeroed before. data: folder of data sets. Errors: those
 * of source_folder(), collection_open() and division_make(). */
enum status table_divide(const struct table_request *request, const char *data, struct collection *c,
                         struct division *out, struct error *err);
/* For resolve(): the error that table_divide() would return. */
enum status table_division_check(const struct table_request *request, const char *data, struct error *err);
/* Writes the member `division` of an object that the caller has opened: the division, or null if there is no such data
 * set any more. Errors: as table_divide(). */
enum status table_division_write(const struct table_request *request, const char *data, const struct sink *out,
                                 struct error *err);

#endif
