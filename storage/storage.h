/* Everything that must outlive the process, in one SQLite file.
 *
 * Storage knows no method and no JSON: configuration, progress, result and error are text that it
 * keeps as it was given. It does know the life of a job (job_state.h) and which checkpoints are
 * worth keeping.
 *
 * Threads. One thread inside owns the only connection that writes and checkpoints the WAL; callers
 * hand it commands. Every function here may be called from any thread at any time, except that one
 * checkpoint writer or reader belongs to one thread at a time. Three manners of writing:
 *   - urgent (the rule): returns when the change is on disk (fsync done). Everything that waits at
 *     the same time shares one commit.
 *   - lazy (metrics, progress, events): returns at once; on disk within a second. Lazy and urgent
 *     commands keep their order: when an urgent one returns, every lazy one that the same thread
 *     gave before it is on disk too. When the queue is full, the caller waits for room.
 *   - bulk (the bytes of a checkpoint): small transactions of their own between the others, so that
 *     nobody waits long for them; they count only once storage_checkpoint_commit() has returned.
 * Reads use a pool of read-only connections and never wait for the writer.
 *
 * Memory. Text and arrays in answers live in the arena that the caller gives.
 *
 * Errors. STATUS_INVALID: an argument; NOT_FOUND: no such job, checkpoint, ...; CONFLICT: the state
 * does not allow it; UNAVAILABLE: queue full or closing; LIMIT; NO_MEMORY; CORRUPT; IO. After a
 * failed write or fsync nothing is known about what reached the disk: the store then refuses every
 * further write with STATUS_IO and storage_writable() says so; reads go on. A full disk
 * is not such a failure: that command fails with STATUS_IO, the next may succeed.
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

/* ---- the store ------------------------------------------------------------------------------- */

struct storage;

enum storage_durability {
    STORAGE_DURABLE,    /* an acknowledged write survives loss of power */
    STORAGE_DURABLE_NOT /* for tests: survives the process only */
};

struct storage_options {   /* all zero is good, but for `path` */
    const char *path;      /* of the database file; created when missing */
    int readers;           /* read-only connections; 0: 4 */
    int busy_ms;           /* how long to wait for a lock held by another program; 0: 5000 */
    int64_t queue_limit;   /* most jobs that may be queued at once; 0: no limit */
    int64_t owner_threads; /* most threads that the running jobs of one owner have together; 0: no limit */
    int threads_of_job;    /* of a job that does not say; for owner_threads */
    const char *maker;     /* what writes: kept with every checkpoint; borrowed; NULL: not said */
    enum storage_durability durability;
    bool allow_network_fs;   /* do not refuse NFS, SMB and the like */
    int64_t check_bytes;     /* after an unclean stop a file up to this is checked before it opens; 0: 256 MiB */
    int64_t check_log_bytes; /* the write-ahead log at which a check of a larger one is put off; 0: 1 GiB */
    const char *vfs;         /* name of an SQLite VFS, for fault tests; NULL: the default */
    struct log_hook log;
    /* Called on the writing thread after a commit that added events; must only wake somebody. */
    void (*events_added)(void *context);
    void *events_context;
};

/* Opens or creates, migrates, checks after an unclean stop (the large tables of a large file later, in a thread of its
 * own), yields the jobs that were left running (job_state.h), removes unfinished checkpoints. Refuses: a file that
 * another process has open (CONFLICT), of another program or a newer version (CONFLICT), on a network file system
 * (INVALID), damaged (CORRUPT). Messages name no path. The options are copied. */
enum status storage_open(const struct storage_options *options, struct storage **storage, struct error *err);

/* Everything given so far is written, then the file is closed. No other call may be in progress.
 * NULL is fine. */
void storage_close(struct storage *storage);

/* Waits until everything given before it is on disk. */
enum status storage_flush(struct storage *storage, struct error *err);

/* For readiness: STATUS_OK while writes are accepted and the disk has room. Does not touch the
 * disk beyond statvfs(). UNAVAILABLE: full, for now. IO: no write is taken until a restart. */
