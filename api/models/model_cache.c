/* The cache is a list under one lock. An entry is in the state OPENING while its first user reads the checkpoint
 * without holding the lock. Other users of the entry wait on a condition variable until the model is open or has
 * failed. */
#include "api/models/model_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/config_json.h"
#include "protocol/faults.h"

enum entry_state { ENTRY_OPENING, ENTRY_READY, ENTRY_FAILED };

struct model_entry {
    struct model_entry *next;
    char job[STORAGE_ID];
    int64_t seq;
    enum entry_state state;
    int users;     /* number of leases, plus threads that wait until the model is open */
    bool unlinked; /* true: the entry is no longer in the list, and its last user frees it */
    uint64_t bytes, used_at;
    const struct method *method;
    void *config; /* the job's configuration, parsed; NULL until the model is open */
    struct method_model *model;
    struct error err; /* why the model could not be opened, in the state FAILED */
};

struct model_cache {
    pthread_mutex_t lock;
    pthread_cond_t opened; /* signalled when an entry is no longer OPENING */
    struct model_entry *entries;
    struct storage *storage;
    const struct kernels *kernels;
    const char *data;
    uint64_t limit, bytes, clock, hits, opens;
};

enum status model_cache_create(struct storage *storage, const struct kernels *kernels, const char *data,
                               uint64_t limit_bytes, struct model_cache **out, struct error *err)
{
    struct model_cache *cache = calloc(1, sizeof *cache);
    *out = cache;
    if (cache == NULL)
        return error_memory(err, "the model cache");
    (void)pthread_mutex_init(&cache->lock, NULL);
    (void)pthread_cond_init(&cache->opened, NULL);
    cache->storage = storage;
    cache->kernels = kernels;
    cache->data = data;
    cache->limit = limit_bytes;
    return STATUS_OK;
}

static void entry_free(struct model_entry *entry)
{
    if (entry->model != NULL)
        entry->method->close(entry->model);
    free(entry->config);
    free(entry);
}

