/* The driver through which libhdf5 reads an upload (hdf5_file.h): positions become pread() calls on one descriptor.
 * Bytes beyond the end of the file are zero, as in the drivers of libhdf5. */
#include "convert/hdf5_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char upload_name[] = "upload";

struct upload_file {
    H5FD_t base; /* the part that libhdf5 uses; must be the first member */
    int descriptor;
    haddr_t size, end_allocated;
};

struct upload_options {
    int descriptor;
};

static H5FD_t *open_upload(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    const struct upload_options *options = H5Pget_driver_info(access);
    /* Uses lseek() instead of fstat(), because the filter of system calls may forbid fstat(). */
    off_t size = options ? lseek(options->descriptor, 0, SEEK_END) : -1;
    if (size < 0 || flags != H5F_ACC_RDONLY || strcmp(name, upload_name) != 0)
        return NULL;
    struct upload_file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->descriptor = options->descriptor;
    file->size = (haddr_t)size;
    return &file->base;
}

static herr_t close_upload(H5FD_t *base)
{
    free(base);
    return 0;
}

static int compare_uploads(const H5FD_t *a, const H5FD_t *b)
{
    return (a > b) - (a < b);
}

static herr_t query_upload(const H5FD_t *base, unsigned long *flags)
{
    *flags = H5FD_FEAT_ACCUMULATE_METADATA_READ | H5FD_FEAT_DATA_SIEVE;
    return 0;
}

static haddr_t get_allocated(const H5FD_t *base, H5FD_mem_t type)
{
    return ((const struct upload_file *)base)->end_allocated;
}

static herr_t set_allocated(H5FD_t *base, H5FD_mem_t type, haddr_t end)
{
    ((struct upload_file *)base)->end_allocated = end;
    return 0;
}

static haddr_t get_size(const H5FD_t *base, H5FD_mem_t type)
{
    return ((const struct upload_file *)base)->size;
}

static herr_t read_upload(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t count, void *to)
{
    const struct upload_file *file = (const struct upload_file *)base;
    if (at > INT64_MAX || count > INT64_MAX - at)
        return -1;
    for (size_t done = 0; done < count;) {
        ssize_t got = pread(file->descriptor, (char *)to + done, count - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0) {
            memset((char *)to + done, 0, count - done);
            break;
        }
        done += (size_t)got;
    }
    return 0;
}

static herr_t refuse_write(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t count, const void *from)
{
    return -1;
}

static const H5FD_class_t driver = {
    .name = upload_name,
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(struct upload_options),
    .open = open_upload,
    .close = close_upload,
    .cmp = compare_uploads,
    .query = query_upload,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_size,
    .read = read_upload,
    .write = refuse_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* The driver stays registered until the process ends, because libhdf5 uses it while it closes a file. */
static hid_t registered = -1;

enum status hdf5_start(struct error *err)
{
    if (H5open() < 0 || H5Eset_auto2(H5E_DEFAULT, NULL, NULL) < 0 || H5PLset_loading_state(0) < 0)
        return error_set(err, STATUS_INTERNAL, NULL, "libhdf5 cannot be initialised");
    registered = H5FDregister(&driver);
    return registered >= 0 ? STATUS_OK : error_set(err, STATUS_INTERNAL, NULL, "libhdf5 does not accept the driver");
}

enum status hdf5_file_open(int descriptor, hid_t *file, struct error *err)
{
    const struct upload_options options = {descriptor};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    bool good = registered >= 0 && access >= 0 && H5Pset_driver(access, registered, &options) >= 0 &&
                H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0;
    *file = good ? H5Fopen(upload_name, H5F_ACC_RDONLY, access) : -1;
    if (access >= 0)
        H5Pclose(access);
    if (!good)
        return error_set(err, STATUS_INTERNAL, NULL, "libhdf5 does not accept the driver");
    return *file >= 0 ? STATUS_OK
                      : error_set(err, STATUS_CORRUPT, NULL, "the file is not an HDF5 file, or it is damaged");
}