enum status storage_writable(struct storage *storage, struct error *err);

/* Of a store that was not closed last time. */
enum storage_check {
    STORAGE_CHECK_NONE,    /* it was closed */
    STORAGE_CHECK_RUNNING, /* the large tables are still being read */
    STORAGE_CHECK_SOUND,
    STORAGE_CHECK_DAMAGED,    /* the log says what */
    STORAGE_CHECK_UNREADABLE, /* the disk, or no memory */
    STORAGE_CHECKS
};
const char *storage_check_name(enum storage_check check);

struct storage_stats {
    int64_t jobs[JOB_STATES]; /* count by state */
    int64_t file_bytes;       /* the database file */
    int64_t wal_bytes;        /* its write-ahead log */
    int64_t free_bytes;       /* unused pages inside the file */
    int64_t commits;          /* since the start */
    int64_t commands;         /* since the start; commands / commits is the grouping */
    double commit_seconds;    /* sum over commits */
    double commit_seconds_max;
    struct histogram_counts commit_times;
    int64_t queue_depth; /* commands that wait for the writer now */
    int64_t checkpoints; /* complete ones, all jobs */
    int64_t checkpoint_bytes;
    enum storage_check check;
    int64_t metric_points_dropped; /* points whose step went back (see storage_metric_append) */
};
enum status storage_stats_read(struct storage *storage, struct storage_stats *out, struct error *err);

/* ---- jobs -------------------------------------------------------------------------------------- */

#define STORAGE_ID 27    /* bytes of a job id with its NUL: 26 characters, sortable by creation */
#define STORAGE_NAME 128 /* most bytes of a name, with its NUL */
#define STORAGE_KEY 256  /* most bytes of an idempotency key, with its NUL */

enum job_task { JOB_TRAIN, JOB_EVALUATE };

struct storage_job {
    char id[STORAGE_ID];
    const char *kind, *preset, *name; /* "" where none was given */
    const char *owner;                /* name of the token that asked for it, "" for none */
    enum job_task task;
    enum job_state state;
    enum requested_state requested;
    int priority;                          /* larger goes first */
    int threads;                           /* 0: the daemon's choice */
    const char *executor;                  /* "thread", "process", ...; "": the daemon's choice */
    int ranks;                             /* processes that train it together */
    const char *config;                    /* resolved */
    const char *params;                    /* of an evaluation; NULL otherwise */
    const char *progress, *result, *error; /* NULL while there is none */
    const char *source_job;                /* "" or the job it starts from or evaluates */
    int64_t source_checkpoint;             /* its seq; 0 when source_job is "" */
    int64_t created_at, started_at, finished_at;
    int64_t version;          /* grows with every change but progress: for If-Match */
    int64_t progress_version; /* grows with every progress: with `version` makes an ETag */
};

struct storage_submit {
    const char *kind, *preset, *name, *config, *params, *source_job; /* NULL counts as "" or none */
    enum job_task task;
    int priority, threads;
    const char *executor; /* NULL counts as "" */
    int ranks;            /* 0 counts as 1 */
    int64_t source_checkpoint;
    const char *owner;       /* NULL counts as "" */
    int64_t owner_limit;     /* most jobs of that owner that are not final; 0: no limit */
    const char *key;         /* idempotency key, or NULL */
    uint8_t fingerprint[32]; /* of the request, looked at only with a key */
};

enum storage_submit_outcome {
    STORAGE_CREATED,    /* `id` is new */
    STORAGE_OWNER_FULL, /* the owner has as many jobs as allowed: nothing was stored */
    STORAGE_REPLAYED,   /* the key was used for the same request: `id` is the job it made */
    STORAGE_KEY_REUSED  /* the key was used for another request: nothing was stored, `id` is that job */
};

/* Job and key in one transaction. STATUS_UNAVAILABLE when queue_limit is reached (a replay is still
 * answered), NOT_FOUND when the source job or checkpoint does not exist. A source checkpoint is
 * kept from retention until the new job is final. Keys are forgotten after a week. */
