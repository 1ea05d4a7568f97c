/* The retry queue keeps lazy writes (such as metric points, which may wait for a common commit) that failed because
 * the disk was full. The writer keeps up to RETRY_BYTES_MAX bytes of them in memory. It retries them once a second,
 * and also whenever a caller waits for lazy writes. Later writes of the same kind are committed after them. Urgent
 * commands do not wait for the queue: a small one may still fit on the disk, and a deletion frees space. */
#include "storage/storage_int.h"

#define RETRY_BYTES_MAX ((size_t)8 << 20)
#define RETRY_MS 1000

/* Merges `later` into the last queued command of the same kind and job, so that the order of points is kept. */
static bool retry_queue_join(struct writer *w, struct command *later)
{
    struct command *last = NULL;
    for (struct command *c = w->retry_queue; c != NULL; c = c->next)
        if (c->retry == later->retry && c->retry->same(c, later))
            last = c;
    size_t before = last != NULL ? last->bytes : 0;
    if (last == NULL || !last->retry->join(last, later))
        return false;
    w->retry_bytes += last->bytes - before;
    return true;
}

static void retry_add(struct storage *storage, struct command *command)
{
    struct writer *w = &storage->writer;
    struct command **end = &w->retry_queue;
    if (w->retry_queue == NULL)
        log_line(&storage->log, LOG_LEVEL_WARN, "the disk is full: points of metrics wait in memory");
    command->status = STATUS_OK;
    command->full = false;
    error_clear(&command->error);
    if (retry_queue_join(w, command)) {
        command->destroy(command);
        return;
    }
    while (*end != NULL)
        end = &(*end)->next;
    command->next = NULL;
    *end = command;
    w->retry_bytes += command->bytes;
}

void retry_keep(struct storage *storage, struct command **list, bool full)
{
    struct writer *w = &storage->writer;
    int lost = 0;
    for (struct command **at = list; *at != NULL;) {
        struct command *c = *at;
        if (c->retry == NULL || (full && !c->full)) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        if (w->retry_bytes + c->bytes > RETRY_BYTES_MAX) {
            lost++;
            c->destroy(c);
        } else {
            retry_add(storage, c);
        }
    }
    if (lost > 0)
        log_line(&storage->log, LOG_LEVEL_ERROR,
                 "the disk is full: %d lazy writes are lost, because %zu bytes are waiting already", lost,
                 w->retry_bytes);
    w->retry_due = clock_monotonic_ms() + RETRY_MS;
}

struct command *retry_release(struct storage *storage)
{
    struct writer *w = &storage->writer;
    struct command *list = w->retry_queue;
    w->retry_queue = NULL;
    w->retry_bytes = 0;
    return list;
}
