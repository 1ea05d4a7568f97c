#!/usr/bin/env python3
"""Makes the data set of the presets movielens*: a table of zeros and ones, a row for each user and a column for each movie.

FOLDER is a download of MovieLens: ratings.csv (userId, movieId, rating) and, for the names of the columns, movies.csv (movieId, title).
The published filter: ratings of at least 4 become ones; users with at least 20 ones stay; the 300 movies with the most ones of these
users stay (ties: the movie that appears first); users with zeros only go. At most 100,000 users are drawn, with seed 42.

    tests/reproduce/data/ratings.py FOLDER movielens.npz && motifctl datasets put movielens movielens.npz"""
import argparse
import os

import numpy as np

import upload


def read(folder):
    """The users and movies of all ratings, and the ratings."""
    lines = upload.lines_of(os.path.join(folder, "ratings.csv"), ",")
    header = next(lines, [])
    try:
        at = [header.index(name) for name in ("userId", "movieId", "rating")]
        values = np.array([[line[k] for k in at] for line in lines], float).reshape(-1, 3)
    except (ValueError, IndexError):
        upload.stop("ratings.csv needs the columns userId, movieId and rating, and a number in each")
    if not ((values[:, :2] >= 0) & (values[:, :2] < 1 << 24)).all():
        upload.stop("ratings.csv has an id outside 0 to 16777215")
    return values[:, 0].astype(int), values[:, 1].astype(int), values[:, 2]


def chosen(users, movies, least_count, most_movies, most_users):
    """The ids of the users and of the movies that stay, in ascending order."""
    often = np.bincount(users)
    active = often[users] >= least_count
    ids, first, count = np.unique(movies[active], return_index=True, return_counts=True)
    kept_movies = np.sort(ids[np.lexsort((first, -count))[:most_movies]])
    kept_users = np.unique(users[active & np.isin(movies, kept_movies)])
    if len(kept_users) > most_users:
        kept_users = np.sort(kept_users[np.random.RandomState(42).permutation(len(kept_users))[:most_users]])
    return kept_users, kept_movies


def titles(folder, movies):
    path = os.path.join(folder, "movies.csv")
    names = {}
    if os.path.exists(path):
        lines = upload.lines_of(path, ",")
        next(lines, None)
        for line in lines:
            names.setdefault(int(line[0]), line[1])
    return [names.get(movie, f"movie {movie}") for movie in movies]


def table(folder, least_rating=4, least_count=20, most_movies=300, most_users=100000):
    users, movies, rating = read(folder)
    users, movies = users[rating >= least_rating], movies[rating >= least_rating]
    rows, columns = chosen(users, movies, least_count, most_movies, most_users)
    if len(rows) < 2 or len(columns) < 2:
        upload.stop(f"the filter leaves {len(rows)} users and {len(columns)} movies; there must be at least 2 of each")
    x = np.zeros((len(rows), len(columns)), np.float32)
    stays = np.isin(users, rows) & np.isin(movies, columns)
    x[np.searchsorted(rows, users[stays]), np.searchsorted(columns, movies[stays])] = 1
    return x, titles(folder, columns)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("output")
    parser.add_argument("--movies", type=int, default=300)
    parser.add_argument("--users", type=int, default=100000)
    options = parser.parse_args()
    upload.write(options.output, *table(options.folder, most_movies=options.movies, most_users=options.users))
