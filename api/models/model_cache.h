/* A cache of the models that queries have opened from checkpoints.
 *
 * An open model does not change, so any number of threads may use it at the same time. The first query for a checkpoint
 * opens the model, without holding the lock; other queries for it wait meanwhile. When the models exceed the memory
 * limit, the cache closes unused ones, the least recently used first. Any thread may call any function. */
#ifndef MOTIF_API_MODELS_MODEL_CACHE_H
#define MOTIF_API_MODELS_MODEL_CACHE_H

#include "core/methods/method.h"
#include "storage/storage.h"

struct model_cache;
struct model_entry;

struct model_lease {
    const struct method *method;
    const struct method_model *model;
    struct model_entry *entry;
};

enum status model_cache_create(struct storage *storage, const struct kernels *kernels, const char *data,
                               uint64_t limit_bytes, struct model_cache **cache, struct error *err);
/* All leases must have been released. NULL is fine. */
void model_cache_destroy(struct model_cache *cache);

/* Leases the model of checkpoint `seq` of `job`; release it with model_cache_release(). The cache does not remember
 * failures: the next call tries again. STATUS_NOT_FOUND: no such checkpoint; errors of method->open() otherwise. */
enum status model_cache_get(struct model_cache *cache, const struct method *method, const struct storage_job *job,
                            int64_t seq, struct model_lease *lease, struct error *err);
void model_cache_release(struct model_cache *cache, struct model_lease *lease);
/* Closes the models of a deleted job. A model that is in use is closed when its last lease is released. */
void model_cache_forget(struct model_cache *cache, const char *job);
/* Closes the models of all jobs whose configuration names the data set; a model that is in use is closed when its last
 * lease is released. Call this function after the data set was deleted. The next query then opens the model again, and
 * so finds out that the data set is gone or was replaced. */
void model_cache_forget_dataset(struct model_cache *cache, const char *name);

struct model_cache_stats {
    uint64_t models, bytes, hits, opens;
};
void model_cache_stats(struct model_cache *cache, struct model_cache_stats *out);

#endif
