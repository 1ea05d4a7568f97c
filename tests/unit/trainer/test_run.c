/* Tests the training loop against a coordinator that this file plays: every call of the coordinator and every
 * allocation fails once, a cancel arrives in every phase, and methods and daemons send what they should not. In each
 * case the run must report its end once, name the fault, and close what it has opened. */
#include "tests/support/unit.h"
#include "core/base/parallel/thread_pool.h"
#include "tests/support/fault.h"
#include "tests/unit/api/fake_method.h"
#include "tests/unit/trainer/played_run.h"

/* ---- runs ---------------------------------------------------------------------------------------------- */

static void forget(void)
{
    for (size_t i = 0; i < outside.count; i++)
        buf_close(&outside.stored[i]);
    outside = (struct outside){.fails_at = -1};
}

static enum job_event run(const struct method *method, const struct storage_job *job)
{
    const struct method *const methods[] = {&fake_method, method};
    const struct run_setup setup = {.methods = methods + (method != NULL),
                                    .method_count = 1,
                                    .threads_default = 2,
                                    .threads_max = 3,
                                    .build = "test",
                                    .cpu = "a processor",
                                    .blas_core = "none"};
    enum job_event end = run_job(&setup, &played, job);
    assert_int_equal(outside.leaves, 1);
    assert_int_equal(end, outside.end);
    assert_int_equal(outside.open_readers, 0);
    assert_int_equal(outside.open_saves, 0);
    return end;
}

static struct storage_job training(const char *config)
{
    return (struct storage_job){.kind = "fake", .config = config, .source_job = "", .threads = 1};
}

static void says(const char *text)
{
    if (strstr(outside.document, text) == NULL)
        fail_msg("'%s' is not in %s", text, outside.document);
}

static const char FOUR[] = "{\"steps\":4,\"checkpoint_every\":2,\"stage_every\":3}";

/* Runs the job FOUR without a fault and copies the hash in its result. */
static void undisturbed(char hash[17])
{
    const struct storage_job job = training(FOUR);
    forget();
    assert_int_equal(run(NULL, &job), JOB_EVENT_SUCCEED);
    const char *at = strstr(outside.document, "\"hash\":\"");
    assert_non_null(at);
    memcpy(hash, at + 8, 16);
    hash[16] = '\0';
}

/* A fault must either have no effect on the result, or fail the job with the fault in its error document. */
static void ends_rightly(const char *hash, const char *why)
{
    if (outside.end == JOB_EVENT_SUCCEED)
        says(hash);
    else if (outside.end == JOB_EVENT_FAIL)
        says(why);
    else
        fail_msg("the run yields without a request");
}

static void a_failing_call_of_the_coordinator_fails_the_job_with_its_message(void **state)
{
    static const enum status codes[] = {STATUS_INTERNAL, STATUS_IO};
    const struct storage_job job = training(FOUR);
    char hash[17];
    undisturbed(hash);
    int all = outside.calls, repeated = 0, failed = 0;
    assert_true(all > 20);
    for (int i = 0; i < 4; i++)
        for (int n = 0; n < all; n++) {
            forget();
            outside.fails_at = n;
            outside.code = codes[i % 2];
            outside.forever = i >= 2;
            (void)run(NULL, &job);
            ends_rightly(hash, "fails");
            repeated += outside.end == JOB_EVENT_SUCCEED;
            failed += outside.end == JOB_EVENT_FAIL;
            assert_true(outside.end == JOB_EVENT_FAIL || outside.sleeps == 1);
        }
    /* Every call that fails makes the job fail. The only exception is a save that fails with STATUS_IO, because the
     * disk or the queue is full. The run repeats it, and the job fails only if the repetition fails too. */
    assert_true(repeated > 0 && failed > 3 * all - 1);
    forget();
}

