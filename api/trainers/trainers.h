/* What the handlers of trainers share (trainers.c, trainer_uploads.c): locks by job and checkpoints on their way in.
 */
#ifndef MOTIF_API_TRAINERS_TRAINERS_H
#define MOTIF_API_TRAINERS_TRAINERS_H

#include <pthread.h>

#include "api/api_int.h"
#include "core/base/hash.h"

#define TRAINER_STRIPES 16
#define TRAINER_PIECE_MAX (8u << 20) /* bytes of a piece of a checkpoint */

/* A checkpoint that arrives in pieces. */
struct trainer_upload {
    struct trainer_upload *next;
    char job[STORAGE_ID];
    int64_t epoch;
    struct storage_checkpoint_new what;
    struct storage_checkpoint_writer *writer;
    struct hash hash;
    unsigned char sha256[HASH_BYTES];
    int64_t bytes, received;
};

/* Words of one job's trainers one after another, so that one that was locked out says nothing late. */
struct trainer_stripe {
    pthread_mutex_t lock;
    struct trainer_upload *uploads;
};
struct trainers {
    struct trainer_stripe stripes[TRAINER_STRIPES];
};

enum status trainers_create(struct trainers **trainers, struct error *err);
void trainers_destroy(struct trainers *trainers); /* what has not arrived whole is gone */

/* api.c: the token is that of the live lease of the path's job; else false after a 401. */
bool trainer_admit(struct exchange *x);
/* Does the header hold a token of a trainer, which is good for nothing else? */
bool trainer_token(const char *authorization);

/* Locks the job's stripe and reads its lease; the epoch of the query must be the lease's. NULL after a 409 has
 * been answered and nothing is locked. */
struct trainer_stripe *trainer_enter(struct exchange *x, struct storage_lease *lease);
struct trainer_stripe *trainer_stripe_of(struct trainers *trainers, const char *job);
/* With the stripe locked: the job's unfinished checkpoint goes. */
void trainer_upload_drop(struct trainer_stripe *stripe, const char *job);

#endif
