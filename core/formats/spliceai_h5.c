/* Reads SpliceAI's data files window by window with libhdf5. The last part of the file contains the same functions
 * for builds without libhdf5; they return STATUS_UNAVAILABLE. */
#include "core/formats/spliceai_h5.h"

#include <stdlib.h>
#include <string.h>

#ifdef MOTIF_HDF5

#include <hdf5.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/base/random/mt19937.h"

enum { CHUNKS = 65536, BASES = 1 << 20 };

struct chunk {
    hid_t x, y;
    int64_t first, windows; /* first: number of windows in all earlier data sets; windows: number of windows in this
                             * data set */
};

struct splicing_h5 {
    hid_t file;
    int chunks;
    struct chunk *chunk;
    int64_t windows;
    int whole, length; /* bases of a window: `whole` with its flanks, `length` without them */
    uint8_t *row;      /* [whole][4] scratch */
};

static pthread_mutex_t library = PTHREAD_MUTEX_INITIALIZER;

/* Returns the rank of a data set and writes its sizes to `dim`; -1: they cannot be read. */
static int shape_of(hid_t set, hsize_t dim[4])
{
    hid_t space = H5Dget_space(set);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > 4 || H5Sget_simple_extent_dims(space, dim, NULL) < 0)
        rank = -1;
    if (space >= 0)
        H5Sclose(space);
    return rank;
}

static hid_t open_set(hid_t file, char letter, int number)
{
    char name[24];
    snprintf(name, sizeof name, "%c%d", letter, number);
    return H5Lexists(file, name, H5P_DEFAULT) > 0 ? H5Dopen2(file, name, H5P_DEFAULT) : -1;
}

static bool chunk_fits(struct splicing_h5 *f, const struct chunk *chunk, hsize_t windows[1])
{
    hsize_t x[4], y[4];
    if (shape_of(chunk->x, x) != 3 || shape_of(chunk->y, y) != 4)
        return false;
    if (x[2] != SPLICEAI_BASES || y[0] != 1 || y[1] != x[0] || y[3] != SPLICEAI_CLASSES || x[1] < 1 || x[1] > BASES ||
        y[2] < 1 || y[2] > x[1] || (x[1] - y[2]) % 2 != 0 || x[0] < 1 || x[0] > INT32_MAX)
        return false;
    if (f->whole == 0) {
        f->whole = (int)x[1];
        f->length = (int)y[2];
    }
    windows[0] = x[0];
    return f->whole == (int)x[1] && f->length == (int)y[2];
}

static enum status open_chunks(struct splicing_h5 *f, struct error *err)
{
    for (int i = 0;; i++) {
        struct chunk chunk = {open_set(f->file, 'X', i), -1, f->windows, 0};
        if (chunk.x < 0)
            break;
        chunk.y = open_set(f->file, 'Y', i);
        struct chunk *more = i < CHUNKS ? realloc(f->chunk, (size_t)(i + 1) * sizeof *more) : NULL;
        if (more == NULL) {
            H5Dclose(chunk.x);
            if (chunk.y >= 0)
                H5Dclose(chunk.y);
            return error_set(err, i < CHUNKS ? STATUS_NO_MEMORY : STATUS_LIMIT, NULL,
                             "data set X%d exceeds the memory or the limit of 65536 data sets", i);
        }
        f->chunk = more;
        f->chunk[f->chunks++] = chunk;
        hsize_t windows;
        if (chunk.y < 0 || !chunk_fits(f, &chunk, &windows))
            return error_set(err, STATUS_CORRUPT, NULL, "X%d and Y%d are not [n][bases][4] and [1][n][labelled][3]", i,
                             i);
        f->chunk[i].windows = (int64_t)windows;
        f->windows += (int64_t)windows;
    }
    if (f->chunks == 0)
        return error_set(err, STATUS_CORRUPT, NULL, "the HDF5 file has no data set X0");
    return STATUS_OK;
}

static void close_file(struct splicing_h5 *f)
{
    for (int i = 0; i < f->chunks; i++) {
        H5Dclose(f->chunk[i].x);
        if (f->chunk[i].y >= 0)
            H5Dclose(f->chunk[i].y);
    }
    if (f->file >= 0)
        H5Fclose(f->file);
    free(f->chunk);
    free(f->row);
    free(f);
}

