/* Tests the delivery of notices with a receiver that this file plays in the place of libcurl: answers, failures,
 * missing memory, and a daemon that ends during a delivery. */
#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/notices/notices.h"
#include "server/process/journal.h"
#include "storage/storage.h"

#define SECRET "0123456789abcdef"

/* ---- the played receiver --------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    int requests, headers;
    CURLcode code; /* result of a transfer */
    long status;
    bool hangs;          /* a transfer lasts until the daemon stops it */
    int header_fails_at; /* number of the header line that cannot be added; -1: none */
    bool no_handle;
    char body[2000], url[100], authorities[100];
    curl_xferinfo_callback moving;
    void *moving_data;
} receiver = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

CURL *__real_curl_easy_init(void);
CURL *__wrap_curl_easy_init(void);
CURL *__wrap_curl_easy_init(void)
{
    if (!receiver.no_handle)
        return __real_curl_easy_init();
    (void)pthread_mutex_lock(&receiver.lock);
    receiver.requests++;
    (void)pthread_cond_broadcast(&receiver.change);
    (void)pthread_mutex_unlock(&receiver.lock);
    return NULL;
}

struct curl_slist *__real_curl_slist_append(struct curl_slist *list, const char *line);
struct curl_slist *__wrap_curl_slist_append(struct curl_slist *list, const char *line);
struct curl_slist *__wrap_curl_slist_append(struct curl_slist *list, const char *line)
{
    return receiver.headers++ == receiver.header_fails_at ? NULL : __real_curl_slist_append(list, line);
}

CURLcode __wrap_curl_easy_setopt(CURL *curl, CURLoption option, ...);
CURLcode __wrap_curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
    va_list arguments;
    va_start(arguments, option);
    if (option == CURLOPT_URL)
        (void)snprintf(receiver.url, sizeof receiver.url, "%s", va_arg(arguments, const char *));
    else if (option == CURLOPT_POSTFIELDS)
        (void)snprintf(receiver.body, sizeof receiver.body, "%s", va_arg(arguments, const char *));
    else if (option == CURLOPT_CAINFO)
        (void)snprintf(receiver.authorities, sizeof receiver.authorities, "%s", va_arg(arguments, const char *));
    else if (option == CURLOPT_XFERINFOFUNCTION)
        receiver.moving = va_arg(arguments, curl_xferinfo_callback);
    else if (option == CURLOPT_XFERINFODATA)
        receiver.moving_data = va_arg(arguments, void *);
    va_end(arguments);
    return CURLE_OK;
}

CURLcode __wrap_curl_easy_perform(CURL *curl);
CURLcode __wrap_curl_easy_perform(CURL *curl)
{
    (void)pthread_mutex_lock(&receiver.lock);
    receiver.requests++;
    CURLcode code = receiver.code;
    bool hangs = receiver.hangs;
    (void)pthread_cond_broadcast(&receiver.change);
    (void)pthread_mutex_unlock(&receiver.lock);
    while (hangs && receiver.moving(receiver.moving_data, 0, 0, 0, 0) == 0)
        (void)usleep(1000);
    return hangs ? CURLE_ABORTED_BY_CALLBACK : code;
}

CURLcode __wrap_curl_easy_getinfo(CURL *curl, CURLINFO info, ...);
CURLcode __wrap_curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
    va_list arguments;
    va_start(arguments, info);
    *va_arg(arguments, long *) = receiver.status;
    va_end(arguments);
    return CURLE_OK;
}

/* ---- a store with one ended job --------------------------------------------------------------------------- */

struct bench {
    char path[64];
    struct storage *storage;
    struct journal *journal;
    struct notices *notices;
    int log[2];
    char id[STORAGE_ID];
};

