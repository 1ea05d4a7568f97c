/* Tests the calls that submit, read, list, change and delete studies. */
#include "tests/unit/storage/storage_fixture.h"

enum { JOBS = 6 };

/* Fills the rows of a study of JOBS jobs. */
static void rows(struct storage_submit in[JOBS], const char *key)
{
    static const char *const names[JOBS] = {"a", "b", "c", "d", "e", "f"};
    for (int i = 0; i < JOBS; i++)
        in[i] = (struct storage_submit){
            .kind = "sparling", .preset = "p", .name = names[i], .config = "{\"seed\":1}", .owner = "anna"};
    in[0].key = key;
}

static enum status submit_study(struct fixture *f, struct storage_submit in[JOBS], char id[STORAGE_ID],
                                enum storage_submit_outcome *outcome)
{
    const struct storage_study_submit study = {
        .name = "six", .grid = "{\"p\":[1,2,3]}", .seeds = 2, .jobs = in, .count = JOBS};
    return storage_study_submit(f->storage, &study, id, outcome, &f->err);
}

static void make(struct fixture *f, const char *key, char id[STORAGE_ID])
{
    struct storage_submit in[JOBS];
    enum storage_submit_outcome outcome;
    rows(in, key);
    OK(submit_study(f, in, id, &outcome));
    assert_int_equal(outcome, STORAGE_CREATED);
}

static struct storage_study study_of(struct fixture *f, const char *id)
{
    struct storage_study study;
    OK(storage_study_get(f->storage, id, &f->arena, &study, &f->err));
    return study;
}

static void study_is_read_back_with_its_jobs(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], single[STORAGE_ID];
    struct storage_job *jobs;
    size_t count;
    bool more;
    make(f, NULL, id);
    submit(f, "sparling", 0, single);
    for (int round = 0; round < 2; round++) {
        struct storage_study study = study_of(f, id);
        assert_string_equal(study.name, "six");
        assert_string_equal(study.kind, "sparling");
        assert_string_equal(study.preset, "p");
        assert_string_equal(study.owner, "anna");
        assert_string_equal(study.grid, "{\"p\":[1,2,3]}");
        assert_int_equal(study.seeds, 2);
        assert_int_equal(study.count, JOBS);
        assert_int_equal(study.jobs[JOB_QUEUED], JOBS);
        assert_true(study.fraction == 0 && study.finished_at == 0 && study.created_at > 0);
        OK(storage_study_jobs(f->storage, id, "", 4, &f->arena, &jobs, &count, &f->err));
        assert_int_equal(count, 4);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(jobs[i].name[0], 'a' + (int)i);
        OK(storage_study_jobs(f->storage, id, jobs[3].id, 4, &f->arena, &jobs, &count, &f->err));
        assert_int_equal(count, 2);
        assert_string_equal(jobs[1].name, "f");
        assert_string_equal(jobs[1].study, id);
        const struct storage_job_filter filter = {.study = id, .limit = 10};
        OK(storage_job_list(f->storage, &filter, &f->arena, &jobs, &count, &more, &f->err));
        assert_int_equal(count, JOBS);
        assert_string_equal(jobs[0].name, "f");
        assert_string_equal(job_of(f, single).study, "");
        fixture_reopen(f);
    }
    struct storage_study none;
    REFUSED(STATUS_NOT_FOUND, storage_study_get(f->storage, single, &f->arena, &none, &f->err));
}

static void same_key_returns_same_study(void **state)
{
    struct fixture *f = *state;
    char first[STORAGE_ID], again[STORAGE_ID];
    enum storage_submit_outcome outcome;
    struct storage_submit in[JOBS];
    make(f, "abc", first);
    rows(in, "abc");
    OK(submit_study(f, in, again, &outcome));
    assert_int_equal(outcome, STORAGE_REPLAYED);
    assert_string_equal(again, first);
    in[0].fingerprint[0] = 1;
    OK(submit_study(f, in, again, &outcome));
    assert_int_equal(outcome, STORAGE_KEY_REUSED);
    assert_string_equal(again, first);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), JOBS);
    /* the key survives the deletion of the job to which it belongs, and goes with the last one */
    in[0].fingerprint[0] = 0;
    OK(storage_study_request(f->storage, first, JOB_EVENT_CANCEL, &f->err));
    for (int left = JOBS; left > 0; left--) {
        struct storage_job *jobs;
        size_t count;
        OK(storage_study_jobs(f->storage, first, "", 1, &f->arena, &jobs, &count, &f->err));
        OK(storage_job_delete(f->storage, jobs[0].id, &f->err));
        if (left == 1)
            break;
        OK(submit_study(f, in, again, &outcome));
        assert_int_equal(outcome, STORAGE_REPLAYED);
        assert_string_equal(again, first);
    }
    assert_int_equal(file_integer(f, "SELECT count(*) FROM study"), 0);
    OK(submit_study(f, in, again, &outcome));
    assert_int_equal(outcome, STORAGE_CREATED);
}

static void limits_refuse_the_whole_study(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    enum storage_submit_outcome outcome;
    struct storage_submit in[JOBS];
    fixture_close(f);
    f->options.queue_limit = JOBS + 1;
    fixture_open(f);
    rows(in, NULL);
    in[0].owner_limit = JOBS - 1;
    OK(submit_study(f, in, id, &outcome));
    assert_int_equal(outcome, STORAGE_OWNER_FULL);
    in[0].owner_limit = JOBS;
    in[JOBS - 1].source_job = "none";
    REFUSED(STATUS_NOT_FOUND, submit_study(f, in, id, &outcome));
    assert_string_equal(id, "");
    in[JOBS - 1].source_job = NULL;
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM study"), 0);
    OK(submit_study(f, in, id, &outcome));
    in[0].owner_limit = 0;
    REFUSED(STATUS_UNAVAILABLE, submit_study(f, in, id, &outcome));
    assert_non_null(strstr(f->err.message, "no room for 6 jobs"));
    const struct storage_study_submit none = {.grid = "{}", .jobs = in, .count = 0};
    REFUSED(STATUS_INVALID, storage_study_submit(f->storage, &none, id, &outcome, &f->err));
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), JOBS);
}

