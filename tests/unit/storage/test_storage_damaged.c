/* Tests situations that should never occur: rows that another program or a faulty disk changed, callers that pass
 * impossible arguments, and arenas that are a few bytes too small. Storage must refuse each with a message, must not
 * take damaged rows for valid ones, and must still work afterwards. */
#include "tests/unit/storage/storage_fixture.h"

#include <fcntl.h>

#include "storage/database/copy.h"
#include "storage/files/dataset.h"

enum { POINTS = 700 };

/* A closed store with a row in every table. Each test case uses a copy of it. */
static struct {
    char folder[64], path[96], done[STORAGE_ID], held[STORAGE_ID];
} made;
static const uint8_t lease_hash[STORAGE_LEASE_HASH] = {9};

static enum status add_checkpoint(struct fixture *f, const char *id, int64_t step, size_t bytes)
{
    static const unsigned char weights[(1 << 20) + 100] = {1, 2, 3};
    struct storage_checkpoint_writer *writer;
    struct storage_checkpoint_new what = {
        .step = step, .samples = step, .density = 0.5, .accuracy = 0.25, .stage_end = true};
    int64_t seq;
    OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
    OK(storage_checkpoint_write(writer, weights, bytes, &f->err));
    return storage_checkpoint_commit(writer, &seq, &f->err);
}

static int make_store(void **state)
{
    struct fixture *f = fixture_new();
    static struct storage_metric metrics[POINTS];
    int64_t epoch;
    int tries;
    f->options.durability = STORAGE_DURABLE_NOT;
    fixture_open(f);
    submit_running(f, made.done);
    for (int i = 0; i < POINTS; i++)
        metrics[i] = (struct storage_metric){.name = "loss", .point = {i, i}};
    OK(storage_metric_append(f->storage, made.done, metrics, POINTS, &f->err));
    OK(add_checkpoint(f, made.done, 10, 3000));
    OK(add_checkpoint(f, made.done, 20, (1 << 20) + 100));
    OK(storage_artifact_put(f->storage, made.done, "map.png", "image/png", "abc", 3, &f->err));
    finish(f, made.done);
    submit_running(f, made.held);
    OK(storage_lease_grant(f->storage, made.held, lease_hash, "process", &tries, &f->err));
    OK(storage_lease_register(f->storage, made.held, &epoch, &f->err));
    struct storage_token token = {.hash = {7}, .name = "anna", .scope = 2};
    OK(storage_token_add(f->storage, &token, &f->err));
    struct storage_audit entry = {.who = "anna", .request = "r1", .method = "POST", .target = "/v1/jobs"};
    OK(storage_audit_begin(f->storage, &entry, &f->err));
    (void)memcpy(made.folder, f->folder, sizeof made.folder);
    (void)memcpy(made.path, f->path, sizeof made.path);
    fixture_close(f);
    *state = f;
    return 0;
}

static struct fixture *copied(void)
{
    struct fixture *f = fixture_new();
    char command[300];
    f->options.durability = STORAGE_DURABLE_NOT;
    (void)snprintf(command, sizeof command, "cp '%s' '%s'", made.path, f->path);
    assert_int_equal(system(command), 0);
    return f;
}

/* Changes the file with a connection that ignores the tables' constraints. "@" stands for the id of the finished job.
 */
