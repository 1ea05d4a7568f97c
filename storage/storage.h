/* The store: one SQLite file with everything that must survive the process.
 *
 * The store treats configuration, progress, result and error as opaque text. It contains no code for a particular
 * method. It does implement the life cycle of a job (job_state.h) and the rule that decides which checkpoints are
 * kept.
 *
 * Threads. One internal thread owns the only writing connection; all callers send it commands. This thread also copies
 * the write-ahead log back into the database file. Any thread may call any function here at any time. Exception: only
 * one thread at a time may use a given checkpoint writer or reader. There are three kinds of writes:
 *   - urgent (the default): the call returns once the change is on disk (after fsync). Urgent writes that wait at
 *     the same time share one commit.
 *   - lazy (metrics, progress, events): the call returns at once, and the change is on disk within a second. Lazy
 *     and urgent writes of one thread keep their order: when an urgent write returns, the thread's earlier lazy
 *     writes are on disk too. If the queue is full, the caller waits.
 *   - bulk (the bytes of a checkpoint): small transactions of their own, between the others, so that no other write
 *     waits long. The bytes become visible when storage_checkpoint_commit() returns.
 * Reads use a pool of read-only connections and never wait for the writer.
 *
 * Memory. Returned text and arrays are allocated in the caller's arena.
 *
 * Errors. INVALID: an argument is wrong. NOT_FOUND: the job, checkpoint, ... does not exist. CONFLICT: the current
 * state does not allow the change. UNAVAILABLE: the queue is full or the store is closing. LIMIT, NO_MEMORY, CORRUPT
 * and IO have their usual meaning. After a failed write or fsync, the content of the disk is unknown. The store then
 * refuses every further write with IO, and storage_writable() reports it; reads still work. A full disk is different:
 * the command fails with FULL, and a later one may succeed.
 *
 * Times are milliseconds since 1970-01-01 UTC; 0 means "not yet". */
#ifndef MOTIF_STORAGE_STORAGE_H
#define MOTIF_STORAGE_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/histogram.h"
#include "core/base/log.h"
#include "storage/jobs/job_state.h"
#include "storage/jobs/lease_state.h"
#include "storage/jobs/token.h"
#include "storage/jobs/viewer.h"

/* ---- the store ------------------------------------------------------------------------------- */

struct storage;

enum storage_durability {
    STORAGE_DURABLE,    /* a completed write survives a power failure */
    STORAGE_DURABLE_NOT /* for tests: a write survives the process, but not a power failure */
};

struct storage_options {   /* Options of a store. In every field, zero selects the default; only `path` is required. */
    const char *path;      /* path of the database file, which is created if missing */
    int readers;           /* number of read-only connections; 0 selects 4 */
    int busy_ms;           /* milliseconds to wait for a lock of another program; 0 selects 5000 */
    int64_t queue_limit;   /* upper limit of queued jobs; 0: no limit */
    int64_t owner_threads; /* upper limit of the threads that one owner's running jobs use together; 0: no limit */
    int64_t team_threads;  /* the same for one team with a name; 0: no limit */
    int threads_of_job; /* threads that a job counts towards owner_threads if it does not state its number of threads */
    const char *maker; /* name and version of the writing program, stored with every checkpoint; borrowed; NULL: none */
    enum storage_durability durability;
    bool allow_network_fs;   /* accept NFS, SMB and similar file systems */
    int64_t check_bytes;     /* after an unclean stop, a file up to this size is checked completely before it opens;
                                0 selects 256 MiB */
    int64_t check_log_bytes; /* size of the write-ahead log at which the background check of a file above
                                check_bytes is interrupted; 0 selects 1 GiB */
    /* > 0: a thread reads stored data again while the store is used and compares them with their digests: rows,
     * checkpoints, and the files of the data sets below `datasets`. It waits at least this number of seconds between
     * two pieces. */
    double sample_seconds;
    const char *datasets; /* borrowed; NULL: no data sets */
    bool notices;         /* store a notice when a job ends (storage_notice_next) */
    const char *vfs;      /* name of an SQLite VFS, for tests of faults; NULL: the default VFS */
    struct log_hook log;
    /* The writing thread calls this after each commit that added events. It must return at once: it may only wake a
     * thread. */
    void (*events_added)(void *context);
    void *events_context;
};

/* Opens the database: creates the file if it is missing, migrates the schema, checks the tables after an unclean stop,
 * puts jobs that were still running back into the queue (job_state.h), and removes incomplete checkpoints. In a large
 * file, a background thread checks the large tables later. CONFLICT: another process has the file open, or the file
 * belongs to another program or a newer version. INVALID: the file is on a network file system. CORRUPT: the file is
 * damaged. Error messages contain no path. The options are copied. */
enum status storage_open(const struct storage_options *options, struct storage **storage, struct error *err);

