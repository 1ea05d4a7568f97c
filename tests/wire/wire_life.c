/* Tests the life of jobs and of the daemon: pause, resume, cancel, priorities, shutdown, restart, and the rule that one
 * daemon owns a database. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "tests/wire/wire.h"

#define LONG_RUN 4000000L

static struct daemon_process served;

static int setup(void **state)
{
    daemon_init(&served);
    return daemon_start(&served, NULL, NULL) ? 0 : -1;
}

static int teardown(void **state)
{
    daemon_close(&served, false);
    return 0;
}

static int act(const char *id, const char *verb, char state[16])
{
    char path[256], rest[32];
    struct reply reply;
    (void)snprintf(rest, sizeof rest, "/%s", verb);
    job_path(path, id, rest);
    call_server(served.url, &(struct call){.method = "POST", .path = path}, &reply);
    int status = reply.status;
    if (status >= 400)
        assert_problem(&reply, status);
    (void)snprintf(state, 16, "%s", json_text(reply.json, "state"));
    reply_close(&reply);
    return status;
}

static double step_of(const char *id)
{
    char path[256];
    struct reply reply;
    job_path(path, id, "");
    get(served.url, path, &reply);
    double step = json_number(cJSON_GetObjectItemCaseSensitive(reply.json, "progress"), "step");
    reply_close(&reply);
    return step;
}

/* Waits until the job has passed that step. */
static void await_step(const char *id, double step)
{
    for (double until = now_seconds() + PATIENCE; now_seconds() < until; sleep_ms(20))
        if (step_of(id) > step)
            return;
    fail_msg("the job stays at step %.0f", step_of(id));
}

/* Waits until the job has a checkpoint, and returns the step of the latest one. */
static double checkpoint_of(const char *id)
{
    char path[256];
    job_path(path, id, "/checkpoints");
    for (double until = now_seconds() + PATIENCE; now_seconds() < until; sleep_ms(20)) {
        struct reply reply;
        get(served.url, path, &reply);
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(reply.json, "checkpoints");
        int count = cJSON_GetArraySize(list);
        double step = count > 0 ? json_number(cJSON_GetArrayItem(list, count - 1), "step") : 0;
        reply_close(&reply);
        if (step > 0)
            return step;
    }
    fail_msg("no checkpoint appears");
    return 0;
}

static void remove_job(const char *id)
{
    char path[256];
    struct reply reply;
    job_path(path, id, "");
    call_server(served.url, &(struct call){.method = "DELETE", .path = path}, &reply);
    assert_int_equal(reply.status, 204);
    reply_close(&reply);
    get(served.url, path, &reply);
    assert_problem(&reply, 404);
    reply_close(&reply);
}

static void a_job_pauses_resumes_and_cancels(void **state)
{
    char id[JOB_ID], now[16];
    submit_tiny(served.url, LONG_RUN, "", id);
    await_state(served.url, id, "running");
    await_step(id, 0);
    assert_int_equal(act(id, "resume", now), 409);
    assert_int_equal(act(id, "pause", now), 202);
    await_state(served.url, id, "paused");
    assert_int_equal(act(id, "pause", now), 409);
    double before = step_of(id);
    char path[256], other[JOB_ID];
    submit_tiny(served.url, 100, "", other);
    await_state(served.url, other, "succeeded");
    assert_true(step_of(id) == before); /* a paused job makes no steps while the worker trains another one */
    remove_job(other);
    struct reply reply;
    job_path(path, id, "");
    call_server(served.url, &(struct call){.method = "DELETE", .path = path}, &reply);
    assert_problem(&reply, 409); /* refused, because only a finished job can be deleted */
    reply_close(&reply);
    assert_int_equal(act(id, "resume", now), 202);
    await_step(id, before);
    assert_int_equal(act(id, "cancel", now), 202);
    await_state(served.url, id, "cancelled");
    assert_int_equal(act(id, "cancel", now), 409);
    assert_int_equal(act(id, "resume", now), 409);
    remove_job(id);
}

