/* Lists the samples of each part in the order in which a run reads them (dataset_parts.h). */
#include "core/methods/sparling/domains/dataset_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/philox.h"
#include "core/metrics/clusters.h"

enum { STREAM_SHUFFLE = 0x73687566 };

static const struct division_fields fields = {
    "/config/dataset_name", "/config/dataset_split",      "/config/dataset_test_group",
    "/config/dataset_test", "/config/dataset_validation", "/config/folds",
    "/config/fold",
};

struct division_request dataset_parts_request(const struct sparling_config *config)
{
    const struct dataset_config *d = &config->dataset;
    return (struct division_request){.fields = &fields,
                                     .split = (enum division_split)d->split,
                                     .test = d->test,
                                     .validation = d->validation,
                                     .test_group = d->test_group,
                                     .seed = d->split_seed,
                                     .folds = d->folds,
                                     .fold = d->fold};
}

/* Files are often sorted by label, so each part is shuffled: its first samples must resemble the rest. */
static void shuffle(int64_t *part, int64_t count, int64_t seed)
{
    struct philox from = philox_stream((uint64_t)seed, STREAM_SHUFFLE, 0);
    for (int64_t i = count - 1; i > 0; i--) {
        int64_t j = (int64_t)(philox_u32(&from, (uint64_t)i) % (uint64_t)(i + 1)), kept = part[i];
        part[i] = part[j];
        part[j] = kept;
    }
}

/* Sorts training samples by the length of their labels, for the curriculum. */
static enum status sort_by_length(const struct collection *c, struct dataset_parts *p, struct error *err)
{
    int64_t among = p->count[PART_OF_TRAINING], *sample = p->sample[PART_OF_TRAINING];
    int64_t *sorted = malloc((size_t)among * sizeof *sorted), count = 0;
    if (!sorted && among > 0)
        return error_memory(err, "a split");
    for (int length = 0; length <= c->longest; length++) {
        for (int64_t i = 0; i < among; i++)
            if (c->label_start[sample[i] + 1] - c->label_start[sample[i]] == length)
                sorted[count++] = sample[i];
        p->up_to[length] = count;
    }
    if (count == among && count > 0)
        memcpy(sample, sorted, (size_t)count * sizeof *sorted);
    free(sorted);
    return STATUS_OK;
}

/* With fewer groups, a share of the training samples consists of single samples instead of whole groups. */
enum { LEAST_GROUPS = 10 };

/* Marks the groups, in the order in which `sample` names them first, until they have `wanted` samples. size, kept:
 * [groups]; size[g] is the number of samples of a group among all `count`. */
static void mark_groups(const struct collection *c, const int64_t *sample, int64_t count, int64_t wanted,
                        const int64_t *size, bool *kept)
{
    int64_t have = 0;
    for (int64_t i = 0; i < count && have < wanted; i++) {
        int32_t group = c->group[sample[i]];
        if (!kept[group])
            have += size[group];
        kept[group] = true;
    }
}

/* Keeps a share of the shuffled training samples. A smaller share is a part of a larger one. */
static enum status keep_share(const struct collection *c, double share, struct dataset_parts *p, struct error *err)
{
    int64_t *sample = p->sample[PART_OF_TRAINING], count = p->count[PART_OF_TRAINING],
            wanted = (int64_t)ceil(share * (double)count), groups = 0, left = 0;
    if (share >= 1 || count == 0)
        return STATUS_OK;
    int64_t *size = calloc((size_t)c->groups.count + 1, sizeof *size);
    bool *kept = calloc((size_t)c->groups.count + 1, sizeof *kept);
    for (int64_t i = 0; size && c->group && i < count; i++)
        groups += size[c->group[sample[i]]]++ == 0;
    if (size && kept && groups >= LEAST_GROUPS) {
        mark_groups(c, sample, count, wanted, size, kept);
        for (int64_t i = 0; i < count; i++)
            if (kept[c->group[sample[i]]])
                sample[left++] = sample[i];
        wanted = left;
    }
    p->count[PART_OF_TRAINING] = wanted;
    enum status status = size && kept ? STATUS_OK : error_memory(err, "a split");
    free(size);
    free(kept);
    return status;
}

/* Numbers the groups of each part in the order of the file. */
static enum status number_groups(const struct collection *c, struct dataset_parts *p, struct error *err)
{
    if (!c->group)
        return STATUS_OK;
    int64_t *number = calloc((size_t)c->groups.count * COLLECTION_PARTS, sizeof *number), next[COLLECTION_PARTS] = {0};
    p->cluster = malloc((size_t)c->count);
    if (!number || !p->cluster) {
        free(number);
        return error_memory(err, "a split");
    }
    for (int64_t i = 0; i < c->count; i++) {
        int part = p->division.part[i];
        int64_t *own = &number[(int64_t)c->group[i] * COLLECTION_PARTS + part];
        if (*own == 0)
            *own = ++next[part];
        p->cluster[i] = (unsigned char)((*own - 1) % CLUSTERS);
    }
    p->test_groups = next[PART_OF_TEST];
    free(number);
    return STATUS_OK;
}

enum status dataset_parts_open(const struct collection *c, const struct sparling_config *config, bool positions,
                               struct dataset_parts *parts, struct error *err)
{
    const struct division_request request = dataset_parts_request(config);
    enum status status = division_make(c, &request, &parts->division, err);
    if (status)
        return status;
    parts->up_to = calloc((size_t)c->longest + 2, sizeof *parts->up_to);
    for (int p = 0; p < COLLECTION_PARTS; p++)
        parts->sample[p] = malloc((size_t)c->count * sizeof *parts->sample[p]);
    if (!parts->up_to || !parts->sample[0] || !parts->sample[1] || !parts->sample[2])
        return error_memory(err, "a split");
    for (int64_t i = 0; i < c->count; i++) {
        enum collection_part p = parts->division.part[i];
        parts->sample[p][parts->count[p]++] = i;
    }
    for (int p = 0; p < COLLECTION_PARTS; p++)
        shuffle(parts->sample[p], parts->count[p], config->dataset.split_seed);
    status = keep_share(c, config->dataset.training_share, parts, err);
    if (!status)
        status = number_groups(c, parts, err);
    return status || positions ? status : sort_by_length(c, parts, err);
}

void dataset_parts_close(struct dataset_parts *parts)
{
    for (int p = 0; p < COLLECTION_PARTS; p++)
        free(parts->sample[p]);
    division_close(&parts->division);
    free(parts->up_to);
    free(parts->cluster);
}