/* Writes all queued changes and closes the file. The caller ensures that no other call is running. NULL is allowed. */
void storage_close(struct storage *storage);

/* Waits until all earlier writes are on disk. */
enum status storage_flush(struct storage *storage, struct error *err);

/* Reports whether writes are possible now; for readiness probes. Calls only statvfs() and stat(). UNAVAILABLE: the disk
 * is full or read-only at the moment, or the path no longer names the open file. Submissions fail in the same way then.
 * IO: an earlier write failed, and the store refuses writes until it is opened again. */
enum status storage_writable(struct storage *storage, struct error *err);

/* The state of the check that follows an unclean stop. */
enum storage_check {
    STORAGE_CHECK_NONE,    /* the last process closed the store, so no check is needed */
    STORAGE_CHECK_RUNNING, /* the large tables are still being checked */
    STORAGE_CHECK_SOUND,
    STORAGE_CHECK_DAMAGED,    /* the check found damage; the log contains the details */
    STORAGE_CHECK_UNREADABLE, /* the check could not complete, because a read failed or there was not enough memory */
    STORAGE_CHECKS
};
/* Returns the name of a state, "none", "running", ..., for documents and the log. */
const char *storage_check_name(enum storage_check check);

struct storage_stats {
    int64_t jobs[JOB_STATES]; /* number of jobs, by state */
    int64_t file_bytes;       /* size of the database file */
    int64_t wal_bytes;        /* size of its write-ahead log */
    int64_t free_bytes;       /* size of the unused pages in the file */
    int64_t commits;          /* commits since the store was opened */
    int64_t commands; /* commands since the store was opened; commands / commits is the mean number of commands in a
                         commit */
    double commit_seconds; /* total seconds of all commits */
    double commit_seconds_max;
    struct histogram_counts commit_times;
    int64_t queue_depth; /* commands that are waiting for the writer now */
    int64_t checkpoints; /* complete checkpoints of all jobs */
    int64_t checkpoint_bytes;
    enum storage_check check;
    struct {
        int64_t rows, checkpoints, files; /* read again since the store was opened */
        int64_t passes;                   /* how often all of them were read */
        int64_t faults;                   /* of the last pass, or of the present one if it has found more */
    } sampled;
    int64_t metric_points_dropped; /* points whose step was too small (storage_metric_append) */
};
/* Reads the statistics. Takes milliseconds, whatever the number of jobs. */
enum status storage_stats_read(struct storage *storage, struct storage_stats *out, struct error *err);

/* Removes what deletions have left, and returns all free pages of the file to the file system. The store does the
 * second by itself, in small steps, when it has nothing else to do and more than a tenth of the used space is free (a
 * quarter of the file and at least 64 MiB while a job runs). Other writes wait for a step at most. */
enum status storage_compact(struct storage *storage, struct error *err);

/* ---- jobs -------------------------------------------------------------------------------------- */

#define STORAGE_ID 27    /* bytes of a job id with its NUL; 26 characters whose text order is the order of creation */
#define STORAGE_NAME 128 /* upper limit of a name's bytes, with its NUL */
#define STORAGE_KEY 256  /* upper limit of an idempotency key's bytes, with its NUL */

enum job_task { JOB_TRAIN, JOB_EVALUATE };

struct storage_job {
    char id[STORAGE_ID];
    const char *kind, *preset, *name; /* "": not set */
    const char *owner;                /* name of the token that submitted the job; "": none */
    const char *team;                 /* team of that token; "": the team without a name */
    enum visibility visibility;
    bool pinned;       /* no policy of retention takes anything of it */
    const char *trace; /* traceparent (W3C Trace Context) of the submission; "": none */
    const char *study; /* id of the study that the job belongs to; "": none */
    const char *tags;  /* sorted JSON list of texts; NULL stands for an empty list */
    enum job_task task;
    enum job_state state;
    enum requested_state requested;
    int priority;                          /* jobs with a larger number run first */
    int threads;                           /* number of threads; 0: the daemon chooses */
    const char *executor;                  /* "thread", "process", ...; "": the daemon chooses */
    int ranks;                             /* processes that train the job together */
    const char *config;                    /* the complete configuration as JSON */
    const char *params;                    /* the parameters of an evaluation as JSON; NULL for a training */
    const char *progress, *result, *error; /* JSON texts; each is NULL until it exists */
    const char *source_job;                /* id of the job whose model this job starts from or evaluates; "": none */
    int64_t source_checkpoint;             /* sequence number of the checkpoint of `source_job`; 0: none */
    int64_t created_at, started_at, finished_at;
    int64_t used_at;          /* last use (jobs/policy.h); 0: none */
    int64_t version;          /* increases with every change except progress; for If-Match */
    int64_t progress_version; /* increases with every progress update; forms the ETag together with `version` */
};

