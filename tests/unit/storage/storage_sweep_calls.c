/* The calls of storage that storage_sweep.h makes, and the store with rows in every table. */
#include "tests/unit/storage/storage_sweep.h"

#include "storage/database/copy.h"

static const uint8_t live_hash[32] = {7}, lease_hash[STORAGE_LEASE_HASH] = {9};
static unsigned char large[STORAGE_ARTIFACT_BYTES + 1];

enum { POINTS = 700 };

static void add_points(struct fixture *f, const char *id, const char *name, int first, int count)
{
    static struct storage_metric metrics[POINTS];
    for (int i = 0; i < count; i++)
        metrics[i] = (struct storage_metric){.name = name, .point = {first + i, 1.0 / (1 + first + i)}};
    OK(storage_metric_append(f->storage, id, metrics, (size_t)count, &f->err));
}

static enum status add_checkpoint(struct fixture *f, const char *id, int64_t step, size_t bytes)
{
    struct storage_checkpoint_writer *writer;
    struct storage_checkpoint_new what = {
        .step = step, .samples = step, .density = 0.5, .accuracy = 0.25, .stage_end = step % 20 == 0};
    int64_t seq;
    enum status status = storage_checkpoint_begin(f->storage, id, &what, &writer, &f->err);
    if (status != STATUS_OK)
        return status;
    status = storage_checkpoint_write(writer, large, bytes, &f->err);
    if (status != STATUS_OK) {
        storage_checkpoint_abandon(writer);
        return status;
    }
    return storage_checkpoint_commit(writer, &seq, &f->err);
}

static enum status add_study(struct fixture *f, const char *key, char id[STORAGE_ID])
{
    struct storage_submit in[3];
    enum storage_submit_outcome outcome;
    for (int i = 0; i < 3; i++)
        in[i] = (struct storage_submit){.kind = "factors", .config = "{}", .priority = -50};
    in[0].key = key;
    const struct storage_study_submit study = {
        .name = "three", .grid = "{\"p\":[1,2,3]}", .seeds = 1, .jobs = in, .count = 3};
    return storage_study_submit(f->storage, &study, id, &outcome, &f->err);
}

void sweep_make(struct fixture *f)
{
    char id[STORAGE_ID];
    int low = -5;
    enum storage_submit_outcome outcome;
    struct storage_submit in = {
        .kind = "sparling", .name = "done", .preset = "p", .config = "{\"seed\":1}", .owner = "anna", .key = "first"};
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (unsigned char)(i * 31);
    OK(storage_job_submit(f->storage, &in, made.done, &outcome, &f->err));
    OK(storage_job_claim(f->storage, id, &f->err));
    add_points(f, id, "loss", 0, POINTS);
    add_points(f, id, "accuracy", 0, 3);
    for (int64_t step = 10; step <= 40; step += 10) {
        OK(add_checkpoint(f, id, step, 3000));
        if (step == 10)
            OK(storage_checkpoint_pin(f->storage, id, 1, true, &f->err));
    }
    OK(storage_artifact_put(f->storage, id, "map.png", "image/png", "abc", 3, &f->err));
    OK(storage_job_progress(f->storage, id, "{\"step\":40}", &f->err));
    OK(storage_event_append(f->storage, id, "note", "{}", &f->err));
    OK(storage_job_leave(f->storage, id, JOB_EVENT_SUCCEED, "{\"accuracy\":1}", NULL, NULL, &f->err));
    submit(f, "sparling", low, made.paused);
    OK(storage_job_request(f->storage, made.paused, JOB_EVENT_PAUSE, NULL, NULL, &f->err));
    submit(f, "pathways", 0, made.queued);
    OK(add_study(f, "a study", made.study));
    OK(add_study(f, NULL, made.ended_study));
    OK(storage_study_request(f->storage, made.ended_study, JOB_EVENT_CANCEL, &f->err));
    struct storage_token token = {.hash = {7}, .name = "anna", .scope = 2};
    OK(storage_token_add(f->storage, &token, &f->err));
    struct storage_audit entry = {
        .who = "anna", .peer = "::1", .request = "r1", .method = "POST", .target = "/v1/jobs"};
    OK(storage_audit_begin(f->storage, &entry, &f->err));
    OK(storage_audit_end(f->storage, "r1", 201, made.done, &f->err));
    OK(storage_flush(f->storage, &f->err));
}

/* ---- reading calls ----------------------------------------------------------------------------------- */

