/* What the readers did with the pictures of an archive, for the warnings of its description. */
#ifndef MOTIF_CORE_DATA_UPLOADS_PICTURE_NOTICES_H
#define MOTIF_CORE_DATA_UPLOADS_PICTURE_NOTICES_H

#include "core/base/raster.h"
#include "core/data/uploads/collection.h"

struct picture_notice {
    int64_t pictures; /* to how many it applies */
    char first[80];   /* name of the first of them */
};

struct picture_notices {
    uint8_t *orientation; /* [samples] orientation tags (raster.h); the caller frees it */
    struct picture_notice turned, transparent, rounded, stray;
};

/* Notes what the reader did with the picture that becomes the sample `sample`. STATUS_NO_MEMORY. */
enum status picture_notices_add(struct picture_notices *notices, size_t sample, const struct raster *raster,
                                const char *name, struct error *err);
/* Adds the warnings to the data set. */
enum status picture_notices_warn(const struct picture_notices *notices, struct collection *c, struct error *err);

#endif
