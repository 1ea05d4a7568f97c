/* Reads Idempotency-Key, and responds to a request that has created a job (repeat.h). */
#include "api/jobs/repeat.h"

#include <string.h>

#include "api/jobs/job_document.h"

static bool key_valid(const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < length; i++)
        if (key[i] < 0x21 || key[i] > 0x7E)
            return false;
    return length > 0 && length < STORAGE_KEY;
}

bool repeat_key(struct exchange *x, const char **key)
{
    *key = exchange_header(x, "Idempotency-Key");
    if (*key == NULL || key_valid(*key))
        return true;
    respond_problem(x, PROBLEM_BAD_REQUEST, "Idempotency-Key must be 1 to %d visible ASCII characters.",
                    STORAGE_KEY - 1);
    return false;
}

void repeat_respond(struct exchange *x, enum storage_submit_outcome outcome, const char *id)
{
    if (outcome == STORAGE_KEY_REUSED) {
        respond_problem(x, PROBLEM_KEY_REUSED,
                        "This Idempotency-Key was used for another request, which created job %s.", id);
        return;
    }
    respond_job(x, 201, id);
    if (x->response->status == 201) {
        response_header(x->response, "Location", "/v1/jobs/%s", id);
        if (outcome == STORAGE_REPLAYED)
            response_header(x->response, "Idempotency-Replayed", "true");
    }
}
