/* One thread visits all watched connections and cuts those that are late in their phase. */
#include "server/http/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/parallel/timed_cond.h"

#define LINGER_MS 5000    /* longest time for which the bytes after the last answer are dropped */
#define LINGER_TICK_MS 10 /* pause between two reads of these bytes */
#define LINGER_READS 64   /* reads of one connection at a time */
#define LINGERING_MOST 64 /* further connections end at once */

struct reaper_watch {
    struct reaper_watch *next, *previous;
    int fd;
    enum reaper_phase phase;
    int64_t since;            /* start of the phase, monotonic milliseconds */
    bool linger;              /* the client may still be sending when the connection ends */
    uint64_t received, acked; /* total bytes received and acknowledged on the connection when the phase started */
};

struct lingering { /* a connection whose last answer was sent */
    int fd;
    int64_t until;
};

struct reaper {
    struct reaper_limits limits;
    struct lingering lingering[LINGERING_MOST];
    int lingering_count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool stop;
    struct reaper_watch *first;
    struct reaper_stats stats;
};

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads how many bytes were received and how many the peer has acknowledged. Returns false if the kernel does not
 * report these numbers. */
static bool tcp_totals(int fd, uint64_t *received, uint64_t *acked)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 ||
        bytes < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received)
        return false;
    *received = info.tcpi_bytes_received;
    *acked = info.tcpi_bytes_acked;
    return true;
}

static void enter(struct reaper_watch *watch, enum reaper_phase phase, int64_t now)
{
    watch->phase = phase;
    watch->since = now;
    (void)tcp_totals(watch->fd, &watch->received, &watch->acked);
}

static bool too_slow(const struct reaper_limits *limits, int64_t elapsed, uint64_t moved)
{
    return elapsed > limits->grace_ms &&
           (double)moved * 1000.0 < (double)(elapsed - limits->grace_ms) * (double)limits->rate;
}

/* Returns whether the connection is late. Moves an idle connection to HEAD at its next byte. */
static bool late(const struct reaper_limits *limits, struct reaper_watch *watch, int64_t now)
{
    int64_t elapsed = now - watch->since;
    uint64_t received = watch->received, acked = watch->acked;
    if (watch->phase == REAPER_IDLE || watch->phase == REAPER_BODY || watch->phase == REAPER_SENDING)
        (void)tcp_totals(watch->fd, &received, &acked);
    switch (watch->phase) {
    case REAPER_IDLE:
        if (received != watch->received) {
            enter(watch, REAPER_HEAD, now);
            return false;
        }
        return elapsed > limits->idle_ms;
    case REAPER_HEAD:
        return elapsed > limits->header_ms;
    case REAPER_BODY:
        return too_slow(limits, elapsed, received - watch->received);
    case REAPER_SENDING:
        return too_slow(limits, elapsed, acked - watch->acked);
    case REAPER_ANSWERING:
    case REAPER_CUT:
        break;
    }
    return false;
}

/* Reads and drops what has arrived. Returns whether the connection may still receive something. */
static bool drop_received(const struct lingering *lingering, int64_t now)
{
    static char bytes[65536]; /* nobody reads it, and only this thread writes it */
    ssize_t got = 1;
    for (int i = 0; i < LINGER_READS && got > 0; i++)
        got = recv(lingering->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    return now < lingering->until && (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)));
}

static void linger(struct reaper *reaper, int64_t now)
{
    for (int i = 0; i < reaper->lingering_count;)
        if (drop_received(&reaper->lingering[i], now)) {
            i++;
        } else {
            (void)close(reaper->lingering[i].fd);
            reaper->lingering[i] = reaper->lingering[--reaper->lingering_count];
        }
}

