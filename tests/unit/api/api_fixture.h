/* Shared by the tests of the api: a database in a temporary folder, an api with a small test method, and short
 * functions to send requests and check responses. */
#ifndef MOTIF_TESTS_UNIT_API_API_FIXTURE_H
#define MOTIF_TESTS_UNIT_API_API_FIXTURE_H

#include <stdatomic.h>

#include "tests/support/unit.h"
#include "api/api.h"
#include "protocol/json.h"
#include "storage/storage.h"

/* The method "echo". For each input it reports one motif, at the position of the largest value. With seed 13 its
 * open() fails. */
extern const struct method echo_method;
#define ECHO_ENDLESS 99 /* an inference whose input begins with this number ends only when it is stopped */
struct echo_config {
    int64_t seed, threads;
    double density;
    int mode, domain;
    bool verbose;
    int64_t span;
    char label[CONFIG_TEXT];
};
extern atomic_int echo_opened, echo_closed; /* how many models echo has opened, and how many it has closed */
extern atomic_int echo_open_ms;             /* milliseconds that open() of echo takes */

struct api_fixture {
    char folder[64], path[96];
    struct storage *storage;
    struct storage_options storage_options;
    struct api *api;
    struct api_options options;
    struct error err;
    bool draining;
    atomic_int woken, poked;
    char poked_job[STORAGE_ID];
    char log[4096]; /* all logged lines, one after the other */
    const char *headers[16][2];
    size_t header_count;
    enum api_scope scope;
    const char *who;  /* name of the token that the requests use; NULL: none */
    const char *team; /* its team; NULL: the team without a name */
    struct api_response response;
    bool open;  /* the response has not been closed yet */
    char *body; /* body of the response, including the bytes that read() delivered, with a NUL behind it */
    size_t body_bytes;
    cJSON *json; /* the body as JSON, or NULL if it is not JSON */
};

/* Returns the folder in which tests make temporary folders. It is in memory if possible, because these tests do
 * not check that data reaches the disk. */
const char *scratch(void);

int api_setup(void **state);
int api_teardown(void **state);
/* Closes the last answer, which must not outlive the api. Every request does this for the answer before. */
void forget_answer(struct api_fixture *f);

/* Sets a header of the next request only. Without this call, Content-Type is application/json. */
void header(struct api_fixture *f, const char *name, const char *value);
/* Sends a request, stores the response in f and returns its status. `body` may be NULL. */
int ask(struct api_fixture *f, const char *method, const char *target, const char *body);
int ask_bytes(struct api_fixture *f, const char *method, const char *target, const void *body, size_t bytes);
const char *answer_header(struct api_fixture *f, const char *name);
/* Returns a copy of the last body, which the caller frees. */
char *body_kept(const struct api_fixture *f);

/* Returns the value at a JSON pointer of the last response. The test fails when there is none. */
const cJSON *at(struct api_fixture *f, const char *pointer);
const char *text_at(struct api_fixture *f, const char *pointer);
double number_at(struct api_fixture *f, const char *pointer);
bool null_at(struct api_fixture *f, const char *pointer);
/* Asserts that the last response is a complete problem document with this status and name. */
void assert_problem(struct api_fixture *f, int status, const char *name);
/* Asserts that the last response lists a fault with this pointer and with `word` in its detail. */
void assert_fault(struct api_fixture *f, const char *pointer, const char *word);

/* Submits a job with POST /v1/jobs and copies its id. */
void submit_job(struct api_fixture *f, const char *body, char id[STORAGE_ID]);
/* Claims the next job, as an executor does, and asserts that it is the job `id`. */
void claim_job(struct api_fixture *f, const char *id);
void finish_job(struct api_fixture *f, const char *id, const char *result);
/* Stores a checkpoint with two weights ("conv.weight" [3][5], "bias" [7]), an optimiser and a state entry, and returns
 * its number. Weight values start at `base`. */
int64_t add_checkpoint(struct api_fixture *f, const char *id, int64_t step, double density, float base);
/* Submits a job, claims it and stores a checkpoint. */
void trained_job(struct api_fixture *f, char id[STORAGE_ID]);
/* returns "/v1/jobs/ID" + rest, which stays valid during the next three calls */
const char *path_of(const char *id, const char *rest);

#endif
