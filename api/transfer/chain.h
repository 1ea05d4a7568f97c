/* The chain of a job's checkpoints: each link is a SHA-256 over the link before it and what the checkpoint is, the
 * first over what the job is. Who has the last link can tell whether any of it was changed.
 *
 *   link 0   SHA-256 of the canonical JSON of {"config", "dataset", "from", "kind"}
 *   link i   SHA-256 of "LINK SEQ STEP SAMPLES SHA256": the link before in hex, the checkpoint's numbers, its hash in
 * hex
 *
 * Pure functions; any thread. */
#ifndef MOTIF_API_TRANSFER_CHAIN_H
#define MOTIF_API_TRANSFER_CHAIN_H

#include "api/json/json.h"
#include "core/base/hash.h"

/* Members that are not there count as null. False without memory. */
bool chain_origin(const cJSON *attestation, char link[HASH_TEXT]);
/* `link` becomes the next one. */
void chain_next(char link[HASH_TEXT], long long seq, long long step, long long samples, const char *sha256);

#endif
