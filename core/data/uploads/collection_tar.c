/* Reads a tar or a zip as one data set: PNG, JPEG or TIFF pictures of one size, WAV recordings, or one FASTA file.
 * These files describe the samples:
 * - labels.csv: the columns file (or filename, path, ...) and label (or class), and perhaps group and part. A label is
 * a class or a sequence of words; if the column is called labels, it is a set.
 * - boxes.csv: the columns file, row0, row1, col0, col1 and symbol, in pixels of the picture as it is stored; for
 *   recordings the columns file, begin, end and symbol, in seconds.
 * - A file that ends in .gff3 gives each base of a FASTA file its class, and replaces labels.csv.
 *
 * An archive may instead contain one of these:
 * - A table of cells (collection_cells.h): matrix.mtx, features.tsv or genes.tsv, and barcodes.tsv, each perhaps
 *   compressed by gzip. labels.csv then has the names of cells in its column file.
 * - Regions of a genome in BED or narrowPeak (core/genomics/uploads/uploads.h), perhaps compressed by gzip. The name of
 *   a file is the class of its regions.
 * - Arrays in shards: .npz, .npy or safetensors files, whose order is that of the samples. id*.npy have their ids.
 *
 * If one picture has colours, all have three channels. Without labels.csv, and with members in at least two folders,
 * the folder of a member is its class, as in torchvision's ImageFolder ("cats/1.png"). Two or more folders around the
 * folders of classes ("train/cats", "test/cats") are the groups for splits.
 *
 * Tables name members by paths relative to the table's own folder (for FASTA: names of records). Members may come in
 * any order, so the reader keeps the tables as text until the end of the archive. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/formats/archive.h"
#include "core/formats/audio_wave.h"
#include "core/data/splicing/splicing_genes.h"
#include "core/genomics/genomics.h"
#include "core/data/uploads/labels/builder_finish.h"
#include "core/data/uploads/tables/collection_cells.h"
#include "core/data/uploads/collection_npz.h"
#include "core/data/uploads/member_notices.h"
#include "core/data/uploads/recordings.h"
#include "core/formats/table/table_columns.h"
#include "core/formats/gunzip.h"
#include "core/base/utf8.h"
#include "core/data/files/picture_file.h"

#define MEMBER_BYTES ((size_t)64 << 20)
#define FASTA_BYTES ((size_t)256 << 20) /* of a FASTA or GFF3 file, which the reader keeps in memory */

/* The options that apply to an archive without regions and arrays. */
#define OTHER_OPTIONS (LABEL_OPTIONS | OPTION_RATE)

struct text {
    char *bytes; /* NULL until the reader has found this member of the archive */
    size_t size;
    char folder[ARCHIVE_NAME]; /* folder of the member, with its last '/'; for cells also the prefix of the name */
};

struct tar {
    struct builder b;
    const struct collection_options *options;
    struct regions *regions; /* reader of the regions, in an archive of regions; else NULL */
    struct npz npz;          /* reader of the arrays, in an archive of arrays */
    struct name_list names;  /* names of the samples, in the order of the samples */
    struct member_notices notices;
    struct member_notice system; /* files of operating systems, which the reader skips */
    struct text labels, boxes, fasta, gff, matrix, features, barcodes;
    struct recordings sound;
};

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcasecmp(name + length - tail, end) == 0;
}

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* ---- members ----------------------------------------------------------------------------------------------- */

static enum status keep_text(struct text *text, const char *name, const struct byte_source *bytes, size_t most,
                             struct error *err)
{
    if (text->bytes)
        return error_set(err, STATUS_INVALID, NULL, "there is already another file of this kind; only one is allowed");
    snprintf(text->folder, sizeof text->folder, "%.*s", (int)(last_part(name) - name), name);
    return text_source_all(bytes, most, &text->bytes, &text->size, err);
}

static enum status set_kind(struct tar *t, enum collection_kind kind, int channels, int rows, struct error *err)
{
    struct collection *c = t->b.c;
    if (t->npz.files > 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "an archive must contain only arrays, only pictures or only recordings");
    if (c->count > 0 && c->kind != kind)
        return error_set(err, STATUS_INVALID, NULL, "an archive contains pictures or recordings, not both");
    if (c->count > 0 && c->channels != channels)
        return error_set(err, STATUS_INVALID, NULL, "has %d planes, but the first picture has %d", channels,
                         c->channels);
    if (c->count > 0 && c->rows != rows)
        return error_set(err, STATUS_INVALID, NULL,
                         "is %d pixels high, but the first picture is %d; all must have the same size", rows, c->rows);
    c->kind = kind;
    c->channels = channels;
    c->rows = rows;
    return STATUS_OK;
}