struct storage_submit {
    const char *kind, *preset, *name, *config, *params, *source_job; /* in all these texts, NULL is the same as "" */
    enum job_task task;
    int priority, threads;
    const char *executor; /* name of the executor; NULL or "": the daemon chooses */
    int ranks;            /* processes that train the job together; 0 is the same as 1 */
    int64_t source_checkpoint;
    const char *tags;  /* JSON list of texts; NULL: none */
    const char *trace; /* traceparent of the request; NULL or "": none */
    const char *owner; /* name of the token that submits the job; NULL or "": none */
    const char *team;  /* its team; NULL or "": the team without a name */
    enum visibility visibility;
    int64_t owner_limit;     /* upper limit of the owner's unfinished jobs; 0: no limit */
    int64_t team_limit;      /* upper limit of the unfinished jobs of the team, if it has a name; 0: no limit */
    const char *key;         /* idempotency key, which is independent of the keys of other owners; NULL: none */
    uint8_t fingerprint[32]; /* hash of the request; used only if there is a key */
};

enum storage_submit_outcome {
    STORAGE_CREATED,    /* a new job was created; `id` is its id */
    STORAGE_OWNER_FULL, /* the owner has reached owner_limit; nothing was stored */
    STORAGE_TEAM_FULL,  /* the team has reached team_limit; nothing was stored */
    STORAGE_REPLAYED,   /* the key was used before for the same request; `id` is the job that this request created */
    STORAGE_KEY_REUSED  /* the key was used before for another request; nothing was stored, `id` is the job of that
                           request */
};

/* Stores a new job and its idempotency key in one transaction. Keys of different owners are independent: a key never
 * finds the job of another owner. A key expires after a week. The retention rule keeps
 * the source checkpoint until the new job is finished. UNAVAILABLE: queue_limit is reached (a repeated request is
 * still answered). NOT_FOUND: the source job or checkpoint does not exist. */
enum status storage_job_submit(struct storage *storage, const struct storage_submit *submit, char id[STORAGE_ID],
                               enum storage_submit_outcome *outcome, struct error *err);

/* Reads one job. */
enum status storage_job_get(struct storage *storage, const char *id, struct arena *arena, struct storage_job *out,
                            struct error *err);

struct storage_job_filter {      /* Which jobs a list contains; a filter that is all zero selects every job. */
    const struct viewer *viewer; /* only jobs that this viewer may see; NULL: all */
    bool by_state;
    enum job_state state;
    bool by_task;
    enum job_task task;
    const char *kind;       /* NULL: any kind */
    const char *source_job; /* NULL: any source job */
    const char *name;       /* the exact name; NULL: any */
    const char *tag;        /* a tag that the job has; NULL: any */
    const char *owner;      /* name of the token that submitted the job; NULL: any */
    const char *preset;     /* NULL: any */
    const char *study;      /* id of a study to which the jobs belong; "": only jobs without a study; NULL: any */
    /* conditions on members of the result: [{"path": "$.fpe", "op": "<=", "value": 0.1}], where op is <=, >= or =. The
     * value is a number; with =, it may also be a text. NULL: no conditions */
    const char *result;
    /* "name", "kind", "preset", "owner", "state", "priority", "started_at", "finished_at", or the path of a member of
     * the result, such as "$.fpe"; jobs without the value come last. NULL: by creation */
    const char *sort;
    bool ascending;      /* true: smallest or oldest first; false: largest or newest first */
    bool has_checkpoint; /* only jobs with a checkpoint */
    const char *before;  /* id of the last job on the previous page; NULL: the first page */
    int limit;           /* jobs on a page: 1 to 1000; 0 selects 100 */
};
/* Lists jobs, newest first unless the filter asks for another order. *more is true if there is another page; pass the
 * last id of this page as its `before`. */
enum status storage_job_list(struct storage *storage, const struct storage_job_filter *filter, struct arena *arena,
                             struct storage_job **jobs, size_t *count, bool *more, struct error *err);

struct storage_job_patch {
    const char *name;                  /* new name; NULL: unchanged */
    const int *priority;               /* new priority; NULL: unchanged */
    const char *tags;                  /* new tags, a JSON list of texts; NULL: unchanged */
    const enum visibility *visibility; /* new visibility; NULL: unchanged. CONFLICT for a job of a study */
    const bool *pinned;                /* NULL: unchanged */
    int64_t expected_version; /* the version that the job must have, or the call fails with CONFLICT; 0: any version */
};
/* Changes name, priority, tags, visibility and pin of a job in any state. */
enum status storage_job_patch(struct storage *storage, const char *id, const struct storage_job_patch *patch,
                              struct error *err);

/* Requests a pause, resume or cancel: `request` is JOB_EVENT_PAUSE, JOB_EVENT_RESUME or JOB_EVENT_CANCEL. *state and
 * *requested (both may be NULL) are the job's values afterwards, also if the call fails with CONFLICT. If the job is
 * still running, the caller must notify its executor. */
