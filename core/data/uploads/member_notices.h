/* What the readers did with the pictures and recordings of an archive, for the warnings of its description. */
#ifndef MOTIF_CORE_DATA_UPLOADS_MEMBER_NOTICES_H
#define MOTIF_CORE_DATA_UPLOADS_MEMBER_NOTICES_H

#include "core/base/raster.h"
#include "core/data/uploads/collection_build.h"
#include "core/formats/csv.h"

struct member_notice {
    int64_t members; /* to how many it applies */
    char first[80];  /* name of the first of them */
};

struct member_notices {
    uint8_t *orientation; /* [samples] orientation tags of pictures (raster.h); the caller frees it */
    struct member_notice turned, transparent, rounded, stray, cut, mixed;
};

/* Counts a member if the notice applies to it. */
void member_notice_count(struct member_notice *notice, bool applies, const char *name);
/* Notes what the reader did with the picture that becomes the sample `sample`. STATUS_NO_MEMORY. */
enum status member_notices_picture(struct member_notices *notices, size_t sample, const struct raster *raster,
                                   const char *name, struct error *err);
/* Refuses the current row of a table, because no member has the name in its column. names: those of the samples;
 * folder: that of the table. The message names a member of the same file name in another folder or with an ending. */
enum status member_missing(const struct name_list *names, const char *folder, const struct csv *csv, int column,
                           struct error *err);
/* Adds the warnings to the data set. */
enum status member_notices_warn(const struct member_notices *notices, struct collection *c, struct error *err);

#endif
