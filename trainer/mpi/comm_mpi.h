/* Ranks that are MPI processes. A library of its own: what links it starts under mpirun or srun; the daemon does not.
 */
#ifndef MOTIF_TRAINER_MPI_COMM_MPI_H
#define MOTIF_TRAINER_MPI_COMM_MPI_H

#include "core/base/comm.h"

/* All processes of the job. MPI is made ready for calls from this thread alone. Errors come back as
 * STATUS_UNAVAILABLE; then the job is to be ended with comm_mpi_abort(), since the others wait. */
enum status comm_mpi_open(int *argc, char ***argv, struct comm **comm, struct error *err);
/* After the last call of all ranks; NULL is fine. */
void comm_mpi_close(struct comm *comm);
/* Ends all ranks, this one with them. */
void comm_mpi_abort(int code);

#endif
