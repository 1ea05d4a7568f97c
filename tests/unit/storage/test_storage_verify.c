/* Tests storage_verify(): a sound store has no fault, whatever was done with it; every damage that changes a stored
 * value is found; a fault says what is hurt; nothing changes and nothing is left beside the file.
 *
 * MOTIF_DAMAGES sets how many damages of each kind are made (25), and MOTIF_DAMAGE_SEED where. */
#include "storage/jobs/answer.h"
#include "storage/jobs/policy.h"
#include "tests/unit/storage/storage_fixture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>

#include "core/base/hash.h"
#include "storage/database/copy.h"
#include "storage/database/schema.h"
#include "storage/database/verify.h"
#include "tests/support/sanitized.h"

static const struct log_hook silent;

/* ---- a store with rows in every table ---------------------------------------------------------------- */

static void save(struct fixture *f, const char *id, int64_t step, size_t bytes)
{
    struct storage_checkpoint_new what = {
        .step = step, .samples = step, .density = 1.0 / (double)step, .stage_end = true};
    struct storage_checkpoint_writer *writer;
    unsigned char *weights = malloc(bytes);
    uint64_t state = (uint64_t)step;
    int64_t seq;
    assert_non_null(weights);
    for (size_t i = 0; i < bytes; i++)
        weights[i] = (unsigned char)lcg(&state);
    OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
    OK(storage_checkpoint_write(writer, weights, bytes, &f->err));
    OK(storage_checkpoint_commit(writer, &seq, &f->err));
    free(weights);
}

static void fill(struct fixture *f)
{
    static const uint8_t lease[STORAGE_LEASE_HASH] = {9};
    char id[STORAGE_ID], other[STORAGE_ID], study[STORAGE_ID];
    enum storage_submit_outcome outcome;
    int64_t epoch;
    int tries;
    submit_running(f, id);
    for (int i = 0; i < 700; i++) {
        const struct storage_metric metrics[] = {{"loss", {i, 1.0 / (i + 1)}}, {"fpe", {i, i * 0.5}}};
        OK(storage_metric_append(f->storage, id, metrics, 2, &f->err));
    }
    OK(storage_job_progress(f->storage, id, "{\"step\":1}", &f->err));
    save(f, id, 10, 3000);
    save(f, id, 20, ((size_t)1 << 20) + 100);
    save(f, id, 30, 70000);
    OK(storage_artifact_put(f->storage, id, "a.csv", "text/csv", "a,b\n1,2\n", 8, &f->err));
    char *large = calloc(1, 90000);
    memset(large, 'x', 89999);
    OK(storage_artifact_put(f->storage, id, "large.txt", "text/plain", large, 89999, &f->err));
    OK(storage_artifact_put(f->storage, id, "large.txt", "text/plain", large, 80000, &f->err)); /* replaces the first */
    free(large);
    const struct storage_answer answer = {"1.2.3.4.5", "no", "[0,1,4,9]", "{}", "anna", 0, 0};
    OK(storage_answers_put(f->storage, id, &answer, 1, &f->err));
    OK(storage_policies_set(f->storage, "[{\"kind\":\"*\",\"keep_days\":9}]", &f->err));
    OK(storage_dataset_pin(f->storage, "reads", true, &f->err));
    OK(storage_job_rewind(f->storage, id, 600, &f->err));
    finish(f, id);
    submit_running(f, other);
    OK(storage_lease_grant(f->storage, other, lease, "process", &tries, &f->err));
    OK(storage_lease_register(f->storage, other, &epoch, &f->err));
    struct storage_submit jobs[12];
    for (int i = 0; i < 12; i++)
        jobs[i] = (struct storage_submit){.kind = "k",
                                          .preset = "p",
                                          .name = "name of a job",
                                          .config = "{\"width\":128}",
                                          .tags = "[\"one\",\"two\"]",
                                          .owner = "anna",
                                          .key = i == 0 ? "key" : NULL};
    OK(storage_study_submit(
        f->storage, &(struct storage_study_submit){.name = "s", .grid = "{}", .seeds = 12, .jobs = jobs, .count = 12},
        study, &outcome, &f->err));
    struct storage_token token = {.hash = {7}, .name = "anna", .scope = 2};
    OK(storage_token_add(f->storage, &token, &f->err));
    for (int i = 0; i < 3; i++) { /* the second and third entry have the same request, and one of them is stored */
        struct storage_audit entry = {.who = "anna", .method = "POST", .target = "/v1/jobs"};
        (void)snprintf(entry.request, sizeof entry.request, "r%d", i / 2 + (i > 0));
        OK(storage_audit_begin(f->storage, &entry, &f->err));
        OK(storage_audit_end(f->storage, entry.request, 201, id, &f->err));
    }
    OK(storage_flush(f->storage, &f->err));
}