enum status storage_job_submit(struct storage *storage, const struct storage_submit *submit, char id[STORAGE_ID],
                               enum storage_submit_outcome *outcome, struct error *err);

enum status storage_job_get(struct storage *storage, const char *id, struct arena *arena, struct storage_job *out,
                            struct error *err);

struct storage_job_filter { /* all zero: every job */
    bool by_state;
    enum job_state state;
    bool by_task;
    enum job_task task;
    const char *kind;       /* NULL: any */
    const char *source_job; /* NULL: any */
    const char *before;     /* id of the last job of the page before, or NULL */
    int limit;              /* 1..1000; 0: 100 */
};
/* Newest first. *more says that a further page exists: its `before` is the last id of this one. */
enum status storage_job_list(struct storage *storage, const struct storage_job_filter *filter, struct arena *arena,
                             struct storage_job **jobs, size_t *count, bool *more, struct error *err);

struct storage_job_patch {
    const char *name;         /* NULL: as it is */
    const int *priority;      /* NULL: as it is */
    int64_t expected_version; /* 0: whatever it is; otherwise CONFLICT when it differs */
};
enum status storage_job_patch(struct storage *storage, const char *id, const struct storage_job_patch *patch,
                              struct error *err);

/* JOB_EVENT_PAUSE, RESUME or CANCEL. *state and *requested (may be NULL) are what the job has
 * afterwards, also when the answer is CONFLICT. If the job still runs, tell its executor to look. */
enum status storage_job_request(struct storage *storage, const char *id, enum job_event request, enum job_state *state,
                                enum requested_state *requested, struct error *err);

/* The queued job with the highest priority, the oldest among equals, becomes running. NOT_FOUND
 * when nothing is queued. */
enum status storage_job_claim(struct storage *storage, char id[STORAGE_ID], struct error *err);
/* The same among the queued jobs of one task. */
enum status storage_job_claim_task(struct storage *storage, enum job_task task, char id[STORAGE_ID], struct error *err);

/* What the executor must look at between steps. A read. */
/* What the checkpoints and files of all jobs of an owner take. Looks at each of them. */
enum status storage_owner_bytes(struct storage *storage, const char *owner, int64_t *bytes, struct error *err);
enum status storage_job_requested(struct storage *storage, const char *id, enum requested_state *requested,
                                  struct error *err);

/* From the executor: JOB_EVENT_YIELD, SUCCEED (with `result`) or FAIL (with `error`); the unused one
 * is NULL. *state (may be NULL) is what the job has become. The lease of the job, if there is one, is closed with it.
 */
enum status storage_job_leave(struct storage *storage, const char *id, enum job_event event, const char *result,
                              const char *error, enum job_state *state, struct error *err);

/* Lazy. Replaces the progress text. Does nothing once the job is final. */
enum status storage_job_progress(struct storage *storage, const char *id, const char *progress, struct error *err);

/* Removes the metric points of a job whose step is greater than `last_step`: what an executor does
 * before it continues from a checkpoint, so that series go on without gap or double. The axis is
 * that of storage_metric_append (samples seen), so pass the checkpoint's `samples`. */
enum status storage_job_rewind(struct storage *storage, const char *id, int64_t last_step, struct error *err);

/* A final job and all that belongs to it. CONFLICT while it is not final or a job that is not final
 * starts from it. Gone at once for every reader; its bulk is removed in the background. */
enum status storage_job_delete(struct storage *storage, const char *id, struct error *err);

/* ---- metrics ----------------------------------------------------------------------------------- */

struct storage_point {
    int64_t step; /* samples seen */
    double value; /* may be NaN or infinite */
};

struct storage_metric {
    const char *name; /* at most 63 bytes */
    struct storage_point point;
};

/* Lazy. The steps of a series must not go back: a point at the last step replaces its value, one
 * before it is dropped and counted (storage_stats). Points of an unknown job are dropped. */
enum status storage_metric_append(struct storage *storage, const char *id, const struct storage_metric *metrics,
                                  size_t count, struct error *err);

struct storage_series {
    const char *name;
    struct storage_point *points;
    size_t count;  /* of points here */
    int64_t total; /* of points that are stored between `since` and `until` */
};

