/* Tests the central guarantee: one job gives bit-identical weights with 1, 2 and 3 threads, with and without pauses,
 * and when the daemon is killed (SIGKILL) at random moments while clients submit. No acknowledged submission is lost
 * or executed twice.
 *
 *   crash_resume [KILLS [SEED]]     default: 5 kills, a seed from the clock (printed)
 *
 * After each kill, the database file is copied and inspected: PRAGMA integrity_check reports ok, every acknowledged
 * job exists once under its acknowledged id, and no name occurs twice. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/harness/client.h"
#include "tests/harness/daemon.h"

#define CLIENTS 2
#define ACKNOWLEDGED_MAX 100000
#define SHA 65

/* A job with 400 updates, during which the density falls many times. It uses dropout, LSTM and transformer layers. */
#define JOB                                                                                                            \
    "{\"kind\":\"sparling\",\"preset\":\"digitcircle-quick\",\"priority\":10,\"threads\":%d,\"config\":{"              \
    "\"image_size\":40,\"classes\":4,\"max_symbols\":3,\"margin\":9,\"min_radius\":5,\"motifs\":4,\"units\":2,"        \
    "\"channels\":32,\"feed_forward\":64,\"dropout\":0.1,\"lstm\":true,"                                               \
    "\"batch\":8,\"total_samples\":3200,\"checkpoint_every\":80,\"validation_every\":80,\"validation_samples\":16,"    \
    "\"density_start\":0.5,\"density_factor\":0.9,\"density_final\":0.005,\"target_start\":1,\"target_max\":1,"        \
    "\"target_decay\":0.002,"                                                                                          \
    "\"test_samples\":16,\"motif_samples\":16,\"stage_samples\":4}}"

#define SMALL_JOB                                                                                                      \
    "{\"kind\":\"sparling\",\"name\":\"%s\",\"priority\":-100,\"preset\":\"digitcircle-quick\",\"config\":{\"total_"   \
    "samples\":16}}"

struct acknowledged {
    char id[32], name[32];
};

static struct {
    struct daemon_process daemon;
    pthread_mutex_t lock; /* protects `url` and the list of acknowledged jobs */
    char url[64];
    struct acknowledged list[ACKNOWLEDGED_MAX];
    size_t count;
    atomic_bool stop;
    uint64_t random;
} test = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const arguments[] = {"--queue-limit", "100000", "--log-level", "warn", NULL};

static _Noreturn void die(const char *why)
{
    (void)fprintf(stderr, "FAILED: %s\n", why);
    daemon_close(&test.daemon, true);
    exit(1);
}

/* Returns a uniform random number in [low, high] (splitmix64). */
static int random_in(int low, int high)
{
    uint64_t x = test.random += 0x9e3779b97f4a7c15ULL;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return low + (int)((x ^ x >> 31) % (uint64_t)(high - low + 1));
}

/* ---- jobs ---------------------------------------------------------------------------------------------- */

static void start_daemon(void)
{
    if (!daemon_await(&test.daemon, NULL))
        die("the daemon did not start");
    (void)pthread_mutex_lock(&test.lock);
    memcpy(test.url, test.daemon.url, sizeof test.url);
    (void)pthread_mutex_unlock(&test.lock);
}

static void submit(int threads, char id[32])
{
    char body[1024];
    struct reply reply;
    (void)snprintf(body, sizeof body, JOB, threads);
    post(test.url, "/v1/jobs", body, &reply);
    if (reply.status != 201)
        die(reply.body != NULL ? reply.body : "no answer to a submission");
    (void)snprintf(id, 32, "%s", json_text(reply.json, "id"));
    reply_close(&reply);
}

/* Reads the state of a job. If the job has succeeded, also reads the hash of its weights and its number of
 * updates. */
static void look(const char *id, char state[16], char sha[SHA], double *updates)
{
    char path[64];
    struct reply reply;
    (void)snprintf(path, sizeof path, "/v1/jobs/%s", id);
    get(test.url, path, &reply);
    (void)snprintf(state, 16, "%s", json_text(reply.json, "state"));
    const cJSON *result = cJSON_GetObjectItem(reply.json, "result");
    (void)snprintf(sha, SHA, "%s", json_text(result, "weights_sha256"));
    *updates = json_number(result, "updates");
    reply_close(&reply);
}

static void act(const char *id, const char *verb)
{
    char path[64];
    struct reply reply;
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/%s", id, verb);
    call_server(test.url, &(struct call){.method = "POST", .path = path}, &reply);
    reply_close(&reply);
}

