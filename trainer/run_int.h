/* Private to the training loop: the state of one running job. Only the run's thread uses it. */
#ifndef MOTIF_TRAINER_RUN_INT_H
#define MOTIF_TRAINER_RUN_INT_H

#include <stdatomic.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "trainer/job_memory.h"
#include "trainer/pace.h"
#include "trainer/run.h"

#define RUN_METRICS 64 /* number of points that are collected before the coordinator receives them */
#define RUN_NAME 64    /* bytes of a series name */

struct job_run {
    const struct run_setup *setup;
    const struct coordinator *coordinator;
    const struct storage_job *job;
    const struct method *method;
    void *config;
    int threads;
    struct thread_pool *pool;
    _Atomic double cancelled_at; /* monotonic time at which the pool first noticed a cancel; 0: no cancel */
    struct method_env env;
    struct method_run *run;
    double flops_per_sample;
    struct job_memory memory; /* what this thread has allocated since the run began */

    struct arena list_arena; /* memory of `list`; the method can read the list during a step */
    struct storage_checkpoint *list;
    size_t list_count;
    bool list_valid;
    void *reader; /* reader of the checkpoint that the method has opened */

    struct storage_metric metrics[RUN_METRICS];
    char metric_names[RUN_METRICS][RUN_NAME];
    size_t metric_count;
    struct error fault; /* the first failure inside a callback that returns no status */

    struct method_progress progress; /* progress after the last successful step */
    double begun;                    /* time at which the run began, in monotonic seconds */
    double seconds_before;           /* seconds that earlier runs of this job took, from its stored progress */
    double reported;                 /* time at which progress was last sent, in monotonic seconds */
    int64_t reported_samples;
    struct pace pace;
    int64_t last_checkpoint; /* sequence number of the last checkpoint; 0: none, or not known yet */
    int64_t saved_step;      /* step of the last saved checkpoint; -1: none */
    int missing_pages;       /* setup->missing_pages() when the run began */
    bool blocked;            /* the last write failed because the disk was full */
};

/* Logs a line through the coordinator. */
void run_line(const struct job_run *run, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* report.c: the caller calls this after each try of a write. If the write failed because the disk is full, waits a
 * second and returns true, so that the caller tries again. Returns false after any other result, and also if the job
 * was cancelled or the process is ending. In these two cases the run yields, because nothing is wrong with it. */
bool run_retries(struct job_run *run, enum status status);

/* report.c: pass a point of a series or a file on to the coordinator; report_flush() sends the collected points. */
void report_metric(void *context, const char *name, int64_t step, double value);
void report_artifact(void *context, const char *name, const char *media_type, const void *bytes, size_t count);
enum status report_flush(struct job_run *run, struct error *err);
/* Sends the progress document if the last one is old enough, or at once if `now`. */
enum status report_progress(struct job_run *run, bool now, struct error *err);
double report_seconds_before(const char *progress); /* seconds in a stored progress document; 0: none */
double report_seconds(const struct job_run *run);
/* report_result() and report_error() return JSON texts that the caller frees; NULL if memory is missing or the method
 * fails. */
char *report_result(struct job_run *run, struct error *err);
char *report_error(const struct job_run *run, const struct error *failure); /* run: NULL if it does not exist yet */

/* checkpoint.c: saves a checkpoint after the current step. */
enum status checkpoint_save(struct job_run *run, bool stage_end, struct error *err);
/* Loads the latest checkpoint of the job. If it has none, makes a warm start from the checkpoint of its source job;
 * without a source job, training begins at step 0. An evaluation always loads the checkpoint of its source job. */
enum status checkpoint_restore(struct job_run *run, struct error *err);
/* Returns the functions by which a method reads checkpoints; valid during a step. */
struct method_checkpoints checkpoint_table(struct job_run *run);
void checkpoint_table_close(struct job_run *run);
/* Writes the SHA-256 of the stored weights of the latest checkpoint as hex. */
enum status checkpoint_weights(struct job_run *run, char text[65], struct error *err);

#endif
