/* Runs motifctl against a server that follows a script: lost answers, interrupted downloads, restarts and refusals.
 * A real daemon does not do these things on request; tests/wire tests motifctl with a real daemon.
 *
 * usage: test_motifctl_http MOTIFCTL */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"

#define STEPS 32
#define TEXT 16384

static const char *motifctl;

/* One exchange: how the request line must begin, and the bytes of the answer ("" closes the connection). */
struct step {
    const char *expect, *answer;
};

struct script {
    int listener, port;
    const struct step *steps;
    size_t count, played;
    char requests[STEPS][TEXT];
    pthread_t thread;
    char mismatch[512];
};

static bool read_request(int fd, char *out, size_t bytes)
{
    size_t used = 0;
    char *end = NULL;
    while (used + 1 < bytes) {
        ssize_t count = recv(fd, out + used, bytes - used - 1, 0);
        if (count <= 0)
            return false;
        used += (size_t)count;
        out[used] = 0;
        if (!end)
            end = strstr(out, "\r\n\r\n");
        const char *length = strcasestr(out, "Content-Length:");
        size_t body = end && length && length < end ? strtoul(length + 15, NULL, 10) : 0;
        if (end && used >= (size_t)(end + 4 - out) + body)
            return true;
    }
    return false;
}

static char folder[64];
/* name of a file that must exist before the server closes the first connection; NULL: none */
static const char *awaited;

static void in_folder(const char *name, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/%s", folder, name);
}

/* Waits up to a minute until a file exists. Returns false when it does not. */
static bool appears(const char *name)
{
    char path[128];
    in_folder(name, path, sizeof(path));
    for (int i = 0; i < 6000 && access(path, F_OK) != 0; i++)
        usleep(10000);
    return access(path, F_OK) == 0;
}

static void *play(void *context)
{
    struct script *script = context;
    while (script->played < script->count) {
        int fd = accept(script->listener, NULL, NULL);
        if (fd < 0)
            break;
        const struct step *step = &script->steps[script->played];
        char *request = script->requests[script->played];
        if (read_request(fd, request, TEXT)) {
            if (strncmp(request, step->expect, strlen(step->expect)) != 0 && !script->mismatch[0])
                snprintf(script->mismatch, sizeof(script->mismatch), "step %zu: wanted %s, got %.200s", script->played,
                         step->expect, request);
            if (send(fd, step->answer, strlen(step->answer), MSG_NOSIGNAL) < 0 && step->answer[0])
                snprintf(script->mismatch, sizeof(script->mismatch), "step %zu: not sent", script->played);
            if (awaited && script->played == 0 && !appears(awaited))
                snprintf(script->mismatch, sizeof(script->mismatch), "no %s", awaited);
            script->played++;
        }
        close(fd);
    }
    return NULL;
}

static void begin(struct script *script, const struct step *steps, size_t count)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    memset(script, 0, sizeof(*script));
    script->steps = steps;
    script->count = count;
    script->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(script->listener >= 0);
    assert_int_equal(bind(script->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(script->listener, 8), 0);
    assert_int_equal(getsockname(script->listener, (struct sockaddr *)&address, &length), 0);
    script->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&script->thread, NULL, play, script), 0);
}

/* Asserts that every exchange of the script took place with the expected request. */
static void end(struct script *script)
{
    shutdown(script->listener, SHUT_RDWR);
    pthread_join(script->thread, NULL);
    close(script->listener);
    if (script->mismatch[0])
        fail_msg("%s", script->mismatch);
    assert_int_equal(script->played, script->count);
}

struct outcome {
    int code;
    char out[TEXT], err[TEXT];
};

static void slurp(const char *path, char *out, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    size_t count = file ? fread(out, 1, bytes - 1, file) : 0;
    out[count] = 0;
    if (file)
        fclose(file);
}