static void damage(const struct fixture *f, const char *sql)
{
    char *fault = NULL;
    sqlite3 *db = open_to_change(f->path);
    (void)sqlite3_exec(db, "PRAGMA ignore_check_constraints = 1", NULL, NULL, NULL);
    if (sqlite3_exec(db, sql, NULL, NULL, &fault) != SQLITE_OK)
        fail_msg("%s: %s", sql, fault);
    assert_true(sqlite3_total_changes(db) > 0 || strncmp(sql, "PRAGMA", 6) == 0);
    sqlite3_close(db);
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

static enum status get_job(struct fixture *f)
{
    struct storage_job j;
    return storage_job_get(f->storage, made.done, &f->arena, &j, &f->err);
}
static enum status list_jobs(struct fixture *f)
{
    struct storage_job_filter filter = {.limit = 5};
    struct storage_job *jobs;
    size_t count;
    bool more;
    return storage_job_list(f->storage, &filter, &f->arena, &jobs, &count, &more, &f->err);
}
static enum status read_metrics(struct fixture *f)
{
    struct storage_metric_query query = {.since = INT64_MIN};
    struct storage_series *series;
    size_t count;
    enum status status = storage_metric_read(f->storage, made.done, &query, &f->arena, &series, &count, &f->err);
    if (status == STATUS_OK)
        assert_true(count == 1 && series[0].count == POINTS);
    return status;
}
static enum status read_thinned(struct fixture *f)
{
    struct storage_metric_query query = {.since = INT64_MIN, .max_points = 6};
    struct storage_series *series;
    size_t count;
    return storage_metric_read(f->storage, made.done, &query, &f->arena, &series, &count, &f->err);
}
static enum status read_since(struct fixture *f)
{
    struct storage_metric_query query = {.since = 300};
    struct storage_series *series;
    size_t count;
    return storage_metric_read(f->storage, made.done, &query, &f->arena, &series, &count, &f->err);
}
static enum status read_events(struct fixture *f)
{
    struct storage_event *events;
    size_t count;
    return storage_event_read(f->storage, made.done, NULL, 0, 10, &f->arena, &events, &count, &f->err);
}
static enum status find_checkpoint(struct fixture *f)
{
    struct storage_checkpoint found;
    return storage_checkpoint_find(f->storage, made.done, (struct storage_checkpoint_pick){.by = STORAGE_LATEST},
                                   &found, &f->err);
}
static enum status list_checkpoints(struct fixture *f)
{
    struct storage_checkpoint *list;
    size_t count;
    return storage_checkpoint_list(f->storage, made.done, &f->arena, &list, &count, &f->err);
}
static enum status read_checkpoint(struct fixture *f)
{
    return verify_latest(f, made.done, NULL);
}
static enum status list_chain(struct fixture *f)
{
    struct storage_link *links;
    size_t count;
    return storage_chain_list(f->storage, made.done, &f->arena, &links, &count, &f->err);
}
static enum status list_artifacts(struct fixture *f)
{
    struct storage_artifact *list;
    size_t count;
    return storage_artifact_list(f->storage, made.done, &f->arena, &list, &count, &f->err);
}
static enum status get_artifact(struct fixture *f)
{
    struct storage_artifact one;
    const void *bytes;
    enum status status = storage_artifact_get(f->storage, made.done, "map.png", &f->arena, &one, &bytes, &f->err);
    if (status == STATUS_OK && one.bytes > 0)
        assert_memory_equal(bytes, "abc", 3);
    return status;
}
static enum status list_tokens(struct fixture *f)
{
    struct storage_token *list;
    size_t count;
    return storage_token_list(f->storage, &f->arena, &list, &count, &f->err);
}
static enum status list_audit(struct fixture *f)
{
    struct storage_audit *list;
    size_t count;
    return storage_audit_list(f->storage, INT64_MAX, 4, &f->arena, &list, &count, &f->err);
}
static enum status get_lease(struct fixture *f)
{
    struct storage_lease lease;
    return storage_lease_get(f->storage, made.held, &f->arena, &lease, &f->err);
}
static enum status send_message(struct fixture *f)
{
    return storage_lease_message(f->storage, made.held, 2, 1, &f->err);
}
static enum status stats(struct fixture *f)
{
    struct storage_stats s;
    enum status status = storage_stats_read(f->storage, &s, &f->err);
    if (status == STATUS_OK)
        assert_int_equal(s.jobs[JOB_SUCCEEDED], 1);
    return status;
}
static enum status open_it(struct fixture *f)
{
    return STATUS_OK; /* the caller has opened the store already */
}
static enum status cancel(struct fixture *f)
{
    return storage_job_request(f->storage, made.done, JOB_EVENT_CANCEL, NULL, NULL, &f->err);
}
static enum status submit_one(struct fixture *f)
{
    char id[STORAGE_ID], last[STORAGE_ID];
    submit(f, "sparling", 0, id);
    submit(f, "sparling", 0, last);
    assert_true(strcmp(id, last) < 0 && strcmp(made.done, id) < 0);
    return STATUS_OK;
}
/* storage_metric_append() returns before the point is stored, so it succeeds. The log reports that the point cannot be
 * stored, and the series does not change. */
static enum status append_point(struct fixture *f)
{
    struct storage_metric metric = {.name = "loss", .point = {POINTS, 1}};
    int64_t before = file_integer(f, "SELECT sum(length(points)) FROM block");
    OK(storage_metric_append(f->storage, made.done, &metric, 1, &f->err));
    OK(storage_flush(f->storage, &f->err));
    assert_int_equal(file_integer(f, "SELECT sum(length(points)) FROM block"), before);
    return STATUS_OK;
}
static enum status copy_it(struct fixture *f)
{
    char to[128];
    struct storage_copy_report report;
    struct stat facts;
    (void)snprintf(to, sizeof to, "%s/copy.db", f->folder);
    struct storage_copy_options options = {.from = f->path, .to = to};
    enum status status = storage_copy(&options, &report, &f->err);
    assert_int_equal(stat(to, &facts) == 0, status == STATUS_OK);
    return status;
}

/* ---- damaged rows ------------------------------------------------------------------------------------ */

static const struct {
    const char *sql;
    enum status (*call)(struct fixture *f);
    enum status expected;
} damages[] = {
    {"UPDATE checkpoint SET sha256 = NULL", find_checkpoint, STATUS_CORRUPT},
    {"UPDATE checkpoint SET sha256 = x'01'", list_checkpoints, STATUS_CORRUPT},
    {"UPDATE checkpoint SET sha256 = NULL", copy_it, STATUS_CORRUPT},
    {"UPDATE checkpoint SET sha256 = x'01'", copy_it, STATUS_CORRUPT},
    {"UPDATE checkpoint SET bytes = bytes + 1", copy_it, STATUS_CORRUPT},
    {"UPDATE checkpoint SET sha256 = zeroblob(32)", copy_it, STATUS_CORRUPT},
    {"UPDATE checkpoint SET sha256 = zeroblob(32)", read_checkpoint, STATUS_CORRUPT},
    {"DELETE FROM chunk", read_checkpoint, STATUS_CORRUPT},
    {"UPDATE chunk SET data = x'0102'", read_checkpoint, STATUS_CORRUPT},
    {"UPDATE chain SET sha256 = x''", list_chain, STATUS_CORRUPT},
    {"UPDATE chain SET sha256 = x'01'", list_chain, STATUS_CORRUPT},
    {"UPDATE token SET hash = x'01'", list_tokens, STATUS_CORRUPT},
    {"UPDATE artifact SET data = x''", get_artifact, STATUS_OK},
    {"UPDATE job SET state = 'odd' WHERE state = 'succeeded'", get_job, STATUS_CORRUPT},
    {"UPDATE job SET state = 'odd' WHERE state = 'succeeded'", list_jobs, STATUS_CORRUPT},
    {"UPDATE job SET state = 'odd' WHERE state = 'succeeded'", cancel, STATUS_CORRUPT},
    {"UPDATE job SET id = 'short' WHERE state = 'running'", open_it, STATUS_CORRUPT},
    {"UPDATE job SET id = '7UUUUUUUUUUUUUUUUUUUUUUUUU' WHERE state = 'running'", open_it, STATUS_CORRUPT},
    {"UPDATE job SET id = '04ZZZZZZZZZZZZZZZZZZZZZZZZ' WHERE state = 'running'", submit_one,
     STATUS_OK}, /* an id whose time is far in the future */
    {"UPDATE lease SET state = 'odd'", get_lease, STATUS_CORRUPT},
    {"UPDATE lease SET state = 'odd'", send_message, STATUS_CORRUPT},
    {"INSERT INTO tally VALUES ('odd', 3, 4)", stats, STATUS_OK},
    {"UPDATE block SET points = x''", read_metrics, STATUS_CORRUPT},
    {"UPDATE block SET points = x'0102'", read_metrics, STATUS_CORRUPT},
    {"UPDATE block SET points = zeroblob(16 * 241)", read_metrics, STATUS_CORRUPT},
    {"UPDATE block SET points = zeroblob(16) WHERE id = (SELECT min(id) FROM block)", read_metrics, STATUS_CORRUPT},
    {"UPDATE block SET points = x'01' WHERE id = (SELECT min(id) + 1 FROM block)", read_since, STATUS_CORRUPT},
    {"DELETE FROM block WHERE id = (SELECT min(id) FROM block)", read_metrics, STATUS_CORRUPT},
    {"DELETE FROM block", read_thinned, STATUS_OK}, /* a series without blocks of points */
    {"UPDATE pyramid SET summaries = x''", read_thinned, STATUS_CORRUPT},
    {"UPDATE pyramid SET summaries = x'01'", read_thinned, STATUS_CORRUPT},
    {"UPDATE pyramid SET summaries = zeroblob(48 * 4096)", read_thinned, STATUS_CORRUPT},
    {"DELETE FROM pyramid", read_thinned, STATUS_CORRUPT},
    {"UPDATE block SET id = (id >> 24 << 24) + 16777215, points = zeroblob(16 * 240) WHERE id = (SELECT max(id) FROM "
     "block)",
     append_point, STATUS_OK}, /* the number of the last block is the largest possible, so the series is full */
    {"DELETE FROM pyramid; UPDATE block SET points = zeroblob(16 * 240) WHERE id = (SELECT max(id) FROM block)",
     append_point, STATUS_OK},
    {"PRAGMA user_version = -1", open_it, STATUS_CORRUPT},
    {"PRAGMA user_version = 0", open_it, STATUS_CORRUPT},
    {"PRAGMA user_version = 999", open_it, STATUS_CONFLICT},
    {"PRAGMA application_id = 7", open_it, STATUS_CONFLICT},
    {"PRAGMA application_id = 7", copy_it, STATUS_CONFLICT},
};

static void damaged_rows_are_reported(void **state)
{
    int wrong = 0;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct fixture *f = copied();
        damage(f, damages[i].sql);
        error_clear(&f->err);
        enum status status = damages[i].call == copy_it ? STATUS_OK : storage_open(&f->options, &f->storage, &f->err);
        if (status == STATUS_OK)
            status = damages[i].call(f);
        if (status != damages[i].expected || (status != STATUS_OK && f->err.message[0] == '\0')) {
            print_error("%s: %s (%s), not %s\n", damages[i].sql, status_name(status), f->err.message,
                        status_name(damages[i].expected));
            wrong++;
        }
        if (f->storage != NULL && status != STATUS_OK) /* other calls must still work */
            OK(storage_writable(f->storage, &f->err));
        fixture_remove(f);
    }
    assert_int_equal(wrong, 0);
}

