/* A table of features, which methods for tabular data train on. */
#ifndef MOTIF_CORE_DATA_TABLES_FEATURES_H
#define MOTIF_CORE_DATA_TABLES_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/parallel/thread_pool.h"

struct features {
    int rows, columns;
    float *x;      /* [rows][columns] */
    char **names;  /* [columns] names of the features; NULL: they have none */
    char **titles; /* [rows] names of the rows, each may be NULL; NULL: no row has a name */

    /* The next three members are set for generated data only; other tables have 0 and NULL. */
    int factors;
    float *truth;           /* [rows][factors] the factors from which each row was generated */
    unsigned char *support; /* [columns][factors] 1 if the feature depends on the factor, else 0 */

    /* The next three members are set only if the rows have classes; other tables have 0 and NULL. */
    int classes;
    int *label;         /* [rows], in [0, classes) */
    char **class_names; /* [classes] */
};

/* Creates a table of zeros; with factors > 0 also truth and support. The caller calls features_destroy(), which frees
 * all that the table points to. */
enum status features_create(int rows, int columns, int factors, struct features **features, struct error *err);
void features_destroy(struct features *features); /* NULL is allowed */

/* Sets the names of the features to copies of names: [columns]; NULL: no names. */
enum status features_name(struct features *features, char *const *names, struct error *err);

/* Reads an uploaded table from its folder (core/data/uploads/collection.h) and keeps its `most` columns of the largest
 * deviation, in their order; ties go to the first column. titles: whether the ids of the rows become their titles. The
 * caller destroys *features. STATUS_NOT_FOUND: the folder has no upload. STATUS_INVALID: the upload is not a table, or
 * has fewer than two rows. */
enum status features_of_upload(const char *folder, int most, bool titles, struct features **features,
                               struct error *err);

/* The fold of each row, in [0, folds), from numpy's legacy generator at seed 42, as in the published splits. fold:
 * [rows] */
void features_folds(int rows, int folds, int *fold);
/* Mean and population standard deviation of each column. mean, deviation: [columns]; either may be NULL. */
void features_moments(const struct features *features, double *mean, double *deviation);

/* Seven features of two correlated factors (Moran et al. 2022, section 4.1): means z1, 2 z1, 3 z1^2, 4 z2, 5 z2,
 * 6 sin z2, 7 z1 z2 with z ~ N(0, [[1, rho], [rho, 1]]), and independent noise. */

enum { SYNTHETIC_FEATURES = 7, SYNTHETIC_FACTORS = 2 };

/* Draws a table that depends on the arguments alone. Tables with the same seed and set are made from the same normal
 * numbers, also if rho differs. deviation: standard deviation of the noise, 0.5 in the published code and sqrt(0.5) in
 * the paper. |rho| < 1. The caller destroys *features. STATUS_CANCELLED when `pool` is stopped; with NULL, it cannot be
 * stopped. */
enum status synthetic_features(uint64_t seed, uint32_t set, double rho, double deviation, int rows,
                               struct thread_pool *pool, struct features **features, struct error *err);
/* The means of the features at the factors z. */
void synthetic_means(const double z[SYNTHETIC_FACTORS], double mean[SYNTHETIC_FEATURES]);

#endif
