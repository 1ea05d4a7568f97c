/* Reads a whole file or standard input, up to a limit. */
#include "server/process/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"

char *file_read(const char *path, size_t limit, size_t *size, struct error *err)
{
    char block[8192];
    struct buf text;
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
    if (file == NULL) {
        (void)error_set(err, STATUS_IO, NULL, "cannot open the file: %s", strerror(errno));
        return NULL;
    }
    buf_init(&text, limit);
    buf_text(&text, "");
    for (size_t got; (got = fread(block, 1, sizeof block, file)) > 0;)
        buf_append(&text, block, got);
    int failure = ferror(file) != 0 ? errno : 0;
    if (file != stdin)
        (void)fclose(file);
    if (failure != 0) {
        (void)error_set(err, STATUS_IO, NULL, "cannot read the file: %s", strerror(failure));
        buf_close(&text);
        return NULL;
    }
    if (buf_status(&text, "the file", err))
        return NULL;
    return buf_take(&text, size);
}
