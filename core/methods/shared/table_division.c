/* Divides the rows of an uploaded table (table_division.h). */
#include "core/methods/shared/table_division.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/data/tables/features.h"
#include "core/methods/shared/table_source.h"

const char *const table_splits[] = {"samples", "groups", "auto", "part", "published", NULL};
enum { SHOWN = 256 };

/* The folds of published figures. */
static enum status take_published(const struct table_request *r, const struct collection *c, struct division *out,
                                  struct error *err)
{
    int *fold = malloc((size_t)c->count * sizeof *fold);
    out->part = malloc((size_t)c->count);
    if (!fold || !out->part) {
        free(fold);
        return error_memory(err, "a division");
    }
    features_folds((int)c->count, (int)r->folds, fold);
    for (int64_t i = 0; i < c->count; i++) {
        out->part[i] = fold[i] == r->fold ? PART_OF_TEST : PART_OF_TRAINING;
        out->count[out->part[i]]++;
    }
    free(fold);
    out->by = DIVIDE_SAMPLES;
    out->whole = true;
    out->folds = r->folds;
    out->fold = r->fold;
    out->asked[PART_OF_TEST] = 1 / (double)r->folds;
    out->asked[PART_OF_TRAINING] = out->asked[PART_OF_VALIDATION] = NAN;
    return out->count[PART_OF_TEST] > 0 && out->count[PART_OF_TRAINING] > 0
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "/config/folds",
                           "leaves no rows for training or for the test: there are %lld", (long long)c->count);
}

enum status table_divide(const struct table_request *r, const char *data, struct collection *c, struct division *out,
                         struct error *err)
{
    const struct division_fields fields = {.data = "/config/dataset_name",
                                           .split = "/config/dataset_split",
                                           .test_group = "/config/dataset_test_group",
                                           .test = "/config/folds",
                                           .folds = "/config/folds",
                                           .fold = r->fold_field};
    char folder[DATASET_PATH], path[DATASET_PATH + 16];
    enum status status = source_folder(r->source, r->hash, data, folder, err);
    if (!status) {
        (void)snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
        status = collection_open(path, c, err);
    }
    if (status || r->split == SPLIT_PUBLISHED)
        return status ? status : take_published(r, c, out, err);
    bool stated = r->split == SPLIT_PARTS || (r->split == SPLIT_AUTO && c->part), named = r->test_group[0] != '\0';
    /* Three groups are too few for five folds, but enough for a test part of about a fifth. */
    bool grouped = c->group && (r->split == SPLIT_AUTO || r->split == SPLIT_GROUPS),
         few = grouped && c->groups.count >= 3 && c->groups.count < r->folds && r->fold == 0;
    const struct division_request request = {.fields = &fields,
                                             .split = (enum division_split)r->split,
                                             .test = 1 / (double)r->folds,
                                             .whole = true,
                                             .test_group = r->test_group,
                                             .folds = stated || named || few ? 0 : r->folds,
                                             .fold = r->fold};
    return division_make(c, &request, out, err);
}

enum status table_division_check(const struct table_request *r, const char *data, struct error *err)
{
    enum { MANY = 1000 }; /* so many single rows can always be divided, so a plan, which takes seconds, is not needed */
    struct collection c = {0};
    struct division d = {0};
    struct table_size size;
    bool plain = r->test_group[0] == '\0' && (r->split == SPLIT_AUTO || r->split == SPLIT_ROWS);
    enum status status = STATUS_OK;
    if (plain && source_size(r->source, data, &size) && size.rows >= MANY && !size.stated)
        return STATUS_OK;
    status = table_divide(r, data, &c, &d, err);
    division_close(&d);
    collection_close(&c);
    return status;
}

enum status table_division_write(const struct table_request *r, const char *data, const struct sink *out,
                                 struct error *err)
{
    struct collection c = {0};
    struct division d = {0};
    struct error cause = {0};
    enum status status = table_divide(r, data, &c, &d, &cause);
    if (status == STATUS_NOT_FOUND || status == STATUS_CONFLICT) {
        sink_null(out, "division");
        status = STATUS_OK;
    } else if (status) {
        error_set(err, status, cause.pointer, "%s", cause.message);
    } else {
        sink_begin_object(out, "division");
        status = division_write(&c, &d, SHOWN, out, err);
        sink_end_object(out);
    }
    division_close(&d);
    collection_close(&c);
    return status;
}