/* Starts a job from the model of another job, and continues a job from its own checkpoint. */
static void a_failing_call_while_a_model_is_loaded_fails_the_job(void **state)
{
    char hash[17];
    struct storage_job warm = training(FOUR), again = training(FOUR);
    struct storage_job evaluation = training(FOUR);
    evaluation.task = JOB_EVALUATE;
    evaluation.params = "{\"samples\":2,\"seed\":-2}";
    evaluation.source_job = warm.source_job = "other";
    evaluation.source_checkpoint = 1;
    const struct storage_job *const jobs[] = {&again, &evaluation, &warm};
    for (int i = 0; i < 3; i++)
        for (int n = 0, all = 1; n <= all; n++) {
            undisturbed(hash);
            size_t before = outside.count;
            outside.leaves = outside.calls = 0;
            outside.fails_at = n == 0 ? -1 : n - 1; /* first without a fault */
            outside.code = STATUS_CORRUPT;
            if (i == 2) { /* the job has no checkpoint of its own */
                outside.source = true;
                outside.steps[before - 1] = -1;
            }
            enum job_event end = run(NULL, jobs[i]);
            assert_int_equal(end, n == 0 ? JOB_EVENT_SUCCEED : JOB_EVENT_FAIL);
            if (n == 0) {
                all = outside.calls;
                says(i == 2 ? "\"warm\":1" : "\"hash\"");
            } else {
                says("fails");
                says("\"pointer\":\"/played\"");
            }
        }
    forget();
}

static void a_failing_allocation_fails_the_job_or_changes_nothing(void **state)
{
    const struct storage_job job = training(FOUR);
    char hash[17];
    undisturbed(hash);
    int failed = 0;
    for (int forever = 0; forever < 2; forever++)
        for (int n = 0;; n++) {
            forget();
            fault_spare_others(true);
            if (forever)
                fault_from(n);
            else
                fault_after(n);
            (void)run(NULL, &job);
            bool happened = fault_happened();
            ends_rightly(hash, "memory");
            if (!happened)
                break;
            failed += outside.end == JOB_EVENT_FAIL;
        }
    assert_true(failed > 20);
    forget();
}

static void a_run_waits_while_the_disk_is_full(void **state)
{
    const struct storage_job job = training(FOUR);
    char hash[17];
    int waited = 0;
    undisturbed(hash);
    for (int n = 0, all = 2 * outside.calls; n < all; n++) {
        forget();
        outside.fails_at = n / 2;
        outside.code = STATUS_FULL;
        outside.drains = n % 2 == 1;
        (void)run(NULL, &job);
        if (outside.blocks == 0) /* this call does not write */
            continue;
        waited++;
        assert_int_equal(outside.blocks, 1);
        /* when the process ends while the disk is full, nothing is wrong with the job */
        assert_int_equal(outside.end, outside.drains ? JOB_EVENT_YIELD : JOB_EVENT_SUCCEED);
        assert_in_range(outside.sleeps, outside.drains ? 0 : 10, outside.drains ? 0 : 100);
        assert_int_equal(outside.blocked, outside.drains);
        says(outside.drains ? "" : hash);
    }
    assert_true(waited >= 16);
    forget();
}

static void a_failed_save_is_not_repeated_while_the_process_ends(void **state)
{
    const struct storage_job job = training(FOUR);
    forget();
    for (outside.fails_at = 0; outside.leaves == 0 || outside.warnings < 2;) {
        int next = outside.fails_at + 1;
        forget();
        outside.fails_at = next;
        outside.code = STATUS_UNAVAILABLE;
        outside.drains = true;
        assert_int_equal(run(NULL, &job), JOB_EVENT_FAIL);
    }
    says("the checkpoint cannot be saved: the call save_begin fails");
    assert_int_equal(outside.sleeps, 0);
    forget();
}

/* ---- cancels ------------------------------------------------------------------------------------------- */

/* Returns when the pool of the run has been stopped because of a cancel. */
static enum status await_stop(struct method_run *run, struct error *err)
{
    enum status status = STATUS_OK;
    atomic_store(&outside.cancelled, true);
    while (status == STATUS_OK)
        status = thread_pool_check(run->env.pool, err);
    return status;
}

