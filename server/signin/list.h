/* Settings that are lists: items separated by commas, with spaces around them. Pure functions. */
#ifndef MOTIF_SERVER_SIGNIN_LIST_H
#define MOTIF_SERVER_SIGNIN_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the next item that is not empty, and moves *list behind it. False: there is none. */
bool list_next(const char **list, const char **item, size_t *length);
bool list_has(const char *list, const char *wanted);

/* Finds the item "KEY=VALUE" with this key, and copies its value. False: there is none, or the value does not fit. */
bool list_value(const char *list, const char *key, char *value, size_t room);

#endif
