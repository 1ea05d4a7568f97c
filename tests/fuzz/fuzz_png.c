/* Fuzz target of pictures from clients. The values of an accepted picture must be between 0 and 1, and the picture
 * must not be larger than allowed. The target first corrects the checksum of each chunk, because libpng would refuse
 * every changed file otherwise. If the size of an accepted file is a multiple of eight, the target also writes the
 * picture with eight bits and reads it again. */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "core/draw/png.h"

#define SIDE 64

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2\0\0\0\1\x08\0\0\0\0"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

static size_t number_at(const uint8_t *at)
{
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* Corrects the checksum of every chunk. A chunk has a length, a type, data, and a checksum of type and data. */
static void mend_sums(uint8_t *file, size_t size)
{
    for (size_t at = 8; size >= 12 && at <= size - 12;) {
        size_t length = number_at(file + at);
        if (length > size - 12 - at)
            return;
        uint32_t sum = (uint32_t)crc32(0, file + at + 4, (uInt)(length + 4));
        for (size_t i = 0; i < 4; i++)
            file[at + 8 + length + i] = (uint8_t)(sum >> (24 - 8 * i));
        at += length + 12;
    }
}

static void check_again(const float *values, int rows, int cols)
{
    struct picture *picture = NULL;
    struct buf file, small;
    float *again = NULL;
    int again_rows = 0, again_cols = 0;
    buf_init(&file, 1 << 20);
    FUZZ_CHECK(picture_create(rows, cols, (struct colour){0, 0, 0}, &picture, NULL) == STATUS_OK);
    for (int i = 0; i < rows * cols; i++)
        picture->pixels[i] = 0x010101U * (uint32_t)lroundf(255 * values[i]);
    buf_init(&small, 40); /* smaller than any file */
    FUZZ_CHECK(png_encode(picture, &small, NULL) == STATUS_LIMIT);
    buf_close(&small);
    FUZZ_CHECK(png_encode(picture, &file, NULL) == STATUS_OK);
    FUZZ_CHECK(png_decode_grey(file.data, file.size, 2 * PNG_MAX_SIDE, &again, &again_rows, &again_cols, NULL) ==
               STATUS_OK);
    FUZZ_CHECK(again_rows == rows && again_cols == cols);
    for (int i = 0; i < rows * cols; i++)
        FUZZ_CHECK(fabsf(again[i] - (float)(picture->pixels[i] & 0xff) / 255) < 1e-6F);
    free(again);
    buf_close(&file);
    picture_destroy(picture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    float *values = NULL;
    int rows = 0, cols = 0;
    uint8_t *file = malloc(size > 0 ? size : 1);
    FUZZ_CHECK(file != NULL);
    if (size > 0)
        memcpy(file, data, size);
    mend_sums(file, size);
    enum status status = png_decode_grey(file, size, SIDE, &values, &rows, &cols, &err);
    FUZZ_CHECK(status == err.code && (status == STATUS_OK || status == STATUS_CORRUPT || status == STATUS_LIMIT));
    if (status == STATUS_OK) {
        FUZZ_CHECK(rows > 0 && cols > 0 && rows <= SIDE && cols <= SIDE);
        for (int i = 0; i < rows * cols; i++)
            FUZZ_CHECK(values[i] >= 0 && values[i] <= 1);
        if (size % 8 == 0)
            check_again(values, rows, cols);
        free(values);
    }
    free(file);
    return 0;
}
