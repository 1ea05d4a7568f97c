/* Filters MovieLens ratings. All positive ratings are in memory as pairs (user, movie) of 8 bytes: 100 MB for the
 * largest MovieLens. */
#include "core/data/tables/ratings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/mt19937.h"
#include "core/formats/delimited.h"

enum { IDS_MOST = 1 << 24 };

struct pair {
    int32_t user, movie;
};

struct movie {
    /* count: number of positive ratings; first: index of the movie in the order of the first ratings; column: index of
     * its column in the table, or -1 */
    int count, first, column;
};

struct loader {
    const struct ratings_filter *filter;
    struct pair *pairs;
    size_t count, room;
    int *users;           /* [user_ids] number of positive ratings of the user; later the user's row, or -1 */
    struct movie *movies; /* [movie_ids], indexed by the movie's id */
    int user_ids, movie_ids, rows, columns;
};

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for ratings");
}

static enum status take_pair(struct loader *l, double user, double movie, struct error *err)
{
    if (!(user >= 0 && user < IDS_MOST && movie >= 0 && movie < IDS_MOST))
        return error_set(err, STATUS_INVALID, NULL, "ratings.csv has an id outside 0 to %d", IDS_MOST);
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : 65536;
        struct pair *pairs = realloc(l->pairs, room * sizeof *pairs);
        if (!pairs)
            return no_memory(err);
        l->pairs = pairs;
        l->room = room;
    }
    l->pairs[l->count++] = (struct pair){(int32_t)user, (int32_t)movie};
    l->user_ids = (int)user >= l->user_ids ? (int)user + 1 : l->user_ids;
    l->movie_ids = (int)movie >= l->movie_ids ? (int)movie + 1 : l->movie_ids;
    return STATUS_OK;
}

static enum status read_pairs(struct loader *l, const char *folder, struct error *err)
{
    struct delimited d;
    bool more = false;
    double user, movie, rating;
    enum status status = delimited_open(&d, folder, "ratings.csv", ',', l->filter->pool, err);
    if (!status)
        status = delimited_next(&d, &more, err);
    int columns[] = {delimited_find(&d, "userId"), delimited_find(&d, "movieId"), delimited_find(&d, "rating")};
    if (!status && (columns[0] < 0 || columns[1] < 0 || columns[2] < 0))
        status =
            error_set(err, STATUS_INVALID, NULL, "ratings.csv does not begin with the columns userId, movieId, rating");
    while (!status) {
        status = delimited_next(&d, &more, err);
        if (status || !more)
            break;
        status = delimited_number(&d, (size_t)columns[0], &user, err);
        if (!status)
            status = delimited_number(&d, (size_t)columns[1], &movie, err);
        if (!status)
            status = delimited_number(&d, (size_t)columns[2], &rating, err);
        if (!status && rating >= l->filter->least_rating)
            status = take_pair(l, user, movie, err);
    }
    delimited_close(&d);
    return status;
}

struct ranked {
    int movie, count, first;
};

static int by_count(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : (x->first > y->first) - (x->first < y->first);
}

/* Assigns columns to the chosen movies, in ascending order of their ids. */
static enum status choose_movies(struct loader *l, struct error *err)
{
    struct ranked *list = calloc((size_t)l->movie_ids, sizeof *list);
    int seen = 0, used = 0;
    if (!list)
        return no_memory(err);
    for (size_t i = 0; i < l->count; i++) {
        struct movie *m = &l->movies[l->pairs[i].movie];
        if (l->users[l->pairs[i].user] < l->filter->least_count)
            continue;
        if (m->count++ == 0)
            m->first = seen++;
    }
    for (int m = 0; m < l->movie_ids; m++) {
        l->movies[m].column = -1;
        if (l->movies[m].count)
            list[used++] = (struct ranked){m, l->movies[m].count, l->movies[m].first};
    }
    qsort(list, (size_t)used, sizeof *list, by_count);
    for (int i = 0; i < used && i < l->filter->movies; i++)
        l->movies[list[i].movie].column = 0;
    for (int m = 0; m < l->movie_ids; m++)
        if (l->movies[m].column == 0)
            l->movies[m].column = l->columns++;
    free(list);
    return STATUS_OK;
}

/* Chooses the users with at least one positive rating of the chosen movies, in ascending order of their ids. If there
 * are too many, draws some of them without replacement. */
