/* Reads regions of a genome (BED or narrowPeak) as sequences: a window of bases around the summit or the middle of
 * each region. The genome is a folder of the operator with the files genome.fa and genome.fa.fai, or genome.fa.gz
 * and its indexes. The record of a sample is called "chr1:100-300" (counted from 0), so that motifd can give the
 * places of sites in the genome. A region on the strand '-' becomes its reverse complement, and its name ends with
 * "(-)". Regions whose window crosses the end of a chromosome are left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/data/dataset.h"
#include "core/data/splicing/splicing_genes.h"
#include "core/data/uploads/collection_int.h"
#include "core/data/uploads/dinucleotides.h"
#include "core/formats/faidx.h"

enum { BED_BYTES = 256 << 20, WINDOW = 200, TRIES = 2000, STREAM_MATCHED = 0x4743, STREAM_SHUFFLED_REGIONS = 0x5352 };
/* Width of a bin of the GC content, and upper limit of unknown bases, as shares of a window. */
static const double GC_BIN = 0.02, UNKNOWN_MOST = 0.1;

struct bed_region {
    const struct faidx_sequence *chromosome;
    int64_t start, end; /* of the window, on the chromosome */
    bool reverse;
};

struct bed {
    struct builder b;
    const struct collection_options *options;
    struct faidx genome;
    struct plain_lines lines;
    struct bed_region *region;
    int64_t count, room, left_out, unmatched;
    int64_t longest;
    char *letters;
    uint8_t *bases, *other;
};

static enum status fault(const struct bed *bed, const char *detail, struct error *err)
{
    return error_set(err, STATUS_INVALID, NULL, "BED, line %lld: %s", (long long)bed->lines.number, detail);
}

/* Reports a fault of the genome that the client has selected. The client can inform the operator or select another
 * genome. */
static enum status of_genome(const struct bed *bed, enum status status, const struct error *cause, struct error *err)
{
    bool faulty = status == STATUS_NOT_FOUND || status == STATUS_CORRUPT || status == STATUS_LIMIT;
    return error_set(err, faulty ? STATUS_INVALID : status, NULL, "genome=%s: %s", bed->options->genome,
                     cause->message);
}

static enum status open_genome(struct bed *bed, struct error *err)
{
    const struct collection_options *o = bed->options;
    char folder[DATASET_PATH], path[DATASET_PATH + 16];
    if (!o->genome || o->genome[0] == '\0')
        return error_set(
            err, STATUS_INVALID, NULL,
            "regions need a genome: state it with genome=NAME, a folder of the operator with genome.fa and its index");
    struct error cause = {0};
    enum status status = dataset_folder(o->data, o->genome, folder, &cause);
    if (!status) {
        snprintf(path, sizeof path, "%s/genome.fa", folder);
        status = faidx_open(path, "the genome", &bed->genome, &cause);
    }
    return status ? of_genome(bed, status, &cause, err) : STATUS_OK;
}

/* ---- lines --------------------------------------------------------------------------------------------------- */

/* Cuts a line into at most ten fields at tabs. Returns their number. */
static int split(struct plain_line line, struct plain_line field[10])
{
    int count = 0;
    while (count < 10 && plain_field(&line, '\t', &field[count]))
        count++;
    return count;
}

static enum status add_region(struct bed *bed, const struct bed_region *region, struct error *err)
{
    if (bed->count == bed->room) {
        int64_t room = bed->room > 0 ? 2 * bed->room : 1024;
        struct bed_region *more = realloc(bed->region, (size_t)room * sizeof *more);
        if (!more)
            return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for regions");
        bed->region = more;
        bed->room = room;
    }
    bed->region[bed->count++] = *region;
    bed->longest = region->end - region->start > bed->longest ? region->end - region->start : bed->longest;
    return STATUS_OK;
}

