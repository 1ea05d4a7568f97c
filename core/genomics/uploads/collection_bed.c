/* The upload format of regions: one file in BED or narrowPeak (regions.h). collection_tar.c reads archives of such
 * files. */
#include <string.h>

#include "core/genomics/uploads/regions.h"
#include "core/genomics/uploads/uploads.h"

static const char LABEL[] = "peak"; /* of all regions, if the user states no label */

enum status upload_bed(const struct byte_source *from, const struct collection_options *options,
                       const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct builder b;
    struct regions *regions = NULL;
    builder_init(&b, c, options, limits);
    enum status status = regions_open(&b, options, &regions, err);
    if (!status)
        status = regions_add(regions, from, LABEL, strlen(LABEL), err);
    if (options->label && strcmp(options->label, LABEL) == 0)
        c->implied |= OPTION_LABEL;
    if (!status)
        status = regions_finish(regions, err);
    regions_close(regions);
    builder_close(&b);
    return status;
}