enum status storage_job_request(struct storage *storage, const char *id, enum job_event request, enum job_state *state,
                                enum requested_state *requested, struct error *err);

/* Sets the first job of the queue to running: the one with the highest priority, and among equal priorities the
 * oldest. Skips jobs that would exceed owner_threads or team_threads. NOT_FOUND: the queue contains no job that may
 * start. */
enum status storage_job_claim(struct storage *storage, char id[STORAGE_ID], struct error *err);
/* Works like storage_job_claim(), but considers only the queued jobs of one task. */
enum status storage_job_claim_task(struct storage *storage, enum job_task task, char id[STORAGE_ID], struct error *err);

/* Adds up the bytes of all checkpoints and files of an owner's or a team's jobs. The time of the call grows in
 * proportion to the number of these checkpoints and files. */
enum status storage_owner_bytes(struct storage *storage, const char *owner, int64_t *bytes, struct error *err);
enum status storage_team_bytes(struct storage *storage, const char *team, int64_t *bytes, struct error *err);
/* Reads the requested state of a job, which its executor checks between steps. */
enum status storage_job_requested(struct storage *storage, const char *id, enum requested_state *requested,
                                  struct error *err);

/* Ends the executor's work on a running job. `event` is JOB_EVENT_YIELD, JOB_EVENT_SUCCEED (with `result`) or
 * JOB_EVENT_FAIL (with `error`); unused texts are NULL. *state (may be NULL) is the job's new state. The same
 * transaction closes the job's lease, if it has one. FULL: the disk is full, or points wait in the retry queue because
 * it was full; whoever sees the end of a run finds all of its points. */
enum status storage_job_leave(struct storage *storage, const char *id, enum job_event event, const char *result,
                              const char *error, enum job_state *state, struct error *err);

/* Replaces the progress text of a job; does nothing if the job is finished. A lazy write: returns before the change is
 * on disk (see the top of this file). */
enum status storage_job_progress(struct storage *storage, const char *id, const char *progress, struct error *err);

/* Removes all metric points with a step greater than `last_step`. An executor calls this before it continues from a
 * checkpoint, so that each series continues without a gap and without duplicates. Metrics count steps in samples, so
 * pass the checkpoint's `samples`; -1 removes all points. */
enum status storage_job_rewind(struct storage *storage, const char *id, int64_t last_step, struct error *err);

/* Deletes a finished job and everything that belongs to it. Readers do not see it any more when the call returns; the
 * background sweep removes its large rows later. CONFLICT: the job is not finished, or an unfinished job starts from
 * it. */
enum status storage_job_delete(struct storage *storage, const char *id, struct error *err);

struct storage_usage {
    char owner[VIEWER_NAME], team[STORAGE_TEAM];
    int64_t jobs[JOB_STATES]; /* number of jobs by state */
    int64_t threads;          /* threads of the running jobs, over all ranks */
    double seconds;           /* threads times seconds in which jobs ran in the last 24 hours */
    int64_t bytes;            /* bytes of checkpoints and files */
};
/* Reads what jobs use: a row for each owner, at most 1000. owner, team: only jobs of these; NULL: of all. */
enum status storage_usage_read(struct storage *storage, const char *owner, const char *team, struct arena *arena,
                               struct storage_usage **usage, size_t *count, struct error *err);

struct storage_team {
    char team[STORAGE_TEAM]; /* "": the team without a name */
    int64_t queued, bytes;   /* queued jobs; bytes of checkpoints and files */
};
/* Reads what the jobs of each team wait for and use, at most 1000 teams. *stalled_ms: the longest time since anything
 * was reported about a job that runs; 0: none runs. */
enum status storage_teams_read(struct storage *storage, struct arena *arena, struct storage_team **teams, size_t *count,
                               int64_t *stalled_ms, struct error *err);

/* ---- studies: groups of jobs --------------------------------------------------------------------- */

#define STORAGE_STUDY_JOBS 1000 /* upper limit of the jobs of a study */

/* A study has no state of its own. The queue and the executors treat its jobs like all others. */
struct storage_study {
    char id[STORAGE_ID];
    const char *kind, *preset, *name; /* "": not set */
    const char *owner;                /* name of the token that submitted the study; "": none */
    const char *team;                 /* team of that token; "": the team without a name */
    enum visibility visibility;       /* also of all its jobs */
    const char *grid;                 /* JSON text, opaque */
    int seeds;
    int64_t created_at, finished_at; /* finished_at: 0 until all jobs are finished */
    int64_t jobs[JOB_STATES];        /* number of its jobs by state */
    int64_t count;                   /* number of all its jobs */
    double fraction;                 /* share of all work that is done, the mean over the jobs */
    int64_t version;                 /* increases with every change of a job */
};