static void requests_reach_every_job_that_allows_them(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], running[STORAGE_ID], done[STORAGE_ID];
    make(f, NULL, id);
    OK(storage_job_claim(f->storage, done, &f->err));
    finish(f, done);
    OK(storage_job_claim(f->storage, running, &f->err));
    OK(storage_job_progress(f->storage, running, "{\"fraction\":0.5}", &f->err));
    OK(storage_flush(f->storage, &f->err));
    assert_true(study_of(f, id).fraction == 1.5 / JOBS);
    OK(storage_study_request(f->storage, id, JOB_EVENT_PAUSE, &f->err));
    struct storage_study study = study_of(f, id);
    assert_int_equal(study.jobs[JOB_PAUSED], JOBS - 2);
    assert_int_equal(study.jobs[JOB_RUNNING], 1);
    assert_int_equal(job_of(f, running).requested, REQUESTED_PAUSED);
    OK(storage_study_request(f->storage, id, JOB_EVENT_RESUME, &f->err));
    assert_int_equal(study_of(f, id).jobs[JOB_QUEUED], JOBS - 2);
    OK(storage_study_request(f->storage, id, JOB_EVENT_CANCEL, &f->err));
    REFUSED(STATUS_CONFLICT, storage_study_delete(f->storage, id, &f->err));
    OK(storage_job_leave(f->storage, running, JOB_EVENT_YIELD, NULL, NULL, NULL, &f->err));
    study = study_of(f, id);
    assert_int_equal(study.jobs[JOB_CANCELLED], JOBS - 1);
    assert_int_equal(study.jobs[JOB_SUCCEEDED], 1);
    assert_true(study.fraction == 1 && study.finished_at > 0);
    REFUSED(STATUS_CONFLICT, storage_study_request(f->storage, id, JOB_EVENT_RESUME, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_study_request(f->storage, done, JOB_EVENT_CANCEL, &f->err));
    REFUSED(STATUS_INVALID, storage_study_request(f->storage, id, JOB_EVENT_CLAIM, &f->err));
}

static void delete_removes_all_jobs_or_none(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], source[STORAGE_ID], user[STORAGE_ID];
    struct storage_checkpoint_writer *writer;
    const struct storage_checkpoint_new what = {.step = 1, .samples = 1, .density = 1, .accuracy = 1};
    int64_t seq;
    enum storage_submit_outcome outcome;
    make(f, NULL, id);
    OK(storage_job_claim(f->storage, source, &f->err));
    OK(storage_checkpoint_begin(f->storage, source, &what, &writer, &f->err));
    OK(storage_checkpoint_commit(writer, &seq, &f->err));
    finish(f, source);
    OK(storage_study_request(f->storage, id, JOB_EVENT_CANCEL, &f->err));
    const struct storage_submit in = {
        .kind = "sparling", .config = "{}", .source_job = source, .source_checkpoint = seq};
    OK(storage_job_submit(f->storage, &in, user, &outcome, &f->err));
    REFUSED(STATUS_CONFLICT, storage_study_delete(f->storage, id, &f->err));
    assert_int_equal(study_of(f, id).count, JOBS);
    OK(storage_job_request(f->storage, user, JOB_EVENT_CANCEL, NULL, NULL, &f->err));
    OK(storage_study_delete(f->storage, id, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_study_delete(f->storage, id, &f->err));
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), 1);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM study"), 0);
    await_integer(f, "SELECT count(*) FROM chunk", 0);
}

static void studies_are_listed_newest_first_in_pages(void **state)
{
    struct fixture *f = *state;
    char id[3][STORAGE_ID];
    struct storage_study *studies;
    size_t count;
    bool more;
    for (int i = 0; i < 3; i++)
        make(f, NULL, id[i]);
    struct storage_study_filter filter = {.limit = 2};
    OK(storage_study_list(f->storage, &filter, &f->arena, &studies, &count, &more, &f->err));
    assert_true(count == 2 && more);
    assert_string_equal(studies[0].id, id[2]);
    filter.before = studies[1].id;
    OK(storage_study_list(f->storage, &filter, &f->arena, &studies, &count, &more, &f->err));
    assert_true(count == 1 && !more);
    assert_string_equal(studies[0].id, id[0]);
    assert_int_equal(studies[0].count, JOBS);
    filter = (struct storage_study_filter){.name = "other"};
    OK(storage_study_list(f->storage, &filter, &f->arena, &studies, &count, &more, &f->err));
    assert_int_equal(count, 0);
    filter = (struct storage_study_filter){.limit = 1001};
    REFUSED(STATUS_INVALID, storage_study_list(f->storage, &filter, &f->arena, &studies, &count, &more, &f->err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OPEN(study_is_read_back_with_its_jobs), TEST_OPEN(same_key_returns_same_study),
        TEST_OPEN(limits_refuse_the_whole_study),    TEST_OPEN(requests_reach_every_job_that_allows_them),
        TEST_OPEN(delete_removes_all_jobs_or_none),  TEST_OPEN(studies_are_listed_newest_first_in_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
