/* The ranks of motif-train: one process alone. motif-train-mpi links mpi/ranks_mpi.c instead. */
#include "trainer/ranks.h"

const char ranks_program[] = "motif-train";

enum status ranks_open(int *argc, char ***argv, struct comm **comm, struct error *err)
{
    *comm = NULL;
    return STATUS_OK;
}

void ranks_close(struct comm *comm) {}

void ranks_abort(struct comm *comm, int code) {}
