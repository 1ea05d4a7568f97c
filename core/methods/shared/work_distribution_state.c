/* Work items in a checkpoint (work_distribution.h).
 *
 * A checkpoint of a distributed run contains:
 *   - the item with the highest index, as the run itself;
 *   - the table of all items, and the points that are not published yet;
 *   - each other running item, as a snapshot inside the snapshot.
 * Before a rank saves, the other ranks send it their items. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/shared/work_distribution.h"

#define BLOCK ((size_t)4 << 20) /* bytes that ranks send at a time */

struct comm *distribution_apart(const struct work_distribution *d)
{
    return d->item_of && !d->joined ? comm_others(d->comm) : NULL;
}

bool distribution_reserve(struct distribution_points *points, size_t room)
{
    if (room <= points->room)
        return true;
    size_t more = points->room + points->room / 2 + 256;
    more = more > room ? more : room;
    struct distribution_point *list =
        more <= SIZE_MAX / sizeof *list ? realloc(points->list, more * sizeof *list) : NULL;
    if (!list)
        return false;
    points->list = list;
    points->room = more;
    return true;
}

static void points_close(struct distribution_points *points)
{
    free(points->list);
    *points = (struct distribution_points){0};
}

void distribution_close(struct work_distribution *d)
{
    for (int64_t i = 0; i < d->count; i++) {
        if (d->points)
            points_close(&d->points[i]);
        if (d->suspended)
            buf_close(&d->suspended[i]);
    }
    free(d->item);
    free(d->points);
    free(d->suspended);
    free(d->item_of);
    free(d->turns);
}

/* ---- entries ------------------------------------------------------------------------------------------- */

/* The table of contents of a stream that is being read. */
struct contents {
    struct snapshot_entry *list;
    size_t count;
};

static const struct snapshot_entry *find(const struct contents *contents, const char *name)
{
    for (size_t i = 0; i < contents->count; i++)
        if (strcmp(contents->list[i].name, name) == 0)
            return &contents->list[i];
    return NULL;
}

/* Declares a list of points, if it has any. contents: the table of contents of the stream to read, from which the list
 * gets its length; NULL when writing. */
static enum status declare_points(struct snapshot *snapshot, const char *name, struct distribution_points *points,
                                  const struct contents *contents, struct error *err)
{
    if (contents) {
        const struct snapshot_entry *entry = find(contents, name);
        points->count = entry ? (size_t)(entry->bytes / sizeof *points->list) : 0;
        if (!distribution_reserve(points, points->count)) {
            points->count = 0;
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the series of a work item");
        }
    }
    const uint64_t shape[2] = {points->count, DISTRIBUTION_POINT_COLUMNS};
    return points->count > 0 ? snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, name, 2, shape, points->list, err)
                             : STATUS_OK;
}

static enum status declare_suspended(struct snapshot *snapshot, const char *name, struct buf *suspended,
                                     const struct contents *contents, struct error *err)
{
    if (contents) {
        const struct snapshot_entry *entry = find(contents, name);
        buf_close(suspended);
        buf_init(suspended, SIZE_MAX);
        size_t bytes = entry ? (size_t)entry->bytes : 0;
        if (bytes > 0 && !(suspended->data = calloc(1, bytes + 1)))
            return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a work item");
        suspended->size = bytes;
        suspended->capacity = bytes > 0 ? bytes + 1 : 0;
    }
    const uint64_t shape[1] = {suspended->size};
    return suspended->size > 0
               ? snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_U8, name, 1, shape, suspended->data, err)
               : STATUS_OK;
}