/* Reads a region and the text of its label, which points into the line; *used: false for a region that is left out. */
static enum status read_region(struct bed *bed, const struct plain_line *field, int fields, bool *used,
                               struct error *err)
{
    char name[FASTA_NAME];
    struct bed_region r = {.reverse = fields > 5 && plain_is(field[5], "-")};
    *used = false;
    if (fields < 3)
        return fault(bed, "a region needs a chromosome, a start and an end, separated by tabs", err);
    if (field[0].size >= sizeof name - 32 || memchr(field[0].at, '\0', field[0].size))
        return fault(bed, "the name of the chromosome is too long", err);
    memcpy(name, field[0].at, field[0].size);
    name[field[0].size] = '\0';
    r.chromosome = faidx_find(&bed->genome, name);
    if (!r.chromosome)
        return error_set(err, STATUS_INVALID, NULL, "BED, line %lld: the genome has no sequence %s",
                         (long long)bed->lines.number, name);
    int64_t start = plain_integer(field[1], INT64_MAX / 4), end = plain_integer(field[2], INT64_MAX / 4);
    if (start < 0 || end <= start || end > r.chromosome->length)
        return fault(bed, "the region is empty, or ends after its chromosome", err);
    int64_t summit = fields == 10 ? plain_integer(field[9], end - start - 1) : -1;
    int64_t middle = summit >= 0 ? start + summit : start + (end - start) / 2;
    int window = bed->options->window < 0 ? WINDOW : bed->options->window;
    r.start = window == 0 ? start : middle - window / 2;
    r.end = window == 0 ? end : r.start + window;
    if (r.start < 0 || r.end > r.chromosome->length) {
        bed->left_out++;
        return STATUS_OK;
    }
    *used = true;
    return add_region(bed, &r, err);
}

/* ---- samples ------------------------------------------------------------------------------------------------- */

/* Reads the bases of a window, on its strand. */
static enum status read_bases(struct bed *bed, const struct bed_region *r, uint8_t *bases, struct error *err)
{
    int64_t length = r->end - r->start;
    struct error cause = {0};
    enum status status = faidx_read(&bed->genome, r->chromosome, r->start, r->end, bed->letters, &cause);
    if (status)
        return of_genome(bed, status, &cause, err);
    for (int64_t i = 0; i < length; i++) {
        const char *at = strchr("AaCcGgTtUu", bed->letters[i]);
        int base = at && *at ? (int)(at - "AaCcGgTtUu") / 2 : SPLICING_BASES;
        base = base > SPLICING_BASES - 1 && at && *at ? SPLICING_BASES - 1 : base; /* stores U as T */
        bases[r->reverse ? length - 1 - i : i] =
            (uint8_t)(r->reverse && base < SPLICING_BASES ? SPLICING_BASES - 1 - base : base);
    }
    return STATUS_OK;
}

static enum status add_sample(struct bed *bed, const uint8_t *bases, const struct bed_region *r, const char *ending,
                              struct error *err)
{
    struct collection_names *names = &bed->b.c->records;
    char name[FASTA_NAME + 48];
    float *planes;
    int64_t sample = bed->b.c->count;
    enum status status = builder_sample(&bed->b, r->end - r->start, &planes, err);
    if (status)
        return status;
    splicing_planes(bases, (int)(r->end - r->start), planes);
    builder_turn_to(&bed->b, sample);
    snprintf(name, sizeof name, "%s:%lld-%lld%s%s", r->chromosome->name, (long long)r->start, (long long)r->end,
             r->reverse ? "(-)" : "", ending);
    if ((names->count & (names->count - 1)) == 0) {
        char **more = realloc(names->name, (names->count > 0 ? 2 * (size_t)names->count : 1) * sizeof *more);
        if (!more)
            return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for names");
        names->name = more;
    }
    names->name[names->count] = strdup(name);
    if (!names->name[names->count])
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for names");
    names->count++;
    return STATUS_OK;
}

/* Adds the label of a region: with label=name the words of the fourth column, otherwise the same name for all
 * regions. */
