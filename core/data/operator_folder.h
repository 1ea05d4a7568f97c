/* Folders that the operator adds to the folder of data sets, and that uploads and queries select by name: genomes and
 * signals. Any thread. */
#ifndef MOTIF_CORE_DATA_OPERATOR_FOLDER_H
#define MOTIF_CORE_DATA_OPERATOR_FOLDER_H

#include "core/data/dataset.h"

/* Writes the path of an existing folder to `folder`, as dataset_folder() does. kind: what the folder is, such as
 * "genome". files: names of files, ending with NULL; a folder of this kind contains one of them. STATUS_NOT_FOUND:
 * there is no such folder; the message lists the folders of this kind. Other errors are those of dataset_folder(). */
enum status operator_folder(const char *root, const char *name, const char *kind, const char *const *files,
                            char folder[DATASET_PATH], struct error *err);

#endif
