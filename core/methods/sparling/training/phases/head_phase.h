/* The phase in which only the head trains. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_PHASES_HEAD_PHASE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_PHASES_HEAD_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/autodiff/tape.h"
#include "core/base/snapshot.h"
#include "core/methods/sparling/training/batch.h"

/* Motif maps of a fixed motif model, kept in memory.
 *
 * When only the head trains, the map of an input never changes. A cache keeps the values above zero of the maps, so g
 * computes each map once. A map from the cache has the same bits as the map that was added. If the memory is full,
 * further maps are not kept, and g computes them each time.
 *
 * A cache has one owner and no locks. */

struct cached_map;
struct map_cache {
    int64_t inputs;         /* the inputs have the indices 0 .. inputs - 1; 0: the cache is closed */
    struct cached_map *map; /* [inputs] */
    struct map_shape shape; /* of all maps; its member `images` is not used */
    int64_t values, most;   /* number of values that are kept, and its limit */
};

/* Opens an empty cache with room for `most` values (8 bytes each). Error: STATUS_NO_MEMORY. */
enum status map_cache_open(struct map_cache *cache, int64_t inputs, int64_t most, struct error *err);
/* Frees the memory. A closed cache may be closed again. */
void map_cache_close(struct map_cache *cache);

/* Keeps the maps of inputs first .. first + map->map.images - 1 as far as there is memory. Maps that are kept already
 * stay as they are. All maps must be zero in the halo and in padding channels, and have the same shape. */
void map_cache_add(struct map_cache *cache, int64_t first, const struct tensor *map);
/* Returns the maps of `count` inputs from `first` on, in the step arena and without gradient. Returns NULL if the cache
 * does not have all of them, and after a failure. */
struct tensor *map_cache_get(const struct map_cache *cache, struct exec *e, int64_t first, int count);

struct batch;
struct method_run;
struct snapshot;
struct tensor;

/* The phase in which only the head trains (head_phase.c). Checkpoints contain `from` and `to`. */
struct reading {
    /* sample counts at which the training of the head alone begins and ends; 0: this training has not begun */
    int64_t from, to;
    struct map_cache trained, validated; /* maps of training and of validation samples; closed until needed */
};

/* Returns the sample count at which the training of g must end. */
int64_t head_phase_limit(const struct method_run *run);
/* Sets the phase to its state before it begins. */
void head_phase_clear(struct method_run *run);
/* Frees the maps that the last part keeps. They are not saved, so g computes them again after a resume. */
void head_phase_drop(struct method_run *run);
/* Returns whether the run is in this phase. */
bool head_phase_now(const struct method_run *run);
/* Sets whether the maps of run->network are limited and use matrices: in training, they do so only in the last part. */
void head_phase_follow(struct method_run *run);
/* Returns the share of the whole training that is done. before: the done share of the training before the last part. */
double head_phase_part(const struct method_run *run, double before);
/* Returns the index of the first sample of a training batch. first: number of training samples before this batch.
 * Usually the two are equal. With reading_inputs, the last part reads the same samples in turn, so the index is smaller
 * from their second turn on. */
int64_t head_phase_first(const struct method_run *run, int64_t first);
/* Computes the motif map of a batch in the same way as for a client, without gradients, or finds it in a cache. Returns
 * NULL after a failure. */
struct tensor *head_phase_motifs(struct method_run *run, const struct batch *batch);
/* Returns whether the entries "reading.*" that were read from a checkpoint have possible values. */
bool head_phase_sound(const struct method_run *run);
/* Declares the state as entries "reading.*", if the configuration has reading_samples. */
enum status head_phase_snapshot(struct method_run *run, struct snapshot *snapshot, struct error *err);

#endif
