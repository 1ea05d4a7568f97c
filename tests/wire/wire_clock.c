/* The machine's clock changes again and again while the daemon works. Deadlines must hold, jobs must end, and
 * times must be in order. */
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/wire/wire.h"

enum { HOUR = 3600 * 1000 };
#define DAY ((int64_t)24 * HOUR)

static struct daemon_process served;
static volatile int64_t *offset; /* difference between the daemon's wall clock and the real time, in ms */

static int setup(void **state)
{
    char path[128], asan[512];
    const char *before = getenv("ASAN_OPTIONS"), *preload = getenv("CLOCK_PRELOAD");
    static const char *const args[] = {"--header-timeout-ms", "1000", NULL};
    daemon_init(&served);
    (void)snprintf(path, sizeof path, "%s/clock", served.folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (preload == NULL || fd < 0 || ftruncate(fd, sizeof *offset) != 0)
        return -1;
    void *at = mmap(NULL, sizeof *offset, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (at == MAP_FAILED)
        return -1;
    offset = at;
    (void)snprintf(asan, sizeof asan, "%s%sverify_asan_link_order=0", before != NULL ? before : "",
                   before != NULL ? ":" : "");
    (void)setenv("ASAN_OPTIONS", asan, 1);
    (void)setenv("MOTIF_CLOCK", path, 1);
    (void)setenv("LD_PRELOAD", preload, 1);
    bool started = daemon_start(&served, args, NULL);
    (void)unsetenv("LD_PRELOAD");
    return started ? 0 : -1;
}

static int teardown(void **state)
{
    (void)munmap((void *)(uintptr_t)offset, sizeof *offset);
    daemon_close(&served, false);
    return 0;
}

/* Asserts that the daemon uses the changed clock. Without this, the other tests would prove nothing. */
static void the_daemon_uses_the_changed_clock(void **state)
{
    struct reply reply;
    char id[JOB_ID];
    *offset = 400 * DAY;
    submit_tiny(served.url, 40, "", id);
    get(served.url, "/v1/jobs?limit=1", &reply);
    const cJSON *job = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(reply.json, "jobs"), 0);
    time_t then = time(NULL) + 400 * 24 * 3600;
    struct tm utc;
    char month[16];
    (void)gmtime_r(&then, &utc);
    (void)strftime(month, sizeof month, "%Y-%m", &utc);
    assert_int_equal(strncmp(json_text(job, "created_at"), month, 7), 0);
    reply_close(&reply);
    await_state(served.url, id, "succeeded");
    *offset = 0;
}

static void slow_heads_are_cut_at_their_deadline(void **state)
{
    static const int64_t jumps[] = {DAY, -DAY, 400 * DAY, 0};
    for (int i = 0; i < 4; i++) {
        double begun = now_seconds();
        int fd = raw_connect(served.port);
        assert_true(fd >= 0 && raw_send(fd, "GET /", 5));
        *offset = jumps[i];
        /* the daemon must not close the connection before the deadline of a second */
        assert_false(raw_closed(fd, 500));
        assert_true(raw_closed(fd, 6000 * SLOWED));
        assert_true(now_seconds() - begun > 0.9);
        (void)close(fd);
    }
}

static void assert_ascending(const cJSON *job, const char *first, const char *second)
{
    const char *before = json_text(job, first), *after = json_text(job, second);
    if (before[0] == '\0' || strcmp(before, after) > 0)
        fail_msg("%s is %s, and %s is %s", first, before, second, after);
}

static void jobs_end_and_their_times_are_in_order(void **state)
{
    static const int64_t jumps[] = {HOUR, -HOUR, 3 * HOUR, -10 * HOUR, 0};
    char ids[3][JOB_ID], path[256];
    struct reply reply;
    for (int i = 0; i < 3; i++) {
        submit_tiny(served.url, 400, "", ids[i]);
        assert_true(i == 0 || strcmp(ids[i], ids[i - 1]) > 0);
    }
    double end = now_seconds() + PATIENCE;
    for (int i = 0, done = 0; done < 3; i++) {
        *offset = jumps[i % 5];
        sleep_ms(40);
        done = 0;
        for (int k = 0; k < 3; k++) {
            char is[16];
            job_state(served.url, ids[k], is);
            assert_string_not_equal(is, "failed");
            done += strcmp(is, "succeeded") == 0;
        }
        assert_true(now_seconds() < end);
    }
    for (int i = 0; i < 3; i++) {
        job_path(path, ids[i], "");
        get(served.url, path, &reply);
        assert_ascending(reply.json, "created_at", "started_at");
        assert_ascending(reply.json, "started_at", "finished_at");
        reply_close(&reply);
    }
    assert_int_equal(daemon_stop(&served), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_daemon_uses_the_changed_clock),
                                       cmocka_unit_test(slow_heads_are_cut_at_their_deadline),
                                       cmocka_unit_test(jobs_end_and_their_times_are_in_order)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
