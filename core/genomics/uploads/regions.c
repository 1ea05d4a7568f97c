/* Reads the lines of BED and narrowPeak files, and collects the windows of their regions (uploads.h).
 *
 * The label of a region is the text of a column, a text that the user has stated, or the name of its file. If labels
 * are sets and several files contain the same place, the place becomes one sample with all their labels. For this,
 * windows are sorted by place. A window joins the sample of an earlier window on the same strand if their overlap is at
 * least half of the shorter one. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/grown.h"
#include "core/data/dataset.h"
#include "core/data/uploads/labels/builder_finish.h"
#include "core/data/splicing/splicing.h"
#include "core/genomics/uploads/genome.h"
#include "core/genomics/uploads/regions_int.h"
#include "core/genomics/uploads/sequence_label.h"
#include "core/genomics/uploads/uploads.h"

/* A signal along the genome as the target of regions: a folder of the operator with the file signal.bw.
 * Each region gets the mean of the signal in its window, or a profile of the means of equal parts of the window. */

/* Reports a fault of the signal that the client has selected. */
static enum status of_signal(const struct regions *s, enum status status, const struct error *cause, struct error *err)
{
    bool faulty = status == STATUS_NOT_FOUND || status == STATUS_CORRUPT || status == STATUS_CONFLICT;
    return error_set(err, faulty ? STATUS_INVALID : status, NULL, "signal=%s: %s", s->options->signal, cause->message);
}

/* Opens the signal that the options name, if they name one. STATUS_INVALID: there is no such signal,
 * or it has a fault. */
static enum status regions_open_signal(struct regions *s, struct error *err)
{
    const struct collection_options *o = s->options;
    char folder[DATASET_PATH], path[DATASET_PATH + 16];
    struct error cause = {0};
    bool named = o->signal && o->signal[0] != '\0';
    if (!named)
        return o->bins > 0 ? error_set(err, STATUS_INVALID, NULL, "bins needs signal=NAME") : STATUS_OK;
    if (o->target != TARGET_NUMBER)
        return error_set(err, STATUS_INVALID, NULL, "signal=%s needs target=number", o->signal);
    enum status status = operator_folder(o->data, o->signal, "signal", collection_signal_files, folder, &cause);
    if (!status) {
        snprintf(path, sizeof path, "%s/signal.bw", folder);
        status = bigwig_open(path, "signal.bw", &s->signal, &cause);
    }
    if (status)
        return of_signal(s, status, &cause, err);
    s->bins = o->bins > 0 ? o->bins : 1;
    if (o->bins == 1)
        s->b->c->implied |= OPTION_BINS;
    s->mean = calloc((size_t)s->bins, sizeof *s->mean);
    s->b->c->profile = s->bins > 1;
    if (!s->mean)
        return error_memory(err, "a signal");
    return s->bins == 1 ? builder_value_name(s->b, o->signal, err) : STATUS_OK;
}

/* Adds the values of the signal in a window as the numbers of the current sample. STATUS_INVALID: the signal and the
 * genome do not fit each other. */
static enum status regions_add_signal(struct regions *s, const struct region *r, struct error *err)
{
    const char *chromosome = r->chromosome->name;
    int64_t length = bigwig_length(s->signal, chromosome);
    struct error cause = {0};
    if (length != r->chromosome->length)
        return length < 0
                   ? error_set(err, STATUS_INVALID, NULL, "signal=%s: it has no sequence %s", s->options->signal,
                               chromosome)
                   : error_set(err, STATUS_INVALID, NULL,
                               "signal=%s: its %s has %lld bases, but that of the genome has %lld; they are of "
                               "different assemblies",
                               s->options->signal, chromosome, (long long)length, (long long)r->chromosome->length);
    if (s->bins > r->end - r->start)
        return error_set(err, STATUS_INVALID, NULL,
                         "bins must be at most the %lld bases of the window %s:%lld-%lld; got %d",
                         (long long)(r->end - r->start), chromosome, (long long)r->start, (long long)r->end, s->bins);
    enum status status = bigwig_means(s->signal, chromosome, r->start, r->end, s->bins, s->mean, &cause);
    if (status)
        return of_signal(s, status, &cause, err);
    for (int k = 0; !status && k < s->bins; k++) /* a region on the strand '-' runs backwards */
        status = builder_value(s->b, s->mean[r->reverse ? s->bins - 1 - k : k], err);
    return status;
}