/* ---- verifying --------------------------------------------------------------------------------------- */

struct found {
    char text[6000];
    int64_t faults, calls;
};

static void add_fault(void *context, const struct storage_fault *fault)
{
    struct found *found = context;
    size_t used = strlen(found->text);
    assert_true(fault->where[0] != '\0' && fault->what[0] != '\0' && fault->remedy[0] != '\0');
    assert_null(strchr(fault->what, '\n'));
    (void)snprintf(found->text + used, sizeof found->text - used, "%s: %s; %s\n", fault->where, fault->what,
                   fault->remedy);
    found->faults++;
}

static void count_progress(void *context, const char *what, int64_t done, int64_t all)
{
    assert_in_range(done, 0, all);
    ((struct found *)context)->calls++;
}

static struct found verify(const char *path)
{
    struct found found = {.text = ""};
    struct storage_verify_report report;
    struct error err = {0};
    const struct storage_watch watch = {add_fault, count_progress, &found};
    enum status status = storage_verify(path, &silent, &watch, &report, &err);
    if (status != STATUS_OK)
        fail_msg("%s: %s", status_name(status), err.message);
    assert_int_equal(report.faults, found.faults);
    return found;
}

#define SOUND(path)                                                                                                    \
    do {                                                                                                               \
        struct found found_ = verify(path);                                                                            \
        if (found_.faults > 0)                                                                                         \
            fail_msg("%s", found_.text);                                                                               \
    } while (0)

