/* Verifies a database. A statement that finds damage ends with SQLITE_CORRUPT, which is a fault of its table; all other
 * tables are still read.
 *
 * The rows come first: when their faults are known, a message about an index can say whether the index alone is
 * damaged. */
#include "storage/database/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "storage/database/row_digest.h"
#include "storage/database/visit.h"
#include "storage/storage_int.h"

/* ---- what rows are, and what the operator can do --------------------------------------------------------- */

#define RESTORE "restore the last backup"
#define OR_DELETE RESTORE ", or export what can still be read and delete the job"
#define OF_JOB(number) "(SELECT coalesce(min(id), 'that does not exist') FROM job WHERE num = " number ")"
#define OF_SERIES(series)                                                                                              \
    "(SELECT coalesce(min(s.name || ' of job ' || j.id), 'that does not exist')"                                       \
    " FROM series s JOIN job j ON j.num = s.job WHERE s.id = " series ")"

static const struct named_table {
    const char *table;
    const char *label; /* SQL: the name of the row `t` for a person */
    const char *remedy;
} named_tables[] = {
    {"answer", "'answer about mark ' || t.mark || ' of job ' || " OF_JOB("t.job"), OR_DELETE},
    {"artifact", "'file ' || t.name || ' of job ' || " OF_JOB("t.job"), OR_DELETE},
    {"audit", "'entry ' || t.id || ' of the audit log, request ' || t.request", RESTORE},
    {"block", "'points of the curve ' || " OF_SERIES("t.id >> 24"), OR_DELETE "; the models are not affected"},
    {"chain", "'record of checkpoint ' || t.seq || ' of job ' || " OF_JOB("t.job"), OR_DELETE},
    {"checkpoint", "'record of checkpoint ' || t.seq || ' of job ' || " OF_JOB("t.job"), OR_DELETE},
    {"dataset_use", "'last use of data set ' || t.name", RESTORE},
    {"event", "'event ' || t.id || ' of job ' || " OF_JOB("t.job"), OR_DELETE "; the models are not affected"},
    {"idempotency", "'idempotency key of job ' || " OF_JOB("t.job"), OR_DELETE},
    {"job", "'job ' || t.id", OR_DELETE},
    {"job_tag", "'tag ' || t.tag || ' of job ' || " OF_JOB("t.job"), "set the tags of the job again"},
    {"lease", "'lease of job ' || " OF_JOB("t.job"), RESTORE ", or cancel the job"},
    {"meta", "'setting ' || t.key || ' of the store'", RESTORE},
    {"outbox", "'notice ' || t.id || ' of job ' || t.job", RESTORE "; the daemon removes the notice when it is sent"},
    {"pending_delete", "'mark of deleted rows ' || t.kind || ' ' || t.id", RESTORE},
    {"policy", "'the policies of retention'", RESTORE ", or set the policies again"},
    {"pyramid", "'summary of the curve ' || " OF_SERIES("t.series"), OR_DELETE "; the models are not affected"},
    {"series", "'curve ' || t.name || ' of job ' || " OF_JOB("t.job"), OR_DELETE "; the models are not affected"},
    {"sqlite_sequence", "'next number of table ' || t.name", RESTORE},
    {"study", "'study ' || t.id", RESTORE ", or export what can still be read and delete the study"},
    {"tally", "'number of rows ' || t.what", RESTORE},
    {"token", "'token ' || t.name", RESTORE ", or revoke the token and create another"},
};

static const struct named_table *find_named(const char *table)
{
    for (size_t i = 0; i < sizeof named_tables / sizeof named_tables[0]; i++)
        if (strcmp(named_tables[i].table, table) == 0)
            return &named_tables[i];
    return NULL;
}

/* ---- faults ---------------------------------------------------------------------------------------------- */

struct verifying {
    struct db *db;
    const struct storage_watch *watch;
    struct storage_verify_report *report;
    int64_t page_count, misses; /* misses: pages that were read before the check of the structure */
};

