/* Joins a FASTA file and a GFF3 file into sequences with a class for every base, and cuts them into windows. The
 * parser of FASTA is in core/formats. */
#include "core/data/splicing/splicing_genes.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/base/hash.h"
#include "core/base/random/mt19937.h"
#include "core/data/dataset.h"
#include "core/formats/text_lines.h"

/* GFF3 annotation files: one feature on each line, in nine fields between tabs. The reader splits lines and parses
 * numbers; the caller decides which features matter and checks their coordinates. One thread at a time for each
 * reader. */

struct gff3_feature {
    struct plain_line sequence, source, type, strand; /* fields 1, 2, 3 and 7; they point into the text */
    struct plain_line parent;      /* value of the attribute Parent; its size is 0 if the feature has none */
    struct plain_line position[2]; /* fields 4 and 5 */
    int64_t from, to; /* first and last position of the feature, counted from 1; -1: the field is no whole number */
};

struct gff3 {
    struct plain_lines lines; /* lines.number: the line of the last feature, from 1 */
};

/* Returns a reader of a text. The text is borrowed. */
static struct gff3 gff3_open(const char *text, size_t size)
{
    return (struct gff3){plain_lines(text, size)};
}

/* Fails with a message that names the reader's current line. */
static enum status gff3_fault(const struct gff3 *gff, const char *detail, struct error *err)
{
    return error_set(err, STATUS_INVALID, NULL, "GFF3, line %lld: %s", (long long)gff->lines.number, detail);
}

static struct plain_line parent_of(struct plain_line attributes)
{
    struct plain_line field;
    while (plain_field(&attributes, ';', &field))
        if (field.size > 7 && memcmp(field.at, "Parent=", 7) == 0)
            return (struct plain_line){field.at + 7, field.size - 7};
    return (struct plain_line){attributes.at, 0};
}

static enum status gff3_split(const struct gff3 *gff, struct plain_line line, struct gff3_feature *feature,
                              struct error *err)
{
    struct plain_line field[9];
    for (int i = 0; i < 9; i++)
        if (!plain_field(&line, '\t', &field[i]))
            return gff3_fault(gff, "a feature has nine fields separated by tabs", err);
    *feature = (struct gff3_feature){.sequence = field[0],
                                     .source = field[1],
                                     .type = field[2],
                                     .strand = field[6],
                                     .parent = parent_of(field[8]),
                                     .position = {field[3], field[4]},
                                     .from = -1,
                                     .to = -1};
    if (!plain_whole(field[3], &feature->from) || !plain_whole(field[4], &feature->to))
        feature->from = -1;
    return STATUS_OK;
}

/* Reads the next feature; skips comments and empty lines; *more is false at the end of the text or at '##FASTA'.
 * STATUS_INVALID: a line has fewer than nine fields. */
static enum status gff3_next(struct gff3 *gff, struct gff3_feature *feature, bool *more, struct error *err)
{
    struct plain_line line;
    while ((*more = plain_next(&gff->lines, &line))) {
        /* sequences follow '##FASTA'; this reader ends here, because the caller reads sequences from a FASTA file */
        if (plain_is(line, "##FASTA")) {
            *more = false;
            break;
        }
        if (line.size > 0 && line.at[0] != '#')
            return gff3_split(gff, line, feature, err);
    }
    return STATUS_OK;
}

struct exon {
    int locus;
    struct plain_line parent;
    int64_t from, to, line; /* from, to: positions in the locus, from 0, inclusive */
};

struct reader {
    struct genes *genes;
    struct fasta fasta;
    struct gff3 gff;
    struct exon *exon; /* exons of the wanted source, used if the file has no introns */
    size_t exons;
    bool has_introns;
    const char *source;
};

void genes_close(struct genes *genes)
{
    free(genes->locus);
    free(genes->bases);
    free(genes->classes);
    *genes = (struct genes){0};
}

/* Marks one intron. from, to: its first and last position in the locus, from 0. */
static enum status mark_intron(struct reader *r, int locus, int64_t from, int64_t to, struct error *err)
{
    uint8_t *classes = r->genes->classes + r->fasta.record[locus].first;
    if (from == to || classes[from] == SITE_ACCEPTOR || classes[to] == SITE_DONOR)
        return gff3_fault(
            &r->gff, "a base would be both donor and acceptor; an intron may not end at the base where another begins",
            err);
    r->genes->introns++;
    classes[from] = SITE_DONOR;
    classes[to] = SITE_ACCEPTOR;
    return STATUS_OK;
}

