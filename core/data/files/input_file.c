/* Reads the files that clients send as inputs of a query (input_file.h), with one function for each media type.
 *
 * The api decodes no format itself, so a new format is one more row of the table below. */
#include "core/data/files/input_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/data/splicing/splicing_genes.h"
#include "core/data/files/picture_file.h"
#include "core/formats/archive.h"
#include "core/formats/gunzip.h"
#include "core/formats/audio_wave.h"
#include "core/formats/npy.h"
#include "core/formats/text_lines.h"
#include "core/formats/table/table_columns.h"

static enum status read_picture(const struct input_file_sink *to, const void *bytes, size_t count, struct error *err)
{
    struct raster raster;
    enum status status = picture_file_read(bytes, count, &raster, err);
    if (status)
        return status;
    if ((size_t)raster.channels * (size_t)raster.rows * (size_t)raster.cols > INPUT_FILE_NUMBERS)
        raster_to_grey(&raster);
    int64_t dim[] = {raster.channels, raster.rows, raster.cols};
    return raster.channels > 1 ? to->add(to->context, 3, dim, raster.values, 0, err)
                               : to->add(to->context, 2, dim + 1, raster.values, 0, err);
}

/* Passes on an array of numbers, and takes its values. */
static enum status add_array(const struct input_file_sink *to, struct npy *array, struct error *err)
{
    if (array->count == 0 || array->values == NULL) {
        bool empty = array->count == 0;
        npy_close(array);
        return error_set(err, STATUS_INVALID, NULL, empty ? "must not be empty" : "must contain numbers");
    }
    if (to->notes != NULL)
        rounded_join(&to->notes->rounded, &array->rounded, "");
    return to->add(to->context, array->rank, array->dim, array->values, 0, err);
}

static enum status read_array(const struct input_file_sink *to, const void *bytes, size_t count, struct error *err)
{
    struct npy array;
    enum status status = npy_read(bytes, count, INPUT_FILE_NUMBERS, &array, err);
    return status ? status : add_array(to, &array, err);
}

/* The arrays of an .npz file. The input is the one with the name x, as in uploads, or the only one. */
struct arrays {
    const struct input_file_sink *to;
    int count;
    bool has_x, taken;
};

static bool array_is_x(const char *name)
{
    return strcmp(name, "x.npy") == 0;
}

static enum status count_arrays(void *context, const char *name, const struct byte_source *bytes, struct error *err)
{
    struct arrays *arrays = context;
    (void)bytes;
    (void)err;
    arrays->count++;
    arrays->has_x |= array_is_x(name);
    return STATUS_OK;
}

static enum status take_array(void *context, const char *name, const struct byte_source *bytes, struct error *err)
{
    struct arrays *arrays = context;
    struct npy array;
    if (arrays->taken || (arrays->has_x && !array_is_x(name)))
        return STATUS_OK;
    arrays->taken = true;
    enum status status = npy_read_from(bytes, INPUT_FILE_NUMBERS, &array, err);
    return status ? status : add_array(arrays->to, &array, err);
}

static enum status read_arrays(const struct input_file_sink *to, const void *bytes, size_t count, struct error *err)
{
    const struct archive_limits limits = {INPUT_FILE_ARRAYS, (int64_t)*to->unpacked};
    struct arrays arrays = {.to = to};
    struct byte_source_memory memory = {bytes, count, 0}, again = memory;
    const struct byte_source names = byte_source_of_memory(&memory), from = byte_source_of_memory(&again);
    enum status status = archive_reader_each(ARCHIVE_ZIP, &names, &limits, count_arrays, &arrays, err);
    if (!status && !arrays.has_x && arrays.count != 1)
        status =
            error_set(err, STATUS_INVALID, NULL,
                      "must contain an array with the name x, or a single array; it contains %d arrays", arrays.count);
    if (!status)
        status = archive_reader_each(ARCHIVE_ZIP, &from, &limits, take_array, &arrays, err);
    size_t most = INPUT_FILE_NUMBERS * sizeof(float); /* what one array holds at most */
    *to->unpacked -= most < *to->unpacked ? most : *to->unpacked;
    return status;
}

/* Reads a recording as mono samples in one dimension. */
static enum status read_wave(const struct input_file_sink *to, const void *bytes, size_t count, struct error *err)
{
    struct audio_wave wave;
    enum status status = audio_wave_decode(bytes, count, &wave, err);
    if (!status && wave.cut)
        status = error_set(err, STATUS_INVALID, NULL,
                           "the recording ends before the size that its header states; send the whole file");
    if (!status && wave.count == 0)
        status = error_set(err, STATUS_INVALID, NULL, "must not be empty");
    else if (!status && wave.count > AUDIO_WAVE_FRAMES)
        status =
            error_set(err, STATUS_INVALID, NULL, "has %d samples, but at most %d are allowed; send a shorter recording",
                      wave.count, AUDIO_WAVE_FRAMES);
    if (status) {
        audio_wave_close(&wave);
        return status;
    }
    return to->add(to->context, 1, (const int64_t[]){wave.count}, wave.samples, wave.rate, err);
}

