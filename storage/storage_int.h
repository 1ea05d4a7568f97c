/* Private parts of storage: the writer and its commands, the readers, the holds. */
#ifndef MOTIF_STORAGE_STORAGE_INT_H
#define MOTIF_STORAGE_STORAGE_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "storage/database/db.h"
#include "storage/database/migrate.h"
#include "storage/storage.h"

/* ---- commands (writer.c) ------------------------------------------------------------------------- */

enum manner { MANNER_URGENT, MANNER_LAZY, MANNER_BULK };

/* One change, run on the writing thread inside a transaction and a savepoint of its own. A command is
 * the first member of a larger struct that holds its arguments. It may be run only once, must not
 * keep anything outside the database that a rollback would falsify, and fails by returning a status. */
struct command;

/* How lazy commands wait for room (kept.c); such may be run again. */
struct retry_rule {
    bool (*same)(const struct command *earlier,
                 const struct command *later); /* belong together, and must come in this order */
    bool (*join)(struct command *earlier,
                 struct command *later); /* takes over what `later` carries, adds to earlier->bytes; false: cannot */
};

struct command {
    enum status (*run)(struct storage *storage, struct db *db, struct command *command, struct error *err);
    void (*destroy)(struct command *command); /* lazy ones: frees it */
    size_t bytes;                             /* lazy ones: held in memory */
    bool adds_events;                         /* may be set by run() */
    const struct retry_rule *retry; /* lazy ones that wait for room where the disk is full; NULL: they are lost */
    /* the rest belongs to writer.c */
    struct command *next;
    enum manner manner;
    bool done;
    bool full; /* failed because the disk is */
    enum status status;
    struct error error;
};

struct writer {
    struct db db; /* the writing thread's alone while it lives */
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t work;   /* for the writing thread */
    pthread_cond_t change; /* for callers: a command is done, the queue has room */
    /* under the lock */
    struct command *head, **tail; /* urgent and lazy, in order */
    struct command *open;         /* first lazy command behind the last urgent one */
    struct command *bulk_head, **bulk_tail;
    int urgent, depth, blocked; /* blocked: callers that wait for room */
    size_t lazy_bytes;
    int64_t lazy_due;    /* monotonic ms at which the oldest lazy one must go */
    bool closing, sweep; /* sweep: there may be something doomed */
    bool tidy;           /* the WAL wants to be truncated when it is quiet */
    int64_t commits, commands;
    double commit_seconds, commit_seconds_max;
    struct histogram commit_times;
    /* the writing thread's alone */
    int wal_frames, wal_next;    /* in the log now; at how many to copy them back */
    int synchronous;             /* what the connection is set to; -1: unknown */
    struct command *retry_queue; /* wait for room, in the order they came (kept.c) */
    size_t retry_bytes;
    int64_t retry_due; /* monotonic ms of the next try */
    /* everybody's */
    atomic_bool failed;
    atomic_llong points_dropped;
};

enum status writer_start(struct storage *storage, struct error *err);
void writer_stop(struct storage *storage); /* writes what is queued, then ends the thread */

/* Urgent: waits for the commit; the command may live on the caller's stack. */
enum status writer_call(struct storage *storage, struct command *command, struct error *err);
/* Lazy: takes the command in any case. */
enum status writer_post(struct storage *storage, struct command *command, struct error *err);
/* Offers what a lazy command would carry to those of the same `run` that still wait behind the last
 * urgent one. merge() says whether it took it, and adds to queued->bytes. */
bool writer_merge(struct storage *storage,
                  enum status (*run)(struct storage *, struct db *, struct command *, struct error *),
                  bool (*merge)(struct command *queued, void *context), void *context);
/* Bulk: returns at once; the command stays the caller's, who must writer_wait() before reuse. */
enum status writer_bulk(struct storage *storage, struct command *command, struct error *err);
enum status writer_wait(struct storage *storage, struct command *command, struct error *err);
/* In kept.c, for the writing thread. Those of the list that may wait leave it: `full` ones, or all of them. Beyond the
 * bound they are lost. */
void retry_take(struct storage *storage, struct command **list, bool full);
/* All that waits leaves, as a list. */
struct command *retry_give(struct storage *storage);

/* Something was doomed or a hold released. */
void writer_want_sweep(struct storage *storage);

/* ---- readers (reader.c) -------------------------------------------------------------------------- */

struct readers {
    struct db *db;
    bool *busy;
    int count;
    pthread_mutex_t lock;
    pthread_cond_t change;
};

/* One connection as those of the pool are. */
enum status reader_open(struct storage *storage, struct db *db, struct error *err);
enum status readers_open(struct storage *storage, int count, struct error *err);
void readers_close(struct storage *storage);
/* Never fails: waits for a free one. Nobody may take two. */
struct db *reader_take(struct storage *storage);
void reader_give(struct storage *storage, struct db *db);
/* The same with a transaction around, so that several statements see one state. */
enum status reader_begin(struct storage *storage, struct db **db, struct error *err);
void reader_end(struct storage *storage, struct db *db);