static void fault(struct verifying *v, const char *where, const char *what, const char *remedy)
{
    const struct storage_fault found = {where, what, remedy};
    v->report->faults++;
    if (v->watch->fault != NULL)
        v->watch->fault(v->watch->context, &found);
}

static void table_fault(struct verifying *v, const char *table, const char *what, const char *remedy)
{
    char where[100];
    (void)snprintf(where, sizeof where, "table %.80s", table);
    fault(v, where, what, remedy);
}

static void progress(const struct verifying *v, const char *what, int64_t done, int64_t all)
{
    if (v->watch->progress != NULL)
        v->watch->progress(v->watch->context, what, done, all);
}

/* Whether a statement failed because of the bytes of the file. A damaged definition gives SQLITE_ERROR, because the
 * statement names a column that the definition does not have. */
static bool is_damage(const struct db *db, enum status status)
{
    return status == STATUS_CORRUPT || (status == STATUS_INTERNAL && (db->last_code & 0xff) == SQLITE_ERROR);
}

/* Ends a statement about a table. Damage and failed reads are faults of the table, after which the check goes on. */
static enum status settle(struct verifying *v, const char *table, enum status status, struct error *err)
{
    bool damaged = is_damage(v->db, status);
    if (!damaged && status != STATUS_IO)
        return status;
    error_clear(err);
    table_fault(v, table,
                damaged ? "is damaged: some of its rows cannot be read" : "cannot be read: the disk reports an error",
                RESTORE);
    return STATUS_OK;
}

/* Runs a statement that sqlite3_mprintf() made, frees it, and calls `row` for each of its rows. */
static enum status each(struct verifying *v, char *sql, void (*row)(struct verifying *v, sqlite3_stmt *stmt, void *to),
                        void *to, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sql == NULL)
        return error_memory(err, "the check of the database");
    int code = sqlite3_prepare_v2(v->db->handle, sql, -1, &stmt, NULL);
    sqlite3_free(sql);
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        row(v, stmt, to);
        code = SQLITE_OK;
    }
    (void)sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? STATUS_OK : db_fail(v->db, code, err);
}

/* Returns a text that is never NULL; without memory, a text that says so. */
static const char *text_of(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text != NULL ? text : "(not enough memory for the name)";
}

/* ---- the schema ------------------------------------------------------------------------------------------ */

static const char schema_sql[] = "SELECT coalesce(type, '') || ' ' || coalesce(name, '') AS what,"
                                 " coalesce(tbl_name, '') || ' ' || coalesce(sql, '') FROM sqlite_schema"
                                 " WHERE coalesce(tbl_name, '') <> 'digest' ORDER BY 1";

/* Compares the definitions in both files, in the order of their names. */
static enum status compare_definitions(struct verifying *v, struct db *pattern, struct error *err)
{
    sqlite3_stmt *own, *right;
    enum status own_status = STATUS_OK, right_status = STATUS_OK;
    enum status status = db_query(v->db, &own, err, schema_sql, "");
    if (status)
        return status;
    status = db_query(pattern, &right, err, schema_sql, "");
    if (status)
        return status;
    bool has_own = db_row(v->db, own, &own_status, err), has_right = db_row(pattern, right, &right_status, err);
    while (has_own || has_right) {
        int order = !has_own ? 1 : !has_right ? -1 : strcmp(text_of(own, 0), text_of(right, 0));
        if (order < 0)
            fault(v, text_of(own, 0), "is not part of the schema", RESTORE);
        if (order > 0)
            fault(v, text_of(right, 0), "is missing", RESTORE);
        if (order == 0 && strcmp(text_of(own, 1), text_of(right, 1)) != 0)
            fault(v, text_of(own, 0), "has another definition than in this program", RESTORE);
        if (order <= 0)
            has_own = db_row(v->db, own, &own_status, err);
        if (order >= 0)
            has_right = db_row(pattern, right, &right_status, err);
    }
    return own_status ? own_status : right_status;
}

