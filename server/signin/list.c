/* Reads lists of settings. */
#include "server/signin/list.h"

#include <string.h>

bool list_next(const char **list, const char **item, size_t *length)
{
    const char *at = *list + strspn(*list, ", ");
    size_t bytes = strcspn(at, ",");
    *list = at + bytes;
    while (bytes > 0 && at[bytes - 1] == ' ')
        bytes--;
    *item = at;
    *length = bytes;
    return bytes > 0;
}

bool list_has(const char *list, const char *wanted)
{
    const char *item;
    size_t length;
    while (list_next(&list, &item, &length))
        if (length == strlen(wanted) && strncmp(item, wanted, length) == 0)
            return true;
    return false;
}

bool list_value(const char *list, const char *key, char *value, size_t room)
{
    const char *item;
    size_t length, bytes = strlen(key);
    while (list_next(&list, &item, &length)) {
        if (length <= bytes || item[bytes] != '=' || strncmp(item, key, bytes) != 0)
            continue;
        if (length - bytes - 1 >= room)
            return false;
        memcpy(value, item + bytes + 1, length - bytes - 1);
        value[length - bytes - 1] = '\0';
        return true;
    }
    return false;
}
