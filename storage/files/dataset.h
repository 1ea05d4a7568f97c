/* Data sets that were uploaded, as files below one folder (the daemon's --data): large, immutable, and mapped by the
 * core, so that they are no rows of the database.
 *
 *   NAME/about.json  what it is; a folder without one is the operator's own and none of ours
 *   NAME/...         its other files
 *   .uploads/        parts of uploads (by the SHA-256 that was announced) and folders being filled or removed
 *
 * A data set appears by one rename, after its files and folders were synced, and goes by one; whatever the process was
 * doing when it was killed is swept at the next start, but for parts less than a day old, with which uploads are
 * resumed. Names are those of core/data/dataset.h; nothing here is named by the content of an upload. Any thread. */
#ifndef MOTIF_STORAGE_FILES_DATASET_H
#define MOTIF_STORAGE_FILES_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/error.h"

enum { DATASET_NAME = 64, DATASET_HASH = 65, DATASET_FILES = 4096 };

/* Removes what an earlier process left half. A root that is not there is fine. */
void dataset_sweep(const char *root);

/* Names in order, in the arena. */
enum status dataset_list(const char *root, struct arena *arena, const char ***names, size_t *count, struct error *err);
/* A file of a data set, with a NUL behind it, in the arena. STATUS_NOT_FOUND. */
enum status dataset_read(const char *root, const char *name, const char *file, struct arena *arena, const char **bytes,
                         size_t *size, struct error *err);
/* What is of that name. */
enum dataset_kind {
    DATASET_NONE,
    DATASET_FOREIGN, /* the operator's: it has no about.json */
    DATASET_OURS,
};
enum status dataset_find(const char *root, const char *name, enum dataset_kind *kind, struct error *err);
enum status dataset_remove(const char *root, const char *name, struct error *err);
/* Of all uploaded ones, without parts; owner: of those in whose file DATASET_OWNER it stands alone, NULL: of all. */
enum status dataset_bytes(const char *root, const char *owner, int64_t *bytes, struct error *err);
#define DATASET_OWNER "owner" /* a file: who uploaded it */

/* A part of an upload, locked until it is closed. hash: its announced SHA-256 in hex, or NULL: it cannot be resumed and
 * vanishes with its descriptor. *file is open for reading and writing, *bytes what it holds. STATUS_CONFLICT: another
 * upload is writing it. */
enum status dataset_part_open(const char *root, const char *hash, int *file, int64_t *bytes, struct error *err);
void dataset_part_close(int file);
void dataset_part_remove(const char *root, const char *hash); /* NULL is fine */
enum status dataset_part_bytes(const char *root, const char *hash, int64_t *bytes,
                               struct error *err); /* -1: there is none */

/* A folder to be filled: its path is written to `folder`. Then either of the two. */
enum status dataset_stage(const char *root, char folder[DATASET_FILES], struct error *err);
/* Synced and renamed; STATUS_CONFLICT when the name is taken. The folder is gone in any case. */
enum status dataset_commit(const char *root, const char *folder, const char *name, struct error *err);
void dataset_abandon(const char *folder);

/* A new file in such a folder. */
enum status dataset_write(const char *folder, const char *file, const void *bytes, size_t size, struct error *err);
/* The same piece by piece: closing it syncs. `status` is what writing gave, and is passed on. */
enum status dataset_create(const char *folder, const char *file, FILE **out, struct error *err);
enum status dataset_close_file(FILE *file, enum status status, struct error *err);

#endif
