/* Which checkpoint of a job a client picked: "latest", "best", a sequence number, or "density:NUMBER".
 *
 * Pure functions; any thread. */
#ifndef MOTIF_API_JOBS_CHECKPOINT_PICK_H
#define MOTIF_API_JOBS_CHECKPOINT_PICK_H

#include <stdbool.h>

#include "api/json/json.h"
#include "storage/storage.h"

/* What a valid value is; error messages about a wrong value contain this text. */
#define CHECKPOINT_PICK_RULE "must be latest, best, a sequence number, or \"density:NUMBER\""

/* Each returns false when the value is no pick: text of a path or a query; a JSON value (text or a whole number). */
bool checkpoint_pick_text(const char *text, struct storage_checkpoint_pick *pick);
bool checkpoint_pick_json(const cJSON *value, struct storage_checkpoint_pick *pick);

#endif