/* Reads the windows of regions from the genome, and adds them as samples. */

enum status regions_bases(struct regions *s, const struct region *r, uint8_t *bases, struct error *err)
{
    int64_t length = r->end - r->start;
    struct error cause = {0};
    enum status status = work_check(s->options->work, err);
    if (status)
        return status;
    status = faidx_read(&s->genome, r->chromosome, r->start, r->end, s->letters, &cause);
    if (status)
        return genome_fault(s->options->genome, status, &cause, err);
    for (int64_t i = 0; i < length; i++) {
        uint8_t base = splicing_base(s->letters[i]);
        bases[r->reverse ? length - 1 - i : i] =
            r->reverse && base < SPLICING_BASES ? (uint8_t)(SPLICING_BASES - 1 - base) : base;
    }
    return STATUS_OK;
}

enum status regions_sample(struct regions *s, const uint8_t *bases, const struct region *r, const char *ending,
                           struct error *err)
{
    char name[FASTA_NAME + 48];
    float *planes;
    enum status status = builder_sample(s->b, r->end - r->start, &planes, err);
    if (status)
        return status;
    splicing_planes(bases, (int)(r->end - r->start), planes);
    snprintf(name, sizeof name, "%s:%lld-%lld%s%s", r->chromosome->name, (long long)r->start, (long long)r->end,
             r->reverse ? "(-)" : "", ending);
    return builder_record(s->b, name, err);
}

enum status regions_full(const struct regions *s, struct error *err)
{
    return error_set(err, STATUS_LIMIT, NULL, "there are more than %lld regions, the most that is allowed",
                     (long long)s->b->limits.samples);
}

/* Orders regions by chromosome and start, for qsort(). */
static int regions_by_place(const void *a, const void *b)
{
    const struct region *x = a, *y = b;
    if (x->chromosome != y->chromosome)
        return (x->chromosome > y->chromosome) - (x->chromosome < y->chromosome);
    return (x->start > y->start) - (x->start < y->start);
}

/* SUMMIT: number of columns of narrowPeak; the last of them is the summit. IDR: number of columns in the output of the
 * program idr, whose first ten are those of narrowPeak. */
enum { WINDOW = 200, LINE_BYTES = 1 << 20, NAME_COLUMN = 4, STRAND_COLUMN = 6, SUMMIT = 10, IDR = 20, SHOWN = 30 };

/* Returns the number of the column with the label; 0: there is none. */
static int label_column(const struct collection_options *o)
{
    bool named = o->label && strcmp(o->label, "name") == 0;
    return o->label_column > 0 ? o->label_column : named ? NAME_COLUMN : 0;
}

enum status regions_open(struct builder *b, const struct collection_options *options, struct regions **regions,
                         struct error *err)
{
    struct regions *s = calloc(1, sizeof *s);
    if (!s)
        return error_memory(err, "regions");
    *s = (struct regions){.b = b, .options = options, .genome = {.file = -1}};
    b->c->kind = COLLECTION_SEQUENCES;
    b->c->channels = SPLICING_BASES;
    b->c->rows = 1;
    b->empties = b->once = true;
    s->labels.most = (int)b->limits.samples; /* every region may have a label of its own, for example a number, so there
                                                may be as many labels as samples */
    if (options->window == WINDOW)
        b->c->implied |= OPTION_WINDOW;
    bool both = options->label_column > 0 && options->label && options->label[0] != '\0';
    enum status status = both ? error_set(err, STATUS_INVALID, NULL,
                                          "label and label_column both state the label of a region; leave one out")
                              : genome_open(options->data, options->genome, &s->genome, err);
    if (!status)
        status = regions_open_signal(s, err);
    if (!status && options->target == TARGET_NUMBER && (label_column(options) > 0) == (s->signal != NULL))
        status = error_set(err, STATUS_INVALID, NULL,
                           "target=number needs either the column with the number of each region (label_column=N) or a "
                           "signal (signal=NAME)");
    if (status) {
        regions_close(s);
        return status;
    }
    *regions = s;
    return STATUS_OK;
}