/* ---- small arenas ------------------------------------------------------------------------------------ */

/* Each reading call gets an arena that is too small, and then larger and larger ones until it succeeds. */
static void small_arena_is_reported(void **state)
{
    static const struct {
        const char *name;
        enum status (*call)(struct fixture *f);
    } reads[] = {{"job", get_job},          {"jobs", list_jobs},           {"metrics", read_metrics},
                 {"thinned", read_thinned}, {"events", read_events},       {"checkpoints", list_checkpoints},
                 {"chain", list_chain},     {"artifacts", list_artifacts}, {"artifact", get_artifact},
                 {"tokens", list_tokens},   {"audit", list_audit},         {"lease", get_lease}};
    struct fixture *f = copied();
    fixture_open(f);
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        int refused = 0;
        enum status status;
        do {
            arena_close(&f->arena);
            arena_init(&f->arena, 1, (size_t)(refused + 1) * 64 - 63);
            error_clear(&f->err);
            status = reads[i].call(f);
            refused += status != STATUS_OK;
            if (status != STATUS_OK && (status != STATUS_NO_MEMORY || f->err.message[0] == '\0'))
                fail_msg("%s with %d bytes: %s: %s", reads[i].name, refused * 64, status_name(status), f->err.message);
        } while (status != STATUS_OK && refused < 4000);
        assert_int_equal(status, STATUS_OK);
        assert_true(refused > 0);
    }
    fixture_remove(f);
}

