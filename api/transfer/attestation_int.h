/* The attestation of a job. One function writes it, both for its own route and for the job's bundle. */
#ifndef MOTIF_API_TRANSFER_ATTESTATION_INT_H
#define MOTIF_API_TRANSFER_ATTESTATION_INT_H

#include "api/http/exchange.h"
#include "storage/storage.h"

#define ATTESTATION_FORMAT "motifd-attestation-1"

/* Writes the attestation to x->out under `key`. After a failure nothing has been written. */
enum status attestation_write(struct exchange *x, const char *key, const struct storage_job *job, struct error *err);

#endif