/* Runs motifctl with words split at spaces, in the test's own folder. */
static void run(struct outcome *outcome, int port, const char *format, ...)
{
    char line[1024], server[64], out[128], err[128], *words[32] = {0};
    size_t count = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    words[count++] = (char *)(uintptr_t)motifctl;
    for (char *word = strtok(line, " "); word && count < 31; word = strtok(NULL, " "))
        words[count++] = word;
    snprintf(server, sizeof(server), "http://127.0.0.1:%d", port);
    in_folder("out", out, sizeof(out));
    in_folder("err", err, sizeof(err));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("MOTIFD_SERVER", server, 1);
        unsetenv("MOTIFD_TOKEN");
        if (!freopen(out, "wb", stdout) || !freopen(err, "wb", stderr) || chdir(folder) != 0)
            _exit(126);
        execv(motifctl, words);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    outcome->code = WEXITSTATUS(status);
    slurp(out, outcome->out, sizeof(outcome->out));
    slurp(err, outcome->err, sizeof(outcome->err));
}

#define BEGIN(...)                                                                                                     \
    static const struct step steps[] = {__VA_ARGS__};                                                                  \
    static struct script script;                                                                                       \
    static struct outcome got;                                                                                         \
    begin(&script, steps, sizeof(steps) / sizeof(steps[0]))

#define HEAD(status, more) "HTTP/1.1 " status "\r\nConnection: close\r\nContent-Type: application/json\r\n" more "\r\n"
#define JOB "01JD8XKQ5RDGGGGGGGGGGGGGGG"
#define RUNNING                                                                                                        \
    "{\"id\":\"" JOB "\",\"kind\":\"sparling\",\"state\":\"running\",\"progress\":{\"fraction\":0.5,\"density\":0.01}" \
    "}"
#define QUEUED "{\"id\":\"" JOB "\",\"kind\":\"sparling\",\"state\":\"queued\",\"progress\":{\"fraction\":0.4}}"
#define SUCCEEDED                                                                                                      \
    "{\"id\":\"" JOB "\",\"kind\":\"sparling\",\"state\":\"succeeded\",\"progress\":{\"fraction\":1},"                 \
    "\"result\":{\"fpe\":0.0125,\"fne\":0.004,\"ce\":0.01,\"e2ee\":0.02,\"samples\":2000}}"
#define METRICS "GET /v1/jobs/" JOB "/metrics?name=fpe,fne,ce&max_points=3 "
#define LOOK "GET /v1/jobs/" JOB " "
#define EVENTS "GET /v1/jobs/" JOB "/events?after=now "
#define NO_SERIES HEAD("200 OK", "") "{\"series\":{}}"

/* Returns the value of a header in a recorded request; "" when it is missing. */
static const char *header(const char *request, const char *name)
{
    static char value[512];
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "\r\n%s: ", name);
    const char *at = strcasestr(request, wanted);
    value[0] = 0;
    if (at)
        snprintf(value, sizeof(value), "%.*s", (int)strcspn(at + strlen(wanted), "\r"), at + strlen(wanted));
    return value;
}

/* --- submitting --- */

static void a_submission_without_an_answer_is_repeated_with_the_same_key(void **state)
{
    char key[512];
    BEGIN({"GET /v1/kinds ",
           HEAD("200 OK", "") "{\"kinds\":[{\"kind\":\"sparling\",\"presets\":[{\"name\":\"quick\"}]}]}"},
          {"POST /v1/jobs ", ""}, {"POST /v1/jobs ", HEAD("503 Busy", "Retry-After: 1\r\n") "{\"title\":\"busy\"}"},
          {"POST /v1/jobs ", HEAD("201 Created", "") QUEUED});
    run(&got, script.port, "submit --preset quick --set seed=7 --name first");
    end(&script);
    assert_int_equal(got.code, 0);
    assert_string_equal(got.out, "submitted sparling as " JOB "\n");
    snprintf(key, sizeof(key), "%s", header(script.requests[1], "Idempotency-Key"));
    assert_true(strlen(key) >= 16);
    assert_string_equal(header(script.requests[2], "Idempotency-Key"), key);
    assert_string_equal(header(script.requests[3], "Idempotency-Key"), key);
    assert_string_equal(header(script.requests[3], "Content-Type"), "application/json");
    assert_string_equal(strstr(script.requests[3], "\r\n\r\n") + 4,
                        "{\"config\":{\"seed\":7},\"preset\":\"quick\",\"name\":\"first\",\"kind\":\"sparling\"}");
}

