/* Fuzz target of the reader of bigWig files. It tests that libBigWig and bigwig_read.c survive files with any bytes:
 * the daemon reads files of the operator, which a broken disk or an interrupted copy may have changed. If a file is
 * accepted, every read of its means must give finite numbers or fail with a message. */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/genomics/files/bigwig_read.h"

enum { BINS = 7 };

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("\x26\xFC\x8F\x88\4\0\0\0"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

static void read_means(struct bigwig *file, const char *chromosome, int64_t start, int64_t end)
{
    double mean[BINS];
    struct error err = {0};
    if (end - start < BINS)
        return;
    enum status status = bigwig_means(file, chromosome, start, end, BINS, mean, &err);
    FUZZ_CHECK(status == err.code && (status == STATUS_OK || err.message[0] != '\0'));
    FUZZ_CHECK(status == STATUS_OK || status == STATUS_CORRUPT);
    for (int i = 0; status == STATUS_OK && i < BINS; i++)
        FUZZ_CHECK(isfinite(mean[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"chr1", "chr2", "none"};
    char path[64];
    struct bigwig *file = NULL;
    struct error err = {0};
    int memory = memfd_create("bigwig", MFD_CLOEXEC);
    FUZZ_CHECK(memory >= 0 && write(memory, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    enum status status = bigwig_open(path, "signal.bw", &file, &err);
    FUZZ_CHECK(status == err.code && (status == STATUS_OK) == (file != NULL));
    FUZZ_CHECK(status == STATUS_OK || status == STATUS_CORRUPT);
    for (size_t i = 0; file && i < sizeof names / sizeof names[0]; i++) {
        int64_t length = bigwig_length(file, names[i]);
        FUZZ_CHECK(length >= -1);
        if (length < 0)
            continue;
        read_means(file, names[i], 0, length);
        read_means(file, names[i], length / 3, length / 2);
    }
    bigwig_close(file);
    close(memory);
    return 0;
}
