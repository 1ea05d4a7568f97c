/* Finds the programs that the daemon starts, and splits the settings that contain their command lines. */
#include "server/executors/programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool program_beside(const char *name, char *path, size_t room)
{
    size_t length = strlen(name) + 1;
    ssize_t own = length < room ? readlink("/proc/self/exe", path, room - length) : 0;
    path[own > 0 ? own : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash != NULL)
        memcpy(slash + 1, name, length);
    return slash != NULL && access(path, X_OK) == 0;
}

bool program_find(const char *name, char *path, size_t room)
{
    bool named = strchr(name, '/') != NULL;
    const char *at = named ? "" : getenv("PATH");
    while (at != NULL) {
        size_t length = strcspn(at, ":"); /* 0: an empty entry of PATH means the current folder */
        int size = snprintf(path, room, "%.*s%s%s", (int)length, at, named ? "" : length > 0 ? "/" : "./", name);
        if ((size_t)size < room && access(path, X_OK) == 0)
            return true;
        at = at[length] == ':' ? at + length + 1 : NULL;
    }
    return false;
}

int program_words(char *text, const char **words, int room)
{
    int count = 0;
    char *rest = text, *word;
    while ((word = strsep(&rest, " ")) != NULL) {
        if (*word != '\0') {
            if (count + 1 >= room)
                return -1;
            words[count++] = word;
        }
    }
    words[count] = NULL;
    return count;
}
