/* Ranks that are threads of one process: a communicator (core/base/parallel/comm.h) without MPI. */
#ifndef MOTIF_TESTS_SUPPORT_COMM_THREADS_H
#define MOTIF_TESTS_SUPPORT_COMM_THREADS_H

#include "core/base/parallel/comm.h"

/* Fills comms[size], one communicator for each thread. STATUS_INVALID unless size is in [1, COMM_MOST]. */
enum status comm_threads_create(int size, struct comm **comms, struct error *err);
/* Frees all communicators. Call it after the threads have ended. NULL is allowed. */
void comm_threads_destroy(struct comm **comms);
/* Declares that this rank cannot continue. Calls of other ranks that wait for this rank then return STATUS_CANCELLED.
 */
void comm_threads_leave(struct comm *comm);

#endif
