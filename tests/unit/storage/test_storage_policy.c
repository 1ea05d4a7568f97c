/* Tests the policies of retention with times that the tests choose: what is due, what protects a job, and what a
 * deletion leaves. */
#include "tests/unit/storage/storage_fixture.h"

#include "storage/jobs/policy.h"

#define DAY STORAGE_DAY_MS
#define FAR ((int64_t)1 << 50) /* a time at which everything is due */

struct made {
    const char *team, *kind, *tags, *source;
    enum job_task task;
    int checkpoints; /* of which the first has the best accuracy */
};

static void save(struct fixture *f, const char *id, int index)
{
    const struct storage_checkpoint_new what = {
        .step = index, .samples = index, .density = index, .accuracy = 1.0 / index, .stage_end = true};
    struct storage_checkpoint_writer *writer;
    int64_t seq;
    static const unsigned char bytes[5000];
    OK(storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err));
    OK(storage_checkpoint_write(writer, bytes, sizeof bytes, &f->err));
    OK(storage_checkpoint_commit(writer, &seq, &f->err));
}

static void make_queued(struct fixture *f, struct made made, char id[STORAGE_ID])
{
    const struct storage_submit in = {.kind = made.kind != NULL ? made.kind : "sparling",
                                      .config = "{}",
                                      .team = made.team,
                                      .owner = "ann",
                                      .tags = made.tags,
                                      .task = made.task,
                                      .source_job = made.source,
                                      .source_checkpoint = made.source != NULL ? 1 : 0};
    enum storage_submit_outcome outcome;
    OK(storage_job_submit(f->storage, &in, id, &outcome, &f->err));
}

static void make(struct fixture *f, struct made made, char id[STORAGE_ID])
{
    char claimed[STORAGE_ID];
    make_queued(f, made, id);
    OK(storage_job_claim(f->storage, claimed, &f->err));
    assert_string_equal(claimed, id);
    for (int i = 1; i <= made.checkpoints; i++)
        save(f, id, i);
    finish(f, id);
}

static void set(struct fixture *f, const char *rules)
{
    OK(storage_policies_set(f->storage, rules, &f->err));
}

/* The number of jobs of which something is due; `first` is the one that is due longest. */
static size_t due(struct fixture *f, const char *team, int64_t now, struct storage_due *first)
{
    struct storage_due *all;
    size_t count;
    OK(storage_due_list(f->storage, NULL, team, now, 100, &f->arena, &all, &count, &f->err));
    if (first != NULL && count > 0)
        *first = all[0];
    return count;
}

static int64_t expiry(struct fixture *f, const char *id)
{
    int64_t at;
    OK(storage_job_expiry(f->storage, id, &at, &f->err));
    return at;
}

static void days_count_from_the_last_use(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], next[STORAGE_ID];
    bool whole;
    make(f, (struct made){.checkpoints = 1}, id);
    assert_int_equal(due(f, NULL, FAR, NULL), 0); /* no policy */
    assert_int_equal(expiry(f, id), 0);
    set(f, "[{\"kind\":\"*\",\"keep_days\":6}]");
    const int64_t ended = job_of(f, id).finished_at;
    assert_int_equal(expiry(f, id), ended + 6 * DAY);
    assert_int_equal(due(f, NULL, ended + 6 * DAY - 1, NULL), 0);
    assert_int_equal(due(f, NULL, ended + 6 * DAY, NULL), 1);
    REFUSED(STATUS_NOT_FOUND, storage_due_apply(f->storage, id, ended + 6 * DAY - 1, &whole, &f->err));
    /* a use moves the end; a second one within the hour stores nothing */
    OK(storage_job_used(f->storage, id, &f->err));
    OK(storage_flush(f->storage, &f->err));
    const int64_t used = job_of(f, id).used_at;
    assert_true(used >= ended);
    assert_int_equal(expiry(f, id), used + 6 * DAY);
    OK(storage_job_used(f->storage, id, &f->err));
    make_queued(f, (struct made){.source = id}, next); /* a training that starts from it is a use, too */
    assert_int_equal(job_of(f, id).used_at, used);
    change_file(f, "UPDATE job SET used_at = 0");
    make_queued(f, (struct made){.source = id}, next);
    assert_true(job_of(f, id).used_at >= used);
}

