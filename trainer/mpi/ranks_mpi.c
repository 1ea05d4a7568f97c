/* The ranks of motif-train-mpi: the processes that mpirun or srun started. */
#include "trainer/mpi/comm_mpi.h"
#include "trainer/ranks.h"

const char ranks_program[] = "motif-train-mpi";

enum status ranks_open(int *argc, char ***argv, struct comm **comm, struct error *err)
{
    return comm_mpi_open(argc, argv, comm, err);
}

void ranks_close(struct comm *comm)
{
    comm_mpi_close(comm);
}

void ranks_abort(struct comm *comm, int code)
{
    if (comm_size(comm) > 1)
        comm_mpi_abort(code);
}