static enum status get_job(struct fixture *f)
{
    struct storage_job j;
    enum requested_state requested;
    enum status status = storage_job_get(f->storage, made.done, &f->arena, &j, &f->err);
    if (status == STATUS_OK)
        answer_add("%s %s %s %s %d %s %s %s %lld", j.id, j.kind, j.name, j.owner, (int)j.state, j.config, j.result,
                   j.progress, (long long)j.version);
    return status != STATUS_OK ? status : storage_job_requested(f->storage, made.paused, &requested, &f->err);
}

/* Submits a job with a key that was used before, so the call returns the existing job. */
static enum status submit_again(struct fixture *f)
{
    struct storage_submit in = {.kind = "sparling", .config = "{}", .owner = "anna", .key = "first"};
    char id[STORAGE_ID];
    enum storage_submit_outcome outcome = STORAGE_CREATED;
    enum status status = storage_job_submit(f->storage, &in, id, &outcome, &f->err);
    if (status == STATUS_OK)
        answer_add("%s %d", id, (int)outcome);
    return status;
}

static enum status list_jobs(struct fixture *f)
{
    static const struct storage_job_filter filters[] = {
        {.limit = 2},        {.by_state = true, .state = JOB_PAUSED}, {.kind = "pathways"},
        {.source_job = "x"}, {.by_task = true, .task = JOB_TRAIN},
    };
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof filters / sizeof filters[0] && status == STATUS_OK; i++) {
        struct storage_job *jobs;
        size_t count;
        bool more;
        status = storage_job_list(f->storage, &filters[i], &f->arena, &jobs, &count, &more, &f->err);
        for (size_t k = 0; status == STATUS_OK && k < count; k++)
            answer_add("%s %d,", jobs[k].id, (int)jobs[k].state);
        answer_add("%d\n", more);
    }
    return status;
}

