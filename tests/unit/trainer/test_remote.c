/* Tests the coordinator of a run whose daemon is another process. The daemon is played
 * (played_daemon.h). */
#include <math.h>

#include "tests/support/unit.h"
#include "tests/support/fault.h"
#include "tests/unit/trainer/played_daemon.h"
#include "trainer/remote/remote.h"

/* ---- sessions ------------------------------------------------------------------------------------------ */

static atomic_bool stop_requested;

struct session {
    struct remote_options options;
    struct remote *remote;
    struct coordinator to;
    struct arena arena;
    struct storage_job job;
};

static enum status open_session(struct session *session, int patience, int64_t buffer, struct error *err)
{
    *session = (struct session){.options = {.server = "http://played",
                                            .token = "motifrun_x",
                                            .job = JOB,
                                            .buffer_bytes = buffer,
                                            .patience_s = patience,
                                            .stop_requested = &stop_requested}};
    arena_init(&session->arena, 4096, 0);
    enum status status = remote_open(&session->options, &session->arena, &session->remote, &session->job, err);
    if (status == STATUS_OK)
        session->to = remote_coordinator(session->remote);
    return status;
}

static void opened(struct session *session, int patience, int64_t buffer)
{
    struct error err = {0};
    if (open_session(session, patience, buffer, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

static void close_session(struct session *session)
{
    remote_close(session->remote);
    arena_close(&session->arena);
}

static enum status measure(struct session *session, const char *name, int64_t step, double value, struct error *err)
{
    const struct storage_metric point = {.name = name, .point = {.step = step, .value = value}};
    return session->to.metrics(session->to.context, &point, 1, err);
}

static enum status save(struct session *session, const char *bytes, struct error *err)
{
    const struct storage_checkpoint_new what = {.step = 3, .samples = 30, .density = 0.5, .accuracy = NAN};
    struct snapshot_writer writer;
    int64_t seq = -1;
    enum status status = session->to.save_begin(session->to.context, &what, &writer, err);
    if (status != STATUS_OK)
        return status;
    status = writer.write(writer.context, bytes, strlen(bytes), err);
    if (status != STATUS_OK) {
        session->to.save_abandon(session->to.context, err);
        return status;
    }
    status = session->to.save_commit(session->to.context, &seq, err);
    assert_int_equal(seq, 0);
    return status;
}

static enum status load(struct session *session, struct storage_checkpoint_pick pick, char *out, size_t room,
                        struct error *err)
{
    struct snapshot_reader from;
    struct storage_checkpoint info;
    void *reader;
    enum status status = session->to.open(session->to.context, RUN_OF_JOB, pick, &reader, &from, &info, err);
    if (status != STATUS_OK) {
        assert_null(reader);
        return status;
    }
    assert_true(from.total_bytes < room);
    memset(out, 0, room);
    status = from.read(from.context, 0, out, (size_t)from.total_bytes, err);
    if (status == STATUS_OK) {
        char more[2];
        assert_int_equal(info.bytes, from.total_bytes);
        assert_true(info.stage_end && info.density == 0.5);
        assert_int_equal(from.read(from.context, from.total_bytes, more, 1, NULL), STATUS_CORRUPT);
        assert_int_equal(from.read(from.context, from.total_bytes + 1, more, 0, NULL), STATUS_CORRUPT);
    }
    session->to.close(session->to.context, reader);
    return status;
}

static const struct storage_checkpoint_pick latest = {.by = STORAGE_LATEST};

/* Sends and reads what a whole run does. Stops at the first failure, as a run does, and then reports the failure. */
static enum status whole_session(int patience, struct error *err)
{
    struct session session;
    char text[64];
    enum status status = open_session(&session, patience, 1 << 20, err);
    if (status == STATUS_OK)
        status = measure(&session, "loss", 10, 0.5, err);
    if (status == STATUS_OK)
        status = session.to.progress(session.to.context, "{\"step\":3}", err);
    if (status == STATUS_OK)
        status = session.to.artifact(session.to.context, "a.txt", "text/plain", "hello", 5, err);
    if (status == STATUS_OK)
        status = save(&session, "the whole model", err);
    if (status == STATUS_OK)
        status = load(&session, latest, text, sizeof text, err);
    if (status == STATUS_OK && strcmp(text, "the whole model") != 0)
        fail_msg("the checkpoint came back as '%s'", text);
    if (session.remote != NULL && session.to.context != NULL) {
        session.to.leave(session.to.context, status == STATUS_OK ? JOB_EVENT_SUCCEED : JOB_EVENT_FAIL,
                         status == STATUS_OK ? "{\"a\":1}" : NULL, status == STATUS_OK ? NULL : "{\"code\":\"x\"}", 1);
        if (remote_ended(session.remote)) {
            /* If the played daemon has no memory to parse the request that ends the run, it stores no end. */
            assert_true(played.end[0] == '\0' || strcmp(played.end, status == STATUS_OK ? "succeeded" : "failed") == 0);
        } else {
            (void)error_set(err, STATUS_UNAVAILABLE, NULL, "the end is not recorded");
            status = status == STATUS_OK ? STATUS_UNAVAILABLE : status;
        }
    }
    close_session(&session);
    return status;
}

static void daemon_has_everything(void)
{
    assert_string_equal(played.end, "succeeded");
    assert_string_equal(played.document, "{\"a\":1}");
    assert_string_equal(played.progress, "{\"step\":3}");
    assert_string_equal(played.file, "hello");
    assert_string_equal(played.type, "&type=text%2Fplain");
    assert_true(played.points == 1 && played.last_value == 0.5);
    assert_true(played.seq == 1 && played.stored.size == 15);
}

static void a_run_sends_and_reads_everything(void **state)
{
    struct error err = {0};
    struct session session;
    played_begin();
    assert_int_equal(whole_session(1000, &err), STATUS_OK);
    daemon_has_everything();
    played_begin();
    opened(&session, 1000, 1 << 20);
    assert_string_equal(session.job.kind, "fake");
    assert_true(session.job.task == JOB_EVALUATE && session.job.progress == NULL && session.job.threads == 2);
    close_session(&session);
}

/* A request without an answer is repeated, so the run succeeds and the daemon has everything. */
static void a_request_without_answer_is_repeated(void **state)
{
    struct error err = {0};
    played_begin();
    assert_int_equal(whole_session(1000, &err), STATUS_OK);
    int all = played.requests;
    for (int n = 0; n < all; n++) {
        static const long temporary[] = {0, 429, 500, 503};
        played_begin();
        *(n % 4 == 0 ? &played.fails_at : &played.refuses_at) = n;
        played.refusal = temporary[n % 4];
        if (whole_session(1000, &err) != STATUS_OK)
            fail_msg("request %d: %s", n, err.message);
        daemon_has_everything();
        assert_true(played.pauses >= 1);
    }
}

static void a_refused_request_fails_the_run_with_the_reason_of_the_daemon(void **state)
{
    struct error err = {0};
    played_begin();
    assert_int_equal(whole_session(1000, &err), STATUS_OK);
    int all = played.requests;
    for (int n = 0; n < all; n++) {
        played_begin();
        played.refuses_at = n;
        played.refusal = 422;
        error_clear(&err);
        enum status status = whole_session(1000, &err);
        if (status == STATUS_OK && played.requests == all) /* this session ended before request n */
            continue;
        assert_int_not_equal(status, STATUS_OK);
        assert_non_null(strstr(err.message, n == 0 || played.end[0] != '\0' ? "not this" : "not recorded"));
        assert_string_equal(played.end, n == 0 || played.end[0] == '\0' ? "" : "failed");
        played_begin();
        played.refuses_at = n;
        played.refusal = 409;
        error_clear(&err);
        assert_int_not_equal(whole_session(1000, &err), STATUS_OK);
        assert_string_equal(played.end, ""); /* no end is reported, because the run belongs to another trainer */
    }
}

static void a_failing_allocation_is_reported_or_changes_nothing(void **state)
{
    int reported = 0;
    for (int forever = 0; forever < 2; forever++)
        for (int n = 0;; n++) {
            struct error err = {0};
            played_begin();
            if (forever)
                fault_from(n);
            else
                fault_after(n);
            /* if all later allocations fail, no answer arrives, so the run must not wait for one */
            enum status status = whole_session(forever ? 0 : 1000, &err);
            bool happened = fault_happened();
            assert_true(status == STATUS_OK || err.message[0] != '\0');
            if (!happened) {
                assert_int_equal(status, STATUS_OK);
                daemon_has_everything();
                break;
            }
            reported += status != STATUS_OK;
            assert_true(played.seq == 0 || played.stored.size == 15);
        }
    assert_true(reported > 10);
}

/* ---- what a run measures ------------------------------------------------------------------------------- */

static void every_value_reaches_the_daemon(void **state)
{
    static const double values[] = {1.5, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct session session;
        played_begin();
        opened(&session, 1000, 1 << 20);
        assert_int_equal(measure(&session, "loss", 1, values[i], NULL), STATUS_OK);
        assert_int_equal(session.to.progress(session.to.context, "first", NULL), STATUS_OK);
        assert_int_equal(session.to.progress(session.to.context, "second", NULL), STATUS_OK);
        for (int lines = 0; lines < 20; lines++)
            session.to.line(session.to.context, LOG_LEVEL_INFO, "a line");
        session.to.stepped(session.to.context, 4, 0.5, 2);
        session.to.stepped(session.to.context, 4, 0.25, 0);
        session.to.leave(session.to.context, JOB_EVENT_YIELD, NULL, NULL, 1);
        assert_true(played.last_value == values[i] || (isnan(values[i]) && isnan(played.last_value)));
        assert_string_equal(played.progress, "second");
        assert_true(played.lines >= 16 && played.lines <= 20); /* one report has at most 16 lines */
        assert_string_equal(played.end, "yielded");
        close_session(&session);
    }
}

/* Points beyond the limit of one report go into the next one; points of several series keep their order. */
static void many_points_are_divided_into_reports(void **state)
{
    struct session session;
    played_begin();
    opened(&session, 1000, (int64_t)1 << 30);
    for (int i = 0; i < 9000; i++)
        assert_int_equal(measure(&session, i % 2 == 0 ? "even" : "odd", i, i, NULL), STATUS_OK);
    session.to.leave(session.to.context, JOB_EVENT_SUCCEED, "{}", NULL, 1);
    assert_int_equal(played.points, 9000);
    assert_true(played.reports >= 3);
    close_session(&session);
}

static void measuring_waits_while_the_queue_is_full(void **state)
{
    struct session session;
    played_begin();
    played.hold_from = 1; /* the sender waits from the first report on, until the run waits for it */
    opened(&session, 1000, 1000);
    for (int i = 0; i < 9000; i++)
        assert_int_equal(measure(&session, "loss", i, i, NULL), STATUS_OK);
    assert_true(played.run_waits);
    session.to.leave(session.to.context, JOB_EVENT_SUCCEED, "{}", NULL, 1);
    assert_int_equal(played.points, 9000);
    close_session(&session);
    /* the daemon refuses the report for which the run waits */
    struct error err = {0};
    enum status status = STATUS_OK;
    played_begin();
    played.hold_from = played.refuses_at = 1;
    played.refusal = 422;
    opened(&session, 1000, 1000);
    for (int i = 0; i < 9000 && status == STATUS_OK; i++)
        status = measure(&session, "loss", i, i, &err);
    assert_int_equal(status, STATUS_INVALID);
    assert_non_null(strstr(err.message, "not this"));
    close_session(&session);
}

/* ---- requests to stop ----------------------------------------------------------------------------------- */

static void a_cancelled_run_sends_no_checkpoint_that_waits(void **state)
{
    struct session session;
    played_begin();
    played.wants = "cancelled";
    opened(&session, 1000, 1);
    assert_false(session.to.must_yield(session.to.context) || session.to.must_stop(session.to.context));
    assert_int_equal(measure(&session, "loss", 1, 1, NULL), STATUS_OK);
    struct arena arena;
    struct storage_checkpoint *list;
    size_t count;
    arena_init(&arena, 4096, 0);
    assert_int_equal(session.to.list(session.to.context, RUN_OF_SOURCE, &arena, &list, &count, NULL), STATUS_OK);
    arena_close(&arena);
    assert_true(session.to.must_yield(session.to.context) && session.to.must_stop(session.to.context));
    assert_false(session.to.draining(session.to.context));
    played_hold_sender();
    /* The queue would be full, but a cancelled run does not wait for space. */
    assert_int_equal(session.to.artifact(session.to.context, "a.txt", "text/plain", "kept", 4, NULL), STATUS_OK);
    assert_int_equal(save(&session, "one", NULL), STATUS_OK);
    assert_int_equal(session.to.artifact(session.to.context, "b.txt", "text/plain", "last", 4, NULL), STATUS_OK);
    assert_int_equal(save(&session, "two", NULL), STATUS_OK);
    session.to.leave(session.to.context, JOB_EVENT_YIELD, NULL, NULL, 1);
    assert_int_equal(played.announcements, 0);
    assert_int_equal(played.files, 2);
    assert_string_equal(played.end, "yielded");
    assert_true(remote_ended(session.remote));
    close_session(&session);
}

static void a_signal_makes_the_run_yield_and_a_requeued_run_reports_no_end(void **state)
{
    struct session session;
    played_begin();
    opened(&session, 1000, 1 << 20);
    atomic_store(&stop_requested, true);
    assert_true(session.to.must_yield(session.to.context) && !session.to.must_stop(session.to.context));
    close_session(&session);
    played_begin();
    opened(&session, 1000, 1 << 20);
    /* open a new session, because a session copies the options when it begins */
    close_session(&session);
    session.options.requeued = true;
    arena_init(&session.arena, 4096, 0);
    assert_int_equal(remote_open(&session.options, &session.arena, &session.remote, &session.job, NULL), STATUS_OK);
    session.to = remote_coordinator(session.remote);
    session.to.leave(session.to.context, JOB_EVENT_YIELD, NULL, NULL, 1);
    assert_false(remote_ended(session.remote));
    assert_string_equal(played.end, "");
    session.to.leave(session.to.context, JOB_EVENT_FAIL, NULL, "{}", 1); /* unlike a yield, a failure is reported */
    assert_string_equal(played.end, "failed");
    close_session(&session);
    atomic_store(&stop_requested, false);
}

/* When another trainer has the lease, every later call fails at once and nothing more is sent. */
static void a_lost_run_sends_nothing_more(void **state)
{
    struct session session;
    struct error err = {0};
    char text[64];
    played_begin();
    opened(&session, 1000, 1 << 20);
    played_refuse_next(401);
    assert_int_equal(measure(&session, "loss", 1, 1, NULL), STATUS_OK);
    assert_int_equal(load(&session, latest, text, sizeof text, &err), STATUS_CANCELLED);
    int sent = played.requests;
    assert_true(session.to.must_yield(session.to.context) && session.to.must_stop(session.to.context) &&
                session.to.draining(session.to.context));
    error_clear(&err);
    assert_int_equal(save(&session, "lost", &err), STATUS_CANCELLED);
    assert_string_equal(err.message, "the lease is lost");
    assert_int_equal(session.to.artifact(session.to.context, "a", "text/plain", "", 0, NULL), STATUS_CANCELLED);
    assert_int_equal(session.to.rewind(session.to.context, 3, NULL), STATUS_OK);
    session.to.leave(session.to.context, JOB_EVENT_FAIL, NULL, "{}", 1);
    assert_int_equal(played.requests, sent);
    assert_false(remote_ended(session.remote));
    close_session(&session);
}

static void a_daemon_that_does_not_answer_in_time_loses_the_run(void **state)
{
    struct session session;
    struct error err = {0};
    char text[64];
    played_begin();
    opened(&session, 0, 1 << 20);
    played_refuse_next(0);
    assert_int_equal(measure(&session, "loss", 1, 1, NULL), STATUS_OK);
    assert_int_equal(load(&session, latest, text, sizeof text, &err), STATUS_CANCELLED);
    assert_true(session.to.draining(session.to.context));
    close_session(&session);
}

/* ---- checkpoints that the daemon delivers ---------------------------------------------------------------- */

static void a_checkpoint_that_does_not_match_its_entry_is_refused(void **state)
{
    static const struct {
        const char *list, *says;
    } cases[] = {
        {"{\"checkpoints\":[{\"seq\":1,\"bytes\":3,\"sha256\":\"00\"}]}", "is longer than announced"},
        {"{\"checkpoints\":[{\"seq\":1,\"bytes\":100,\"sha256\":7}]}", "arrived with other bytes"},
        {"{\"checkpoints\":[{\"seq\":1e300,\"bytes\":100,\"density\":\"x\"}]}", "arrived with other bytes"},
        {"{\"checkpoints\":{}}", "list of checkpoints is not understood"},
        {"[", "list of checkpoints is not understood"},
        {"{\"checkpoints\":[]}", "no such checkpoint"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct session session;
        struct error err = {0};
        char text[64];
        played_begin();
        opened(&session, 1000, 1 << 20);
        buf_text(&played.stored, "a model");
        played.list = cases[i].list;
        assert_int_equal(load(&session, latest, text, sizeof text, &err), i == 5 ? STATUS_NOT_FOUND : STATUS_CORRUPT);
        assert_non_null(strstr(err.message, cases[i].says));
        close_session(&session);
    }
}

static void a_checkpoint_is_found_by_its_number(void **state)
{
    struct session session;
    char text[64];
    played_begin();
    opened(&session, 1000, 1 << 20);
    assert_int_equal(save(&session, "the first", NULL), STATUS_OK);
    assert_int_equal(
        load(&session, (struct storage_checkpoint_pick){.by = STORAGE_SEQ, .seq = 1}, text, sizeof text, NULL),
        STATUS_OK);
    assert_string_equal(text, "the first");
    assert_int_equal(
        load(&session, (struct storage_checkpoint_pick){.by = STORAGE_SEQ, .seq = 2}, text, sizeof text, NULL),
        STATUS_NOT_FOUND);
    close_session(&session);
}

static void a_registration_that_is_not_understood_ends_the_program(void **state)
{
    static const char *const answers[] = {
        "{\"epoch\":0,\"kind\":\"fake\",\"config\":\"{}\",\"source_job\":\"\"}",
        "{\"epoch\":3,\"kind\":7,\"config\":\"{}\",\"source_job\":\"\"}",
        "{\"epoch\":3,\"kind\":\"fake\",\"source_job\":\"\"}",
        "{\"epoch\":3,\"kind\":\"fake\",\"config\":\"{}\"}",
        "",
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct session session;
        struct error err = {0};
        played_begin();
        played.registration = answers[i];
        assert_int_equal(open_session(&session, 1000, 1 << 20, &err), STATUS_CORRUPT);
        assert_string_equal(err.message, "the daemon's answer is not understood");
        close_session(&session);
        assert_int_equal(played.requests, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_sends_and_reads_everything),
        cmocka_unit_test(a_request_without_answer_is_repeated),
        cmocka_unit_test(a_refused_request_fails_the_run_with_the_reason_of_the_daemon),
        cmocka_unit_test(a_failing_allocation_is_reported_or_changes_nothing),
        cmocka_unit_test(every_value_reaches_the_daemon),
        cmocka_unit_test(many_points_are_divided_into_reports),
        cmocka_unit_test(measuring_waits_while_the_queue_is_full),
        cmocka_unit_test(a_cancelled_run_sends_no_checkpoint_that_waits),
        cmocka_unit_test(a_signal_makes_the_run_yield_and_a_requeued_run_reports_no_end),
        cmocka_unit_test(a_lost_run_sends_nothing_more),
        cmocka_unit_test(a_daemon_that_does_not_answer_in_time_loses_the_run),
        cmocka_unit_test(a_checkpoint_that_does_not_match_its_entry_is_refused),
        cmocka_unit_test(a_checkpoint_is_found_by_its_number),
        cmocka_unit_test(a_registration_that_is_not_understood_ends_the_program),
    };
    fault_libraries();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
