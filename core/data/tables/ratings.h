/* MovieLens ratings as rows of 0 and 1: ratings.csv (userId, movieId, rating, ...) and, for names, movies.csv (movieId,
 * title).
 *
 * The published filter works in this order. Ratings of at least 4 become ones. Users with at least 20 ones stay. The
 * 300 movies to which these users gave the most ones stay (ties: the movie that appeared first). Users with
 * zeros only are then removed. Rows are ordered by user, columns by movieId. */
#ifndef MOTIF_CORE_DATA_TABLES_RATINGS_H
#define MOTIF_CORE_DATA_TABLES_RATINGS_H

#include "core/data/tables/features.h"

struct ratings_filter {
    double least_rating; /* smallest rating that becomes a one; default 4 */
    int least_count;     /* smallest number of ones of a user; default 20 */
    int movies;          /* number of movies that stay; default 300 */
    int users;           /* maximum number of users, drawn with numpy's legacy generator at seed 42; default 100,000 */
    struct thread_pool *pool; /* ratings_load() returns STATUS_CANCELLED when the pool is stopped; may be NULL */
};
#define RATINGS_FILTER ((struct ratings_filter){4, 20, 300, 100000, NULL})

/* Loads a data set's folder; the caller destroys *features. STATUS_NOT_FOUND: there is no ratings.csv. STATUS_INVALID:
 * a fault of a file (the message names file and line), or no rating passes the filter. */
enum status ratings_load(const char *folder, const struct ratings_filter *filter, struct features **features,
                         struct error *err);

#endif
