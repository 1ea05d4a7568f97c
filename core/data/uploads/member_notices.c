/* Counts the pictures and recordings that a reader converted, and warns about them (member_notices.h). */
#include "core/data/uploads/member_notices.h"

#include <stdio.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/data/uploads/collection_build.h"

void member_notice_count(struct member_notice *notice, bool applies, const char *name)
{
    if (applies && notice->members++ == 0)
        (void)snprintf(notice->first, sizeof notice->first, "%s", name);
}

enum status member_notices_picture(struct member_notices *notices, size_t sample, const struct raster *raster,
                                   const char *name, struct error *err)
{
    uint8_t *grew = grown(notices->orientation, sample, sizeof *grew);
    if (!grew)
        return error_memory(err, "a picture");
    notices->orientation = grew;
    notices->orientation[sample] = (uint8_t)raster->orientation;
    member_notice_count(&notices->turned, raster->orientation > 1, name);
    member_notice_count(&notices->transparent, raster->transparent, name);
    member_notice_count(&notices->rounded, raster->rounded, name);
    member_notice_count(&notices->stray, raster->stray, name);
    return STATUS_OK;
}

enum status member_missing(const struct name_list *names, const char *folder, const struct csv *csv, int column,
                           struct error *err)
{
    const char *file = csv->field[column], *slash = strrchr(file, '/'), *last = slash ? slash + 1 : file;
    const char *like = NULL, *name = "";
    for (int i = 0; !like && i < names->names.count; i++) {
        name = names->names.name[i];
        const char *own = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
        if (strncmp(own, last, strlen(last)) == 0 && strchr(".", own[strlen(last)]))
            like = strncmp(name, folder, strlen(folder)) == 0 ? name + strlen(folder) : name;
    }
    return error_set(err, STATUS_INVALID, NULL, "row %lld: the archive has no member '%.80s'%s%.80s%s",
                     (long long)csv->row, file, like ? "; it has '" : "", like ? like : "",
                     like ? "': write the path as it is below the folder of the table" : "");
}

enum status member_notices_warn(const struct member_notices *notices, struct collection *c, struct error *err)
{
    const struct {
        const struct member_notice *notice;
        const char *code, *what;
    } rows[] = {
        {&notices->turned, "turned", "were turned as their orientation tag says, and their boxes with them"},
        {&notices->transparent, "transparent",
         "have transparent pixels, which were laid on white; if the drawing is white, lay it on another colour first"},
        {&notices->rounded, "rounded",
         "have numbers that single precision does not hold, such as whole ones beyond 16777216; "
         "they were rounded"},
        {&notices->stray, "stray-bytes", "have bytes that belong to no part of the picture; these were skipped"},
        {&notices->cut, "cut-recordings",
         "end before the size that their header states, perhaps because a copy was not complete; what is there was "
         "read"},
        {&notices->mixed, "mixed-channels", "have several channels, whose mean was taken"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct member_notice *n = rows[i].notice;
        if (n->members == 0)
            continue;
        enum status status = collection_warn(
            c, err, rows[i].code, "%lld of %lld %s (the first: %s) %s", (long long)n->members, (long long)c->count,
            c->kind == COLLECTION_IMAGES ? "pictures" : "recordings", n->first, rows[i].what);
        if (status)
            return status;
    }
    return STATUS_OK;
}