struct storage_study_submit {
    const char *name; /* NULL or "": none */
    const char *grid; /* JSON text */
    int seeds;
    /* [count] at least one. Kind, preset, owner, team, visibility, owner_limit, key and fingerprint of the first one
     * are those of the study. */
    const struct storage_submit *jobs;
    size_t count;
};
/* Stores a study, all its jobs and its idempotency key in one transaction. `id` is the id of the study; *outcome and
 * the errors are as for storage_job_submit(), where the limits apply to all jobs together. With STORAGE_KEY_REUSED,
 * `id` is the study or the job of the other request. */
enum status storage_study_submit(struct storage *storage, const struct storage_study_submit *study, char id[STORAGE_ID],
                                 enum storage_submit_outcome *outcome, struct error *err);
/* Reads one study. */
enum status storage_study_get(struct storage *storage, const char *id, struct arena *arena, struct storage_study *out,
                              struct error *err);
struct storage_study_filter {
    const char *name, *owner, *kind; /* NULL: any */
    const struct viewer *viewer;     /* only studies that this viewer may see; NULL: all */
    const char *before;              /* id of the last study on the previous page; NULL: the first page */
    int limit;                       /* studies on a page: 1 to 1000; 0 selects 100 */
};
/* Lists studies, newest first. *more is true if there is another page. */
enum status storage_study_list(struct storage *storage, const struct storage_study_filter *filter, struct arena *arena,
                               struct storage_study **studies, size_t *count, bool *more, struct error *err);
/* Lists jobs of a study, oldest first: at most `limit` jobs with ids above `after` ("": from the first one). */
enum status storage_study_jobs(struct storage *storage, const char *id, const char *after, int limit,
                               struct arena *arena, struct storage_job **jobs, size_t *count, struct error *err);
/* Requests a pause, resume or cancel of each job of the study whose state allows it, in one transaction. CONFLICT: no
 * job's state allows it. The caller must notify the executors of running jobs. */
enum status storage_study_request(struct storage *storage, const char *id, enum job_event request, struct error *err);
/* Changes the visibility of a study and of all its jobs. */
enum status storage_study_share(struct storage *storage, const char *id, enum visibility visibility, struct error *err);
/* Deletes a study and all its jobs, as storage_job_delete() does. CONFLICT: a job is not finished, or an unfinished job
 * starts from one of them; nothing was deleted. */
enum status storage_study_delete(struct storage *storage, const char *id, struct error *err);

/* ---- metrics ----------------------------------------------------------------------------------- */

struct storage_point {
    int64_t step; /* number of training samples seen so far */
    double value; /* may be NaN or infinite */
};

struct storage_metric {
    const char *name; /* name of the series: at most 63 bytes */
    struct storage_point point;
};

/* Appends points to the series of a job. A lazy write: returns before the change is on disk. Steps must not decrease: a
 * point at the last step replaces its value, a point before the last step is dropped and counted (storage_stats).
 * Points of an unknown job are dropped. */
enum status storage_metric_append(struct storage *storage, const char *id, const struct storage_metric *metrics,
                                  size_t count, struct error *err);

struct storage_series {
    const char *name;
    struct storage_point *points;
    size_t count;  /* number of elements of `points` */
    int64_t total; /* number of stored points between `since` and `until` */
};

struct storage_metric_query {
    const char *const *names; /* NULL: every series of the job */
    size_t name_count;
    int64_t since;        /* only points with step > since; INT64_MIN: no lower limit */
    const int64_t *until; /* only points with step <= *until; NULL: no upper limit */
    int64_t max_points;   /* upper limit for each series; 0: no limit; 1 and 2 count as 3 */
};

/* Reads series, sorted by name. Names that do not exist are skipped. A series with more than max_points points is
 * reduced: its n points are divided into B = max_points / 3 buckets of consecutive points, where bucket b contains the
 * points [b·n/B, (b+1)·n/B). Each bucket yields its smallest, largest and last point in step order, without
 * duplicates. Of equal values, the first counts. NaN is never the smallest or largest. Memory is proportional to the
 * answer. */
enum status storage_metric_read(struct storage *storage, const char *id, const struct storage_metric_query *query,
                                struct arena *arena, struct storage_series **series, size_t *count, struct error *err);

/* ---- events -------------------------------------------------------------------------------------- */

struct storage_event {
    int64_t id; /* increases over all jobs of the store and is never reused */
    char job[STORAGE_ID];
    /* Types of the events that the store itself adds. It adds the event and makes the change that the event reports in
     * one transaction:
     *     "state"       data is the name of the state
     *     "progress"    data is the progress text; the store keeps the newest 600 of a job
     *     "metric"      data is "FIRST LAST": points with steps in [FIRST, LAST] were appended
     *     "checkpoint"  data is the sequence number of the checkpoint in decimal
     * Callers add other types with storage_event_append(). */
    const char *type;
    const char *data;
    int64_t time;
};

