/* The log: one JSON object a line on a file descriptor (stderr), which journald and every collector
 * read as it is.
 *
 *   {"time":"2026-11-20T12:00:00.123Z","level":"info","component":"http","request":"...","message":"..."}
 *
 * Each component has a bucket of lines (100 at once, 50 a second after that); what is dropped is
 * counted and said in the next line that passes ("suppressed": n). Errors always pass. Any thread. */
#ifndef MOTIF_SERVER_PROCESS_JOURNAL_H
#define MOTIF_SERVER_PROCESS_JOURNAL_H

#include <stddef.h>

#include "core/base/error.h"
#include "core/base/log.h"

struct journal;

enum journal_component { JOURNAL_SERVER, JOURNAL_HTTP, JOURNAL_SCHEDULER, JOURNAL_EXECUTOR, JOURNAL_COMPONENTS };

enum status journal_open(struct journal **journal, int fd, enum log_level least, struct error *err);
void journal_close(struct journal *journal); /* does not close the descriptor */

/* `request` or `job` may be NULL. */
void journal_line(struct journal *journal, enum log_level level, enum journal_component component, const char *request,
                  const char *job, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* -1 when there is no such level. */
int journal_level(const char *name);

/* Appends `text` as the inside of a JSON string: quotes, controls and bytes that are not UTF-8 are
 * escaped. Returns the length written; out is always terminated and never ends in half an escape. */
size_t journal_escape(char *out, size_t out_bytes, const char *text);

#endif
