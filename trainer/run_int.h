/* Private to the loop: one job while it runs, on one thread. */
#ifndef MOTIF_TRAINER_RUN_INT_H
#define MOTIF_TRAINER_RUN_INT_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "trainer/run.h"

#define RUN_METRICS 64 /* points kept until they are handed to the coordinator */
#define RUN_NAME 64    /* bytes of a series name */

struct job_run {
    const struct run_setup *setup;
    const struct coordinator *coordinator;
    const struct storage_job *job;
    const struct method *method;
    void *config;
    int threads;
    struct thread_pool *pool;
    struct method_env env;
    struct method_run *run;
    double flops_per_sample;

    struct arena list_arena; /* of the list that the method sees during a step */
    struct storage_checkpoint *list;
    size_t list_count;
    bool list_valid;
    void *reader; /* that the method has open */

    struct storage_metric metrics[RUN_METRICS];
    char metric_names[RUN_METRICS][RUN_NAME];
    size_t metric_count;
    struct error fault; /* the first failure inside a callback */

    struct method_progress progress; /* after the last step that succeeded */
    double begun;                    /* monotonic seconds */
    double seconds_before;           /* of earlier runs of this job, from its progress */
    double reported;                 /* when progress was last written */
    int64_t reported_samples;
    double rate;             /* samples a second, smoothed; 0: not known */
    int64_t last_checkpoint; /* seq, 0: none, or not known yet */
    int64_t saved_step;      /* step of that checkpoint, -1: none */
};

void run_line(const struct job_run *run, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* report.c: what goes from a run to its coordinator. */
void report_metric(void *context, const char *name, int64_t step, double value);
void report_artifact(void *context, const char *name, const char *media_type, const void *bytes, size_t count);
enum status report_flush(struct job_run *run, struct error *err);
/* Writes the progress document if the last one is old enough, or at once if `now`. */
enum status report_progress(struct job_run *run, bool now, struct error *err);
double report_seconds_before(const char *progress); /* of a stored progress document, or 0 */
double report_seconds(const struct job_run *run);
/* malloc'ed JSON texts; NULL without memory or when the method fails. */
char *report_result(struct job_run *run, struct error *err);
char *report_error(const struct job_run *run, const struct error *failure); /* run: NULL where there is none yet */

/* checkpoint.c */
enum status checkpoint_save(struct job_run *run, bool stage_end, struct error *err);
/* Puts the new run where the job stands: its own latest checkpoint, another job's, or the start. */
enum status checkpoint_restore(struct job_run *run, struct error *err);
/* The table that the method sees; valid during a step. */
struct method_checkpoints checkpoint_table(struct job_run *run);
void checkpoint_table_close(struct job_run *run);
/* SHA-256 of the stored weights of the latest checkpoint, as hex. */
enum status checkpoint_weights(struct job_run *run, char text[65], struct error *err);

#endif
