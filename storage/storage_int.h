/* Private declarations of storage: the writing thread and its commands, the pool of readers, the holds that keep a
 * checkpoint while it is read, and the check after an unclean stop. Only files of storage/ include this. */
#ifndef MOTIF_STORAGE_STORAGE_INT_H
#define MOTIF_STORAGE_STORAGE_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "storage/database/db.h"
#include "storage/database/schema.h"
#include "storage/storage.h"

/* ---- commands (writer.c) ------------------------------------------------------------------------- */

enum manner { MANNER_URGENT, MANNER_LAZY, MANNER_BULK };

/* One change to the database. The writing thread runs it inside a transaction and a savepoint of its own. A command is
 * the first member of a larger struct that holds the arguments. run() is called once, except for commands with a retry
 * rule. It must not change anything outside the database that a rollback would have to undo. It reports a failure by
 * its status. */
struct command;

/* How lazy commands of one kind wait in the retry queue (retry_queue.c). */
struct retry_rule {
    /* Returns whether both commands change the same rows, so that their order must be kept. */
    bool (*same)(const struct command *earlier, const struct command *later);
    /* Moves the content of `later` into `earlier` and updates earlier->bytes. Returns false if it cannot. */
    bool (*join)(struct command *earlier, struct command *later);
};

struct command {
    enum status (*run)(struct storage *storage, struct db *db, struct command *command, struct error *err);
    void (*destroy)(struct command *command); /* frees a lazy command */
    size_t bytes;                             /* memory that a lazy command uses */
    bool adds_events;                         /* whether the command added events; run() may set it */
    bool ordered;                   /* the command fails with FULL while older lazy commands are in the retry queue */
    const struct retry_rule *retry; /* how a lazy command waits when the disk is full; NULL: it is lost */
    /* The other members belong to writer.c. */
    struct command *next;
    enum manner manner;
    bool done;
    bool full; /* true: the command failed because the disk is full */
    enum status status;
    struct error error;
};

struct writer {
    struct db db; /* after the start, only the writing thread uses it */
    /* Cleans up after the last process. NULL: done. If the disk was full at the start, the writing thread calls this
     * before the next commit. */
    enum status (*recover)(struct storage *storage, struct error *err);
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t work;   /* wakes the writing thread */
    pthread_cond_t change; /* wakes callers: a command is done, or the queue has space */
    /* The lock protects these members: */
    struct command *head, **tail; /* urgent and lazy commands in order of arrival */
    struct command *open;         /* the first lazy command after the last urgent one; NULL if there is none */
    struct command *bulk_head, **bulk_tail;
    /* urgent: number of queued urgent commands; depth: number of all queued commands; blocked: number of callers that
     * wait for space in the queue */
    int urgent, depth, blocked;
    size_t lazy_bytes;
    int64_t lazy_due;    /* monotonic ms at which the oldest lazy command must be committed */
    bool closing, sweep; /* closing: the store is closing; sweep: the table `pending_delete` may have rows */
    bool tidy;           /* true: truncate the write-ahead log when no commands arrive */
    int64_t commits, commands;
    double commit_seconds, commit_seconds_max;
    struct histogram commit_times;
    /* Only the writing thread uses these members: */
    int wal_frames, wal_next;    /* wal_frames: number of frames in the write-ahead log; wal_next: number of frames at
                                    which the log is copied into the database file */
    int synchronous;             /* level of PRAGMA synchronous on the connection; -1: unknown */
    struct command *retry_queue; /* commands that wait for disk space, in order of arrival (retry_queue.c) */
    size_t retry_bytes;
    int64_t retry_due; /* monotonic ms of the next retry */
    /* All threads use these members: */
    atomic_bool failed;
    atomic_llong points_dropped;
};

/* Starts the writing thread. */
enum status writer_start(struct storage *storage, struct error *err);
void writer_stop(struct storage *storage); /* Commits all queued commands, then ends the thread. */

/* Runs an urgent command and waits for its commit. The command may be on the caller's stack. */
enum status writer_call(struct storage *storage, struct command *command, struct error *err);
/* Queues a lazy command and owns it from then on, also if this fails. */
enum status writer_post(struct storage *storage, struct command *command, struct error *err);
/* Offers new content to queued lazy commands that have this `run` and came after the last urgent command, until one
 * takes it. merge() returns whether the command takes the content; if so, it updates queued->bytes. Looks at no more
 * than 64 commands. Returns whether one took the content. */
bool writer_merge(struct storage *storage,
                  enum status (*run)(struct storage *, struct db *, struct command *, struct error *),
                  bool (*merge)(struct command *queued, void *context), void *context);
/* Queues a bulk command (which writes bytes of a checkpoint) and returns at once. The caller still owns the command,
 * and calls writer_wait() before it uses the command again. */