/* Adds one record as four one-hot planes (A, C, G, T) of one row. */
static enum status add_record(const struct input_file_sink *to, const uint8_t *bases, int64_t length, struct error *err)
{
    if (length < 1 || length > (int64_t)INPUT_FILE_NUMBERS / SPLICING_BASES)
        return error_set(err, STATUS_INVALID, NULL, length < 1 ? "a record has no bases" : "has too many bases");
    float *planes = malloc((size_t)length * SPLICING_BASES * sizeof *planes);
    if (planes == NULL)
        return error_memory(err, "an input");
    splicing_planes(bases, (int)length, planes);
    return to->add(to->context, 3, (const int64_t[]){SPLICING_BASES, 1, length}, planes, 0, err);
}

static enum status read_sequences(const struct input_file_sink *to, const void *bytes, size_t count, struct error *err)
{
    struct genes genes = {0};
    enum status status = genes_parse(bytes, count, "", 0, NULL, &genes, err);
    if (!status && fasta_letters_odd(&genes.seen, 2))
        status = error_set(err, STATUS_INVALID, NULL, "FASTA: %s", fasta_no_bases);
    for (int i = 0; !status && i < genes.loci; i++)
        status = add_record(to, genes.bases + genes.locus[i].first, genes.locus[i].length, err);
    if (!status && genes.loci == 0)
        status = error_set(err, STATUS_INVALID, NULL, "must not be empty");
    genes_close(&genes);
    return status;
}

/* Finds the columns of the features after the first row was read. column: [csv->columns] room for them. */
static int find_features(const struct input_file_sink *to, const struct csv *csv, struct table_columns *columns,
                         int *column)
{
    int count = 0, known = to->table != NULL && to->table->features <= csv->columns ? to->table->features : 0;
    while (count < known && (column[count] = csv_find(csv, to->table->feature[count])) >= 0)
        count++;
    if (count > 0 && count == known) { /* the names decide, whatever else the table has */
        memset(columns->role, TABLE_IGNORED, (size_t)columns->count);
        for (int i = 0; i < count; i++)
            columns->role[column[i]] = TABLE_FEATURE;
        return count;
    }
    table_columns_first(csv, columns);
    count = 0;
    for (int i = 0; i < csv->columns; i++)
        if (table_columns_feature(columns, i))
            column[count++] = i;
    return count;
}

static void note_left_out(const struct csv *csv, const struct table_columns *columns, char *text, size_t room)
{
    enum { SHOWN = 5 };
    size_t used = 0;
    int count = 0;
    for (int i = 0; i < columns->count && used < room; i++) {
        if (table_columns_feature(columns, i))
            continue;
        if (count++ < SHOWN)
            used += (size_t)snprintf(text + used, room - used, "%s'%.30s'", count > 1 ? ", " : "", csv->name[i]);
    }
    if (count > SHOWN && used < room)
        (void)snprintf(text + used, room - used, ", ... (%d columns)", count);
}

/* Adds the features of one row of a table. */
static enum status add_row(const struct input_file_sink *to, struct csv *csv, const int *column, int features,
                           struct error *err)
{
    if (features == 0)
        return error_set(err, STATUS_INVALID, NULL, "row 1: there is no column of features");
    float *values = malloc((size_t)features * sizeof *values);
    enum status status = values != NULL ? STATUS_OK : error_memory(err, "an input");
    for (int i = 0; !status && i < features; i++)
        status = csv_value(csv, column[i], &values[i], err);
    if (!status)
        return to->add(to->context, 1, (const int64_t[]){features}, values, 0, err);
    free(values);
    return status;
}

/* Adds a text. */
static enum status add_line(const struct input_file_sink *to, const char *text, size_t size, struct error *err)
{
    float *value = calloc(1, sizeof *value + size + 1);
    if (!value)
        return error_memory(err, "a text");
    memcpy(value + 1, text, size);
    return to->add(to->context, 0, NULL, value, 0, err);
}

/* Adds the text of each row. */
static enum status read_texts(const struct input_file_sink *to, struct csv *csv, struct error *err)
{
    bool more = true, empty = true;
    int column = csv_find(csv, to->table->text);
    if (column < 0)
        return error_set(err, STATUS_INVALID, NULL, "the table has no column '%s', which has the texts of the model",
                         to->table->text);
    for (enum status status; more; empty = false) {
        status = csv_next(csv, &more, err);
        if (!status && more)
            status = add_line(to, csv->field[column], strlen(csv->field[column]), err);
        if (status)
            return status;
        if (!more)
            break;
    }
    return !empty ? STATUS_OK
                  : error_set(err, STATUS_INVALID, NULL, "must not be empty: there is no row below the header");
}