static enum status choose_users(struct loader *l, struct error *err)
{
    int *kept = calloc(3 * (size_t)l->user_ids + 1, sizeof *kept), count = 0;
    struct mt19937 rng;
    if (!kept)
        return no_memory(err);
    int *drawn = kept + l->user_ids, *chosen = drawn + l->user_ids;
    for (size_t i = 0; i < l->count; i++)
        if (l->users[l->pairs[i].user] >= l->filter->least_count && l->movies[l->pairs[i].movie].column >= 0)
            kept[l->pairs[i].user] = 1;
    for (int u = 0; u < l->user_ids; u++)
        count += kept[u];
    if (count > l->filter->users) {
        mt19937_init(&rng, 42);
        mt19937_permutation(&rng, drawn, count);
        for (int i = 0; i < count; i++)
            chosen[drawn[i]] = i < l->filter->users;
        for (int u = 0, at = 0; u < l->user_ids; u++)
            if (kept[u])
                kept[u] = chosen[at++];
    }
    for (int u = 0; u < l->user_ids; u++)
        l->users[u] = kept[u] ? l->rows++ : -1;
    free(kept);
    return STATUS_OK;
}

static enum status fill(const struct loader *l, struct features **features, struct error *err)
{
    if (l->rows < 2 || l->columns < 2)
        return error_set(
            err, STATUS_INVALID, NULL,
            "too few ratings are left after the filter: %d users, %d movies; there must be at least 2 of each", l->rows,
            l->columns);
    enum status status = features_create(l->rows, l->columns, 0, features, err);
    for (size_t i = 0; !status && i < l->count; i++) {
        int row = l->users[l->pairs[i].user], column = l->movies[l->pairs[i].movie].column;
        if (row >= 0 && column >= 0)
            (*features)->x[(ptrdiff_t)row * l->columns + column] = 1;
    }
    return status;
}

/* Reads titles if there is a movies.csv; a movie without a title gets the name "movie ID". */
static enum status name_movies(const struct loader *l, const char *folder, struct features *features, struct error *err)
{
    struct delimited d;
    bool more = true;
    double movie;
    features->names = calloc((size_t)l->columns, sizeof *features->names);
    if (!features->names)
        return no_memory(err);
    struct error missing = {0};
    enum status status = delimited_open(&d, folder, "movies.csv", ',', l->filter->pool, &missing);
    if (status == STATUS_OK)
        status = delimited_next(&d, &more, err);
    else
        more = false, status = STATUS_OK;
    while (!status && more) {
        status = delimited_next(&d, &more, err);
        if (status || !more)
            break;
        status = delimited_number(&d, 0, &movie, err);
        int column = !status && movie >= 0 && movie < l->movie_ids ? l->movies[(int)movie].column : -1;
        if (column >= 0 && d.count > 1 && !features->names[column])
            features->names[column] = strdup(d.fields[1]);
    }
    delimited_close(&d);
    for (int m = 0; !status && m < l->movie_ids; m++) {
        int column = l->movies[m].column;
        char number[32];
        snprintf(number, sizeof number, "movie %d", m);
        if (column >= 0 && !features->names[column] && !(features->names[column] = strdup(number)))
            status = no_memory(err);
    }
    return status;
}

enum status ratings_load(const char *folder, const struct ratings_filter *filter, struct features **features,
                         struct error *err)
{
    struct loader l = {.filter = filter};
    struct features *made = NULL;
    enum status status = read_pairs(&l, folder, err);
    if (!status) {
        l.users = calloc((size_t)l.user_ids + 1, sizeof *l.users);
        l.movies = calloc((size_t)l.movie_ids + 1, sizeof *l.movies);
        status = l.users && l.movies ? STATUS_OK : no_memory(err);
    }
    for (size_t i = 0; !status && i < l.count; i++)
        l.users[l.pairs[i].user]++;
    if (!status)
        status = choose_movies(&l, err);
    if (!status)
        status = choose_users(&l, err);
    if (!status)
        status = fill(&l, &made, err);
    if (!status)
        status = name_movies(&l, folder, made, err);
    free(l.pairs);
    free(l.users);
    free(l.movies);
    if (status) {
        features_destroy(made);
        return status;
    }
    *features = made;
    return STATUS_OK;
}