/* Returns a digest of all definitions. */
static enum status digest_schema(struct db *db, unsigned char digest[ROW_DIGEST_BYTES], struct error *err)
{
    static const char sql[] = "SELECT row_digest(coalesce(group_concat(d, ';'), '')) FROM"
                              " (SELECT type || name || ' ' || tbl_name || ' ' || coalesce(sql, '') AS d"
                              " FROM sqlite_schema WHERE tbl_name <> 'digest' ORDER BY type, name)";
    sqlite3_stmt *stmt;
    enum status status = db_query(db, &stmt, err, sql, "");
    if (!status && db_row(db, stmt, &status, err)) {
        const void *bytes = db_blob(stmt, 0, ROW_DIGEST_BYTES);
        if (bytes != NULL)
            memcpy(digest, bytes, ROW_DIGEST_BYTES);
        else
            status = error_memory(err, "the check of the database");
        db_done(stmt);
    }
    return status;
}

/* A failure of the schema in memory says nothing about the file. */
static enum status no_pattern(struct error *err)
{
    error_clear(err);
    return error_memory(err, "the check of the database");
}

static enum status compare_schema(struct verifying *v, struct db *pattern, struct error *err)
{
    unsigned char own[ROW_DIGEST_BYTES] = {0}, right[ROW_DIGEST_BYTES] = {1};
    enum status status = digest_schema(pattern, right, err);
    if (status)
        return no_pattern(err);
    status = digest_schema(v->db, own, err);
    return status || memcmp(own, right, sizeof own) == 0 ? status : compare_definitions(v, pattern, err);
}