static void a_preset_that_is_a_study_is_submitted_with_all_its_jobs(void **state)
{
#define KINDS                                                                                                          \
    "GET /v1/kinds ", HEAD("200 OK", "") "{\"kinds\":[{\"kind\":\"line\",\"presets\":[{\"name\":\"many\","             \
                                         "\"grid\":{\"p\":[1,2]},\"seeds\":2}]}]}"
    BEGIN({KINDS}, {"POST /v1/studies ", HEAD("201 Created", "") "{\"id\":\"S1\",\"kind\":\"line\",\"count\":4}"},
          {KINDS}, {"POST /v1/jobs ", HEAD("201 Created", "") QUEUED},
          {"POST /v1/studies ", HEAD("201 Created", "") "{\"id\":\"S2\",\"kind\":\"line\",\"count\":3}"});
    run(&got, script.port, "submit --preset many --set p=1");
    assert_int_equal(got.code, 0);
    assert_string_equal(got.out, "submitted line as study S1 with 4 jobs\n");
    run(&got, script.port, "submit --preset many --set p=1 --set seed=3"); /* one job: everything is decided */
    assert_int_equal(got.code, 0);
    run(&got, script.port, "study submit --kind line --grid p=1,.5,x --seeds 2 -q");
    end(&script);
    assert_string_equal(got.out, "S2\n");
    assert_string_equal(strstr(script.requests[4], "\r\n\r\n") + 4,
                        "{\"grid\":{\"p\":[1,0.5,\"x\"]},\"kind\":\"line\",\"seeds\":2}");
    assert_true(strlen(header(script.requests[4], "Idempotency-Key")) >= 16);
}

static void every_fault_of_a_configuration_is_shown(void **state)
{
    BEGIN({"POST /v1/jobs ",
           HEAD("422 No",
                "") "{\"title\":\"invalid\",\"detail\":\"/config/width: must be an integer (and 1 more fault)\","
                    "\"errors\":["
                    "{\"pointer\":\"/config/width\",\"detail\":\"must be an integer\"},"
                    "{\"pointer\":\"/config/seed\",\"detail\":\"must not be negative\"}]}"});
    run(&got, script.port, "submit --kind sparling --set width=x --set seed=-1");
    end(&script);
    assert_int_equal(got.code, 2);
    assert_string_equal(got.out, "");
    assert_string_equal(got.err, "error: invalid\n  /config/width  must be an integer\n"
                                 "  /config/seed  must not be negative\n");
}

static void an_unknown_preset_is_a_usage_error(void **state)
{
    BEGIN({"GET /v1/kinds ",
           HEAD("200 OK", "") "{\"kinds\":[{\"kind\":\"sparling\",\"presets\":[{\"name\":\"quick\"}]}]}"});
    run(&got, script.port, "submit --preset slow");
    end(&script);
    assert_int_equal(got.code, 2);
    assert_non_null(strstr(got.err, "there is no preset slow"));
}

static void a_dry_run_stores_nothing_and_shows_the_cost(void **state)
{
    BEGIN({"POST /v1/jobs?dry_run=1 ",
           HEAD("200 OK", "") "{\"config\":{\"seed\":7},\"estimate\":{\"parameters\":46000000,"
                              "\"memory_bytes\":1048576,\"seconds\":3725}}"});
    run(&got, script.port, "submit --kind sparling --dry-run");
    end(&script);
    assert_int_equal(got.code, 0);
    assert_string_equal(header(script.requests[0], "Idempotency-Key"), "");
    assert_non_null(strstr(got.out, "46.0M"));
    assert_non_null(strstr(got.out, "1:02:05"));
    assert_non_null(strstr(got.out, "nothing was stored"));
}

/* --- reaching the server --- */

static void no_server_is_exit_code_three(void **state)
{
    static struct outcome got;
    run(&got, 1, "list");
    assert_int_equal(got.code, 3);
    assert_non_null(strstr(got.err, "error: http://127.0.0.1:1: "));
    run(&got, 1, "watch latest");
    assert_int_equal(got.code, 3);
}

