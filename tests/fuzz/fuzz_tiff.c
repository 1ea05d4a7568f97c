/* Fuzz target of TIFF pictures from clients. An accepted picture must not be larger than allowed, and its values must
 * be finite. */
#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "core/formats/tiff.h"

enum { SIDE = 64 };

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("II*\0\x08\0\0\0\0\0\0\0\0\0"),
    FUZZ_SEED("MM\0*\0\0\0\x08\0\0\0\0\0\0"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    struct raster raster;
    enum status status = tiff_decode(data, size, SIDE, &raster, &err);
    FUZZ_CHECK(status == err.code);
    FUZZ_CHECK(status == STATUS_OK || status == STATUS_CORRUPT || status == STATUS_LIMIT || status == STATUS_INVALID);
    FUZZ_CHECK(status == STATUS_OK || (raster.values == NULL && err.message[0] != '\0'));
    if (status == STATUS_OK) {
        FUZZ_CHECK(raster.rows > 0 && raster.cols > 0 && raster.rows <= SIDE && raster.cols <= SIDE);
        FUZZ_CHECK(raster.channels == 1 || raster.channels == 3);
        for (int i = 0; i < raster.channels * raster.rows * raster.cols; i++)
            FUZZ_CHECK(isfinite(raster.values[i]));
    }
    raster_close(&raster);
    return 0;
}
