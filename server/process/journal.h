/* The log: one JSON object per line on a file descriptor (stderr), which journald and log collectors read directly.
 *
 *   {"time":"2026-11-20T12:00:00.123Z","level":"info","component":"http","request":"...","message":"..."}
 *
 * Each component may write 100 lines at once and 50 a second after that. Further lines are dropped and counted; the
 * next line that passes reports their number ("suppressed": n). Errors always pass. Any thread. */
#ifndef MOTIF_SERVER_PROCESS_JOURNAL_H
#define MOTIF_SERVER_PROCESS_JOURNAL_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/base/log.h"

struct journal;

enum journal_component {
    JOURNAL_SERVER,
    JOURNAL_HTTP,
    JOURNAL_SCHEDULER,
    JOURNAL_EXECUTOR,
    JOURNAL_NOTICES,
    JOURNAL_COMPONENTS
};

/* Opens the log on `fd`, which is borrowed. Lines below `least` are not written. */
enum status journal_open(struct journal **journal, int fd, enum log_level least, struct error *err);
void journal_close(struct journal *journal); /* does not close the descriptor */

/* Writes a line. `request` or `job` may be NULL. */
void journal_line(struct journal *journal, enum log_level level, enum journal_component component, const char *request,
                  const char *job, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* The level of a name; -1 when no such level exists. */
int journal_level(const char *name);

/* Writes `text` as the inside of a JSON string: quotes, control characters and bytes that are not UTF-8 are escaped.
 * Returns the written length. `out` always ends with NUL, never within an escape. */
size_t journal_escape(char *out, size_t out_bytes, const char *text);

#endif
