/* Fuzz target of stored data sets. An input is the file of a data set, with changed bytes. The reader must refuse it,
 * or return a consistent data set. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/data/uploads/collection.h"

const struct fuzz_seed fuzz_seeds[] = {FUZZ_SEED("MOTIFPK1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

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
    collection_close(&c);
    close(file);
    return 0;
}
