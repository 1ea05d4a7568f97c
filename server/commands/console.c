/* Both ends of the socket for `motifd token`: the daemon's thread that answers, and the client. */
#include "server/commands/console.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/descriptor.h"

#define DEADLINE_SECONDS 2 /* seconds: upper limit of each read and write at both ends, and of a whole request */
/* milliseconds to wait after accept() failed: without a wait, the thread would use a whole core while descriptors are
 * lacking */
#define PAUSE_MS 100

struct console {
    struct console_options options;
    pthread_t thread;
    bool started;
    int folder, listener, stop; /* descriptors; `stop` is an eventfd */
    struct sockaddr_un at;
};

/* Makes the address of the socket DATABASE-console. An address has space for only 107 bytes, so the address names the
 * folder by a descriptor. */
static enum status address(const char *db, int *folder, struct sockaddr_un *out, struct error *err)
{
    const char *slash = strrchr(db, '/'), *name = slash != NULL ? slash + 1 : db;
    char *path = slash == NULL ? strdup(".") : strndup(db, slash == db ? 1 : (size_t)(slash - db));
    *folder = path != NULL ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    free(path);
    if (*folder < 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "cannot open the folder of the database");
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int bytes = snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d/%s-console", *folder, name);
    if ((size_t)bytes >= sizeof out->sun_path) {
        descriptor_close(folder);
        return error_set(err, STATUS_NOT_FOUND, NULL, "the name of the database is too long for a socket beside it");
    }
    return STATUS_OK;
}

static void set_deadlines(int fd)
{
    const struct timeval most = {.tv_sec = DEADLINE_SECONDS};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
}

static bool send_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        count -= (size_t)sent;
    }
    return true;
}

static time_t seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Reads until the other side has sent everything. Returns false if that takes too long or exceeds the limit of the
 * buffer. */
static bool receive_all(int fd, struct buf *in)
{
    char piece[1024];
    const time_t until = seconds_now() + DEADLINE_SECONDS;
    for (;;) {
        if (seconds_now() > until || in->failed)
            return false;
        ssize_t got = recv(fd, piece, sizeof piece, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 && !in->failed;
        buf_append(in, piece, (size_t)got);
    }
}

/* ---- the daemon's side ---------------------------------------------------------------------------------- */

static bool may_ask(int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && (who.uid == geteuid() || who.uid == 0);
}

/* Splits a request into words. Returns 0 when it is malformed. */
static size_t console_split(const struct buf *in, const char **words)
{
    size_t count = 0;
    if (in->size == 0 || in->data[in->size - 1] != '\0')
        return 0;
    for (size_t at = 0; at < in->size; at += strlen(in->data + at) + 1) {
        if (count == CONSOLE_WORDS)
            return 0;
        words[count++] = in->data + at;
    }
    return count;
}

static void serve_one(const struct console *console, int fd)
{
    const char *words[CONSOLE_WORDS];
    struct buf in, out;
    struct error err;
    error_clear(&err);
    buf_init(&in, CONSOLE_REQUEST);
    buf_init(&out, CONSOLE_ANSWER);
    set_deadlines(fd);
    if (may_ask(fd) && receive_all(fd, &in)) {
        size_t count = console_split(&in, words);
        enum status status = count > 0 ? console->options.answer(console->options.context, words, count, &out, &err)
                                       : error_set(&err, STATUS_INVALID, NULL, "not a request");
        if (status == STATUS_OK)
            status = buf_status(&out, "the answer", &err);
        const char *head = status == STATUS_OK ? "ok" : status_name(status);
        const char *text = status == STATUS_OK ? out.data : err.message;
        size_t bytes = status == STATUS_OK ? out.size : strlen(err.message);
        (void)(send_all(fd, head, strlen(head)) && send_all(fd, "\n", 1) && send_all(fd, text, bytes) &&
               send_all(fd, "", 1)); /* the NUL at the end shows that the answer is complete */
    }
    buf_close(&in);
    buf_close(&out);
}

static void *console_main(void *argument)
{
    const struct console *console = argument;
    struct pollfd wait[] = {{.fd = console->stop, .events = POLLIN}, {.fd = console->listener, .events = POLLIN}};
    for (;;) {
        int ready = poll(wait, 2, -1);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0 || wait[0].revents != 0)
            return NULL;
        int fd = accept4(console->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            serve_one(console, fd);
            descriptor_close(&fd);
        } else {
            (void)poll(wait, 1, PAUSE_MS);
        }
    }
}

/* Listens on the socket. Removes a socket of that name if there is one: a killed daemon has left it behind, because
 * only this process has the database open. */
