/* Deferred writes that find the disk full and would be missed: points of metrics. They stay in memory, RETRY_BYTES_MAX
 * at most, and are tried again before anything of their kind that came later, each second and whenever somebody waits
 * for what is deferred. Urgent commands go on without them: what is small, or gives room, may still fit. */
#include "storage/storage_int.h"

#define RETRY_BYTES_MAX ((size_t)8 << 20)
#define RETRY_MS 1000

/* Only the last of those that it belongs with may take it over. */
static bool join(struct writer *w, struct command *later)
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
        log_line(&storage->log, LOG_LEVEL_WARN, "the disk is full: points of metrics wait for room");
    command->status = STATUS_OK;
    command->full = false;
    error_clear(&command->error);
    if (join(w, command)) {
        command->destroy(command);
        return;
    }
    while (*end != NULL)
        end = &(*end)->next;
    command->next = NULL;
    *end = command;
    w->retry_bytes += command->bytes;
}

void retry_take(struct storage *storage, struct command **list, bool full)
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
                 "the disk is full: %d deferred writes lost, because %zu bytes wait already", lost, w->retry_bytes);
    w->retry_due = clock_monotonic_ms() + RETRY_MS;
}

struct command *retry_give(struct storage *storage)
{
    struct writer *w = &storage->writer;
    struct command *list = w->retry_queue;
    w->retry_queue = NULL;
    w->retry_bytes = 0;
    return list;
}
