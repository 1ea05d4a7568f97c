/* Checks a job completely before it is stored (submission.h). */
#include "api/jobs/submission.h"

#include <stdlib.h>
#include <string.h>

#include "api/jobs/job_document.h"
#include "api/datasets/dataset_names.h"
#include "api/jobs/job_name.h"
#include "api/retention/retention.h"
#include "api/rights/caller.h"
#include "core/base/hash.h"
#include "protocol/config_json.h"

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

/* Adds a fault if a job requests more threads than all running jobs of its token, or of its team, together may use,
 * because such a job could never start beside others. threads: the sum over all ranks. */
static void share_check_threads(const struct exchange *x, int threads, struct api_faults *faults)
{
    const struct api_share *share = &x->api->options.share;
    const int64_t token = caller_name(x)[0] != '\0' ? share->threads : 0;
    const int64_t team = caller_team(x)[0] != '\0' ? share->team_threads : 0;
    const bool of_team = team > 0 && (token <= 0 || team < token);
    const int64_t most = of_team ? team : token;
    if (most > 0 && threads > most) {
        api_faults_add(faults, "/threads",
                       "must be at most %lld over all ranks, the limit of all running jobs of a %s; got %d",
                       (long long)most, of_team ? "team" : "token", threads);
    }
}

static bool has_room(struct exchange *x, bool of_team, int64_t most)
{
    const char *whose = of_team ? caller_team(x) : caller_name(x);
    int64_t bytes = 0;
    struct error err;
    error_clear(&err);
    if (most <= 0 || whose[0] == '\0')
        return true;
    enum status status = of_team ? storage_team_bytes(x->api->options.storage, whose, &bytes, &err)
                                 : storage_owner_bytes(x->api->options.storage, whose, &bytes, &err);
    if (status)
        respond_error(x, &err);
    else if (bytes >= most)
        respond_problem(x, PROBLEM_FORBIDDEN,
                        "The jobs of this %s keep %lld bytes of checkpoints and files; the limit is %lld. "
                        "Delete finished jobs.",
                        of_team ? "team" : "token", (long long)bytes, (long long)most);
    return !status && bytes < most;
}

/* Checks, before a job is stored, that the bytes of the token's and the team's checkpoints and files are below the
 * limits. After a failure, the function has responded and returns false. */
static bool share_has_room(struct exchange *x)
{
    const struct api_share *share = &x->api->options.share;
    return has_room(x, false, share->job_bytes) && has_room(x, true, share->team_job_bytes);
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

/* speed of one core of a current server, which estimates assume until a training on this machine has been measured */
#define ASSUMED_GFLOPS 30.0

/* Computes a hash of the route and the canonical body, so that white space and the order of members make no difference.
 */
static bool fingerprint(struct exchange *x, const cJSON *body, uint8_t out[HASH_BYTES])
{
    struct buf text;
    buf_init(&text, 2 * API_BODY_MAX);
    buf_format(&text, "%s %s", x->match.route->method, x->match.route->pattern);
    for (size_t i = 0; i < x->match.count; i++)
        buf_format(&text, " %s", x->match.values[i]);
    buf_text(&text, "\n");
    json_canonical(body, &text);
    bool ok = !text.failed;
    if (ok)
        hash_bytes(text.data, text.size, out);
    buf_close(&text);
    return ok;
}

bool submission_admit(struct exchange *x, struct storage_submit *row, const cJSON *body)
{
    const char *trace = exchange_header(x, "traceparent");
    row->trace = trace != NULL && traceparent_valid(trace) ? trace : NULL; /* as W3C Trace Context requires */
    row->owner = x->request->who;
    row->team = x->request->team;
    row->owner_limit = x->api->options.share.jobs;
    row->team_limit = x->api->options.share.team_jobs;
    if (!repeat_key(x, &row->key))
        return false;
    if (!fingerprint(x, body, row->fingerprint)) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        return false;
    }
    if (api_draining(x->api)) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "The daemon is shutting down and accepts no more jobs.");
        return false;
    }
    return share_has_room(x);
}

void submission_respond_full(struct exchange *x, const struct storage_submit *row, enum storage_submit_outcome outcome,
                             size_t count)
{
    const bool team = outcome == STORAGE_TEAM_FULL;
    const long long most = (long long)(team ? row->team_limit : row->owner_limit);
    const char *who = team ? "team" : "token";
    if (count > 1)
        respond_problem(x, PROBLEM_TOO_MANY,
                        "The study has %zu jobs, and this %s may have %lld unfinished jobs in all: wait until others "
                        "finish, or submit fewer.",
                        count, who, most);
    else
        respond_problem(x, PROBLEM_TOO_MANY,
                        "This %s has %lld unfinished jobs, which is the limit: wait until one finishes, or cancel one.",
                        who, most);
}

/* Finds the job and the checkpoint of "from". Adds a fault if the job or the checkpoint does not exist, or if the job
 * is of another kind. */
