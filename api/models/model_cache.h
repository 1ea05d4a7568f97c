/* Models that queries use, opened from checkpoints and kept while there is room.
 *
 * A model is immutable once open, so any number of threads may use one at the same time. The first who
 * asks for a checkpoint opens it, outside the lock; who asks meanwhile waits for that one. When the
 * models together are larger than the bound, those that nobody uses go, the longest unused first.
 * Every function may be called from any thread. */
#ifndef MOTIF_API_QUERIES_MODEL_CACHE_H
#define MOTIF_API_QUERIES_MODEL_CACHE_H

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
/* No lease may be out. NULL is fine. */
void model_cache_destroy(struct model_cache *cache);

/* The model of checkpoint `seq` of `job`; give the lease back with model_cache_release(). A failure is not
 * remembered: the next who asks tries again. */
enum status model_cache_get(struct model_cache *cache, const struct method *method, const struct storage_job *job,
                            int64_t seq, struct model_lease *lease, struct error *err);
void model_cache_release(struct model_cache *cache, struct model_lease *lease);
/* The job is gone: its models go as soon as nobody uses them. */
void model_cache_forget(struct model_cache *cache, const char *job);

struct model_cache_stats {
    uint64_t models, bytes, hits, opens;
};
void model_cache_stats(struct model_cache *cache, struct model_cache_stats *out);

#endif