void regions_close(struct regions *s)
{
    if (!s)
        return;
    faidx_close(&s->genome);
    bigwig_close(s->signal);
    free(s->mean);
    name_list_close(&s->labels);
    free(s->region);
    free(s->covered);
    free(s->letters);
    free(s->bases);
    free(s->other);
    free(s);
}

/* ---- lines --------------------------------------------------------------------------------------------------- */

/* The current line of a file. */
struct line {
    int64_t number;
    struct plain_line text;
    bool words; /* the line has no tab, so its columns are words */
    int columns;
    struct plain_line field[SUMMIT]; /* the first columns */
};

/* Refuses the text of a column, counted from 1. */
static enum status bed_column_fault(const struct line *line, int column, const char *detail, struct error *err)
{
    const struct plain_line text = line->field[column - 1];
    return error_set(err, STATUS_INVALID, NULL, "BED, line %lld, column %d: '%.*s' %s", (long long)line->number, column,
                     plain_shown(text, SHOWN), text.at, detail);
}

/* Counts the current line for a warning that shows the text of a column. */
static void count_line(struct member_notice *notice, const struct line *line, int column, const char *detail)
{
    const struct plain_line text = line->field[column - 1];
    char first[sizeof notice->first];
    (void)snprintf(first, sizeof first, "line %lld, column %d: '%.*s'%s", (long long)line->number, column,
                   plain_shown(text, SHOWN), text.at, detail);
    member_notice_count(notice, true, first);
}

static enum status bed_fault(const struct line *line, const char *detail, struct error *err)
{
    return error_set(err, STATUS_INVALID, NULL, "BED, line %lld: %s", (long long)line->number, detail);
}

static enum status append_region(struct regions *s, const struct region *region, struct error *err)
{
    if (s->count >= s->b->limits.samples)
        return regions_full(s, err);
    struct region *more = grown(s->region, (size_t)s->count, sizeof *more);
    if (!more)
        return error_memory(err, "regions");
    s->region = more;
    s->region[s->count++] = *region;
    s->longest = region->end - region->start > s->longest ? region->end - region->start : s->longest;
    return STATUS_OK;
}

/* Splits a line into its columns, at tabs or, if it has none, at blanks. */
static void split_columns(struct line *line)
{
    struct plain_line rest = line->text, field;
    line->words = !memchr(rest.at, '\t', rest.size);
    line->columns = 0;
    while (line->words ? plain_word(&rest, &field) : plain_field(&rest, '\t', &field)) {
        if (line->columns < SUMMIT)
            line->field[line->columns] = field;
        line->columns++;
    }
}

/* Finds the sequence of the genome on which a region lies. If the genome lacks the sequence, sets *out to NULL and
 * counts the region. */
static enum status find_chromosome(struct regions *s, const struct line *line, struct plain_line field,
                                   const struct faidx_sequence **out, struct error *err)
{
    char name[FASTA_NAME];
    if (field.size >= sizeof name)
        return bed_fault(line, "the name of the chromosome is too long", err);
    if (!sequence_label_good(field))
        return bed_fault(line, "the name of the chromosome is not UTF-8 text", err);
    memcpy(name, field.at, field.size);
    name[field.size] = '\0';
    *out = faidx_find(&s->genome, name);
    if (*out) /* the name of a sample needs 32 more bytes for the place */
        return field.size < sizeof name - 32 ? STATUS_OK
                                             : bed_fault(line, "the name of the chromosome is too long", err);
    if (s->elsewhere++ == 0)
        memcpy(s->elsewhere_name, name, sizeof name);
    return STATUS_OK;
}