struct storage_metric_query {
    const char *const *names; /* NULL: every series of the job */
    size_t name_count;
    int64_t since;        /* only points with step > since; INT64_MIN: all */
    const int64_t *until; /* only points with step <= *until; NULL: all */
    int64_t max_points;   /* a series; 0: all; less than 3 counts as 3 */
};

/* A series that has more than max_points points is cut into max_points / 3 buckets of consecutive
 * points, as even as can be (bucket b of B holds points [b·n/B, (b+1)·n/B) of n); each gives its
 * smallest, largest and last point in step order, each point once. Of equal values the first
 * counts; NaN is never smallest or largest. Series come sorted by name; asked-for names that do not
 * exist are left out. Memory is bounded by the answer. */
enum status storage_metric_read(struct storage *storage, const char *id, const struct storage_metric_query *query,
                                struct arena *arena, struct storage_series **series, size_t *count, struct error *err);

/* ---- events -------------------------------------------------------------------------------------- */

struct storage_event {
    int64_t id; /* grows over the whole store, never used twice */
    char job[STORAGE_ID];
    /* Added by storage, in the transaction of the change itself:
     *   "state"       the state's name
     *   "progress"    the progress text; a job keeps the newest 600
     *   "metric"      "FIRST LAST": points with steps in [FIRST, LAST] were appended
     *   "checkpoint"  its seq in decimal
     * Others come from callers. */
    const char *type;
    const char *data;
    int64_t time;
};

/* Lazy. */
enum status storage_event_append(struct storage *storage, const char *id, const char *type, const char *data,
                                 struct error *err);

/* Events with id > after, oldest first; of one job, or of all when `id` is NULL. limit 1..1000. */
enum status storage_event_read(struct storage *storage, const char *id, int64_t after, int limit, struct arena *arena,
                               struct storage_event **events, size_t *count, struct error *err);

/* The id of the newest event that was ever added, 0 before the first. */
enum status storage_event_newest(struct storage *storage, int64_t *id, struct error *err);

/* ---- checkpoints --------------------------------------------------------------------------------- */

struct storage_checkpoint {
    int64_t seq;              /* 1, 2, ... within the job, never used twice */
    int64_t step;             /* optimiser updates */
    int64_t samples;          /* samples seen: the axis of metrics */
    double density, accuracy; /* NaN where there is none */
    int64_t bytes;
    uint8_t sha256[32]; /* of all bytes */
    bool stage_end;     /* last state at its density */
    bool pinned;
    int64_t created_at;
};

struct storage_checkpoint_new {
    int64_t step, samples;
    double density, accuracy;
    bool stage_end;
};

struct storage_checkpoint_writer;

/* begin → write ... → commit | abandon. Until commit returns, nobody sees the checkpoint; after a crash
 * no trace is left. write() has the signature that struct snapshot_writer wants (context: the writer); it
 * waits when the disk is slower than the caller. commit() and abandon() consume the writer, also when
 * they fail. commit() applies the retention rule: kept are the latest, the one with the best
 * accuracy, the last stage_end of each density, pinned ones and those that a job in waiting starts
 * from. Metrics, progress and events given before commit() are on disk when it returns. */
enum status storage_checkpoint_begin(struct storage *storage, const char *id, const struct storage_checkpoint_new *what,
                                     struct storage_checkpoint_writer **writer, struct error *err);
enum status storage_checkpoint_write(void *writer, const void *bytes, size_t count, struct error *err);
enum status storage_checkpoint_commit(struct storage_checkpoint_writer *writer, int64_t *seq, struct error *err);
void storage_checkpoint_abandon(struct storage_checkpoint_writer *writer); /* NULL is fine */

enum storage_pick { STORAGE_LATEST, STORAGE_SEQ, STORAGE_DENSITY, STORAGE_BEST };
struct storage_checkpoint_pick {
    enum storage_pick by;
    int64_t seq;    /* STORAGE_SEQ */
    double density; /* STORAGE_DENSITY: the last one within a relative 1e-6 */
};

