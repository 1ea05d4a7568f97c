/* Handlers of the routes that only a job's trainer (motif-train) may call, /v1/jobs/{id}/run...;
 * trainer/remote/remote.h sends these requests. Each handler sends a response. */
#ifndef MOTIF_API_TRAINERS_TRAINERS_H
#define MOTIF_API_TRAINERS_TRAINERS_H

#include <stdbool.h>

#include "core/base/error.h"

struct exchange;
struct trainers;

#define TRAINER_PIECE_MAX (8u << 20) /* upper limit of the bytes of a piece of a checkpoint */

void trainer_register(struct exchange *x);
void trainer_report(struct exchange *x);
void trainer_artifact(struct exchange *x);
void trainer_checkpoints(struct exchange *x);
void trainer_checkpoint(struct exchange *x);
void trainer_announce(struct exchange *x);
void trainer_piece(struct exchange *x);
void trainer_end(struct exchange *x);

enum status trainers_create(struct trainers **trainers, struct error *err);
/* Abandons checkpoints that have not arrived completely. NULL is fine. No request may be in progress. */
void trainers_destroy(struct trainers *trainers);
/* Abandons the checkpoint that a trainer has sent only in part; called when the trainer has ended. Any thread. */
void trainers_drop_upload(struct trainers *trainers, const char *job);

/* True if the request's token is that of the open lease of the path's job; otherwise responds 401 and returns false. */
bool trainer_admit(struct exchange *x);
/* True if an Authorization header (NULL: none) contains a trainer's token, which gives access to no other routes. */
bool trainer_token(const char *authorization);

#endif