static enum status read_table(const struct input_file_sink *to, const void *bytes, size_t count, struct error *err)
{
    struct byte_source_memory memory = {bytes, count, 0};
    const struct byte_source from = byte_source_of_memory(&memory);
    const struct table_wanted usual = {0};
    struct csv csv;
    struct table_columns columns = {0};
    int *column = NULL, features = 0;
    bool more = true, empty = true;
    enum status status = csv_open(&csv, &from, err);
    if (!status && to->table != NULL && to->table->text != NULL) {
        status = read_texts(to, &csv, err);
        csv_close(&csv);
        return status;
    }
    if (!status)
        status = table_columns_find(&csv, to->table != NULL ? &to->table->wanted : &usual, &columns, err);
    if (!status && (column = malloc((size_t)csv.columns * sizeof *column)) == NULL)
        status = error_memory(err, "columns");
    for (; !status; empty = false) {
        status = csv_next(&csv, &more, err);
        if (status || !more)
            break;
        if (empty)
            features = find_features(to, &csv, &columns, column);
        status = add_row(to, &csv, column, features, err);
    }
    if (!status && empty)
        status = error_set(err, STATUS_INVALID, NULL, "must not be empty: there is no row below the header");
    if (!status && to->notes != NULL) {
        note_left_out(&csv, &columns, to->notes->left_out, sizeof to->notes->left_out);
        rounded_join(&to->notes->rounded, &csv.rounded, "");
    }
    free(column);
    table_columns_close(&columns);
    csv_close(&csv);
    return status;
}

static enum status read_lines(const struct input_file_sink *to, const void *bytes, size_t count, struct error *err)
{
    struct plain_lines lines = plain_lines(bytes, count);
    struct plain_line line;
    bool empty = true;
    enum status status = STATUS_OK;
    while (!status && plain_next(&lines, &line)) {
        if (plain_trimmed(line).size == 0)
            continue;
        if (!utf8_valid(line.at, line.size) || memchr(line.at, '\0', line.size))
            return error_set(err, STATUS_INVALID, NULL, "line %lld is not UTF-8", (long long)lines.number);
        status = add_line(to, line.at, line.size, err);
        empty = false;
    }
    return status || !empty ? status : error_set(err, STATUS_INVALID, NULL, "must not be empty");
}

/* Unpacks a file that is compressed by gzip. */
static enum status unpack(const struct input_file_sink *to, const void *bytes, size_t count, char **plain, size_t *size,
                          struct error *err)
{
    struct byte_source_memory memory = {bytes, count, 0};
    const struct byte_source from = byte_source_of_memory(&memory);
    struct gunzip *gunzip;
    enum status status = gunzip_open(&from, &gunzip, err);
    if (status)
        return status;
    const struct byte_source unpacked = gunzip_source(gunzip);
    struct error cause = {0};
    status = byte_source_all(&unpacked, *to->unpacked, plain, size, &cause);
    *to->unpacked = status ? 0 : *to->unpacked - *size; /* a refused file may have been unpacked up to the limit */
    gunzip_close(gunzip);
    if (status == STATUS_LIMIT)
        return error_set(err, status, NULL, "the compressed inputs of a query may have at most %d MiB when unpacked",
                         (int)(INPUT_FILE_UNPACKED >> 20));
    return status ? error_set(err, status, NULL, "%s", cause.message) : STATUS_OK;
}

static const struct {
    const char *media_type;
    enum status (*read)(const struct input_file_sink *to, const void *bytes, size_t count, struct error *err);
} formats[] = {{"image/png", read_picture}, {"image/jpeg", read_picture},      {"image/tiff", read_picture},
               {"audio/wav", read_wave},    {"application/x-npy", read_array}, {"text/x-fasta", read_sequences},
               {"text/csv", read_table},    {"text/plain", read_lines},        {"application/x-npz", read_arrays}};

const char *const input_file_types[] = {
    "image/png",    "image/jpeg", "image/tiff", "audio/wav",         "application/x-npy",
    "text/x-fasta", "text/csv",   "text/plain", "application/x-npz", NULL};

enum status input_file_read(const char *media_type, const void *bytes, size_t count, const struct input_file_sink *to,
                            struct error *err)
{
    size_t i = 0, all = sizeof formats / sizeof formats[0];
    char *plain = NULL;
    while (i < all && strcmp(formats[i].media_type, media_type) != 0)
        i++;
    if (i == all)
        return error_set(err, STATUS_NOT_FOUND, NULL, "no input file has this media type");
    enum status status = STATUS_OK;
    if (count > 2 && memcmp(bytes, "\x1F\x8B", 2) == 0)
        status = unpack(to, bytes, count, &plain, &count, err);
    if (!status)
        status = formats[i].read(to, plain != NULL ? plain : bytes, count, err);
    free(plain);
    return status;
}