enum status storage_checkpoint_find(struct storage *storage, const char *id, struct storage_checkpoint_pick pick,
                                    struct storage_checkpoint *out, struct error *err);
/* Oldest first. */
enum status storage_checkpoint_list(struct storage *storage, const char *id, struct arena *arena,
                                    struct storage_checkpoint **checkpoints, size_t *count, struct error *err);
enum status storage_checkpoint_pin(struct storage *storage, const char *id, int64_t seq, bool pinned,
                                   struct error *err);

/* An open reader holds the bytes: if the checkpoint is removed meanwhile, reading goes on to work.
 * Any offset and count within the bytes costs one read of what is asked for (chunks are 1 MiB).
 * read() has the signature that struct snapshot_reader wants; beyond the end it is STATUS_CORRUPT, as a
 * reader of foreign bytes wants it. No database lock is held between calls. `info` may be NULL. */
struct storage_checkpoint_reader;
enum status storage_checkpoint_open(struct storage *storage, const char *id, struct storage_checkpoint_pick pick,
                                    struct storage_checkpoint_reader **reader, struct storage_checkpoint *info,
                                    struct error *err);
enum status storage_checkpoint_read(void *reader, uint64_t offset, void *bytes, size_t count, struct error *err);
/* Reads everything once and compares with the SHA-256: CORRUPT when it differs. */
enum status storage_checkpoint_verify(struct storage_checkpoint_reader *reader, struct error *err);
void storage_checkpoint_close(struct storage_checkpoint_reader *reader); /* NULL is fine */

/* What a checkpoint was. Links stay when retention removes the bytes; they go with their job. */
struct storage_link {
    int64_t seq, step, samples, bytes, created_at;
    double density; /* NaN where there is none */
    bool stage_end;
    bool kept; /* the bytes are there */
    uint8_t sha256[32];
    const char *maker; /* of the store that wrote it; "" when it is not known */
};
/* Oldest first. */
enum status storage_chain_list(struct storage *storage, const char *id, struct arena *arena,
                               struct storage_link **links, size_t *count, struct error *err);

/* ---- jobs from elsewhere ------------------------------------------------------------------------- */

struct storage_import_checkpoint {
    struct storage_checkpoint_new what;
    int64_t seq; /* ascending from 1 */
    const void *bytes;
    size_t count;
};
struct storage_import {
    const char *kind, *preset, *name, *config; /* none NULL */
    const char *progress, *result;             /* NULL: none */
    const struct storage_import_checkpoint *checkpoints;
    size_t count;
    const struct storage_series *series; /* steps of each ascending */
    size_t series_count;
};
/* A job that has succeeded, with its checkpoints (pinned) and series, in one transaction. Everything is borrowed. */
enum status storage_job_import(struct storage *storage, const struct storage_import *in, char id[STORAGE_ID],
                               struct error *err);

/* ---- artifacts ----------------------------------------------------------------------------------- */

#define STORAGE_ARTIFACT_BYTES (16u << 20) /* most bytes of one */

struct storage_artifact {
    const char *name, *media_type;
    int64_t bytes, created_at;
};

/* Replaces one of the same name. Names are [a-z0-9.-]{1,64} and do not start with a dot. */
enum status storage_artifact_put(struct storage *storage, const char *id, const char *name, const char *media_type,
                                 const void *bytes, size_t count, struct error *err);
enum status storage_artifact_list(struct storage *storage, const char *id, struct arena *arena,
                                  struct storage_artifact **artifacts, size_t *count, struct error *err);
/* The bytes live in the arena. */
enum status storage_artifact_get(struct storage *storage, const char *id, const char *name, struct arena *arena,
                                 struct storage_artifact *out, const void **bytes, struct error *err);

/* ---- tokens -------------------------------------------------------------------------------------- */

struct storage_token {
    uint8_t hash[32]; /* of the secret; the secret itself is never stored */
    char name[64];    /* unique among tokens that are neither revoked nor expired */
    int scope;        /* meaning belongs to the rooms above */
    int64_t created_at;
    int64_t expires_at; /* 0: never */
    bool revoked;
};

