/* Counts the pictures that a reader converted, and warns about them (picture_notices.h). */
#include "core/data/uploads/picture_notices.h"

#include <stdio.h>

#include "core/base/grown.h"
#include "core/data/uploads/collection_build.h"

static void count_picture(struct picture_notice *notice, bool applies, const char *name)
{
    if (applies && notice->pictures++ == 0)
        (void)snprintf(notice->first, sizeof notice->first, "%s", name);
}

enum status picture_notices_add(struct picture_notices *notices, size_t sample, const struct raster *raster,
                                const char *name, struct error *err)
{
    uint8_t *grew = grown(notices->orientation, sample, sizeof *grew);
    if (!grew)
        return error_memory(err, "a picture");
    notices->orientation = grew;
    notices->orientation[sample] = (uint8_t)raster->orientation;
    count_picture(&notices->turned, raster->orientation > 1, name);
    count_picture(&notices->transparent, raster->transparent, name);
    count_picture(&notices->rounded, raster->rounded, name);
    count_picture(&notices->stray, raster->stray, name);
    return STATUS_OK;
}

enum status picture_notices_warn(const struct picture_notices *notices, struct collection *c, struct error *err)
{
    const struct {
        const struct picture_notice *notice;
        const char *code, *what;
    } rows[] = {
        {&notices->turned, "turned", "were turned as their orientation tag says, and their boxes with them"},
        {&notices->transparent, "transparent",
         "have transparent pixels, which were laid on white; if the drawing is white, lay it on another colour first"},
        {&notices->rounded, "rounded", "have whole numbers beyond 16777216, which were rounded to single precision"},
        {&notices->stray, "stray-bytes", "have bytes that belong to no part of the picture; these were skipped"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct picture_notice *n = rows[i].notice;
        if (n->pictures == 0)
            continue;
        enum status status = collection_warn(c, err, rows[i].code, "%lld of %lld pictures (the first: %s) %s",
                                             (long long)n->pictures, (long long)c->count, n->first, rows[i].what);
        if (status)
            return status;
    }
    return STATUS_OK;
}