enum status splicing_h5_open(const char *path, struct splicing_h5 **file, struct error *err)
{
    struct splicing_h5 *f = calloc(1, sizeof *f);
    if (f == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for an HDF5 file");
    pthread_mutex_lock(&library);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* without this call libhdf5 prints its errors */
    f->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    enum status status = STATUS_OK;
    if (f->file < 0)
        status = error_set(err, STATUS_IO, NULL, "the data file cannot be opened as HDF5");
    if (!status)
        status = open_chunks(f, err);
    if (!status && (f->row = malloc((size_t)f->whole * SPLICEAI_BASES)) == NULL)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a window");
    if (status)
        close_file(f);
    pthread_mutex_unlock(&library);
    if (!status)
        *file = f;
    return status;
}

void splicing_h5_close(struct splicing_h5 *file)
{
    if (file == NULL)
        return;
    pthread_mutex_lock(&library);
    close_file(file);
    pthread_mutex_unlock(&library);
}

int64_t splicing_h5_windows(const struct splicing_h5 *file)
{
    return file->windows;
}
int splicing_h5_length(const struct splicing_h5 *file)
{
    return file->length;
}
int splicing_h5_flank(const struct splicing_h5 *file)
{
    return (file->whole - file->length) / 2;
}

enum status splicing_h5_order(const struct splicing_h5 *file, int64_t seed, int64_t *order, struct error *err)
{
    int *chunks = malloc((size_t)file->chunks * sizeof *chunks), *inside = NULL;
    enum status status = chunks != NULL ? STATUS_OK : STATUS_NO_MEMORY;
    int64_t at = 0;
    struct mt19937 rng;
    mt19937_init(&rng, (uint32_t)(uint64_t)seed);
    for (int i = 0; !status && i < file->chunks; i++)
        chunks[i] = i;
    if (!status)
        mt19937_shuffle(&rng, chunks, file->chunks);
    for (int i = 0; !status && i < file->chunks; i++) {
        const struct chunk *chunk = &file->chunk[chunks[i]];
        int *room = realloc(inside, (size_t)chunk->windows * sizeof *room);
        status = room != NULL ? STATUS_OK : STATUS_NO_MEMORY;
        inside = room != NULL ? room : inside;
        if (status)
            break;
        mt19937_permutation(&rng, inside, (int)chunk->windows);
        for (int64_t j = 0; j < chunk->windows; j++)
            order[at++] = chunk->first + inside[j];
    }
    free(chunks);
    free(inside);
    return status ? error_set(err, status, NULL, "not enough memory for an order") : STATUS_OK;
}

/* Reads one window of a data set as bytes. */
static bool read_row(hid_t set, int rank, const hsize_t *start, const hsize_t *count, uint8_t *out)
{
    hid_t space = H5Dget_space(set), memory = H5Screate_simple(rank, count, NULL);
    bool read = space >= 0 && memory >= 0 &&
                H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                H5Dread(set, H5T_NATIVE_UINT8, memory, space, H5P_DEFAULT, out) >= 0;
    if (space >= 0)
        H5Sclose(space);
    if (memory >= 0)
        H5Sclose(memory);
    return read;
}

/* Index of the value 1 in a one-hot vector of n values; n: all values are 0; -1: the vector is not one-hot. */
static int hot(const uint8_t *value, int n)
{
    int at = n;
    for (int i = 0; i < n; i++) {
        if (value[i] > 1 || (value[i] == 1 && at != n))
            return -1;
        if (value[i] == 1)
            at = i;
    }
    return at;
}

static enum status read_window(struct splicing_h5 *f, const struct chunk *chunk, int64_t row, uint8_t *bases,
                               uint8_t *classes, struct error *err)
{
    hsize_t x_start[3] = {(hsize_t)row, 0, 0}, x_count[3] = {1, (hsize_t)f->whole, SPLICEAI_BASES};
    hsize_t y_start[4] = {0, (hsize_t)row, 0, 0}, y_count[4] = {1, 1, (hsize_t)f->length, SPLICEAI_CLASSES};
    if (!read_row(chunk->x, 3, x_start, x_count, f->row))
        return error_set(err, STATUS_IO, NULL, "a window cannot be read from the data file");
    for (int i = 0; i < f->whole; i++) {
        int base = hot(f->row + (size_t)i * SPLICEAI_BASES, SPLICEAI_BASES);
        if (base < 0)
            return error_set(err, STATUS_CORRUPT, NULL, "base %d of a window is not one-hot", i);
        bases[i] = (uint8_t)base;
    }
    if (!read_row(chunk->y, 4, y_start, y_count, f->row))
        return error_set(err, STATUS_IO, NULL, "labels cannot be read from the data file");
    memset(classes, 0, (size_t)f->whole);
    for (int i = 0; i < f->length; i++) {
        int class = hot(f->row + (size_t)i * SPLICEAI_CLASSES, SPLICEAI_CLASSES);
        if (class < 0)
            return error_set(err, STATUS_CORRUPT, NULL, "label %d of a window is not one-hot", i);
        classes[splicing_h5_flank(f) + i] = class == SPLICEAI_CLASSES ? 0 : (uint8_t) class;
    }
    return STATUS_OK;
}

enum status splicing_h5_read(struct splicing_h5 *file, int64_t window, uint8_t *bases, uint8_t *classes,
                             struct error *err)
{
    if (window < 0 || window >= file->windows)
        return error_set(err, STATUS_INVALID, NULL, "there is no window %lld; the file has %lld, numbered from 0",
                         (long long)window, (long long)file->windows);
    int at = 0;
    while (window >= file->chunk[at].first + file->chunk[at].windows)
        at++;
    pthread_mutex_lock(&library);
    enum status status = read_window(file, &file->chunk[at], window - file->chunk[at].first, bases, classes, err);
    pthread_mutex_unlock(&library);
    return status;
}

#else

static enum status without(struct error *err)
{
    return error_set(err, STATUS_UNAVAILABLE, NULL, "built without libhdf5 (meson setup -Dhdf5=enabled)");
}

enum status splicing_h5_open(const char *path, struct splicing_h5 **file, struct error *err)
{
    return without(err);
}
void splicing_h5_close(struct splicing_h5 *file) {}
int64_t splicing_h5_windows(const struct splicing_h5 *file)
{
    return 0;
}
int splicing_h5_length(const struct splicing_h5 *file)
{
    return 0;
}
int splicing_h5_flank(const struct splicing_h5 *file)
{
    return 0;
}
enum status splicing_h5_order(const struct splicing_h5 *file, int64_t seed, int64_t *order, struct error *err)
{
    return without(err);
}
enum status splicing_h5_read(struct splicing_h5 *file, int64_t window, uint8_t *bases, uint8_t *classes,
                             struct error *err)
{
    return without(err);
}

#endif