/* Finds the text of a label. If the column is empty or '.', the region has no label, and *label is -1. */
static enum status find_label(struct regions *s, const struct line *line, struct plain_line text, int32_t *label,
                              struct error *err)
{
    const struct collection_options *o = s->options;
    int column = label_column(o);
    if (column > 0 && !sequence_label_column(line->text, column, line->words, &text))
        return error_set(err, STATUS_INVALID, NULL, "BED, line %lld: there is no column %d, which should be the label",
                         (long long)line->number, column);
    if (column == 0 && o->label && o->label[0] != '\0')
        text = (struct plain_line){o->label, strlen(o->label)};
    if (!sequence_label_good(text))
        return bed_fault(line, "a label is not UTF-8 text", err);
    text = plain_trimmed(text);
    *label = -1;
    bool none = text.size == 0 || plain_is(text, ".") || builder_says_missing(s->b, text.at, text.size);
    if (o->target == TARGET_NUMBER && column > 0 && !(none && o->missing == MISSING_DROP)) {
        struct error cause = {0};
        enum status status = text.size == 0 ? error_set(&cause, STATUS_INVALID, NULL, "the field is empty")
                                            : builder_values_check(text.at, text.size, &cause);
        if (status)
            return error_set(err, status, NULL, "BED, line %lld, column %d: %s%s", (long long)line->number, column,
                             cause.message,
                             none ? "; missing=drop (motifctl: --missing drop) leaves out regions without one" : "");
    }
    if (text.size == 0 || plain_is(text, ".") || (none && o->target == TARGET_NUMBER))
        return STATUS_OK;
    return name_list_add(&s->labels, text.at, text.size, label, err);
}

/* Reads the start and the end of a region. */
static enum status read_place(const struct line *line, int64_t *start, int64_t *end, struct error *err)
{
    for (int column = 2; column <= 3; column++)
        if (!plain_whole(line->field[column - 1], column == 2 ? start : end))
            return bed_column_fault(line, column, "is not a whole number; state a position in bases, counted from 0",
                                    err);
    if (*end > *start)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, NULL,
                     "BED, line %lld: %s the start (column 2: %lld); positions count from 0, and the end is the first "
                     "position after the region",
                     (long long)line->number,
                     *end == *start ? "the region is empty: the end (column 3) equals"
                                    : "the end (column 3) lies before",
                     (long long)*start);
}

/* Returns the number of bases from the start of a region to its summit, or to its middle if the line states no summit
 * within the region. */
static enum status read_summit(struct regions *s, const struct line *line, int64_t start, int64_t end, int64_t *summit,
                               struct error *err)
{
    bool stated = line->columns == SUMMIT || line->columns == IDR;
    int64_t number = -1;
    *summit = (end - start) / 2;
    if (!stated || plain_is(line->field[SUMMIT - 1], ".") || plain_is(line->field[SUMMIT - 1], "-1"))
        return STATUS_OK;
    bool whole = plain_whole(line->field[SUMMIT - 1], &number);
    if (whole && number >= 0 && number < end - start) {
        *summit = number;
        return STATUS_OK;
    }
    if (whole && number >= start && number < end)
        return bed_column_fault(line, SUMMIT,
                                "is a position of the chromosome, but a summit counts from the start of its region; "
                                "subtract column 2: awk -F'\\t' -v OFS='\\t' '{$10-=$2} 1' FILE",
                                err);
    count_line(&s->summitless, line, SUMMIT, "");
    return STATUS_OK;
}

/* Sets the window of a region. The window is around the middle of the region or, if the line has the ten columns of
 * narrowPeak and states a summit, around the summit. If the option `window` is 0, the window is the region itself.
 * Clears *inside if the region or the window lies beyond an end of the chromosome. */
