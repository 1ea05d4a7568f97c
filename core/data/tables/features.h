/* A table of features: what methods for tabular data train on. One allocation each; plain values otherwise. */
#ifndef MOTIF_CORE_DATA_TABLES_FEATURES_H
#define MOTIF_CORE_DATA_TABLES_FEATURES_H

#include <stdint.h>

#include "core/base/error.h"

struct features {
    int rows, columns;
    float *x;      /* [rows][columns] */
    char **names;  /* [columns] what a feature is called; NULL: nothing */
    char **titles; /* [rows] what a row is called, NULL where it is nothing; NULL: none is */

    /* Data that were made: the factors behind each row, and which of them feed which feature. Else 0 and NULL. */
    int factors;
    float *truth;           /* [rows][factors] */
    unsigned char *support; /* [columns][factors] */

    /* Classes of rows, where they are known. Else 0 and NULL. */
    int classes;
    int *label;         /* [rows], in [0, classes) */
    char **class_names; /* [classes] */
};

/* Zeroed; with factors > 0 also truth and support. */
enum status features_create(int rows, int columns, int factors, struct features **features, struct error *err);
void features_destroy(struct features *features); /* NULL is fine; names and class_names are freed with it */

/* Copies of `names` [columns]; NULL leaves it without. */
enum status features_name(struct features *features, char *const *names, struct error *err);

/* The fold of each row: integers in [0, folds) of numpy's legacy generator at seed 42, as the published splits. */
void features_folds(int rows, int folds, int *fold);
/* Mean and deviation (of all, not of a sample) of each column, [columns] each; either may be NULL. */
void features_moments(const struct features *features, double *mean, double *deviation);

#endif
