#include "core/methods/sparling/training/map_cache.h"

#include <stdlib.h>
#include <string.h>

/* The values above zero of one map. `at` counts reals from the beginning of the image, halo included. */
struct active_value {
    uint32_t at;
    real value;
};
struct cached_map {
    struct active_value *active; /* [count]; NULL: the map is not kept */
    int64_t count;
};

enum status map_cache_open(struct map_cache *cache, int64_t inputs, int64_t most, struct error *err)
{
    *cache = (struct map_cache){.inputs = inputs, .most = most};
    cache->map = calloc((size_t)inputs, sizeof *cache->map);
    if (cache->map)
        return STATUS_OK;
    cache->inputs = 0;
    return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the motif maps of %lld inputs",
                     (long long)inputs);
}

void map_cache_close(struct map_cache *cache)
{
    for (int64_t i = 0; i < cache->inputs; i++)
        free(cache->map[i].active);
    free(cache->map);
    *cache = (struct map_cache){0};
}

static int64_t count_active(const real *image, size_t size)
{
    int64_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += image[i] > 0;
    return count;
}

static void keep_map(struct map_cache *cache, struct cached_map *map, const real *image, size_t size)
{
    if (map->active)
        return;
    int64_t count = count_active(image, size);
    if (cache->values + count > cache->most)
        return;
    map->active = malloc((size_t)(count + 1) * sizeof *map->active); /* + 1: the list of an empty map is not NULL */
    if (!map->active)
        return;
    for (size_t i = 0; i < size; i++)
        if (image[i] > 0)
            map->active[map->count++] = (struct active_value){.at = (uint32_t)i, .value = image[i]};
    cache->values += count;
}

void map_cache_add(struct map_cache *cache, int64_t first, const struct tensor *map)
{
    size_t size = (size_t)map_image_stride(&map->map);
    if (size > UINT32_MAX)
        return;
    cache->shape = map->map;
    for (int i = 0; i < map->map.images && first + i < cache->inputs; i++)
        keep_map(cache, &cache->map[first + i], map->data + (size_t)i * size, size);
}

struct tensor *map_cache_get(const struct map_cache *cache, struct exec *e, int64_t first, int count)
{
    if (first + count > cache->inputs)
        return NULL;
    for (int i = 0; i < count; i++)
        if (!cache->map[first + i].active)
            return NULL;
    struct map_shape shape = cache->shape;
    shape.images = count;
    struct tensor *map = tensor_map(e, &shape);
    if (!map)
        return NULL;
    size_t size = (size_t)map_image_stride(&shape);
    memset(map->data, 0, (size_t)count * size * sizeof *map->data);
    for (int i = 0; i < count; i++) {
        const struct cached_map *kept = &cache->map[first + i];
        for (int64_t k = 0; k < kept->count; k++)
            map->data[(size_t)i * size + kept->active[k].at] = kept->active[k].value;
    }
    return map;
}