static enum status keep_exon(struct reader *r, const struct exon *exon, struct error *err)
{
    struct exon *more = grown(r->exon, r->exons, sizeof *more);
    if (more == NULL)
        return error_memory(err, "the exons");
    r->exon = more;
    r->exon[r->exons++] = *exon;
    return STATUS_OK;
}

static enum status take_feature(struct reader *r, const struct gff3_feature *f, struct error *err)
{
    bool intron = plain_is(f->type, "intron"), exon = plain_is(f->type, "exon");
    if ((!intron && !exon) || (r->source != NULL && !plain_is(f->source, r->source)))
        return STATUS_OK;
    int locus = fasta_find(&r->fasta, f->sequence);
    if (locus < 0)
        return gff3_fault(&r->gff, "the FASTA file has no sequence of that name (field 1)", err);
    if (f->from < 1 || f->to < f->from || f->to > r->fasta.record[locus].length)
        return error_set(err, STATUS_INVALID, NULL,
                         "GFF3, line %lld: fields 4 and 5 must be whole numbers that count from 1, in ascending order, "
                         "up to the %lld bases of %s; got '%.*s' and '%.*s'",
                         (long long)r->gff.lines.number, (long long)r->fasta.record[locus].length,
                         r->fasta.record[locus].name, plain_shown(f->position[0], 30), f->position[0].at,
                         plain_shown(f->position[1], 30), f->position[1].at);
    if (plain_strand(f->strand) != '+')
        return error_set(err, STATUS_INVALID, NULL,
                         "GFF3, line %lld: field 7 must be + (or 1), the strand of the sequence; got '%.*s'. Give "
                         "genes on the strand - as their reverse complement",
                         (long long)r->gff.lines.number, plain_shown(f->strand, 20), f->strand.at);
    r->has_introns |= intron;
    if (intron)
        return mark_intron(r, locus, f->from - 1, f->to - 1, err);
    return keep_exon(r, &(struct exon){locus, f->parent, f->from - 1, f->to - 1, r->gff.lines.number}, err);
}

