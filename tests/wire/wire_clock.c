/* Tests a daemon whose machine changes its clock again and again. Deadlines must hold, jobs must end, and times must be
 * in order. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/wire/wire.h"

enum { HOUR = 3600 * 1000 };
#define DAY ((int64_t)24 * HOUR)
#define YEAR (365 * DAY)

static struct daemon_process served;
static char sets[128];           /* the daemon's folder of data sets */
static volatile int64_t *offset; /* difference between the daemon's wall clock and the real time, in ms */

static int setup(void **state)
{
    char path[128], asan[512];
    const char *before = getenv("ASAN_OPTIONS"), *preload = getenv("CLOCK_PRELOAD");
    const char *const args[] = {"--header-timeout-ms", "1000", "--data", sets, NULL};
    daemon_init(&served);
    (void)snprintf(sets, sizeof sets, "%s/sets", served.folder);
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
    char command[160];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", sets);
    (void)munmap((void *)(uintptr_t)offset, sizeof *offset);
    (void)daemon_stop(&served);
    assert_int_equal(system(command), 0);
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
    if (strncmp(json_text(job, "created_at"), month, 7) != 0)
        fail_msg("created_at is %s, but the daemon's clock says %s", json_text(job, "created_at"), month);
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
        assert_true(raw_closed(fd, 1000 * PATIENCE));
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
}

/* A trainer in a process of its own holds a lease, and its job must end as if the clock had not moved. A stream of
 * events must stay open, and its ids must grow. */
static void a_lease_and_a_stream_survive_a_jump_of_a_year(void **state)
{
    static const int64_t jumps[] = {YEAR, 0, -YEAR, YEAR, -YEAR, 0};
    static char text[1 << 20];
    char id[JOB_ID], is[16] = "", head[256];
    submit_tiny(served.url, 4000, ",\"executor\":\"process\"", id);
    int stream = raw_connect(served.port);
    int bytes = snprintf(head, sizeof head, "GET /v1/jobs/%s/events HTTP/1.0\r\nHost: localhost\r\n\r\n", id);
    assert_true(stream >= 0 && raw_send(stream, head, (size_t)bytes));
    double end = now_seconds() + PATIENCE;
    for (int i = 0; strcmp(is, "succeeded") != 0; i++) {
        *offset = jumps[i % 6];
        sleep_ms(150);
        job_state(served.url, id, is);
        assert_string_not_equal(is, "failed");
        assert_true(now_seconds() < end);
    }
    *offset = 0;
    size_t read = raw_read(stream, text, sizeof text, 1000 * PATIENCE); /* the stream ends with the job */
    (void)close(stream);
    assert_true(read > 0 && read < sizeof text - 1);
    assert_non_null(strstr(text, "\"state\":\"succeeded\""));
    long before = -1;
    for (const char *at = text; (at = strstr(at, "\nid: ")) != NULL; at++) {
        long number = strtol(at + 5, NULL, 10);
        assert_true(number >= before);
        before = number;
    }
    assert_true(before > 0);
}

/* The sweep of old parts uses the wall clock. It must also remove a part whose time is far in the future, because
 * nothing else removes such a part. */
static void upload_parts_dated_in_the_future_are_removed(void **state)
{
    static const char csv[] = "a,b,label\n1.25,2.5,x\n3.75,4.5,y\n",
                      name[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    char head[256], path[256], text[4096];
    (void)snprintf(path, sizeof path, "%s/.uploads", sets);
    int fd = raw_connect(served.port), parts = -1;
    int bytes = snprintf(head, sizeof head,
                         "PUT /v1/datasets/year HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
                         "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                         sizeof csv - 1);
    assert_true(fd >= 0 && raw_send(fd, head, (size_t)bytes) && raw_send(fd, csv, sizeof csv - 1));
    assert_true(raw_read(fd, text, sizeof text, 1000 * PATIENCE) > 0);
    assert_int_equal(strncmp(text, "HTTP/1.1 201", 12), 0);
    (void)close(fd);
    parts = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* the upload has created this folder */
    assert_true(parts >= 0);
    int part = openat(parts, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    struct timespec times[2] = {{.tv_sec = time(NULL) + YEAR / 1000}, {.tv_sec = time(NULL) + YEAR / 1000}};
    assert_true(part >= 0 && futimens(part, times) == 0);
    (void)close(part);
    /* After a jump of the clock, the daemon sweeps within about a second, unless the new time is near the time of its
     * last sweep. That time is unknown here, because the previous test moved the clock, too. The clock therefore
     * alternates between two times that are a year apart. */
    double end = now_seconds() + PATIENCE;
    for (int i = 0; faccessat(parts, name, F_OK, 0) == 0 && now_seconds() < end; i++) {
        *offset = i / 100 % 2 ? -2 * YEAR : -YEAR;
        sleep_ms(20);
    }
    assert_int_not_equal(faccessat(parts, name, F_OK, 0), 0);
    *offset = 0;
    (void)close(parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_daemon_uses_the_changed_clock),
                                       cmocka_unit_test(slow_heads_are_cut_at_their_deadline),
                                       cmocka_unit_test(a_lease_and_a_stream_survive_a_jump_of_a_year),
                                       cmocka_unit_test(upload_parts_dated_in_the_future_are_removed),
                                       cmocka_unit_test(jobs_end_and_their_times_are_in_order)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