static int files_in(const char *folder)
{
    int count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* Returns a hash of all bytes of a file. */
static uint64_t hash_of(const char *path)
{
    unsigned char digest[HASH_BYTES], block[8192];
    struct hash hash;
    uint64_t value;
    ssize_t got;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    hash_init(&hash);
    while ((got = read(fd, block, sizeof block)) > 0)
        hash_add(&hash, block, (size_t)got);
    close(fd);
    hash_finish(&hash, digest);
    memcpy(&value, digest, sizeof value);
    return value;
}

static void a_sound_store_has_no_faults(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    fill(f);
    SOUND(f->path); /* the store is open */
    struct storage_verify_report report;
    struct found found = {.text = ""};
    const struct storage_watch watch = {add_fault, count_progress, &found};
    OK(storage_verify(f->path, &silent, &watch, &report, &f->err));
    assert_int_equal(report.jobs, 14);
    assert_int_equal(report.checkpoints, 3);
    assert_int_equal(report.rows, file_integer(f, "SELECT count(*) FROM row_digest"));
    assert_true(report.rows > 80 && found.calls > 2 && report.bytes > 1000000 && !report.without_digests);
    submit(f, "sparling", 0, id);
    OK(storage_job_request(f->storage, id, JOB_EVENT_CANCEL, NULL, NULL, &f->err));
    OK(storage_job_delete(f->storage, id, &f->err));
    fixture_reopen(f);
    await_integer(f, "SELECT count(*) FROM pending_delete", 0);
    SOUND(f->path);
    fixture_close(f);
    /* every table has digests, but for those that row_digest.h names */
    assert_int_equal(file_integer(f, "SELECT count(*) FROM sqlite_schema s WHERE type = 'table'"
                                     " AND name NOT IN ('chunk', 'row_digest', 'study', 'pending_delete')"
                                     " AND NOT EXISTS (SELECT 1 FROM row_digest WHERE name = s.name)"),
                     0);
    int files = files_in(f->folder);
    uint64_t before = hash_of(f->path);
    SOUND(f->path);
    assert_int_equal(files_in(f->folder), files);
    assert_true(hash_of(f->path) == before);
}

/* A log that a killed process left is read and stays as it is. */
static void a_log_without_a_daemon_stays(void **state)
{
    struct fixture *f = *state, other = {.storage = NULL};
    char log[128], copy_log[160];
    fill(f);
    OK(storage_flush(f->storage, &f->err));
    (void)snprintf(log, sizeof log, "%s-wal", f->path);
    (void)snprintf(other.path, sizeof other.path, "%s/killed.db", f->folder);
    (void)snprintf(copy_log, sizeof copy_log, "%s-wal", other.path);
    char command[600];
    (void)snprintf(command, sizeof command, "cp '%s' '%s' && cp '%s' '%s'", f->path, other.path, log, copy_log);
    assert_int_equal(system(command), 0);
    struct stat facts;
    assert_int_equal(stat(copy_log, &facts), 0);
    assert_true(facts.st_size > 0);
    int files = files_in(f->folder);
    uint64_t before = hash_of(other.path), log_before = hash_of(copy_log);
    SOUND(other.path);
    assert_int_equal(files_in(f->folder), files);
    assert_true(hash_of(other.path) == before && hash_of(copy_log) == log_before);
}

/* A file beside which SQLite cannot make its files, as on a read-only disk. The name needs escapes in an URI. */
static void a_file_is_read_without_its_neighbours(void **state)
{
    struct fixture *f = *state;
    char folder[100], path[160], command[900];
    fill(f);
    fixture_close(f);
    (void)snprintf(folder, sizeof folder, "%s/only?read %%41#", f->folder);
    (void)snprintf(path, sizeof path, "%s/test.db", folder);
    (void)snprintf(command, sizeof command, "mkdir -p '%s-shm' && cp '%s' '%s'", path, f->path, path);
    assert_int_equal(system(command), 0);
    SOUND(path);
    assert_int_equal(files_in(folder), 2);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void other_files_are_refused(void **state)
{
    struct fixture *f = *state;
    struct storage_verify_report report;
    struct storage_watch watch = {.fault = NULL};
    fixture_close(f);
    REFUSED(STATUS_NOT_FOUND, storage_verify("/no/such", &silent, &watch, &report, &f->err));
    change_file(f, "PRAGMA user_version=1000");
    REFUSED(STATUS_CONFLICT, storage_verify(f->path, &silent, &watch, &report, &f->err));
    change_file(f, "PRAGMA application_id=7");
    REFUSED(STATUS_CONFLICT, storage_verify(f->path, &silent, &watch, &report, &f->err));
    assert_int_equal(truncate(f->path, 5), 0);
    assert_int_equal(verify(f->path).faults, 1); /* no database, which may be damage of its first page */
}

/* ---- what a fault says ------------------------------------------------------------------------------- */

/* Changes rows as damage does: without their digests. */
static void damage(const char *path, const char *sql)
{
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)NULL), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
}

static void a_fault_names_what_is_hurt(void **state)
{
    static const struct {
        const char *sql, *says[3];
        int64_t faults;
    } cases[] = {
        {"UPDATE job SET priority = 7 WHERE num = 1", {"job 0", "does not match its digest", "delete the job"}, 1},
        {"UPDATE artifact SET data = x'01' WHERE name = 'a.csv'", {"file a.csv of job 0", "does not match"}, 1},
        {"UPDATE block SET points = x'01020304050607080910111213141516' WHERE id = (SELECT min(id) FROM block)",
         {"points of the curve", " of job 0", "the models are not affected"},
         1},
        {"UPDATE chunk SET data = zeroblob(length(data)) WHERE id % 1048576 = 1",
         {"checkpoint 2 of job 0", "does not match its SHA-256", "another checkpoint"},
         1},
        {"DELETE FROM chunk WHERE id % 1048576 = 1", {"checkpoint 2 of job 0"}, 1},
        {"UPDATE chain SET samples = 21 WHERE seq = 2", {"record of checkpoint 2 of job 0"}, 1},
        {"UPDATE token SET scope = 1", {"token anna", "revoke the token"}, 1},
        {"UPDATE audit SET who = 'eve' WHERE request = 'r0'", {"entry 1 of the audit log, request r0"}, 1},
        {"UPDATE tally SET number = 3 WHERE what = 'queued'", {"number of rows queued"}, 1},
        {"UPDATE sqlite_sequence SET seq = 300 WHERE name = 'event'", {"next number of table event"}, 1},
        {"DELETE FROM event WHERE id = 3", {"row 3 of table event", "is missing"}, 1},
        {"DELETE FROM chain WHERE seq = 2", {"table chain", "has lost 1 rows"}, 1},
        {"INSERT INTO event(id, job, type, data, time) VALUES (90001, 1, 'state', 'x', 0)",
         {"event 90001 of job 0"},
         2},
        {"UPDATE artifact SET job = 77 WHERE name = 'a.csv'",
         {"file a.csv of job that does not exist", "table artifact: has lost 1 rows", "refers to a row of table job"},
         3},
        {"UPDATE row_digest SET digest = zeroblob(16) WHERE name = 'meta'", {"setting clean of the store"}, 1},
        {"DROP INDEX job_by_kind", {"index job_by_kind", "is missing"}, 1},
        {"DROP TRIGGER job_moved", {"trigger job_moved", "is missing"}, 1},
        {"CREATE TABLE more(x)", {"table more", "is not part of the schema"}, 1},
        {"DROP TABLE audit", {"table audit", "is missing"}, 8},
        {"ALTER TABLE token RENAME COLUMN name TO nome", {"table token", "another definition"}, 4},
    };
    struct fixture *f = *state;
    char bad[128], command[400];
    fill(f);
    fixture_close(f);
    (void)snprintf(bad, sizeof bad, "%s/bad.db", f->folder);
    (void)snprintf(command, sizeof command, "cp '%s' '%s'", f->path, bad);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(system(command), 0);
        damage(bad, cases[i].sql);
        struct found found = verify(bad);
        for (int k = 0; k < 3; k++)
            if (cases[i].says[k] != NULL && strstr(found.text, cases[i].says[k]) == NULL)
                fail_msg("%s: no '%s' in:\n%s", cases[i].sql, cases[i].says[k], found.text);
        if (found.faults != cases[i].faults)
            fail_msg("%s: %lld faults:\n%s", cases[i].sql, (long long)found.faults, found.text);
    }
}

