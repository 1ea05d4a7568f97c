/* The ranks that train a job together, as the program sees them: none in motif-train (alone.c), the processes of mpirun
 * or srun in motif-train-mpi (mpi/ranks_mpi.c). */
#ifndef MOTIF_TRAINER_RANKS_H
#define MOTIF_TRAINER_RANKS_H

#include "core/base/comm.h"

extern const char ranks_program[]; /* the program's name */

/* *comm is NULL where there is nobody else. */
enum status ranks_open(int *argc, char ***argv, struct comm **comm, struct error *err);
void ranks_close(struct comm *comm); /* after the last call of all; NULL is fine */
/* Ends all ranks, this one with them, where they may wait for it. Does not return where there are others. */
void ranks_abort(struct comm *comm, int code);

#endif