/* With one worker, queued jobs can be reordered, paused and cancelled before they ever run. */
static void queued_jobs_can_be_reordered_paused_and_cancelled(void **state)
{
    char first[JOB_ID], second[JOB_ID], third[JOB_ID], now[16], path[256];
    struct reply reply;
    submit_tiny(served.url, LONG_RUN, "", first);
    await_state(served.url, first, "running");
    submit_tiny(served.url, LONG_RUN, "", second);
    submit_tiny(served.url, LONG_RUN, ",\"priority\":1", third);
    job_state(served.url, third, now);
    assert_string_equal(now, "queued");
    job_path(path, second, "");
    call_server(served.url,
                &(struct call){.method = "PATCH", .path = path, .body = "{\"priority\":5,\"name\":\"soon\"}"}, &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(json_text(reply.json, "name"), "soon");
    reply_close(&reply);
    assert_int_equal(act(first, "cancel", now), 202);
    await_state(served.url, second, "running");
    job_state(served.url, third, now);
    assert_string_equal(now, "queued");
    assert_int_equal(act(third, "pause", now), 202);
    assert_string_equal(now, "paused");
    assert_int_equal(act(third, "cancel", now), 202);
    assert_string_equal(now, "cancelled");
    assert_int_equal(act(second, "cancel", now), 202);
    await_state(served.url, second, "cancelled");
    remove_job(first);
    remove_job(second);
    remove_job(third);
}

static int ready_status(void)
{
    struct reply reply;
    get(served.url, "/readyz", &reply);
    int status = reply.status;
    reply_close(&reply);
    return status;
}

/* SIGTERM while a job runs: the daemon exits with 0 in time, the job is queued on disk and continues. */
static void sigterm_queues_the_running_job_and_restart_continues_it(void **state)
{
    char id[JOB_ID], now[16];
    submit_tiny(served.url, LONG_RUN, "", id);
    await_state(served.url, id, "running");
    await_step(id, 0);
    assert_int_equal(ready_status(), 200);
    double asked = now_seconds();
    daemon_signal(&served, SIGTERM);
    /* Once the daemon has received the signal, /readyz answers 503 and never 200 again; when the daemon has ended,
     * there is no answer. */
    int seen = 200;
    while (seen == 200 && now_seconds() - asked < PATIENCE)
        seen = ready_status();
    assert_true(seen == 503 || seen == 0);
    assert_int_not_equal(ready_status(), 200);
    assert_int_equal(daemon_wait(&served, 10000 * SLOWED), 0);
    assert_true(now_seconds() - asked < 10.0 * SLOWED);
    assert_true(daemon_start(&served, NULL, NULL));
    await_state(served.url, id, "running");
    assert_true(checkpoint_of(id) > 0); /* the job continues from a checkpoint and does not begin again */
    await_step(id, checkpoint_of(id));
    assert_int_equal(act(id, "cancel", now), 202);
    await_state(served.url, id, "cancelled");
    remove_job(id);
}

/* ps and pgrep find the process under its name, also after motifd has restarted itself to select other BLAS
 * kernels. */
static void the_process_is_called_motifd(void **state)
{
    char path[64], name[32] = "";
    (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)served.pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(name, sizeof name, file));
    (void)fclose(file);
    assert_string_equal(name, "motifd\n");
}

/* Counts the daemon's threads by nice value. */
static void count_nice(int value, int *with, int *others)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)served.pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    *with = *others = 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        id_t thread = (id_t)strtoul(entry->d_name, NULL, 10);
        errno = 0;
        int nice = thread > 0 ? getpriority(PRIO_PROCESS, thread) : 0;
        if (thread == 0 || errno != 0) /* "." and "..", and a thread that has just ended */
            continue;
        ++*(nice == value ? with : others);
    }
    (void)closedir(folder);
}

