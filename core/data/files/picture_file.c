/* Reads a picture of any format that clients may send (picture_file.h). A new format is one more row of the table. */
#include "core/data/files/picture_file.h"

#include <string.h>
#include <strings.h>

#include "core/draw/png.h"
#include "core/formats/jpeg.h"
#include "core/formats/tiff.h"

static const struct {
    bool (*begins)(const void *bytes, size_t count);
    enum status (*decode)(const void *bytes, size_t count, int max_side, struct raster *raster, struct error *err);
} formats[] = {{png_begins, png_decode}, {jpeg_begins, jpeg_decode}, {tiff_begins, tiff_decode}};

bool picture_file_named(const char *name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".tif", ".tiff"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (length > strlen(endings[i]) && strcasecmp(name + length - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

enum status picture_file_read(const void *bytes, size_t count, struct raster *raster, struct error *err)
{
    *raster = (struct raster){0};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (!formats[i].begins(bytes, count))
            continue;
        enum status status = formats[i].decode(bytes, count, RASTER_SIDE, raster, err);
        if (!status)
            raster_simplify(raster);
        return status;
    }
    return error_set(err, STATUS_CORRUPT, NULL, "the bytes are neither a PNG nor a JPEG nor a TIFF file");
}
