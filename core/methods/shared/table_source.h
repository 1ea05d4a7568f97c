/* The field `dataset_name` of methods that read tables: it names a data set, and a hash binds the job to the contents
 * of this data set. */
#ifndef MOTIF_CORE_METHODS_SHARED_TABLE_SOURCE_H
#define MOTIF_CORE_METHODS_SHARED_TABLE_SOURCE_H

#include "core/base/config.h"
#include "core/base/error.h"
#include "core/data/dataset.h"
#include "core/data/scale.h"

/* For resolve() of a job that reads a table: STATUS_INVALID with the field's pointer if `source` is "". */
enum status source_named(const char *source, struct error *err);

/* For resolve(): writes the hash of the data set `source` to `hash`. The hash is "" for a folder that the operator has
 * filled, because only uploads have one. data: folder of data sets. STATUS_NOT_FOUND (no such data set; if a preset
 * names it, the message names the script that makes it) and STATUS_IO come with the field's pointer. If `source` is not
 * a possible name, the function returns STATUS_OK, because the method's check() reports that fault. */
enum status source_resolve(const char *source, const char *data, char hash[CONFIG_TEXT], struct error *err);

/* The size of the table of an uploaded data set, for estimates. bytes: size of its file. Returns false if there is no
 * such table, or if the operator has filled the folder. */
struct table_size {
    int rows, columns;
    bool stated; /* the rows have groups or parts, or more names than a division can distinguish */
    int64_t bytes;
};
bool source_size(const char *source, const char *data, struct table_size *out);

/* Finds the folder of the data set. Errors: STATUS_NOT_FOUND, and STATUS_CONFLICT if another file was uploaded under
 * the name since `hash` was written. */
enum status source_folder(const char *source, const char *hash, const char *data, char folder[DATASET_PATH],
                          struct error *err);

/* What source_fit() sets. */
struct table_fit {
    int64_t *features, *latent, most;
    /* wish: the client's choice of a scale; raw: why only unscaled values make sense, NULL if others do; scaling: gets
     * the scale that follows */
    enum collection_scale wish;
    const char *raw;
    int *scaling;
};
struct collection;
/* Sets *fit->scaling: the scale that follows from the client's choice and the data set. Errors: as for source_fit(). */
enum status source_scale(const struct collection *c, const struct table_fit *fit, struct error *err);
/* Adapts fields to the uploaded table `source`. It lowers *features to the number of the table's columns. If
 * *latent is 0, it sets *latent to the number of principal components above noise (core/metrics/components.h), in
 * [1, most]; for this it reads at most 1000 rows and 512 columns. It does nothing if `source` is not a valid name or
 * there is no such data set. STATUS_INVALID with the pointer of `dataset_name`: the data set is not an uploaded table;
 * with that of `scale`: the table cannot be scaled as the client wishes. */
enum status source_fit(const char *source, const char *data, const struct table_fit *fit, struct error *err);

#endif