static enum status add_label(struct bed *bed, const struct plain_line *field, int fields, struct error *err)
{
    const char *label = bed->options->label && bed->options->label[0] != '\0' ? bed->options->label : "peak";
    struct plain_line rest, word;
    enum status status = STATUS_OK;
    if (strcmp(label, "name") != 0)
        return builder_token(&bed->b, label, strlen(label), err);
    if (fields < 4)
        return fault(bed, "label=name needs a fourth column", err);
    rest = field[3];
    while (!status && plain_word(&rest, &word))
        status = utf8_valid(word.at, word.size) && !memchr(word.at, '\0', word.size)
                     ? builder_token(&bed->b, word.at, word.size, err)
                     : fault(bed, "a label is not UTF-8 text", err);
    return status;
}

static bool grow(void **array, size_t bytes)
{
    void *more = realloc(*array, bytes);
    if (more)
        *array = more;
    return more != NULL;
}

static enum status make_room(struct bed *bed, struct error *err)
{
    size_t room = (size_t)bed->longest + 1;
    bool good =
        grow((void **)&bed->letters, room) && grow((void **)&bed->bases, room) && grow((void **)&bed->other, room);
    return good ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for regions");
}

static enum status add_line(struct bed *bed, struct plain_line line, struct error *err)
{
    struct plain_line field[10];
    bool used;
    int fields = split(line, field);
    enum status status = read_region(bed, field, fields, &used, err);
    if (status || !used)
        return status;
    const struct bed_region *r = &bed->region[bed->count - 1];
    if (r->end - r->start > ((int64_t)1 << 24))
        return fault(bed, "the region is longer than 16777216 bases; state a window", err);
    status = make_room(bed, err);
    if (!status)
        status = read_bases(bed, r, bed->bases, err);
    if (!status)
        status = add_sample(bed, bed->bases, r, "", err);
    return status ? status : add_label(bed, field, fields, err);
}

static bool is_header(struct plain_line line)
{
    struct plain_line word;
    return line.size == 0 || line.at[0] == '#' || !plain_word(&line, &word) || plain_is(word, "track") ||
           plain_is(word, "browser");
}

/* ---- negatives ----------------------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct bed_region *x = a, *y = b;
    if (x->chromosome != y->chromosome)
        return (x->chromosome > y->chromosome) - (x->chromosome < y->chromosome);
    return (x->start > y->start) - (x->start < y->start);
}

/* Returns whether a window overlaps a region. sorted: the regions, sorted by place. longest: length of the longest
 * region. */