static enum status find_window(struct regions *s, const struct line *line, struct region *r, bool *inside,
                               struct error *err)
{
    int64_t start = 0, end = 0, summit = 0, length = r->chromosome->length;
    enum status status = read_place(line, &start, &end, err);
    if (!status)
        status = read_summit(s, line, start, end, &summit, err);
    if (status)
        return status;
    int window = s->options->window < 0 ? WINDOW : s->options->window;
    r->start = window == 0 ? start : start + summit - window / 2;
    r->end = window == 0 ? end : r->start + window;
    *inside = r->start >= 0 && r->end <= length;
    if (start < 0 || end > length) {
        char detail[64] = ", before its first base";
        if (start >= 0)
            (void)snprintf(detail, sizeof detail, ", but %.20s has %lld bases", r->chromosome->name, (long long)length);
        count_line(&s->beyond, line, start < 0 ? 2 : 3, detail);
        *inside = false;
    } else if (!*inside) {
        s->left_out++;
    } else if (r->end - r->start > ((int64_t)1 << 24)) {
        return bed_fault(line, "the region is longer than 16777216 bases; state a window", err);
    }
    return s->options->negatives == NEGATIVES_GC ? regions_cover(s, r, start, end, err) : STATUS_OK;
}

static bool begins_with_letter(struct plain_line word)
{
    return word.size > 0 && ((word.at[0] | 0x20) >= 'a' && (word.at[0] | 0x20) <= 'z');
}

static enum status add_line(struct regions *s, struct line *line, struct plain_line name, struct error *err)
{
    bool inside = false;
    split_columns(line);
    if (line->columns < 3)
        return bed_fault(line, "a region needs a chromosome, a start and an end, separated by tabs", err);
    if (line->number == 1 && begins_with_letter(line->field[1]) && begins_with_letter(line->field[2]))
        return STATUS_OK; /* a header such as chrom, start, end */
    char strand = line->columns >= STRAND_COLUMN ? plain_strand(line->field[STRAND_COLUMN - 1]) : '.';
    struct region r = {.reverse = strand == '-', .joined = -1};
    enum status status = find_chromosome(s, line, line->field[0], &r.chromosome, err);
    if (!status && !r.chromosome)
        return STATUS_OK;
    if (!status && strand == '\0')
        count_line(&s->strandless, line, STRAND_COLUMN, "");
    if (!status)
        status = find_window(s, line, &r, &inside, err);
    if (!status)
        status = find_label(s, line, name, &r.label, err);
    return status || !inside ? status : append_region(s, &r, err);
}

static bool is_header(struct plain_line line)
{
    struct plain_line word;
    return line.size == 0 || line.at[0] == '#' || !plain_word(&line, &word) || plain_is(word, "track") ||
           plain_is(word, "browser");
}

enum status regions_add(struct regions *s, const struct byte_source *from, const char *name, size_t name_bytes,
                        struct error *err)
{
    struct text_stream lines;
    struct line line;
    bool more = true;
    enum status status = STATUS_OK;
    text_stream_open(&lines, from, LINE_BYTES);
    while (!status) {
        status = text_stream_next(&lines, &line.text, &more, err);
        if (status || !more)
            break;
        line.number = lines.number;
        if (!is_header(line.text))
            status = add_line(s, &line, (struct plain_line){name, name_bytes}, err);
    }
    text_stream_close(&lines);
    s->files++;
    return status;
}

/* ---- places in several files --------------------------------------------------------------------------------- */

static int by_place_then_number(const void *a, const void *b, void *context)
{
    const struct region *region = context;
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    int order = regions_by_place(&region[x], &region[y]);
    return order != 0 ? order : (x > y) - (x < y);
}

/* Returns whether the overlap of two windows is at least half of the shorter one. */
static bool same_place(const struct region *x, const struct region *y)
{
    int64_t both = (x->end < y->end ? x->end : y->end) - (x->start > y->start ? x->start : y->start);
    int64_t shorter = x->end - x->start < y->end - y->start ? x->end - x->start : y->end - y->start;
    return x->chromosome == y->chromosome && 2 * both >= shorter;
}

/* Joins all windows that have the same place and strand: their regions belong to the sample of the first of these
 * windows. */