/* A grey picture among coloured ones gets three equal planes. */
static int channels_with(const struct collection *c, const struct raster *raster)
{
    bool widens = c->count > 0 && c->kind == COLLECTION_IMAGES && c->channels == 3 && raster->channels == 1;
    return widens ? 3 : raster->channels;
}

static enum status add_picture(struct tar *t, const char *name, const char *bytes, size_t size, struct error *err)
{
    struct collection *c = t->b.c;
    struct raster raster;
    float *values;
    enum status status = picture_file_read(bytes, size, &raster, err);
    int channels = channels_with(c, &raster);
    if (!status && c->count > 0 && c->kind == COLLECTION_IMAGES && c->channels == 1 && channels == 3)
        status = builder_widen(&t->b, channels, err);
    if (!status)
        status = set_kind(t, COLLECTION_IMAGES, channels, raster.rows, err);
    if (!status && c->count > 0 && c->cols != raster.cols)
        status = error_set(err, STATUS_INVALID, NULL,
                           "is %d pixels wide, but the first picture is %d; all must have the same size", raster.cols,
                           c->cols);
    if (!status)
        status = member_notices_picture(&t->notices, (size_t)c->count, &raster, name, err);
    if (!status)
        status = builder_sample(&t->b, raster.cols, &values, err);
    size_t plane = (size_t)raster.rows * (size_t)raster.cols;
    for (int k = 0; !status && k < channels; k++)
        memcpy(values + (size_t)k * plane, raster.values + (k < raster.channels ? (size_t)k : 0) * plane,
               plane * sizeof *values);
    raster_close(&raster);
    return status;
}

static enum status add_recording(struct tar *t, const char *name, const char *bytes, size_t size, struct error *err)
{
    struct audio_wave wave;
    float *values;
    enum status status = audio_wave_head(bytes, size, &wave, err);
    if (!status)
        status = recordings_check(&t->sound, &t->b, &wave, err);
    if (!status)
        status = audio_wave_decode(bytes, size, &wave, err);
    if (status)
        return status;
    if (wave.count == 0)
        status = error_set(err, STATUS_INVALID, NULL, "is a recording without samples");
    if (!status)
        status = set_kind(t, COLLECTION_RECORDINGS, 1, 1, err);
    if (!status)
        status = recordings_add(&t->sound, &wave, err);
    if (!status)
        status = builder_sample(&t->b, wave.count, &values, err);
    if (!status)
        memcpy(values, wave.samples, (size_t)wave.count * sizeof *values);
    member_notice_count(&t->notices.cut, wave.cut, name);
    member_notice_count(&t->notices.mixed, wave.channels > 1, name);
    member_notice_count(&t->notices.rounded, wave.rounded, name);
    audio_wave_close(&wave);
    return status;
}

static enum status add_media(struct tar *t, const char *name, const struct byte_source *from, struct error *err)
{
    char *bytes = NULL;
    size_t size;
    int32_t number;
    struct error cause = {0};
    enum status status = byte_source_all(from, MEMBER_BYTES, &bytes, &size, &cause);
    if (status)
        return error_set(err, status, NULL, "%s%s", cause.message,
                         status == STATUS_LIMIT ? ": cut it into smaller files" : "");
    status =
        picture_file_named(name) ? add_picture(t, name, bytes, size, err) : add_recording(t, name, bytes, size, err);
    if (!status)
        status = name_list_add(&t->names, name, strlen(name), &number, err);
    free(bytes);
    return status;
}

/* Adds the samples of a file of arrays. An archive with such a file contains no samples in other files. */
static enum status add_arrays(struct tar *t, const char *name, const struct byte_source *bytes, struct error *err)
{
    if (t->npz.files == 0 && t->b.c->count > 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "an archive must contain only arrays, only pictures or only recordings");
    return npz_add(&t->npz, name, bytes, err);
}

/* Returns the length of a file's name without the ending, if the ending is that of a file of regions (".bed"); else
 * 0. */