static enum status declare_table(struct work_distribution *d, struct snapshot *snapshot,
                                 const struct contents *contents, struct error *err)
{
    const uint64_t table[2] = {(uint64_t)d->count, DISTRIBUTION_COLUMNS};
    const struct snapshot_number numbers[] = {{"distribution.at", &d->at, NULL},
                                              {"distribution.seen_before", &d->seen_before, NULL},
                                              {"distribution.shown", &d->shown, NULL}};
    enum status status = snapshot_add_numbers(snapshot, numbers, sizeof numbers / sizeof numbers[0], err);
    if (!status)
        status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, "distribution.items", 2, table, d->item, err);
    for (int64_t i = 0; !status && i < d->count; i++) {
        char name[SNAPSHOT_NAME];
        snprintf(name, sizeof name, "distribution.points.%lld", (long long)i);
        if (contents || d->item[i].state == (double)DISTRIBUTION_DONE)
            status = declare_points(snapshot, name, &d->points[i], contents, err);
        snprintf(name, sizeof name, "distribution.item.%lld", (long long)i);
        if (!status)
            status = declare_suspended(snapshot, name, &d->suspended[i], contents, err);
    }
    return status;
}

/* Declares the item that this rank has. suspended: the item gets a snapshot of its own, which also holds its
 * outcome. */
static enum status declare_own(struct work_distribution *d, struct method_run *run, bool suspended,
                               struct snapshot *snapshot, struct error *err)
{
    enum status status = d->table->declare(run, snapshot, err);
    void *at;
    size_t bytes;
    for (int part = 0; !status && suspended && (bytes = d->table->outcome(run, d->now, part, &at)) > 0; part++) {
        const uint64_t shape[1] = {bytes};
        char name[SNAPSHOT_NAME];
        snprintf(name, sizeof name, "distribution.outcome.%d", part);
        status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_U8, name, 1, shape, at, err);
    }
    return status;
}

static bool sound_points(const struct work_distribution *d, const struct distribution_points *points)
{
    for (size_t i = 0; i < points->count; i++) {
        const struct distribution_point *p = &points->list[i];
        if (!(p->metric >= 0 && p->metric < (double)d->series_count && p->metric == floor(p->metric) && p->seen >= 0 &&
              p->seen <= CONFIG_INT_MAX))
            return false;
    }
    return true;
}

static bool sound_item(const struct work_item *u)
{
    return (u->state == DISTRIBUTION_PENDING || u->state == DISTRIBUTION_RUNNING || u->state == DISTRIBUTION_DONE) &&
           u->stage >= 0 && u->stage < 100 && u->work >= 0 && u->work <= CONFIG_INT_MAX && u->seen >= 0 &&
           u->seen <= CONFIG_INT_MAX && u->weight >= 0;
}

/* A stream may be damaged, so this function checks every value that decides how much memory the run allocates or how
 * long it works. */
static bool sound(const struct work_distribution *d, bool done)
{
    int64_t over = 0;
    if (d->at < 0 || d->at > d->count || d->seen_before < 0 || d->shown < 0 || d->shown >= d->count)
        return false;
    for (int64_t i = 0; i < d->count; i++) {
        const struct work_item *u = &d->item[i];
        bool away = u->state == DISTRIBUTION_RUNNING && i != d->shown;
        if (!sound_item(u) || (d->suspended[i].size > 0) != away || !sound_points(d, &d->points[i]))
            return false;
        over += i == over && u->state == DISTRIBUTION_DONE;
    }
    return d->at == over && done == (over == d->count) && (done || d->item[d->shown].state == DISTRIBUTION_RUNNING);
}

/* ---- one item ------------------------------------------------------------------------------------ */

enum status distribution_append(void *context, const void *bytes, size_t count, struct error *err)
{
    buf_append(context, bytes, count);
    return buf_status(context, "a work item", err);
}

static enum status read_suspended(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct buf *from = context;
    if (offset > from->size || count > from->size - offset)
        return error_set(err, STATUS_CORRUPT, NULL, "a work item ends early");
    memcpy(bytes, from->data + offset, count);
    return STATUS_OK;
}

/* Declares the entries of this rank's item as a snapshot of its own. contents: the table of contents of the stream to
 * read; NULL: the snapshot is written. */