enum status writer_bulk(struct storage *storage, struct command *command, struct error *err);
enum status writer_wait(struct storage *storage, struct command *command, struct error *err);
/* Runs on the writing thread. Moves commands that have a retry rule from the list to the retry queue (retry_queue.c).
 * If `full`, moves only those that failed because the disk is full. Commands beyond the memory limit of the queue are
 * lost. */
void retry_keep(struct storage *storage, struct command **list, bool full);
/* Empties the retry queue and returns its commands as a list. */
struct command *retry_release(struct storage *storage);

/* Tells the writing thread that it may have rows to delete: a transaction has listed some in the table
 * `pending_delete`, or the last reader of a checkpoint has finished. */
void writer_want_sweep(struct storage *storage);

/* ---- the digest of a copy (digest.c) ---------------------------------------------------------------- */

/* Stores a digest of the schema and of every row in the table `digest`, which only copies have. */
enum status digest_store(struct db *db, struct error *err);
/* Compares the contents with this digest. CORRUPT: they differ, or the file has none. */
enum status digest_verify(struct db *db, struct error *err);

/* verify.c: verifies an open database in the caller's transaction, as storage_verify() does, except for the digest of a
 * copy. CORRUPT: no part of the database can be read. */
struct storage_watch;
struct storage_verify_report;
enum status verify_database(struct db *db, const struct storage_watch *watch, struct storage_verify_report *report,
                            struct error *err);

/* ---- readers (reader.c) -------------------------------------------------------------------------- */

struct readers {
    struct db *db;
    bool *busy;
    int count;
    pthread_mutex_t lock;
    pthread_cond_t change;
};

/* Opens one connection with the settings of the pool. */
enum status reader_open(struct storage *storage, struct db *db, struct error *err);
/* Opens `count` connections, which are the pool. */
enum status readers_open(struct storage *storage, int count, struct error *err);
/* Closes all connections of the pool. */
void readers_close(struct storage *storage);
/* Takes a free connection from the pool; waits for one if necessary and never fails. A thread must not take two at a
 * time. */
struct db *reader_take(struct storage *storage);
void reader_give(struct storage *storage, struct db *db);
/* Takes a connection like reader_take() and begins a transaction, so that several statements read the same state. */
enum status reader_begin(struct storage *storage, struct db **db, struct error *err);
void reader_end(struct storage *storage, struct db *db);

/* ---- holds and the sweep (sweep.c) ----------------------------------------------------------------- */

/* Some rows take long to delete: the chunks of a checkpoint, the points of a series, the events of a job. A transaction
 * that makes such rows unreachable only lists them in the table `pending_delete`. The writer removes them step by step
 * when it has nothing else to do. A hold keeps the chunks of a checkpoint while a reader reads them. */
struct hold {
    struct hold *next;
    int64_t checkpoint;
    int count;
};
struct holds {
    pthread_mutex_t lock;
    struct hold *first;
};

/* Begins the hold of a reader on a checkpoint. */
enum status hold_add(struct storage *storage, int64_t checkpoint, struct error *err);
/* Ends the hold. Returns true if it was the last hold on this checkpoint; the caller then calls writer_want_sweep(). */
bool hold_release(struct storage *storage, int64_t checkpoint);
/* Removes a bounded number of rows or, if none is left to remove, of free pages; *more: there are more of them. */
enum status sweep_step(struct storage *storage, struct db *db, bool *more, struct error *err);
/* compact.c: returns a bounded number of free pages to the file system if there are many; *more: the next step would,
 * too. In a transaction. */
enum status compact_step(struct db *db, bool *more, struct error *err);
/* In a transaction: lists the checkpoints, series and events of a job in the table `pending_delete`, and deletes the
 * rows of these checkpoints and series. */
enum status delete_job_later(struct db *db, int64_t job, struct error *err);
/* In a transaction: lists a checkpoint in the table `pending_delete`, and deletes its row. */
enum status delete_checkpoint_later(struct db *db, int64_t checkpoint, struct error *err);

/* ---- checking (check.c) ------------------------------------------------------------------------------ */

struct check {
    struct db db; /* the check thread's connection */
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool ended;   /* protected by the lock */
    bool reading; /* protected by the lock; true while a statement runs that may be interrupted */
    atomic_bool stop;
    _Atomic enum storage_check state;
    /* What sample.c has read since the store was opened. faults: those of the last pass, or of the present one if it
     * has found more. */
    _Atomic int64_t rows, checkpoints, files, faults, passes;
};

/* After an unclean stop, checks the tables that must be sound before the store opens. Runs on the writing connection,
 * before the writing thread exists. */
enum status check_at_start(struct storage *storage, struct error *err);
/* Starts the thread that checks the remaining tables, if there are any, and then reads stored data again (sample.c), if
 * options.sample_seconds asks for it. */
