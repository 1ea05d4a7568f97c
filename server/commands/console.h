/* A socket beside the database (DATABASE-console, 0600), by which `motifd token` speaks to the daemon that has the
 * database open: exactly one process writes to it, so what changes tokens must happen there. Only the daemon's own
 * user and root are answered.
 *
 * A request is words with a NUL behind each, to the end of what the client sends; the answer is "ok" or the name of a
 * status, a newline, and text to the end. One connection at a time, each with a deadline. */
#ifndef MOTIF_SERVER_COMMANDS_CONSOLE_H
#define MOTIF_SERVER_COMMANDS_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/error.h"

#define CONSOLE_REQUEST 512 /* most bytes of a request */
#define CONSOLE_WORDS 8
#define CONSOLE_ANSWER ((size_t)4 << 20)

struct console;

struct console_options {
    const char *db;
    void *context;
    /* On the console's thread. Appends the answer to `out`. */
    enum status (*answer)(void *context, const char *const *words, size_t count, struct buf *out, struct error *err);
};

enum status console_start(const struct console_options *options, struct console **console, struct error *err);
/* Ends the thread and removes the socket. NULL is fine. */
void console_stop(struct console *console);

/* The other end: what the daemon said, `err` in its words. *open: somebody listens there; else no daemon has the
 * database open, or one just starts or ends. */
enum status console_ask(const char *db, const char *const *words, size_t count, bool *open, struct buf *out,
                        struct error *err);

#endif
