/* Tests leases: every entry of the state table, and the stored rows. */
#include "tests/unit/storage/storage_fixture.h"

/* Compares the table of lease states with the expected one. Its rows are the states none, offered, held and ended; its
 * columns are the events. A letter is the first letter of the next state; '-' means that the event is refused. */
static void table_allows_exactly_the_expected_events(void **state)
{
    static const char *const expected[LEASE_STATES] = {
        /* columns: grant, register, message, end, close */
        "o---n",
        "-h--n",
        "-hhen",
        "---en",
    };
    static const char letters[] = "nohe";
    for (int s = 0; s < LEASE_STATES; s++) {
        for (int e = 0; e < LEASE_EVENTS; e++) {
            enum lease_state next = LEASE_NONE;
            bool allowed = lease_state_next((enum lease_state)s, (enum lease_event)e, &next);
            char is = allowed ? letters[next] : '-';
            if (is != expected[s][e]) {
                fail_msg("%s, %s: %c and not %c", lease_state_name((enum lease_state)s),
                         lease_event_name((enum lease_event)e), is, expected[s][e]);
            }
        }
        enum lease_state back;
        assert_true(lease_state_parse(lease_state_name((enum lease_state)s), &back));
        assert_int_equal(back, s);
    }
    enum lease_state none;
    assert_false(lease_state_parse("lost", &none));
    assert_null(lease_state_name((enum lease_state)LEASE_STATES));
}

/* ---- the stored rows ------------------------------------------------------------------------------------- */

static const uint8_t first_hash[STORAGE_LEASE_HASH] = {1}, second_hash[STORAGE_LEASE_HASH] = {2};

static void running_job(struct fixture *f, char id[STORAGE_ID])
{
    char claimed[STORAGE_ID];
    enum storage_submit_outcome outcome;
    struct storage_submit submit = {.kind = "fake", .config = "{}", .executor = "process", .ranks = 2};
    assert_int_equal(storage_job_submit(f->storage, &submit, id, &outcome, &f->err), STATUS_OK);
    assert_int_equal(storage_job_claim(f->storage, claimed, &f->err), STATUS_OK);
    assert_string_equal(claimed, id);
}

static void save(struct fixture *f, const char *id, int64_t step)
{
    struct storage_checkpoint_writer *writer;
    struct storage_checkpoint_new what = {.step = step, .samples = step};
    int64_t seq;
    assert_int_equal(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err), STATUS_OK);
    assert_int_equal(storage_checkpoint_write(writer, "bytes", 5, &f->err), STATUS_OK);
    assert_int_equal(storage_checkpoint_commit(writer, &seq, &f->err), STATUS_OK);
}

static void job_has_one_trainer_at_a_time(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    struct storage_lease lease;
    struct storage_job job;
    int64_t epoch, later;
    int tries;
    running_job(f, id);
    assert_int_equal(storage_job_get(f->storage, id, &f->arena, &job, &f->err), STATUS_OK);
    assert_string_equal(job.executor, "process");
    assert_int_equal(job.ranks, 2);
    assert_int_equal(storage_lease_get(f->storage, id, &f->arena, &lease, &f->err), STATUS_NOT_FOUND);
    static const char long_id[] = "12345678901234567890123456789012345678901234567890123456789012345";
    assert_int_equal(storage_lease_grant_to(f->storage, id, first_hash, "slurm", long_id, &tries, &f->err),
                     STATUS_INVALID);
    assert_int_equal(storage_lease_grant_to(f->storage, id, first_hash, "slurm", "42", &tries, &f->err), STATUS_OK);
    assert_int_equal(storage_lease_get(f->storage, id, &f->arena, &lease, &f->err), STATUS_OK);
    assert_string_equal(lease.foreign_id, "42"); /* this id was stored together with the lease */
    assert_string_equal(lease.executor, "slurm");
    assert_int_equal(storage_lease_close(f->storage, id, &f->err), STATUS_OK);
    save(f, id, 1);
    assert_int_equal(storage_lease_grant(f->storage, id, first_hash, "process", &tries, &f->err), STATUS_OK);
    assert_int_equal(tries, 1);
    assert_int_equal(storage_lease_get(f->storage, id, &f->arena, &lease, &f->err), STATUS_OK);
    assert_string_equal(lease.foreign_id, "");
    assert_int_equal(storage_lease_grant(f->storage, id, second_hash, "process", &tries, &f->err), STATUS_CONFLICT);
    assert_int_equal(storage_lease_find(f->storage, first_hash, &f->arena, &lease, &f->err), STATUS_OK);
    assert_string_equal(lease.job, id);
    assert_int_equal(lease.state, LEASE_OFFERED);
    /* refused, because the trainer has not registered yet */
    assert_int_equal(storage_lease_message(f->storage, id, lease.epoch, 1, &f->err), STATUS_CONFLICT);
    assert_int_equal(storage_lease_register(f->storage, id, &epoch, &f->err), STATUS_OK);
    assert_int_equal(storage_lease_message(f->storage, id, epoch, 7, &f->err), STATUS_OK);
    /* sequence number 0: a message that is not a report */
    assert_int_equal(storage_lease_message(f->storage, id, epoch, 0, &f->err), STATUS_OK);
    assert_int_equal(storage_lease_foreign(f->storage, id, "4711", &f->err), STATUS_OK);
    fixture_reopen(f);
    assert_int_equal(storage_lease_get(f->storage, id, &f->arena, &lease, &f->err), STATUS_OK);
    assert_int_equal(lease.state, LEASE_HELD);
    assert_int_equal(lease.sequence, 7);
    assert_string_equal(lease.foreign_id, "4711");
    assert_int_equal(storage_lease_grant(f->storage, id, second_hash, "process", &tries, &f->err), STATUS_CONFLICT);

    /* A second trainer registers with the same token. Messages of the first trainer are then refused. */
    assert_int_equal(storage_lease_register(f->storage, id, &later, &f->err), STATUS_OK);
    assert_true(later > epoch);
    assert_int_equal(storage_lease_message(f->storage, id, epoch, 8, &f->err), STATUS_CONFLICT);
    assert_int_equal(storage_lease_end(f->storage, id, epoch, JOB_EVENT_FAIL, NULL, "{}", &f->err), STATUS_CONFLICT);
    assert_int_equal(storage_lease_end(f->storage, id, later, JOB_EVENT_CLAIM, NULL, NULL, &f->err), STATUS_INVALID);
    assert_int_equal(storage_lease_end(f->storage, id, later, JOB_EVENT_SUCCEED, "{\"a\":1}", NULL, &f->err),
                     STATUS_OK);
    /* the trainer repeats its message, which is accepted */
    assert_int_equal(storage_lease_end(f->storage, id, later, JOB_EVENT_FAIL, NULL, "{}", &f->err), STATUS_OK);
    assert_int_equal(storage_lease_message(f->storage, id, later, 9, &f->err), STATUS_CONFLICT);
    assert_int_equal(storage_lease_get(f->storage, id, &f->arena, &lease, &f->err), STATUS_OK);
    assert_int_equal(lease.ending, JOB_EVENT_SUCCEED);
    assert_string_equal(lease.result, "{\"a\":1}");
}

