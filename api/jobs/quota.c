/* Checks the quota of a token (threads and bytes of checkpoints), and the limit of a job's memory. Storage checks the
 * third part of the quota, the number of unfinished jobs, in the transaction that stores a job. */
#include "api/jobs/quota.h"

static const char *owner_of(const struct exchange *x)
{
    return x->request->who != NULL ? x->request->who : "";
}

void share_check_threads(const struct exchange *x, int threads, struct api_faults *faults)
{
    int64_t most = x->api->options.share.threads;
    if (most > 0 && threads > most && owner_of(x)[0] != '\0') {
        api_faults_add(faults, "/threads",
                       "must be at most %lld over all ranks, the limit of all running jobs of a token; "
                       "got %d",
                       (long long)most, threads);
    }
}

bool share_has_room(struct exchange *x)
{
    int64_t most = x->api->options.share.job_bytes, bytes = 0;
    struct error err;
    error_clear(&err);
    if (most <= 0 || owner_of(x)[0] == '\0')
        return true;
    if (storage_owner_bytes(x->api->options.storage, owner_of(x), &bytes, &err) != STATUS_OK) {
        respond_error(x, &err);
        return false;
    }
    if (bytes >= most) {
        respond_problem(x, PROBLEM_FORBIDDEN,
                        "The jobs of this token keep %lld bytes of checkpoints and files; the limit is %lld. "
                        "Ask a user whose token has the scope admin to delete finished jobs.",
                        (long long)bytes, (long long)most);
        return false;
    }
    return true;
}

enum status job_memory_check(const struct api *api, const struct method_estimate *estimate, const char *pointer,
                             struct error *err)
{
    int64_t most = api->options.job_memory;
    if (most <= 0 || estimate->memory_bytes <= most)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, pointer,
                     "would need %.1f GB of memory; a job may use at most %.1f GB: reduce the batch, the width or the "
                     "size of pictures",
                     (double)estimate->memory_bytes / 1e9, (double)most / 1e9);
}
