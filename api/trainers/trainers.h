/* Handlers of the routes that only a job's trainer (motif-train) may call, /v1/jobs/{id}/run...;
 * trainer/remote/remote.h is the other side. Each handler responds. */
#ifndef MOTIF_API_TRAINERS_TRAINERS_H
#define MOTIF_API_TRAINERS_TRAINERS_H

#include <stdbool.h>

#include "core/base/error.h"

struct exchange;
struct trainers;

#define TRAINER_PIECE_MAX (8u << 20) /* bytes of a piece of a checkpoint */

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
/* The trainer of a job is gone: abandons the checkpoint of which it sent a part. Any thread. */
void trainers_drop_upload(struct trainers *trainers, const char *job);

/* True when the request's token is that of the live lease of the path's job; else it responds 401. */
bool trainer_admit(struct exchange *x);
/* True when an Authorization header (NULL: none) carries a trainer's token, which opens no other routes. */
bool trainer_token(const char *authorization);

#endif
