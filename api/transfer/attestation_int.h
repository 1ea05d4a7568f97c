/* The attestation of a job, as a document of its own and as a part of its bundle. */

#include "api/http/exchange.h"
#include "storage/storage.h"
#ifndef MOTIF_API_TRANSFER_ATTESTATION_INT_H
#define MOTIF_API_TRANSFER_ATTESTATION_INT_H

#define ATTESTATION_FORMAT "motifd-attestation-1"

/* Written to x->out under `key`. Nothing has been written after a failure. */
enum status attestation_write(struct exchange *x, const char *key, const struct storage_job *job, struct error *err);

#endif
