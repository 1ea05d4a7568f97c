/* Shared by the wire tests of the kinds of jobs; each test program tests one kind and starts one daemon. The functions
 * test the page of the kind, a dry run of each of its presets, the documents of a finished job, and that a pause
 * changes no result. */
#ifndef MOTIF_TESTS_KIND_H
#define MOTIF_TESTS_KIND_H

#include "tests/wire/wire.h"

static struct daemon_process served;

static inline int serve(void **state)
{
    daemon_init(&served);
    return daemon_start(&served, NULL, NULL) ? 0 : -1;
}

static inline int stop_serving(void **state)
{
    int code = daemon_stop(&served);
    daemon_close(&served, code != 0);
    return code;
}

/* Asserts that the page of the kind lists at least `presets` presets, and that each has a dry run: as a study if it has
 * a grid or several seeds, else as a job. If a preset reads a
 * data set, the answer of its dry run must name the data set that is missing. */
static inline void assert_kind(const char *kind, int presets)
{
    char path[64], body[128];
    struct reply reply, dry;
    snprintf(path, sizeof path, "/v1/kinds/%s", kind);
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(reply.json, "presets"), *preset;
    assert_true(cJSON_GetArraySize(all) >= presets);
    cJSON_ArrayForEach (preset, all) {
        snprintf(body, sizeof body, "{\"kind\":\"%s\",\"preset\":\"%s\"}", kind, json_text(preset, "name"));
        bool study = json_number(preset, "seeds") > 1 ||
                     cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(preset, "grid")) > 0;
        post(served.url, study ? "/v1/studies?dry_run=1" : "/v1/jobs?dry_run=1", body, &dry);
        if (dry.status == 422) {
            const cJSON *errors = cJSON_GetObjectItemCaseSensitive(dry.json, "errors");
            const char *pointer = json_text(cJSON_GetArrayItem(errors, 0), "pointer");
            assert_true(strcmp(pointer, "/config/source") == 0 || strcmp(pointer, "/config/dataset_name") == 0);
        } else {
            assert_int_equal(dry.status, 200);
            assert_true(json_number(dry.json, "bytes") > 0 && json_number(dry.json, "predicted_seconds") > 0);
        }
        reply_close(&dry);
    }
    reply_close(&reply);
}

/* Asserts that a job is refused and that the refusal names the field. */
static inline void assert_refused(const char *body, const char *pointer)
{
    struct reply reply;
    post(served.url, "/v1/jobs", body, &reply);
    assert_problem(&reply, 422);
    assert_non_null(strstr(reply.body, pointer));
    reply_close(&reply);
}

/* Asserts that the result of a finished job contains the named numbers (the names end with NULL), and that its list
 * `curve` has this length. A negative length is not checked. */
static inline void assert_result(const char *id, const char *const names[], int curve)
{
    char path[256];
    struct reply reply;
    job_path(path, id, "");
    get(served.url, path, &reply);
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(reply.json, "result");
    for (; *names != NULL; names++)
        if (!cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(result, *names)))
            fail_msg("no %s in the result", *names);
    if (curve >= 0)
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(result, "curve")), curve);
    reply_close(&reply);
}

/* Asserts that the document at the job's path + `rest` begins with these bytes. */
static inline void assert_begins(const char *id, const char *rest, const char *bytes)
{
    char path[256];
    struct reply reply;
    job_path(path, id, rest);
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    assert_true(reply.body_bytes >= strlen(bytes));
    assert_memory_equal(reply.body, bytes, strlen(bytes));
    reply_close(&reply);
}

/* Asserts that the last checkpoint contains an array of this name. */
static inline void assert_checkpoint_names(const char *id, const char *name)
{
    char path[256];
    struct reply reply;
    job_path(path, id, "/checkpoints/latest");
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(memmem(reply.body, reply.body_bytes, name, strlen(name)));
    reply_close(&reply);
}

/* Asserts that a query of the finished job with these inputs succeeds, and that the answer has this member. */
static inline void assert_predicts(const char *id, const char *inputs, const char *member)
{
    char path[256];
    struct reply reply;
    job_path(path, id, "/predict");
    post(served.url, path, inputs, &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, member));
    reply_close(&reply);
}

static inline double result_number(const char *id, const char *name)
{
    char path[256];
    struct reply reply;
    job_path(path, id, "");
    get(served.url, path, &reply);
    double value = json_number(cJSON_GetObjectItemCaseSensitive(reply.json, "result"), name);
    reply_close(&reply);
    return value;
}

/* Pauses a running job and resumes it, unless it has already ended. */
static inline void pause_and_resume(const char *id)
{
    char path[256], now[16];
    struct reply reply;
    job_path(path, id, "/pause");
    post(served.url, path, "", &reply);
    bool pausing = reply.status == 202;
    reply_close(&reply);
    if (!pausing)
        return;
    for (double until = now_seconds() + PATIENCE; now_seconds() < until; sleep_ms(10)) {
        job_state(served.url, id, now);
        if (strcmp(now, "running") != 0)
            break;
    }
    job_path(path, id, "/resume");
    post(served.url, path, "", &reply);
    reply_close(&reply);
}

/* Runs the job twice, once without a pause and once with one, and asserts that both results have the same numbers
 * (the names end with NULL). */
static inline void assert_pause_changes_nothing(const char *body, const char *const names[])
{
    char one[JOB_ID], other[JOB_ID];
    submit(served.url, body, one);
    await_state(served.url, one, "succeeded");
    submit(served.url, body, other);
    await_state(served.url, other, "running");
    pause_and_resume(other);
    await_state(served.url, other, "succeeded");
    for (; *names != NULL; names++)
        assert_true(result_number(one, *names) == result_number(other, *names));
}

#endif