/* Adds an event to a job. A lazy write: returns before the change is on disk. */
enum status storage_event_append(struct storage *storage, const char *id, const char *type, const char *data,
                                 struct error *err);

/* Reads events with id > after, oldest first: those of one job, or of all jobs if `id` is NULL. viewer: only events of
 * jobs that this viewer may see now; NULL: of all jobs. `limit` is 1 to 1000. NOT_FOUND: there is no such job, or the
 * viewer may not see it. */
enum status storage_event_read(struct storage *storage, const char *id, const struct viewer *viewer, int64_t after,
                               int limit, struct arena *arena, struct storage_event **events, size_t *count,
                               struct error *err);

/* Reads the id of the newest event that was ever added; 0 if there was none. */
enum status storage_event_newest(struct storage *storage, int64_t *id, struct error *err);

/* ---- checkpoints --------------------------------------------------------------------------------- */

struct storage_checkpoint {
    int64_t seq;              /* 1, 2, ... within the job; never reused */
    int64_t step;             /* number of optimiser updates */
    int64_t samples;          /* number of samples seen: the axis of the metrics */
    double density, accuracy; /* NaN: unknown */
    int64_t bytes;
    uint8_t sha256[32]; /* SHA-256 of all bytes of the checkpoint */
    bool stage_end;     /* true: this is the last checkpoint of a stage (training at one density) */
    bool pinned;
    int64_t created_at;
};

struct storage_checkpoint_new {
    int64_t step, samples;
    double density, accuracy;
    bool stage_end;
};

struct storage_checkpoint_writer;

/* Stores a checkpoint: begin, any number of writes, then commit or abandon. Readers see the checkpoint only after
 * commit returned; after a crash before that, the store removes its bytes. write() has the signature that struct
 * snapshot_writer requires (its context is the writer); it waits when the disk is slower than the caller. commit() and
 * abandon() free the writer, also when they fail.
 * commit() also applies the retention rule. It keeps: the latest checkpoint, the one with the best accuracy, the last
 * checkpoint with stage_end at each density, pinned checkpoints, and checkpoints from which an unfinished job starts.
 * All metrics, progress and events that the same thread passed before commit() are on disk when it returns. */
enum status storage_checkpoint_begin(struct storage *storage, const char *id, const struct storage_checkpoint_new *what,
                                     struct storage_checkpoint_writer **writer, struct error *err);
enum status storage_checkpoint_write(void *writer, const void *bytes, size_t count, struct error *err);
enum status storage_checkpoint_commit(struct storage_checkpoint_writer *writer, int64_t *seq, struct error *err);
void storage_checkpoint_abandon(struct storage_checkpoint_writer *writer); /* frees the writer; NULL is allowed */

enum storage_pick { STORAGE_LATEST, STORAGE_SEQ, STORAGE_DENSITY, STORAGE_BEST };
struct storage_checkpoint_pick {
    enum storage_pick by;
    int64_t seq;    /* for STORAGE_SEQ: sequence number of the checkpoint */
    double density; /* for STORAGE_DENSITY: selects the last checkpoint of this density (relative tolerance 1e-6) */
};

/* Reads the facts of one checkpoint. NOT_FOUND: no checkpoint matches `pick`. */
enum status storage_checkpoint_find(struct storage *storage, const char *id, struct storage_checkpoint_pick pick,
                                    struct storage_checkpoint *out, struct error *err);
/* Lists the complete checkpoints of a job, oldest first. */
enum status storage_checkpoint_list(struct storage *storage, const char *id, struct arena *arena,
                                    struct storage_checkpoint **checkpoints, size_t *count, struct error *err);
/* Protects a checkpoint from the retention rule, or ends the protection. */
enum status storage_checkpoint_pin(struct storage *storage, const char *id, int64_t seq, bool pinned,
                                   struct error *err);

/* A reader of the bytes of one checkpoint. While a reader is open, the bytes stay readable, also if the checkpoint is
 * deleted. storage_checkpoint_read() has the signature that struct snapshot_reader requires. It reads only the
 * requested range, which may begin at any offset, and returns CORRUPT for a range beyond the end. No database lock is
 * held between two calls. `info` may be NULL. */
struct storage_checkpoint_reader;
enum status storage_checkpoint_open(struct storage *storage, const char *id, struct storage_checkpoint_pick pick,
                                    struct storage_checkpoint_reader **reader, struct storage_checkpoint *info,
                                    struct error *err);
enum status storage_checkpoint_read(void *reader, uint64_t offset, void *bytes, size_t count, struct error *err);
/* Reads all bytes of a checkpoint and compares their SHA-256 with the stored one. CORRUPT: the two differ. */
enum status storage_checkpoint_verify(struct storage_checkpoint_reader *reader, struct error *err);
void storage_checkpoint_close(struct storage_checkpoint_reader *reader); /* NULL is allowed */