static int setup(void **state)
{
    static int number;
    struct bench *bench = calloc(1, sizeof *bench);
    enum storage_submit_outcome outcome;
    struct storage_submit what = {.kind = "fake", .config = "{}"};
    struct error err = {0};
    receiver.requests = receiver.headers = 0;
    receiver.code = CURLE_OK;
    receiver.status = 204;
    receiver.hangs = receiver.no_handle = false;
    receiver.header_fails_at = -1;
    receiver.authorities[0] = receiver.body[0] = '\0';
    (void)snprintf(bench->path, sizeof bench->path, "/tmp/motifd_notices_%d_%d.db", (int)getpid(), number++);
    struct storage_options options = {.path = bench->path, .durability = STORAGE_DURABLE_NOT, .notices = true};
    *state = bench;
    if (storage_open(&options, &bench->storage, &err) != STATUS_OK || pipe(bench->log) != 0 ||
        journal_open(&bench->journal, bench->log[1], LOG_LEVEL_INFO, &err) != STATUS_OK ||
        storage_job_submit(bench->storage, &what, bench->id, &outcome, &err) != STATUS_OK ||
        storage_job_claim(bench->storage, bench->id, &err) != STATUS_OK ||
        storage_job_leave(bench->storage, bench->id, JOB_EVENT_SUCCEED, "{}", NULL, NULL, &err) != STATUS_OK)
        return -1;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
    char path[80];
    notices_stop(bench->notices);
    storage_close(bench->storage);
    notices_destroy(bench->notices);
    journal_close(bench->journal);
    (void)close(bench->log[0]);
    (void)close(bench->log[1]);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        (void)snprintf(path, sizeof path, "%s%s", bench->path, ends[i]);
        (void)unlink(path);
    }
    free(bench);
    return 0;
}

static enum status start(struct bench *bench, const char *secret, struct error *err)
{
    const struct notices_options options = {
        .url = "https://receiver/hook", .secret = secret, .storage = bench->storage, .journal = bench->journal};
    return notices_start(&options, &bench->notices, err);
}

static void await_requests(int wanted)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    (void)pthread_mutex_lock(&receiver.lock);
    int late = 0;
    while (receiver.requests < wanted && late == 0)
        late = pthread_cond_timedwait(&receiver.change, &receiver.lock, &until);
    (void)pthread_mutex_unlock(&receiver.lock);
    assert_int_equal(late, 0);
}

static int64_t left(struct bench *bench)
{
    int64_t count = -1;
    assert_int_equal(storage_notice_count(bench->storage, &count, NULL), STATUS_OK);
    return count;
}

static void await_left(struct bench *bench, int64_t wanted)
{
    for (int waited = 0; left(bench) != wanted; waited++) {
        assert_true(waited < 60000);
        (void)usleep(1000);
    }
}

/* Waits for a line of the log that contains the text. */
static void await_line(struct bench *bench, const char *text)
{
    char lines[8000] = "";
    size_t used = 0;
    while (strstr(lines, text) == NULL) {
        ssize_t got = read(bench->log[0], lines + used, sizeof lines - 1 - used);
        assert_true(got > 0);
        used += (size_t)got;
        lines[used] = '\0';
    }
}

/* ---- tests ------------------------------------------------------------------------------------------------- */

static void a_notice_is_delivered_once(void **state)
{
    struct bench *bench = *state;
    struct notices_stats stats;
    char subject[100];
    assert_int_equal(setenv("SSL_CERT_FILE", "/some/authorities.pem", 1), 0);
    assert_int_equal(start(bench, SECRET, NULL), STATUS_OK);
    await_left(bench, 0);
    notices_wake(bench->notices);
    notices_stop(bench->notices);
    notices_stats_read(bench->notices, &stats);
    assert_true(stats.delivered == 1 && stats.failed == 0 && receiver.requests == 1);
    (void)snprintf(subject, sizeof subject, "\"subject\":\"/v1/jobs/%s\"", bench->id);
    assert_non_null(strstr(receiver.body, subject));
    assert_non_null(strstr(receiver.body, "\"type\":\"motifd.job.succeeded\""));
    assert_string_equal(receiver.url, "https://receiver/hook");
    assert_string_equal(receiver.authorities, "/some/authorities.pem");
    assert_int_equal(setenv("SSL_CERT_FILE", "", 1), 0);
}

/* Lets the first delivery fail, asserts what the log says, and that the notice is delivered later. */
static void fails_first(struct bench *bench, const char *says)
{
    struct notices_stats stats;
    assert_int_equal(start(bench, SECRET, NULL), STATUS_OK);
    await_line(bench, says);
    assert_int_equal(left(bench), 1);
    (void)pthread_mutex_lock(&receiver.lock);
    receiver.code = CURLE_OK;
    receiver.status = 200;
    receiver.no_handle = false;
    receiver.header_fails_at = -1;
    (void)pthread_mutex_unlock(&receiver.lock);
    notices_wake(bench->notices);
    await_left(bench, 0);
    notices_stop(bench->notices);
    notices_stats_read(bench->notices, &stats);
    assert_true(stats.delivered == 1 && stats.failed >= 1);
}

