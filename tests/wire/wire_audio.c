/* Tests spoken words over HTTP: a data set that motifd makes, a job that trains on it, queries with recordings. */
#include <sys/stat.h>

#include "tests/wire/wire.h"

static struct daemon_process served;
static char job[JOB_ID];

#define CONFIG                                                                                                         \
    "\"audio_seconds\":3,\"audio_min_symbols\":1,\"audio_max_symbols\":2,\"width\":8,\"units\":1,\"channels\":16,"     \
    "\"layers\":1,\"heads\":2,\"feed_forward\":32,\"batch\":4,\"validation_every\":20,\"validation_samples\":8,"       \
    "\"checkpoint_every\":20,\"test_samples\":8,\"motif_samples\":8,\"stage_samples\":0,\"curriculum\":0,"             \
    "\"total_samples\":40,\"density_start\":0.05,\"density_final\":0.02"

static void submit_audio(const char *dataset, int status, struct reply *reply)
{
    char body[1024];
    (void)snprintf(body, sizeof body,
                   "{\"kind\":\"sparling\",\"preset\":\"audio-sequence\",\"config\":{\"audio_dataset\":\"%s\"," CONFIG
                   "}}",
                   dataset);
    post(served.url, "/v1/jobs", body, reply);
    if (reply->status != status)
        print_error("%d %s\n", reply->status, reply->body != NULL ? reply->body : "");
    assert_int_equal(reply->status, status);
}

static int setup(void **state)
{
    char data[96], set[128];
    struct reply reply;
    daemon_init(&served);
    (void)snprintf(data, sizeof data, "%s/data", served.folder);
    (void)snprintf(set, sizeof set, "%s/digits", data);
    if (mkdir(data, 0700) != 0 ||
        motifd_run((const char *const[]){"dataset", "audio", "--out", set, "--voices", "3", "--takes", "1", NULL}, NULL,
                   NULL) != 0 ||
        !daemon_start(&served, (const char *const[]){"--data", data, NULL}, NULL))
        return -1;
    submit_audio("digits", 201, &reply);
    memcpy(job, json_text(reply.json, "id"), JOB_ID);
    reply_close(&reply);
    await_state(served.url, job, "succeeded");
    return 0;
}

static int teardown(void **state)
{
    int code = daemon_stop(&served);
    daemon_close(&served, code != 0);
    return code;
}

static void ask(const struct call *call, int status, struct reply *reply)
{
    call_server(served.url, call, reply);
    if (reply->status != status)
        print_error("%d %s\n", reply->status, reply->body != NULL ? reply->body : "");
    assert_int_equal(reply->status, status);
}

static const cJSON *first_answer(const struct reply *reply)
{
    const cJSON *answer = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(reply->json, "answers"), 0);
    assert_non_null(answer);
    return answer;
}

static void samples_have_true_boxes_and_a_picture(void **state)
{
    struct reply reply;
    char path[256];
    job_path(path, job, "/motifs");
    ask(&(struct call){.method = "POST", .path = path, .body = "{\"inputs\":[{\"sample\":{\"seed\":5}}]}"}, 200,
        &reply);
    const cJSON *truth = cJSON_GetObjectItemCaseSensitive(first_answer(&reply), "truth");
    int words = cJSON_GetArraySize(truth);
    assert_in_range(words, 1, 2);
    const cJSON *box = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(truth, 0), "box");
    assert_int_equal(cJSON_GetArrayItem(box, 0)->valueint, 0);
    assert_int_equal(cJSON_GetArrayItem(box, 1)->valueint, 1);
    assert_true(cJSON_GetArrayItem(box, 2)->valueint < cJSON_GetArrayItem(box, 3)->valueint);
    reply_close(&reply);
    ask(&(struct call){.method = "POST",
                       .path = path,
                       .body = "{\"inputs\":[{\"sample\":{\"seed\":5}}]}",
                       .headers = (const char *const[]){"Accept: image/png", NULL}},
        200, &reply);
    assert_memory_equal(reply.body, "\x89PNG", 4);
    reply_close(&reply);
}