/* The metadata of a checkpoint. They stay when the retention rule removes the bytes of the checkpoint, and are deleted
 * with its job. */
struct storage_link {
    int64_t seq, step, samples, bytes, created_at;
    double density; /* NaN: none */
    bool stage_end;
    bool kept; /* true: the bytes are still stored */
    uint8_t sha256[32];
    const char *maker; /* program that wrote the checkpoint (storage_options.maker); "": unknown */
};
/* Lists all checkpoints that a job ever had, oldest first. */
enum status storage_chain_list(struct storage *storage, const char *id, struct arena *arena,
                               struct storage_link **links, size_t *count, struct error *err);

/* ---- import of finished jobs ------------------------------------------------------------------------- */

/* A stream whose bytes are in two parts of memory, one after the other; either part may be empty. So an import can
 * put a new beginning before the bytes of a model's file without copying them. */
struct storage_import_bytes {
    const void *part[2];
    size_t count[2];
};
static inline size_t storage_import_total(const struct storage_import_bytes *bytes)
{
    return bytes->count[0] + bytes->count[1];
}
/* Copies `count` bytes that begin at `offset`. All of them must be within the stream. */
void storage_import_copy(const struct storage_import_bytes *bytes, size_t offset, void *to, size_t count);

struct storage_import_checkpoint {
    struct storage_checkpoint_new what;
    int64_t seq; /* sequence number of the checkpoint: at least 1, and larger than that of the previous checkpoint */
    struct storage_import_bytes bytes;
};
struct storage_import {
    const char *kind, *preset, *name, *config; /* required: none of them is NULL */
    const char *progress, *result;             /* JSON texts; NULL: none */
    const char *owner;                         /* name of the token that imports the job; NULL or "": none */
    const char *team;                          /* its team; NULL or "": the team without a name */
    /* upper limits of the bytes of all jobs of the owner and of the team with a name, this one included; 0: no limit */
    int64_t owner_bytes, team_bytes;
    const struct storage_import_checkpoint *checkpoints;
    size_t count;
    const struct storage_series *series; /* within each series, the steps must increase */
    size_t series_count;
    const char *key;         /* idempotency key, as in storage_submit; NULL: none */
    uint8_t fingerprint[32]; /* hash of the request; used only if there is a key */
};
/* Stores a finished (succeeded) job with its checkpoints, which become pinned, its series and its idempotency key, in
 * one transaction. All fields are borrowed. *outcome: as for storage_job_submit(), but never STORAGE_OWNER_FULL. LIMIT:
 * the jobs of the owner or the team would exceed a limit; nothing was stored. */
enum status storage_job_import(struct storage *storage, const struct storage_import *in, char id[STORAGE_ID],
                               enum storage_submit_outcome *outcome, struct error *err);

/* ---- artifacts ----------------------------------------------------------------------------------- */

#define STORAGE_ARTIFACT_BYTES (16u << 20) /* upper limit of the bytes of one artifact */

struct storage_artifact {
    const char *name, *media_type;
    int64_t bytes, created_at;
};

/* Stores a file of a job, or replaces the file of the same name. A name has 1 to 64 characters of a-z, 0-9, "." and
 * "-", and does not begin with a dot. */
enum status storage_artifact_put(struct storage *storage, const char *id, const char *name, const char *media_type,
                                 const void *bytes, size_t count, struct error *err);
/* Lists the files of a job without their bytes. */
enum status storage_artifact_list(struct storage *storage, const char *id, struct arena *arena,
                                  struct storage_artifact **artifacts, size_t *count, struct error *err);
/* Reads a file; its bytes are in the arena. */
enum status storage_artifact_get(struct storage *storage, const char *id, const char *name, struct arena *arena,
                                 struct storage_artifact *out, const void **bytes, struct error *err);

/* ---- leases: jobs that another process trains -------------------------------------------------------- */

#define STORAGE_LEASE_HASH 32
#define STORAGE_FOREIGN 64 /* bytes of a foreign id (struct storage_lease) with its NUL */

struct storage_lease {
    char job[STORAGE_ID];
    enum lease_state state;
    int64_t epoch;              /* increases with every grant and every registration */
    const char *executor;       /* name of the executor that granted the lease */
    const char *foreign_id;     /* id of the started process or cluster job; "": unknown */
    int64_t sequence;           /* sequence number of the newest stored report */
    int tries;                  /* leases granted since the job's newest checkpoint */
    int64_t seen;               /* time of the last message from the trainer */
    enum job_event ending;      /* for LEASE_ENDED: how the run ended */
    const char *result, *error; /* for LEASE_ENDED: result document or error document of the run; the other is NULL */
};