static enum status check_schema(struct verifying *v, int64_t version, struct error *err)
{
    const struct schema then = {storage_schema.migrations, (size_t)version};
    struct db pattern;
    enum status status =
        db_open(&pattern, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, v->db->log, err);
    if (!status)
        status = schema_migrate(&then, &pattern, 0, err);
    if (status)
        status = no_pattern(err);
    else
        status = settle(v, "sqlite_schema", compare_schema(v, &pattern, err), err);
    db_close(&pattern);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

struct rows_seen {
    const struct named_table *named;
    const char *table;
    int64_t rows, matched, all;
};

/* Columns: the name of the row if it has another digest; whether it has any. */
static void see_row(struct verifying *v, sqlite3_stmt *stmt, void *to)
{
    struct rows_seen *seen = to;
    seen->rows++;
    seen->matched += sqlite3_column_int(stmt, 1);
    if (sqlite3_column_type(stmt, 0) != SQLITE_NULL)
        fault(v, text_of(stmt, 0), "does not match its digest", seen->named != NULL ? seen->named->remedy : RESTORE);
    if (++v->report->rows % 256 == 0 && v->report->rows <= seen->all)
        progress(v, "rows checked", v->report->rows, seen->all);
}

/* Column: the key of a digest that has no row. */
static void see_missing(struct verifying *v, sqlite3_stmt *stmt, void *to)
{
    const struct rows_seen *seen = to;
    char where[160];
    (void)snprintf(where, sizeof where, "row %lld of table %.80s", (long long)sqlite3_column_int64(stmt, 0),
                   seen->table);
    fault(v, where, "is missing, but has a digest", RESTORE);
}

/* Reports the digests that have no row. A digest has the key of its row only if this is an integer. */
static enum status find_missing(struct verifying *v, struct rows_seen *seen, const struct row_digest_sql *row,
                                int64_t digests, struct error *err)
{
    char what[80];
    if (row->integer_key)
        return each(v,
                    sqlite3_mprintf("SELECT d.key FROM row_digest d LEFT JOIN \"%w\" t ON %s = d.key"
                                    " WHERE d.name = '%q' AND %s IS NULL",
                                    seen->table, row->key, seen->table, row->key),
                    see_missing, seen, err);
    (void)snprintf(what, sizeof what, "has lost %lld rows, which have digests", (long long)(digests - seen->matched));
    table_fault(v, seen->table, what, RESTORE);
    return STATUS_OK;
}

static enum status check_rows(struct verifying *v, struct rows_seen *seen, struct error *err)
{
    struct row_digest_sql row;
    int64_t digests = 0;
    seen->named = find_named(seen->table);
    enum status status = row_digest_sql(v->db, seen->table, "t", &row, err);
    if (!status)
        status =
            each(v,
                 sqlite3_mprintf("SELECT CASE WHEN %s IS d.digest THEN NULL ELSE coalesce(%s, 'a row of table %q') END,"
                                 " d.digest IS NOT NULL FROM \"%w\" t NOT INDEXED"
                                 " LEFT JOIN row_digest d ON d.name = '%q' AND d.key = %s",
                                 row.digest, seen->named != NULL ? seen->named->label : "NULL", seen->table,
                                 seen->table, seen->table, row.key),
                 see_row, seen, err);
    if (!status)
        status =
            db_integer(v->db, &digests, 0, err, "SELECT count(*) FROM row_digest WHERE name = ?", "t", seen->table);
    if (!status && digests > seen->matched)
        status = find_missing(v, seen, &row, digests, err);
    row_digest_free(&row);
    return settle(v, seen->table, status, err);
}

/* Digests of tables that do not exist. */
static void see_stray(struct verifying *v, sqlite3_stmt *stmt, void *to)
{
    table_fault(v, text_of(stmt, 0), "does not exist, but its rows have digests", RESTORE);
}

static enum status check_all_rows(struct verifying *v, struct error *err)
{
    sqlite3_stmt *stmt;
    char table[80];
    struct rows_seen seen = {.table = table};
    enum status status = db_integer(v->db, &seen.all, 0, err, "SELECT count(*) FROM row_digest", "");
    status = settle(v, "row_digest", status, err);
    if (!status)
        status = db_query(v->db, &stmt, err, ROW_DIGEST_TABLES " UNION ALL SELECT 'sqlite_sequence'", "");
    if (status)
        return status;
    while (db_row(v->db, stmt, &status, err)) {
        if (!db_copy(stmt, 0, table, sizeof table))
            status = error_memory(err, "the check of the database");
        seen.rows = seen.matched = 0;
        if (!status)
            status = check_rows(v, &seen, err);
        if (status) {
            db_done(stmt);
            return status;
        }
    }
    status = settle(v, "sqlite_schema", status, err);
    if (!status)
        status = each(v,
                      sqlite3_mprintf("SELECT DISTINCT name FROM row_digest WHERE name <> 'sqlite_sequence'"
                                      " AND name NOT IN (SELECT name FROM sqlite_schema WHERE type = 'table')"),
                      see_stray, NULL, err);
    progress(v, "rows checked", 1, 1);
    return settle(v, "row_digest", status, err);
}

/* ---- checkpoints ----------------------------------------------------------------------------------------- */

/* Compares the bytes of one checkpoint with the stored digest; *sound is the result. */
static enum status check_bytes(struct verifying *v, int64_t id, int64_t bytes, const void *expected, bool *sound,
                               struct error *err)
{
    static const char sql[] = "SELECT data FROM chunk WHERE id >= ? AND id < ? ORDER BY id";
    unsigned char digest[HASH_BYTES];
    struct hash hash;
    sqlite3_stmt *stmt;
    int64_t seen = 0;
    hash_init(&hash);
    enum status status = db_query(v->db, &stmt, err, sql, "ii", id << CHUNK_BITS, (id + 1) << CHUNK_BITS);
    while (!status && db_row(v->db, stmt, &status, err)) {
        int count = sqlite3_column_bytes(stmt, 0);
        hash_add(&hash, sqlite3_column_blob(stmt, 0), (size_t)count);
        seen += count;
    }
    hash_finish(&hash, digest);
    *sound = !status && expected != NULL && seen == bytes && memcmp(digest, expected, HASH_BYTES) == 0;
    return status;
}

#define CHECKPOINTS                                                                                                    \
    "SELECT c.id, c.bytes, c.sha256, 'checkpoint ' || c.seq || ' of job ' || coalesce(j.id, '')"                       \
    " FROM checkpoint c LEFT JOIN job j ON j.num = c.job WHERE c.complete"

/* Compares the bytes of the checkpoint in a row of CHECKPOINTS with their digest. */
static enum status check_checkpoint(struct verifying *v, sqlite3_stmt *row, struct error *err)
{
    bool sound;
    enum status status = check_bytes(v, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1),
                                     db_blob(row, 2, HASH_BYTES), &sound, err);
    status = settle(v, "chunk", status, err);
    if (!status && !sound)
        fault(v, text_of(row, 3), "does not match its SHA-256",
              "restore the last backup, or continue the job from another checkpoint");
    v->report->checkpoints += !status;
    return status;
}

