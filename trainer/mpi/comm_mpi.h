/* Ranks that are MPI processes. This is a library of its own: a program that links it must be started by mpirun or
 * srun. The daemon does not link it. */
#ifndef MOTIF_TRAINER_MPI_COMM_MPI_H
#define MOTIF_TRAINER_MPI_COMM_MPI_H

#include "core/base/parallel/comm.h"

/* Connects all processes of the job. Afterwards only the calling thread may call MPI. Errors: STATUS_UNAVAILABLE
 * if MPI fails; STATUS_LIMIT if there are too many ranks or MPI has no thread support; STATUS_NO_MEMORY. After an
 * error, the caller must call comm_mpi_abort(), because the other ranks wait. */
enum status comm_mpi_open(int *argc, char ***argv, struct comm **comm, struct error *err);
/* Disconnects the process. All ranks call it after their last collective call; `comm` may be NULL. */
void comm_mpi_close(struct comm *comm);
/* Ends all ranks, including this one. */
void comm_mpi_abort(int code);

#endif