/* All functions that change a lease are urgent and follow the table in lease_state.h. CONFLICT: the table does not
 * allow the change in the present state of the lease, or `epoch` is not the current one. */

/* Grants a lease for a running job to the trainer whose token has this hash. *tries is the number of leases since the
 * newest checkpoint, this one included. */
enum status storage_lease_grant(struct storage *storage, const char *id, const uint8_t hash[STORAGE_LEASE_HASH],
                                const char *executor, int *tries, struct error *err);
/* Works like storage_lease_grant(), and stores the foreign id in the same transaction. */
enum status storage_lease_grant_to(struct storage *storage, const char *id, const uint8_t hash[STORAGE_LEASE_HASH],
                                   const char *executor, const char *foreign_id, int *tries, struct error *err);
/* Stores the foreign id of the started trainer. */
enum status storage_lease_foreign(struct storage *storage, const char *id, const char *foreign_id, struct error *err);
/* Records that the trainer has registered, and returns its new epoch. */
enum status storage_lease_register(struct storage *storage, const char *id, int64_t *epoch, struct error *err);
/* Records a message of the trainer. When this returns, the lazy writes that the same thread made for the message are
 * on disk too. `sequence` is the sequence number of a report; 0 for other messages. */
enum status storage_lease_message(struct storage *storage, const char *id, int64_t epoch, int64_t sequence,
                                  struct error *err);
/* Records how the trainer's run ended; the executor then calls storage_job_leave(). Later calls for the same lease have
 * no effect. */
enum status storage_lease_end(struct storage *storage, const char *id, int64_t epoch, enum job_event event,
                              const char *result, const char *error, struct error *err);
/* Closes the lease after the trainer is gone; its token becomes invalid. */
enum status storage_lease_close(struct storage *storage, const char *id, struct error *err);

/* Reads the lease of a job. NOT_FOUND: the job never had a lease. */
enum status storage_lease_get(struct storage *storage, const char *id, struct arena *arena, struct storage_lease *out,
                              struct error *err);
/* Reads the open lease whose token has this hash. NOT_FOUND: there is none. */
enum status storage_lease_find(struct storage *storage, const uint8_t hash[STORAGE_LEASE_HASH], struct arena *arena,
                               struct storage_lease *out, struct error *err);

/* ---- notices of ended jobs ----------------------------------------------------------------------------- */

/* A notice is stored in the transaction in which its job ends, if storage_options.notices is set. It stays in the
 * database, also over restarts, until storage_notice_delivered() removes it. */
struct storage_notice {
    int64_t id;
    char job[STORAGE_ID];
    const char *state; /* "succeeded", "failed" or "cancelled" */
    const char *data;  /* JSON object: what the notice reports */
    int64_t time;      /* end of the job */
    int tries;         /* failed deliveries */
};

#define STORAGE_NOTICE_DELAY_MAX ((int64_t)3600 * 1000) /* longest time in ms between two tries of a delivery */

/* Reads the notice that is due first. NOT_FOUND: none is due at the time `now` (milliseconds since 1970). */
enum status storage_notice_next(struct storage *storage, int64_t now, struct arena *arena, struct storage_notice *out,
                                struct error *err);
/* Removes a delivered notice. */
enum status storage_notice_delivered(struct storage *storage, int64_t id, struct error *err);
/* Counts a failed delivery. The notice is due again at due_at, which is at most STORAGE_NOTICE_DELAY_MAX from now. */
enum status storage_notice_failed(struct storage *storage, int64_t id, int64_t due_at, struct error *err);
/* Counts the notices that wait. */
enum status storage_notice_count(struct storage *storage, int64_t *count, struct error *err);

/* ---- audit: which changes were requested, and by whom ------------------------------------------------ */

#define STORAGE_AUDIT_KEPT 100000 /* number of entries that are kept; older ones are deleted */

struct storage_audit {
    int64_t id, time;
    char who[64];     /* the token's name; "": no token was needed */
    char peer[48];    /* network address of the client */
    char request[40]; /* id of the request, which is unique */
    char method[12], target[200];
    int status;            /* HTTP status of the answer; 0: the process ended before it answered */
    char made[STORAGE_ID]; /* id of the job that the request created; "": none */
};

/* Records a request before it is handled. A lazy write: returns before the record is on disk. The record is on disk no
 * later than the change that the request makes. */
enum status storage_audit_begin(struct storage *storage, const struct storage_audit *entry, struct error *err);
/* Records how the request was answered. A lazy write: returns before the record is on disk. */
enum status storage_audit_end(struct storage *storage, const char *request, int answer, const char *made,
                              struct error *err);
/* Lists entries with ids below `before`, newest first. */
enum status storage_audit_list(struct storage *storage, int64_t before, int limit, struct arena *arena,
                               struct storage_audit **entries, size_t *count, struct error *err);

#endif
