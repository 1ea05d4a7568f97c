/* One thread polls two descriptors: the listening socket, and an eventfd that ends it (acceptor.h). */
#include "server/http/acceptor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/descriptor.h"
#include "server/process/crash.h"

#define PAUSE_MS 20 /* before the next attempt when the server is full or the process has no descriptor left */

struct acceptor {
    struct acceptor_calls calls;
    int listener, end;
    pthread_t thread;
};

/* Accepts one connection. Returns the milliseconds to wait before the next attempt. */
static int accept_one(struct acceptor *acceptor)
{
    struct sockaddr_storage peer;
    socklen_t bytes = sizeof peer;
    int descriptor = accept4(acceptor->listener, (struct sockaddr *)&peer, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0) {
        acceptor->calls.take(acceptor->calls.context, descriptor, (struct sockaddr *)&peer, bytes);
        return 0;
    }
    /* Other errors concern one connection, which its peer has given up. */
    return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM ? PAUSE_MS : 0;
}

static void *acceptor_run(void *context)
{
    struct acceptor *acceptor = context;
    crash_thread();
    for (int pause = 0;;) {
        if (pause == 0 && acceptor->calls.full(acceptor->calls.context))
            pause = PAUSE_MS;
        struct pollfd set[2] = {{.fd = acceptor->end, .events = POLLIN}, {.fd = acceptor->listener, .events = POLLIN}};
        int ready = poll(set, pause > 0 ? 1 : 2, pause > 0 ? pause : -1);
        if (ready > 0 && set[0].revents != 0)
            return NULL;
        pause = pause == 0 && ready > 0 ? accept_one(acceptor) : 0;
    }
}

enum status acceptor_start(int *listener, const struct acceptor_calls *calls, struct acceptor **acceptor,
                           struct error *err)
{
    struct acceptor *made = calloc(1, sizeof *made);
    if (made == NULL)
        return error_memory(err, "the thread that accepts connections");
    *made = (struct acceptor){.calls = *calls, .listener = *listener, .end = eventfd(0, EFD_CLOEXEC)};
    if (made->end < 0 || pthread_create(&made->thread, NULL, acceptor_run, made) != 0) {
        descriptor_close(&made->end);
        free(made);
        return error_set(err, STATUS_UNAVAILABLE, NULL, "no thread that accepts connections");
    }
    *listener = -1;
    *acceptor = made;
    return STATUS_OK;
}

void acceptor_stop(struct acceptor *acceptor)
{
    if (acceptor == NULL)
        return;
    uint64_t one = 1;
    ssize_t written = write(acceptor->end, &one, sizeof one); /* cannot fail: the counter is 0 */
    (void)written;
    (void)pthread_join(acceptor->thread, NULL);
    descriptor_close(&acceptor->listener);
    descriptor_close(&acceptor->end);
    free(acceptor);
}
