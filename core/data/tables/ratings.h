/* MovieLens ratings as 0/1 rows: ratings.csv (userId, movieId, rating, ...) and, for names, movies.csv (movieId,
 * title).
 *
 * The published filter: ratings of at least 4 are ones; users with at least 20 of these; the 300 movies with the most
 * of these users' ones (ties: whichever appeared first); users left with none go; rows by user, columns by movieId.
 */
#ifndef MOTIF_CORE_DATA_TABLES_RATINGS_H
#define MOTIF_CORE_DATA_TABLES_RATINGS_H

#include "core/data/tables/features.h"

struct ratings_filter {
    double least_rating; /* 4 */
    int least_count;     /* 20 */
    int movies;          /* 300 */
    int users;           /* at most, drawn by numpy's legacy generator at seed 42; 100,000 */
};
#define RATINGS_FILTER ((struct ratings_filter){4, 20, 300, 100000})

/* STATUS_INVALID naming file and line where a file is none of these, or nothing is left. */
enum status ratings_load(const char *folder, const struct ratings_filter *filter, struct features **features,
                         struct error *err);

#endif
