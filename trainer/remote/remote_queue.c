/* The queue of messages to the daemon, and the thread that sends them in order. */
#include "trainer/remote/remote_int.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trainer/run.h"

#define HEARTBEAT_MS 500 /* milliseconds between two reports; the answers contain the requested state */

void message_free(struct message *message)
{
    if (message != NULL) {
        free(message->points);
        free(message->progress);
        buf_close(&message->body);
        free(message);
    }
}

static struct timespec in_ms(int64_t ms)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t nanoseconds = at.tv_nsec + ms % 1000 * 1000000;
    at.tv_sec += ms / 1000 + nanoseconds / 1000000000;
    at.tv_nsec = nanoseconds % 1000000000;
    return at;
}

static void remote_queue_append(struct remote *remote, struct message *message)
{
    message->next = NULL;
    *remote->tail = message;
    remote->tail = &message->next;
    remote->queued_bytes += message->bytes;
    remote->queued_checkpoints += message->kind == MESSAGE_CHECKPOINT;
    (void)pthread_cond_signal(&remote->work);
}

enum status remote_flush(struct remote *remote, struct error *err)
{
    struct message *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return error_memory(err, "a report");
    struct message *full = remote->pending;
    full->sequence = ++remote->sequence;
    full->bytes = sizeof *full + full->count * sizeof full->points[0];
    remote->pending = fresh;
    remote_queue_append(remote, full);
    return STATUS_OK;
}

/* Returns an error if the daemon has refused a message or the lease is lost. The caller holds the lock. */
static enum status state_of(struct remote *remote, struct error *err)
{
    if (remote->failure.code)
        return error_set(err, remote->failure.code, NULL, "%s", remote->failure.message);
    if (atomic_load(&remote->lost))
        return error_set(err, STATUS_CANCELLED, NULL, "the lease is lost");
    return STATUS_OK;
}

/* True if the message must wait, because the queue has no space for it or because another checkpoint waits. At most one
 * checkpoint may wait, because each is as large as the whole state of the run. */
static bool must_wait(const struct remote *remote, const struct message *message)
{
    if (atomic_load(&remote->cancelled) || remote->head == NULL)
        return false;
    return (int64_t)(remote->queued_bytes + message->bytes) > remote->options.buffer_bytes ||
           (message->kind == MESSAGE_CHECKPOINT && remote->queued_checkpoints > 0);
}

enum status remote_post(struct remote *remote, struct message *message, struct error *err)
{
    (void)pthread_mutex_lock(&remote->lock);
    enum status status = remote_flush(remote, err); /* the points measured before this message go first */
    while (!status && must_wait(remote, message)) {
        status = state_of(remote, err);
        if (!status) {
            struct timespec until = in_ms(HEARTBEAT_MS);
            (void)pthread_cond_timedwait(&remote->change, &remote->lock, &until);
        }
    }
    if (!status)
        status = state_of(remote, err);
    if (!status)
        remote_queue_append(remote, message);
    (void)pthread_mutex_unlock(&remote->lock);
    if (status)
        message_free(message);
    return status;
}

enum status remote_settle(struct remote *remote, struct error *err)
{
    (void)pthread_mutex_lock(&remote->lock);
    enum status status = remote_flush(remote, err);
    while (!status && remote->head != NULL) {
        struct timespec until = in_ms(HEARTBEAT_MS);
        (void)pthread_cond_timedwait(&remote->change, &remote->lock, &until);
        status = state_of(remote, err);
    }
    if (!status)
        status = state_of(remote, err);
    (void)pthread_mutex_unlock(&remote->lock);
    return status;
}

/* Sends the first message of the queue. The message stays in the queue until the daemon has stored it, because
 * remote_settle() waits for an empty queue. The caller holds the lock; this function releases it while it sends. */
static void send_head(struct remote *remote)
{
    struct message *message = remote->head;
    struct error err = {0};
    (void)pthread_mutex_unlock(&remote->lock);
    enum status status = message_send(remote, message, &err);
    (void)pthread_mutex_lock(&remote->lock);
    if (status && !atomic_load(&remote->lost) && !remote->failure.code)
        remote->failure = err;
    remote->head = message->next;
    if (remote->head == NULL)
        remote->tail = &remote->head;
    remote->queued_bytes -= message->bytes;
    remote->queued_checkpoints -= message->kind == MESSAGE_CHECKPOINT;
    message_free(message);
    (void)pthread_cond_broadcast(&remote->change);
}

void remote_drop_checkpoints(struct remote *remote)
{
    (void)pthread_mutex_lock(&remote->lock);
    /* skips the first message, which is being sent */
    struct message **at = remote->head != NULL ? &remote->head->next : &remote->head;
    remote->tail = at;
    while (*at != NULL) {
        struct message *message = *at;
        if (message->kind != MESSAGE_CHECKPOINT) {
            at = remote->tail = &message->next;
            continue;
        }
        *at = message->next;
        remote->queued_bytes -= message->bytes;
        remote->queued_checkpoints--;
        message_free(message);
    }
    (void)pthread_mutex_unlock(&remote->lock);
}

static void *send_all(void *context)
{
    struct remote *remote = context;
    (void)pthread_mutex_lock(&remote->lock);
    struct timespec deadline = in_ms(HEARTBEAT_MS);
    while (!remote->closing && !atomic_load(&remote->lost)) {
        if (remote->head != NULL) {
            send_head(remote);
        } else if (pthread_cond_timedwait(&remote->work, &remote->lock, &deadline) != 0) {
            (void)remote_flush(remote, NULL);
            deadline = in_ms(HEARTBEAT_MS);
        }
    }
    (void)pthread_cond_broadcast(&remote->change);
    (void)pthread_mutex_unlock(&remote->lock);
    return NULL;
}

enum status remote_start(struct remote *remote, struct error *err)
{
    remote->started = pthread_create(&remote->thread, NULL, send_all, remote) == 0;
    return remote->started ? STATUS_OK
                           : error_set(err, STATUS_UNAVAILABLE, NULL, "cannot start the thread that sends messages");
}

void remote_stop(struct remote *remote)
{
    (void)pthread_mutex_lock(&remote->lock);
    remote->closing = true;
    (void)pthread_cond_broadcast(&remote->work);
    (void)pthread_mutex_unlock(&remote->lock);
    if (remote->started)
        (void)pthread_join(remote->thread, NULL);
}
