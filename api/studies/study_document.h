/* The document of a study, its table of results, and the lookup of the study that a path names. */
#ifndef MOTIF_API_STUDIES_STUDY_DOCUMENT_H
#define MOTIF_API_STUDIES_STUDY_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/http/exchange.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/sink.h"
#include "storage/storage.h"

/* The table of a study: one row for each combination of the grid's values, with the median, the smallest and the
 * largest value of each result over the seeds and the folds, and its mean with a 95 % interval. Results are the numbers
 * at the top of a job's result.
 *
 * A table belongs to one thread; its memory is in an arena. */

#define STUDY_RESULTS_MAX 128 /* further results of a job are not in the table */

struct study_cell {   /* a value of the grid */
    const char *text; /* as text */
    double number;    /* as a number; NaN: it is none */
    bool is_flag;
};
struct study_row {
    const struct study_cell *cells; /* [field_count] */
    size_t jobs, done;              /* jobs of the row, and how many of them have a result */
};
struct study_table {
    struct arena *arena;
    const char **fields; /* fields of the grid, in its order */
    size_t field_count;
    const char *results[STUDY_RESULTS_MAX];
    size_t result_count;
    struct study_row *rows;
    size_t row_count, job_count;
    struct study_entry *entries; /* the values of each job that has a result; private to study_document.c */
    size_t entry_count;
};
/* The values of one result in one row. */
struct study_summary {
    size_t count; /* number of jobs with a value; 0: the others are NaN */
    double median, min, max;
    double mean, low, high; /* low, high: interval_mean() */
};

/* Summarises a result in a row; both are indices. */
struct study_summary study_table_summary(const struct study_table *table, size_t row, size_t result);
/* Returns the index of a field or a result, or -1. */
int study_table_field(const struct study_table *table, const char *name);
int study_table_result(const struct study_table *table, const char *name);
void study_table_csv(const struct study_table *table, struct buf *out);

/* Loads the study that the path names. False: there is none, and the function has responded. */
bool exchange_study(struct exchange *x, struct storage_study *study);
/* Writes a study without its jobs and its table, as lists show it. */
void study_item(struct exchange *x, const struct storage_study *study);
/* Responds with the study; with `whole`, also with its jobs and its table. */
void respond_study(struct exchange *x, int status, const char *id, bool whole);
/* Builds the table of a study. each: called for each job, oldest first; NULL: for none. False: the function has
 * responded. */
bool study_table_read(struct exchange *x, const struct storage_study *study, struct study_table *table,
                      void (*each)(struct exchange *x, const struct storage_job *job));

#endif