static enum status step_until_stopped(struct method_run *run, enum method_request *request, struct error *err)
{
    return await_stop(run, err);
}

static enum status create_until_stopped(const void *config, const struct method_env *env, struct method_run **run,
                                        struct error *err)
{
    enum status status = fake_create(config, env, run, err);
    return status == STATUS_OK ? await_stop(*run, err) : status;
}

static enum status save_until_stopped(struct method_run *run, const struct snapshot_writer *to, uint64_t *bytes,
                                      struct error *err)
{
    (void)await_stop(run, NULL);
    return to->write(to->context, "x", 1, err);
}

static enum status result_until_stopped(struct method_run *run, const struct sink *out, struct error *err)
{
    return await_stop(run, err);
}

static void a_cancel_ends_every_phase_of_a_run_without_a_new_checkpoint(void **state)
{
    struct method methods[5];
    const struct storage_job job = training(FOUR), pausing = training("{\"steps\":4,\"checkpoint_every\":100}");
    for (int i = 0; i < 5; i++)
        methods[i] = fake_method;
    methods[0].create = create_until_stopped;
    methods[1].step = step_until_stopped;
    methods[2].save = methods[3].save = save_until_stopped;
    methods[4].result = result_until_stopped;
    for (int i = 0; i < 5; i++) {
        forget();
        assert_int_equal(run(&methods[i], i == 3 ? &pausing : &job), JOB_EVENT_YIELD);
        assert_string_equal(outside.document, "");
        assert_true(outside.count == 0 || i == 4); /* the result is computed after the last save */
    }
    forget();
}

/* ---- what a method may get wrong ------------------------------------------------------------------------ */

static enum status step_with_long_name(struct method_run *run, enum method_request *request, struct error *err)
{
    char name[80];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    run->env.metric(run->env.context, name, 1, 1);
    return STATUS_OK;
}

static enum status step_with_undeclared_metric(struct method_run *run, enum method_request *request, struct error *err)
{
    run->env.metric(run->env.context, "rest", 1, 1);
    return STATUS_OK;
}

static enum status step_with_many_points(struct method_run *run, enum method_request *request, struct error *err)
{
    for (int i = 0; i < 130; i++)
        run->env.metric(run->env.context, "loss", i, i);
    *request = METHOD_DONE;
    return STATUS_OK;
}

static enum status step_with_file(struct method_run *run, enum method_request *request, struct error *err)
{
    run->env.artifact(run->env.context, "a.txt", "text/plain", "x", 1);
    *request = METHOD_DONE;
    return STATUS_OK;
}

static void a_series_with_a_name_that_is_too_long_fails_the_job(void **state)
{
    struct method method = fake_method;
    const struct storage_job job = training(FOUR);
    method.step = step_with_long_name;
    forget();
    assert_int_equal(run(&method, &job), JOB_EVENT_FAIL);
    says("the name of a series has 79 bytes, which is too long");
    assert_int_equal(outside.points, 0);
    forget();
}

static void an_undeclared_metric_fails_the_job(void **state)
{
    struct method method = fake_method;
    const struct storage_job job = training(FOUR);
    method.step = step_with_undeclared_metric;
    forget();
    assert_int_equal(run(&method, &job), JOB_EVENT_FAIL);
    says("the method does not declare the metric rest");
    assert_int_equal(outside.points, 0);
    forget();
}