enum status check_start(struct storage *storage, struct error *err);
/* The writing thread calls this when it could not copy the whole write-ahead log into the database file. If the log has
 * reached the size check_log_bytes, interrupts the statement with which the check reads a table, because SQLite cannot
 * restart the log at its beginning while that statement runs. */
void check_give_way(struct storage *storage, int64_t log_bytes);
/* For the check thread: waits, at most until it must stop; marks the time in which its statements may be interrupted.
 */
void check_wait(const struct check *check, double seconds);
void check_reading(struct check *check, bool reading);
/* Reads all stored data, piece by piece, and compares them with their digests, again and again until the thread must
 * stop (sample.c). */
void sample_until_stopped(struct storage *storage);
/* Parts of verify_database(). verify_table(): the rows of a table. verify_checkpoint(): the bytes of the first complete
 * checkpoint whose number is above *id; *id becomes its number, or -1 if there is none. CANCELLED: interrupted. */
enum status verify_table(struct db *db, const char *table, const struct storage_watch *watch,
                         struct storage_verify_report *report, struct error *err);
enum status verify_checkpoint(struct db *db, int64_t *id, const struct storage_watch *watch,
                              struct storage_verify_report *report, struct error *err);
/* Ends the check thread. Returns true if nothing is left to check and no damage was found. */
bool check_stop(struct storage *storage);

/* ---- the store and shared helpers -------------------------------------------------------------------- */

struct id_source {      /* source of job ids; only the writing thread uses it */
    uint64_t high, low; /* the upper and lower 64 bits of the last id: 48 bits of milliseconds, 80 random bits */
};

struct file_identity { /* identifies the opened file, even if its path later names another file */
    bool known;
    dev_t device;
    ino_t inode;
};

struct storage {
    struct storage_options options; /* path and vfs are copies */
    struct log_hook log;
    char *path, *wal_path, *vfs;
    int lock_fd;
    int file_fd; /* the database file; open and locked until SQLite has closed it */
    struct file_identity file, wal;
    struct id_source ids;
    struct writer writer;
    struct readers readers;
    struct holds holds;
    struct check check;
};

#define STORAGE_CHUNK ((size_t)1 << 20) /* bytes of a checkpoint in one row */
#define CHUNK_BITS 20 /* chunk.id = checkpoint.id << CHUNK_BITS | index of the chunk in the checkpoint */
#define CHUNKS_MAX ((int64_t)1 << CHUNK_BITS)
#define BLOCK_BITS 24       /* block.id = series.id << BLOCK_BITS | index of the block in the series */
#define PROGRESS_EVENTS 600 /* number of the newest progress events that the store keeps for each job */
#define BLOCK_POINTS 240    /* points of a series in one row; all rows of a series but the last are full */

int64_t clock_now_ms(void); /* milliseconds since 1970 */
int64_t clock_monotonic_ms(void);
double clock_seconds(void); /* seconds of the monotonic clock */
/* Returns the time for a new row, on the writing connection: clock_now_ms(), but not before the time of the previous
 * row. So events stay in order when the clock is set back. If the clock is set back by more than a day, the earlier
 * times were probably wrong, and the function returns the time of the clock. */
int64_t db_stamp(struct db *db);
enum status db_stamp_resume(struct db *db, struct error *err); /* makes db_stamp() continue after the newest event */

/* id.c: reads the id of the newest job from the database, because the next id must be larger. */
enum status id_resume(struct id_source *ids, struct db *db, struct error *err);
/* Creates the next id. */
enum status id_next(struct id_source *ids, int64_t now_ms, char id[STORAGE_ID], struct error *err);

/* file.c: returns a path with an ending such as "-wal", or a copy of a text (ending ""); NULL: no memory. The caller
 * frees it. */
char *path_beside(const char *path, const char *ending);
/* Opens, creates and locks the database file, and records its identity. CONFLICT: another process has it open,
 * perhaps under another name. storage_close() closes the descriptor. */
enum status file_hold(struct storage *storage, struct error *err);
/* From now on, SQLite reports a write beyond a quota or beyond the limit on the size of files as it reports a full
 * disk, after which the store continues. Otherwise the store would refuse all further writes. */
void file_limits_are_full(void);
/* Records which file is the write-ahead log, which SQLite keeps while a connection is open. */
enum status file_identify_log(struct storage *storage, struct error *err);
/* Returns UNAVAILABLE if the path of the database or of its log no longer names the open file, because somebody moved,
 * replaced or deleted the file. Later writes would then be lost at the next start. Any thread may call it. */
enum status file_in_place(const struct storage *storage, struct error *err);

/* job_read.c */
/* The columns that job_row_read() reads. A statement selects them from the table `job`, or from a table with the same
 * columns. */
