/* Data sets are folders inside one folder that the operator chooses; a job selects one by name. A name is never a path:
 * it consists of small letters, digits, '.', '-' and '_' and begins with a letter or a digit. The name of a team and a
 * colon may come before it (TEAM:NAME); all of it has at most 63 characters. */
#ifndef MOTIF_CORE_DATA_DATASET_H
#define MOTIF_CORE_DATA_DATASET_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/sink.h"

#define DATASET_PATH 4096

/* Whether a text may be the name of a data set. */
bool dataset_name_good(const char *name);

/* Writes the path of an existing data set to `folder`. root: the folder of all data sets; NULL: the operator chose
 * none. STATUS_INVALID: not a name. STATUS_NOT_FOUND: no such data set. STATUS_IO: the folder cannot be examined. The
 * caller sets err->pointer. */
enum status dataset_folder(const char *root, const char *name, char folder[DATASET_PATH], struct error *err);

/* dataset_hash() writes the first DATASET_HASH_KEPT digits of the hash of an upload, or "" for a folder that was not
 * uploaded. The hash is the SHA-256 of the uploaded file, or, if the upload had options, of the file and the options
 * (api/datasets/dataset_options.h). A job stores the digits, so that a later run notices a changed data set.
 * STATUS_IO: the record of the upload cannot be read. */
enum { DATASET_HASH_KEPT = 40 };
enum status dataset_hash(const char *folder, char hash[DATASET_HASH_KEPT + 1], struct error *err);

/* Folders that the operator adds to the folder of data sets, and that uploads and queries select by name: genomes and
 * signals. Any thread. */

/* Writes the path of an existing folder to `folder`, as dataset_folder() does. kind: what the folder is, such as
 * "genome". files: names of files, ending with NULL; a folder of this kind contains one of them. STATUS_NOT_FOUND:
 * there is no such folder; the message lists the folders of this kind. Other errors are those of dataset_folder(). */
enum status operator_folder(const char *root, const char *name, const char *kind, const char *const *files,
                            char folder[DATASET_PATH], struct error *err);

/* Writes a warning {code, text} about an input: `subject` ("the values are") from `low` to `high`, but from `least` to
 * `most` in the training data; `so` says what that means (NULL: that the model has seen nothing like it). */
void dataset_warn_of_range(const struct sink *out, const char *code, const char *subject, double low, double high,
                           double least, double most, const char *so);

#endif
