/* Shared by the wire tests: each program starts one daemon. The functions submit tiny jobs and wait for them. */
#ifndef MOTIF_TESTS_WIRE_H
#define MOTIF_TESTS_WIRE_H

#include "tests/support/unit.h"
#include "tests/harness/client.h"
#include "tests/harness/daemon.h"

#define JOB_ID 27

/* Factor that lengthens deadlines when a sanitizer slows the daemon. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWED 6
#else
#define SLOWED 1
#endif
#define PATIENCE (240 * SLOWED) /* seconds after which waiting for something counts as a failure */

/* A configuration of SPARLING that one core trains in well under a second. */
#define TINY                                                                                                           \
    "\"image_size\":32,\"classes\":3,\"min_symbols\":1,\"max_symbols\":2,\"shift\":1,\"margin\":8,\"min_radius\":5,"   \
    "\"width\":16,\"motifs\":3,\"units\":1,\"channels\":16,\"layers\":1,\"heads\":2,\"feed_forward\":32,"              \
    "\"batch\":4,\"validation_every\":40,\"validation_samples\":8,\"checkpoint_every\":20,\"test_samples\":8,"         \
    "\"motif_samples\":8,\"stage_samples\":4,\"curriculum\":0,\"density_start\":0.01"

/* Submits a job, asserts that the daemon accepts it, and copies its id. */
static inline void submit(const char *url, const char *body, char id[JOB_ID])
{
    struct reply reply;
    post(url, "/v1/jobs", body, &reply);
    if (reply.status != 201)
        print_error("submit: %d %s\n", reply.status, reply.body != NULL ? reply.body : "");
    assert_int_equal(reply.status, 201);
    assert_int_equal(strlen(json_text(reply.json, "id")), JOB_ID - 1);
    memcpy(id, json_text(reply.json, "id"), JOB_ID);
    reply_close(&reply);
}

/* Submits a job of preset digitcircle-quick with the tiny network, `total` samples and further members of the job
 * (",\"name\":...", or ""). */
static inline void submit_tiny(const char *url, long total, const char *further, char id[JOB_ID])
{
    char body[1024];
    (void)snprintf(body, sizeof body,
                   "{\"kind\":\"sparling\",\"preset\":\"digitcircle-quick\",\"config\":{" TINY
                   ",\"total_samples\":%ld}%s}",
                   total, further);
    submit(url, body, id);
}

static inline void job_path(char path[256], const char *id, const char *rest)
{
    (void)snprintf(path, 256, "/v1/jobs/%s%s", id, rest);
}

/* Copies the state of the job. */
static inline void job_state(const char *url, const char *id, char state[16])
{
    char path[256];
    struct reply reply;
    job_path(path, id, "");
    get(url, path, &reply);
    (void)snprintf(state, 16, "%s", json_text(reply.json, "state"));
    reply_close(&reply);
}

static inline void await_state(const char *url, const char *id, const char *wanted)
{
    char state[16] = "";
    for (double until = now_seconds() + PATIENCE; now_seconds() < until; sleep_ms(10)) {
        job_state(url, id, state);
        if (strcmp(state, wanted) == 0)
            return;
    }
    fail_msg("the job is '%s' and not '%s'", state, wanted);
}

/* Asserts that the answer is an error document (problem+json) with all its members. */
static inline void assert_problem(const struct reply *reply, int status)
{
    char value[256];
    if (reply->status != status)
        print_error("%d %s\n", reply->status, reply->body != NULL ? reply->body : "");
    assert_int_equal(reply->status, status);
    assert_string_equal(reply_header(reply, "Content-Type", value), "application/problem+json");
    assert_non_null(reply->json);
    assert_int_equal((int)json_number(reply->json, "status"), status);
    static const char *const members[] = {"type", "title", "detail", "instance"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        assert_true(json_text(reply->json, members[i])[0] != '\0');
    /* an error document must not reveal paths, SQL or source files of the machine */
    static const char *const leaks[] = {"/tmp/", "/home", "SELECT", "sqlite", ".c:", "motifd.db"};
    for (size_t i = 0; i < sizeof leaks / sizeof leaks[0]; i++)
        assert_null(strstr(reply->body, leaks[i]));
}

#endif