static void the_newest_of_each_team_kind_and_task_stay(void **state)
{
    struct fixture *f = *state;
    char ids[3][STORAGE_ID], other[STORAGE_ID];
    struct storage_due first;
    for (int i = 0; i < 3; i++)
        make(f, (struct made){.team = "a", .checkpoints = 1}, ids[i]);
    make(f, (struct made){.team = "b"}, other);
    make(f, (struct made){.team = "a", .kind = "other"}, other);
    set(f, "[{\"team\":\"*\",\"kind\":\"*\",\"keep_newest\":2}]");
    assert_int_equal(due(f, NULL, FAR, &first), 1);
    assert_string_equal(first.id, ids[0]);
    assert_true(first.whole && first.bytes == 5000);
    assert_int_equal(expiry(f, ids[1]), 0);
    /* both rules: what either keeps stays */
    set(f, "[{\"team\":\"*\",\"kind\":\"*\",\"keep_newest\":2,\"keep_days\":9}]");
    assert_int_equal(due(f, NULL, job_of(f, ids[0]).finished_at + 8 * DAY, NULL), 0);
    assert_int_equal(due(f, NULL, FAR, NULL), 1);
    /* an unfinished job is not among the newest */
    make_queued(f, (struct made){.team = "a"}, other);
    assert_int_equal(due(f, NULL, FAR, NULL), 1);
}

static void the_nearest_policy_counts(void **state)
{
    struct fixture *f = *state;
    char a[STORAGE_ID], b[STORAGE_ID], none[STORAGE_ID];
    struct storage_due first;
    make(f, (struct made){.team = "a"}, a);
    make(f, (struct made){.team = "b"}, b);
    make(f, (struct made){.team = NULL}, none);
    set(f, "[{\"team\":\"*\",\"kind\":\"sparling\",\"keep_days\":1},{\"team\":\"a\",\"kind\":\"*\",\"keep_days\":100},"
           "{\"kind\":\"sparling\"}]");
    const int64_t now = job_of(f, none).finished_at + 50 * DAY;
    assert_int_equal(due(f, NULL, now, &first), 1);
    assert_string_equal(first.id, b);
    assert_string_equal(first.of_team, "*");
    assert_string_equal(first.of_kind, "sparling");
    assert_int_equal(due(f, "a", now, NULL), 0);
    assert_int_equal(due(f, "b", now, NULL), 1);
    assert_int_equal(due(f, "", FAR, NULL), 0); /* its policy keeps everything */
    /* a policy of one team never takes what belongs to another */
    set(f, "[{\"team\":\"a\",\"kind\":\"*\",\"keep_days\":1}]");
    bool whole;
    assert_int_equal(due(f, NULL, FAR, &first), 1);
    assert_string_equal(first.id, a);
    REFUSED(STATUS_NOT_FOUND, storage_due_apply(f->storage, b, FAR, &whole, &f->err));
    REFUSED(STATUS_NOT_FOUND, storage_due_apply(f->storage, none, FAR, &whole, &f->err));
}

static void pins_tags_and_dependants_protect(void **state)
{
    struct fixture *f = *state;
    char pinned[STORAGE_ID], tagged[STORAGE_ID], base[STORAGE_ID], child[STORAGE_ID], evaluated[STORAGE_ID];
    char evaluation[STORAGE_ID], plain[STORAGE_ID];
    struct storage_due first;
    bool whole;
    make(f, (struct made){.checkpoints = 1}, pinned);
    make(f, (struct made){.tags = "[\"paper\"]"}, tagged);
    make(f, (struct made){.checkpoints = 1}, base);
    make(f, (struct made){.checkpoints = 1}, evaluated);
    make(f, (struct made){.source = evaluated, .task = JOB_EVALUATE}, evaluation);
    make(f, (struct made){0}, plain);
    make_queued(f, (struct made){.source = base}, child);
    OK(storage_job_patch(f->storage, pinned, &(struct storage_job_patch){.pinned = &(bool){true}}, &f->err));
    assert_true(job_of(f, pinned).pinned && !job_of(f, plain).pinned);
    set(f, "[{\"kind\":\"*\",\"keep_days\":1}]");
    assert_int_equal(expiry(f, pinned), 0);
    assert_int_equal(due(f, NULL, FAR, NULL), 2); /* the evaluation and the plain job */
    const char *const stay[] = {pinned, tagged, base, evaluated, child};
    for (size_t i = 0; i < sizeof stay / sizeof stay[0]; i++)
        REFUSED(STATUS_NOT_FOUND, storage_due_apply(f->storage, stay[i], FAR, &whole, &f->err));
    OK(storage_due_apply(f->storage, evaluation, FAR, &whole, &f->err));
    OK(storage_due_apply(f->storage, evaluated, FAR, &whole, &f->err)); /* no evaluation needs it any more */
    set(f, "[{\"kind\":\"*\",\"keep_days\":1,\"keep_tagged\":false}]");
    OK(storage_due_apply(f->storage, tagged, FAR, &whole, &f->err));
    OK(storage_job_patch(f->storage, pinned, &(struct storage_job_patch){.pinned = &(bool){false}}, &f->err));
    assert_int_equal(due(f, NULL, FAR, &first), 2);
    assert_string_equal(first.id, pinned);
}

