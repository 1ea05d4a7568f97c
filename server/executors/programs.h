/* Programs that the daemon starts: where they lie, and their words. */
#ifndef MOTIF_SERVER_EXECUTORS_PROGRAMS_H
#define MOTIF_SERVER_EXECUTORS_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

/* The path of a program beside this one; false where there is none. */
bool program_beside(const char *name, char *path, size_t room);
/* The path of a name (in PATH), or a path as it is; false when it cannot be run. */
bool program_find(const char *name, char *path, size_t room);
/* Cuts `text` at its spaces. NULL stands behind the last word; false when there are none, or more than room - 1. */
bool program_words(char *text, const char **words, size_t room);

#endif
