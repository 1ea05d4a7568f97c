/* Implements the fault sweeps of storage_sweep.h: makes each call with a fault at each place, and compares the
 * outcome with that of the same call without a fault. */
#include "tests/unit/storage/storage_sweep.h"

#include "storage/database/verify.h"

#include <stdarg.h>

#include "tests/unit/storage/fault_vfs.h"

#define ANSWER_MAX (1 << 17)

int complaints;
struct sweep_made made;

/* ---- answers --------------------------------------------------------------------------------------------- */

static char answer[ANSWER_MAX];
static size_t answer_bytes;

void answer_add(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int more = vsnprintf(answer + answer_bytes, sizeof answer - answer_bytes, format, args);
    va_end(args);
    assert_true(more >= 0 && answer_bytes + (size_t)more < sizeof answer);
    answer_bytes += (size_t)more;
}

/* ---- the store that all tries start with ------------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 16];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, in)) > 0;)
        assert_int_equal(fwrite(bytes, 1, got, out), got);
    (void)fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* Returns a fixture with a closed copy of the store that sweep_make() made. The copy is in memory where possible,
 * because there are thousands of copies, and the VFS simulates the disk. */
static struct fixture *copied(const struct sweep_kind *kind)
{
    struct fixture *f = fixture_new_in(access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
    f->options.durability = kind->syncs ? STORAGE_DURABLE : STORAGE_DURABLE_NOT;
    f->options.vfs = FAULT_VFS;
    f->options.maker = "tests";
    f->options.readers = 1;
    f->options.queue_limit = 100;
    copy_file(made.path, f->path);
    return f;
}

static const char *const tables[] = {
    "SELECT name, state, requested_state, priority, coalesce(progress, ''), coalesce(result, ''), coalesce(error, ''), "
    "version, "
    "owner, "
    "source_checkpoint FROM job ORDER BY num",
    "SELECT s.name, s.grid, s.seeds, s.owner, count(*) FROM study AS s JOIN job AS j ON j.study = s.id GROUP BY s.id",
    "SELECT count(*) FROM study",
    "SELECT what, number, bytes FROM tally ORDER BY what",
    "SELECT owner, key, job, hex(fingerprint) FROM idempotency ORDER BY owner, key",
    "SELECT job, seq, step, coalesce(density, ''), bytes, hex(sha256), stage_end, pinned, complete FROM checkpoint "
    "ORDER BY job, seq",
    "SELECT c.job, c.seq, k.id & 1048575, length(k.data) FROM chunk AS k JOIN checkpoint AS c ON c.id = k.id >> 20 "
    "ORDER BY 1, 2, 3",
    "SELECT job, seq, hex(sha256), maker FROM chain ORDER BY job, seq",
    "SELECT job, name, media_type, hex(data) FROM artifact ORDER BY job, name",
    "SELECT s.job, s.name, b.first, b.last, hex(b.points) FROM series AS s JOIN block AS b ON b.id >> 24 = s.id "
    "ORDER BY 1, 2, b.id",
    "SELECT s.job, s.name, p.level, p.number, hex(p.summaries) FROM series AS s JOIN pyramid AS p ON p.series = s.id "
    "ORDER BY 1, 2, 3, 4",
    "SELECT e.job, e.type, e.data FROM event AS e JOIN job AS j ON j.num = e.job ORDER BY e.id",
    "SELECT hex(hash), name, scope, revoked, expires_at > 0, used_at > 0 FROM token ORDER BY hash",
    "SELECT job, state, epoch, executor, foreign_id, sequence, tries, newest FROM lease ORDER BY job",
    "SELECT who, peer, request, method, target, coalesce(status, ''), coalesce(length(made), '') FROM audit ORDER BY "
    "id",
    "SELECT state, length(data), tries, due_at > time FROM outbox ORDER BY id",
    "SELECT * FROM pragma_integrity_check UNION ALL SELECT \"table\" FROM pragma_foreign_key_check",
};

static void add_fault(void *context, const struct storage_fault *fault)
{
    answer_add("%s %s\n", fault->where, fault->what);
}

/* Returns the content of the file as text, read over a separate connection. The text leaves out times, random ids
 * and the number of a checkpoint that failed. */
static char *dump(const struct fixture *f)
{
    sqlite3 *db;
    answer_bytes = 0;
    assert_int_equal(sqlite3_open_v2(f->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        sqlite3_stmt *stmt;
        if (sqlite3_prepare_v2(db, tables[t], -1, &stmt, NULL) != SQLITE_OK)
            fail_msg("%s: %s", tables[t], sqlite3_errmsg(db));
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            for (int c = 0; c < sqlite3_column_count(stmt); c++)
                answer_add("%.3000s|", (const char *)sqlite3_column_text(stmt, c));
            answer_add("\n");
        }
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
    static int dumps; /* a verification takes longer than most calls, so only every 16th state is verified */
    if (dumps++ % 16 != 0)
        return strdup(answer);
    struct storage_verify_report report;
    static const struct log_hook silent;
    const struct storage_watch watch = {.fault = add_fault};
    assert_int_equal(storage_verify(f->path, &silent, &watch, &report, NULL), STATUS_OK);
    if (report.faults > 0)
        fail_msg("rows without a digest, or others: %s", answer);
    return strdup(answer);
}

int sweep_setup(void **state)
{
    fault_vfs_register(0);
    struct fixture *f = fixture_new();
    f->options.vfs = FAULT_VFS;
    f->options.maker = "tests";
    fixture_open(f);
    sweep_make(f);
    fixture_close(f);
    (void)memcpy(made.path, f->path, sizeof made.path);
    *state = f;
    return 0;
}

int sweep_teardown(void **state)
{
    fixture_remove(*state);
    fault_vfs_unregister();
    return 0;
}

/* ---- the sweeps ------------------------------------------------------------------------------------------------ */

static struct fixture *opened(const struct sweep_call *call, const struct sweep_kind *kind)
{
    struct fixture *f = copied(kind);
    fixture_open(f);
    sweep_advance(f, call->before);
    OK(storage_flush(f->storage, &f->err));
    return f;
}

static enum status ask(struct fixture *f, const struct sweep_call *call)
{
    answer_bytes = 0;
    answer[0] = '\0';
    error_clear(&f->err);
    arena_reset(&f->arena);
    return call->make(f);
}

/* Makes the call with a fault at one place. An error of the call is accepted only if the fault happened and the
 * error reports it. */
static enum status ask_faulty(struct fixture *f, const struct sweep_call *call, const struct sweep_kind *kind,
                              int place, bool forever, int *happened)
{
    kind->arm(place, forever);
    enum status status = ask(f, call);
    *happened = kind->disarm();
    if (status != STATUS_OK && (!*happened || !kind->reports_fault(status, f->err.message)))
        complain("%s, %s %d: %s: %s\n", call->name, kind->name, place, status_name(status), f->err.message);
    return status;
}

int sweep_read(const struct sweep_call *call, const struct sweep_kind *kind, bool forever, int stride)
{
    int walked = 0;
    struct fixture *f = opened(call, kind);
    OK(ask(f, call));
    char *right = strdup(answer);
    fixture_remove(f);
    if (strcmp(call->name, "copy") == 0)
        stride *= 13; /* a copy verifies all rows, with more calls of SQLite than all other reads together */
    for (int place = 0, happened = 1; happened; place += stride) {
        f = opened(call, kind);
        enum status status = ask_faulty(f, call, kind, place, forever, &happened);
        walked += happened;
        if (status == STATUS_OK && strcmp(answer, right) != 0)
            complain("%s, %s %d: another answer: %.300s\nand not %.300s\n", call->name, kind->name, place, answer,
                     right);
        status = ask(f, call);
        if (status != STATUS_OK || strcmp(answer, right) != 0)
            complain("%s again after %s %d: %s: %s\n", call->name, kind->name, place, status_name(status),
                     f->err.message);
        fixture_remove(f);
        assert_true(place < 1000000);
    }
    free(right);
    return walked;
}

/* Returns the content of the file after the call and the next start. If `made_it` is false, leaves the call out. */
static char *outcome(const struct sweep_call *call, const struct sweep_kind *kind, bool made_it)
{
    struct fixture *f = opened(call, kind);
    if (made_it)
        OK(ask(f, call));
    fixture_reopen(f);
    fixture_close(f);
    char *text = dump(f);
    fixture_remove(f);
    return text;
}

int sweep_write(const struct sweep_call *call, const struct sweep_kind *kind, bool forever, int stride)
{
    char *before = outcome(call, kind, false), *after = outcome(call, kind, true);
    int walked = 0;
    assert_string_not_equal(before, after);
    for (int place = 0, happened = 1; happened; place += stride) {
        struct fixture *f = opened(call, kind);
        enum status status = ask_faulty(f, call, kind, place, forever, &happened);
        walked += happened;
        if (kind->goes_on && storage_writable(f->storage, &f->err) != STATUS_OK)
            complain("%s, %s %d: the store takes no more: %s\n", call->name, kind->name, place, f->err.message);
        fixture_reopen(f);
        fixture_close(f);
        char *now = dump(f);
        bool as_before = strcmp(now, before) == 0, as_after = strcmp(now, after) == 0;
        if (!as_after && (!as_before || (status == STATUS_OK && !call->lazy)))
            complain("%s, %s %d: %s, and stored is\n%.900s\n", call->name, kind->name, place, status_name(status), now);
        free(now);
        fixture_remove(f);
        assert_true(place < 1000000);
    }
    free(before);
    free(after);
    return walked;
}

int sweep_opening(const struct sweep_kind *kind, bool forever, int stride)
{
    int walked = 0;
    struct fixture *f = copied(kind);
    fixture_open(f);
    fixture_close(f);
    char *right = dump(f);
    fixture_remove(f);
    for (int place = 0, happened = 1; happened; place += stride) {
        f = copied(kind);
        change_file(f, "UPDATE meta SET value = 0 WHERE key = 'clean'");
        error_clear(&f->err);
        kind->arm(place, forever);
        enum status status = storage_open(&f->options, &f->storage, &f->err);
        happened = kind->disarm();
        walked += happened;
        if (status != STATUS_OK &&
            (!happened || !kind->reports_fault(status, f->err.message) || strstr(f->err.message, f->folder) != NULL))
            complain("opening, %s %d: %s: %s\n", kind->name, place, status_name(status), f->err.message);
        fixture_reopen(f);
        fixture_close(f);
        char *now = dump(f);
        if (strcmp(now, right) != 0)
            complain("after an opening with %s %d: %.900s\n", kind->name, place, now);
        free(now);
        fixture_remove(f);
    }
    free(right);
    return walked;
}