static size_t regions_named(const char *name)
{
    static const char *const endings[] = {".bed", ".narrowPeak", ".broadPeak"};
    size_t size = strlen(name);
    size -= ends_in(name, ".gz") ? 3 : 0;
    for (int i = 0; i < 3; i++) {
        size_t tail = strlen(endings[i]);
        if (size > tail && strncasecmp(name + size - tail, endings[i], tail) == 0)
            return size - tail;
    }
    return 0;
}

/* Adds the regions of a file. Regions that have no other label get the name of the file as their label. */
static enum status add_regions(struct tar *t, const char *name, size_t bytes, const struct byte_source *from,
                               struct error *err)
{
    struct gunzip *gunzip;
    if (!genomics.regions_open)
        return genomics_missing(STATUS_INVALID, NULL, err);
    enum status status = t->regions ? STATUS_OK : genomics.regions_open(&t->b, t->options, &t->regions, err);
    if (!status)
        status = gunzip_open(from, &gunzip, err);
    if (status)
        return status;
    gunzip_limit(gunzip, t->b.limits.bytes * 8 + ((int64_t)1 << 30));
    struct byte_source text = gunzip_source(gunzip);
    status = genomics.regions_add(t->regions, &text, name, bytes, err);
    gunzip_close(gunzip);
    return status;
}

/* Returns where the text of a member is stored, if the member is one of the files of a table of cells; else NULL. The
 * three files of a table may begin with the same prefix ("GSM1_matrix.mtx.gz"). *prefix: bytes of the name before the
 * name of the file. */
static struct text *cells_text(struct tar *t, const char *last, size_t *prefix)
{
    static const char *const names[] = {"matrix.mtx", "features.tsv", "genes.tsv", "barcodes.tsv"};
    struct text *const texts[] = {&t->matrix, &t->features, &t->features, &t->barcodes};
    size_t whole = strlen(last) - (ends_in(last, ".gz") ? 3 : 0);
    for (int i = 0; i < 4; i++) {
        size_t size = strlen(names[i]);
        *prefix = whole > size ? whole - size : 0;
        if (whole >= size && memcmp(last + *prefix, names[i], size) == 0 &&
            (*prefix == 0 || (last[0] != '.' && strchr("_-.", last[*prefix - 1]))))
            return texts[i];
    }
    return NULL;
}

static enum status keep_packed(struct text *text, const char *name, size_t prefix, const struct byte_source *bytes,
                               struct error *err)
{
    struct gunzip *gunzip;
    if (text->bytes)
        return error_set(err, STATUS_INVALID, NULL,
                         "is a further file of this kind; an archive may contain one table of cells: upload each of "
                         "them under its own name");
    enum status status = gunzip_open(bytes, &gunzip, err);
    if (status)
        return status;
    struct byte_source from = gunzip_source(gunzip);
    status = keep_text(text, name, &from, CELLS_BYTES, err);
    snprintf(text->folder, sizeof text->folder, "%.*s", (int)(last_part(name) - name) + (int)prefix, name);
    gunzip_close(gunzip);
    return status;
}

static enum status add_member(struct tar *t, const char *name, const struct byte_source *bytes, struct error *err)
{
    const char *last = last_part(name);
    size_t prefix;
    struct text *cells = cells_text(t, last, &prefix);
    if (cells)
        return keep_packed(cells, name, prefix, bytes, err);
    if (regions_named(last) > 0)
        return add_regions(t, last, regions_named(last), bytes, err);
    if (strcasecmp(last, "labels.csv") == 0)
        return keep_text(&t->labels, name, bytes, MEMBER_BYTES, err);
    if (strcasecmp(last, "boxes.csv") == 0)
        return keep_text(&t->boxes, name, bytes, MEMBER_BYTES, err);
    if (picture_file_named(last) || ends_in(last, ".wav"))
        return add_media(t, name, bytes, err);
    if (npz_named(last))
        return add_arrays(t, last, bytes, err);
    if (ends_in(last, ".fa") || ends_in(last, ".fasta") || ends_in(last, ".fna"))
        return keep_text(&t->fasta, name, bytes, FASTA_BYTES, err);
    if (ends_in(last, ".gff3") || ends_in(last, ".gff"))
        return keep_text(&t->gff, name, bytes, FASTA_BYTES, err);
    return error_set(
        err, STATUS_INVALID, NULL,
        "is not allowed; an archive may contain labels.csv, boxes.csv, .png, .jpg, .tif, .wav, .fa, .gff3, .bed, "
        ".narrowPeak, .npz, .npy, .safetensors, and matrix.mtx with features.tsv and barcodes.tsv; other files are "
        "uploaded by themselves");
}