static enum status join_regions(struct regions *s, struct error *err)
{
    int32_t *order = malloc((size_t)s->count * sizeof *order + 1), kept[2] = {-1, -1};
    if (!order)
        return error_memory(err, "regions");
    for (int32_t i = 0; i < s->count; i++)
        order[i] = i;
    qsort_r(order, (size_t)s->count, sizeof *order, by_place_then_number, s->region);
    for (int64_t i = 0; i < s->count; i++) {
        struct region *r = &s->region[order[i]];
        int32_t *first = &kept[r->reverse];
        if (*first < 0 || !same_place(&s->region[*first], r)) {
            *first = order[i];
            continue;
        }
        r->inner = true;
        r->joined = s->region[*first].joined;
        s->region[*first].joined = order[i];
    }
    free(order);
    return STATUS_OK;
}

/* ---- samples ------------------------------------------------------------------------------------------------- */

/* Adds the label of a region to the sample. In a label from a column of the file, each word is a name. Any other label
 * comes from the user or is the name of the file; it is one name, even if it contains spaces. */
static enum status add_label(struct regions *s, const struct region *r, struct error *err)
{
    bool numbers = s->options->target == TARGET_NUMBER && label_column(s->options) > 0;
    if (r->label < 0)
        return numbers ? builder_no_label(s->b, "region", s->b->at, err) : STATUS_OK;
    const char *label = s->labels.names.name[r->label];
    return label_column(s->options) > 0 ? builder_label(s->b, label, strlen(label), "region", s->b->at, err)
                                        : builder_token_once(s->b, label, strlen(label), err);
}

/* Adds the sample of a region with the labels of all regions that are joined to it. */
static enum status add_sample(struct regions *s, int64_t number, struct error *err)
{
    enum status status = regions_bases(s, &s->region[number], s->bases, err);
    if (!status)
        status = regions_sample(s, s->bases, &s->region[number], "", err);
    if (!status && s->signal)
        return regions_add_signal(s, &s->region[number], err);
    for (int64_t i = number; !status && i >= 0; i = s->region[i].joined)
        status = add_label(s, &s->region[i], err);
    return status;
}

/* Makes room for the bases of the longest window. */
static enum status make_room(struct regions *s, struct error *err)
{
    size_t room = (size_t)s->longest + 1;
    s->letters = malloc(room);
    s->bases = malloc(room);
    s->other = malloc(room);
    return s->letters && s->bases && s->other ? STATUS_OK : error_memory(err, "regions");
}

/* Returns whether two names of sequences are equal except for case and the prefix "chr". */
static bool same_sequence(const char *one, const char *other)
{
    one += strncasecmp(one, "chr", 3) == 0 ? 3 : 0;
    other += strncasecmp(other, "chr", 3) == 0 ? 3 : 0;
    bool mitochondria = (strcasecmp(one, "M") == 0 && strcasecmp(other, "MT") == 0) ||
                        (strcasecmp(one, "MT") == 0 && strcasecmp(other, "M") == 0);
    return mitochondria || strcasecmp(one, other) == 0;
}

/* Says what the genome calls the sequence that it lacks, or else which sequences it has. */
static void suggest_sequence(const struct regions *s, char *out, size_t room)
{
    const struct faidx *genome = &s->genome;
    size_t used = 0;
    for (int i = 0; i < genome->count; i++) {
        const char *name = genome->sequence[i].name, *given = s->elsewhere_name;
        if (!same_sequence(name, given))
            continue;
        bool chr = strncmp(name, "chr", 3) == 0;
        (void)snprintf(out, room, "the genome calls it %.30s: %s", name,
                       chr && strcmp(name + 3, given) == 0 ? "prefix the names with chr (sed 's/^/chr/' FILE)"
                       : strncmp(given, "chr", 3) == 0 && strcmp(given + 3, name) == 0
                           ? "remove chr from the names (sed 's/^chr//' FILE)"
                           : "rename it in the file");
        return;
    }
    for (int i = 0; i < genome->count && i < 4 && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%.20s",
                                 i == 0  ? "the genome has "
                                 : i < 3 ? ", "
                                         : ", ...",
                                 i < 3 ? genome->sequence[i].name : "");
}