static enum status open_own(struct work_distribution *d, struct method_run *run, const struct contents *contents,
                            struct snapshot **snapshot, struct error *err)
{
    enum status status = snapshot_create(snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = declare_own(d, run, true, *snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = snapshot_add_i64(*snapshot, "distribution.stage_work", &d->stage_work, err);
    if (status != STATUS_OK)
        return status;
    return declare_points(*snapshot, "distribution.points", &d->points[d->now], contents, err);
}

enum status distribution_suspend(struct work_distribution *d, struct method_run *run, struct buf *to, struct error *err)
{
    const struct snapshot_writer writer = {to, distribution_append};
    struct snapshot *snapshot = NULL;
    buf_close(to);
    buf_init(to, SIZE_MAX);
    enum status status = d->table->check(run, err);
    if (!status)
        status = open_own(d, run, NULL, &snapshot, err);
    if (!status)
        status = snapshot_write(snapshot, &writer, err);
    snapshot_destroy(snapshot);
    return status;
}

enum status distribution_resume(struct work_distribution *d, struct method_run *run, int64_t item,
                                const struct buf *from, struct error *err)
{
    const struct snapshot_reader reader = {(void *)(uintptr_t)from, from->size, read_suspended};
    struct snapshot *snapshot = NULL;
    struct contents contents = {0};
    d->now = item;
    enum status status = d->table->ready(run, item, &reader, err);
    if (!status)
        status = snapshot_contents(&reader, &contents.list, &contents.count, err);
    if (!status)
        status = open_own(d, run, &contents, &snapshot, err);
    if (!status)
        status = snapshot_read(snapshot, &reader, SNAPSHOT_ALL, err);
    if (!status)
        status = d->table->loaded(run, err);
    if (!status && !sound_points(d, &d->points[item]))
        status = error_set(err, STATUS_CORRUPT, NULL, "the measurements of a %s are inconsistent", d->table->noun);
    snapshot_destroy(snapshot);
    free(contents.list);
    return status;
}

/* ---- the whole checkpoint -------------------------------------------------------------------------------------------
 */

enum status distribution_broadcast(struct comm *comm, int root, const struct buf *from,
                                   const struct snapshot_writer *to, struct error *err)
{
    bool mine = comm_rank(comm) == root;
    uint64_t size = mine ? from->size : 0;
    struct error own = {0};
    enum status written = STATUS_OK, status = comm_broadcast(comm, &size, sizeof size, root, err);
    if (status)
        return status;
    char *block = malloc(BLOCK);
    status = comm_agree(
        comm, block ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a work item"), err);
    for (uint64_t at = 0; !status && block && at < size; at += BLOCK) {
        size_t count = size - at < BLOCK ? (size_t)(size - at) : BLOCK;
        if (mine)
            memcpy(block, from->data + at, count);
        status = comm_broadcast(comm, block, count, root, err);
        if (!status && !written && to)
            written = to->write(to->context, block, count, &own);
    }
    free(block);
    if (status)
        return status;
    if (written)
        *err = own;
    return comm_agree(comm, written, err);
}

/* Sends the items of the other ranks to the rank `shown`, whose item the checkpoint shows. */
static enum status collect(struct work_distribution *d, struct method_run *run, struct comm *comm, int shown,
                           struct error *err)
{
    struct buf own;
    buf_init(&own, SIZE_MAX);
    bool away = d->now >= 0 && comm_rank(comm) != shown;
    enum status status = comm_agree(comm, away ? distribution_suspend(d, run, &own, err) : STATUS_OK, err);
    for (int r = 0; !status && r < comm_size(comm); r++) {
        if (d->item_of[r] < 0 || r == shown)
            continue;
        struct buf *kept = &d->suspended[d->item_of[r]];
        buf_close(kept);
        buf_init(kept, SIZE_MAX);
        status = distribution_broadcast(
            comm, r, &own, comm_rank(comm) == shown ? &(struct snapshot_writer){kept, distribution_append} : NULL, err);
    }
    buf_close(&own);
    return status;
}

/* Declares the entries of a whole checkpoint. contents: the table of contents of the checkpoint that is read; NULL: a
 * checkpoint is written. */
static enum status declare_whole(struct work_distribution *d, struct method_run *run,
                                 struct distribution_points *points, const struct contents *contents,
                                 struct snapshot *snapshot, struct error *err)
{
    enum status status = declare_own(d, run, false, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = d->table->share(run, snapshot, err);
    if (status != STATUS_OK)
        return status;
    status = snapshot_add_i64(snapshot, "distribution.stage_work", &d->stage_work, err);
    if (status != STATUS_OK)
        return status;
    status = declare_points(snapshot, "distribution.points", points, contents, err);
    if (status != STATUS_OK)
        return status;
    return declare_table(d, snapshot, contents, err);
}

static enum status write_whole(struct work_distribution *d, struct method_run *run, const struct snapshot_writer *to,
                               uint64_t *bytes, struct error *err)
{
    struct snapshot *snapshot = NULL;
    enum status status = d->table->check(run, err);
    if (!status)
        status = snapshot_create(&snapshot, err);
    if (!status)
        status = declare_whole(d, run, &d->points[d->now], NULL, snapshot, err);
    if (!status)
        status = snapshot_write(snapshot, to, err);
    if (!status)
        *bytes = snapshot_bytes(snapshot);
    snapshot_destroy(snapshot);
    return status;
}

enum status distribution_save(struct work_distribution *d, struct method_run *run, const struct snapshot_writer *to,
                              uint64_t *bytes, struct error *err)
{
    struct comm *comm = distribution_apart(d);
    if (!comm)
        return write_whole(d, run, to, bytes, err);
    int shown = 0;
    struct buf whole;
    buf_init(&whole, SIZE_MAX);
    while (d->item_of[shown] != d->shown)
        shown++;
    bool mine = comm_rank(comm) == shown;
    enum status status = collect(d, run, comm, shown, err);
    if (!status)
        status = comm_agree(
            comm,
            mine ? write_whole(d, run, &(struct snapshot_writer){&whole, distribution_append}, bytes, err) : STATUS_OK,
            err);
    for (int r = 0; r < comm_size(comm); r++)
        if (d->item_of[r] >= 0)
            buf_close(&d->suspended[d->item_of[r]]);
    if (!status)
        status = comm_broadcast(comm, bytes, sizeof *bytes, shown, err);
    if (!status)
        status = distribution_broadcast(comm, shown, &whole, to, err);
    buf_close(&whole);
    return status;
}

static enum status read_whole(struct work_distribution *d, struct method_run *run, const struct snapshot_reader *from,
                              const struct contents *contents, struct distribution_points *points, struct error *err)
{
    struct snapshot *snapshot = NULL;
    enum status status = d->table->ready(run, -1, from, err);
    if (!status)
        status = snapshot_create(&snapshot, err);
    if (!status)
        status = declare_whole(d, run, points, contents, snapshot, err);
    if (!status)
        status = snapshot_read(snapshot, from, SNAPSHOT_ALL, err);
    snapshot_destroy(snapshot);
    if (!status)
        status = d->table->loaded(run, err);
    return status || (sound(d, d->table->done(run)) && sound_points(d, points))
               ? status
               : error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's entry for each %s is inconsistent",
                           d->table->noun);
}

enum status distribution_load(struct work_distribution *d, struct method_run *run, const struct snapshot_reader *from,
                              struct error *err)
{
    struct contents contents = {0};
    struct distribution_points points = {
        0}; /* points of the item that the checkpoint shows; the index of this item is known only after reading */
    enum status status = snapshot_contents(from, &contents.list, &contents.count, err);
    d->now = -1;
    if (!status)
        status = read_whole(d, run, from, &contents, &points, err);
    if (!status) {
        d->now = d->shown;
        d->loaded = true;
        if (!d->table->show(run, d->now))
            status = error_set(err, STATUS_CORRUPT, NULL, "the checkpoint belongs to another %s", d->table->noun);
    }
    if (!status) {
        points_close(&d->points[d->now]);
        d->points[d->now] = points;
        points = (struct distribution_points){0};
    }
    points_close(&points);
    free(contents.list);
    return status;
}
