/* Bytes that uploads and new data sets may still write. An upload reserves what its client announced before the first
 * byte arrives. A check of the quotas adds the reservations of all uploads to the files on disk, under one lock.
 * Therefore uploads at the same time cannot exceed a limit together. Any thread may call these functions. */
#ifndef MOTIF_API_DATASETS_RESERVATIONS_H
#define MOTIF_API_DATASETS_RESERVATIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* The rule by which uploads share a limit, as a pure function. */

/* Lowers *most to the bytes that are free under a limit. used: bytes on the disk; waiting: bytes that other uploads
 * have reserved and not written yet. False if fewer than `least` bytes are free. Any thread. */
bool reservation_room(int64_t limit, int64_t used, int64_t waiting, int64_t least, int64_t *most);

struct reservation { /* a reservation that is all zero holds nothing */
    struct reservation *next;
    const char *owner; /* borrowed; "": no owner */
    const char *team;  /* borrowed; "" or NULL: the team without a name */
    int64_t bytes;     /* bytes of the whole upload, including those that have arrived */
    int part; /* descriptor of the partial file, whose size is the number of arrived bytes; -1: the file has no name */
    bool held;
};

struct reservations {
    pthread_mutex_t lock;
    struct reservation *first;
};

struct reservation_limits {
    const char *root; /* the folder of data sets */
    /* upper limits of bytes; all: of all data sets; owner, team: of the data sets of one owner or team; 0: no limit */
    int64_t all, owner, team;
};

/* Reserves as many bytes as are free, at least `least` and at most `most`, in place of the bytes that `r` has reserved
 * so far. The caller sets r->owner and r->part. The function sets r->bytes to the reserved bytes plus the bytes of the
 * part, which have arrived. STATUS_LIMIT: fewer than `least` bytes are free; `r` holds nothing then. STATUS_IO: the
 * folder cannot be read. */
enum status reserve(struct reservations *all, const struct reservation_limits *limits, struct reservation *r,
                    int64_t least, int64_t most, struct error *err);
/* Releases the bytes; a reservation may hold nothing. */
void reservation_release(struct reservations *all, struct reservation *r);

#endif
