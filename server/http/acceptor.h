/* A thread that accepts connections and hands them to libmicrohttpd.
 *
 * libmicrohttpd could accept them itself, but then it cannot stop safely: MHD_quiesce_daemon() and a thread that polls
 * with epoll may both remove the listening socket from the epoll set, and the second removal ends the process. */
#ifndef MOTIF_SERVER_HTTP_ACCEPTOR_H
#define MOTIF_SERVER_HTTP_ACCEPTOR_H

#include <stdbool.h>
#include <sys/socket.h>

#include "core/base/error.h"

struct acceptor;

/* `take` owns the descriptor that it gets. `full`: whether new connections must wait; they wait in the kernel's queue.
 * The acceptor's thread calls both. */
struct acceptor_calls {
    void (*take)(void *context, int descriptor, const struct sockaddr *peer, socklen_t bytes);
    bool (*full)(void *context);
    void *context;
};

/* Starts the thread. The acceptor takes over `listener`, a listening socket that does not block, and sets *listener to
 * -1. STATUS_UNAVAILABLE, STATUS_NO_MEMORY: *listener is unchanged. */
enum status acceptor_start(int *listener, const struct acceptor_calls *calls, struct acceptor **acceptor,
                           struct error *err);
/* Closes the listening socket, so that the kernel refuses new connections, and frees the acceptor. After this no call
 * is made. NULL is allowed. */
void acceptor_stop(struct acceptor *acceptor);

#endif