void model_cache_destroy(struct model_cache *cache)
{
    if (cache == NULL)
        return;
    for (struct model_entry *entry = cache->entries, *next; entry != NULL; entry = next) {
        next = entry->next;
        entry_free(entry);
    }
    (void)pthread_cond_destroy(&cache->opened);
    (void)pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* Removes an entry from the list. The entry is freed now or by its last user. The caller holds the lock. */
static void unlink_entry(struct model_cache *cache, struct model_entry *entry)
{
    struct model_entry **at = &cache->entries;
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    cache->bytes -= entry->bytes;
    entry->unlinked = true;
    if (entry->users == 0)
        entry_free(entry);
}

static void evict(struct model_cache *cache)
{
    while (cache->bytes > cache->limit) {
        struct model_entry *oldest = NULL;
        for (struct model_entry *entry = cache->entries; entry != NULL; entry = entry->next)
            if (entry->users == 0 && (oldest == NULL || entry->used_at < oldest->used_at))
                oldest = entry;
        if (oldest == NULL)
            return; /* every model is in use, so none can be closed */
        unlink_entry(cache, oldest);
    }
}

/* Parses a job's stored configuration. The caller frees `*config`. */
static enum status parse_config(const struct method *method, const struct storage_job *job, void **config,
                                struct error *err)
{
    *config = NULL;
    struct api_faults *faults = calloc(1, sizeof *faults);
    struct error why;
    error_clear(&why);
    if (faults == NULL)
        return error_memory(err, "a model");
    enum status status = config_read_back(method, job->config, strlen(job->config), "/config", config, faults, &why);
    if (status == STATUS_NO_MEMORY)
        (void)error_set(err, status, NULL, "%s", why.message);
    else if (status)
        status = error_set(err, STATUS_CORRUPT, NULL, "the configuration of job %s is not one of this build: %s %s",
                           job->id, faults->items[0].pointer, faults->items[0].detail);
    free(faults);
    return status;
}

/* Opens a model. The caller frees `*config`, also after a failure. */
static enum status open_model(struct model_cache *cache, const struct method *method, const struct storage_job *job,
                              int64_t seq, void **config, struct method_model **model, struct error *err)
{
    *model = NULL;
    struct storage_checkpoint_reader *reader = NULL;
    struct storage_checkpoint info;
    struct storage_checkpoint_pick pick = {.by = STORAGE_SEQ, .seq = seq};
    enum status status = parse_config(method, job, config, err);
    if (!status)
        status = storage_checkpoint_open(cache->storage, job->id, pick, &reader, &info, err);
    if (!status)
        status = storage_checkpoint_verify(reader, err);
    if (!status) {
        struct snapshot_reader from = {reader, (uint64_t)info.bytes, storage_checkpoint_read};
        status = method->open(*config, cache->kernels, cache->data, &from, model, err);
    }
    storage_checkpoint_close(reader);
    return status;
}

static struct model_entry *model_cache_find(struct model_cache *cache, const char *job, int64_t seq)
{
    struct model_entry *entry = cache->entries;
    while (entry != NULL && (entry->seq != seq || strcmp(entry->job, job) != 0))
        entry = entry->next;
    return entry;
}

/* Copies the error of an entry in the state FAILED to *err, and ends the caller's use of the entry. */
static enum status model_cache_fail(struct model_entry *entry, struct error *err)
{
    enum status status = error_set(err, entry->err.code, entry->err.pointer, "%s", entry->err.message);
    if (--entry->users == 0)
        entry_free(entry); /* the entry was removed from the list when it failed */
    return status;
}

enum status model_cache_get(struct model_cache *cache, const struct method *method, const struct storage_job *job,
                            int64_t seq, struct model_lease *lease, struct error *err)
{
    enum status status = STATUS_OK;
    (void)pthread_mutex_lock(&cache->lock);
    struct model_entry *entry = model_cache_find(cache, job->id, seq);
    if (entry != NULL) {
        entry->users++;
        cache->hits++;
        while (entry->state == ENTRY_OPENING)
            (void)pthread_cond_wait(&cache->opened, &cache->lock);
    } else if ((entry = calloc(1, sizeof *entry)) != NULL) {
        memcpy(entry->job, job->id, sizeof entry->job);
        entry->seq = seq;
        entry->users = 1;
        entry->method = method;
        entry->next = cache->entries;
        cache->entries = entry;
        cache->opens++;
        (void)pthread_mutex_unlock(&cache->lock);
        struct method_model *model;
        struct error why;
        void *config;
        error_clear(&why);
        enum status opened = open_model(cache, method, job, seq, &config, &model, &why);
        uint64_t bytes = !opened ? method_model_bytes(method, model) : 0;
        (void)pthread_mutex_lock(&cache->lock);
        entry->state = !opened ? ENTRY_READY : ENTRY_FAILED;
        entry->model = !opened ? model : NULL;
        entry->config = config;
        entry->err = why;
        if (!entry->unlinked) {
            entry->bytes = bytes;
            cache->bytes += bytes;
            if (opened)
                unlink_entry(cache, entry);
        }
        (void)pthread_cond_broadcast(&cache->opened);
    }
    if (entry == NULL) {
        status = error_memory(err, "a model");
    } else if (entry->state == ENTRY_FAILED) {
        status = model_cache_fail(entry, err);
    } else {
        entry->used_at = ++cache->clock;
        *lease = (struct model_lease){entry->method, entry->model, entry};
        evict(cache);
    }
    (void)pthread_mutex_unlock(&cache->lock);
    return status;
}

void model_cache_release(struct model_cache *cache, struct model_lease *lease)
{
    (void)pthread_mutex_lock(&cache->lock);
    struct model_entry *entry = lease->entry;
    if (--entry->users == 0 && entry->unlinked)
        entry_free(entry);
    evict(cache);
    (void)pthread_mutex_unlock(&cache->lock);
    *lease = (struct model_lease){0};
}

void model_cache_forget(struct model_cache *cache, const char *job)
{
    (void)pthread_mutex_lock(&cache->lock);
    for (struct model_entry *entry = cache->entries, *next; entry != NULL; entry = next) {
        next = entry->next;
        if (strcmp(entry->job, job) == 0)
            unlink_entry(cache, entry);
    }
    (void)pthread_mutex_unlock(&cache->lock);
}

/* Returns whether the job of the model names the data set in its configuration. Also true while the model is being
 * opened, because its configuration is not known yet. */
static bool reads_dataset(const struct model_entry *entry, const char *name)
{
    bool found = entry->state == ENTRY_OPENING;
    const char *const *names = entry->config != NULL ? entry->method->dataset_fields : NULL;
    for (; !found && names != NULL && *names != NULL; names++) {
        const struct config_field *field = config_find(&entry->method->config, *names);
        found = field != NULL && strcmp(config_text(field, entry->config), name) == 0;
    }
    return found;
}

void model_cache_forget_dataset(struct model_cache *cache, const char *name)
{
    (void)pthread_mutex_lock(&cache->lock);
    for (struct model_entry *entry = cache->entries, *next; entry != NULL; entry = next) {
        next = entry->next;
        if (reads_dataset(entry, name))
            unlink_entry(cache, entry);
    }
    (void)pthread_mutex_unlock(&cache->lock);
}

void model_cache_stats(struct model_cache *cache, struct model_cache_stats *out)
{
    (void)pthread_mutex_lock(&cache->lock);
    *out = (struct model_cache_stats){.bytes = cache->bytes, .hits = cache->hits, .opens = cache->opens};
    for (const struct model_entry *entry = cache->entries; entry != NULL; entry = entry->next)
        out->models++;
    (void)pthread_mutex_unlock(&cache->lock);
}