static void points_beyond_one_group_are_sent_in_several(void **state)
{
    struct method method = fake_method;
    const struct storage_job job = training(FOUR);
    method.step = step_with_many_points;
    forget();
    assert_int_equal(run(&method, &job), JOB_EVENT_SUCCEED);
    assert_int_equal(outside.points, 130);
    assert_int_equal(outside.most_points, 64);
    for (int n = 0; n < 4; n++) {
        forget();
        outside.fails_at = n;
        outside.code = STATUS_LIMIT;
        assert_int_equal(run(&method, &job), JOB_EVENT_FAIL);
        says(n < 2 ? n == 0 ? "call open fails" : "call rewind fails" : "call metrics fails");
    }
    method.step = step_with_file;
    forget();
    outside.fails_at = 2;
    outside.code = STATUS_LIMIT;
    assert_int_equal(run(&method, &job), JOB_EVENT_FAIL);
    says("call artifact fails");
    assert_int_equal(outside.files, 1);
    forget();
}

static enum status result_without_end(struct method_run *run, const struct sink *out, struct error *err)
{
    sink_begin_object(out, "open");
    return STATUS_OK;
}

static enum status result_with_all(struct method_run *run, const struct sink *out, struct error *err)
{
    static const char *const texts[] = {"build", "cpu", "blas_core", "weights_sha256"};
    static const char *const numbers[] = {"seed", "samples", "seconds", "threads"};
    for (int i = 0; i < 4; i++) {
        sink_text(out, texts[i], "mine");
        sink_integer(out, numbers[i], -7);
    }
    return STATUS_OK;
}

static enum status result_of_five_megabytes(struct method_run *run, const struct sink *out, struct error *err)
{
    sink_begin_list(out, "many");
    for (int i = 0; i < 500000; i++)
        sink_text(out, NULL, "0123456");
    sink_end_list(out);
    return STATUS_OK;
}

static void the_result_must_be_json_of_limited_size_and_keeps_the_members_of_the_method(void **state)
{
    struct method method = fake_method;
    const struct storage_job job = training(FOUR);
    method.result = result_without_end;
    forget();
    assert_int_equal(run(&method, &job), JOB_EVENT_FAIL);
    says("a result that is not valid JSON");
    method.result = result_of_five_megabytes;
    forget();
    assert_int_equal(run(&method, &job), JOB_EVENT_FAIL);
    says("the result is larger than the limit of 4194304 bytes");
    method.result = result_with_all;
    forget();
    assert_int_equal(run(&method, &job), JOB_EVENT_SUCCEED);
    says("\"kind\":\"fake\"");
    says("\"cpu\":\"mine\"");
    assert_null(strstr(outside.document, "a processor"));
    assert_null(strstr(outside.document, "\"threads\":1"));
    method.result = NULL; /* a method that adds no members to the result */
    forget();
    assert_int_equal(run(&method, &job), JOB_EVENT_SUCCEED);
    says("{\"kind\":\"fake\",\"seed\":1,");
    forget();
}

/* ---- what a stored job may contain ---------------------------------------------------------------------- */

static void an_evaluation_without_its_parameters_fails(void **state)
{
    static const char *const params[] = {NULL, "{}", "{", "{\"samples\":3}", "{\"samples\":\"3\",\"seed\":1}"};
    char hash[17];
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++) {
        struct storage_job job = training(FOUR);
        job.task = JOB_EVALUATE;
        job.params = params[i];
        undisturbed(hash);
        outside.leaves = 0;
        assert_int_equal(run(NULL, &job), JOB_EVENT_FAIL);
        says(i == 2 ? "\"detail\":" : "an evaluation needs samples and seed");
    }
    forget();
}

/* If the stored progress contains the seconds that earlier runs of the job took, the run adds its own time to them. */
static void the_seconds_of_earlier_runs_count(void **state)
{
    static const char *const progress[] = {"{\"seconds\":5000}", "{\"seconds\":-5000}", "{\"seconds\":\"5000\"}", "{"};
    for (size_t i = 0; i < sizeof progress / sizeof progress[0]; i++) {
        struct storage_job job = training(FOUR);
        job.progress = progress[i];
        forget();
        assert_int_equal(run(NULL, &job), JOB_EVENT_SUCCEED);
        const char *at = strstr(outside.document, "\"seconds\":");
        assert_non_null(at);
        double seconds = strtod(at + 10, NULL);
        assert_true(i == 0 ? seconds >= 5000 && seconds < 6000 : seconds >= 0 && seconds < 1000);
    }
    forget();
}

