/* Reads an uploaded table as features. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/dataset.h"
#include "core/data/tables/features.h"
#include "core/data/uploads/collection.h"

/* ---- the largest columns ---------------------------------------------------------------------------- */

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Removes the columns without keep[j], in place. */
static void keep_columns(struct features *f, const bool *keep, int kept)
{
    for (int i = 0; i < f->rows; i++)
        for (int j = 0, at = 0; j < f->columns; j++)
            if (keep[j])
                f->x[(ptrdiff_t)i * kept + at++] = f->x[(ptrdiff_t)i * f->columns + j];
    for (int j = 0, at = 0; j < f->columns; j++)
        if (keep[j])
            f->names[at++] = f->names[j];
        else
            free(f->names[j]);
    f->columns = kept;
}

/* Keeps the `most` columns of the largest deviation, in their order; ties go to the first column. */
static enum status keep_varied(struct features *f, int most, struct error *err)
{
    if (f->columns <= most)
        return STATUS_OK;
    bool *keep = malloc((size_t)f->columns * sizeof *keep);
    double *deviation = malloc(2 * (size_t)f->columns * sizeof *deviation), *sorted = deviation + f->columns;
    enum status status = keep && deviation ? STATUS_OK : error_memory(err, "a table");
    if (!status) {
        features_moments(f, NULL, deviation);
        memcpy(sorted, deviation, (size_t)f->columns * sizeof *sorted);
        qsort(sorted, (size_t)f->columns, sizeof *sorted, falling);
        double least = sorted[most - 1];
        int left = most; /* columns that stay although their deviation is `least` */
        for (int j = 0; j < f->columns; j++)
            left -= deviation[j] > least;
        for (int j = 0; j < f->columns; j++) {
            bool last = deviation[j] >= least && deviation[j] <= least && left > 0;
            keep[j] = deviation[j] > least || last;
            left -= last;
        }
        keep_columns(f, keep, most);
    }
    free(keep);
    free(deviation);
    return status;
}

/* ---- the upload ------------------------------------------------------------------------------------- */

static enum status copy_names(char ***names, const struct collection_names *from, struct error *err)
{
    *names = calloc((size_t)from->count + 1, sizeof **names);
    for (int i = 0; *names && i < from->count; i++)
        if (!((*names)[i] = strdup(from->name[i])))
            return error_memory(err, "a table");
    return *names ? STATUS_OK : error_memory(err, "a table");
}

static enum status take_collection(const struct collection *c, bool titles, struct features **features,
                                   struct error *err)
{
    if (c->kind != COLLECTION_TABLE)
        return error_set(err, STATUS_INVALID, NULL, "the data set contains %s; this method needs a table",
                         collection_kinds[c->kind]);
    if (c->count < 2 || c->count > 1 << 30)
        return error_set(err, STATUS_INVALID, NULL, "the table has fewer than two rows");
    enum status status = features_create((int)c->count, c->cols, 0, features, err);
    if (status)
        return status;
    struct features *f = *features;
    collection_copy(c, 0, (int64_t)f->rows * f->columns, f->x);
    status = copy_names(&f->names, &c->columns, err);
    if (!status && titles && c->records.count == c->count)
        status = copy_names(&f->titles, &c->records, err);
    if (status || c->target != TARGET_CLASS)
        return status;
    f->classes = c->vocabulary.count;
    f->label = malloc((size_t)f->rows * sizeof *f->label);
    status = f->label ? copy_names(&f->class_names, &c->vocabulary, err) : error_memory(err, "a table");
    for (int i = 0; !status && i < f->rows; i++)
        f->label[i] = c->label[i];
    return status;
}

enum status features_of_upload(const char *folder, int most, bool titles, struct features **features, struct error *err)
{
    char path[DATASET_PATH + sizeof COLLECTION_FILE];
    struct collection c;
    struct features *made = NULL;
    snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
    enum status status = collection_open(path, &c, err);
    if (status)
        return status;
    status = take_collection(&c, titles, &made, err);
    collection_close(&c);
    if (!status)
        status = keep_varied(made, most, err);
    if (status) {
        features_destroy(made);
        return status;
    }
    *features = made;
    return STATUS_OK;
}