static enum status read_studies(struct fixture *f)
{
    struct storage_study one, *studies;
    struct storage_job *jobs;
    const struct storage_study_filter filter = {.limit = 5};
    size_t count = 0;
    bool more;
    enum status status = storage_study_get(f->storage, made.study, &f->arena, &one, &f->err);
    if (status == STATUS_OK)
        status = storage_study_list(f->storage, &filter, &f->arena, &studies, &count, &more, &f->err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        answer_add("%s %s %lld %lld,", studies[i].id, studies[i].grid, (long long)studies[i].count,
                   (long long)studies[i].jobs[JOB_CANCELLED]);
    if (status == STATUS_OK)
        status = storage_study_jobs(f->storage, made.study, "", 9, &f->arena, &jobs, &count, &f->err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        answer_add("%s %s %s,", one.id, jobs[i].id, jobs[i].study);
    return status;
}

static enum status owner_bytes(struct fixture *f)
{
    int64_t bytes;
    enum status status = storage_owner_bytes(f->storage, "anna", &bytes, &f->err);
    answer_add("%lld", (long long)bytes);
    return status;
}

static enum status read_metrics(struct fixture *f)
{
    static const char *const one[] = {"loss"};
    const int64_t until = 300;
    const struct storage_metric_query queries[] = {
        {.since = INT64_MIN},
        {.since = 250, .max_points = 30},
        {.names = one, .name_count = 1, .since = 5, .until = &until, .max_points = 60},
    };
    enum status status = STATUS_OK;
    for (size_t q = 0; q < sizeof queries / sizeof queries[0] && status == STATUS_OK; q++) {
        struct storage_series *series;
        size_t count;
        status = storage_metric_read(f->storage, made.done, &queries[q], &f->arena, &series, &count, &f->err);
        for (size_t s = 0; status == STATUS_OK && s < count; s++) {
            answer_add("%s %lld:", series[s].name, (long long)series[s].total);
            for (size_t p = 0; p < series[s].count; p++)
                answer_add(" %lld %g", (long long)series[s].points[p].step, series[s].points[p].value);
        }
    }
    return status;
}

static enum status read_events(struct fixture *f)
{
    enum status status = STATUS_OK;
    int64_t newest = 0;
    for (int all = 0; all < 2 && status == STATUS_OK; all++) {
        struct storage_event *events;
        size_t count;
        status =
            storage_event_read(f->storage, all ? NULL : made.done, NULL, 2, 100, &f->arena, &events, &count, &f->err);
        for (size_t i = 0; status == STATUS_OK && i < count; i++)
            answer_add("%lld %s %s %s\n", (long long)events[i].id, events[i].job, events[i].type, events[i].data);
    }
    if (status == STATUS_OK)
        status = storage_event_newest(f->storage, &newest, &f->err);
    answer_add("%lld", (long long)newest);
    return status;
}

static enum status find_checkpoints(struct fixture *f)
{
    static const struct storage_checkpoint_pick picks[] = {{.by = STORAGE_LATEST},
                                                           {.by = STORAGE_SEQ, .seq = 1},
                                                           {.by = STORAGE_DENSITY, .density = 0.5},
                                                           {.by = STORAGE_BEST}};
    struct storage_checkpoint found, *list;
    size_t count;
    enum status status = STATUS_OK;
    for (int i = 0; i < 4 && status == STATUS_OK; i++) {
        status = storage_checkpoint_find(f->storage, made.done, picks[i], &found, &f->err);
        answer_add("%lld ", status == STATUS_OK ? (long long)found.seq : 0);
    }
    if (status == STATUS_OK)
        status = storage_checkpoint_list(f->storage, made.done, &f->arena, &list, &count, &f->err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        answer_add("%lld %d,", (long long)list[i].seq, list[i].pinned);
    return status;
}

static enum status look_into(struct fixture *f, struct storage_checkpoint_reader *reader,
                             const struct storage_checkpoint *info)
{
    unsigned char bytes[100];
    enum status status = storage_checkpoint_read(reader, 1000, bytes, sizeof bytes, &f->err);
    if (status == STATUS_OK)
        answer_add("%lld %d %d", (long long)info->bytes, bytes[0], bytes[99]);
    return status;
}

static enum status read_checkpoint(struct fixture *f)
{
    return verify_latest(f, made.done, look_into);
}

static enum status list_chain(struct fixture *f)
{
    struct storage_link *links;
    size_t count;
    enum status status = storage_chain_list(f->storage, made.done, &f->arena, &links, &count, &f->err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        answer_add("%lld %d %s,", (long long)links[i].seq, links[i].kept, links[i].maker);
    return status;
}

static enum status read_artifacts(struct fixture *f)
{
    struct storage_artifact *list, one;
    size_t count;
    const void *bytes;
    enum status status = storage_artifact_list(f->storage, made.done, &f->arena, &list, &count, &f->err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        answer_add("%s %s,", list[i].name, list[i].media_type);
    if (status == STATUS_OK)
        status = storage_artifact_get(f->storage, made.done, "map.png", &f->arena, &one, &bytes, &f->err);
    if (status == STATUS_OK)
        answer_add("%.*s", (int)one.bytes, (const char *)bytes);
    return status;
}

static enum status read_tokens(struct fixture *f)
{
    struct storage_token one, *list;
    size_t count;
    enum status status = storage_token_find(f->storage, live_hash, &one, &f->err);
    if (status == STATUS_OK)
        status = storage_token_list(f->storage, &f->arena, &list, &count, &f->err);
    int64_t left;
    if (!status)
        status = storage_token_expiry(f->storage, &left, &f->err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        answer_add("%s %d %s,", list[i].name, list[i].scope, one.name);
    return status;
}

static enum status read_audit(struct fixture *f)
{
    struct storage_audit *list;
    size_t count;
    enum status status = storage_audit_list(f->storage, INT64_MAX, 10, &f->arena, &list, &count, &f->err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        answer_add("%s %s %s %d %s,", list[i].who, list[i].method, list[i].target, list[i].status, list[i].made);
    return status;
}

static enum status read_notice(struct fixture *f)
{
    struct storage_notice notice;
    int64_t count = 0;
    enum status status = storage_notice_next(f->storage, INT64_MAX / 2, &f->arena, &notice, &f->err);
    if (status == STATUS_OK)
        status = storage_notice_count(f->storage, &count, &f->err);
    if (status == STATUS_OK) /* adds only the length of the data, because times in the data differ */
        answer_add("%s %d %zu %lld", notice.state, notice.tries, strlen(notice.data), (long long)count);
    return status;
}

static enum status read_stats(struct fixture *f)
{
    struct storage_stats s;
    enum status status = storage_stats_read(f->storage, &s, &f->err);
    if (status == STATUS_OK)
        answer_add("%lld %lld %lld %lld", (long long)s.jobs[JOB_SUCCEEDED], (long long)s.jobs[JOB_QUEUED],
                   (long long)s.checkpoints, (long long)s.checkpoint_bytes);
    return status;
}

static enum status read_lease(struct fixture *f)
{
    struct storage_lease lease;
    enum status status = storage_lease_get(f->storage, made.queued, &f->arena, &lease, &f->err);
    if (status == STATUS_OK)
        answer_add("%s %d %lld %s", lease.job, (int)lease.state, (long long)lease.epoch, lease.executor);
    if (status != STATUS_OK)
        return status;
    return storage_lease_find(f->storage, lease_hash, &f->arena, &lease, &f->err);
}

/* Makes a backup, or restores one. The file is there exactly if the call succeeds. */
static enum status copy_to(struct fixture *f, const char *from, const char *to, bool restores)
{
    struct storage_copy_report report;
    struct storage_copy_options options = {.from = from, .to = to, .to_be_used = restores};
    enum status status = storage_copy(&options, &report, &f->err);
    struct stat facts;
    answer_add("%lld %lld", (long long)report.jobs, (long long)report.checkpoints);
    if ((stat(to, &facts) == 0) != (status == STATUS_OK))
        complain("a copy that %s, and the file is %s\n", status == STATUS_OK ? "was made" : "failed",
                 status == STATUS_OK ? "not there" : "there");
    return status;
}

/* storage_copy() opens connections of its own. They use the real disk and not the VFS of the tests. */
static enum status copy_store(struct fixture *f)
{
    char backup[128], restored[128];
    (void)snprintf(backup, sizeof backup, "%s/copy.db", f->folder);
    (void)snprintf(restored, sizeof restored, "%s/restored.db", f->folder);
    enum status status = copy_to(f, f->path, backup, false);
    if (status == STATUS_OK)
        status = copy_to(f, backup, restored, true);
    (void)unlink(backup);
    (void)unlink(restored);
    return status;
}

/* ---- writing calls ----------------------------------------------------------------------------------- */

static enum status submit_with(struct fixture *f, const struct storage_submit *in)
{
    char id[STORAGE_ID];
    enum storage_submit_outcome outcome;
    enum status status = storage_job_submit(f->storage, in, id, &outcome, &f->err);
    if ((status == STATUS_OK) != (id[0] != '\0'))
        complain("a submit that %s has the id '%s'\n", status_name(status), id);
    return status;
}

static enum status submit_keyed(struct fixture *f)
{
    struct storage_submit in = {.kind = "sparling", .config = "{}", .key = "second", .owner = "anna", .owner_limit = 9};
    return submit_with(f, &in);
}

static enum status submit_evaluation(struct fixture *f)
{
    struct storage_submit in = {.kind = "sparling",
                                .config = "{}",
                                .task = JOB_EVALUATE,
                                .params = "{}",
                                .source_job = made.done,
                                .source_checkpoint = 4};
    return submit_with(f, &in);
}

static enum status submit_study(struct fixture *f)
{
    char id[STORAGE_ID];
    enum status status = add_study(f, "third", id);
    if ((status == STATUS_OK) != (id[0] != '\0'))
        complain("a study that %s has the id '%s'\n", status_name(status), id);
    return status;
}
static enum status pause_study(struct fixture *f)
{
    return storage_study_request(f->storage, made.study, JOB_EVENT_PAUSE, &f->err);
}
static enum status delete_study(struct fixture *f)
{
    return storage_study_delete(f->storage, made.ended_study, &f->err);
}

static enum status patch_job(struct fixture *f)
{
    int priority = 3;
    struct storage_job_patch patch = {.name = "other", .priority = &priority};
    return storage_job_patch(f->storage, made.queued, &patch, &f->err);
}

static enum status pause_queued(struct fixture *f)
{
    return storage_job_request(f->storage, made.queued, JOB_EVENT_PAUSE, NULL, NULL, &f->err);
}
static enum status resume_paused(struct fixture *f)
{
    return storage_job_request(f->storage, made.paused, JOB_EVENT_RESUME, NULL, NULL, &f->err);
}
static enum status cancel_running(struct fixture *f)
{
    return storage_job_request(f->storage, made.queued, JOB_EVENT_CANCEL, NULL, NULL, &f->err);
}
static enum status fail_running(struct fixture *f)
{
    return storage_job_leave(f->storage, made.queued, JOB_EVENT_FAIL, NULL, "{}", NULL, &f->err);
}
static enum status delete_done(struct fixture *f)
{
    return storage_job_delete(f->storage, made.done, &f->err);
}
static enum status rewind_done(struct fixture *f)
{
    return storage_job_rewind(f->storage, made.done, 300, &f->err);
}
static enum status rewind_all(struct fixture *f)
{
    return storage_job_rewind(f->storage, made.done, -1, &f->err);
}
static enum status save_running(struct fixture *f)
{
    return add_checkpoint(f, made.queued, 10, ((size_t)1 << 20) + 100);
}
static enum status save_more(struct fixture *f)
{
    return add_checkpoint(f, made.done, 50, 500);
}
static enum status unpin(struct fixture *f)
{
    return storage_checkpoint_pin(f->storage, made.done, 1, false, &f->err);
}
static enum status revoke_token(struct fixture *f)
{
    return storage_token_revoke(f->storage, "anna", &f->err);
}
static enum status grant(struct fixture *f)
{
    int tries;
    return storage_lease_grant(f->storage, made.queued, lease_hash, "process", &tries, &f->err);
}
static enum status name_foreign(struct fixture *f)
{
    return storage_lease_foreign(f->storage, made.queued, "pid 1", &f->err);
}
static enum status register_trainer(struct fixture *f)
{
    int64_t epoch;
    return storage_lease_register(f->storage, made.queued, &epoch, &f->err);
}
static enum status message(struct fixture *f)
{
    return storage_lease_message(f->storage, made.queued, 2, 5, &f->err);
}
static enum status end_lease(struct fixture *f)
{
    return storage_lease_end(f->storage, made.queued, 2, JOB_EVENT_SUCCEED, "{}", NULL, &f->err);
}
static enum status close_lease(struct fixture *f)
{
    return storage_lease_close(f->storage, made.queued, &f->err);
}

static enum status claim_one(struct fixture *f)
{
    char id[STORAGE_ID];
    enum status status = storage_job_claim_task(f->storage, JOB_TRAIN, id, &f->err);
    if (status == STATUS_OK && strcmp(id, made.queued) != 0)
        complain("claimed %s\n", id);
    return status;
}

static enum status put_artifact(struct fixture *f)
{
    return storage_artifact_put(f->storage, made.done, "map.png", "image/png", large, 20000, &f->err);
}

static enum status add_token(struct fixture *f)
{
    struct storage_token token = {.hash = {8}, .name = "bert", .scope = 1};
    return storage_token_add(f->storage, &token, &f->err);
}

static enum status rotate_token(struct fixture *f)
{
    struct storage_token token = {.hash = {9}, .name = "anna"};
    return storage_token_rotate(f->storage, &token, 1000, &f->err);
}

static enum status import_job(struct fixture *f)
{
    char id[STORAGE_ID];
    static struct storage_point points[500];
    for (int i = 0; i < 500; i++)
        points[i] = (struct storage_point){i, i};
    const struct storage_series series = {.name = "loss", .points = points, .count = 500};
    const struct storage_import_checkpoint checkpoint = {
        .what = {.step = 1, .samples = 1, .density = 1, .accuracy = 1}, .seq = 3, .bytes = {{large}, {5000}}};
    struct storage_import in = {.kind = "sparling",
                                .owner = "anna",
                                .owner_bytes = INT64_MAX,
                                .preset = "",
                                .name = "from elsewhere",
                                .config = "{}",
                                .progress = "{}",
                                .result = "{}",
                                .checkpoints = &checkpoint,
                                .count = 1,
                                .series = &series,
                                .series_count = 1};
    enum status status = storage_job_import(f->storage, &in, id, &(enum storage_submit_outcome){0}, &f->err);
    if ((status == STATUS_OK) != (id[0] != '\0'))
        complain("an import that %s has the id '%s'\n", status_name(status), id);
    return status;
}

/* Waits until the change of a call that returned `status` is on disk. Returns `status` if the call failed, and
 * otherwise the status of the flush. */
static enum status then_flush(struct fixture *f, enum status status)
{
    return status == STATUS_OK ? storage_flush(f->storage, &f->err) : status;
}
static enum status progress(struct fixture *f)
{
    return then_flush(f, storage_job_progress(f->storage, made.queued, "{\"step\":1}", &f->err));
}
static enum status event(struct fixture *f)
{
    return then_flush(f, storage_event_append(f->storage, made.done, "note", "{}", &f->err));
}
static enum status append_points(struct fixture *f)
{
    static struct storage_metric metrics[400];
    for (int i = 0; i < 400; i++)
        metrics[i] = (struct storage_metric){.name = "loss", .point = {POINTS + i, 0.5}};
    return then_flush(f, storage_metric_append(f->storage, made.done, metrics, 400, &f->err));
}
static enum status use_token(struct fixture *f)
{
    static const uint8_t hash[32] = {7};
    return then_flush(f, storage_token_used(f->storage, hash, &f->err));
}

static enum status audit(struct fixture *f)
{
    struct storage_audit entry = {.who = "bert", .request = "r2", .method = "DELETE", .target = "/v1/jobs/x"};
    return then_flush(f, storage_audit_begin(f->storage, &entry, &f->err));
}

static enum status deliver_notice(struct fixture *f)
{
    return storage_notice_delivered(f->storage, 1, &f->err);
}
static enum status fail_notice(struct fixture *f)
{
    return storage_notice_failed(f->storage, 1, INT64_MAX / 2, &f->err);
}

const struct sweep_call sweep_reads[] = {
    {"job", get_job, AS_IT_IS, false},
    {"jobs", list_jobs, AS_IT_IS, false},
    {"studies", read_studies, AS_IT_IS, false},
    {"owner's bytes", owner_bytes, AS_IT_IS, false},
    {"metrics", read_metrics, AS_IT_IS, false},
    {"events", read_events, AS_IT_IS, false},
    {"checkpoints", find_checkpoints, AS_IT_IS, false},
    {"checkpoint", read_checkpoint, AS_IT_IS, false},
    {"chain", list_chain, AS_IT_IS, false},
    {"artifacts", read_artifacts, AS_IT_IS, false},
    {"tokens", read_tokens, AS_IT_IS, false},
    {"audit", read_audit, AS_IT_IS, false},
    {"notice", read_notice, AS_IT_IS, false},
    {"stats", read_stats, AS_IT_IS, false},
    {"lease", read_lease, HELD, false},
    {"copy", copy_store, AS_IT_IS, false},
};
const struct sweep_call sweep_writes[] = {
    {"submit", submit_keyed, AS_IT_IS, false},
    {"submit evaluation", submit_evaluation, AS_IT_IS, false},
    {"submit study", submit_study, AS_IT_IS, false},
    {"pause study", pause_study, AS_IT_IS, false},
    {"delete study", delete_study, AS_IT_IS, false},
    {"patch", patch_job, AS_IT_IS, false},
    {"pause", pause_queued, AS_IT_IS, false},
    {"resume", resume_paused, AS_IT_IS, false},
    {"cancel", cancel_running, RUNNING, false},
    {"claim", claim_one, AS_IT_IS, false},
    {"fail", fail_running, RUNNING, false},
    {"progress", progress, RUNNING, true},
    {"points", append_points, AS_IT_IS, true},
    {"event", event, AS_IT_IS, true},
    {"rewind", rewind_done, AS_IT_IS, false},
    {"rewind all", rewind_all, AS_IT_IS, false},
    {"delete", delete_done, AS_IT_IS, false},
    {"save", save_running, RUNNING, false},
    {"save more", save_more, AS_IT_IS, false},
    {"unpin", unpin, AS_IT_IS, false},
    {"import", import_job, AS_IT_IS, false},
    {"artifact", put_artifact, AS_IT_IS, false},
    {"token", add_token, AS_IT_IS, false},
    {"revoke", revoke_token, AS_IT_IS, false},
    {"rotate", rotate_token, AS_IT_IS, false},
    {"use", use_token, AS_IT_IS, true},
    {"grant", grant, RUNNING, false},
    {"foreign", name_foreign, OFFERED, false},
    {"register", register_trainer, OFFERED, false},
    {"message", message, HELD, false},
    {"end", end_lease, HELD, false},
    {"close", close_lease, HELD, false},
    {"audit", audit, AS_IT_IS, true},
    {"notice delivered", deliver_notice, AS_IT_IS, false},
    {"notice failed", fail_notice, AS_IT_IS, false},
};

const struct sweep_call sweep_again = {"submit again", submit_again, AS_IT_IS, false};

const size_t sweep_read_count = sizeof sweep_reads / sizeof sweep_reads[0];
const size_t sweep_write_count = sizeof sweep_writes / sizeof sweep_writes[0];

void sweep_advance(struct fixture *f, enum state_before to)
{
    char id[STORAGE_ID];
    if (to >= RUNNING)
        OK(storage_job_claim(f->storage, id, &f->err));
    if (to >= OFFERED)
        OK(grant(f));
    if (to >= HELD)
        OK(register_trainer(f));
}
