/* Fuzz target of stored data sets. An input is the file of a data set, with changed bytes. The reader must refuse it,
 * or return a consistent data set. The export must refuse the returned set, or make a file of the announced size. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/data/uploads/collection.h"
#include "core/data/uploads/collection_export.h"

const struct fuzz_seed fuzz_seeds[] = {FUZZ_SEED("MOTIFPK1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

/* Reads the whole export. Sizes of arrays may be large in damaged data sets, so it reads at most the first megabyte. */
static void export_all(const struct collection *c)
{
    enum { MOST = 1 << 20 };
    struct error err = {0};
    struct collection_export *file;
    unsigned char block[4096];
    enum status status = collection_export_open(c, &file, &err);
    FUZZ_CHECK(status == err.code);
    for (uint64_t at = 0; !status && at < collection_export_bytes(file) && at < MOST;) {
        size_t got = collection_export_read(file, at, block, sizeof block);
        FUZZ_CHECK(got > 0);
        at += got;
    }
    collection_export_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct collection c;
    struct error err = {0};
    double sum = 0;
    int file = memfd_create("stored", 0);
    FUZZ_CHECK(file >= 0 && write(file, data, size) == (ssize_t)size);
    enum status status = collection_map(file, &c, &err);
    FUZZ_CHECK(status == err.code);
    /* The loop reads every sample, so that a sanitizer detects accesses outside the data. */
    for (int64_t i = 0; status == STATUS_OK && i < c.count; i++) {
        const int32_t *label;
        int length = collection_labels(&c, i, &label);
        for (int j = 0; j < length; j++)
            sum += label[j] >= 0 ? (double)c.vocabulary.name[label[j]][0] : 0;
        sum += (double)collection_value(&c, collection_begin(&c, i) + 0);
        for (int64_t j = c.boxes > 0 ? c.box_start[i] : 0; c.boxes > 0 && j < c.box_start[i + 1]; j++)
            sum += c.box[j][4];
    }
    FUZZ_CHECK(sum == sum || sum != sum);
    if (status == STATUS_OK)
        export_all(&c);
    collection_close(&c);
    close(file);
    return 0;
}
