/* Motif maps of a fixed motif model, kept in memory.
 *
 * When only the head trains, the map of an input never changes. A cache keeps the values above zero of the maps, so g
 * computes each map once. A map from the cache has the same bits as the map that was added. If the memory is full,
 * further maps are not kept, and g computes them each time.
 *
 * A cache has one owner and no locks. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_MAP_CACHE_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_MAP_CACHE_H

#include <stdint.h>

#include "core/autodiff/tape.h"

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

#endif
