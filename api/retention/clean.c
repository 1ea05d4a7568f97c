/* Applies the policies: the daemon's cleaner calls this from time to time. Each job is one transaction and each data
 * set one rename; storage removes the large rows and shrinks the file afterwards, when it has nothing else to do. */
#include <sodium/randombytes.h>
#include <sodium/utils.h>
#include <stdio.h>

#include "api/api.h"
#include "api/datasets/dataset_users.h"
#include "api/models/model_cache.h"
#include "api/retention/retention.h"
#include "api/review/mark_cache.h"
#include "core/base/config.h"
#include "core/methods/method.h"
#include "storage/files/dataset.h"

enum { AT_ONCE = 100 };

static bool stops(const struct api *api)
{
    return atomic_load(&api->interrupted) || api_draining(api);
}

static enum status clean_jobs(struct api *api, struct arena *arena, int64_t now, int *done, struct error *err)
{
    struct storage *storage = api->options.storage;
    struct storage_due *due;
    size_t count;
    enum status status = storage_due_list(storage, NULL, NULL, now, AT_ONCE, arena, &due, &count, err);
    for (size_t i = 0; i < count && !status && !stops(api); i++) {
        bool whole = false;
        status = storage_due_apply(storage, due[i].id, now, &whole, err);
        if (status == STATUS_NOT_FOUND) { /* used, pinned or deleted meanwhile */
            error_clear(err);
            status = STATUS_OK;
            continue;
        }
        if (status)
            break;
        model_cache_forget(api->models, due[i].id);
        mark_cache_forget(api->marks, due[i].id);
        log_line(&api->options.log, LOG_LEVEL_INFO, "policy %s %s: %s of job %s deleted, %lld bytes",
                 due[i].of_team[0] != '\0' ? due[i].of_team : "-", due[i].of_kind, whole ? "all" : "checkpoints",
                 due[i].id, (long long)due[i].bytes);
        ++*done;
    }
    return status;
}

/* Notes the deletion in the audit log before it happens, as for requests. */
static enum status note(const struct api *api, const struct dataset_due *d, struct storage_audit *entry,
                        struct error *err)
{
    unsigned char random[12];
    randombytes_buf(random, sizeof random);
    (void)sodium_bin2hex(entry->request, sizeof entry->request, random, sizeof random);
    (void)snprintf(entry->who, sizeof entry->who, "policy %s " POLICY_DATASETS,
                   d->of_team[0] != '\0' ? d->of_team : "-");
    (void)snprintf(entry->method, sizeof entry->method, "DELETE");
    (void)snprintf(entry->target, sizeof entry->target, "/v1/datasets/%s", d->name);
    return storage_audit_begin(api->options.storage, entry, err);
}

static enum status clean_dataset(struct api *api, struct arena *arena, const struct dataset_due *d, int *done,
                                 struct error *err)
{
    struct storage_job user;
    struct storage_audit entry = {.time = 0};
    struct storage *storage = api->options.storage;
    enum status status = dataset_user_find(api, arena, d->name, &user, err);
    if (!status && user.id[0] != '\0') /* the days of the policy count from the end of the job */
        return storage_dataset_used(storage, d->name, err);
    if (!status)
        status = note(api, d, &entry, err);
    if (!status)
        status = dataset_remove(api->options.data, d->name, err);
    if (entry.request[0] != '\0')
        (void)storage_audit_end(storage, entry.request, status ? 404 : 204, "", NULL);
    if (status == STATUS_NOT_FOUND) {
        error_clear(err);
        return STATUS_OK;
    }
    if (status)
        return status;
    model_cache_forget_dataset(api->models, d->name);
    log_line(&api->options.log, LOG_LEVEL_INFO, "policy %s " POLICY_DATASETS ": data set %s deleted, %lld bytes",
             d->of_team[0] != '\0' ? d->of_team : "-", d->name, (long long)d->bytes);
    ++*done;
    return storage_dataset_forget(storage, d->name, err);
}

static enum status clean_datasets(struct api *api, struct arena *arena, int64_t now, int *done, struct error *err)
{
    const char *rules;
    struct dataset_due *due;
    size_t count = 0;
    enum status status = storage_policies_get(api->options.storage, arena, &rules, err);
    if (!status)
        status = dataset_due_list(api, rules, NULL, NULL, now, arena, &due, &count, err);
    for (size_t i = 0; i < count && !status && !stops(api); i++)
        status = clean_dataset(api, arena, &due[i], done, err);
    return status;
}

bool api_clean(struct api *api)
{
    struct arena arena;
    struct error err;
    int done = 0;
    const int64_t now = now_ms();
    error_clear(&err);
    arena_init(&arena, 1 << 16, 256u << 20);
    enum status status = clean_jobs(api, &arena, now, &done, &err);
    const bool more = done == AT_ONCE;
    if (!status)
        status = clean_datasets(api, &arena, now, &done, &err);
    if (status)
        log_line(&api->options.log, LOG_LEVEL_WARN, "the policies of retention cannot be applied: %s", err.message);
    arena_close(&arena);
    return !status && more && !stops(api);
}

/* ---- uses ------------------------------------------------------------------------------------------------ */

void job_note_use(struct exchange *x, const struct storage_job *job)
{
    if (x->match.route->right == RIGHT_FETCH && job->used_at <= now_ms() - STORAGE_USE_MS)
        (void)storage_job_used(x->api->options.storage, job->id, NULL);
}

enum status datasets_note_use(struct exchange *x, const struct method *method, const void *config, struct error *err)
{
    enum status status = STATUS_OK;
    enum dataset_kind kind;
    for (const char *const *name = method->dataset_fields; name != NULL && *name != NULL && !status; name++) {
        const struct config_field *field = config_find(&method->config, *name);
        const char *folder = field != NULL ? config_text(field, config) : "";
        if (folder[0] == '\0' || x->api->options.data == NULL)
            continue;
        if (!dataset_find(x->api->options.data, folder, &kind, &(struct error){0}) && kind == DATASET_OURS)
            status = storage_dataset_used(x->api->options.storage, folder, err);
    }
    return status;
}
