/* The attestation of a job and its hash chain. One function writes it, both for its own route and for the job's bundle.
 */
#ifndef MOTIF_API_TRANSFER_ATTESTATION_H
#define MOTIF_API_TRANSFER_ATTESTATION_H

#include "api/http/exchange.h"
#include "core/base/hash.h"
#include "protocol/json.h"
#include "storage/storage.h"

/* The hash chain over a job's checkpoints. The first link is a hash over the job itself; each other link is a hash over
 * the previous link and a checkpoint. So the last link shows whether any part was changed.
 *
 * - Link 0 is the SHA-256 of the canonical JSON of {"config", "dataset", "from", "kind"}.
 * - Link i is the SHA-256 of "LINK SEQ STEP SAMPLES SHA256": the previous link in hex, the checkpoint's numbers, and
 *   its hash in hex.
 *
 * Pure functions; any thread. */

/* Computes link 0 from the members of an attestation; a missing member counts as null. False when memory is short. */
bool chain_origin(const cJSON *attestation, char link[HASH_TEXT]);
/* Replaces `link` by the link of the next checkpoint. sha256: in hex. */
void chain_next(char link[HASH_TEXT], long long seq, long long step, long long samples, const char *sha256);

#define ATTESTATION_FORMAT "motifd-attestation-1"

/* Writes the attestation to x->out under `key`. After a failure nothing has been written. */
enum status attestation_write(struct exchange *x, const char *key, const struct storage_job *job, struct error *err);

#endif
