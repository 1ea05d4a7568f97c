/* The ranks that train a job together. motif-train has one process and no ranks (ranks_single.c); the ranks of
 * motif-train-mpi are the processes of mpirun or srun (mpi/ranks_mpi.c). */
#ifndef MOTIF_TRAINER_RANKS_H
#define MOTIF_TRAINER_RANKS_H

#include "core/base/parallel/comm.h"

extern const char ranks_program[]; /* the program's name */

/* Connects the ranks. *comm is NULL if this process is the only one. */
enum status ranks_open(int *argc, char ***argv, struct comm **comm, struct error *err);
void ranks_close(struct comm *comm); /* all ranks call it after their last collective call; `comm` may be NULL */
/* Ends all ranks including this one, because others may wait for it. Returns only if this process is the only one. */
void ranks_abort(struct comm *comm, int code);

#endif