/* An index without an entry: the rows are sound, and the remedy that the fault names repairs the file. */
static void a_damaged_index_can_be_made_again(void **state)
{
    struct fixture *f = *state;
    fill(f);
    fixture_close(f);
    damage(f->path, "PRAGMA writable_schema = ON;"
                    "UPDATE sqlite_schema SET sql = 'CREATE INDEX job_by_kind ON job(kind, id) WHERE num < 3'"
                    " WHERE name = 'job_by_kind'");
    damage(f->path, "REINDEX job_by_kind; PRAGMA writable_schema = ON;"
                    "UPDATE sqlite_schema SET sql = 'CREATE INDEX job_by_kind ON job(kind, id)'"
                    " WHERE name = 'job_by_kind'");
    struct found found = verify(f->path);
    assert_true(found.faults > 1);
    assert_non_null(strstr(found.text, "an index: "));
    assert_non_null(strstr(found.text, "REINDEX"));
    assert_null(strstr(found.text, "restore"));
    damage(f->path, "REINDEX");
    SOUND(f->path);
}

/* ---- damaged bytes ----------------------------------------------------------------------------------- */

static void add_rows(sqlite3 *db, struct hash *hash, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
    while (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
        code = SQLITE_OK;
        for (int c = 0; c < sqlite3_column_count(stmt); c++) {
            int head[2] = {sqlite3_column_type(stmt, c), 0};
            const void *bytes = sqlite3_column_blob(stmt, c);
            head[1] = sqlite3_column_bytes(stmt, c);
            hash_add(hash, head, sizeof head);
            hash_add(hash, bytes, (size_t)head[1]);
        }
    }
    hash_add(hash, &code, sizeof code);
    sqlite3_finalize(stmt);
}

/* Returns a hash of the schema and of all rows that a reader can see, without the digests. */
static uint64_t content_of(const char *path)
{
    static const char *const tables[] = {
        "answer",          "artifact", "audit",   "block", "chain", "checkpoint",  "event",
        "idempotency",     "job",      "job_tag", "lease", "meta",  "outbox",      "pyramid",
        "sqlite_sequence", "series",   "study",   "tally", "token", "dataset_use", "policy"};
    unsigned char digest[HASH_BYTES];
    struct hash hash;
    uint64_t value;
    char sql[200];
    sqlite3 *db;
    hash_init(&hash);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    add_rows(db, &hash, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2");
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        (void)snprintf(sql, sizeof sql, "SELECT * FROM %s NOT INDEXED", tables[i]);
        add_rows(db, &hash, sql);
    }
    add_rows(db, &hash, "SELECT id, data FROM chunk WHERE id >> 20 IN (SELECT id FROM checkpoint WHERE complete)");
    sqlite3_close(db);
    hash_finish(&hash, digest);
    memcpy(&value, digest, sizeof value);
    return value;
}