static void await_end(const char *id, char sha[SHA])
{
    char state[16] = "";
    double updates = 0;
    for (double until = now_seconds() + 300; now_seconds() < until; sleep_ms(20)) {
        look(id, state, sha, &updates);
        if (strcmp(state, "succeeded") == 0) {
            if ((int)updates != 400 || strlen(sha) != 64)
                die("the job did not do its 400 updates");
            return;
        }
        if (strcmp(state, "failed") == 0 || strcmp(state, "cancelled") == 0)
            die("the job failed");
    }
    die("the job did not end in time");
}

static void compare(const char *what, const char *sha, const char *expected)
{
    (void)printf("%-44s %.16s...\n", what, sha);
    (void)fflush(stdout);
    if (strcmp(sha, expected) != 0)
        die("other weights");
}

/* Asserts that each series contains each point once and in order, in spite of pauses and kills. */
static void check_series(const char *id)
{
    char path[96];
    struct reply reply;
    (void)snprintf(path, sizeof path, "/v1/jobs/%s/metrics?name=accuracy,density&max_points=100000", id);
    get(test.url, path, &reply);
    const cJSON *series, *point;
    int names = 0;
    cJSON_ArrayForEach (series, cJSON_GetObjectItem(reply.json, "series")) {
        double expected = 80; /* the step of the first point, because the job validates every 80 samples */
        names++;
        cJSON_ArrayForEach (point, series) {
            if (cJSON_GetArrayItem(point, 0)->valuedouble != expected)
                die("a series has a gap or a duplicate point");
            expected += 80;
        }
        if (expected != 3280)
            die("a series is incomplete");
    }
    if (names != 2)
        die("a series is missing");
    reply_close(&reply);
}

/* ---- clients ------------------------------------------------------------------------------------------- */

/* Submits one job after the other. If the daemon does not acknowledge one, repeats it with the same key. */
static void *hammer(void *context)
{
    int client = (int)(intptr_t)context;
    for (int number = 0; !test.stop; number++) {
        char key[64], name[32], body[512], url[64];
        (void)snprintf(name, sizeof name, "client-%d-%d", client, number);
        (void)snprintf(key, sizeof key, "Idempotency-Key: %s", name);
        (void)snprintf(body, sizeof body, SMALL_JOB, name);
        const char *const headers[] = {key, NULL};
        for (bool done = false; !done && !test.stop;) {
            struct reply reply;
            (void)pthread_mutex_lock(&test.lock);
            memcpy(url, test.url, sizeof url);
            (void)pthread_mutex_unlock(&test.lock);
            call_server(url, &(struct call){.method = "POST", .path = "/v1/jobs", .body = body, .headers = headers},
                        &reply);
            const char *id = json_text(reply.json, "id");
            done = (reply.status == 201 || reply.status == 200) && strlen(id) == 26;
            (void)pthread_mutex_lock(&test.lock);
            if (done && test.count < ACKNOWLEDGED_MAX) {
                struct acknowledged *entry = &test.list[test.count++];
                (void)snprintf(entry->id, sizeof entry->id, "%s", id);
                memcpy(entry->name, name, sizeof entry->name);
            }
            (void)pthread_mutex_unlock(&test.lock);
            reply_close(&reply);
            sleep_ms(done ? 30 : 10);
        }
    }
    return NULL;
}