static void *reap(void *context)
{
    struct reaper *reaper = context;
    int64_t usual = reaper->limits.header_ms / 8;
    usual = usual < 10 ? 10 : usual > 250 ? 250 : usual;
    (void)pthread_mutex_lock(&reaper->lock);
    while (!reaper->stop) {
        int64_t now = now_ms();
        for (struct reaper_watch *watch = reaper->first; watch != NULL; watch = watch->next) {
            if (late(&reaper->limits, watch, now)) {
                reaper->stats.cut[watch->phase]++;
                watch->phase = REAPER_CUT;
                (void)shutdown(
                    watch->fd,
                    SHUT_RDWR); /* the connection's thread sees the end of the stream and closes the descriptor */
            }
        }
        linger(reaper, now);
        int64_t tick = reaper->lingering_count > 0 ? LINGER_TICK_MS : usual;
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        int64_t nanoseconds = until.tv_nsec + tick * 1000000;
        until.tv_sec += nanoseconds / 1000000000;
        until.tv_nsec = nanoseconds % 1000000000;
        (void)pthread_cond_timedwait(&reaper->changed, &reaper->lock, &until);
    }
    (void)pthread_mutex_unlock(&reaper->lock);
    return NULL;
}

enum status reaper_create(const struct reaper_limits *limits, struct reaper **reaper, struct error *err)
{
    struct reaper *made = calloc(1, sizeof *made);
    if (made == NULL || !timed_lock_init(&made->lock, &made->changed, NULL)) {
        free(made);
        return error_memory(err, "the connection deadlines");
    }
    made->limits = *limits;
    if (pthread_create(&made->thread, NULL, reap, made) != 0) {
        (void)pthread_cond_destroy(&made->changed);
        (void)pthread_mutex_destroy(&made->lock);
        free(made);
        return error_set(err, STATUS_UNAVAILABLE, NULL, "no thread for the connection deadlines");
    }
    *reaper = made;
    return STATUS_OK;
}

void reaper_destroy(struct reaper *reaper)
{
    if (reaper == NULL)
        return;
    (void)pthread_mutex_lock(&reaper->lock);
    reaper->stop = true;
    (void)pthread_cond_signal(&reaper->changed);
    (void)pthread_mutex_unlock(&reaper->lock);
    (void)pthread_join(reaper->thread, NULL);
    for (int i = 0; i < reaper->lingering_count; i++)
        (void)close(reaper->lingering[i].fd);
    (void)pthread_cond_destroy(&reaper->changed);
    (void)pthread_mutex_destroy(&reaper->lock);
    free(reaper);
}

struct reaper_watch *reaper_watch(struct reaper *reaper, int fd)
{
    struct reaper_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    watch->fd = fd;
    enter(watch, REAPER_HEAD, now_ms());
    (void)pthread_mutex_lock(&reaper->lock);
    watch->next = reaper->first;
    if (reaper->first != NULL)
        reaper->first->previous = watch;
    reaper->first = watch;
    reaper->stats.open++;
    reaper->stats.opened++;
    (void)pthread_mutex_unlock(&reaper->lock);
    return watch;
}

void reaper_forget(struct reaper *reaper, struct reaper_watch *watch)
{
    if (watch == NULL)
        return;
    (void)pthread_mutex_lock(&reaper->lock);
    if (watch->next != NULL)
        watch->next->previous = watch->previous;
    if (watch->previous != NULL)
        watch->previous->next = watch->next;
    else
        reaper->first = watch->next;
    reaper->stats.open--;
    int fd = watch->linger && reaper->lingering_count < LINGERING_MOST ? fcntl(watch->fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd >= 0) { /* the library closes its own descriptor, which then does not end the connection */
        (void)shutdown(fd, SHUT_WR);
        reaper->lingering[reaper->lingering_count++] = (struct lingering){fd, now_ms() + LINGER_MS};
        (void)pthread_cond_signal(&reaper->changed);
    }
    (void)pthread_mutex_unlock(&reaper->lock);
    free(watch);
}

void reaper_linger(struct reaper *reaper, struct reaper_watch *watch)
{
    if (watch == NULL)
        return;
    (void)pthread_mutex_lock(&reaper->lock);
    watch->linger = true;
    (void)pthread_mutex_unlock(&reaper->lock);
}

void reaper_enter(struct reaper *reaper, struct reaper_watch *watch, enum reaper_phase phase)
{
    if (watch == NULL)
        return;
    (void)pthread_mutex_lock(&reaper->lock);
    if (watch->phase != REAPER_CUT)
        enter(watch, phase, now_ms());
    (void)pthread_mutex_unlock(&reaper->lock);
}

void reaper_stats_read(struct reaper *reaper, struct reaper_stats *out)
{
    (void)pthread_mutex_lock(&reaper->lock);
    *out = reaper->stats;
    (void)pthread_mutex_unlock(&reaper->lock);
}