static enum status listen_there(struct console *console, struct error *err)
{
    console->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (console->listener < 0)
        return error_set(err, STATUS_IO, NULL, "no socket: %s", strerror(errno));
    (void)unlink(console->at.sun_path);
    if (fchmod(console->listener, 0600) != 0 || /* sets the mode of the socket file, before any client can open it */
        bind(console->listener, (const struct sockaddr *)&console->at, sizeof console->at) != 0 ||
        listen(console->listener, 8) != 0)
        return error_set(err, STATUS_IO, NULL, "cannot open a socket beside the database: %s", strerror(errno));
    return STATUS_OK;
}

enum status console_start(const struct console_options *options, struct console **out, struct error *err)
{
    struct console *console = calloc(1, sizeof *console);
    *out = NULL;
    if (console == NULL)
        return error_memory(err, "a console");
    console->options = *options;
    console->folder = console->listener = -1;
    console->stop = eventfd(0, EFD_CLOEXEC);
    enum status status = console->stop >= 0 ? address(options->db, &console->folder, &console->at, err)
                                            : error_set(err, STATUS_IO, NULL, "no eventfd: %s", strerror(errno));
    if (status == STATUS_OK)
        status = listen_there(console, err);
    if (status == STATUS_OK && pthread_create(&console->thread, NULL, console_main, console) != 0)
        status = error_set(err, STATUS_UNAVAILABLE, NULL, "no thread for a console");
    console->started = status == STATUS_OK;
    if (status != STATUS_OK) {
        console_stop(console);
        return status;
    }
    *out = console;
    return STATUS_OK;
}

void console_stop(struct console *console)
{
    if (console == NULL)
        return;
    if (console->started) {
        const uint64_t one = 1;
        (void)!write(console->stop, &one, sizeof one);
        (void)pthread_join(console->thread, NULL);
    }
    if (console->listener >= 0) {
        (void)unlink(console->at.sun_path);
        descriptor_close(&console->listener);
    }
    descriptor_close(&console->folder);
    descriptor_close(&console->stop);
    free(console);
}

/* ---- the client's side ---------------------------------------------------------------------------------- */

/* Parses an answer: "ok" and text, or the name of a status and its message. */
static enum status take_answer(const struct buf *in, struct buf *out, struct error *err)
{
    const char *line = in->size > 0 ? memchr(in->data, '\n', in->size) : NULL;
    if (line == NULL) {
        return error_set(
            err, STATUS_UNAVAILABLE, NULL,
            "the daemon that has the database open did not answer; only its own user and root are answered");
    }
    size_t head = (size_t)(line - in->data);
    if (in->data[in->size - 1] != '\0')
        return error_set(err, STATUS_UNAVAILABLE, NULL, "the answer of the daemon is incomplete");
    if (head == 2 && memcmp(in->data, "ok", 2) == 0) {
        buf_append(out, line + 1, in->size - head - 2);
        return buf_status(out, "the answer", err);
    }
    for (int status = STATUS_OK + 1; status <= STATUS_INTERNAL; status++) {
        const char *name = status_name((enum status)status);
        if (strlen(name) == head && memcmp(name, in->data, head) == 0)
            return error_set(err, (enum status)status, NULL, "%s", line + 1);
    }
    return error_set(err, STATUS_INTERNAL, NULL, "the answer of the daemon cannot be read");
}

enum status console_ask(const char *db, const char *const *words, size_t count, bool *open, struct buf *out,
                        struct error *err)
{
    struct sockaddr_un at;
    struct buf in;
    int folder;
    *open = false;
    enum status status = address(db, &folder, &at, err);
    if (status != STATUS_OK)
        return status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    buf_init(&in, CONSOLE_ANSWER + 64);
    if (fd < 0) { /* *open stays false: without a socket, it is unknown whether a daemon runs */
        status = error_set(err, STATUS_IO, NULL, "no socket: %s", strerror(errno));
    } else if (connect(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        *open = errno == EACCES;
        status = *open ? error_set(err, STATUS_UNAVAILABLE, NULL,
                                   "the daemon that has the database open belongs to another user")
                       : error_set(err, STATUS_NOT_FOUND, NULL, "no daemon has the database open");
    } else {
        bool sent = true;
        *open = true;
        set_deadlines(fd);
        for (size_t i = 0; i < count; i++)
            sent = sent && send_all(fd, words[i], strlen(words[i]) + 1);
        (void)(sent && shutdown(fd, SHUT_WR) == 0 && receive_all(fd, &in)); /* take_answer() checks what has arrived */
        status = take_answer(&in, out, err);
    }
    buf_close(&in);
    descriptor_close(&fd);
    descriptor_close(&folder);
    return status;
}