static void put_bytes(const char *path, const unsigned char *bytes, size_t size)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

static long number_from(const char *variable, long absent)
{
    const char *text = getenv(variable);
    return text != NULL ? strtol(text, NULL, 10) : absent;
}

/* Flips one bit or empties one page of a copy, many times. Each damage that changes a stored value must be found, by a
 * check and by a restore; without a fault, the contents must be the same. */
static void damage_copies(struct fixture *f, const char *good_path, bool is_backup)
{
    char bad[128], back[128];
    struct stat facts;
    long damages = number_from("MOTIF_DAMAGES", SANITIZED ? 10 : 25);
    uint64_t seed = (uint64_t)number_from("MOTIF_DAMAGE_SEED", 3);
    int changed[2] = {0}, found_of[2] = {0};
    (void)snprintf(bad, sizeof bad, "%s/bad.db", f->folder);
    (void)snprintf(back, sizeof back, "%s/back.db", f->folder);
    assert_int_equal(stat(good_path, &facts), 0);
    size_t size = (size_t)facts.st_size, page = 8192;
    unsigned char *good = malloc(size), *bytes = malloc(size);
    int fd = open(good_path, O_RDONLY);
    assert_int_equal(read(fd, good, size), size);
    close(fd);
    put_bytes(bad, good, size);
    uint64_t right = content_of(bad);
    for (long i = 0; i < 2 * damages; i++) {
        bool whole_page = i % 2;
        uint64_t draw = (uint64_t)lcg(&seed) << 32;
        draw ^= (uint64_t)lcg(&seed);
        memcpy(bytes, good, size);
        size_t at = whole_page ? (1 + draw % (size / page - 1)) * page : 100 + draw % (size - 100);
        if (whole_page)
            memset(bytes + at, 0, page);
        else
            bytes[at] ^= (unsigned char)(1 << (draw >> 40) % 8);
        put_bytes(bad, bytes, size);
        struct found found = verify(bad);
        bool same = content_of(bad) == right;
        changed[whole_page] += !same;
        found_of[whole_page] += found.faults > 0;
        if (found.faults == 0 && !same)
            fail_msg("%s at %zu is not found", whole_page ? "an empty page" : "a flipped bit", at);
        struct storage_copy_report report;
        enum status status =
            is_backup ? storage_copy(&(struct storage_copy_options){.from = bad, .to = back, .to_be_used = true},
                                     &report, NULL)
                      : storage_copy(&(struct storage_copy_options){.from = bad, .to = back}, &report, NULL);
        if (status == STATUS_OK && !same)
            fail_msg("%s at %zu is copied", whole_page ? "an empty page" : "a flipped bit", at);
        if (status == STATUS_OK)
            assert_int_equal(unlink(back), 0);
    }
    print_message("%ld flipped bits: %d changed a value, %d gave faults; %ld empty pages: %d changed a value, %d gave "
                  "faults\n",
                  damages, changed[0], found_of[0], damages, changed[1], found_of[1]);
    assert_true(found_of[0] >= changed[0] && found_of[1] >= changed[1]);
    assert_true(changed[0] + changed[1] > damages / 2);
    free(good);
    free(bytes);
}

static void every_damage_of_a_value_is_found(void **state)
{
    struct fixture *f = *state;
    fill(f);
    fixture_close(f);
    damage_copies(f, f->path, false);
}

static void every_damage_of_a_backup_is_found(void **state)
{
    struct fixture *f = *state;
    struct storage_copy_report report;
    char to[128];
    fill(f);
    (void)snprintf(to, sizeof to, "%s/copy.db", f->folder);
    OK(storage_copy(&(struct storage_copy_options){.from = f->path, .to = to}, &report, &f->err));
    SOUND(to);
    damage_copies(f, to, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OPEN(a_sound_store_has_no_faults),
        TEST_OPEN(a_log_without_a_daemon_stays),
        TEST_OPEN(a_file_is_read_without_its_neighbours),
        TEST_OPEN(other_files_are_refused),
        TEST_OPEN(a_fault_names_what_is_hurt),
        TEST_OPEN(a_damaged_index_can_be_made_again),
        TEST_OPEN(every_damage_of_a_value_is_found),
        TEST_OPEN(every_damage_of_a_backup_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