enum { SUGGESTED = 100 };

/* Reports that all regions were left out. */
static enum status none_left(const struct regions *s, struct error *err)
{
    char has[SUGGESTED] = "";
    suggest_sequence(s, has, sizeof has);
    if (s->elsewhere > 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "no region is left: the genome lacks the sequences of %lld regions, the first of which is on "
                         "'%s'; %s%s",
                         (long long)s->elsewhere, s->elsewhere_name, has,
                         s->beyond.members + s->left_out > 0 ? "; the others cross an end" : "");
    if (s->beyond.members > 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "no region is left: %lld regions lie beyond an end of their chromosome (%s), and the windows "
                         "of %lld cross one; are they of another assembly?",
                         (long long)s->beyond.members, s->beyond.first, (long long)s->left_out);
    return error_set(err, STATUS_INVALID, NULL,
                     "no region is left: the windows of all %lld regions cross an end of the chromosome",
                     (long long)s->left_out);
}

static enum status warn_of_regions(struct regions *s, struct error *err)
{
    const struct {
        const struct member_notice *notice;
        const char *code, *what;
    } rows[] = {
        {&s->beyond, "regions-beyond",
         "were left out, because they lie beyond an end of their chromosome; are they of another assembly?"},
        {&s->strandless, "strands-unknown", "state no strand (+ - . 1 -1 plus minus) and were read on the strand +"},
        {&s->summitless, "summits-outside", "have a summit outside of them, so their window is around their middle"},
    };
    enum status status = STATUS_OK;
    char has[SUGGESTED] = "";
    suggest_sequence(s, has, sizeof has);
    if (s->elsewhere > 0)
        status = collection_warn(s->b->c, err, "regions-elsewhere",
                                 "%lld regions were left out, because the genome lacks their sequences; the first of "
                                 "these regions is on %s; %s",
                                 (long long)s->elsewhere, s->elsewhere_name, has);
    if (!status && s->left_out > 0)
        status = collection_warn(s->b->c, err, "regions-left-out",
                                 "%lld regions were left out, because their window crosses an end of the chromosome",
                                 (long long)s->left_out);
    for (size_t i = 0; !status && i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].notice->members > 0)
            status = collection_warn(s->b->c, err, rows[i].code, "%lld regions (the first: %s) %s",
                                     (long long)rows[i].notice->members, rows[i].notice->first, rows[i].what);
    if (status || s->unmatched == 0)
        return status;
    return collection_warn(s->b->c, err, "regions-unmatched",
                           "%lld regions have no negative, because no window of the genome with as many G and C was "
                           "found",
                           (long long)s->unmatched);
}

enum status regions_finish(struct regions *s, struct error *err)
{
    enum status status =
        s->count == 0 && s->left_out + s->elsewhere + s->beyond.members > 0 ? none_left(s, err) : make_room(s, err);
    if (!status && s->files > 1 && s->options->target == TARGET_LABELS)
        status = join_regions(s, err);
    for (int64_t i = 0; !status && i < s->count; i++)
        if (!s->region[i].inner)
            status = add_sample(s, i, err);
    if (!status && s->options->negatives != NEGATIVES_NONE)
        status = regions_negatives(s, err);
    if (!status)
        status = warn_of_regions(s, err);
    return status ? status : builder_finish(s->b, false, err);
}

/* The upload format of regions: one file in BED or narrowPeak. collection_tar.c reads archives of such
 * files. */

static const char LABEL[] = "peak"; /* of all regions, if the user states no label */

enum status upload_bed(const struct byte_source *from, const struct collection_options *options,
                       const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct builder b;
    struct regions *regions = NULL;
    builder_init(&b, c, options, limits);
    enum status status = regions_open(&b, options, &regions, err);
    if (!status)
        status = regions_add(regions, from, LABEL, strlen(LABEL), err);
    if (options->label && strcmp(options->label, LABEL) == 0)
        c->implied |= OPTION_LABEL;
    if (!status)
        status = regions_finish(regions, err);
    regions_close(regions);
    builder_close(&b);
    return status;
}
