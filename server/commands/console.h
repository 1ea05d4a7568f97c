/* A unix socket beside the database (DATABASE-console, mode 0600). `motifd token` sends its requests there when a
 * daemon has the database open, because exactly one process may write to a database. The daemon answers only its own
 * user and root.
 *
 * A request consists of words, each followed by a NUL. It ends when the client closes its side for writing. The answer
 * is "ok" or the name of a status, a newline, text, and a NUL; an answer without the NUL is incomplete. The daemon
 * serves one connection at a time; each has a deadline. */
#ifndef MOTIF_SERVER_COMMANDS_CONSOLE_H
#define MOTIF_SERVER_COMMANDS_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/error.h"

#define CONSOLE_REQUEST 512 /* upper limit of the bytes of a request */
#define CONSOLE_WORDS 8
#define CONSOLE_ANSWER ((size_t)4 << 20)

struct console;

struct console_options {
    const char *db;
    void *context;
    /* Called on the console's thread. Appends the answer to `out`. */
    enum status (*answer)(void *context, const char *const *words, size_t count, struct buf *out, struct error *err);
};

/* Opens the socket and starts the thread that answers. Copies `db`; `context` is borrowed until console_stop(). */
enum status console_start(const struct console_options *options, struct console **console, struct error *err);
/* Ends the thread and removes the socket. NULL is allowed. */
void console_stop(struct console *console);

/* Sends a request to the daemon, whose answer goes to `out` and whose error goes to `err`. *open is true if a
 * daemon has accepted the connection, or if the daemon belongs to another user (UNAVAILABLE). It is false if no daemon
 * has the database open, or if a daemon is starting or stopping. */
enum status console_ask(const char *db, const char *const *words, size_t count, bool *open, struct buf *out,
                        struct error *err);

#endif