static int by_parent(const void *a, const void *b)
{
    const struct exon *x = a, *y = b;
    if (x->locus != y->locus)
        return x->locus < y->locus ? -1 : 1;
    size_t both = x->parent.size < y->parent.size ? x->parent.size : y->parent.size;
    int order = both > 0 ? memcmp(x->parent.at, y->parent.at, both) : 0;
    if (order != 0)
        return order;
    if (x->parent.size != y->parent.size)
        return x->parent.size < y->parent.size ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

static bool one_transcript(const struct exon *a, const struct exon *b)
{
    return a->locus == b->locus && a->parent.size > 0 && a->parent.size == b->parent.size &&
           memcmp(a->parent.at, b->parent.at, a->parent.size) == 0;
}

/* Takes the gaps between the exons of each transcript as introns. */
static enum status introns_between(struct reader *r, struct error *err)
{
    enum status status = STATUS_OK;
    if (r->exons > 0)
        qsort(r->exon, r->exons, sizeof *r->exon, by_parent);
    for (size_t i = 1; !status && i < r->exons; i++) {
        const struct exon *before = &r->exon[i - 1], *after = &r->exon[i];
        if (!one_transcript(before, after) || before->to + 1 >= after->from)
            continue;
        r->gff.lines.number = after->line; /* the message names this line */
        status = mark_intron(r, after->locus, before->to + 1, after->from - 1, err);
    }
    return status;
}

static enum status read_features(struct reader *r, const char *text, size_t size, struct error *err)
{
    struct gff3_feature feature = {0};
    bool more = true;
    enum status status = STATUS_OK;
    r->gff = gff3_open(text, size);
    while (!status) {
        status = gff3_next(&r->gff, &feature, &more, err);
        if (status || !more)
            break;
        status = take_feature(r, &feature, err);
    }
    if (status)
        return status;
    if (!r->has_introns)
        return introns_between(r, err);
    return STATUS_OK;
}

/* Moves the records into `genes` and translates their letters to bases in place. */
static void take_sequences(struct fasta *fasta, struct genes *genes)
{
    genes->loci = fasta->records;
    genes->locus = fasta->record;
    genes->count = fasta->count;
    genes->bases = fasta->letters;
    genes->seen = fasta->seen;
    for (int64_t i = 0; i < genes->count; i++)
        genes->bases[i] = splicing_base((char)genes->bases[i]);
    fasta->record = NULL;
    fasta->letters = NULL;
}

enum status genes_parse(const char *fasta, size_t fasta_size, const char *gff, size_t gff_size, const char *source,
                        struct genes *genes, struct error *err)
{
    *genes = (struct genes){0};
    struct reader r = {.genes = genes, .source = source};
    enum status status = fasta_parse(fasta, fasta_size, &r.fasta, err);
    if (!status && (genes->classes = calloc((size_t)r.fasta.count, 1)) == NULL)
        status = error_memory(err, "the labels");
    if (!status)
        status = read_features(&r, gff, gff_size, err);
    if (!status)
        take_sequences(&r.fasta, genes);
    else
        genes_close(genes);
    fasta_close(&r.fasta);
    free(r.exon);
    return status;
}

enum status genes_load(const char *fasta_path, const char *gff_path, const char *source, struct genes *genes,
                       struct error *err)
{
    char *fasta = NULL, *gff = NULL;
    size_t fasta_size, gff_size;
    *genes = (struct genes){0};
    enum status status = plain_load(fasta_path, "the FASTA file", GENES_FILE_BYTES, &fasta, &fasta_size, err);
    if (!status)
        status = plain_load(gff_path, "the GFF3 file", GENES_FILE_BYTES, &gff, &gff_size, err);
    if (!status)
        status = genes_parse(fasta, fasta_size, gff, gff_size, source, genes, err);
    free(fasta);
    free(gff);
    return status;
}

/* ---- windows ---------------------------------------------------------------------------------------- */

static bool in_set(const struct fasta_record *locus, enum genes_set set)
{
    unsigned char digest[HASH_BYTES];
    if (set == GENES_ALL)
        return true;
    hash_bytes(locus->name, strlen(locus->name), digest);
    return (digest[0] < 26) == (set == GENES_TEST);
}

enum status genes_windows(const struct genes *genes, enum genes_set set, int length, int flank,
                          struct genes_windows *windows, struct error *err)
{
    *windows = (struct genes_windows){.length = length, .flank = flank};
    if (length < 1 || flank < 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "windows of %d bases with flanks of %d: a window needs at least 1 base and a flank at least 0",
                         length, flank);
    int64_t most = genes->loci + genes->count / length;
    windows->window = malloc((size_t)(most + 1) * sizeof *windows->window);
    if (windows->window == NULL)
        return error_memory(err, "the windows");
    for (int i = 0; i < genes->loci; i++)
        for (int64_t at = 0; in_set(&genes->locus[i], set) && at < genes->locus[i].length; at += length)
            windows->window[windows->count++] = (struct genes_window){i, at};
    return STATUS_OK;
}

void genes_windows_close(struct genes_windows *windows)
{
    free(windows->window);
    *windows = (struct genes_windows){0};
}

void genes_window(const struct genes *genes, const struct genes_windows *windows, int64_t index, uint8_t *bases,
                  uint8_t *classes)
{
    const struct genes_window *w = &windows->window[index];
    const struct fasta_record *locus = &genes->locus[w->locus];
    int whole = windows->length + 2 * windows->flank;
    for (int i = 0; i < whole; i++) {
        int64_t at = w->at - windows->flank + i;
        bool inside = at >= 0 && at < locus->length;
        bool labelled = inside && i >= windows->flank && i < windows->flank + windows->length;
        bases[i] = inside ? genes->bases[locus->first + at] : BASE_N;
        if (classes != NULL)
            classes[i] = labelled ? genes->classes[locus->first + at] : SITE_NONE;
    }
}

struct splicing_corpus {
    struct genes genes;
    struct genes_windows windows[2]; /* windows of the training set and of the test set */
};

/* Names of the files in a folder; "" if the folder has no such file. */
struct listing {
    char fasta[256], gff[256];
    int fastas, gffs;
};

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), size = strlen(end);
    return length > size && strcmp(name + length - size, end) == 0;
}

