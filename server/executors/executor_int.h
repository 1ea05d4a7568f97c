/* Private to executor*.c. */
#ifndef MOTIF_SERVER_EXECUTORS_EXECUTOR_INT_H
#define MOTIF_SERVER_EXECUTORS_EXECUTOR_INT_H

#include <sys/types.h>

#include "server/executors/executor.h"
#include "trainer/run.h"

#define EXECUTOR_WORDS 96 /* of a command, and its end */

/* executor_thread.c: the run, here. */
void executor_run_thread(struct executor *executor, const struct storage_job *job, struct job_control *control);

/* executor_process.c: the run in a process of its own, or (`ranks`) in several of mpirun. */
void executor_run_process(struct executor *executor, const struct storage_job *job, bool ranks,
                          struct job_control *control);
/* executor_cleanup.c: takes away what an mpirun that SIGKILL ended has left. Its ranks may be about to end. */
void executor_clear_mpirun(pid_t pid);
/* executor_slurm.c: the run in a job of Slurm. */
void executor_run_slurm(struct executor *executor, const struct storage_job *job, struct job_control *control);
/* A trainer is gone: what it was about to save is dropped. */
void executor_trainer_gone(struct executor *executor, const char *job);

/* True when somebody wants the job to stop. A store that does not answer now is asked again. */
bool executor_must_yield(struct executor *executor, const char *job, struct job_control *control);
/* Records that the job left, counts it and says it in the log. */
void executor_leave(struct executor *executor, const char *job, enum job_event event, const char *result,
                    const char *error, double seconds);

/* True when the trainer had said how the run ended, and that is recorded. */
bool executor_ended(struct executor *executor, const char *job, double since);
/* The job fails with a document of these. signal: "" for none; tries: 0 for none. */
void executor_fail(struct executor *executor, const char *job, const char *code, const char *detail, const char *signal,
                   int tries, double since);
void executor_say(const struct executor *executor, enum log_level level, const char *job, const char *text);

#endif