#define JOB_COLUMNS                                                                                                    \
    "id, kind, preset, name, task, state, requested_state, priority, threads, config, params, progress, result, "      \
    "error,"                                                                                                           \
    " source_job, source_checkpoint, created_at, started_at, finished_at, version, progress_version,"                  \
    " owner, executor, ranks, trace,"                                                                                  \
    " (SELECT json_group_array(tag) FROM (SELECT tag FROM job_tag WHERE job_tag.job = num ORDER BY tag)), study, "     \
    "team,"                                                                                                            \
    " visibility, pinned, used_at"
/* Reads a row of JOB_COLUMNS. The texts are in the arena. */
enum status job_row_read(sqlite3_stmt *stmt, struct arena *arena, struct storage_job *out, struct error *err);

/* job_read.c */
/* Replaces the tags of a job; `tags` is a JSON list of texts. Equal tags are stored once. */
enum status job_set_tags(struct db *db, int64_t job, const char *tags, struct error *err);
/* Returns `text`, or "" for NULL. */
const char *or_empty(const char *text);
/* Returns the internal number of a job. NOT_FOUND: no job has this id. */
enum status job_number(struct db *db, const char *id, int64_t *number, struct error *err);
/* Adds a job with this id and returns its number. job->id and the versions are ignored: a new job has version 1. NULL
 * texts become "" where the table does not allow NULL. `last_seq`: sequence number of the job's last checkpoint.
 */
enum status job_insert(struct db *db, const char *id, const struct storage_job *job, int64_t last_seq, int64_t *number,
                       struct error *err);
/* Adds an event with the current time. The caller has begun a transaction. */
enum status event_add(struct db *db, int64_t job, const char *type, const char *data, struct error *err);
/* event.c: adds an event of type "progress"; a job keeps the newest PROGRESS_EVENTS of them. */
enum status event_add_progress(struct db *db, int64_t job, const char *data, struct error *err);
/* policy.c: stores the time at which a job was used, unless it was used within STORAGE_USE_MS before. */
enum status job_set_used(struct db *db, const char *id, int64_t now, struct error *err);
/* The checkpoints `c` of the job whose number is the SQL expression `job` that are neither its model (the latest one
 * and the one with the best accuracy) nor pinned, and from which no unfinished job starts. Of checkpoints with equal
 * accuracy, the latest counts as best, because its annealing has progressed furthest. */
#define SPARE_CHECKPOINTS(job)                                                                                         \
    " FROM checkpoint AS c WHERE c.job = " job " AND c.complete AND NOT c.pinned"                                      \
    " AND c.seq <> (SELECT max(m.seq) FROM checkpoint AS m WHERE m.job = " job " AND m.complete)"                      \
    " AND c.seq IS NOT (SELECT b.seq FROM checkpoint AS b WHERE b.job = " job " AND b.complete"                        \
    "   AND b.accuracy IS NOT NULL ORDER BY b.accuracy DESC, b.seq DESC LIMIT 1)"                                      \
    " AND NOT EXISTS (SELECT 1 FROM job AS u WHERE u.source_job = (SELECT s.id FROM job AS s WHERE s.num = " job ")"   \
    "   AND u.source_job <> '' AND u.source_checkpoint = c.seq AND u.state IN ('queued', 'running', 'paused'))"
/* job_read.c: do the work of storage_owner_bytes() and storage_team_bytes() on a connection that the caller has taken.
 */
enum status owner_bytes(struct db *db, const char *owner, int64_t *bytes, struct error *err);
enum status team_bytes(struct db *db, const char *team, int64_t *bytes, struct error *err);
/* outbox.c: adds the notice of a job that has ended. The caller has begun a transaction. */
enum status notice_add(struct db *db, int64_t job, struct error *err);
/* job.c: applies an event to a job. Sets *state and *requested whenever the job exists, also if the event is refused
 * (CONFLICT). */
enum status job_apply_event(struct db *db, int64_t job, enum job_event event, struct command *command,
                            enum job_state *state, enum requested_state *requested, struct error *err);
/* Deletes a job that the caller has found to be finished. CONFLICT: an unfinished job starts from it. */
enum status job_delete_finished(struct db *db, int64_t job, struct error *err);
/* Applies JOB_EVENT_YIELD to every running job. */
enum status job_recover(struct db *db, int64_t *count, struct error *err);

/* Adds the row with the facts of a complete checkpoint to the table `chain`. The caller has begun a
 * transaction. */
enum status chain_add(struct storage *storage, struct db *db, int64_t checkpoint, struct error *err);

/* metric.c: does the work of storage_job_rewind() in a transaction. */
enum status metric_rewind(struct db *db, int64_t job, int64_t last_step, struct error *err);
/* Adds a complete series that the job does not have yet. */
enum status metric_fill(struct db *db, int64_t job, const struct storage_series *series, struct error *err);

#endif