static enum status list_folder(const char *folder, struct listing *list, struct error *err)
{
    DIR *dir = opendir(folder);
    *list = (struct listing){0};
    if (dir == NULL)
        return error_set(err, STATUS_IO, NULL, "the folder of genes cannot be read: %s", strerror(errno));
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (ends_with(entry->d_name, ".fa")) {
            snprintf(list->fasta, sizeof list->fasta, "%s", entry->d_name);
            list->fastas++;
        } else if (ends_with(entry->d_name, ".gff3")) {
            snprintf(list->gff, sizeof list->gff, "%s", entry->d_name);
            list->gffs++;
        }
    }
    closedir(dir);
    if (list->fastas == 0 || list->gffs == 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "the folder of genes needs a .fa and a .gff3 file");
    if (list->fastas > 1 || list->gffs > 1)
        return error_set(err, STATUS_INVALID, NULL,
                         "the folder of genes contains %d .fa and %d .gff3 files; it needs one of each", list->fastas,
                         list->gffs);
    return STATUS_OK;
}

static enum status splicing_corpus_join(const char *folder, const char *name, char path[DATASET_PATH],
                                        struct error *err)
{
    if ((size_t)snprintf(path, DATASET_PATH, "%s/%s", folder, name) >= DATASET_PATH)
        return error_set(err, STATUS_LIMIT, NULL, "the name of a data file is too long");
    return STATUS_OK;
}

static enum status open_genes(struct splicing_corpus *c, const char *folder, const struct listing *list,
                              const char *source, int length, int flank, struct error *err)
{
    char fasta[DATASET_PATH], gff[DATASET_PATH];
    enum status status = splicing_corpus_join(folder, list->fasta, fasta, err);
    if (status)
        return status;
    status = splicing_corpus_join(folder, list->gff, gff, err);
    if (status)
        return status;
    status = genes_load(fasta, gff, source, &c->genes, err);
    if (status)
        return status;
    status = genes_windows(&c->genes, GENES_TRAIN, length, flank, &c->windows[0], err);
    if (status)
        return status;
    return genes_windows(&c->genes, GENES_TEST, length, flank, &c->windows[1], err);
}

enum status splicing_corpus_open(const char *folder, const char *source, int length, int flank,
                                 struct splicing_corpus **corpus, struct error *err)
{
    struct listing list;
    struct splicing_corpus *c = calloc(1, sizeof *c);
    if (c == NULL)
        return error_memory(err, "a corpus");
    enum status status = list_folder(folder, &list, err);
    if (!status)
        status = open_genes(c, folder, &list, source, length, flank, err);
    if (!status && (splicing_corpus_windows(c, false) == 0 || splicing_corpus_windows(c, true) == 0))
        status = error_set(err, STATUS_LIMIT, NULL,
                           "too few loci: one of the training and the test set has no window; add loci");
    if (!status && splicing_corpus_windows(c, false) > INT32_MAX)
        status = error_set(err, STATUS_LIMIT, NULL,
                           "the training set has more than 2147483647 windows; choose longer windows");
    if (status) {
        splicing_corpus_close(c);
        return status;
    }
    *corpus = c;
    return STATUS_OK;
}

void splicing_corpus_close(struct splicing_corpus *corpus)
{
    if (corpus == NULL)
        return;
    for (int i = 0; i < 2; i++)
        genes_windows_close(&corpus->windows[i]);
    genes_close(&corpus->genes);
    free(corpus);
}

int64_t splicing_corpus_windows(const struct splicing_corpus *corpus, bool test)
{
    return corpus->windows[test].count;
}

enum status splicing_corpus_order(const struct splicing_corpus *corpus, int64_t seed, int64_t *order, struct error *err)
{
    int count = (int)corpus->windows[0].count, *permutation = malloc((size_t)count * sizeof *permutation);
    struct mt19937 rng;
    if (permutation == NULL)
        return error_memory(err, "an order");
    mt19937_init(&rng, (uint32_t)(uint64_t)seed);
    mt19937_permutation(&rng, permutation, count);
    for (int i = 0; i < count; i++)
        order[i] = permutation[i];
    free(permutation);
    return STATUS_OK;
}

void splicing_corpus_read(const struct splicing_corpus *corpus, bool test, int64_t index, uint8_t *bases,
                          uint8_t *classes)
{
    genes_window(&corpus->genes, &corpus->windows[test], index, bases, classes);
}
