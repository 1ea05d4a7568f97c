/* Cursors of lists that clients read page by page. A cursor contains the id of the last item of a page and a hash over
 * that id and the list's filter. So an invented or truncated cursor, or the cursor of another list, is refused. For
 * clients, a cursor is opaque text. Pure functions; any thread. */
#ifndef MOTIF_API_HTTP_CURSOR_H
#define MOTIF_API_HTTP_CURSOR_H

#include <stdbool.h>

#include "storage/storage.h"

#define CURSOR_TEXT 64

/* cursor_write() makes a cursor. filter: text that is different for every list and filter. cursor_read() reads the id
 * from a cursor. It returns false if cursor_write() has not made the cursor for this filter. */
void cursor_write(const char *id, const char *filter, char out[CURSOR_TEXT]);
bool cursor_read(const char *cursor, const char *filter, char id[STORAGE_ID]);

#endif
