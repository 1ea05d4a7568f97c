/* Joins a FASTA file and a GFF3 file into sequences with a class for every base, and cuts them into windows. The
 * parsers of both formats are in core/formats; this file decides what letters and features mean for splicing. */
#include "core/data/splicing/splicing_genes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/base/hash.h"
#include "core/formats/gff3.h"
#include "core/formats/text_lines.h"

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
        return gff3_fault(&r->gff, "the coordinates (fields 4 and 5) are not within the sequence", err);
    if (!plain_is(f->strand, "+"))
        return gff3_fault(&r->gff, "not on the strand of the sequence: field 7 must be +", err);
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
    struct gff3_feature feature;
    bool more = true;
    enum status status = STATUS_OK;
    r->gff = gff3_open(text, size);
    while (!status) {
        status = gff3_next(&r->gff, &feature, &more, err);
        if (status || !more)
            break;
        status = take_feature(r, &feature, err);
    }
    if (status != STATUS_OK)
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
