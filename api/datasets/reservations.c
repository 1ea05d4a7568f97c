/* Reservations of bytes under the quotas of data sets: a list under one lock. */
#include "api/datasets/reservations.h"

#include <string.h>
#include <sys/stat.h>

#include "storage/files/dataset.h"

bool reservation_room(int64_t limit, int64_t used, int64_t waiting, int64_t least, int64_t *most)
{
    int64_t left = limit - used - waiting;
    *most = *most < left ? *most : left;
    return least <= left;
}

static int64_t arrived(const struct reservation *r)
{
    struct stat what;
    return r->part >= 0 && fstat(r->part, &what) == 0 ? (int64_t)what.st_size : 0;
}

/* Returns how many bytes are reserved and not yet written. owner: counts only the uploads of this owner; NULL: counts
 * all uploads. */
static int64_t reserved(const struct reservations *all, const char *owner)
{
    int64_t bytes = 0;
    for (const struct reservation *r = all->first; r != NULL; r = r->next) {
        int64_t left = r->bytes - arrived(r);
        if (left > 0 && (owner == NULL || strcmp(owner, r->owner) == 0))
            bytes += left;
    }
    return bytes;
}

static void unlink_reservation(struct reservations *all, struct reservation *r)
{
    for (struct reservation **at = &all->first; r->held && *at != NULL; at = &(*at)->next)
        if (*at == r) {
            *at = r->next;
            break;
        }
    r->held = false;
}

/* Lowers *most to the bytes that are free under one limit. */
static enum status apply_limit(const struct reservations *all, const char *root, const char *owner, int64_t limit,
                               int64_t least, int64_t *most, struct error *err)
{
    /* Adds up the reservations first, and measures the files afterwards. Bytes that arrive in between then count twice.
     * In the other order, they would not count at all. */
    int64_t waiting = reserved(all, owner), used;
    enum status status = dataset_bytes(root, owner, &used, err);
    if (status)
        return status;
    if (!reservation_room(limit, used, waiting, least, most))
        return error_set(err, STATUS_LIMIT, NULL,
                         "%s use %lld of %lld bytes, and uploads in progress reserve %lld; this one needs %lld",
                         owner != NULL ? "The data sets and unfinished uploads of this token"
                                       : "Data sets and unfinished uploads",
                         (long long)used, (long long)limit, (long long)waiting, (long long)least);
    return STATUS_OK;
}

/* The same for the limit of a team. The parts of uploads name only their owner, so reservations count with the bytes
 * that have arrived. */
static enum status apply_team_limit(const struct reservations *all, const char *root, const char *team, int64_t limit,
                                    int64_t least, int64_t *most, struct error *err)
{
    int64_t waiting = 0, used;
    for (const struct reservation *r = all->first; r != NULL; r = r->next)
        waiting += r->team != NULL && strcmp(team, r->team) == 0 ? r->bytes : 0;
    enum status status = dataset_team_bytes(root, team, &used, err);
    if (status)
        return status;
    if (!reservation_room(limit, used, waiting, least, most))
        return error_set(err, STATUS_LIMIT, NULL,
                         "The data sets of this team use %lld of %lld bytes, and its uploads in progress reserve %lld; "
                         "this one needs %lld",
                         (long long)used, (long long)limit, (long long)waiting, (long long)least);
    return STATUS_OK;
}

enum status reserve(struct reservations *all, const struct reservation_limits *limits, struct reservation *r,
                    int64_t least, int64_t most, struct error *err)
{
    pthread_mutex_lock(&all->lock);
    unlink_reservation(all, r);
    enum status status = apply_limit(all, limits->root, NULL, limits->all, least, &most, err);
    if (!status && limits->owner > 0 && r->owner[0] != '\0')
        status = apply_limit(all, limits->root, r->owner, limits->owner, least, &most, err);
    if (!status && limits->team > 0 && r->team != NULL && r->team[0] != '\0')
        status = apply_team_limit(all, limits->root, r->team, limits->team, least, &most, err);
    if (!status) {
        r->bytes = most + arrived(r);
        r->next = all->first;
        r->held = true;
        all->first = r;
    }
    pthread_mutex_unlock(&all->lock);
    return status;
}

void reservation_release(struct reservations *all, struct reservation *r)
{
    pthread_mutex_lock(&all->lock);
    unlink_reservation(all, r);
    pthread_mutex_unlock(&all->lock);
}