static void a_refused_notice_is_delivered_later(void **state)
{
    receiver.status = 500;
    fails_first(*state, "the receiver answered 500");
}

static void an_answer_below_200_is_no_delivery(void **state)
{
    receiver.status = 199;
    fails_first(*state, "the receiver answered 199");
    /* no variable names a file of authorities, so libcurl uses those of the system */
    assert_string_equal(receiver.authorities, "");
}

static void a_notice_is_delivered_when_the_receiver_is_there_again(void **state)
{
    receiver.code = CURLE_COULDNT_CONNECT;
    fails_first(*state, "next attempt in 1 s");
}

static void a_notice_survives_missing_memory(void **state)
{
    receiver.no_handle = true;
    fails_first(*state, "Out of memory");
}

static void a_notice_is_never_sent_without_all_its_headers(void **state)
{
    struct bench *bench = *state;
    receiver.header_fails_at = 3; /* the signature */
    assert_int_equal(start(bench, SECRET, NULL), STATUS_OK);
    await_line(bench, "Out of memory");
    assert_int_equal(receiver.requests, 0);
    assert_int_equal(left(bench), 1);
    (void)pthread_mutex_lock(&receiver.lock);
    receiver.headers = 3;
    receiver.header_fails_at = -1;
    (void)pthread_mutex_unlock(&receiver.lock);
    await_left(bench, 0);
    assert_int_equal(receiver.requests, 1);
}

/* The end of the daemon stops a delivery at once. The notice stays, and the delivery does not count as failed. */
static void the_end_of_the_daemon_stops_a_delivery_and_keeps_the_notice(void **state)
{
    struct bench *bench = *state;
    struct notices_stats stats;
    receiver.hangs = true;
    assert_int_equal(start(bench, SECRET, NULL), STATUS_OK);
    await_requests(1);
    notices_stop(bench->notices);
    notices_stats_read(bench->notices, &stats);
    assert_true(stats.delivered == 0 && stats.failed == 0);
    assert_int_equal(left(bench), 1);
}

static void a_secret_that_is_too_short_or_no_base64_is_refused(void **state)
{
    static const struct {
        const char *secret, *says;
    } cases[] = {
        {"", "at least 16"}, {"short", "at least 16"}, {"whsec_AAAA", "at least 16"}, {"whsec_?", "not base64"}};
    struct bench *bench = *state;
    char long_secret[1500];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = {0};
        assert_int_equal(start(bench, cases[i].secret, &err), STATUS_INVALID);
        assert_non_null(strstr(err.message, cases[i].says));
        assert_null(bench->notices);
    }
    memset(long_secret, 'k', sizeof long_secret - 1);
    long_secret[sizeof long_secret - 1] = '\0';
    assert_int_equal(start(bench, long_secret, NULL), STATUS_OK);
    await_left(bench, 0);
    notices_stop(bench->notices);
    notices_destroy(bench->notices);
    bench->notices = NULL;
    assert_int_equal(start(bench, "whsec_MDEyMzQ1Njc4OWFiY2RlZg==", NULL), STATUS_OK);
    notices_wake(NULL);
    notices_stop(NULL);
    notices_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_notice_is_delivered_once),
        TEST(a_refused_notice_is_delivered_later),
        TEST(an_answer_below_200_is_no_delivery),
        TEST(a_notice_is_delivered_when_the_receiver_is_there_again),
        TEST(a_notice_survives_missing_memory),
        TEST(a_notice_is_never_sent_without_all_its_headers),
        TEST(the_end_of_the_daemon_stops_a_delivery_and_keeps_the_notice),
        TEST(a_secret_that_is_too_short_or_no_base64_is_refused),
    };
    if (setenv("MOTIFD_CACERT", "", 1) != 0 || setenv("CURL_CA_BUNDLE", "", 1) != 0 ||
        setenv("SSL_CERT_FILE", "", 1) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