/* storage_job_leave() closes the lease, so a search for its token finds nothing. */
static void leaving_closes_the_lease(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    struct storage_lease lease;
    int64_t epoch;
    int tries;
    running_job(f, id);
    assert_int_equal(storage_lease_grant(f->storage, id, first_hash, "process", &tries, &f->err), STATUS_OK);
    assert_int_equal(storage_lease_register(f->storage, id, &epoch, &f->err), STATUS_OK);
    assert_int_equal(storage_job_leave(f->storage, id, JOB_EVENT_SUCCEED, "{}", NULL, NULL, &f->err), STATUS_OK);
    assert_int_equal(storage_lease_find(f->storage, first_hash, &f->arena, &lease, &f->err), STATUS_NOT_FOUND);
    assert_int_equal(storage_lease_message(f->storage, id, epoch, 1, &f->err), STATUS_CONFLICT);
    assert_int_equal(storage_lease_register(f->storage, id, &epoch, &f->err), STATUS_CONFLICT);
    assert_int_equal(storage_lease_foreign(f->storage, id, "1", &f->err), STATUS_CONFLICT);
    /* refused, because the job is not running */
    assert_int_equal(storage_lease_grant(f->storage, id, second_hash, "process", &tries, &f->err), STATUS_CONFLICT);
    assert_int_equal(storage_job_delete(f->storage, id, &f->err), STATUS_OK);
    assert_int_equal(storage_lease_get(f->storage, id, &f->arena, &lease, &f->err), STATUS_NOT_FOUND);
    assert_int_equal(storage_lease_register(f->storage, id, &epoch, &f->err), STATUS_NOT_FOUND);
}

/* storage_lease_grant() returns how many leases were granted since the job's last checkpoint. */
static void tries_are_counted_until_the_next_checkpoint(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID];
    int tries;
    running_job(f, id);
    static const struct {
        bool save;
        int tries;
    } steps[] = {{false, 1}, {false, 2}, {true, 1}, {false, 2}, {false, 3}, {true, 1}, {true, 1}, {false, 2}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (steps[i].save)
            save(f, id, (int64_t)i + 1);
        assert_int_equal(
            storage_lease_grant(f->storage, id, i % 2 == 0 ? first_hash : second_hash, "process", &tries, &f->err),
            STATUS_OK);
        assert_int_equal(tries, steps[i].tries);
        assert_int_equal(storage_lease_close(f->storage, id, &f->err), STATUS_OK);
        assert_int_equal(storage_lease_close(f->storage, id, &f->err), STATUS_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_allows_exactly_the_expected_events),
        TEST_OPEN(job_has_one_trainer_at_a_time),
        TEST_OPEN(leaving_closes_the_lease),
        TEST_OPEN(tries_are_counted_until_the_next_checkpoint),
    };
    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
