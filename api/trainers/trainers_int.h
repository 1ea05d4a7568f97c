/* Declarations that the handlers of trainers share: locks of jobs, and checkpoints that arrive in pieces. */
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
    struct hash hash;                 /* hash over the bytes that have arrived */
    unsigned char sha256[HASH_BYTES]; /* announced hash over all bytes */
    int64_t bytes, received;
};

/* A lock for some of the jobs, and their checkpoints that are arriving. Each job belongs to one stripe. Messages about
 * one job are handled one after the other, so a trainer that has lost its lease cannot store anything afterwards. */
struct trainer_stripe {
    pthread_mutex_t lock;
    struct trainer_upload *uploads;
};
struct trainers {
    struct trainer_stripe stripes[TRAINER_STRIPES];
};

struct trainer_stripe *trainer_stripe_of(struct trainers *trainers, const char *job);
/* Locks the stripe of the path's job and reads the job's lease. Returns the stripe, which the caller unlocks. If the
 * query does not contain the epoch of the lease, responds 409, unlocks the stripe and returns NULL. */
struct trainer_stripe *trainer_enter(struct exchange *x, struct storage_lease *lease);

/* Reads the request's body, a JSON object that has no other members than `names` [count]. Trainers and the daemon are
 * programs of one build, so an unknown member is a mistake and not a newer form of the message. Returns NULL after it
 * has responded with the fault. The caller deletes the object. */
cJSON *trainer_body(struct exchange *x, const char *const *names, size_t count);

/* The caller must lock the stripe before it calls the following functions. */
struct trainer_upload *trainer_upload_find(const struct trainer_stripe *stripe, const char *job); /* NULL: no upload */
/* Removes an upload from the list and frees it; its writer must be closed. */
void trainer_upload_forget(struct trainer_stripe *stripe, struct trainer_upload *upload);
/* Abandons the job's unfinished checkpoint, if there is one. */
void trainer_upload_drop(struct trainer_stripe *stripe, const char *job);

#endif