/* ---- holds and the sweep (sweep.c) ----------------------------------------------------------------- */

/* Rows that nobody can find any more but that take time to delete (the chunks of a checkpoint, the
 * points of a series, the events of a job) are listed in the table `doomed` by the transaction that
 * dooms them and removed step by step when the writer has nothing better to do. A checkpoint that
 * somebody is reading is left until he has closed it. */
struct hold {
    struct hold *next;
    int64_t checkpoint;
    int count;
};
struct holds {
    pthread_mutex_t lock;
    struct hold *first;
};

enum status hold_add(struct storage *storage, int64_t checkpoint, struct error *err);
bool hold_release(struct storage *storage, int64_t checkpoint);
/* One bounded step; *more: call again. */
enum status sweep_step(struct storage *storage, struct db *db, bool *more, struct error *err);
/* Dooms everything of a job that has no foreign key, and its checkpoints. In a transaction. */
enum status doom_job(struct db *db, int64_t job, struct error *err);
enum status doom_checkpoint(struct db *db, int64_t checkpoint, struct error *err);

/* ---- checking (check.c) ------------------------------------------------------------------------------ */

struct check {
    struct db db; /* the thread's */
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool ended;   /* under the lock */
    bool reading; /* under the lock: a statement that may be interrupted */
    atomic_bool stop;
    _Atomic enum storage_check state;
};

/* After an unclean stop, on the writing connection before its thread has it: what must be sound before anybody is
 * answered. */
enum status check_at_start(struct storage *storage, struct error *err);
/* Begins to read what check_at_start() has left, if anything. */
enum status check_start(struct storage *storage, struct error *err);
/* On the writing thread: a check that keeps a log of so many bytes from starting over is put off. */
void check_give_way(struct storage *storage, int64_t log_bytes);
/* Ends that; whether nothing is left to be checked or was found. */
bool check_stop(struct storage *storage);

/* ---- the rest ------------------------------------------------------------------------------------ */

struct id_source {      /* of job ids; the writing thread's alone */
    uint64_t high, low; /* the last id: 48 bits of milliseconds, 80 of chance */
};

struct storage {
    struct storage_options options; /* path and vfs are copies */
    struct log_hook log;
    char *path, *wal_path, *vfs;
    int lock_fd;
    struct id_source ids;
    struct writer writer;
    struct readers readers;
    struct holds holds;
    struct check check;
};

#define STORAGE_CHUNK ((size_t)1 << 20) /* bytes of a checkpoint in one row */
#define CHUNK_BITS 20                   /* chunk.id = checkpoint.id << CHUNK_BITS | number */
#define CHUNKS_MAX ((int64_t)1 << CHUNK_BITS)
#define BLOCK_BITS 24       /* block.id = series.id << BLOCK_BITS | number */
#define PROGRESS_EVENTS 600 /* of a job */
#define BLOCK_POINTS 240    /* points of a series in one row; all but the last row are full */

int64_t clock_now_ms(void); /* since 1970 */
int64_t clock_monotonic_ms(void);
double clock_seconds(void); /* monotonic */
/* The time for a row, on the writing connection: as clock_now_ms(), but not before the row that came before, so that
 * the order of events is that of their times though somebody sets the clock back. A clock that is a day behind was
 * wrong before: from then on it counts. */
int64_t db_stamp(struct db *db);
enum status db_stamp_resume(struct db *db, struct error *err); /* after the newest event */

/* id.c */
enum status id_resume(struct id_source *ids, struct db *db, struct error *err);
enum status id_next(struct id_source *ids, int64_t now_ms, char id[STORAGE_ID], struct error *err);

/* job_row.c */
/* The internal number of a job. NOT_FOUND: no job has this id. */
enum status job_number(struct db *db, const char *id, int64_t *number, struct error *err);
/* Adds a job with this id and returns its number. job->id and the versions are ignored: a new job has version 1. NULL
 * texts that the table does not allow become "". `last_seq` is the number of its last checkpoint. */
enum status job_insert(struct db *db, const char *id, const struct storage_job *job, int64_t last_seq, int64_t *number,
                       struct error *err);
enum status event_add(struct db *db, int64_t job, const char *type, const char *data, struct error *err);
/* event.c: the same for "progress", of which a job keeps the newest PROGRESS_EVENTS. */
enum status event_add_progress(struct db *db, int64_t job, const char *data, struct error *err);
/* job.c: yields every running job. */
enum status job_recover(struct db *db, int64_t *count, struct error *err);

/* chain.c: the link of a checkpoint that is complete. In a transaction. */
enum status chain_add(struct storage *storage, struct db *db, int64_t checkpoint, struct error *err);

/* metric.c */
enum status metric_rewind(struct db *db, int64_t job, int64_t last_step, struct error *err);
/* A series that the job does not have yet, whole. */
enum status metric_fill(struct db *db, int64_t job, const struct storage_series *series, struct error *err);

#endif