static void the_number_of_threads_follows_the_job_and_then_the_daemon(void **state)
{
    static const struct {
        int threads;
        const char *result;
    } cases[] = {{0, "\"threads\":2"}, {1, "\"threads\":1"}, {9, "\"threads\":3"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct storage_job job = training(FOUR);
        job.threads = cases[i].threads;
        forget();
        assert_int_equal(run(NULL, &job), JOB_EVENT_SUCCEED);
        says(cases[i].result);
    }
    forget();
}

/* ---- earlier checkpoints -------------------------------------------------------------------------------- */

static int looked; /* number of checkpoints that the method has read */

/* Reads all checkpoints of the job in its third step, and asks for one that does not exist. */
static enum status step_that_looks_back(struct method_run *run, enum method_request *request, struct error *err)
{
    const struct method_checkpoints *table = &run->env.checkpoints;
    struct method_checkpoint one;
    struct snapshot_reader reader;
    size_t count = 0;
    if (run->step == 2) {
        struct error missing = {0};
        /* describe() works without count() */
        enum status status = table->describe(table->context, 0, &one, err);
        if (status == STATUS_OK)
            status = table->count(table->context, &count, err);
        for (size_t i = 0; status == STATUS_OK && i < count; i++) {
            status = table->describe(table->context, i, &one, err);
            if (status == STATUS_OK)
                status = table->open(table->context, i, &reader, err);
            looked += status == STATUS_OK && reader.total_bytes > 0 && one.seq == (int64_t)i + 1;
        }
        if (status != STATUS_OK)
            return status;
        assert_int_equal(table->describe(table->context, count, &one, &missing), STATUS_NOT_FOUND);
        assert_int_equal(table->open(table->context, count, &reader, NULL), STATUS_NOT_FOUND);
    }
    return fake_step(run, request, err);
}

static void a_method_reads_the_checkpoints_of_its_job(void **state)
{
    struct method method = fake_method;
    const struct storage_job job = training("{\"steps\":4,\"checkpoint_every\":1}");
    method.step = step_that_looks_back;
    forget();
    looked = 0;
    assert_int_equal(run(&method, &job), JOB_EVENT_SUCCEED);
    assert_int_equal(looked, 2);
    int all = outside.calls;
    for (int n = 0; n < all; n++) {
        forget();
        outside.fails_at = n;
        outside.code = STATUS_CORRUPT;
        assert_int_equal(run(&method, &job), JOB_EVENT_FAIL);
        says("fails");
    }
    forget();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failing_call_of_the_coordinator_fails_the_job_with_its_message),
        cmocka_unit_test(a_failing_call_while_a_model_is_loaded_fails_the_job),
        cmocka_unit_test(a_failing_allocation_fails_the_job_or_changes_nothing),
        cmocka_unit_test(a_run_waits_while_the_disk_is_full),
        cmocka_unit_test(a_failed_save_is_not_repeated_while_the_process_ends),
        cmocka_unit_test(a_cancel_ends_every_phase_of_a_run_without_a_new_checkpoint),
        cmocka_unit_test(a_series_with_a_name_that_is_too_long_fails_the_job),
        cmocka_unit_test(an_undeclared_metric_fails_the_job),
        cmocka_unit_test(points_beyond_one_group_are_sent_in_several),
        cmocka_unit_test(the_result_must_be_json_of_limited_size_and_keeps_the_members_of_the_method),
        cmocka_unit_test(an_evaluation_without_its_parameters_fails),
        cmocka_unit_test(the_seconds_of_earlier_runs_count),
        cmocka_unit_test(the_number_of_threads_follows_the_job_and_then_the_daemon),
        cmocka_unit_test(a_method_reads_the_checkpoints_of_its_job),
    };
    fault_libraries();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