/* ---- tables ------------------------------------------------------------------------------------------------ */

/* The sample that a row of a table names; -1: there is none. */
static int32_t find_sample(const struct tar *t, const struct text *table, const char *file)
{
    char name[ARCHIVE_NAME], composed[ARCHIVE_NAME];
    if (t->fasta.bytes || t->matrix.bytes)
        return name_list_find(&t->names, file, strlen(file));
    int bytes = snprintf(name, sizeof name, "%s%s", table->folder, file);
    return bytes > 0 && bytes < ARCHIVE_NAME
               ? name_list_find(&t->names, composed, utf8_composed(name, (size_t)bytes, composed))
               : -1;
}

struct row { /* a row of labels.csv */
    char *label, *group, *part;
    int64_t number;
};

static enum status table_columns(const struct csv *csv, const char *const *names, int count, int *column,
                                 struct error *err)
{
    for (int i = 0; i < count; i++) {
        column[i] = table_column_called(csv, names[i]);
        if (column[i] < 0)
            return error_set(err, STATUS_INVALID, NULL, "row 1: there is no column '%s', which is required", names[i]);
    }
    return STATUS_OK;
}

static enum status take_label_row(const struct tar *t, const struct csv *csv, const int *column, struct row *rows,
                                  struct error *err)
{
    int32_t sample = find_sample(t, &t->labels, csv->field[column[0]]);
    if (sample < 0)
        return member_missing(&t->names, t->labels.folder, csv, column[0], err);
    if (rows[sample].label)
        return error_set(err, STATUS_INVALID, NULL, "row %lld: '%.80s' has a row already", (long long)csv->row,
                         csv->field[column[0]]);
    rows[sample].label = strdup(csv->field[column[1]]);
    rows[sample].number = csv->row;
    rows[sample].group = column[2] >= 0 ? strdup(csv->field[column[2]]) : NULL;
    rows[sample].part = column[3] >= 0 ? strdup(csv->field[column[3]]) : NULL;
    return rows[sample].label && (column[2] < 0 || rows[sample].group) && (column[3] < 0 || rows[sample].part)
               ? STATUS_OK
               : error_memory(err, "labels");
}

static enum status give_labels(struct tar *t, const struct row *rows, struct error *err)
{
    enum status status = STATUS_OK;
    for (int64_t i = 0; !status && i < t->b.c->count; i++) {
        builder_turn_to(&t->b, i);
        if (!rows[i].label)
            status = t->options->missing == MISSING_DROP
                         ? builder_no_label(&t->b, "sample", i, err)
                         : error_set(err, STATUS_INVALID, NULL,
                                     "there is no row for the member '%.80s'; every sample needs one. missing=drop "
                                     "(motifctl: --missing drop) leaves such samples out",
                                     t->names.names.name[i]);
        else
            status = builder_label(&t->b, rows[i].label, strlen(rows[i].label), "row", rows[i].number, err);
        if (!status && rows[i].group)
            status = builder_group(&t->b, rows[i].group, err);
        if (!status && rows[i].part)
            status = builder_part(&t->b, rows[i].part, err);
    }
    return status;
}

