/* Locks for the messages of trainers, and the checkpoints that trainers are sending. Each lock serves a part of the
 * jobs. trainers.c and trainer_uploads.c use both. */
#include <stdlib.h>
#include <string.h>

#include "api/http/exchange.h"
#include "api/trainers/trainers.h"
#include "api/trainers/trainers_int.h"

struct trainer_upload *trainer_upload_find(const struct trainer_stripe *stripe, const char *job)
{
    struct trainer_upload *upload = stripe->uploads;
    while (upload != NULL && strcmp(upload->job, job) != 0)
        upload = upload->next;
    return upload;
}

void trainer_upload_forget(struct trainer_stripe *stripe, struct trainer_upload *upload)
{
    for (struct trainer_upload **at = &stripe->uploads; *at != NULL; at = &(*at)->next) {
        if (*at == upload) {
            *at = upload->next;
            free(upload);
            return;
        }
    }
}

void trainer_upload_drop(struct trainer_stripe *stripe, const char *job)
{
    struct trainer_upload *upload = trainer_upload_find(stripe, job);
    if (upload != NULL) {
        storage_checkpoint_abandon(upload->writer);
        trainer_upload_forget(stripe, upload);
    }
}

enum status trainers_create(struct trainers **out, struct error *err)
{
    struct trainers *trainers = *out = calloc(1, sizeof *trainers);
    if (trainers == NULL)
        return error_memory(err, "trainers");
    for (int i = 0; i < TRAINER_STRIPES; i++)
        (void)pthread_mutex_init(&trainers->stripes[i].lock, NULL);
    return STATUS_OK;
}

void trainers_destroy(struct trainers *trainers)
{
    if (trainers == NULL)
        return;
    for (int i = 0; i < TRAINER_STRIPES; i++) {
        while (trainers->stripes[i].uploads != NULL)
            trainer_upload_drop(&trainers->stripes[i], trainers->stripes[i].uploads->job);
        (void)pthread_mutex_destroy(&trainers->stripes[i].lock);
    }
    free(trainers);
}

struct trainer_stripe *trainer_stripe_of(struct trainers *trainers, const char *job)
{
    unsigned sum = 0; /* a hash of the job's id; an id ends with random characters, so the jobs spread over the locks */
    for (const char *c = job; *c != '\0'; c++)
        sum = sum * 31u + (unsigned char)*c;
    return &trainers->stripes[sum % TRAINER_STRIPES];
}

struct trainer_stripe *trainer_enter(struct exchange *x, struct storage_lease *lease)
{
    const char *job = exchange_param(x, "id");
    struct trainer_stripe *stripe = trainer_stripe_of(x->api->trainers, job);
    struct error err;
    error_clear(&err);
    (void)pthread_mutex_lock(&stripe->lock);
    enum status status = storage_lease_get(x->api->options.storage, job, &x->arena, lease, &err);
    if (!status && (lease->state == LEASE_HELD || lease->state == LEASE_ENDED) &&
        lease->epoch == exchange_query_integer(x, "epoch", 0))
        return stripe;
    (void)pthread_mutex_unlock(&stripe->lock);
    if (status && status != STATUS_NOT_FOUND)
        respond_error(x, &err);
    else
        respond_problem(x, PROBLEM_CONFLICT, "Another trainer has taken over the job, or the run has ended.");
    return NULL;
}

void trainers_drop_upload(struct trainers *trainers, const char *job)
{
    struct trainer_stripe *stripe = trainer_stripe_of(trainers, job);
    (void)pthread_mutex_lock(&stripe->lock);
    trainer_upload_drop(stripe, job);
    (void)pthread_mutex_unlock(&stripe->lock);
}
