/* Paths and command lines of the programs that the daemon starts. */
#ifndef MOTIF_SERVER_EXECUTORS_PROGRAMS_H
#define MOTIF_SERVER_EXECUTORS_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of a program in the folder of this executable to `path` (`room` bytes). Returns false when it cannot
 * be run. */
bool program_beside(const char *name, char *path, size_t room);
/* Finds a program in PATH; a name with a slash is a path already. Returns false when it cannot be run. */
bool program_find(const char *name, char *path, size_t room);
/* Splits `text` in place at its spaces into `words`, which ends with NULL. Returns the number of words, or -1 if there
 * are more than `room` - 1. */
int program_words(char *text, const char **words, int room);

#endif