static void the_model_stays_when_checkpoints_go(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], child[STORAGE_ID];
    struct storage_due first;
    bool whole = true;
    make(f, (struct made){.checkpoints = 5}, id);
    set(f, "[{\"kind\":\"sparling\",\"keep_newest\":3,\"checkpoint_days\":2}]");
    assert_int_equal(due(f, NULL, FAR, NULL), 0); /* one of the three newest */
    set(f, "[{\"kind\":\"sparling\",\"checkpoint_days\":2}]");
    assert_int_equal(due(f, NULL, job_of(f, id).finished_at + 2 * DAY, &first), 1);
    assert_true(!first.whole && first.bytes == 15000);
    assert_int_equal(expiry(f, id), 0);
    OK(storage_due_apply(f->storage, id, FAR, &whole, &f->err));
    assert_false(whole);
    OK(verify_latest(f, id, NULL));
    assert_int_equal(file_integer(f, "SELECT count(*) FROM checkpoint WHERE seq IN (1, 5)"),
                     2); /* the best, the latest */
    assert_int_equal(file_integer(f, "SELECT count(*) FROM checkpoint"), 2);
    assert_int_equal(due(f, NULL, FAR, NULL), 0);
    await_integer(f, "SELECT count(*) FROM chunk", 2);
    make_queued(f, (struct made){.source = id}, child);
}

static void a_deletion_is_in_the_audit_log(void **state)
{
    struct fixture *f = *state;
    char id[STORAGE_ID], target[64];
    struct storage_audit *entries;
    size_t count;
    bool whole = false;
    make(f, (struct made){.team = "proteins", .checkpoints = 2}, id);
    set(f, "[{\"team\":\"proteins\",\"kind\":\"*\",\"keep_days\":1}]");
    OK(storage_due_apply(f->storage, id, 12345 + FAR, &whole, &f->err));
    assert_true(whole);
    OK(storage_audit_list(f->storage, INT64_MAX, 10, &f->arena, &entries, &count, &f->err));
    assert_int_equal(count, 1);
    (void)snprintf(target, sizeof target, "/v1/jobs/%s", id);
    assert_string_equal(entries[0].who, "policy proteins *");
    assert_string_equal(entries[0].method, "DELETE");
    assert_string_equal(entries[0].target, target);
    assert_true(entries[0].time == 12345 + FAR && entries[0].status == 204);
    await_integer(f, "SELECT count(*) FROM chunk", 0);
    await_integer(f, "SELECT count(*) FROM pending_delete", 0);
    assert_int_equal(file_integer(f, "SELECT count(*) FROM job"), 0);
}

static void data_sets_have_uses_and_pins(void **state)
{
    struct fixture *f = *state;
    struct storage_dataset_use use;
    OK(storage_dataset_use_get(f->storage, "reads", &use, &f->err));
    assert_true(use.used_at == 0 && !use.pinned);
    OK(storage_dataset_pin(f->storage, "reads", true, &f->err));
    OK(storage_dataset_used(f->storage, "reads", &f->err));
    OK(storage_dataset_use_get(f->storage, "reads", &use, &f->err));
    assert_true(use.used_at > 0 && use.pinned);
    const int64_t first = use.used_at;
    sleep_ms(5);
    OK(storage_dataset_used(f->storage, "reads", &f->err));
    OK(storage_dataset_pin(f->storage, "reads", false, &f->err));
    OK(storage_dataset_use_get(f->storage, "reads", &use, &f->err));
    assert_true(use.used_at == first && !use.pinned);
    OK(storage_dataset_forget(f->storage, "reads", &f->err));
    OK(storage_dataset_use_get(f->storage, "reads", &use, &f->err));
    assert_true(use.used_at == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_OPEN(days_count_from_the_last_use),        TEST_OPEN(the_newest_of_each_team_kind_and_task_stay),
        TEST_OPEN(the_nearest_policy_counts),           TEST_OPEN(pins_tags_and_dependants_protect),
        TEST_OPEN(the_model_stays_when_checkpoints_go), TEST_OPEN(a_deletion_is_in_the_audit_log),
        TEST_OPEN(data_sets_have_uses_and_pins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
