/* Opens a data set of motifs, and converts the stored counts of sites to probabilities (motif_library.h). */
#include "core/genomics/matrices/motif_library.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/data/dataset.h"

static enum status open_set(const char *data, const char *name, const char *pointer, struct collection *c,
                            struct error *err)
{
    char folder[DATASET_PATH], path[DATASET_PATH + 16];
    struct error cause = {0};
    enum status status = dataset_folder(data, name, folder, &cause);
    if (status == STATUS_NOT_FOUND || status == STATUS_INVALID)
        return error_set(err, STATUS_INVALID, pointer, "%s", cause.message);
    if (status)
        return error_set(err, status, NULL, "%s", cause.message);
    snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
    status = collection_open(path, c, err);
    if (status || c->kind == COLLECTION_MOTIFS)
        return status;
    return error_set(err, STATUS_INVALID, pointer,
                     "the data set %s contains %s; upload motifs in MEME's or JASPAR's format", name,
                     collection_kinds[c->kind]);
}

static void read_motif(const struct collection *c, int motif, double (*column)[BASES])
{
    int64_t begin = collection_begin(c, motif), width = collection_length(c, motif);
    for (int64_t i = 0; i < width; i++) {
        double sum = 0;
        for (int b = 0; b < BASES; b++)
            sum += column[i][b] = (double)collection_value(c, begin + b * width + i);
        for (int b = 0; b < BASES; b++)
            column[i][b] = sum > 0 ? column[i][b] / sum : 1.0 / BASES;
    }
}

enum status motif_library_open(const char *data, const char *name, const char *pointer, bool both_strands,
                               struct motif_library *out, struct error *err)
{
    *out = (struct motif_library){.first = NULL};
    enum status status = open_set(data, name, pointer, &out->collection, err);
    if (status)
        return status;
    const struct collection *c = &out->collection;
    out->first = calloc((size_t)c->count + 1, sizeof *out->first);
    out->column = calloc((size_t)c->start[c->count] + 1, sizeof *out->column);
    if (!out->first || !out->column)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for the motifs of %s", name);
    for (int i = 0; i < (int)c->count; i++) {
        out->first[i + 1] = (int)c->start[i + 1];
        read_motif(c, i, out->column + out->first[i]);
    }
    out->database =
        (struct motif_database){(int)c->count, out->first, (const double(*)[BASES])out->column, both_strands};
    return STATUS_OK;
}

void motif_library_close(struct motif_library *library)
{
    collection_close(&library->collection);
    free(library->first);
    free(library->column);
    *library = (struct motif_library){.first = NULL};
}

static const char *label_of(const struct motif_library *library, int motif, int place)
{
    const int32_t *labels;
    int count = collection_labels(&library->collection, motif, &labels);
    return place < count ? library->collection.vocabulary.name[labels[place]] : NULL;
}

const char *motif_library_id(const struct motif_library *library, int motif)
{
    return label_of(library, motif, 0);
}

const char *motif_library_name(const struct motif_library *library, int motif)
{
    return label_of(library, motif, 1);
}