/* ---- impossible arguments ---------------------------------------------------------------------------- */

static char long_text[400];

static void impossible_jobs_are_refused(void **state)
{
    struct fixture *f = copied();
    char id[STORAGE_ID];
    enum storage_submit_outcome outcome;
    fixture_open(f);
    const struct storage_submit submits[] = {{.config = "{}"},
                                             {.kind = "k"},
                                             {.kind = "k", .config = "{}", .name = long_text},
                                             {.kind = "k", .config = "{}", .key = ""},
                                             {.kind = "k", .config = "{}", .key = long_text}};
    for (size_t i = 0; i < sizeof submits / sizeof submits[0]; i++)
        REFUSED(STATUS_INVALID, storage_job_submit(f->storage, &submits[i], id, &outcome, &f->err));
    struct storage_submit sourced = {.kind = "k", .config = "{}", .source_job = "none", .source_checkpoint = 1};
    REFUSED(STATUS_NOT_FOUND, storage_job_submit(f->storage, &sourced, id, &outcome, &f->err));
    sourced.source_job = made.done;
    sourced.source_checkpoint = 99;
    REFUSED(STATUS_NOT_FOUND, storage_job_submit(f->storage, &sourced, id, &outcome, &f->err));
    /* no error, because the limit applies only to jobs with an owner */
    struct storage_submit limited = {.kind = "k", .config = "{}", .owner_limit = 1};
    OK(storage_job_submit(f->storage, &limited, id, &outcome, &f->err));
    assert_int_equal(outcome, STORAGE_CREATED);
    limited.owner = "bert";
    OK(storage_job_submit(f->storage, &limited, id, &outcome, &f->err));
    OK(storage_job_submit(f->storage, &limited, id, &outcome, &f->err));
    assert_int_equal(outcome, STORAGE_OWNER_FULL);
    assert_string_equal(id, "");
    struct storage_job_patch patch = {.name = long_text};
    REFUSED(STATUS_INVALID, storage_job_patch(f->storage, made.done, &patch, &f->err));
    patch.name = "new";
    patch.expected_version = 999;
    REFUSED(STATUS_CONFLICT, storage_job_patch(f->storage, made.done, &patch, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_job_patch(f->storage, "none", &patch, &f->err));
    REFUSED(STATUS_INVALID, storage_job_request(f->storage, made.done, JOB_EVENT_CLAIM, NULL, NULL, &f->err));
    REFUSED(STATUS_INVALID, storage_job_leave(f->storage, made.held, JOB_EVENT_CLAIM, NULL, NULL, NULL, &f->err));
    REFUSED(STATUS_INVALID, storage_job_leave(f->storage, made.held, JOB_EVENT_FAIL, "{}", NULL, NULL, &f->err));
    REFUSED(STATUS_INVALID, storage_job_leave(f->storage, made.held, JOB_EVENT_SUCCEED, NULL, "{}", NULL, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_job_rewind(f->storage, "none", 0, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_job_delete(f->storage, "none", &f->err));
    REFUSED(STATUS_CONFLICT, storage_job_delete(f->storage, made.held, &f->err));
    enum requested_state requested;
    REFUSED(STATUS_NOT_FOUND, storage_job_requested(f->storage, "none", &requested, &f->err));
    for (int limit = -1; limit < 2000; limit += 1500) {
        struct storage_job_filter filter = {.limit = limit, .before = ""};
        struct storage_job *jobs;
        size_t count;
        bool more;
        enum status status = storage_job_list(f->storage, &filter, &f->arena, &jobs, &count, &more, &f->err);
        assert_int_equal(status, STATUS_INVALID);
    }
    fixture_remove(f);
}

static void impossible_arguments_are_refused(void **state)
{
    struct fixture *f = copied();
    struct storage_checkpoint found, *list;
    struct storage_checkpoint_reader *reader;
    struct storage_event *events;
    struct storage_series *series;
    struct storage_link *links;
    struct storage_artifact *artifacts;
    const void *bytes;
    size_t count;
    char text[9];
    fixture_open(f);
    struct storage_checkpoint_pick odd = {.by = 77}, latest = {.by = STORAGE_LATEST};
    REFUSED(STATUS_INVALID, storage_checkpoint_find(f->storage, made.done, odd, &found, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_checkpoint_find(f->storage, "none", latest, &found, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_checkpoint_find(f->storage, made.held, latest, &found, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_checkpoint_list(f->storage, "none", &f->arena, &list, &count, &f->err));
    OK(storage_checkpoint_list(f->storage, made.held, &f->arena, &list, &count, &f->err));
    assert_int_equal(count, 0);
    OK(storage_checkpoint_open(f->storage, made.done, latest, &reader, NULL, &f->err));
    REFUSED(STATUS_CORRUPT, storage_checkpoint_read(reader, UINT64_MAX, text, 1, &f->err));
    REFUSED(STATUS_CORRUPT, storage_checkpoint_read(reader, 5, text, SIZE_MAX, &f->err));
    storage_checkpoint_close(reader);
    REFUSED(STATUS_INVALID, storage_event_read(f->storage, NULL, NULL, 0, 0, &f->arena, &events, &count, &f->err));
    REFUSED(STATUS_INVALID,
            storage_event_read(f->storage, NULL, NULL, 0, 1 << 20, &f->arena, &events, &count, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_event_read(f->storage, "none", NULL, 0, 5, &f->arena, &events, &count, &f->err));
    struct storage_metric_query query = {.max_points = -1};
    REFUSED(STATUS_INVALID, storage_metric_read(f->storage, made.done, &query, &f->arena, &series, &count, &f->err));
    query = (struct storage_metric_query){.since = INT64_MIN};
    REFUSED(STATUS_NOT_FOUND, storage_metric_read(f->storage, "none", &query, &f->arena, &series, &count, &f->err));
    struct storage_metric metric = {.name = "", .point = {1, 1}};
    REFUSED(STATUS_INVALID, storage_metric_append(f->storage, made.held, &metric, 1, &f->err));
    metric.name = long_text;
    REFUSED(STATUS_INVALID, storage_metric_append(f->storage, made.held, &metric, 1, &f->err));
    metric.name = "loss";
    OK(storage_metric_append(f->storage, long_text, &metric, 1, &f->err)); /* dropped, because no job has such an id */
    OK(storage_metric_append(f->storage, "none", &metric, 1, &f->err));
    OK(storage_flush(f->storage, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_chain_list(f->storage, "none", &f->arena, &links, &count, &f->err));
    OK(storage_chain_list(f->storage, made.held, &f->arena, &links, &count, &f->err));
    assert_int_equal(count, 0);
    REFUSED(STATUS_NOT_FOUND, storage_artifact_list(f->storage, "none", &f->arena, &artifacts, &count, &f->err));
    struct storage_artifact one;
    REFUSED(STATUS_NOT_FOUND, storage_artifact_get(f->storage, made.done, "none", &f->arena, &one, &bytes, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_artifact_get(f->storage, "none", "none", &f->arena, &one, &bytes, &f->err));
    REFUSED(STATUS_INVALID, storage_lease_foreign(f->storage, made.held, long_text, &f->err));
    REFUSED(STATUS_CONFLICT, storage_lease_foreign(f->storage, made.done, "1", &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_lease_foreign(f->storage, "none", "1", &f->err));
    REFUSED(STATUS_INVALID, storage_lease_end(f->storage, made.held, 2, JOB_EVENT_CLAIM, NULL, NULL, &f->err));
    struct storage_token token = {.hash = {8}, .name = ""};
    REFUSED(STATUS_INVALID, storage_token_add(f->storage, &token, &f->err));
    memset(token.name, 'x', sizeof token.name); /* a name that does not end with a NUL */
    REFUSED(STATUS_INVALID, storage_token_add(f->storage, &token, &f->err));
    fixture_remove(f);
}

static void impossible_imports_are_refused(void **state)
{
    struct fixture *f = copied();
    char id[STORAGE_ID];
    struct storage_point falling[] = {{2, 1}, {1, 1}};
    const struct storage_series nameless = {.name = "", .points = falling, .count = 1},
                                too_long = {.name = long_text, .points = falling, .count = 1},
                                backwards = {.name = "loss", .points = falling, .count = 2};
    struct storage_import_checkpoint twice[] = {{.seq = 2, .bytes = {{"a"}, {1}}}, {.seq = 2, .bytes = {{"a"}, {1}}}};
    const struct storage_import whole = {
        .kind = "k", .preset = "", .name = "n", .config = "{}", .progress = "{}", .result = "{}"};
    fixture_open(f);
    struct storage_import in[9];
    for (size_t i = 0; i < 9; i++)
        in[i] = whole;
    in[0].kind = in[1].config = in[2].preset = in[3].name = NULL;
    in[4].name = long_text;
    in[5].checkpoints = twice;
    in[5].count = 2;
    in[6].series = &nameless;
    in[7].series = &too_long;
    in[8].series = &backwards;
    in[6].series_count = in[7].series_count = in[8].series_count = 1;
    for (size_t i = 0; i < 9; i++) {
        REFUSED(STATUS_INVALID, storage_job_import(f->storage, &in[i], id, &(enum storage_submit_outcome){0}, &f->err));
        assert_string_equal(id, "");
    }
    twice[0].seq = 0;
    REFUSED(STATUS_INVALID, storage_job_import(f->storage, &in[5], id, &(enum storage_submit_outcome){0}, &f->err));
    OK(storage_job_import(f->storage, &whole, id, &(enum storage_submit_outcome){0},
                          &f->err)); /* an import without a checkpoint */
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), 3);
    fixture_remove(f);
}

/* The folder's path is too long, or the folder does not exist. */
static void missing_folder_is_reported(void **state)
{
    static char root[DATASET_FILES + 10], folder[DATASET_FILES];
    static const char hash[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct fixture *f = copied();
    memset(root, 'r', sizeof root - 1);
    for (int none = 0; none < 2; none++) {
        const char *at = none ? NULL : root, *bytes, **names;
        size_t count;
        enum dataset_kind kind = DATASET_OURS;
        int file;
        int64_t size;
        dataset_sweep(at);
        assert_int_equal(dataset_find(at, "a", &kind, &f->err), STATUS_OK);
        assert_int_equal(kind, DATASET_NONE);
        assert_int_equal(dataset_list(at, &f->arena, &names, &count, &f->err), STATUS_OK);
        assert_int_equal(count, 0);
        REFUSED(STATUS_NOT_FOUND, dataset_read(at, "a", "b", &f->arena, &bytes, &count, &f->err));
        assert_int_equal(dataset_bytes(at, NULL, &size, &f->err), STATUS_OK);
        assert_int_equal(size, 0);
        REFUSED(STATUS_NOT_FOUND, dataset_part_open(at, NULL, hash, &file, &size, &f->err));
        assert_int_equal(dataset_part_bytes(at, NULL, hash, &size, &f->err), STATUS_OK);
        assert_int_equal(size, -1);
        dataset_part_remove(at, NULL, hash);
        REFUSED(STATUS_NOT_FOUND, dataset_stage(at, folder, &f->err));
        REFUSED(STATUS_NOT_FOUND, dataset_commit(at, f->folder, "a", &f->err));
        REFUSED(STATUS_NOT_FOUND, dataset_remove(at, "a", &f->err));
    }
    fixture_remove(f);
}

static int remove_store(void **state)
{
    fixture_remove(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_rows_are_reported),      cmocka_unit_test(small_arena_is_reported),
        cmocka_unit_test(impossible_jobs_are_refused),    cmocka_unit_test(impossible_arguments_are_refused),
        cmocka_unit_test(impossible_imports_are_refused), cmocka_unit_test(missing_folder_is_reported)};
    memset(long_text, 'x', sizeof long_text - 1);
    return cmocka_run_group_tests(tests, make_store, remove_store);
}
