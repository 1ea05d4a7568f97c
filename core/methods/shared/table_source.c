/* Finds the data set of a table, and checks that it still has the hash that the job stores (table_source.h). */
#include "core/methods/shared/table_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/data/division/division.h"
#include "core/data/uploads/collection.h"
#include "core/metrics/components.h"

enum { FIT_ROWS = 1000, FIT_COLUMNS = 512 }; /* count_components() reads at most this part of a table */

enum status source_named(const char *source, struct error *err)
{
    return source[0] != '\0'
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "/config/dataset_name",
                           "must be the name of a data set; GET /v1/datasets and `motifctl datasets` list them");
}

/* The scripts that make the data sets of the presets from published files, in tests/reproduce/data/. */
static const struct {
    const char *name, *script;
} published[] = {{"movielens", "ratings.py"},      {"abstracts", "abstracts.py"},     {"cells", "cells.py"},
                 {"tissues", "environments.py"},   {"cell-types", "environments.py"}, {"cord-blood", "environments.py"},
                 {"resistance", "environments.py"}};

static const char *script_of(const char *source)
{
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++)
        if (strcmp(source, published[i].name) == 0)
            return published[i].script;
    return NULL;
}

enum status source_resolve(const char *source, const char *data, char hash[CONFIG_TEXT], struct error *err)
{
    char folder[DATASET_PATH], found[DATASET_HASH_KEPT + 1] = "";
    struct error cause = {0};
    enum status status = dataset_folder(data, source, folder, &cause);
    if (!status)
        status = dataset_hash(folder, found, &cause);
    snprintf(hash, CONFIG_TEXT, "%s", found);
    /* Other errors mean that `source` is not a possible name; the method's check() reports them. */
    bool reported = status == STATUS_IO || status == STATUS_NOT_FOUND;
    if (status == STATUS_NOT_FOUND && script_of(source) != NULL)
        return error_set(err, status, "/config/dataset_name",
                         "there is no data set %s; tests/reproduce/data/%s makes it, and `motifctl datasets put` "
                         "uploads it",
                         source, script_of(source));
    return reported ? error_set(err, status, "/config/dataset_name", "%s", cause.message) : STATUS_OK;
}

bool source_size(const char *source, const char *data, struct table_size *out)
{
    char folder[DATASET_PATH], path[DATASET_PATH + sizeof COLLECTION_FILE + 1];
    struct collection c;
    struct stat what;
    struct error ignored = {0};
    if (data == NULL || dataset_folder(data, source, folder, &ignored))
        return false;
    (void)snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
    if (stat(path, &what) != 0 || collection_open(path, &c, &ignored))
        return false;
    bool table = c.kind == COLLECTION_TABLE && c.count > 0 && c.count <= 1 << 30;
    if (table)
        *out = (struct table_size){.rows = (int)c.count,
                                   .columns = c.cols,
                                   .stated = c.group || c.part || c.vocabulary.count > DIVISION_NAMES,
                                   .bytes = (int64_t)what.st_size};
    collection_close(&c);
    return table;
}

enum status source_folder(const char *source, const char *hash, const char *data, char folder[DATASET_PATH],
                          struct error *err)
{
    char now[DATASET_HASH_KEPT + 1];
    enum status status = dataset_folder(data, source, folder, err);
    if (status || hash[0] == '\0')
        return status;
    status = dataset_hash(folder, now, err);
    if (status)
        return status;
    if (strcmp(now, hash) != 0)
        return error_set(err, STATUS_CONFLICT, "/config/dataset_hash",
                         "belongs to other data than data set %s holds now", source);
    return STATUS_OK;
}

/* Counts the principal components above noise in a part of the table: at most FIT_ROWS rows and FIT_COLUMNS columns,
 * evenly spaced. */
static enum status count_components(const struct collection *c, int64_t width, int *count, struct error *err)
{
    int rows = c->count < FIT_ROWS ? (int)c->count : FIT_ROWS, columns = width < FIT_COLUMNS ? (int)width : FIT_COLUMNS;
    float *x = malloc((size_t)rows * (size_t)columns * sizeof *x);
    if (!x)
        return error_memory(err, "a table");
    for (int i = 0; i < rows; i++) {
        int64_t begin = collection_begin(c, c->count * i / rows);
        for (int j = 0; j < columns; j++)
            x[(ptrdiff_t)i * columns + j] = collection_value(c, begin + width * j / columns);
    }
    enum status status = components_count(x, rows, columns, count, err);
    free(x);
    return status;
}

enum status source_scale(const struct collection *c, const struct table_fit *fit, struct error *err)
{
    static const char *const field = "/config/scale";
    enum collection_scale wish = fit->wish != SCALE_AUTO ? fit->wish : c->scale;
    if (fit->raw && wish != SCALE_AUTO && wish != SCALE_NONE)
        return error_set(err, STATUS_INVALID, field, "must be none, because %s; got %s", fit->raw,
                         collection_scales[wish]);
    if (wish == SCALE_COUNTS && collection_measure(c).min < 0)
        return error_set(err, STATUS_INVALID, field,
                         "must not be counts, because the data set has negative values (the least is %g); use standard "
                         "or robust",
                         collection_measure(c).min);
    *fit->scaling = (int)(wish != SCALE_AUTO ? wish : fit->raw ? SCALE_NONE : collection_scale_of(c));
    return STATUS_OK;
}

enum status source_fit(const char *source, const char *data, const struct table_fit *fit, struct error *err)
{
    char folder[DATASET_PATH], path[DATASET_PATH + 16];
    struct collection c = {0};
    struct error cause = {0};
    int count = 0;
    if (dataset_folder(data, source, folder, &cause))
        return STATUS_OK;
    snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
    enum status status = collection_open(path, &c, &cause);
    if (status)
        return error_set(err, STATUS_INVALID, "/config/dataset_name",
                         status == STATUS_NOT_FOUND ? "%s is a folder of the operator; this kind trains on uploads"
                                                    : "%s cannot be read",
                         source);
    if (c.kind != COLLECTION_TABLE)
        status = error_set(err, STATUS_INVALID, "/config/dataset_name",
                           "is a data set of %s, but this kind trains on tables", collection_kinds[c.kind]);
    int64_t width = (int64_t)c.channels * c.rows * c.cols;
    if (!status)
        status = source_scale(&c, fit, err);
    if (!status && *fit->features > width)
        *fit->features = width;
    if (!status && *fit->latent == 0) {
        status = count_components(&c, width, &count, err);
        *fit->latent = count < 1 ? 1 : count > fit->most ? fit->most : count;
    }
    collection_close(&c);
    return status;
}
