/* The way in which a client picks a checkpoint of a job: "latest", "best", a sequence number, or "density:NUMBER".
 *
 * Pure functions; any thread. */
#ifndef MOTIF_API_JOBS_CHECKPOINT_PICK_H
#define MOTIF_API_JOBS_CHECKPOINT_PICK_H

#include <stdbool.h>

#include "protocol/json.h"
#include "storage/storage.h"

/* Describes the allowed values; error messages about a wrong value contain this text. */
#define CHECKPOINT_PICK_RULE "must be latest, best, a sequence number, or \"density:NUMBER\""

/* Parse the client's choice of a checkpoint: checkpoint_pick_text() from text of a path or a query,
 * checkpoint_pick_json() from a JSON value (text or a whole number). False: the value is not a valid choice. */
bool checkpoint_pick_text(const char *text, struct storage_checkpoint_pick *pick);
bool checkpoint_pick_json(const cJSON *value, struct storage_checkpoint_pick *pick);

#endif
