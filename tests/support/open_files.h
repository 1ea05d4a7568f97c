/* Counts open descriptors and entries of a folder, to find leaks. */
#ifndef MOTIF_TESTS_SUPPORT_OPEN_FILES_H
#define MOTIF_TESTS_SUPPORT_OPEN_FILES_H

#include <dirent.h>
#include <stdio.h>

/* Number of entries, hidden ones excluded, in the folder whose path is `root` followed by `below`; 0 if there is no
 * such folder. */
static inline int folder_entries(const char *root, const char *below)
{
    char path[200];
    const struct dirent *entry;
    int count = 0;
    (void)snprintf(path, sizeof path, "%s%s", root, below);
    DIR *dir = opendir(path);
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        count += entry->d_name[0] != '.';
    if (dir != NULL)
        closedir(dir);
    return count;
}

/* Number of open descriptors of this process. */
static inline int open_descriptors(void)
{
    return folder_entries("/proc/self/fd", "") - 1; /* without the descriptor that folder_entries() opens */
}

#endif
