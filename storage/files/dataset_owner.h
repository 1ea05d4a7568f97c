/* Whom a data set belongs to, and who may see it.
 *
 * The team is part of the folder's name: the data set NAME of the team TEAM is the folder TEAM:NAME, and a data set of
 * the team without a name is the folder NAME. So two teams use the same name without meeting each other, and a
 * configuration that names a folder names exactly one data set. The owner's name is the file DATASET_OWNER; the
 * visibility is the file DATASET_VISIBILITY, which is the only file of a data set that changes, and therefore has no
 * digest. Any thread may call these functions. */
#ifndef MOTIF_STORAGE_FILES_DATASET_OWNER_H
#define MOTIF_STORAGE_FILES_DATASET_OWNER_H

#include "core/base/error.h"
#include "storage/files/dataset.h"
#include "storage/jobs/viewer.h"

#define DATASET_VISIBILITY "visibility"

struct dataset_owner {
    char owner[VIEWER_NAME]; /* "": uploaded while the daemon required no tokens */
    char team[STORAGE_TEAM]; /* "": the team without a name */
    enum visibility visibility;
};

/* Reads whom an upload belongs to. An upload without the file DATASET_VISIBILITY is from before there were teams:
 * everyone may see it. NOT_FOUND: no upload has this name. */
enum status dataset_owner_read(const char *root, const char *name, struct dataset_owner *out, struct error *err);

/* Replaces the visibility of an upload by one rename. NOT_FOUND: no upload has this name. */
enum status dataset_visibility_set(const char *root, const char *name, enum visibility visibility, struct error *err);

/* Returns the part of a folder's name behind the team. */
const char *dataset_name_within(const char *name);

#endif
