/* The list of upload formats, and the function that reads any of them. Every format's file calls functions of
 * collection.c, and this list refers to every format. So the list is in a file of its own; in collection.c it would
 * make a cycle. */
#include <string.h>

#include "core/data/uploads/collection_int.h"
#include "core/formats/gunzip.h"

static const struct collection_format *const formats[] = {&npz_format,  &npy_format,   &safetensors_format, &csv_format,
                                                          &tar_format,  &fasta_format, &motifs_format,      &bed_format,
                                                          &h5ad_format, &tenx_format};

const struct collection_format *const *collection_formats(size_t *count)
{
    *count = sizeof formats / sizeof formats[0];
    return formats;
}

const struct collection_format *collection_format_named(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

enum status collection_read(const struct collection_format *format, const struct byte_source *from,
                            const struct collection_options *options, const struct collection_limits *limits,
                            struct collection *c, struct error *err)
{
    struct gunzip *gunzip = NULL;
    *c = (struct collection){0};
    enum status status = format->text ? gunzip_open(from, &gunzip, err) : STATUS_OK;
    if (status)
        return status;
    struct byte_source unpacked = gunzip ? gunzip_source(gunzip) : *from;
    if (options->negatives != NEGATIVES_NONE && format != &bed_format && format != &tar_format &&
        (format != &fasta_format || options->negatives == NEGATIVES_GC))
        status = error_set(err, STATUS_INVALID, NULL,
                           "negatives=shuffle is for FASTA and BED only, and negatives=gc for BED only");
    if (!status)
        status = format->read(&unpacked, options, limits, c, err);
    gunzip_close(gunzip);
    if (!status)
        status = collection_inspect(c, err);
    if (status)
        collection_close(c);
    return status;
}