/* Waits until at least `least` threads of the daemon have the nice value `value`, and returns how many have it. A new
 * thread sets its own nice value, which may happen after the daemon's first answer. */
static int await_nice(int value, int least)
{
    int with = 0, others;
    for (double until = now_seconds() + PATIENCE; with < least && now_seconds() < until; sleep_ms(20))
        count_nice(value, &with, &others);
    return with;
}

/* With --job-nice N, the worker, the evaluator and the other threads of a training have a nice value that is higher by
 * N. The threads that answer requests keep the nice value of the process. */
static void threads_of_jobs_have_a_higher_nice_value_than_others(void **state)
{
    char id[JOB_ID], body[1024], now[16];
    int base = getpriority(PRIO_PROCESS, 0), raised, normal, others;
    if (base + 10 >= 19)
        skip(); /* the thread that reads stored data again has 19 */
    assert_int_equal(daemon_stop(&served), 0);
    assert_true(daemon_start(&served, (const char *const[]){"--job-nice", "10", NULL}, NULL));
    int value = base + 10;
    /* The two are the worker and the evaluator. No thread that answers requests has this value. */
    assert_int_equal(await_nice(value, 2), 2);
    assert_int_equal(await_nice(19, 1), 1); /* reads stored data again */
    (void)snprintf(body, sizeof body,
                   "{\"kind\":\"sparling\",\"preset\":\"digitcircle-quick\",\"config\":{" TINY
                   ",\"threads\":3,\"total_samples\":%ld}}",
                   LONG_RUN);
    submit(served.url, body, id);
    await_step(id, 0);
    /* The training has started two further threads. It may also start one that draws samples. */
    raised = await_nice(value, 4);
    assert_true(raised >= 4);
    count_nice(base, &normal, &others);
    assert_int_equal(others, raised + 1); /* every other thread has the nice value of the process */
    assert_int_equal(act(id, "cancel", now), 202);
    await_state(served.url, id, "cancelled");
    remove_job(id);
    assert_int_equal(daemon_stop(&served), 0);
    assert_true(daemon_start(&served, NULL, NULL));
}

static void sigint_ends_the_daemon(void **state)
{
    daemon_signal(&served, SIGINT);
    assert_int_equal(daemon_wait(&served, 10000 * SLOWED), 0);
    assert_true(daemon_start(&served, NULL, NULL));
}

/* SIGTERM ends the daemon with exit code 0 at any moment after its first line of output, whichever thread receives
 * the signal. */
static void sigterm_at_any_moment_ends_the_daemon_with_0(void **state)
{
    struct daemon_process other;
    daemon_init(&other);
    for (int i = 0; i < 30; i++) {
        assert_true(daemon_start(&other, NULL, NULL));
        sleep_ms(i);
        assert_int_equal(daemon_stop(&other), 0);
    }
    daemon_close(&other, false);
}

/* A database has one owner: a second daemon must not open it. */
static void a_second_daemon_on_the_database_is_refused(void **state)
{
    char *errors = NULL;
    const char *const args[] = {"serve", "--listen", "127.0.0.1:0", "--db", served.db, NULL};
    assert_int_equal(motifd_run(args, NULL, &errors), 1);
    assert_non_null(strstr(errors, served.db)); /* the message tells the operator which file is in use */
    free(errors);
    struct reply reply;
    get(served.url, "/readyz", &reply);
    assert_int_equal(reply.status, 200);
    reply_close(&reply);
}

/* A daemon that is started on a port in use reports that and exits. */
static void a_port_in_use_is_reported(void **state)
{
    char listen[32], *errors = NULL;
    struct daemon_process other;
    daemon_init(&other);
    (void)snprintf(listen, sizeof listen, "127.0.0.1:%d", served.port);
    const char *const args[] = {"serve", "--listen", listen, "--db", other.db, NULL};
    assert_int_equal(motifd_run(args, NULL, &errors), 1);
    assert_non_null(strstr(errors, "cannot listen"));
    free(errors);
    daemon_close(&other, false);
}

