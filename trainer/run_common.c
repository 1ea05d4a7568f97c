/* The clock and the log line of a run, which run.c, report.c and checkpoint.c use. */
#include "trainer/run_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

double run_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void run_line(const struct job_run *run, enum log_level level, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    run->coordinator->line(run->coordinator->context, level, text);
}
