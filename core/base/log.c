/* Formats a log line and passes it to the function that the process supplies (struct log_hook). */
#include "core/base/log.h"

#include <stdarg.h>
#include <stdio.h>

void log_line(const struct log_hook *hook, enum log_level level, const char *format, ...)
{
    if (hook == 0 || hook->line == 0)
        return;
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hook->line(hook->context, level, text);
}
