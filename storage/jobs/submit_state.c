/* Decides what a submission with an idempotency key does (submit_state.h). */
#include "storage/jobs/submit_state.h"

#include <string.h>

enum storage_submit_outcome submit_key_outcome(const struct submit_key *kept, const struct submit_key *asked)
{
    if (kept == NULL || strcmp(kept->owner, asked->owner) != 0 || strcmp(kept->name, asked->name) != 0 ||
        kept->created_at <= asked->created_at - SUBMIT_KEY_LIFE_MS)
        return STORAGE_CREATED;
    return memcmp(kept->fingerprint, asked->fingerprint, SUBMIT_FINGERPRINT) == 0 ? STORAGE_REPLAYED
                                                                                  : STORAGE_KEY_REUSED;
}