static enum status check_checkpoints(struct verifying *v, struct error *err)
{
    int64_t all = 0, done = 0;
    sqlite3_stmt *stmt;
    enum status status = db_integer(v->db, &all, 0, err, "SELECT sum(bytes) FROM checkpoint WHERE complete", "");
    if (!status)
        status = db_query(v->db, &stmt, err, CHECKPOINTS " ORDER BY c.id", "");
    if (status)
        return settle(v, "checkpoint", status, err);
    while (db_row(v->db, stmt, &status, err)) {
        int64_t bytes = sqlite3_column_int64(stmt, 1);
        status = check_checkpoint(v, stmt, err);
        if (status) {
            db_done(stmt);
            return status;
        }
        progress(v, "checkpoints checked", done += bytes, all);
    }
    return settle(v, "checkpoint", status, err);
}

/* ---- pages, indexes and references ----------------------------------------------------------------------- */

static int count_pages(void *context)
{
    const struct verifying *v = context;
    int misses = 0, most = 0;
    (void)sqlite3_db_status(v->db->handle, SQLITE_DBSTATUS_CACHE_MISS, &misses, &most, 0);
    int64_t done = misses - v->misses;
    progress(v, "pages checked", done < v->page_count ? done : v->page_count, v->page_count);
    return 0;
}

/* Reports the lines of one message of PRAGMA integrity_check, in which each line is a fault. */
static void see_structure(struct verifying *v, sqlite3_stmt *stmt, void *to)
{
    const int64_t *faults_of_rows = to;
    char line[300];
    for (const char *at = text_of(stmt, 0); *at != '\0';) {
        size_t bytes = strcspn(at, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)(bytes < sizeof line - 1 ? bytes : sizeof line - 1), at);
        at += bytes + (at[bytes] == '\n');
        if (line[0] == '\0' || strncmp(line, "*** ", 4) == 0 || strcmp(line, "ok") == 0)
            continue;
        bool index = strstr(line, " index ") != NULL || strstr(line, "entries in index") != NULL;
        fault(v, index ? "an index" : "the structure of the file", line,
              !index                ? RESTORE
              : *faults_of_rows > 0 ? "see the faults of rows; restore the last backup"
                                    : "the rows are sound: stop the daemon, run `sqlite3 FILE REINDEX`, check again");
    }
}

static void see_reference(struct verifying *v, sqlite3_stmt *stmt, void *to)
{
    char what[120];
    (void)snprintf(what, sizeof what, "row %lld refers to a row of table %.60s that does not exist",
                   (long long)sqlite3_column_int64(stmt, 1), text_of(stmt, 2));
    table_fault(v, text_of(stmt, 0), what, RESTORE);
}

static enum status check_structure(struct verifying *v, struct error *err)
{
    int misses = 0, most = 0;
    int64_t faults_of_rows = v->report->faults;
    (void)sqlite3_db_status(v->db->handle, SQLITE_DBSTATUS_CACHE_MISS, &misses, &most, 0);
    v->misses = misses;
    sqlite3_progress_handler(v->db->handle, 10000, count_pages, v);
    enum status status = each(v, sqlite3_mprintf("PRAGMA integrity_check(1000)"), see_structure, &faults_of_rows, err);
    sqlite3_progress_handler(v->db->handle, 0, NULL, NULL);
    status = settle(v, "sqlite_schema", status, err);
    if (!status)
        status = settle(v, "sqlite_schema",
                        each(v, sqlite3_mprintf("PRAGMA foreign_key_check"), see_reference, NULL, err), err);
    progress(v, "pages checked", v->page_count, v->page_count);
    return status;
}

