/* What the handlers of trainers share: locks by job, and checkpoints that arrive in pieces. */
#ifndef MOTIF_API_TRAINERS_TRAINERS_INT_H
#define MOTIF_API_TRAINERS_TRAINERS_INT_H

#include <pthread.h>

#include "api/http/exchange.h"
#include "api/trainers/trainers.h"
#include "core/base/hash.h"
#include "storage/storage.h"

#define TRAINER_STRIPES 16

struct trainer_upload {
    struct trainer_upload *next;
    char job[STORAGE_ID];
    int64_t epoch;
    struct storage_checkpoint_new what;
    struct storage_checkpoint_writer *writer;
    struct hash hash;                 /* over the bytes that have arrived */
    unsigned char sha256[HASH_BYTES]; /* announced, of all bytes */
    int64_t bytes, received;
};

/* Each job belongs to one stripe. Its lock puts the messages of the job's trainers in an order, so that a trainer that
 * lost its lease cannot store anything afterwards. */
struct trainer_stripe {
    pthread_mutex_t lock;
    struct trainer_upload *uploads;
};
struct trainers {
    struct trainer_stripe stripes[TRAINER_STRIPES];
};

struct trainer_stripe *trainer_stripe_of(struct trainers *trainers, const char *job);
/* Locks the stripe of the path's job and reads the job's lease. The epoch of the query must be the lease's: otherwise
 * it unlocks, responds 409 and returns NULL. The caller unlocks. */
struct trainer_stripe *trainer_enter(struct exchange *x, struct storage_lease *lease);

/* All with the stripe locked. */
struct trainer_upload *trainer_upload_find(const struct trainer_stripe *stripe, const char *job); /* NULL: none */
/* Takes an upload whose writer is closed off the list and frees it. */
void trainer_upload_forget(struct trainer_stripe *stripe, struct trainer_upload *upload);
/* Abandons the job's unfinished checkpoint, if there is one. */
void trainer_upload_drop(struct trainer_stripe *stripe, const char *job);

#endif
