/* What the tests of the api share: a store in a folder of its own, an api over it with a small method made for the
 * tests, and short ways to ask and to look at what was answered. */
#ifndef MOTIF_TESTS_UNIT_API_API_FIXTURE_H
#define MOTIF_TESTS_UNIT_API_API_FIXTURE_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/json/json.h"
#include "storage/storage.h"

/* The method "echo": its weights are kept, its motifs are where an input is largest. A seed of 13 makes open() fail. */
extern const struct method echo_method;
struct echo_config {
    int64_t seed, threads;
    double density;
    int mode, domain;
    bool verbose;
    int64_t span;
    char label[CONFIG_TEXT];
};
extern atomic_int echo_opened, echo_closed; /* models */
extern atomic_int echo_open_ms;             /* how long open() takes */

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
    char log[4096]; /* what was logged, joined */
    const char *headers[16][2];
    size_t header_count;
    enum api_scope scope;
    struct api_response response;
    bool open;  /* response must be closed */
    char *body; /* of the response, NUL-terminated, read() included */
    size_t body_bytes;
    cJSON *json; /* the body, when it is JSON */
};

/* Where a test makes its folders: in memory where that is possible, since syncing is not what these tests look at. */
const char *scratch(void);

int api_setup(void **state);
int api_teardown(void **state);

/* A header of the next request; they are forgotten after it. Content-Type is application/json unless said otherwise. */
void header(struct api_fixture *f, const char *name, const char *value);
/* Asks, keeps the response in f, gives the status. body may be NULL. */
int ask(struct api_fixture *f, const char *method, const char *target, const char *body);
int ask_bytes(struct api_fixture *f, const char *method, const char *target, const void *body, size_t bytes);
const char *answer_header(struct api_fixture *f, const char *name);
/* A copy of the last body, the caller's. */
char *body_kept(const struct api_fixture *f);

/* The value at a JSON pointer of the last answer; fails the test when it is not there. */
const cJSON *at(struct api_fixture *f, const char *pointer);
const char *text_at(struct api_fixture *f, const char *pointer);
double number_at(struct api_fixture *f, const char *pointer);
bool null_at(struct api_fixture *f, const char *pointer);
/* The last answer is a problem of this status and name, complete. */
void assert_problem(struct api_fixture *f, int status, const char *name);
/* ... with this fault among its errors; `word` must occur in the detail. */
void assert_fault(struct api_fixture *f, const char *pointer, const char *word);

/* POST /v1/jobs; the id is copied. */
void submit_job(struct api_fixture *f, const char *body, char id[STORAGE_ID]);
/* As an executor would: claims the job, whose id it must be. */
void claim_job(struct api_fixture *f, const char *id);
void finish_job(struct api_fixture *f, const char *id, const char *result);
/* A checkpoint with two weights ("conv.weight" [3][5], "bias" [7]), an optimiser and a state entry; weight values start
 * at `base`. Gives its number. */
int64_t add_checkpoint(struct api_fixture *f, const char *id, int64_t step, double density, float base);
/* A running job with a checkpoint. */
void trained_job(struct api_fixture *f, char id[STORAGE_ID]);
const char *path_of(const char *id, const char *rest); /* "/v1/jobs/ID" rest; valid until the next call but three */

#endif