/* ---- the file on disk -------------------------------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
    static char block[1 << 16];
    FILE *in = fopen(from, "rbe"), *out = fopen(to, "wbe");
    if (out == NULL)
        die("cannot copy the database");
    for (size_t got; in != NULL && (got = fread(block, 1, sizeof block, in)) > 0;)
        if (fwrite(block, 1, got, out) != got)
            die("cannot copy the database");
    if (in != NULL)
        (void)fclose(in);
    (void)fclose(out);
}

static void expect_text(sqlite3 *db, const char *sql, const char *expected, const char *why)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW ||
        strcmp((const char *)sqlite3_column_text(statement, 0), expected) != 0) {
        (void)fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
        die(why);
    }
    (void)sqlite3_finalize(statement);
}

/* Copies the database and inspects the copy. Must be called while no daemon runs. */
static void inspect(void)
{
    static const char *const ends[] = {"", "-wal"};
    char from[160], to[160];
    sqlite3 *db = NULL;
    sqlite3_stmt *find = NULL;
    for (int i = 0; i < 2; i++) {
        (void)snprintf(from, sizeof from, "%s%s", test.daemon.db, ends[i]);
        (void)snprintf(to, sizeof to, "%s/copy%s", test.daemon.folder, ends[i]);
        copy_file(from, to);
    }
    (void)snprintf(to, sizeof to, "%s/copy", test.daemon.folder);
    if (sqlite3_open(to, &db) != SQLITE_OK)
        die("cannot open the copy");
    expect_text(db, "PRAGMA integrity_check", "ok", "the database is damaged");
    expect_text(db, "SELECT count(*) - count(DISTINCT name) FROM job WHERE name LIKE 'client-%'", "0",
                "a job was stored twice");
    if (sqlite3_prepare_v2(db, "SELECT id FROM job WHERE name = ?", -1, &find, NULL) != SQLITE_OK)
        die("cannot query the copy");
    (void)pthread_mutex_lock(&test.lock);
    for (size_t i = 0; i < test.count; i++) {
        (void)sqlite3_bind_text(find, 1, test.list[i].name, -1, SQLITE_STATIC);
        if (sqlite3_step(find) != SQLITE_ROW ||
            strcmp((const char *)sqlite3_column_text(find, 0), test.list[i].id) != 0)
            die("an acknowledged job is lost");
        (void)sqlite3_reset(find);
    }
    (void)pthread_mutex_unlock(&test.lock);
    (void)sqlite3_finalize(find);
    (void)sqlite3_close(db);
    static const char *const rests[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        (void)snprintf(to, sizeof to, "%s/copy%s", test.daemon.folder, rests[i]);
        (void)unlink(to);
    }
}

/* ---- main program ------------------------------------------------------------------------------------ */

static void run_with_threads(int threads, char sha[SHA])
{
    char id[32];
    submit(threads, id);
    await_end(id, sha);
    check_series(id);
}

static void run_with_pauses(char sha[SHA])
{
    char id[32], state[16];
    double updates;
    submit(2, id);
    for (int i = 0; i < 4; i++) {
        sleep_ms(random_in(50, 400));
        act(id, "pause");
        for (int waited = 0; waited < 1000; waited++) {
            look(id, state, sha, &updates);
            if (strcmp(state, "paused") == 0 || strcmp(state, "succeeded") == 0)
                break;
            sleep_ms(10);
        }
        act(id, "resume");
    }
    await_end(id, sha);
    check_series(id);
}

static void run_with_kills(int kills, char sha[SHA])
{
    char id[32], state[16];
    double updates;
    pthread_t clients[CLIENTS];
    submit(2, id);
    for (intptr_t i = 0; i < CLIENTS; i++)
        if (pthread_create(&clients[i], NULL, hammer, (void *)i) != 0)
            die("cannot start a client thread");
    int early = 0, alive = 0;
    for (int i = 0; i < kills; i++) {
        sleep_ms(random_in(10, 600));
        look(id, state, sha, &updates);
        alive += strcmp(state, "running") == 0;
        daemon_kill(&test.daemon);
        inspect();
        daemon_spawn(&test.daemon, arguments);
        if (i % 4 == 1) { /* a second kill during the start interrupts the recovery */
            sleep_ms(random_in(0, 60));
            daemon_kill(&test.daemon);
            inspect();
            early++;
            daemon_spawn(&test.daemon, arguments);
        }
        start_daemon();
    }
    await_end(id, sha);
    check_series(id);
    test.stop = true;
    for (int i = 0; i < CLIENTS; i++)
        (void)pthread_join(clients[i], NULL);
    (void)printf("%d kills (%d found the job running, %d more during a start), %zu jobs acknowledged\n", kills, alive,
                 early, test.count);
}

int main(int argc, char **argv)
{
    char reference[SHA], sha[SHA], line[64];
    int kills = argc > 1 ? atoi(argv[1]) : 5;
    test.random = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    (void)printf("seed %" PRIu64 "\n", test.random);
    daemon_init(&test.daemon);
    daemon_spawn(&test.daemon, arguments);
    start_daemon();
    run_with_threads(1, reference);
    compare("1 thread", reference, reference);
    for (int threads = 2; threads <= 3; threads++) {
        (void)snprintf(line, sizeof line, "%d threads", threads);
        run_with_threads(threads, sha);
        compare(line, sha, reference);
    }
    run_with_pauses(sha);
    compare("2 threads, paused four times", sha, reference);
    run_with_kills(kills, sha);
    (void)snprintf(line, sizeof line, "2 threads, killed %d times", kills);
    compare(line, sha, reference);
    if (daemon_stop(&test.daemon) != 0)
        die("the daemon did not exit with 0");
    inspect();
    daemon_close(&test.daemon, false);
    (void)printf("OK\n");
    return 0;
}
