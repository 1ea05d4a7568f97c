/* Private to the files of this folder. */
#ifndef MOTIF_SERVER_EXECUTORS_EXECUTOR_INT_H
#define MOTIF_SERVER_EXECUTORS_EXECUTOR_INT_H

#include <sys/types.h>

#include "server/executors/executor.h"
#include "trainer/run.h"

/* executor_thread.c: runs the job on this thread. */
void executor_run_thread(struct executor *executor, const struct storage_job *job, struct job_control *control);

/* executor_process.c: runs the job in a child process, or with `ranks` in the processes of mpirun. */
void executor_run_process(struct executor *executor, const struct storage_job *job, bool ranks,
                          struct job_control *control);
/* executor_cleanup.c: removes the files that mpirun left behind because SIGKILL ended it. Its ranks may still be
 * ending. */
void executor_clear_mpirun(pid_t pid);
/* executor_slurm.c: runs the job in a job of Slurm. */
void executor_run_slurm(struct executor *executor, const struct storage_job *job, struct job_control *control);
/* Drops uploads of a trainer that no longer runs. */
void executor_trainer_gone(struct executor *executor, const char *job);

/* True when the job must stop, because the daemon drains, or because a pause or a cancellation was requested. If
 * storage cannot be read, returns false, and the next call reads it again. */
bool executor_must_yield(struct executor *executor, const char *job, struct job_control *control);
/* True when the job was cancelled, so that a run gives up the step that it computes. Any thread of the run may call
 * this. */
bool executor_must_stop(struct executor *executor, const char *job, struct job_control *control);
/* Returns what a client requested of the job; REQUESTED_NONE if storage cannot be read. */
enum requested_state executor_requested(struct executor *executor, const char *job, struct job_control *control);
/* Waits a second, because a write about the job failed with `status` and may succeed later. The job is shown as blocked
 * until control->blocked is STATUS_OK again. Ends at once when the daemon drains. */
void executor_wait(struct job_control *control, enum status status);
/* Records that the job has left the running state, counts and logs this. `result` or `error` is a JSON document; the
 * other one is NULL. While the disk is full, waits until it has space or the daemon drains; in the latter case the next
 * daemon continues the job. */
void executor_leave(struct executor *executor, const char *job, struct job_control *control, enum job_event event,
                    const char *result, const char *error, double seconds);

/* True when the trainer reported how the run ended; records that end. */
bool executor_ended(struct executor *executor, const char *job, struct job_control *control, double since);
/* Fails the job with an error document that contains `code`, `detail`, `signal` (unless it is ""), `tries` (unless it
 * is 0) and the sequence number of the latest checkpoint. */
void executor_fail(struct executor *executor, const char *job, struct job_control *control, const char *code,
                   const char *detail, const char *signal, int tries, double since);
/* Writes a line about the job to the log. */
void executor_say(const struct executor *executor, enum log_level level, const char *job, const char *text);

#endif
