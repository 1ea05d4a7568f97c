/* Packs a folder for an upload. */
#ifndef MOTIF_API_CLIENT_FOLDER_TAR_H
#define MOTIF_API_CLIENT_FOLDER_TAR_H

#include <stdio.h>

/* Writes the files of a folder and of the folders in it as a tar to `to`: with paths relative to the folder, in the
 * order of their names, and without times and owners, so that the same files give the same bytes. Files that operating
 * systems add (the server skips them too) and links are left out. Returns NULL, or a text that says what went wrong,
 * with the path in `path` (of `bytes` bytes). */
const char *folder_tar_write(const char *folder, FILE *to, char *path, size_t bytes);

#endif
