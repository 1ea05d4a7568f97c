/* Copies uploaded data sets for `motifd backup --with-data` and `motifd restore --with-data`. */
#ifndef MOTIF_SERVER_COMMANDS_DATA_COPY_H
#define MOTIF_SERVER_COMMANDS_DATA_COPY_H

#include <stdint.h>

#include "core/base/error.h"

struct data_copy_report {
    int64_t sets, files, bytes;
    int64_t kept;   /* data sets that existed in `to` already and stayed as they are */
    int64_t linked; /* files that are hard links of the same files in `previous`; also counted in `files` */
};

/* Copies every data set of the folder `from` into the folder `to`, which is made if it does not exist. Each set is
 * copied under another name, read again, compared by SHA-256, synced and then renamed. A set that exists in `to` stays
 * as it is: files of a data set never change. Files that are neither regular files nor folders are left out.
 * previous: an earlier copy, or NULL. A file whose SHA-256 is that of the same file there becomes a hard link of it, so
 * that it takes no space.
 * STATUS_IO: a folder or file cannot be read or written; complete sets remain. */
enum status data_copy(const char *from, const char *to, const char *previous, struct data_copy_report *report,
                      struct error *err);

/* STATUS_NOT_FOUND: a folder of data sets does not exist. */
enum status data_exists(const char *from, struct error *err);

/* Removes a folder with everything in it, and follows no links. A path that is no folder stays. */
void data_remove(const char *path);

#endif