/* After SIGKILL and a restart, the job that was running continues without a request. */
static void a_job_continues_after_sigkill_and_restart(void **state)
{
    char id[JOB_ID], now[16];
    submit_tiny(served.url, LONG_RUN, "", id);
    await_state(served.url, id, "running");
    double saved = checkpoint_of(id);
    daemon_kill(&served);
    assert_true(daemon_start(&served, NULL, NULL));
    await_state(served.url, id, "running");
    assert_true(checkpoint_of(id) >= saved);
    await_step(id, saved);
    assert_int_equal(act(id, "cancel", now), 202);
    await_state(served.url, id, "cancelled");
}

static void a_full_queue_answers_503(void **state)
{
    struct daemon_process other;
    char id[JOB_ID], value[256];
    struct reply reply;
    static const char *const args[] = {"--queue-limit", "2", NULL};
    daemon_init(&other);
    assert_true(daemon_start(&other, args, NULL));
    submit_tiny(other.url, LONG_RUN, "", id);
    await_state(other.url, id, "running");
    submit_tiny(other.url, LONG_RUN, "", id);
    submit_tiny(other.url, LONG_RUN, "", id);
    post(other.url, "/v1/jobs", "{\"kind\":\"sparling\",\"preset\":\"digitcircle-quick\"}", &reply);
    assert_problem(&reply, 503);
    assert_true(atoi(reply_header(&reply, "Retry-After", value)) > 0);
    reply_close(&reply);
    assert_int_equal(daemon_stop(&other), 0);
    daemon_close(&other, false);
}

static void check_config_prints_every_fault(void **state)
{
    char path[256], *out = NULL;
    (void)snprintf(path, sizeof path, "%s/check.json", served.folder);
    const char *const args[] = {"check-config", path, NULL};
    static const struct {
        const char *text;
        int code;
        const char *says[3];
    } cases[] = {
        {"{\"kind\":\"sparling\",\"preset\":\"digitcircle-quick\"}", 0, {"no fault"}},
        {"{\"kind\":\"sparling\",\"config\":{\"batch\":0,\"density_start\":3,\"nonsense\":1}}",
         1,
         {"/config/batch", "/config/density_start", "/config/nonsense"}},
        {"{\"kind\":\"what\"}", 1, {"/kind"}},
        {"{\"workers\":2,\"listen\":\"127.0.0.1:0\"}", 0, {"no fault"}},
        {"{\"workers\":0,\"lisden\":1}", 1, {"/workers", "/lisden"}},
        {"{", 1, {""}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        (void)fputs(cases[i].text, file);
        (void)fclose(file);
        assert_int_equal(motifd_run(args, &out, NULL), cases[i].code);
        for (int s = 0; s < 3 && cases[i].says[s] != NULL; s++)
            assert_non_null(strstr(out, cases[i].says[s]));
        free(out);
    }
    (void)remove(path);
    assert_int_equal(motifd_run((const char *const[]){"check-config", "/nonexistent", NULL}, NULL, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_pauses_resumes_and_cancels),
        cmocka_unit_test(queued_jobs_can_be_reordered_paused_and_cancelled),
        cmocka_unit_test(sigterm_queues_the_running_job_and_restart_continues_it),
        cmocka_unit_test(the_process_is_called_motifd),
        cmocka_unit_test(threads_of_jobs_have_a_higher_nice_value_than_others),
        cmocka_unit_test(sigint_ends_the_daemon),
        cmocka_unit_test(sigterm_at_any_moment_ends_the_daemon_with_0),
        cmocka_unit_test(a_second_daemon_on_the_database_is_refused),
        cmocka_unit_test(a_port_in_use_is_reported),
        cmocka_unit_test(a_job_continues_after_sigkill_and_restart),
        cmocka_unit_test(a_full_queue_answers_503),
        cmocka_unit_test(check_config_prints_every_fault),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
