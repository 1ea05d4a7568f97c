/* The table of a study: one row for each combination of the grid's values, with the median, the smallest and the
 * largest value of each result over the seeds. Results are the numbers at the top of a job's result.
 *
 * A table belongs to one thread; its memory is in an arena. */
#ifndef MOTIF_API_STUDIES_STUDY_TABLE_H
#define MOTIF_API_STUDIES_STUDY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/sink.h"
#include "storage/storage.h"

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
    struct study_entry *entries; /* the values of each job that has a result; private to study_table.c */
    size_t entry_count;
};
/* The values of one result in one row. */
struct study_summary {
    size_t count; /* number of jobs with a value; 0: the others are NaN */
    double median, min, max;
};

/* Begins a table for the stored grid of a study, a JSON object. */
enum status study_table_begin(struct study_table *table, const char *grid, struct arena *arena, struct error *err);
/* Adds a job; at most STORAGE_STUDY_JOBS. The table copies what it needs. */
enum status study_table_add(struct study_table *table, const struct storage_job *job, struct error *err);
/* Summarises a result in a row; both are indices. */
struct study_summary study_table_summary(const struct study_table *table, size_t row, size_t result);
/* Returns the index of a field or a result, or -1. */
int study_table_field(const struct study_table *table, const char *name);
int study_table_result(const struct study_table *table, const char *name);
/* Writes the table as the member "table" of a document, and as CSV with a header. */
void study_table_json(const struct study_table *table, const struct sink *out);
void study_table_csv(const struct study_table *table, struct buf *out);

#endif
