/* A job on its way into the database: reads the body of a request, checks everything that the daemon can check before
 * the transaction, and fills the row. POST /v1/jobs submits one, POST /v1/studies all jobs of a study. Also the
 * shares of a token, and requests that repeat an earlier one. */
#ifndef MOTIF_API_JOBS_SUBMISSION_H
#define MOTIF_API_JOBS_SUBMISSION_H

#include "api/http/exchange.h"
#include "api/jobs/job_spec.h"
#include "core/methods/method.h"
#include "protocol/faults.h"
#include "storage/storage.h"

/* Requests that create a job and can be repeated safely, because they have an Idempotency-Key. */

/* Reads the request's Idempotency-Key. *key: NULL if there is none. False: the key is not valid, and the function has
 * responded. */
bool repeat_key(struct exchange *x, const char **key);
/* Responds for a stored submission or import: 201 with the job, or 422 if the key was used for another request. */
void repeat_respond(struct exchange *x, enum storage_submit_outcome outcome, const char *id);

/* The quota of each token (struct api_share of the options). Callers without a token have no quota. */

/* Checks the estimated memory of a job against the limit. STATUS_INVALID at `pointer`: the job would exceed the limit.
 * Without this check, one job could use up the memory and so end the daemon and all its jobs. */
enum status job_memory_check(const struct api *api, const struct method_estimate *estimate, const char *pointer,
                             struct error *err);

struct submission {
    struct api_job_spec spec;        /* submission_close() frees it */
    int64_t seq;                     /* number of the checkpoint from which the job starts; 0: none */
    struct method_estimate estimate; /* what the job will cost */
};

/* Reads and checks a job: members, configuration, source, threads and memory of the token. `dry`: the memory is not
 * checked, because the answer shows it. Returns a failure of the daemon, or STATUS_INVALID if `faults` lists what is
 * wrong. Close the submission in any case. */
enum status submission_read(struct exchange *x, const cJSON *body, bool of_study, bool dry, struct submission *s,
                            struct api_faults *faults, struct error *err);
void submission_close(struct submission *s);
/* Fills the row of the job; its configuration is text in the arena of the exchange. */
enum status submission_row(struct exchange *x, const struct submission *s, struct storage_submit *row,
                           struct error *err);
/* Fills the members that follow from the request: key, fingerprint (of `body`), owner, limits and trace. False: the
 * request is refused, and the function has responded. */
bool submission_admit(struct exchange *x, struct storage_submit *row, const cJSON *body);
/* Responds that the owner or the team has reached its limit of unfinished jobs. count: jobs of the request. */
void submission_respond_full(struct exchange *x, const struct storage_submit *row, enum storage_submit_outcome outcome,
                             size_t count);

/* How long a job will take: the work of its samples at the speed of this machine. */
struct prediction {
    double flops, seconds, gflops_per_thread;
    int threads;
    bool measured; /* the speed was measured on this machine, and not assumed */
};
struct prediction submission_predict(const struct exchange *x, const struct submission *s);

#endif
