/* Fuzz target of motif-convert as the daemon runs it: the first byte selects the format (0 h5ad, 1 10x-h5), and the
 * other bytes are an upload. Even if the bytes crash libhdf5, the daemon's side must end with a consistent table, or
 * with an error that names the format. The environment variable MOTIF_CONVERT is the path of the program. */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/data/uploads/collection.h"
#include "server/process/converter.h"

const struct fuzz_seed fuzz_seeds[] = {FUZZ_SEED("0\x89HDF\r\n\x1a\n"), FUZZ_SEED("1no HDF5 file")};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

static enum status take(void *context, const struct byte_source *table, struct error *err)
{
    static const struct collection_limits limits = {1 << 18, 1 << 10, 1 << 12, 64};
    const struct collection_options options = {.label = "", .group = ""};
    struct collection c;
    enum status status = collection_read(collection_format_named(context), table, &options, &limits, &c, err);
    FUZZ_CHECK(status == err->code);
    if (status)
        return status;
    FUZZ_CHECK(c.kind == COLLECTION_TABLE && c.count > 0 && c.columns.count == c.cols && c.records.count == c.count);
    for (int64_t i = 0; i < collection_begin(&c, c.count); i++)
        FUZZ_CHECK(isfinite(collection_value(&c, i)));
    collection_close(&c);
    return STATUS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *program = getenv("MOTIF_CONVERT"), *format = size > 0 && data[0] == '1' ? "10x-h5" : "h5ad";
    int upload = memfd_create("upload", MFD_CLOEXEC);
    struct error err = {0};
    FUZZ_CHECK(program && upload >= 0 && (size <= 1 || write(upload, data + 1, size - 1) == (ssize_t)(size - 1)));
    const struct api_conversion conversion = {.file = upload,
                                              .format = format,
                                              .layer = "",
                                              .label = "",
                                              .group = "",
                                              .id = "",
                                              .context = format,
                                              .take = take};
    enum status status = converter_run(program, &conversion, &err);
    FUZZ_CHECK(status == err.code && (status == STATUS_OK || err.message[0] != '\0'));
    FUZZ_CHECK(status == STATUS_OK || status == STATUS_INVALID || status == STATUS_CORRUPT || status == STATUS_LIMIT);
    FUZZ_CHECK(close(upload) == 0);
    return 0;
}
