/* Packs a folder for an upload. */
#ifndef MOTIF_API_CLIENT_FOLDER_TAR_H
#define MOTIF_API_CLIENT_FOLDER_TAR_H

#include <stdio.h>

/* Writes the files of a folder and of the folders in it as a tar to `to`: with paths relative to the folder, in the
 * order of their names, and without times and owners, so that the same files give the same bytes. Leaves out files that
 * operating systems add, as the server does, and links and special files, of which *left_out counts how many. Returns
 * NULL, or a text that says what went wrong, with the path in `path` (of `bytes` bytes). */
const char *folder_tar_write(const char *folder, FILE *to, size_t *left_out, char *path, size_t bytes);

#endif