/* ---- parts, for the check of a store in use ---------------------------------------------------------------- */

enum status verify_table(struct db *db, const char *table, const struct storage_watch *watch,
                         struct storage_verify_report *report, struct error *err)
{
    struct verifying v = {.db = db, .watch = watch, .report = report};
    struct rows_seen seen = {.table = table};
    enum status status = db_exec(db, "BEGIN", err); /* rows and digests of one moment */
    if (!status)
        status = check_rows(&v, &seen, err);
    (void)db_exec(db, "COMMIT", NULL);
    return status;
}

enum status verify_checkpoint(struct db *db, int64_t *id, const struct storage_watch *watch,
                              struct storage_verify_report *report, struct error *err)
{
    struct verifying v = {.db = db, .watch = watch, .report = report};
    sqlite3_stmt *stmt;
    int64_t after = *id;
    *id = -1;
    enum status status = db_query(db, &stmt, err, CHECKPOINTS " AND c.id > ? ORDER BY c.id LIMIT 1", "i", after);
    if (!status && db_row(db, stmt, &status, err)) {
        *id = sqlite3_column_int64(stmt, 0);
        status = check_checkpoint(&v, stmt, err);
        db_done(stmt);
    }
    return settle(&v, "checkpoint", status, err);
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

enum status verify_database(struct db *db, const struct storage_watch *watch, struct storage_verify_report *report,
                            struct error *err)
{
    struct verifying v = {.db = db, .watch = watch, .report = report};
    int64_t version = 0, page_bytes = 0, has_digests = 0;
    *report = (struct storage_verify_report){.faults = 0};
    enum status status = schema_check(&storage_schema, db, &version, err);
    if (!status && version == 0)
        return error_set(err, STATUS_CORRUPT, NULL, "the database is empty");
    if (!status)
        status = db_integer(db, &v.page_count, 0, err, "PRAGMA page_count", "");
    if (!status)
        status = db_integer(db, &page_bytes, 0, err, "PRAGMA page_size", "");
    report->bytes = v.page_count * page_bytes;
    if (!status)
        status = check_schema(&v, version, err);
    if (!status)
        status =
            db_integer(db, &has_digests, 0, err, "SELECT count(*) FROM sqlite_schema WHERE name = 'row_digest'", "");
    report->without_digests = !has_digests;
    if (!status && has_digests)
        status = check_all_rows(&v, err);
    if (!status)
        status = settle(&v, "job", db_integer(db, &report->jobs, 0, err, "SELECT count(*) FROM job", ""), err);
    if (!status)
        status = check_checkpoints(&v, err);
    return status ? status : check_structure(&v, err);
}

enum status storage_verify(const char *path, const struct log_hook *log, const struct storage_watch *watch,
                           struct storage_verify_report *report, struct error *err)
{
    struct visit visit;
    struct error own = {0};
    int64_t is_copy = 0;
    *report = (struct storage_verify_report){.faults = 0};
    struct verifying v = {.watch = watch, .report = report};
    enum status status = visit_open(&visit, path, log, &own);
    if (!status)
        status = verify_database(&visit.db, watch, report, &own);
    if (!status)
        status =
            db_integer(&visit.db, &is_copy, 0, &own, "SELECT count(*) FROM sqlite_schema WHERE name = 'digest'", "");
    if (!status && is_copy)
        status = digest_verify(&visit.db, &own);
    bool damaged = is_damage(&visit.db, status);
    visit_close(&visit);
    if (damaged) { /* no part of the file can be read, or the copy as a whole has another digest */
        fault(&v, is_copy ? "the copy" : "the file", own.message, is_copy ? "use another copy" : RESTORE);
        return STATUS_OK;
    }
    return status ? error_set(err, status, NULL, "%s", own.message) : STATUS_OK;
}
