/* A data set of motifs. Queries compare it with the channels of a model, and a training can begin with its motifs. */
#ifndef MOTIF_CORE_GENOMICS_MATRICES_MOTIF_LIBRARY_H
#define MOTIF_CORE_GENOMICS_MATRICES_MOTIF_LIBRARY_H

#include "core/data/uploads/collection.h"
#include "core/genomics/matrices/motif_match.h"

struct motif_library {
    struct collection collection;
    struct motif_database database; /* closed if its `count` is 0 */
    int *first;
    double (*column)[BASES];
};

/* Opens the data set `name` in the folder of data sets (core/data/dataset.h). The caller calls motif_library_close()
 * also after a failure. STATUS_INVALID with `pointer`: there is no such data set, or it contains no motifs. Other
 * errors: STATUS_NO_MEMORY, STATUS_IO, STATUS_CORRUPT. */
enum status motif_library_open(const char *data, const char *name, const char *pointer, bool both_strands,
                               struct motif_library *out, struct error *err);
void motif_library_close(struct motif_library *library); /* a zeroed struct is allowed */

/* Return the identifier and the name of a motif, valid until the library is closed. The name is NULL if the motif has
 * none. */
const char *motif_library_id(const struct motif_library *library, int motif);
const char *motif_library_name(const struct motif_library *library, int motif);

#endif
