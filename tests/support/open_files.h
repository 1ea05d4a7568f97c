/* What a test program holds of the system. */
#ifndef MOTIF_TESTS_SUPPORT_OPEN_FILES_H
#define MOTIF_TESTS_SUPPORT_OPEN_FILES_H

#include <dirent.h>
#include <stdio.h>

/* Entries of the folder ROOT BELOW that are not hidden; 0 of one that is not there. */
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

/* Descriptors of this process that are open. */
static inline int open_descriptors(void)
{
    return folder_entries("/proc/self/fd", "") - 1; /* that of the folder */
}

#endif
