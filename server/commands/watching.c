/* Prints faults and progress. Texts of a damaged file may contain control characters, which are escaped. */
#include "server/commands/watching.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/utf8.h"

#define FAULTS_MOST 1000 /* printed lines; a file with more faults is not repaired line by line */

static double watching_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Ends the line of the progress, so that the next text begins a line. */
static void end_line(struct watching *w)
{
    if (w->what != NULL)
        (void)fputc('\n', stderr);
    w->what = NULL;
}

static void show_progress(void *context, const char *what, int64_t done, int64_t all)
{
    struct watching *w = context;
    double time = watching_now();
    if (w->what == NULL || strcmp(w->what, what) != 0) {
        end_line(w);
        w->what = what;
        w->began = w->shown = time;
    }
    if (all <= 0 || done <= 0 || (time - w->shown < 0.2 && done < all))
        return;
    w->shown = time;
    double left = (time - w->began) * (double)(all - done) / (double)done;
    (void)fprintf(stderr, "\r%s %3.0f %%, %.0f s left ", what, 100.0 * (double)done / (double)all, left);
}

static void print_fault(void *context, const struct storage_fault *fault)
{
    struct watching *w = context;
    struct buf text;
    if (w->count++ >= FAULTS_MOST)
        return;
    end_line(w);
    buf_init(&text, 1u << 16);
    utf8_escape(&text, fault->where, strlen(fault->where), UTF8_FOR_TERMINAL);
    buf_text(&text, ": ");
    utf8_escape(&text, fault->what, strlen(fault->what), UTF8_FOR_TERMINAL);
    buf_format(&text, "; %s", fault->remedy);
    (void)fprintf(w->faults, "%s\n", !text.failed ? text.data : "a fault, and not enough memory to name it");
    buf_close(&text);
}

struct storage_watch watching_begin(struct watching *watching, FILE *faults)
{
    *watching = (struct watching){.faults = faults};
    return (struct storage_watch){print_fault, isatty(STDERR_FILENO) ? show_progress : NULL, watching};
}

void watching_end(struct watching *watching)
{
    end_line(watching);
    if (watching->count > FAULTS_MOST)
        (void)fprintf(watching->faults, "and %lld more\n", (long long)(watching->count - FAULTS_MOST));
}

const char *command_setting(const struct options *given, const char *option, const char *variable, const char *absent)
{
    const char *value = options_value(given, option), *named = getenv(variable);
    if (value != NULL)
        return value;
    return named != NULL && named[0] != '\0' ? named : absent;
}
