/* Fills error records, and names the status codes. */
#include "core/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void error_clear(struct error *err)
{
    if (err != NULL) {
        err->code = STATUS_OK;
        err->message[0] = '\0';
        err->pointer[0] = '\0';
    }
}

enum status error_set(struct error *err, enum status code, const char *pointer, const char *format, ...)
{
    if (err == NULL || err->code)
        return code;
    err->code = code;
    (void)snprintf(err->pointer, sizeof err->pointer, "%s", pointer != NULL ? pointer : "");
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return code;
}

const char *status_name(enum status code)
{
    static const char *const names[] = {
        [STATUS_OK] = "ok",
        [STATUS_INVALID] = "invalid",
        [STATUS_NOT_FOUND] = "not found",
        [STATUS_CONFLICT] = "conflict",
        [STATUS_LIMIT] = "limit",
        [STATUS_NO_MEMORY] = "out of memory",
        [STATUS_IO] = "input/output",
        [STATUS_FULL] = "disk full",
        [STATUS_CORRUPT] = "corrupt",
        [STATUS_NUMERIC] = "not finite",
        [STATUS_UNAVAILABLE] = "unavailable",
        [STATUS_CANCELLED] = "cancelled",
        [STATUS_INTERNAL] = "internal",
    };
    return (unsigned)code < sizeof names / sizeof names[0] ? names[code] : "unknown";
}

enum status status_unopened(int code)
{
    return code == ENOENT || code == ENOTDIR || code == ENAMETOOLONG || code == ELOOP ? STATUS_NOT_FOUND : STATUS_IO;
}

enum status error_memory(struct error *err, const char *what)
{
    return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %s", what);
}
