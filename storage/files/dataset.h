/* Uploaded data sets, as files in one folder (the daemon's option --data). They are not rows of the database, because
 * they are large and never change, and the core maps them into memory.
 *
 *   NAME/about.json  describes an upload. A folder without this file was made by the operator, and no function here
 *                    changes it.
 *   NAME/...         the data set's other files; dataset_owner.h describes NAME and who may see the data set
 *   .uploads/        parts of uploads, named by the announced SHA-256 and a hash of the owner's name, and folders that
 *                    are being filled or removed
 *
 * A data set appears by one rename after its files and folders were synced, and it disappears by one rename. The next
 * start removes what a killed process left behind. Parts stay for a day after their last byte, because a client can
 * resume their upload. core/data/dataset.h defines the names; no name comes from the content of an upload. Any thread
 * may call these functions. */
#ifndef MOTIF_STORAGE_FILES_DATASET_H
#define MOTIF_STORAGE_FILES_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/error.h"

enum { DATASET_NAME = 64, DATASET_HASH = 65, DATASET_FILES = 4096 };

/* Removes what an earlier process left in the folder of uploads: incomplete folders, and parts that are older than a
 * day. Call it once, at the start. The root may be missing. */
void dataset_sweep(const char *root);
/* Creates the folder of data sets if it does not exist. NULL: there are no data sets. STATUS_IO: the folder in which it
 * should be does not exist. Does not report other failures, for example of a read-only disk, because a daemon can also
 * run without uploads. */
enum status dataset_root_make(const char *root, struct error *err);
/* Removes old parts while the daemon runs. Keeps folders and parts that an upload is using. */
void dataset_sweep_parts(const char *root);

/* Lists the names of the uploads in alphabetical order, in the arena. */
enum status dataset_list(const char *root, struct arena *arena, const char ***names, size_t *count, struct error *err);
/* Lists the operator's own folders that contain one of `files` (NULL-terminated), in alphabetical order. */
enum status dataset_list_holding(const char *root, const char *const *files, struct arena *arena, const char ***names,
                                 size_t *count, struct error *err);
/* Reads a file of a data set into the arena and adds a NUL. NOT_FOUND: the data set or the file does not exist. */
enum status dataset_read(const char *root, const char *name, const char *file, struct arena *arena, const char **bytes,
                         size_t *size, struct error *err);
/* What a name of a data set stands for: nothing, a folder of the operator, or an upload. */
enum dataset_kind {
    DATASET_NONE,
    DATASET_FOREIGN, /* created by the operator: it has no about.json */
    DATASET_OURS,
};
/* Finds out what exists under a name. */
enum status dataset_find(const char *root, const char *name, enum dataset_kind *kind, struct error *err);
/* Deletes an upload. NOT_FOUND: no upload has this name. */
enum status dataset_remove(const char *root, const char *name, struct error *err);
/* Adds up the bytes of the uploads of one owner, or of all owners if `owner` is NULL: all files of complete uploads,
 * and the parts of unfinished uploads that can be resumed. The file DATASET_OWNER of an upload contains its owner. */
enum status dataset_bytes(const char *root, const char *owner, int64_t *bytes, struct error *err);
/* Adds up the bytes of the complete uploads of one team. */
enum status dataset_team_bytes(const char *root, const char *team, int64_t *bytes, struct error *err);
/* Adds the bytes of the files of one upload, which may be deleted meanwhile. */
enum status dataset_size(const char *root, const char *name, int64_t *bytes, struct error *err);
#define DATASET_OWNER "owner" /* the file that contains the owner's name */

/* Opens the part of an upload and locks it until it is closed. Every owner has parts of its own (NULL and "": uploads
 * without an owner). `hash` is the announced SHA-256 in hex. If it is NULL,
 * the part cannot be resumed and disappears when it is closed. *file is open for reading and writing and contains
 * *bytes bytes. CONFLICT: another upload is writing the same part.
 * After a failure *file is -1. */
enum status dataset_part_open(const char *root, const char *owner, const char *hash, int *file, int64_t *bytes,
                              struct error *err);
/* Closes the file, which releases the lock, and sets *file to -1; *file may be -1 already. */
void dataset_part_close(int *file);
void dataset_part_remove(const char *root, const char *owner, const char *hash); /* no effect if `hash` is NULL */
/* Writes the size of the owner's part to *bytes; -1 if the owner has no such part. */
enum status dataset_part_bytes(const char *root, const char *owner, const char *hash, int64_t *bytes,
                               struct error *err);

/* Creates a folder to be filled and writes its path to `folder`. The caller then calls dataset_commit() or
 * dataset_abandon(). */
enum status dataset_stage(const char *root, char folder[DATASET_FILES], struct error *err);
/* Syncs the folder and renames it to the data set `name`. If this fails, removes the folder. CONFLICT: the name is in
 * use. */
enum status dataset_commit(const char *root, const char *folder, const char *name, struct error *err);
void dataset_abandon(const char *folder);

/* Writes a new file into a folder that dataset_stage() created. */
enum status dataset_write(const char *folder, const char *file, const void *bytes, size_t size, struct error *err);
/* Creates an empty file in a folder that dataset_stage() created, so that the caller can write the file in pieces.
 * dataset_close_file() syncs and closes the file. Pass the result of the writing as `status`: if it is an error,
 * dataset_close_file() returns it. */
enum status dataset_create(const char *folder, const char *file, FILE **out, struct error *err);
enum status dataset_close_file(FILE *file, enum status status, struct error *err);

#endif