static bool overlaps(const struct bed *bed, const struct bed_region *sorted, const struct bed_region *r)
{
    struct bed_region key = {r->chromosome, r->start - bed->longest + 1, 0, false};
    int64_t low = 0, high = bed->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (by_place(&sorted[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < bed->count && sorted[low].chromosome == r->chromosome && sorted[low].start < r->end; low++)
        if (sorted[low].end > r->start)
            return true;
    return false;
}

/* Counts G and C, and unknown bases. */
static void count_bases(const uint8_t *bases, int64_t length, int64_t *gc, int64_t *unknown)
{
    *gc = *unknown = 0;
    for (int64_t i = 0; i < length; i++) {
        *gc += bases[i] == 1 || bases[i] == 2;
        *unknown += bases[i] >= SPLICING_BASES;
    }
}

/* Draws a window of the same length at a random place of the genome. False: no sequence is so long there. */
static bool draw_window(const struct bed *bed, int64_t length, const struct philox *from, uint64_t *at,
                        struct bed_region *out)
{
    uint64_t bits = (uint64_t)philox_u32(from, *at) << 32 | philox_u32(from, *at + 1);
    int64_t place = (int64_t)(bits % (uint64_t)bed->genome.length);
    *at += 2;
    for (int i = 0; i < bed->genome.count; i++) {
        const struct faidx_sequence *s = &bed->genome.sequence[i];
        if (place < s->length) {
            *out = (struct bed_region){s, place, place + length, false};
            return place + length <= s->length;
        }
        place -= s->length;
    }
    return false;
}

/* Adds a negative for a region: a window of the genome that overlaps no region, has at most a tenth of unknown
 * bases, and the same number of G and C as the region (within 2 % of its length). It draws random windows. If none
 * of TRIES draws fits, the region gets no negative. */
static enum status add_matched(struct bed *bed, const struct bed_region *sorted, int64_t number, struct error *err)
{
    const struct bed_region *r = &bed->region[number];
    struct philox from = philox_stream(0, STREAM_MATCHED, (uint64_t)number);
    int64_t length = r->end - r->start, gc, unknown, other_gc;
    uint64_t at = 0;
    enum status status = read_bases(bed, r, bed->bases, err);
    count_bases(bed->bases, length, &gc, &unknown);
    for (int i = 0; !status && i < TRIES; i++) {
        struct bed_region drawn;
        if (!draw_window(bed, length, &from, &at, &drawn) || overlaps(bed, sorted, &drawn))
            continue;
        status = read_bases(bed, &drawn, bed->other, err);
        count_bases(bed->other, length, &other_gc, &unknown);
        if (!status && (double)llabs(other_gc - gc) <= GC_BIN * (double)length &&
            (double)unknown <= UNKNOWN_MOST * (double)length)
            return add_sample(bed, bed->other, &drawn, "", err);
    }
    bed->unmatched++;
    return status;
}

static enum status add_negatives(struct bed *bed, struct error *err)
{
    enum status status = STATUS_OK;
    struct bed_region *sorted = malloc((size_t)bed->count * sizeof *sorted + 1);
    if (!sorted)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for regions");
    memcpy(sorted, bed->region, (size_t)bed->count * sizeof *sorted);
    qsort(sorted, (size_t)bed->count, sizeof *sorted, by_place);
    for (int64_t i = 0; !status && i < bed->count; i++) {
        const struct bed_region *r = &bed->region[i];
        struct philox from = philox_stream(0, STREAM_SHUFFLED_REGIONS, (uint64_t)i);
        uint64_t at = 0;
        if (bed->options->negatives == NEGATIVES_GC) {
            status = add_matched(bed, sorted, i, err);
            continue;
        }
        status = read_bases(bed, r, bed->bases, err);
        if (status)
            break;
        dinucleotides_shuffle(bed->bases, r->end - r->start, &from, &at, bed->other);
        status = add_sample(bed, bed->other, r, "_shuffled", err);
    }
    free(sorted);
    return status;
}

/* ---- files --------------------------------------------------------------------------------------------------- */

static enum status read_lines(struct bed *bed, struct error *err)
{
    struct plain_line line;
    enum status status = STATUS_OK;
    while (!status && plain_next(&bed->lines, &line))
        if (!is_header(line))
            status = add_line(bed, line, err);
    if (!status && bed->options->negatives != NEGATIVES_NONE)
        status = add_negatives(bed, err);
    if (!status && bed->left_out > 0)
        status = collection_warn(bed->b.c, err, "regions-left-out",
                                 "%lld regions were left out, because their window crosses an end of the chromosome",
                                 (long long)bed->left_out);
    if (!status && bed->unmatched > 0)
        status = collection_warn(bed->b.c, err, "regions-unmatched",
                                 "%lld regions have no negative, because no window of the genome with as many G and C "
                                 "was found",
                                 (long long)bed->unmatched);
    return status ? status : builder_finish(&bed->b, false, err);
}

static enum status read_bed(const struct byte_source *from, const struct collection_options *options,
                            const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct bed bed = {.options = options, .genome = {.file = -1}};
    char *text = NULL;
    size_t size = 0;
    builder_init(&bed.b, c, options, limits);
    c->kind = COLLECTION_SEQUENCES;
    c->channels = SPLICING_BASES;
    c->rows = 1;
    enum status status = open_genome(&bed, err);
    if (!status)
        status = byte_source_all(from, BED_BYTES, &text, &size, err);
    bed.lines = plain_lines(text, size);
    if (!status)
        status = read_lines(&bed, err);
    builder_close(&bed.b);
    faidx_close(&bed.genome);
    free(bed.region);
    free(bed.letters);
    free(bed.bases);
    free(bed.other);
    free(text);
    return status;
}

const struct collection_format bed_format = {"bed", "text/x-bed", true, false, read_bed};