static enum status find_source(struct exchange *x, struct api_job_spec *spec, int64_t *seq, struct api_faults *faults,
                               struct error *err)
{
    *seq = 0;
    if (spec->from_job[0] == '\0')
        return STATUS_OK;
    if (spec->method->warm_start == NULL) {
        api_faults_add(faults, "/from", "jobs of kind %s cannot start from another job's model", spec->method->kind);
        return STATUS_INVALID;
    }
    struct storage_job source;
    char id[STORAGE_ID];
    enum status status = job_name_find(x, spec->from_job, true, id, err);
    if (!status)
        status = caller_job(x, id, &source, err);
    if (status == STATUS_NOT_FOUND) {
        api_faults_add(faults, "/from/job", "there is no job %.80s; must be an id, a name or latest", spec->from_job);
        return STATUS_INVALID;
    }
    if (status == STATUS_CONFLICT) {
        api_faults_add(faults, "/from/job", "%s", err->message);
        return STATUS_INVALID;
    }
    if (status)
        return status;
    if (!method_starts_from(spec->method, source.kind)) {
        api_faults_add(faults, "/from/job", "is of kind %s; must be %s", source.kind, spec->method->kind);
        return STATUS_INVALID;
    }
    struct storage_checkpoint checkpoint;
    memcpy(spec->from_job, id, sizeof id);
    status = storage_checkpoint_find(x->api->options.storage, spec->from_job, spec->from_checkpoint, &checkpoint, err);
    if (status == STATUS_NOT_FOUND) {
        api_faults_add(faults, "/from/checkpoint", "the job has no such checkpoint");
        return STATUS_INVALID;
    }
    *seq = checkpoint.seq;
    return status;
}

enum status submission_read(struct exchange *x, const cJSON *body, bool of_study, bool dry, struct submission *s,
                            struct api_faults *faults, struct error *err)
{
    const struct api_options *options = &x->api->options;
    const struct api_job_rules rules = {.methods = options->methods,
                                        .method_count = options->method_count,
                                        .threads_max = options->threads_max,
                                        .data = options->data,
                                        .executors = options->executors,
                                        .of_study = of_study};
    size_t before = faults->count + faults->more;
    *s = (struct submission){.seq = 0};
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(body, "kind"));
    const struct method *method = kind != NULL ? api_method(x->api, kind) : NULL;
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(body, "config");
    enum status status = method != NULL && cJSON_IsObject(config)
                             ? dataset_names_resolve(x, method, config, "/config", faults, err)
                             : STATUS_OK;
    if (!status && faults->count + faults->more > before)
        status = error_set(err, STATUS_INVALID, "", "the job names no data set");
    if (!status)
        status = job_spec_read(&rules, body, &s->spec, faults, err);
    if (!status)
        status = dataset_names_check(x, s->spec.method, s->spec.config, "/config", faults, err);
    if (!status && faults->count + faults->more > before)
        return error_set(err, STATUS_INVALID, "", "the job names no data set");
    if (!status)
        status = find_source(x, &s->spec, &s->seq, faults, err);
    if (!status)
        status = method_estimate(s->spec.method, s->spec.config, options->data, &s->estimate, err);
    if (status)
        return status;
    share_check_threads(
        x, s->spec.ranks > 1 ? (s->spec.threads > 0 ? s->spec.threads : 1) * s->spec.ranks : s->spec.threads, faults);
    struct error refused = {0};
    if (!dry && job_memory_check(x->api, &s->estimate, "/config", &refused))
        api_faults_add(faults, "/config", "%s", refused.message);
    if (faults->count + faults->more > before)
        return error_set(err, STATUS_INVALID, "", "the job has faults");
    return STATUS_OK;
}

void submission_close(struct submission *s)
{
    api_job_spec_close(&s->spec);
}

enum status submission_row(struct exchange *x, const struct submission *s, struct storage_submit *row,
                           struct error *err)
{
    const struct api_job_spec *spec = &s->spec;
    char *config = api_config_write(&spec->method->config, spec->config);
    const char *kept = config != NULL ? arena_strdup(&x->arena, config) : NULL;
    free(config);
    if (kept == NULL)
        return error_memory(err, "a configuration");
    *row = (struct storage_submit){
        .kind = spec->method->kind,
        .preset = spec->preset,
        .name = spec->name,
        .tags = spec->tags[0] != '\0' ? spec->tags : NULL,
        .config = kept,
        .task = JOB_TRAIN,
        .priority = spec->priority,
        .threads = spec->threads,
        .executor = spec->executor,
        .ranks = spec->ranks,
        .visibility = spec->visibility,
        .source_job = spec->from_job[0] != '\0' ? spec->from_job : NULL,
        .source_checkpoint = s->seq,
    };
    return datasets_note_use(x, spec->method, spec->config, err);
}

struct prediction submission_predict(const struct exchange *x, const struct submission *s)
{
    struct api_system system;
    api_facts(x->api, &system);
    double pace = system.pace > 0 ? system.pace : 1;
    struct prediction p = {.flops = s->estimate.flops_per_sample * (double)s->estimate.samples};
    p.measured = system.gflops_per_thread > 0 && s->estimate.gflops <= 0;
    p.gflops_per_thread = s->estimate.gflops > 0 ? s->estimate.gflops * pace
                          : p.measured           ? system.gflops_per_thread
                                                 : ASSUMED_GFLOPS;
    p.threads = s->spec.threads > 0 ? s->spec.threads : system.threads_per_job > 0 ? system.threads_per_job : 1;
    if (system.cores > 0 && p.threads > system.cores)
        p.threads = system.cores; /* more threads than cores do not increase the speed */
    p.seconds = p.flops / (p.gflops_per_thread * 1e9 * p.threads);
    return p;
}