/* Sends a recording of one second at 16 kHz to a model whose input is three seconds at 8 kHz. The daemon resamples
 * the recording and places it at the beginning of the input. Three seconds are 129 frames of the spectrogram. */
static void recordings_of_any_rate_and_length_are_read(void **state)
{
    enum { RATE = 16000 };
    static char wave[44 + 2 * RATE] = "RIFF\244}\0\0WAVEfmt \20\0\0\0\1\0\1\0\200>\0\0\0}\0\0\2\0\20\0data\0}\0\0";
    struct reply reply;
    char path[256];
    for (int i = 0; i < RATE; i++)
        wave[44 + 2 * i + 1] = (char)(i / 20 % 2 == 0 ? 32 : -32); /* a square wave of 400 Hz */
    job_path(path, job, "/motifs");
    struct call call = {.method = "POST", .path = path, .body = wave, .body_bytes = sizeof wave, .type = "audio/wav"};
    ask(&call, 200, &reply);
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(first_answer(&reply), "shape");
    assert_int_equal(cJSON_GetArrayItem(shape, 0)->valueint, 1);
    assert_int_equal(cJSON_GetArrayItem(shape, 1)->valueint, 129);
    assert_non_null(
        strstr(reply.body, "the recording has 16000 Hz and was resampled to 8000 Hz, the rate of the model"));
    reply_close(&reply);
    call.body_bytes = 60;
    ask(&call, 422, &reply); /* a recording that ends before the size that its header states */
    assert_non_null(strstr(reply.body, "ends before the size"));
    reply_close(&reply);
    call.body = "not a recording";
    call.body_bytes = 0;
    ask(&call, 422, &reply);
    assert_problem(&reply, 422);
    reply_close(&reply);
}

static void evaluation_separates_voices_seen_in_training(void **state)
{
    struct reply reply;
    char path[256], id[JOB_ID];
    job_path(path, job, "/evaluation");
    post(served.url, path, "{\"samples\":8,\"seed\":-1}", &reply);
    assert_int_equal(reply.status, 201);
    memcpy(id, json_text(reply.json, "id"), JOB_ID);
    reply_close(&reply);
    await_state(served.url, id, "succeeded");
}

static void a_data_set_must_be_a_name_never_a_path(void **state)
{
    static const char *const paths[] = {"../digits", "/etc", "a/b", ""};
    struct reply reply;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        submit_audio(paths[i], 422, &reply);
        assert_problem(&reply, 422);
        assert_non_null(strstr(reply.body, "/config/audio_dataset"));
        reply_close(&reply);
    }
    submit_audio("nothing-there", 422, &reply);
    assert_problem(&reply, 422);
    assert_non_null(strstr(reply.body, "/config/audio_dataset"));
    assert_non_null(strstr(reply.body, "no data set nothing-there"));
    assert_null(strstr(reply.body, served.folder));
    reply_close(&reply);
}

static void attestation_contains_the_hash_of_the_data(void **state)
{
    struct reply reply;
    char path[256];
    job_path(path, job, "/attestation");
    get(served.url, path, &reply);
    assert_int_equal(reply.status, 200);
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(reply.json, "dataset");
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(data, "names");
    assert_int_equal(strlen(json_text(data, "digest")), 64);
    assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(data, "sha256")));
    assert_int_equal(cJSON_GetArraySize(names), 1);
    assert_non_null(json_text(names, "audio_dataset"));
    reply_close(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_true_boxes_and_a_picture),
        cmocka_unit_test(recordings_of_any_rate_and_length_are_read),
        cmocka_unit_test(evaluation_separates_voices_seen_in_training),
        cmocka_unit_test(a_data_set_must_be_a_name_never_a_path),
        cmocka_unit_test(attestation_contains_the_hash_of_the_data),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
