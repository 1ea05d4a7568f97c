/* Makes the n-th allocation or system call of a whole program fail. The environment selects it:
 *
 *     MOTIF_FAULT=memory:N      N allocations succeed, then one fails      memory-on:N   N succeed, all later ones fail
 *     MOTIF_FAULT=call:N        N system calls succeed, then one fails with MOTIF_FAULT_ERRNO (default 5, EIO)
 *     MOTIF_FAULT_REPORT=FILE   gets one line when the program ends by itself: "yes" and what failed, or "no" and
 *                               the number of calls that were left
 *
 * A test program consists of main.c and this file, with `faults` and `call_faults` (tests/unit/meson.build), so the
 * test runs the same code as the program that ships. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "tests/support/fault.h"
#include "tests/support/fault_calls.h"

#pragma weak fault_libraries /* NULL in programs without SQLite */

char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);
int __wrap_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t most);

char *__wrap_strdup(const char *text)
{
    return fault_now() ? NULL : __real_strdup(text);
}
char *__wrap_strndup(const char *text, size_t most)
{
    return fault_now() ? NULL : __real_strndup(text, most);
}
int __wrap_asprintf(char **out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int bytes = fault_now() ? -1 : vasprintf(out, format, arguments);
    va_end(arguments);
    return bytes;
}

static bool calls; /* true: system calls fail; false: allocations fail */

static void say(void)
{
    const char *file = getenv("MOTIF_FAULT_REPORT");
    bool happened = fault_happened();
    const char *call = fault_call_happened();
    int fd = file != NULL ? open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        if (happened || call != NULL)
            (void)dprintf(fd, "yes %s\n", call != NULL ? call : "memory");
        else
            (void)dprintf(fd, "no %d\n", calls ? fault_call_left() : fault_left());
        (void)close(fd);
    }
}

static void *counted(size_t bytes)
{
    return malloc(bytes);
}

static void __attribute__((constructor)) begin(void)
{
    const char *text = getenv("MOTIF_FAULT"), *code = getenv("MOTIF_FAULT_ERRNO"), *colon;
    cJSON_Hooks hooks = {counted, free};
    if (text == NULL || (colon = strchr(text, ':')) == NULL)
        return;
    if (fault_libraries != NULL)
        fault_libraries();
    else
        cJSON_InitHooks(&hooks);
    int count = atoi(colon + 1);
    (void)atexit(say);
    if (strncmp(text, "memory:", 7) == 0) {
        fault_after(count);
    } else if (strncmp(text, "memory-on:", 10) == 0) {
        fault_from(count);
    } else {
        calls = true;
        fault_call_after(count, code != NULL ? atoi(code) : 5, false);
    }
}