static void a_server_that_is_no_motifd_is_noticed(void **state)
{
    BEGIN({"GET /v1/system ", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n\r\n<html>"},
          {"GET /v1/system ", "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nnope"});
    run(&got, script.port, "system");
    assert_int_equal(got.code, 1);
    assert_non_null(strstr(got.err, "is not JSON; is it motifd?"));
    run(&got, script.port, "system");
    assert_int_equal(got.code, 2);
    assert_non_null(strstr(got.err, "answered 404; is it motifd?"));
    end(&script);
}

static void the_token_is_sent_and_a_missing_token_is_explained(void **state)
{
    BEGIN({"GET /v1/system ", HEAD("401 Unauthorized", "") "{\"title\":\"no token\"}"},
          {"GET /v1/system ", HEAD("200 OK", "") "{\"version\":\"1\"}"});
    run(&got, script.port, "system");
    assert_int_equal(got.code, 2);
    assert_non_null(strstr(got.err, "--token or in MOTIFD_TOKEN"));
    run(&got, script.port, "--token s3cret system --json");
    assert_int_equal(got.code, 0);
    assert_string_equal(got.out, "{\"version\":\"1\"}\n");
    end(&script);
    assert_string_equal(header(script.requests[0], "Authorization"), "");
    assert_string_equal(header(script.requests[1], "Authorization"), "Bearer s3cret");
}

static void readiness_is_an_exit_code(void **state)
{
    BEGIN({"GET /readyz ", HEAD("200 OK", "") "{}"},
          {"GET /readyz ", HEAD("503 Draining", "") "{\"title\":\"draining\"}"});
    run(&got, script.port, "health");
    assert_int_equal(got.code, 0);
    run(&got, script.port, "health");
    assert_int_equal(got.code, 3);
    end(&script);
}

/* --- naming a job --- */

#define TWO_JOBS                                                                                                       \
    HEAD("200 OK", "")                                                                                                 \
    "{\"jobs\":[{\"id\":\"01JD9AAAAAAAAAAAAAAAAAAAAA\",\"task\":\"evaluate\"},{\"id\":\"" JOB                          \
    "\",\"task\":\"train\"}],"                                                                                         \
    "\"next_cursor\":null}"

#define NAMED(name) "GET /v1/jobs?fields=id&limit=2&name=" name " "
#define IDS "GET /v1/jobs?fields=id&limit=1000 "
#define NO_JOBS HEAD("200 OK", "") "{\"jobs\":[],\"next_cursor\":null}"
#define ONE_JOB HEAD("200 OK", "") "{\"jobs\":[{\"id\":\"" JOB "\"}],\"next_cursor\":null}"

static void jobs_are_found_by_name(void **state)
{
    BEGIN({NAMED("my-run"), ONE_JOB}, {LOOK, HEAD("200 OK", "") RUNNING}, {NAMED("twice"), TWO_JOBS},
          {NAMED("..%2F..%2Fetc%2Fpasswd"), NO_JOBS});
    run(&got, script.port, "show my-run --json");
    assert_int_equal(got.code, 0);
    run(&got, script.port, "show twice --json");
    assert_int_equal(got.code, 2);
    assert_non_null(strstr(got.err, "several jobs have the name twice; use an id"));
    run(&got, script.port, "show ../../etc/passwd");
    end(&script);
    assert_int_equal(got.code, 2);
    assert_non_null(strstr(got.err, "no job has the name ../../etc/passwd"));
}

static void jobs_are_found_by_prefix_and_latest(void **state)
{
    BEGIN({NAMED("01jd8"), NO_JOBS}, {IDS, TWO_JOBS}, {LOOK, HEAD("200 OK", "") RUNNING}, /* show 01jd8 */
          {NAMED("01JD"), NO_JOBS}, {IDS, TWO_JOBS},                                      /* show 01JD */
          {NAMED("02"), NO_JOBS}, {IDS, TWO_JOBS},                                        /* show 02 */
          {"GET /v1/jobs/latest ", HEAD("200 OK", "") RUNNING},                           /* show latest */
          {LOOK, HEAD("200 OK", "") RUNNING}, {"GET /v1/jobs/latest?checkpoint=1 ", HEAD("200 OK", "") RUNNING},
          {"GET /v1/jobs/" JOB "/channels ", HEAD("200 OK", "") "{\"channels\":[]}"});
    run(&got, script.port, "show 01jd8 --json");
    assert_int_equal(got.code, 0);
    run(&got, script.port, "show 01JD --json");
    assert_int_equal(got.code, 2);
    assert_non_null(strstr(got.err, "several jobs have ids that begin with 01JD"));
    run(&got, script.port, "show 02 --json");
    assert_int_equal(got.code, 2);
    assert_non_null(strstr(got.err, "no job has the name 02, or an id that begins with it"));
    run(&got, script.port, "show latest --json");
    assert_int_equal(got.code, 0);
    run(&got, script.port, "channels latest --json");
    assert_int_equal(got.code, 0);
    end(&script);
}

static void the_search_goes_through_all_pages(void **state)
{
    BEGIN({NAMED("01"), NO_JOBS}, {IDS, HEAD("200 OK", "") "{\"jobs\":[{\"id\":\"02\"}],\"next_cursor\":\"a/b\"}"},
          {"GET /v1/jobs?fields=id&limit=1000&cursor=a%2Fb ", ONE_JOB},
          {"POST /v1/jobs/" JOB "/pause ", HEAD("202 Accepted", "") RUNNING});
    run(&got, script.port, "pause 01");
    end(&script);
    assert_int_equal(got.code, 0);
    assert_string_equal(got.out, JOB ": pause requested; the job is running\n");
}

/* --- watching --- */

static void watching_survives_a_restart(void **state)
{
    BEGIN({LOOK, HEAD("200 OK", "ETag: \"a\"\r\n") RUNNING}, {METRICS, NO_SERIES},
          {EVENTS,
           HEAD("200 OK", "") "retry: 1000\nid: 5\n\nid: 7\nevent: progress\ndata: {\"progress\":{\"fraction\":0.75,"
                              "\"density\":0.001}}\n\nid: 8\nevent: state\nda"},
          {LOOK, HEAD("304 Same", "")}, {LOOK, ""}, {LOOK, HEAD("503 Starting", "") "{}"},
          {LOOK, HEAD("200 OK", "ETag: \"b\"\r\n") QUEUED}, {EVENTS, HEAD("503 Full", "") "{}"},
          {LOOK, HEAD("200 OK", "ETag: \"c\"\r\n") SUCCEEDED});
    run(&got, script.port, "watch " JOB " --interval 20");
    end(&script);
    assert_int_equal(got.code, 0);
    assert_string_equal(header(script.requests[0], "If-None-Match"), "");
    assert_string_equal(header(script.requests[2], "Last-Event-ID"), "");
    assert_string_equal(header(script.requests[3], "If-None-Match"), "\"a\"");
    /* continues after event 7, because the following event was incomplete */
    assert_string_equal(header(script.requests[7], "Last-Event-ID"), "7");
    assert_string_equal(header(script.requests[8], "If-None-Match"), "\"b\"");
    assert_non_null(strstr(got.err, "75 %")); /* the percentage comes from the event */
    const char *away = strstr(got.err, "server cannot be reached"), *back = strstr(got.err, "server is back");
    assert_true(away && back && away < back);
    assert_null(strstr(away + 1, "server cannot be reached")); /* motifctl prints this message once */
    assert_non_null(strstr(got.out, "succeeded\n"));
    assert_non_null(strstr(got.out, "1.25 %"));
    assert_null(strstr(got.err, "\033")); /* no escape sequences, because the output is no terminal */
}

static void watching_gives_up_when_asked_to(void **state)
{
    BEGIN({LOOK, HEAD("200 OK", "") RUNNING}, {METRICS, NO_SERIES}, {EVENTS, ""}, {LOOK, ""}, {LOOK, ""});
    run(&got, script.port, "watch " JOB " --interval 20 --patience 0");
    end(&script);
    assert_int_equal(got.code, 3);
}

static void a_failed_job_is_exit_code_one_with_its_reason(void **state)
{
    BEGIN({LOOK, HEAD("200 OK", "") "{\"id\":\"" JOB "\",\"state\":\"failed\",\"progress\":{},\"error\":{\"message\":"
                                    "\"the loss is not finite\",\"step\":812}}"},
          {METRICS, NO_SERIES},
          {LOOK, HEAD("200 OK", "") "{\"id\":\"" JOB "\",\"state\":\"cancelled\",\"progress\":{}}"});
    run(&got, script.port, "watch " JOB);
    assert_int_equal(got.code, 1);
    assert_non_null(strstr(got.out, "failed: the loss is not finite\n  step: 812\n"));
    run(&got, script.port, "watch --json " JOB);
    assert_int_equal(got.code, 1);
    assert_string_equal(got.out, "{\"id\":\"" JOB "\",\"state\":\"cancelled\",\"progress\":{}}\n");
    end(&script);
}

/* --- downloads --- */

#define CHECKPOINT "GET /v1/jobs/" JOB "/checkpoints/4 "

static bool file_is(const char *name, const char *bytes)
{
    char path[128], found[TEXT];
    in_folder(name, path, sizeof(path));
    slurp(path, found, sizeof(found));
    return access(path, F_OK) == 0 && strcmp(found, bytes) == 0;
}

static bool file_exists(const char *name)
{
    char path[128];
    in_folder(name, path, sizeof(path));
    return access(path, F_OK) == 0;
}

static void a_broken_download_continues_where_it_stopped(void **state)
{
    BEGIN({"GET /v1/jobs/" JOB "/checkpoints ", HEAD("200 OK", "") "{\"checkpoints\":[{\"seq\":4},{\"seq\":2}]}"},
          {CHECKPOINT, HEAD("200 OK", "ETag: \"x\"\r\nContent-Length: 10\r\n") "0123"},
          {CHECKPOINT, HEAD("206 Part", "ETag: \"x\"\r\nContent-Length: 6\r\nContent-Range: bytes 4-9/10\r\n") "45"},
          {CHECKPOINT, HEAD("206 Part", "ETag: \"x\"\r\nContent-Length: 4\r\nContent-Range: bytes 6-9/10\r\n") "6789"});
    run(&got, script.port, "export " JOB " w.safetensors");
    end(&script);
    assert_int_equal(got.code, 0);
    assert_string_equal(got.out, "w.safetensors: checkpoint 4, 10 B\n");
    assert_string_equal(header(script.requests[1], "Range"), "");
    assert_string_equal(header(script.requests[2], "Range"), "bytes=4-");
    assert_string_equal(header(script.requests[2], "If-Range"), "\"x\"");
    assert_string_equal(header(script.requests[3], "Range"), "bytes=6-");
    assert_true(file_is("w.safetensors", "0123456789"));
    assert_false(file_exists("w.safetensors.part") || file_exists("w.safetensors.part.etag"));
}

/* motifctl writes the file with the ETag before it writes the partial file. Otherwise, after a kill, no later run
 * could use the partial file. */
static void the_etag_is_written_before_the_partial_file(void **state)
{
    awaited = "k.part.etag";
    BEGIN(
        {CHECKPOINT, HEAD("200 OK", "ETag: \"x\"\r\nContent-Length: 10\r\n") "0123"},
        {CHECKPOINT, HEAD("206 Part", "ETag: \"x\"\r\nContent-Length: 6\r\nContent-Range: bytes 4-9/10\r\n") "456789"});
    run(&got, script.port, "export " JOB " k --checkpoint 4");
    end(&script);
    awaited = NULL;
    assert_int_equal(got.code, 0);
    assert_true(file_is("k", "0123456789"));
    assert_false(file_exists("k.part.etag"));
}

static void a_partial_file_of_another_checkpoint_is_replaced(void **state)
{
    BEGIN({CHECKPOINT, HEAD("200 OK", "ETag: \"new\"\r\nContent-Length: 3\r\n") "new"},
          {CHECKPOINT, HEAD("200 OK", "ETag: \"new\"\r\nContent-Length: 3\r\n") "new"});
    char path[128];
    in_folder("v.part", path, sizeof(path));
    FILE *file = fopen(path, "w");
    assert_true(file && fputs("old bytes", file) >= 0 && fclose(file) == 0);
    in_folder("v.part.etag", path, sizeof(path));
    file = fopen(path, "w");
    assert_true(file && fputs("\"old\"\n", file) >= 0 && fclose(file) == 0);
    run(&got, script.port, "export " JOB " v --checkpoint 4");
    end(&script);
    assert_int_equal(got.code, 0);
    assert_string_equal(header(script.requests[0], "If-Range"), "\"old\"");
    assert_true(file_is("v", "new"));
}

static void a_missing_checkpoint_leaves_no_file(void **state)
{
    BEGIN({CHECKPOINT, HEAD("404 Not Found", "") "{\"title\":\"no such checkpoint\"}"});
    run(&got, script.port, "export " JOB " u --checkpoint 4");
    end(&script);
    assert_int_equal(got.code, 2);
    assert_false(file_exists("u"));
    assert_false(file_exists("u.part"));
}

static void motifs_are_drawn_and_saved(void **state)
{
    BEGIN({"POST /v1/jobs/" JOB "/motifs ",
           HEAD("200 OK", "") "{\"answers\":[{\"shape\":[2,2,3],\"motifs\":[{\"position\":"
                              "[0,1],\"channel\":2,\"value\":1,\"maximal\":true}],\"truth\":null,"
                              "\"prediction\":[\"4\"]}]}"},
          {"POST /v1/jobs/" JOB "/motifs ", HEAD("200 OK", "") "PNG bytes"});
    run(&got, script.port, "motifs " JOB " --seed 3 --png p.png --checkpoint density:1e-3");
    end(&script);
    assert_int_equal(got.code, 0);
    assert_string_equal(strstr(script.requests[0], "\r\n\r\n") + 4,
                        "{\"inputs\":[{\"sample\":{\"seed\":3}}],\"checkpoint\":\"density:1e-3\"}");
    assert_string_equal(header(script.requests[1], "Accept"), "image/png");
    assert_true(file_is("p.png", "PNG bytes"));
    assert_non_null(strstr(got.out, "sample 3\n 2\n  2  channel 2    1 motif \n  prediction  4\n"));
}

static int make_folder(void **state)
{
    snprintf(folder, sizeof(folder), "/tmp/motifctl-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"out", "err", "w.safetensors", "v", "p.png", "k"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        in_folder(names[i], path, sizeof(path));
        unlink(path);
    }
    /* fails if the test left a file in the folder; cmocka then reports the whole group as failed */
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_submission_without_an_answer_is_repeated_with_the_same_key),
        cmocka_unit_test(a_preset_that_is_a_study_is_submitted_with_all_its_jobs),
        cmocka_unit_test(every_fault_of_a_configuration_is_shown),
        cmocka_unit_test(an_unknown_preset_is_a_usage_error),
        cmocka_unit_test(a_dry_run_stores_nothing_and_shows_the_cost),
        cmocka_unit_test(no_server_is_exit_code_three),
        cmocka_unit_test(a_server_that_is_no_motifd_is_noticed),
        cmocka_unit_test(the_token_is_sent_and_a_missing_token_is_explained),
        cmocka_unit_test(readiness_is_an_exit_code),
        cmocka_unit_test(jobs_are_found_by_name),
        cmocka_unit_test(jobs_are_found_by_prefix_and_latest),
        cmocka_unit_test(the_search_goes_through_all_pages),
        cmocka_unit_test(watching_survives_a_restart),
        cmocka_unit_test(watching_gives_up_when_asked_to),
        cmocka_unit_test(a_failed_job_is_exit_code_one_with_its_reason),
        cmocka_unit_test(a_broken_download_continues_where_it_stopped),
        cmocka_unit_test(the_etag_is_written_before_the_partial_file),
        cmocka_unit_test(a_partial_file_of_another_checkpoint_is_replaced),
        cmocka_unit_test(a_missing_checkpoint_leaves_no_file),
        cmocka_unit_test(motifs_are_drawn_and_saved),
    };
    /* an absolute path, because the tests run motifctl in another folder */
    motifctl = argc == 2 ? realpath(argv[1], NULL) : NULL;
    if (!motifctl)
        return 2;
    return cmocka_run_group_tests_name("motifctl_http", tests, make_folder, remove_folder);
}
