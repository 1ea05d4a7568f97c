/* Page cursors: opaque to clients, checked by us. A cursor holds the id after which the next page begins
 * and a check over it and the filter of the list, so that a cursor that was made up, cut off, or
 * taken from another list is refused instead of giving a wrong page. Pure functions; any thread. */
#ifndef MOTIF_API_HTTP_CURSOR_H
#define MOTIF_API_HTTP_CURSOR_H

#include <stdbool.h>

#include "storage/storage.h"

#define CURSOR_TEXT 64

/* `filter`: any text that tells lists apart. */
void cursor_write(const char *id, const char *filter, char out[CURSOR_TEXT]);
bool cursor_read(const char *cursor, const char *filter, char id[STORAGE_ID]);

#endif