static enum status read_labels(struct tar *t, bool *set, struct error *err)
{
    struct byte_source_memory memory = {(const unsigned char *)t->labels.bytes, t->labels.size, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    struct csv csv;
    int64_t count = t->b.c->count;
    int column[4] = {-1, -1, -1, -1};
    struct row *rows = calloc((size_t)count + 1, sizeof *rows);
    enum status status = rows ? csv_open(&csv, &from, err) : error_memory(err, "labels");
    if (!rows)
        return status;
    *set = !status && csv_find(&csv, "labels") >= 0;
    if (*set)
        t->b.usual = TARGET_LABELS;
    if (!status)
        status = table_columns(&csv, (const char *const[]){"file", *set ? "labels" : "label"}, 2, column, err);
    if (!status)
        column[2] = csv_find(&csv, "group");
    if (!status)
        column[3] = csv_find(&csv, "part");
    if (!status && column[2] < 0 && column[3] < 0)
        column[2] = csv_find(&csv, "split");
    for (bool more = true; !status;) {
        status = csv_next(&csv, &more, err);
        if (status || !more)
            break;
        status = take_label_row(t, &csv, column, rows, err);
    }
    if (!status)
        status = give_labels(t, rows, err);
    csv_close(&csv);
    for (int64_t i = 0; i < count; i++) {
        free(rows[i].label);
        free(rows[i].group);
        free(rows[i].part);
    }
    free(rows);
    return status;
}

/* ---- folders ----------------------------------------------------------------------------------------------- */

/* A folder in a member's name: bytes [begin, begin + size) of the name. */
struct span {
    size_t begin, size;
};

/* The folder `up` levels above a member: 0 is the folder that contains it. False: there is none. */
static bool folder_of(const char *name, int up, struct span *out)
{
    size_t end = (size_t)(last_part(name) - name);
    for (;; up--) {
        if (end == 0)
            return false;
        size_t begin = --end;
        while (begin > 0 && name[begin - 1] != '/')
            begin--;
        *out = (struct span){begin, end - begin};
        if (up == 0)
            return true;
        end = begin;
    }
}

/* Whether every sample has a folder `up` levels above it, and these folders have at least two different names. */
static bool folders_differ(const struct tar *t, int up)
{
    const char *const *names = (const char *const *)t->names.names.name;
    struct span first, other;
    bool differ = false;
    if (t->names.names.count == 0 || !folder_of(names[0], up, &first))
        return false;
    for (int i = 1; i < t->names.names.count; i++) {
        if (!folder_of(names[i], up, &other))
            return false;
        differ = differ || other.size != first.size ||
                 memcmp(names[i] + other.begin, names[0] + first.begin, first.size) != 0;
    }
    return differ;
}

/* Labels every sample with the folder that contains it, and takes the folders one level above as groups, if they
 * differ. */
static enum status read_folders(struct tar *t, struct error *err)
{
    bool grouped = folders_differ(t, 1);
    enum status status = STATUS_OK;
    if (!folders_differ(t, 0))
        return STATUS_OK;
    for (int64_t i = 0; !status && i < t->b.c->count; i++) {
        const char *name = t->names.names.name[i];
        struct span folder = {0};
        builder_turn_to(&t->b, i);
        (void)folder_of(name, 0, &folder);
        status = builder_token(&t->b, name + folder.begin, folder.size, err);
        if (status || !grouped || !folder_of(name, 1, &folder))
            continue;
        char group[ARCHIVE_NAME];
        snprintf(group, sizeof group, "%.*s", (int)folder.size, name + folder.begin);
        status = builder_group(&t->b, group, err);
    }
    return status;
}

static enum status take_box_row(struct tar *t, struct csv *csv, const int *column, bool seconds, struct error *err)
{
    int32_t sample = find_sample(t, &t->boxes, csv->field[column[0]]), place[4] = {0, 1, 0, 0};
    if (sample < 0)
        return member_missing(&t->names, t->boxes.folder, csv, column[0], err);
    for (int i = seconds ? 2 : 0; i < 4; i++) {
        float number;
        int at = column[seconds ? i - 1 : i + 1];
        enum status status = csv_value(csv, at, &number, err);
        if (status)
            return status;
        float place_of = seconds ? number * (float)t->b.c->rate : number;
        if (number < 0 || number > 1e6F || place_of >= 0x1p31F)
            return error_set(err, STATUS_INVALID, NULL,
                             "row %lld, column '%.60s': '%.40s' is not a position; use a number from 0 to 1000000",
                             (long long)csv->row, csv->name[at], csv->field[at]);
        place[i] = (int32_t)lrintf(place_of);
    }
    if (t->notices.orientation)
        raster_turn_place(
            &(struct raster){.rows = t->b.c->rows, .cols = t->b.c->cols, .orientation = t->notices.orientation[sample]},
            place);
    return builder_box(&t->b, sample, place, csv->field[column[seconds ? 3 : 5]], err);
}

static enum status read_boxes(struct tar *t, struct error *err)
{
    static const char *const places[] = {"file", "row0", "row1", "col0", "col1", "symbol"};
    static const char *const times[] = {"file", "begin", "end", "symbol"};
    bool seconds = t->b.c->kind == COLLECTION_RECORDINGS, more = true;
    struct byte_source_memory memory = {(const unsigned char *)t->boxes.bytes, t->boxes.size, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    struct csv csv;
    int column[6];
    if (t->options->target == TARGET_NUMBER)
        return error_set(err, STATUS_INVALID, NULL,
                         "is not allowed with target=number, because numbers have no symbols");
    enum status status = csv_open(&csv, &from, err);
    if (!status)
        status = table_columns(&csv, seconds ? times : places, seconds ? 4 : 6, column, err);
    while (!status) {
        status = csv_next(&csv, &more, err);
        if (status || !more)
            break;
        status = take_box_row(t, &csv, column, seconds, err);
    }
    csv_close(&csv);
    return status;
}

static enum status read_sequences(struct tar *t, struct error *err)
{
    struct genes genes;
    bool sites = t->gff.bytes != NULL;
    if (!genomics.add_records)
        return genomics_missing(STATUS_INVALID, NULL, err);
    if (t->b.c->count > 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "an archive contains sequences or pictures or recordings, not several of them");
    if (sites && (t->labels.bytes || t->boxes.bytes))
        return error_set(err, STATUS_INVALID, NULL,
                         "an archive has a GFF3 file or tables of labels and boxes, not both");
    enum status status = genes_parse(t->fasta.bytes, t->fasta.size, sites ? t->gff.bytes : "", sites ? t->gff.size : 0,
                                     NULL, &genes, err);
    if (status)
        return status;
    status = genomics.add_records(&t->b, &genes, sites, err);
    for (int i = 0; !status && !sites && i < genes.loci; i++) {
        int32_t number;
        status = name_list_add(&t->names, genes.locus[i].name, strlen(genes.locus[i].name), &number, err);
    }
    genes_close(&genes);
    return status;
}

static enum status read_cells(struct tar *t, struct error *err)
{
    if (!t->matrix.bytes || !t->features.bytes || !t->barcodes.bytes)
        return error_set(err, STATUS_INVALID, NULL,
                         "a table of cells needs matrix.mtx, features.tsv (or genes.tsv) and barcodes.tsv");
    if (strcmp(t->matrix.folder, t->features.folder) != 0 || strcmp(t->matrix.folder, t->barcodes.folder) != 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "the files of a table of cells must be in one folder and have the same prefix; got "
                         "'%.40smatrix.mtx', '%.40s...' and '%.40sbarcodes.tsv'",
                         t->matrix.folder, t->features.folder, t->barcodes.folder);
    if (t->b.c->count > 0 || t->fasta.bytes || t->boxes.bytes)
        return error_set(err, STATUS_INVALID, NULL, "besides a table of cells, an archive may contain only labels.csv");
    const struct cells_text text = {t->matrix.bytes, t->features.bytes, t->barcodes.bytes,
                                    t->matrix.size,  t->features.size,  t->barcodes.size};
    return cells_add(&t->b, &text, &t->names, err);
}

/* ---- the whole --------------------------------------------------------------------------------------------- */

static enum status in_member(enum status status, const char *name, const struct error *cause, struct error *err)
{
    return status ? error_set(err, status, NULL, "member '%.80s': %s", name, cause->message) : STATUS_OK;
}

static enum status read_member(void *context, const char *name, const struct byte_source *bytes, struct error *err)
{
    struct error cause = {0};
    struct tar *t = context;
    if (archive_of_system(name)) {
        member_notice_count(&t->system, true, name);
        return STATUS_OK;
    }
    enum status status = add_member(t, name, bytes, &cause);
    return in_member(status, name, &cause, err);
}

static enum status read_members(struct tar *t, const struct byte_source *from, struct error *err)
{
    struct archive_limits bounds = {t->b.limits.members, t->b.limits.bytes * 2 + (1 << 20)};
    return archive_reader_each(ARCHIVE_TAR_OR_ZIP, from, &bounds, read_member, t, err);
}

/* Finishes an archive of regions, which contains nothing else. */
static enum status finish_regions(struct tar *t, struct error *err)
{
    if (t->b.c->count > 0 || t->npz.files > 0 || t->labels.bytes || t->boxes.bytes || t->fasta.bytes || t->gff.bytes ||
        t->matrix.bytes || t->features.bytes || t->barcodes.bytes)
        return error_set(err, STATUS_INVALID, NULL, "an archive of BED files must not contain other files");
    return genomics.regions_finish(t->regions, err);
}

/* Finishes an archive of arrays, which has no tables of its own. */
static enum status finish_arrays(struct tar *t, struct error *err)
{
    if (t->labels.bytes || t->boxes.bytes || t->fasta.bytes || t->gff.bytes || t->matrix.bytes || t->features.bytes ||
        t->barcodes.bytes)
        return error_set(err, STATUS_INVALID, NULL,
                         "an archive of arrays must not contain other files; put labels and boxes into the .npz files");
    return npz_finish(&t->npz, err);
}

/* After the last member: makes the samples whose parts are in several members, then reads labels.csv and boxes.csv. */
static enum status finish_members(struct tar *t, struct error *err)
{
    struct collection *c = t->b.c;
    struct error cause = {0};
    bool set = false, cells = t->b.cells = t->matrix.bytes || t->features.bytes || t->barcodes.bytes;
    enum status status = t->fasta.bytes ? read_sequences(t, err) : STATUS_OK;
    if (!status && cells)
        status = read_cells(t, err);
    if (!status && c->count == 0)
        status = error_set(err, STATUS_INVALID, NULL,
                           "the archive has no samples; it needs .png, .jpg, .tif, .wav, .fa, .bed, .npz, .npy or "
                           ".safetensors members");
    if (!status && t->options->stated & OPTION_RATE && c->kind != COLLECTION_RECORDINGS)
        status = error_set(err, STATUS_INVALID, NULL, "rate applies only to archives of recordings; leave it out");
    if (!status && c->kind == COLLECTION_RECORDINGS)
        status = recordings_finish(&t->sound, &t->b, err);
    if (!status && t->labels.bytes)
        status = in_member(read_labels(t, &set, &cause), "labels.csv", &cause, err);
    else if (!status && !t->fasta.bytes && !cells)
        status = read_folders(t, err);
    if (!status && t->boxes.bytes)
        status = in_member(read_boxes(t, &cause), "boxes.csv", &cause, err);
    if (!status)
        status = member_notices_warn(&t->notices, c, err);
    return status ? status : builder_finish(&t->b, set, err);
}

/* Refuses options of the request that do not apply to this archive. reads: the options that apply, as bits; content:
 * what the archive contains, for the message. */
static enum status check_options(const struct tar *t, unsigned reads, const char *content, struct error *err)
{
    for (const struct collection_option_row *o = collection_option_rows; o->field.name; o++)
        if (t->options->stated & o->option & ~reads)
            return error_set(err, STATUS_INVALID, NULL, "%s does not apply to an archive of %s: %s; leave it out",
                             o->field.name, content,
                             o->option & REGION_OPTIONS ? "only archives of BED files read it"
                             : o->option == OPTION_RATE ? "only archives of recordings read it"
                                                        : "only archives of .npz, .npy or safetensors files read it");
    return STATUS_OK;
}

static enum status finish_archive(struct tar *t, struct error *err)
{
    bool arrays = t->npz.files > 0;
    enum status status = t->regions ? check_options(t, REGION_OPTIONS, "BED files", err)
                         : arrays   ? check_options(t, ARRAY_OPTIONS, "arrays", err)
                                    : check_options(t, OTHER_OPTIONS, "these files", err);
    if (status)
        return status;
    if (t->regions)
        return finish_regions(t, err);
    return t->npz.files > 0 ? finish_arrays(t, err) : finish_members(t, err);
}

enum status collection_read_tar(const struct byte_source *from, const struct collection_options *options,
                                const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct tar t = {.options = options, .sound.stated = options->rate};
    builder_init(&t.b, c, options, limits);
    npz_open(&t.npz, &t.b, options);
    enum status status = read_members(&t, from, err);
    if (!status)
        status = finish_archive(&t, err);
    if (!status && t.system.members > 0)
        status = collection_warn(c, err, "system-files",
                                 "%lld files that an operating system had added to the archive were skipped (the "
                                 "first: %s)",
                                 (long long)t.system.members, t.system.first);
    npz_close(&t.npz);
    if (t.regions)
        genomics.regions_close(t.regions);
    builder_close(&t.b);
    name_list_close(&t.names);
    recordings_close(&t.sound);
    free(t.labels.bytes);
    free(t.boxes.bytes);
    free(t.notices.orientation);
    free(t.fasta.bytes);
    free(t.gff.bytes);
    free(t.matrix.bytes);
    free(t.features.bytes);
    free(t.barcodes.bytes);
    return status;
}
