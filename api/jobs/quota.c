/* The per-token quota: threads, bytes of checkpoints and bytes of data sets. Storage enforces the limit of jobs in the
 * transaction that stores a job. */
#include "api/jobs/quota.h"

#include "storage/files/dataset.h"

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
    if (most <= 0 || owner_of(x)[0] == '\0') {
        return true;
    }
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

enum status share_takes_dataset(const struct exchange *x, const char *root, int64_t bytes, struct error *err)
{
    int64_t most = x->api->options.share.dataset_bytes, used;
    if (most <= 0 || owner_of(x)[0] == '\0') {
        return STATUS_OK;
    }
    enum status status = dataset_bytes(root, owner_of(x), &used, err);
    if (status != STATUS_OK) {
        return status;
    }
    return bytes <= most - used ? STATUS_OK
                                : error_set(err, STATUS_LIMIT, NULL,
                                            "The data sets of this token use %lld of %lld bytes; this one needs %lld",
                                            (long long)used, (long long)most, (long long)bytes);
}