/* created_at and revoked of `token` are ignored. CONFLICT: the hash or name is taken. */
enum status storage_token_add(struct storage *storage, const struct storage_token *token, struct error *err);
/* NOT_FOUND as well when it is revoked or expired. */
enum status storage_token_find(struct storage *storage, const uint8_t hash[32], struct storage_token *out,
                               struct error *err);
enum status storage_token_list(struct storage *storage, struct arena *arena, struct storage_token **tokens,
                               size_t *count, struct error *err);
/* Every live token of that name; NOT_FOUND when there is none. */
enum status storage_token_revoke(struct storage *storage, const char *name, struct error *err);

/* ---- leases: jobs that another process trains ------------------------------------------------------- */

#define STORAGE_LEASE_HASH 32
#define STORAGE_FOREIGN 64 /* bytes of a foreign id with its NUL */

struct storage_lease {
    char job[STORAGE_ID];
    enum lease_state state;
    int64_t epoch;          /* grows with every grant and every hello */
    const char *executor;   /* that granted it */
    const char *foreign_id; /* of what was started: a process, a job of a cluster; "" when that is not known */
    int64_t sequence;       /* of the newest report that is stored */
    int tries;              /* leases since the job's newest checkpoint */
    int64_t seen;           /* the trainer's last word */
    enum job_event ending;  /* ENDED: how, and with which document; the other one is NULL */
    const char *result, *error;
};

/* Each follows lease_state.h: CONFLICT where the table refuses, or the epoch is another. All urgent. */

/* Of a running job. *tries counts this one. */
enum status storage_lease_grant(struct storage *storage, const char *id, const uint8_t hash[STORAGE_LEASE_HASH],
                                const char *executor, int *tries, struct error *err);
/* The same, and the foreign id in the same transaction. */
enum status storage_lease_grant_to(struct storage *storage, const char *id, const uint8_t hash[STORAGE_LEASE_HASH],
                                   const char *executor, const char *foreign_id, int *tries, struct error *err);
enum status storage_lease_foreign(struct storage *storage, const char *id, const char *foreign_id, struct error *err);
enum status storage_lease_register(struct storage *storage, const char *id, int64_t *epoch, struct error *err);
/* After what the word carries: that is on disk too when this returns. sequence: of a report; 0: another word. */
enum status storage_lease_message(struct storage *storage, const char *id, int64_t epoch, int64_t sequence,
                                  struct error *err);
enum status storage_lease_end(struct storage *storage, const char *id, int64_t epoch, enum job_event event,
                              const char *result, const char *error, struct error *err);
enum status storage_lease_close(struct storage *storage, const char *id, struct error *err);

/* Reads. NOT_FOUND: the job never had one; no live lease has such a token. */
enum status storage_lease_get(struct storage *storage, const char *id, struct arena *arena, struct storage_lease *out,
                              struct error *err);
enum status storage_lease_find(struct storage *storage, const uint8_t hash[STORAGE_LEASE_HASH], struct arena *arena,
                               struct storage_lease *out, struct error *err);

/* ---- what was changed, by whom ------------------------------------------------------------------- */

#define STORAGE_AUDIT_KEPT 100000 /* newest entries; older ones go */

struct storage_audit {
    int64_t id, time;
    char who[64];     /* the token's name; "" where none was needed */
    char peer[48];    /* address of the other end */
    char request[40]; /* unique */
    char method[8], target[200];
    int status;            /* of the answer; 0: the process ended before it was given */
    char made[STORAGE_ID]; /* a job that came of it, or "" */
};

/* Before a change is tried: lazy, so on disk no later than the change itself. Then how it was answered, lazy too. */
enum status storage_audit_begin(struct storage *storage, const struct storage_audit *entry, struct error *err);
enum status storage_audit_end(struct storage *storage, const char *request, int answer, const char *made,
                              struct error *err);
/* Newest first, with ids below `before`. */
enum status storage_audit_list(struct storage *storage, int64_t before, int limit, struct arena *arena,
                               struct storage_audit **entries, size_t *count, struct error *err);

#endif
